#pragma once
// Algorithms 1, 2 and 3 of [Ticks 5], transcribed line by line and run on virtual processes with
// seeded delays. Slow and simple on purpose: the yardstick that the engine's messages and
// eligibility are held against (tick/literal_algorithms_test.cpp).
//
// Corrections of the print, all of them:
//   - Algorithm 1, lines 4 and 9: the print names only i. As in the text, P_i sends to P_j if Q_i
//     meets (W_D o R_D)(Q_j), and receives from P_j if Q_j meets (W_D o R_D)(Q_i).
//   - Line 5 selects (W_D o R_D)(Q_j); only the part in R_D(Q_j) is complete at the receiver and
//     read there, so that is what is sent, in general R_D o (W_D o R_D)^m (Q_j).
//   - Algorithm 3, line 1: the first t_w is k, the first tick with a round.
//   - Algorithm 3, line 3: "=" is a union; round t may have been received before tick t is stepped.
//   - Algorithm 3, lines 12-16: a search that falls below tick 0 has found nothing.
// Each process is a coroutine; it yields where the print waits.

#include <coroutine>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rubato/base/random.hpp"
#include "rubato/tick/model.hpp"

namespace rubato::tick::testing {

// A coroutine that is resumed until it is done; each co_yield ends a turn.
class Turns {
 public:
  struct promise_type {
    std::exception_ptr error;
    Turns get_return_object() {
      return Turns(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int) noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { error = std::current_exception(); }
  };

