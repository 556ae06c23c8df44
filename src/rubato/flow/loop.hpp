#pragma once
// Loops of a flow [Turbine 5.2, foreach]: over ranges that are never materialised, and over
// containers, whose members are met as they are inserted.
//
//   Future<void> done = async_for(0, n, [](std::int64_t i, Inserter<double>& out) { .. })(out);
//   async_each(members, [](std::int64_t key, double value, Inserter<double>& out) { .. })(out);
//
// The body gets references to the arguments, which all iterations share; it must leave what they
// refer to as it is, but may copy handles. Futures among the arguments are waited for once, before
// the first iteration. `done` is set when all bodies have ended (not what they started), and
// fails if one of them has thrown, or a member that it would have met has failed; the other
// iterations run all the same.
//
// A range is halved until a task has `grain` iterations; the newest halves of a core run first and
// others take the oldest. So what one loop has under way is bounded: grain iterations and the
// logarithm of the range, on each core; where what it makes waits for workers, cores or programs,
// pool/throttle.hpp bounds that [Turbine 5, throttling].
//
// One that has some tasks for each node is cut by nodes first, an equal part for each, which it gets
// in as many steps as the logarithm of their number: nobody has to ask for its first part.

#include <cxxabi.h>

#include "rubato/flow/async.hpp"

namespace rubato::flow {

struct LoopOptions {
  PortableText name = "";
  std::uint32_t grain = 0;  // iterations of a range in a task; 0: as many as suit it, 256 at most
};

namespace detail {

struct Range {
  std::int64_t begin;
  std::int64_t end;
  std::uint64_t grain;

  [[nodiscard]] std::uint64_t size() const noexcept {
    return static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
  }
};

// A part of the range for each of the nodes [first, last), counted from node `base` on; it is on the
// first of them.
struct NodesRange {
  Range range;
  core::NodeId base;
  core::NodeId first;
  core::NodeId last;
};
// Cuts a rule whose closure ends with a NodesRange by nodes: the upper halves go to theirs, the rest
// becomes a rule of `body`, whose closure ends with a Range.
void spread_range(Flow& flow, Rule& rule, ActionId body);
[[nodiscard]] bool is_for_all_nodes(const Range& range, const core::JobShape& shape) noexcept;

// The first failure of several bodies that one task runs.
class BodyFailures {
 public:
  BodyFailures(Flow& flow, Rule& rule) noexcept : flow_(flow), rule_(rule) {}
  template <class F>
  void run(const Value& key, F&& body) {
    try {
      body();
    } catch (const std::exception& error) {
      note(key, error.what());
    } catch (const abi::__forced_unwind&) {
      throw;
    } catch (...) {
      note(key, kUnknownException);
    }
  }
  // Of a body that does not run, since its member has failed.
  void skip(const Value& failure);
  // Once, at the end.
  void settle();

 private:
  void note(const Value& key, const char* what);

