#pragma once
// async: tasks that run when their inputs are there [Turbine 5.2].
//
//   Future<double> x = async(simulate)(i);                      any core runs it
//   Future<double> y = async(mean, {.name = "mean"})(x, other); when both are there
//   async(store)(inserter, i, y);                               nobody waits for it but the run
//
// A function is a lambda whose captures are plain bytes; futures, containers and
// the like are its arguments (arguments.hpp says what it gets for each). It may block: on futures,
// on delegates of global memory, in loops. What it returns sets the future; a Future that it returns
// is passed on. If it throws, the future fails with the reason, and what needs it is not run.

#include <optional>

#include "rubato/flow/arguments.hpp"
#include "rubato/flow/in_time.hpp"
#include "rubato/flow/pool/team_task.hpp"

namespace rubato::flow {

namespace detail {

// Where the result of a task goes: its argument 0. A task of void is done.
template <class R>
void set_result(Flow& flow, Rule& rule, const R& result) {
  flow.set(std::exchange(rule.args()[0].ref, {}), Codec<R>::put(result), rule.at);
}
// When `result` is there, it goes to `output` on.
void pass_on(Flow& flow, Ref output, Arg result, PortablePlace at);

template <class F, class... A>
struct AsyncAction {
  static void run(Flow& flow, Rule& rule) {
    auto arguments = get_arguments<1, A...>(rule, std::index_sequence_for<A...>{});
    const auto call = [&]() -> decltype(auto) {
      return std::apply(function_of<F>(rule), std::move(arguments));
    };
    using R = decltype(call());
    if constexpr (std::is_void_v<R>) {
      if (rule.options.timeout != kNever) {
        if (!run_in_time(flow, rule, call)) return;
      } else {
        rule.options.native ? flow.run_native(call, rule.options.turn()) : call();
      }
      if (rule.args()[0].ref.id)
        flow.set(std::exchange(rule.args()[0].ref, {}), Value::done(), rule.at);
    } else if constexpr (!std::is_same_v<R, typename ResultOf<R>::Type>) {
      check_no_timeout(rule.options);
      auto result = call();
      pass_on(flow, std::exchange(rule.args()[0].ref, {}),
              input_of<typename ResultOf<R>::Type>(result.take()), rule.at);
    } else if (rule.options.timeout != kNever) {
      std::optional<R> result;
      if (run_in_time(flow, rule, [&] { result.emplace(call()); }))
        set_result<R>(flow, rule, *result);
    } else {
      set_result<R>(flow, rule,
                    rule.options.native ? flow.run_native(call, rule.options.turn()) : call());
    }
  }
  // NOLINTNEXTLINE(readability-identifier-naming): set before main, then constant
  static inline const ActionId kId = register_action({"async", &run});
};

// A task without inputs that any core may run: small enough to lie in the pool itself.
template <class F>
struct ReadyTask {
  DataId output;
  PortablePlace at;
  [[no_unique_address]] F f;

