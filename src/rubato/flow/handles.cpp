#include "rubato/flow/handles.hpp"

namespace rubato::flow::detail {
namespace {

// Where a task waits for a value; lies on its stack.
struct Waiting {
  core::Worker* waiter = nullptr;
  bool sleeps = false;  // until the value comes, and for nothing else
  std::optional<Value> value;
};

// Of the core that the address belongs to.
struct Home {
  CoreId core;
  std::uint64_t address;
};

void hand_over(std::uint64_t address, Value value) {
  auto& waiting = *std::bit_cast<Waiting*>(address);
  waiting.value = std::move(value);
  if (std::exchange(waiting.sleeps, false)) Flow::here().typed_pool().wake(*waiting.waiter);
}

struct Reply {
  std::uint64_t address;
  void apply(CoreContext& /*here*/, ByteView bytes) const {
    Reader in(bytes);
    hand_over(address, Value::get(in));
  }
};

// Where the value is: sends it to who waits.
void reply(Flow& flow, Rule& rule) {
  Home home{};
  std::memcpy(&home, rule.closure().data(), sizeof home);
  Value value = rule.args()[0].take_value();
  if (home.core == flow.core().core()) return hand_over(home.address, std::move(value));
  Writer out;
  value.put(out);
  flow.core().post(home.core, Reply{home.address}, out.view());
}

// NOLINTNEXTLINE(cert-err58-cpp): before main, like all actions
const ActionId kReply =
    register_action({.name = "wait", .run = &reply, .takes_failures = true, .in_place = true});

}  // namespace

void throw_set_again(SourcePlace first, SourcePlace again) {
  if (first.line == 0) {
    throw Error("a promise is set at " + again.text() +
                ": expected one that was not given away, and is one");
  }
  throw Error("a promise was set at " + first.text() + ", and is set again at " + again.text());
}

Value wait_for(Arg input, SourcePlace at) {
  Flow& flow = Flow::here();
  flow.core().check_may_block();
  Waiting waiting;
  waiting.waiter = &flow.core().tasks().running();
  auto rule = std::make_unique<Rule>(kReply, 1, RuleOptions{"get()"}, PortablePlace(at));
  rule->args()[0] = std::move(input);
  const Home home{flow.core().core(), std::bit_cast<std::uint64_t>(&waiting)};
  rule->set_closure(&home, sizeof home);
  flow.submit(std::move(rule));
  if (!waiting.value) {
    flow.throttle().note_blocked();
    if (!waiting.value) {
      waiting.sleeps = true;
      flow.typed_pool().rest(*waiting.waiter);
    }
    while (waiting.sleeps || !waiting.value)
      flow.core().tasks().suspend("a datum of a flow");
    flow.throttle().note_unblocked();
  }
  if (waiting.value->is_failed()) {
    throw Error(waiting.value->as_text(), ExitCode::some_tasks_failed);
  }
  return std::move(*waiting.value);
}

}  // namespace rubato::flow::detail