  Flow& flow_;
  Rule& rule_;
  Value first_;
};

// Argument 0 is the loop's count of open tasks.
template <class F, class... A>
struct RangeAction {
  static void run(Flow& flow, Rule& rule) {
    Range range{};
    const auto read = [&] {
      std::memcpy(&range, rule.closure().data() + kFunctionBytes<F>, sizeof range);
    };
    read();
    while (range.size() > range.grain) {
      std::unique_ptr<Rule> upper = flow.halve_rule(rule);
      Range half = range;
      half.begin = range.end = range.begin + static_cast<std::int64_t>(range.size() / 2);
      put_function(*upper, function_of<F>(rule), std::as_bytes(std::span(&half, 1)));
      flow.submit(std::move(upper));
    }
    auto arguments = get_arguments<1, A...>(rule, std::index_sequence_for<A...>{});
    BodyFailures failures(flow, rule);
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      const auto call = [&] {
        std::apply([&](auto&... more) { function_of<F>(rule)(i, more...); }, arguments);
      };
      failures.run(Value::integer(i), call);
    }
    failures.settle();
  }
  static void spread(Flow& flow, Rule& rule) { spread_range(flow, rule, kId); }
  // NOLINTBEGIN(readability-identifier-naming): set before main, then constant
  static inline const ActionId kId =
      register_action({.name = "async_for", .run = &run, .is_loop = true});
  static inline const ActionId kSpread =
      register_action({.name = "async_for", .run = &spread, .is_start = true, .is_loop = true});
  // NOLINTEND(readability-identifier-naming)
};

// Argument 0 is the container, 1 the count of open tasks; then those of the body; then members, if
// they are no words.
template <class F, class T, class K, class... A>
struct EachAction {
  static void run(Flow& flow, Rule& rule) {
    auto arguments = get_arguments<2, A...>(rule, std::index_sequence_for<A...>{});
    BodyFailures failures(flow, rule);
    const auto body = [&](const Value& key, const Value& value) {
      if (value.is_failed()) return failures.skip(value);
      failures.run(key, [&] {
        std::apply(
            [&](auto&... more) {
              function_of<F>(rule)(Codec<K>::get(key), Codec<T>::get(value), more...);
            },
            arguments);
      });
    };
    ByteView words = rule.closure().subspan(kFunctionBytes<F>);
    for (; !words.empty(); words = words.subspan(sizeof(WordPair))) {
      WordPair pair{};
      std::memcpy(&pair, words.data(), sizeof pair);
      body(Value::integer(pair.key), pair.value());
    }
    for (std::size_t i = 2 + sizeof...(A); i < rule.args().size(); i += 2)
      body(rule.args()[i].value, rule.args()[i + 1].take_value());
    failures.settle();
  }
  // Its inputs are there: the loop begins.
  static void start(Flow& flow, Rule& rule) {
    auto body = std::make_unique<Rule>(kId, static_cast<std::uint32_t>(rule.args().size()),
                                       RuleOptions{rule.options.name}, rule.at);
    body->set_closure(rule.closure().data(), rule.closure().size());
    body->at_arg = static_cast<std::uint32_t>(rule.args().size());
    body->loop = rule.loop;
    for (std::size_t i = 0; i < rule.args().size(); ++i)
      body->args()[i] = std::exchange(rule.args()[i], {});
    flow.attach_loop(std::move(body));
  }
  // NOLINTBEGIN(readability-identifier-naming): set before main, then constant
  static inline const ActionId kId =
      register_action({.name = "async_each", .run = &run, .takes_failures = true, .is_loop = true});
  static inline const ActionId kStart =
      register_action({.name = "async_each", .run = &start, .is_start = true, .is_loop = true});
  // NOLINTEND(readability-identifier-naming)
};

[[nodiscard]] std::uint64_t grain_for(std::uint64_t n, std::uint64_t n_cores, std::uint32_t asked);

template <class F>
class AsyncFor {
 public:
  AsyncFor(std::int64_t begin, std::int64_t end, F f, const LoopOptions& options, SourcePlace at)
      : begin_(begin), end_(std::max(begin, end)), f_(f), options_(options), at_(at) {
    static_assert(TaskFunction<F>,
                  "the body of a loop travels by its bytes: it must capture plain "
                  "values; pass handles as arguments");
  }
  template <class... A>
  Future<void> operator()(A&&... arguments) const {
    Flow& flow = Flow::here();
    global::detail::check_travels(flow.core(), f_);
    using Does = RangeAction<F, Kept<A>...>;
    const core::JobShape& shape = flow.core().shape();
    const Range range{
        begin_, end_,
        grain_for(static_cast<std::uint64_t>(end_) - static_cast<std::uint64_t>(begin_),
                  shape.n_cores_total(), options_.grain)};
    const bool is_spread = is_for_all_nodes(range, shape);
    const DataId done = flow.create_count(is_spread, at_);
    auto rule = std::make_unique<Rule>(is_spread ? Does::kSpread : Does::kId,
                                       static_cast<std::uint32_t>(1 + sizeof...(A)),
                                       RuleOptions{options_.name}, at_);
    rule->args()[0] = {Arg::Mode::writer, {done, kWholeWeight}, {}, {}};
    if (is_spread) {
      const NodesRange all{range, shape.node, 0, shape.n_nodes};
      put_function(*rule, f_, std::as_bytes(std::span(&all, 1)));
      rule->options.core = flow.core().core();
    } else {
      put_function(*rule, f_, std::as_bytes(std::span(&range, 1)));
    }
    put_arguments<1>(*rule, std::forward<A>(arguments)...);
    flow.submit(std::move(rule));
    return Future<void>(Ref{done, kWholeWeight});
  }

 private:
  std::int64_t begin_;
  std::int64_t end_;
  F f_;
  LoopOptions options_;
  PortablePlace at_;
};

template <class F, class T, class K>
class AsyncEach {
 public:
  AsyncEach(Container<T, K> container, F f, const LoopOptions& options, SourcePlace at)
      : container_(std::move(container)), f_(f), options_(options), at_(at) {
    static_assert(TaskFunction<F>,
                  "the body of a loop travels by its bytes: it must capture plain "
                  "values; pass handles as arguments");
  }
  // Once.
  template <class... A>
  Future<void> operator()(A&&... arguments) {
    Flow& flow = Flow::here();
    global::detail::check_travels(flow.core(), f_);
    Ref container = container_.take();
    const DataId done = flow.create_count(container.id.is_spread(), at_);
    auto rule = std::make_unique<Rule>(EachAction<F, T, K, Kept<A>...>::kStart,
                                       static_cast<std::uint32_t>(2 + sizeof...(A)),
                                       RuleOptions{options_.name}, at_);
    rule->options.core = flow.core().core();  // before what lies in the pool
    rule->args()[0] = {Arg::Mode::reader, container, {}, {}};
    rule->args()[1] = {Arg::Mode::writer, {done, kWholeWeight}, {}, {}};
    put_function(*rule, f_);
    put_arguments<2>(*rule, std::forward<A>(arguments)...);
    flow.submit(std::move(rule));
    return Future<void>(Ref{done, kWholeWeight});
  }

 private:
  Container<T, K> container_;
  F f_;
  LoopOptions options_;
  PortablePlace at_;
};

}  // namespace detail

// body(i, arguments..) for each i of [begin, end), on any core.
template <class F>
[[nodiscard]] detail::AsyncFor<F> async_for(std::int64_t begin, std::int64_t end, const F& body,
                                            const LoopOptions& options = {},
                                            SourcePlace at = SourcePlace::here()) {
  return {begin, end, body, options, at};
}

// body(key, value, arguments..) for each member of the container, as soon as it is there.
template <class T, class K, class F>
[[nodiscard]] detail::AsyncEach<F, T, K> async_each(Container<T, K> container, const F& body,
                                                    const LoopOptions& options = {},
                                                    SourcePlace at = SourcePlace::here()) {
  return {std::move(container), body, options, at};
}

}  // namespace rubato::flow