  explicit Turns(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Turns(Turns&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Turns& operator=(Turns&&) = delete;
  ~Turns() {
    if (handle_) handle_.destroy();
  }

  [[nodiscard]] bool done() const { return handle_.done(); }
  void turn() {
    handle_.resume();
    if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

template <Model M>
struct LiteralMessage {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  Tick tick = 0;
  typename M::State tuples;
};

// P_i of the print. REQUIRES: the policy is local, schedule(d) or replicate(k, m).
template <Model M>
class LiteralProcess {
 public:
  using State = typename M::State;
  using Query = typename M::Query;
  using Unit = std::pair<int, Tick>;  // the layer as in tick/plan.hpp, and the tick stepped from

  LiteralProcess(const M& model, const std::vector<Query>& queries, std::uint32_t self,
                 const Policy& policy, Tick ticks)
      : model_(model),
        self_(self),
        q_(queries[self]),
        k_(policy.period),
        m_(policy.replica_layers),
        d_(policy.depth),
        T_(ticks),
        S_(static_cast<std::size_t>(ticks) + 1) {
    RUBATO_REQUIRE(!policy.barrier && (m_ == 0 || d_ == 0), m_, d_);
    for (std::uint32_t j = 0; j < queries.size(); ++j) {
      if (j == self) continue;
      if (!model.disjoint(q_, outer(m_ + 1, queries[j]))) {
        receivers_[j] = model.read_dependencies(outer(m_, queries[j]));
      }
      if (!model.disjoint(queries[j], outer(m_ + 1, q_))) senders_.insert(j);
    }
    at(0) = model.init(model.read_dependencies(outer(m_, q_)));
  }

  // The algorithm of the policy; owned by the caller, which must keep the process alive.
  [[nodiscard]] Turns start() {
    return m_ > 0 || k_ > 1 ? algorithm3() : d_ > 0 ? algorithm2() : algorithm1();
  }

  void deliver(const LiteralMessage<M>& message) {
    came_[message.tick].emplace(message.from, message.tuples);
  }
  [[nodiscard]] std::vector<LiteralMessage<M>> take_sent() { return std::exchange(sent_, {}); }

  // What was stepped so far.
  [[nodiscard]] const std::set<Unit>& stepped() const { return stepped_; }
  [[nodiscard]] const std::set<std::uint32_t>& senders() const { return senders_; }
  // Changes whenever a turn stepped or received something.
  [[nodiscard]] std::uint64_t progress() const { return progress_; }
  // Q_i(S_i^T). REQUIRES: the algorithm has ended.
  [[nodiscard]] State result() const { return model_.select(S_.back(), q_); }

 private:
  State& at(Tick t) { return S_[static_cast<std::size_t>(t)]; }

  [[nodiscard]] Query outer(int j, Query q) const {  // (W_D o R_D)^j
    for (; j > 0; --j)
      q = model_.write_dependencies(model_.read_dependencies(q));
    return q;
  }
  [[nodiscard]] Query inner(int j, Query q) const {  // (R_X o W_X)^j
    for (; j > 0; --j)
      q = model_.read_exclusive(model_.write_exclusive(q));
    return q;
  }
  // (q1 \ q2)(state)
  [[nodiscard]] State minus(const State& state, const Query& q1, const Query& q2) const {
    const State all = model_.select(state, q1);
    return model_.difference(all, model_.select(all, q2));
  }
  void count_step(int first_layer, int last_layer, Tick t) {
    for (int layer = first_layer; layer <= last_layer; ++layer)
      stepped_.emplace(layer, t);
    ++progress_;
  }

  // Only what stepping Q_i yields leaves the process: its own part of the state.
  void send(const State& state, Tick t) {
    for (const auto& [j, target] : receivers_)
      sent_.push_back({self_, j, t, model_.select(state, target)});
  }
  // Whether round t of all neighbours is here; takes it into S_i^t.
  bool try_receive(Tick t) {
    if (came_[t].size() < senders_.size()) return false;
    for (const auto& [from, tuples] : came_[t])
      model_.merge(at(t), tuples);
    ++progress_;
    return true;
  }

  Turns algorithm1() {
    for (Tick t = 1; t <= T_; ++t) {
      at(t) = model_.step(model_.select(at(t - 1), q_), at(t - 1), t - 1);
      count_step(0, 0, t - 1);
      send(at(t), t);
      while (!try_receive(t))
        co_yield 0;
    }
  }

  Turns algorithm2() {
    Tick t_c = 1;
    Tick t_w = 1;
    std::vector<int> DEPTH(static_cast<std::size_t>(T_) + 3, -1);
    const auto depth = [&](Tick t) -> int& { return DEPTH[static_cast<std::size_t>(t)]; };
    depth(1) = 0;
    while (t_w <= T_) {
      if (t_c <= T_) {
        const Query q1 = inner(depth(t_c), q_);
        if (depth(t_c + 1) == -1) {
          at(t_c) = model_.step(model_.select(at(t_c - 1), q1), at(t_c - 1), t_c - 1);
          count_step(-d_, -depth(t_c), t_c - 1);
        } else {
          const Query q2 = inner(depth(t_c + 1) - 1, q_);
          model_.merge(at(t_c), model_.step(minus(at(t_c - 1), q1, q2), at(t_c - 1), t_c - 1));
          count_step(1 - (depth(t_c + 1) - 1), -depth(t_c), t_c - 1);
        }
        if (depth(t_c) == 0) send(at(t_c), t_c);
        depth(t_c + 1) = depth(t_c) + 1;
        ++t_c;
      }
      do {
        if (try_receive(t_w)) {
          ++t_w;
          t_c = t_w;
          depth(t_c) = 0;
        } else {
          co_yield 0;
        }
      } while (t_w <= T_ && !(-1 < depth(t_c) && depth(t_c) <= d_));
    }
  }

  Turns algorithm3() {
    Tick t_w = k_;
    std::vector<int> WIDTH(static_cast<std::size_t>(T_) + 1, -1);
    const auto width = [&](Tick t) -> int& { return WIDTH[static_cast<std::size_t>(t)]; };
    width(0) = m_;
    for (Tick t = 1; t <= T_; ++t) {
      const State own = model_.step(model_.select(at(t - 1), q_), at(t - 1), t - 1);
      count_step(0, 0, t - 1);
      model_.merge(at(t), own);
      if (t % k_ == 0) send(own, t);
      while (width(t) == -1) {
        if (t_w <= T_ && try_receive(t_w)) {
          width(t_w) = m_;
          t_w += k_;
          continue;
        }
        Tick p = t - 1;
        while (p >= 0 && p >= t - m_ && width(p) <= width(p + 1) + 1)
          --p;
        if (p >= 0 && width(p) > width(p + 1) + 1) {
          const Query q1 = outer(width(p + 1) + 2, q_);
          const Query q2 = outer(width(p + 1) + 1, q_);
          model_.merge(at(p + 1), model_.step(minus(at(p), q1, q2), at(p), p));
          count_step(width(p + 1) + 2, width(p + 1) + 2, p);
          ++width(p + 1);
        }
        co_yield 0;
      }
    }
  }

  const M& model_;
  std::uint32_t self_;
  Query q_;
  int k_, m_, d_;
  Tick T_;
  std::vector<State> S_;                      // [T + 1]
  std::map<std::uint32_t, Query> receivers_;  // j and what it is sent
  std::set<std::uint32_t> senders_;
  std::map<Tick, std::map<std::uint32_t, State>> came_;  // by round and sender
  std::vector<LiteralMessage<M>> sent_;
  std::set<Unit> stepped_;
  std::uint64_t progress_ = 0;
};

// Runs the process until it is done or has nothing to do but wait.
template <Model M>
void run_until_blocked(LiteralProcess<M>& process, Turns& turns) {
  // A turn without progress that is followed by another one waits for a message.
  for (int idle = 0; !turns.done() && idle < 3;) {
    const std::uint64_t before = process.progress();
    turns.turn();
    idle = process.progress() == before ? idle + 1 : 0;
  }
}

template <Model M>
struct LiteralRun {
  std::vector<LiteralMessage<M>> messages;  // in the order of sending
  typename M::State state;                  // the union of all Q_i(S_i^T)
};

// All processes to their end; messages are late by what the seed says, in order for each pair.
template <Model M>
[[nodiscard]] LiteralRun<M> run_literal(const M& model,
                                        const std::vector<typename M::Query>& queries,
                                        const Policy& policy, Tick ticks, std::uint64_t seed) {
  const auto n = static_cast<std::uint32_t>(queries.size());
  std::vector<std::unique_ptr<LiteralProcess<M>>> processes;
  std::vector<Turns> turns;
  for (std::uint32_t i = 0; i < n; ++i) {
    processes.push_back(std::make_unique<LiteralProcess<M>>(model, queries, i, policy, ticks));
    turns.push_back(processes.back()->start());
  }
  RandomStream random(seed, 9);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<LiteralMessage<M>>> flying;
  LiteralRun<M> run;
  for (std::uint32_t n_done = 0; n_done < n;) {
    if (!flying.empty() && random.between(0, 2) == 0) {
      auto pair = flying.begin();
      std::advance(pair, random.between(0, static_cast<std::int64_t>(flying.size()) - 1));
      processes[pair->first.second]->deliver(pair->second.front());
      pair->second.pop_front();
      if (pair->second.empty()) flying.erase(pair);
      continue;
    }
    const auto i = static_cast<std::uint32_t>(random.between(0, n - 1));
    if (turns[i].done()) continue;
    turns[i].turn();
    if (turns[i].done()) ++n_done;
    for (LiteralMessage<M>& message : processes[i]->take_sent()) {
      run.messages.push_back(message);
      flying[{i, message.to}].push_back(std::move(message));
    }
  }
  for (const auto& process : processes)
    model.merge(run.state, process->result());
  return run;
}

}  // namespace rubato::tick::testing
