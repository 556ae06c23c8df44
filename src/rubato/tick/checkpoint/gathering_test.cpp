// Node 0 and what it is told of parts: which checkpoints become whole, and when a failure ends the run.

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <unistd.h>

#include "rubato/tick/checkpoint/checkpoints.hpp"
#include "rubato/tick/checkpoint/folder.hpp"
#include "rubato/tick/detail/collective.hpp"
#include "rubato/tick/tick_engine.hpp"

namespace rubato::tick {
namespace {

namespace fs = std::filesystem;

// An engine that does nothing: all is decided, and it is at tick 0.
class RunToBe final : public TickEngine {
 public:
  void start(core::Port& /*port*/) override {}
  void on_message(core::Port& /*port*/, NodeId /*from*/, Bytes /*bytes*/) override {}
  void on_finished(core::Port& /*port*/, const core::Work& /*work*/) override {}
  [[nodiscard]] bool next_work(std::uint32_t /*core*/, core::Work& /*work*/) override {
    return false;
  }
  void run(const core::Work& /*work*/, std::uint32_t /*core*/) override {}
  [[nodiscard]] Nanos cost(const core::Work& /*work*/) const override { return 0; }
  [[nodiscard]] bool finished() const override { return false; }
  [[nodiscard]] std::string waiting_for() const override { return ""; }
  [[nodiscard]] Tick own_tick() const override { return 0; }
  [[nodiscard]] Tick reach() const override { return 0; }
  [[nodiscard]] Tick watched_tick() const override { return 0; }
  [[nodiscard]] Tick run_begin() const override { return 0; }
  [[nodiscard]] Tick run_end() const override { return 100; }
  [[nodiscard]] bool has_decided(Tick /*t*/) const override { return true; }
  [[nodiscard]] Nanos started() const override { return 0; }
  [[nodiscard]] std::size_t state_bytes() const override { return 0; }
  void hold(Tick /*t*/) override {}
};
struct NoPort final : core::Port {
  void send(core::NodeId /*to*/, Bytes /*bytes*/) override {}
  void wake_at(Nanos /*when*/) override {}
  [[nodiscard]] Nanos now() const noexcept override { return 0; }
};

// Of two nodes, with a checkpoint each 4 ticks.
class Gathering : public ::testing::Test {
 protected:
  // As node 0 is told: `kWhole` and `kFailed` are in docs/formats.md.
  static constexpr std::uint32_t kWhole = 5;
  static constexpr std::uint32_t kFailed = 6;

  void part_is_whole(NodeId node, Tick tick) {
    fs::create_directories(checkpoint_path(folder_, tick));
    std::ofstream(part_path(checkpoint_path(folder_, tick), node));
    Writer out;
    out.put(detail::MessageHeader{detail::MessageType::checkpoint, kWhole, tick});
    out.put(CheckpointPart{});
    engine_->on_message(port_, node, out.take());
  }
  void writes_no_more(NodeId node, std::string_view why) {
    Writer out;
    out.put(detail::MessageHeader{detail::MessageType::checkpoint, kFailed, 0});
    out.append(why.data(), why.size());
    engine_->on_message(port_, node, out.take());
  }
  // The error that f() ends the run with.
  template <class F>
  static std::string error_of(F f) {
    try {
      f();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::failed);
      return error.what();
    }
    return "";
  }

  const std::string folder_ =
      ::testing::TempDir() + "rubato-gathering-" + std::to_string(::getpid());
  Checkpoints checkpoints_{
      options_of(folder_), {2, true, false, 1}, prepare_checkpoints(folder_, "")};
  RunToBe run_;
  NoPort port_;
  const std::unique_ptr<core::Engine> engine_ = checkpoints_.wrap(0, run_);

  void TearDown() override { fs::remove_all(folder_); }

 private:
  static CheckpointOptions options_of(const std::string& folder) {
    fs::remove_all(folder);
    CheckpointOptions options;
    options.folder = folder;
    options.every = 4;
    return options;
  }
};

// With an epoch at tick 4 a node may have all of its new regions at 8 while an old one is before 4.
TEST_F(Gathering, parts_that_come_in_another_order_become_whole_in_the_order_of_ticks) {
  part_is_whole(0, 8);
  part_is_whole(1, 8);
  EXPECT_EQ(checkpoints_.n_whole(), 0U);  // nobody has told of 4, but it is a multiple
  part_is_whole(0, 4);
  part_is_whole(0, 12);
  part_is_whole(1, 12);
  EXPECT_EQ(checkpoints_.n_whole(), 0U);
  part_is_whole(1, 4);
  EXPECT_EQ(checkpoints_.n_whole(), 3U);
  EXPECT_EQ(checkpoints_.last(), checkpoint_path(folder_, 12));
  EXPECT_EQ(list_checkpoints(folder_).size(), 2U);
}

// A node cannot write its part of 8, another one has not come to 4 yet: that becomes whole before all ends.
TEST_F(Gathering, what_all_have_saved_becomes_whole_before_a_failure_ends_the_run) {
  part_is_whole(1, 4);
  EXPECT_EQ(error_of([&] { writes_no_more(1, "no room for 8"); }), "");
  EXPECT_EQ(error_of([&] { part_is_whole(0, 8); }), "");
  EXPECT_EQ(checkpoints_.n_whole(), 0U);
  EXPECT_EQ(error_of([&] { part_is_whole(0, 4); }), "no room for 8");
  EXPECT_EQ(checkpoints_.n_whole(), 1U);
  EXPECT_EQ(checkpoints_.last(), checkpoint_path(folder_, 4));
}

// The one that is under way has no part of it, and will have none.
TEST_F(Gathering, a_failure_ends_the_run_at_once_if_nothing_can_become_whole) {
  part_is_whole(0, 4);
  EXPECT_EQ(error_of([&] { writes_no_more(1, "no room for 4"); }), "no room for 4");
  EXPECT_EQ(checkpoints_.n_whole(), 0U);
}

// What is told first is what people are told.
TEST_F(Gathering, of_several_nodes_that_fail_the_first_is_told) {
  part_is_whole(1, 4);
  EXPECT_EQ(error_of([&] { writes_no_more(1, "no room for 8"); }), "");
  EXPECT_EQ(error_of([&] { writes_no_more(0, "nor here for 4"); }), "no room for 8");
}

}  // namespace
}  // namespace rubato::tick
