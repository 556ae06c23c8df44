#include "rubato/flow/rule/rule.hpp"

#include <deque>

namespace rubato::flow {
namespace {

std::deque<Action>& actions() {
  static std::deque<Action> all;  // filled before main
  return all;
}

// What travels of a rule besides arguments and closure.
struct RuleHead {
  ActionId action;
  CoreId core;
  std::int32_t priority;
  bool native;
  bool may_move;
  bool as_team;
  std::uint8_t unused;
  WorkType type;
  std::uint32_t n_cores;
  std::uint32_t at_arg;
  Nanos timeout;
  PortablePlace at;
  PortableText name;  // a literal of the executable
  std::uint32_t n_args;
  std::uint32_t n_closure;
  std::uint32_t loop;
  core::NodeId made_on;
};

}  // namespace

ActionId register_action(const Action& action) {
  actions().push_back(action);
  return static_cast<ActionId>(actions().size() - 1);
}

const Action& action_at(ActionId id) {
  if (id >= actions().size()) {
    throw Error("unknown action " + std::to_string(id) + " of a rule: expected less than " +
                std::to_string(actions().size()));
  }
  return actions()[id];
}

Rule::Rule(ActionId does, std::uint32_t n_args, const RuleOptions& how, PortablePlace where)
    : action(does), options(how), at(where), n_args_(n_args) {
  if (n_args > kFew) more_ = std::make_unique<Arg[]>(n_args);  // NOLINT(modernize-avoid-c-arrays)
}

void Rule::set_closure(const void* bytes, std::size_t n_bytes) {
  n_closure_ = static_cast<std::uint32_t>(n_bytes);
  // NOLINTNEXTLINE(modernize-avoid-c-arrays)
  if (n_bytes > kSmall) large_ = std::make_unique_for_overwrite<std::byte[]>(n_bytes);
  if (n_bytes > 0) std::memcpy(n_bytes > kSmall ? large_.get() : small_, bytes, n_bytes);
}

Bytes Rule::to_bytes() const {
  Writer out;
  out.reserve(sizeof(RuleHead) + n_closure_ + 48 * std::size_t{n_args_});
  out.put(RuleHead{action, options.core, options.priority, options.native, options.may_move,
                   options.as_team, 0, options.type, options.n_cores, at_arg, options.timeout, at,
                   options.name, n_args_, n_closure_, loop, made_on});
  out.append(closure_at(), n_closure_);
  for (const Arg& arg : args()) {
    out.put(arg.mode);
    out.put(arg.ref);
    arg.value.put(out);
    out.put(static_cast<std::uint32_t>(arg.has_keys() ? arg.keys->size() : 0));
    for (std::size_t i = 0; arg.has_keys() && i < arg.keys->size(); ++i)
      (*arg.keys)[i].put(out);
  }
  return out.take();
}

std::unique_ptr<Rule> Rule::from_bytes(ByteView bytes) {
  Reader in(bytes);
  const auto head = in.get<RuleHead>();
  const RuleOptions options{head.name, head.core,    head.priority, head.native, head.may_move,
                            head.type, head.n_cores, head.as_team,  head.timeout};
  auto rule = std::make_unique<Rule>(head.action, head.n_args, options, head.at);
  rule->at_arg = head.at_arg;
  rule->loop = head.loop;
  rule->made_on = head.made_on;
  const ByteView closure = in.get_view(head.n_closure);
  rule->set_closure(closure.data(), closure.size());
  for (Arg& arg : rule->args()) {
    arg.mode = in.get<Arg::Mode>();
    arg.ref = in.get<Ref>();
    arg.value = Value::get(in);
    const auto n_keys = in.get<std::uint32_t>();
    if (n_keys > 0) arg.keys = std::make_unique<Keys>();
    for (std::uint32_t i = 0; i < n_keys; ++i)
      arg.keys->push_back(Value::get(in));
  }
  return rule;
}

std::string Rule::text() const {
  std::string text = "task";
  const Action& does = action_at(action);
  if (does.describe != nullptr) {
    text += " '" + does.describe(*this) + "'";
  } else if (!options.name.empty()) {
    text.append(" '").append(options.name.c_str()).append("'");
  }
  return text + " of " + at.place().text();
}

Bytes bytes_of(std::span<const std::unique_ptr<Rule>> rules) {
  Writer out;
  for (const auto& rule : rules) {
    const Bytes bytes = rule->to_bytes();
    out.put(static_cast<std::uint64_t>(bytes.size()));
    out.append(bytes.data(), bytes.size());
  }
  return out.take();
}

std::vector<std::unique_ptr<Rule>> rules_of(ByteView bytes) {
  std::vector<std::unique_ptr<Rule>> rules;
  Reader in(bytes);
  while (!in.at_end()) {
    const auto n_bytes = in.get<std::uint64_t>();
    rules.push_back(Rule::from_bytes(in.get_view(n_bytes)));
  }
  return rules;
}

RuleList::~RuleList() {
  while (!empty())
    static_cast<void>(pop());
}

}  // namespace rubato::flow