  void run(CoreContext& /*here*/) const {
    Flow& flow = Flow::here();
    flow.throttle().note_taken();
    if (flow.throttle().holds_all()) [[unlikely]] {
      auto rule = std::make_unique<Rule>(AsyncAction<F>::kId, 1, RuleOptions{}, at);
      fill(*rule);
      rule->at_arg = 1;
      return flow.throttle().put_aside(std::move(rule));
    }
    Rule rule(AsyncAction<F>::kId, 1, {}, at);
    fill(rule);
    flow.run(rule);
  }
  void fill(Rule& rule) const {
    rule.args()[0] = {Arg::Mode::output, {output, kWholeWeight}, {}, {}};
    put_function(rule, f);
  }
};
// One whose function was seen to make others.
template <class F>
struct ReadyMaker : ReadyTask<F> {
  static constexpr bool kMakesMore = true;
};
inline constexpr std::size_t kReadyBytesMost = 128;

// What a function makes of the arguments A.
template <class F, class... A>
using ResultOfCall = typename ResultOf<std::remove_cvref_t<decltype(std::apply(
    std::declval<const F&>(), std::declval<decltype(get_arguments<0, A...>(
                                  std::declval<Rule&>(), std::index_sequence_for<A...>{}))>()))>>::
    Type;

// The same, by each member of a team.
template <class F, class... A>
struct TeamAction {
  static void run(Flow& flow, Rule& rule) {
    RUBATO_REQUIRE(rule.team != nullptr);
    check_no_timeout(rule.options);
    auto arguments = std::tuple_cat(std::make_tuple(rule.team->team),
                                    get_arguments<1, A...>(rule, std::index_sequence_for<A...>{}));
    const auto call = [&]() -> decltype(auto) {
      return std::apply(function_of<F>(rule), std::move(arguments));
    };
    using R = std::remove_cvref_t<decltype(call())>;
    if constexpr (std::is_void_v<R>) {
      rule.team->run_beside(flow, call);
      rule.team->settle();
      if (rule.team->is_first)
        flow.set(std::exchange(rule.args()[0].ref, {}), Value::done(), rule.at);
    } else {
      std::optional<R> result;
      rule.team->run_beside(flow, [&] { result.emplace(call()); });
      rule.team->settle();
      if (rule.team->is_first) set_result<R>(flow, rule, *result);
    }
  }
  // NOLINTNEXTLINE(readability-identifier-naming): set before main, then constant
  static inline const ActionId kId = register_action({"async_team", &run});
};
template <class F, class... A>
using ResultOfTeamCall = std::remove_cvref_t<decltype(std::apply(
    std::declval<const F&>(),
    std::tuple_cat(std::declval<std::tuple<global::Team>>(),
                   std::declval<decltype(get_arguments<0, A...>(
                       std::declval<Rule&>(), std::index_sequence_for<A...>{}))>())))>;

template <class R>
constexpr Kind kind_of_result() {
  if constexpr (std::is_void_v<R>)
    return Kind::unit;
  else
    return Codec<R>::kKind;
}

// The rule of a call that sets `output`. May wait for room to send.
template <class Does, class F, class... A>
void submit_call(Flow& flow, DataId output, const F& f, const RuleOptions& options,
                 PortablePlace at, A&&... arguments) {
  global::detail::check_travels(flow.core(), f);
  auto rule =
      std::make_unique<Rule>(Does::kId, static_cast<std::uint32_t>(1 + sizeof...(A)), options, at);
  rule->args()[0] = {Arg::Mode::output, {output, kWholeWeight}, {}, {}};
  put_function(*rule, f);
  put_arguments<1>(*rule, std::forward<A>(arguments)...);
  flow.submit(std::move(rule));
}

}  // namespace detail

// A function and how it is to run; call it with the arguments.
template <class F>
class Async {
 public:
  Async(F f, const RuleOptions& options, SourcePlace at) : f_(f), options_(options), at_(at) {
    static_assert(!std::is_pointer_v<F>,
                  "an address of a function means nothing on another node: give async() a lambda "
                  "that calls it");
    static_assert(detail::TaskFunction<F>,
                  "a task travels by its bytes: its function must capture plain values; pass "
                  "futures, containers and strings as arguments");
  }
  // Starts the task; may wait for room to send. Called by tasks.
  template <class... A>
  auto operator()(A&&... arguments) const {
    using Does = detail::AsyncAction<F, detail::Kept<A>...>;
    using R = detail::ResultOfCall<F, detail::Kept<A>...>;
    Flow& flow = Flow::here();
    const DataId output = flow.create(detail::kind_of_result<R>(), at_);
    if constexpr (sizeof...(A) == 0 && sizeof(F) <= detail::kReadyBytesMost) {
      if (is_plain() && !flow.throttle().is_of_worker()) {
        flow.note_made();
        flow.throttle().note_maker();
        global::detail::check_travels(flow.core(), f_);
        const detail::ReadyTask<F> task{output, at_, f_};
        if (flow.makes_more(Does::kId)) {
          flow.core().spawn_pooled(detail::ReadyMaker<F>{task});
        } else {
          flow.core().spawn_pooled(task);
        }
        flow.throttle().note_ready();
        return Future<R>(Ref{output, kWholeWeight});
      }
    }
    detail::submit_call<Does>(flow, output, f_, options_, at_, std::forward<A>(arguments)...);
    return Future<R>(Ref{output, kWholeWeight});
  }

 private:
  [[nodiscard]] bool is_plain() const noexcept {
    return options_.core == kAnyCore && options_.priority == 0 && !options_.is_native() &&
           !options_.type && !options_.needs_several() && options_.name.empty();
  }

  F f_;
  RuleOptions options_;
  PortablePlace at_;
};

template <class F>
[[nodiscard]] Async<std::decay_t<F>> async(F&& f, const RuleOptions& options = {},
                                           SourcePlace at = SourcePlace::here()) {
  return {std::forward<F>(f), options, at};
}

// A function that several cores run together; call it with the arguments.
template <class F>
class AsyncTeam {
 public:
  AsyncTeam(std::uint32_t n_cores, F f, RuleOptions options, SourcePlace at)
      : f_(f), options_(options), at_(at) {
    static_assert(detail::TaskFunction<F>,
                  "a task travels by its bytes: its function must capture plain values; pass "
                  "futures, containers and strings as arguments");
    options_.n_cores = n_cores;
    options_.as_team = true;
  }
  // Starts the task; may wait for room to send. Called by tasks.
  template <class... A>
  auto operator()(A&&... arguments) const {
    using Does = detail::TeamAction<F, detail::Kept<A>...>;
    using R = detail::ResultOfTeamCall<F, detail::Kept<A>...>;
    Flow& flow = Flow::here();
    const DataId output = flow.create(detail::kind_of_result<R>(), at_);
    detail::submit_call<Does>(flow, output, f_, options_, at_, std::forward<A>(arguments)...);
    return Future<R>(Ref{output, kWholeWeight});
  }

 private:
  F f_;
  RuleOptions options_;
  PortablePlace at_;
};

// A task that `n_cores` cores run at the same time [Turbine 3, ADLB's parallel tasks]:
//
//   auto norm = async_team(4, [](const global::Team& team, double x) { ...; return
//   team.allreduce(x, std::plus<>{}); })(x);
//
// f gets the team, whose collectives join them, and the arguments, and may use all of `global`. What
// rank 0 returns is the result, when all have ended. If a member throws, the task fails: the calls
// of the team that others are in throw. With a type of work the cores are those of its workers. A
// team keeps its cores until it ends: what it waits for must not need a team of the same cores.
// f runs beside its core as far as it computes and calls the team, so that cores go on with messages
// and other tasks (global::Team::run_beside).
template <class F>
[[nodiscard]] AsyncTeam<std::decay_t<F>> async_team(std::uint32_t n_cores, F&& f,
                                                    const RuleOptions& options = {},
                                                    SourcePlace at = SourcePlace::here()) {
  return {n_cores, std::forward<F>(f), options, at};
}

}  // namespace rubato::flow
