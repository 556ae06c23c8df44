#include "rubato/flow/loop.hpp"

#include <algorithm>

namespace rubato::flow::detail {
namespace {

constexpr std::uint64_t kGrainMost = 256;
constexpr std::uint64_t kTasksACore = 16;
// From so many tasks of each node on, a message to each is worth it.
constexpr std::uint64_t kTasksToSpread = 4;

// How many of `n` iterations the first `n_first` of `n_nodes` get.
std::uint64_t part_of_nodes(std::uint64_t n, std::uint64_t n_first, std::uint64_t n_nodes) {
  return n / n_nodes * n_first + std::min(n % n_nodes, n_first);
}

void set_closure(Rule& rule, ByteView function, const auto& range) {
  Writer all;
  all.append(function.data(), function.size());
  all.put(range);
  rule.set_closure(all.view().data(), all.size());
}

}  // namespace

bool is_for_all_nodes(const Range& range, const core::JobShape& shape) noexcept {
  return shape.n_nodes > 1 && range.size() / range.grain / kTasksToSpread >= shape.n_nodes;
}

void spread_range(Flow& flow, Rule& rule, ActionId body) {
  const core::JobShape& shape = flow.core().shape();
  const std::size_t n_function = rule.closure().size() - sizeof(NodesRange);
  const Bytes function(rule.closure().begin(),
                       rule.closure().begin() + static_cast<std::ptrdiff_t>(n_function));
  NodesRange mine{};
  std::memcpy(&mine, rule.closure().data() + n_function, sizeof mine);
  for (Arg& arg : rule.args())
    flow.make_wide(arg.ref, arg.mode == Arg::Mode::writer);
  const core::NodeId n_nodes = mine.last - mine.first;
  const auto begin_of = [&](core::NodeId node) {
    const std::uint64_t n_before = part_of_nodes(mine.range.size(), node - mine.first, n_nodes);
    return mine.range.begin + static_cast<std::int64_t>(n_before);
  };
  core::NodeId n_left = n_nodes;
  core::detail::for_parts_of_cores(
      mine.first, mine.last, [&](core::NodeId first, core::NodeId last) {
        std::unique_ptr<Rule> other = flow.part_of_rule(rule, last - first, n_left);
        n_left -= last - first;
        const Range range{begin_of(first), begin_of(last), mine.range.grain};
        set_closure(*other, function, NodesRange{range, mine.base, first, last});
        // The first core of it: those of a node take from each other.
        const CoreId to = (mine.base + first) % shape.n_nodes * shape.n_cores;
        other->options.core = to;
        flow.submit(std::move(other));
        flow.core().hurry(to);
      });
  mine.range.end = begin_of(mine.first + 1);
  auto own = std::make_unique<Rule>(body, static_cast<std::uint32_t>(rule.args().size()),
                                    RuleOptions{rule.options.name}, rule.at);
  set_closure(*own, function, mine.range);
  own->at_arg = static_cast<std::uint32_t>(rule.args().size());
  own->loop = rule.loop;
  for (std::size_t i = 0; i < rule.args().size(); ++i)
    own->args()[i] = std::exchange(rule.args()[i], {});
  flow.submit(std::move(own));
  flow.core().yield();  // the other parts leave
}

std::uint64_t grain_for(std::uint64_t n, std::uint64_t n_cores, std::uint32_t asked) {
  if (asked != 0) return asked;
  return std::clamp<std::uint64_t>(n / (n_cores * kTasksACore), 1, kGrainMost);
}

void BodyFailures::note(const Value& key, const char* what) {
  std::string text = rule_.text() + ", iteration " + key_text(key) + ": " + what;
  if (!first_.is_failed()) first_ = Value::failed(text);
  flow_.note_failed_body(std::move(text));
}

void BodyFailures::skip(const Value& failure) {
  const Value reason = flow_.told(rule_, 0, failure);
  if (!first_.is_failed()) first_ = reason;
}

void BodyFailures::settle() {
  if (first_.is_failed()) flow_.give_back(rule_, &first_);
}

}  // namespace rubato::flow::detail
