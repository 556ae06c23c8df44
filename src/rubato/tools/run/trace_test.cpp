#include "rubato/observe/trace.hpp"

#include <nlohmann/json.hpp>

#include "rubato/tools/run/program_test.hpp"
#include "rubato/tools/run/report.hpp"

namespace rubato::tools {
namespace {

using observe::Trace;

tick::RunResult two_nodes() {
  tick::RunResult result;
  for (net::NodeId node = 0; node < 2; ++node) {
    result.nodes.emplace_back();
    result.nodes.back().time.node = node;
    result.nodes.back().time.cores.resize(1);
  }
  return result;
}

nlohmann::json written(const std::vector<Bytes>& parts) {
  const std::string file = scratch("unit.json");
  Trace::write(file, parts, trace_text(two_nodes(), "a run"));
  auto json = nlohmann::json::parse(std::ifstream(file));
  std::remove(file.c_str());
  return json;
}

TEST(Trace, ShowsAWaitBetweenTwoWorks) {
  Trace trace;
  trace.on_work(0, 0, {tick::step_own, 4, 1, nullptr}, 1'000'000, 1'500'000);
  trace.on_work(0, 0, {tick::pack_round, 1, 2, nullptr}, 1'900'000, 2'000'000);
  std::vector<std::string> names;
  const auto json = written({trace.pack()});
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    names.push_back(event.at("name"));
    if (names.back() == "wait") {
      EXPECT_EQ(event.at("ts"), 500);
      EXPECT_EQ(event.at("dur"), 400);
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"step", "wait", "pack"}));
}

TEST(Trace, NamesEveryKindOfWork) {
  Trace trace;
  for (const int kind : {tick::step_own, tick::step_replica, tick::pack_round, tick::unpack_round,
                         tick::move_state, tick::interact_own}) {
    const Nanos begin = 1000 * kind;
    trace.on_work(0, 0, {static_cast<std::uint32_t>(kind), 4, 1, nullptr}, begin, begin + 1000);
  }
  std::vector<std::string> names;
  const auto json = written({trace.pack()});
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    names.push_back(event.at("name"));
    if (names.back() == "interact") {
      EXPECT_EQ(event.at("args").at("region"), 4);
    }
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"step", "replica", "pack", "unpack", "move", "interact"}));
}

TEST(Trace, BringsClocksTogetherByTheMessages) {
  // Node 1's clock is 7 s ahead; each message takes 100 us.
  constexpr Nanos kAhead = 7 * kSecond;
  Trace first(2);
  Trace second(2);
  first.on_sent(0, 1, 10, 1000);
  second.on_taken(1, 0, 10, 101'000 + kAhead);
  second.on_sent(1, 0, 10, 200'000 + kAhead);
  first.on_taken(0, 1, 10, 300'000);
  std::vector<double> begins;
  std::vector<double> ends;
  const auto json = written({first.pack(), second.pack()});
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("ph") == "b") begins.push_back(event.at("ts"));
    if (event.at("ph") == "e") ends.push_back(event.at("ts"));
  }
  ASSERT_EQ(begins.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_DOUBLE_EQ(ends[i] - begins[i], 100);
  EXPECT_DOUBLE_EQ(begins[1], 199);
}

TEST(Trace, HoldsNoMoreThanItsShareAndSaysSo) {
  Trace trace(2, 8);
  for (Nanos t = 0; t < 10; ++t)
    trace.on_work(1, 0, {tick::step_own, 0, t, nullptr}, t, t + 1);
  const auto json = written({trace.pack()});
  EXPECT_EQ(json.at("otherData").at("events_left_out"), 6);
  std::size_t n_steps = 0;
  for (const auto& event : json.at("traceEvents"))
    n_steps += event.at("name") == "step" ? 1 : 0;
  EXPECT_EQ(n_steps, 4U);
}

}  // namespace
}  // namespace rubato::tools
