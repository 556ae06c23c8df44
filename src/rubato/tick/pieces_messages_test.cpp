// When fragments of policy pieces leave: with others to the same node, as long as there is something
// else to do and nobody has waited for long [AsyTick 4.2].

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/tick/dataflow.hpp"
#include "rubato/tick/testing/order_watch.hpp"

namespace rubato::tick {
namespace {

// Pieces 0 to 3 are read by the other node, of which 1 to 3 read what never comes; 4 and 5 lie inside.
Plan four_at_the_border() {
  return testing::plan_beside_one(Policy::parse("pieces(6)"),
                                  {{0}, {1, 6}, {2, 6}, {3, 6}, {4}, {5}}, {0, 1, 2, 3});
}

// A clock that stands still but for what a test adds, and what is sent.
class Outgoing final : public core::Port {
 public:
  void send(core::NodeId to, Bytes bytes) override {
    EXPECT_EQ(to, 1U);
    detail::MessageHeader header{};
    ASSERT_GE(bytes.size(), sizeof header);
    std::memcpy(&header, bytes.data(), sizeof header);
    EXPECT_EQ(header.type, detail::MessageType::pieces);
    n_fragments.push_back(header.detail);
    EXPECT_EQ(header.sent, time);
  }
  void wake_at(Nanos) override {}
  [[nodiscard]] Nanos now() const noexcept override { return time; }
  [[nodiscard]] Came came() const noexcept override { return {time - busy, time}; }

  Nanos time = 0;
  Nanos busy = 0;                          // for how long nobody has looked for messages
  std::vector<std::uint32_t> n_fragments;  // [messages]
};

class PiecesMessages : public ::testing::Test {
 protected:
  PiecesMessages() { flow_.start(port_); }

  // Runs the next work, which takes `took`; "step REGION@TICK", "part REGION@TICK" of the asynchronous
  // part of one, "pack N" or "" if there is none.
  std::string run(Nanos took) {
    core::Work work;
    if (!flow_.next_work(0, work)) return "";
    flow_.run(work, 0);
    const std::size_t n_sent = port_.n_fragments.size();
    port_.time += took;
    flow_.on_finished(port_, work);
    if (port_.n_fragments.size() > n_sent)
      return "pack " + std::to_string(port_.n_fragments.back());
    return (work.kind == step_own ? "step " : "part ") + std::to_string(work.index) + "@" +
           std::to_string(work.tick);
  }

  // Ticks that take `passes` each: then comes what pieces 1 to 3 wait for, and what can run, runs.
  void run_ticks(Tick n, Nanos passes) {
    for (Tick t = 1; t <= n; ++t) {
      port_.time += passes;
      receive(t);
      while (!run(0).empty()) {
      }
    }
  }
  // The fragment of the other node's piece.
  void receive(Tick t, Nanos sent = 0) {
    Writer out;
    out.put(detail::MessageHeader{detail::MessageType::pieces, 1, t, sent});
    out.put(std::uint64_t{0});  // of its first source
    out.put(t);
    out.put(std::uint64_t{0});  // without a payload
    flow_.on_message(port_, 1, out.take());
  }

  // Up to the first message. At tick 0 all inputs are there: all four sources have a fragment.
  void run_tick_0() {
    for (const char* expected : {"step 0@0", "step 1@0", "step 2@0", "step 3@0"})
      EXPECT_EQ(run(1), expected);
  }

  // How late what comes now is, which was sent at `sent`; it is taken at once.
  Nanos lateness(Tick t, Nanos sent) {
    receive(t, sent);
    core::Work work;
    EXPECT_TRUE(flow_.next_work(0, work));
    EXPECT_EQ(work.kind, unpack_round);
    EXPECT_EQ(work.tick, t);
    flow_.run(work, 0);
    flow_.on_finished(port_, work);
    return work.late;
  }

