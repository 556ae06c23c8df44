#include "rubato/flow/async.hpp"

namespace rubato::flow::detail {
namespace {

void forward(Flow& flow, Rule& rule) {
  const Value value = rule.args()[1].take_value();
  const Ref output = std::exchange(rule.args()[0].ref, {});
  if (value.is_failed()) {
    flow.give_back_writer(output, &value);
  } else {
    flow.set(output, value, rule.at);
  }
}

// NOLINTNEXTLINE(cert-err58-cpp): before main, like all actions
const ActionId kForward =
    register_action({.name = "pass on", .run = &forward, .takes_failures = true, .in_place = true});

}  // namespace

void pass_on(Flow& flow, Ref output, Arg result, PortablePlace at) {
  auto rule = std::make_unique<Rule>(kForward, 2, RuleOptions{"result that is passed on"}, at);
  rule->args()[0] = {Arg::Mode::output, output, {}, {}};
  rule->args()[1] = std::move(result);
  flow.submit(std::move(rule));
}

}  // namespace rubato::flow::detail