  Plan plan_ = four_at_the_border();
  testing::BookStore store_{plan_};
  Dataflow flow_{plan_, store_, {.ticks = 200}};
  Outgoing port_;
};

TEST_F(PiecesMessages, fragments_of_a_whole_tick_leave_together_at_once) {
  run_tick_0();
  EXPECT_EQ(run(1), "pack 4");
}

// Of one source alone, while others wait for inputs.
TEST_F(PiecesMessages, a_fragment_waits_for_others_while_there_is_work_and_leaves_at_its_deadline) {
  run_tick_0();
  EXPECT_EQ(run(1), "pack 4");
  std::vector<std::string> steps;
  for (int i = 0; i < 3; ++i)
    steps.push_back(run(1));
  EXPECT_EQ(steps, (std::vector<std::string>{"step 4@0", "step 5@0", "step 0@1"}));
  const Nanos since = port_.time;
  EXPECT_EQ(run(50 * kMicrosecond), "step 4@1");
  EXPECT_EQ(run(50 * kMicrosecond), "step 5@1");
  EXPECT_EQ(run(99 * kMicrosecond), "step 0@2");
  EXPECT_LT(port_.time - since, 200 * kMicrosecond);
  EXPECT_EQ(run(kMicrosecond), "step 4@2");
  EXPECT_GE(port_.time - since, 200 * kMicrosecond);
  EXPECT_EQ(run(1), "pack 2");
  EXPECT_EQ(run(1), "step 5@2");
}

// A node whose ticks are long loses less by waiting than by one more message.
TEST_F(PiecesMessages, of_long_ticks_the_deadline_is_a_tenth_of_one) {
  while (!run(0).empty()) {
  }
  constexpr Tick kTicks = 100;  // enough for the mean of what ticks take
  run_ticks(kTicks, 10 * kMillisecond);
  ASSERT_EQ(flow_.own_tick(), kTicks + 1);
  const std::string at = "@" + std::to_string(kTicks + 1);
  receive(kTicks + 1);
  EXPECT_EQ(run(0), "part 0" + at);  // what has come is taken
  EXPECT_EQ(run(0), "step 1" + at);
  const Nanos since = port_.time;
  EXPECT_EQ(run(900 * kMicrosecond), "step 2" + at);
  EXPECT_LT(port_.time - since, kMillisecond);
  EXPECT_EQ(run(101 * kMicrosecond), "step 3" + at);
  EXPECT_GT(port_.time - since, kMillisecond);
  EXPECT_EQ(run(0), "pack 3");
}

// The clock of who has sent it is 5 ms ahead.
TEST_F(PiecesMessages, say_when_they_leave_and_how_late_they_come) {
  constexpr Nanos kAhead = 5 * kMillisecond;
  port_.time = kMillisecond;
  port_.busy = 1;
  EXPECT_EQ(lateness(1, port_.time + kAhead - 300), 0);
  EXPECT_EQ(lateness(2, port_.time + kAhead - 700), 399);
  EXPECT_EQ(lateness(3, port_.time + kAhead - 200), 0) << "the quickest so far";
  EXPECT_EQ(lateness(4, port_.time + kAhead - 700), 499);
  // It may have come at any time since messages were looked for.
  port_.busy = 450;
  EXPECT_EQ(lateness(5, port_.time + kAhead - 700), 50);
  EXPECT_EQ(lateness(6, port_.time + kAhead - 300), 0);
}

// In virtual time all have one clock, and know when a message came.
TEST_F(PiecesMessages, are_as_late_as_they_were_on_their_way_in_virtual_time) {
  port_.time = kMillisecond;
  EXPECT_EQ(lateness(1, port_.time - 300), 300);
  EXPECT_EQ(lateness(2, port_.time - 700), 700);
}

TEST_F(PiecesMessages, a_node_with_nothing_else_to_do_sends_what_it_has) {
  run_tick_0();
  EXPECT_EQ(run(1), "pack 4");
  // The clock stands: four fragments of the source that goes on are as much as a tick has, and what is
  // left when nothing more can run leaves then.
  std::string last;
  std::uint32_t n_steps = 0;
  for (std::string next = run(0); !next.empty(); next = run(0)) {
    n_steps += next.starts_with("step 0@") ? 1 : 0;
    if (!next.starts_with("part ")) last = next;
  }
  std::uint32_t n_sent = 0;
  for (const std::uint32_t n : port_.n_fragments) {
    EXPECT_LE(n, 4U);
    n_sent += n;
  }
  EXPECT_EQ(n_sent, 4 + n_steps);
  EXPECT_NE(n_steps % 4, 0U);  // else nothing was left
  EXPECT_EQ(last, "pack " + std::to_string(n_steps % 4));
}

}  // namespace
}  // namespace rubato::tick
