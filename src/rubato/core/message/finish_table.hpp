#pragma once
// FinishTable: what one core knows of the finish scopes that it takes part in.
//
// A finish scope waits for everything that was started in it, on all cores, and by what that
// started. Found by counting, after Dijkstra and Scholten ["Termination detection for diffusing
// computations", 1980]: a core counts for each scope what it has started and not heard the end of,
// tasks of its own and messages. An applied message is acknowledged to its sender, at once if it
// left nothing open here; otherwise the core is engaged, and its first open message is acknowledged
// when its own count is 0. The core that opened the scope has the root of that tree.
//
// Counts are of whole runs and acknowledgements of many runs together, so that a message in a scope
// costs nothing but its share of a run's head.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "rubato/base/error.hpp"
#include "rubato/core/message/block.hpp"
#include "rubato/core/task/scheduler.hpp"

namespace rubato::core::detail {

class FinishTable {
 public:
  struct Acknowledgement {
    CoreId to = 0;
    FinishId finish = 0;
    std::uint64_t n = 0;
  };

  explicit FinishTable(CoreId core) noexcept : core_(core) {}

  // A new scope with this core as its home, within another one or none.
  [[nodiscard]] FinishId open(FinishId outer);
  // `worker`, or nobody, waits until everything in the scope has ended.
  void set_waiter(FinishId finish, Worker* worker) { state_of(finish).waiter = worker; }
  // REQUIRES: of a scope that was opened here; everything has ended.
  void close(FinishId finish);

  // Started in the scope: messages that were posted, tasks that were spawned.
  void add(FinishId finish, std::uint64_t n) { state_of(finish).n_open += n; }
  // What this core started itself has ended.
  void end(FinishId finish, std::uint64_t n) {
    State& state = state_of(finish);
    RUBATO_ASSERT(n <= state.n_open, n, state.n_open, finish);
    state.n_open -= n;
    if (state.n_open == 0) touch(finish, state);
  }
  // Messages of `from` were applied.
  void note_applied(FinishId finish, CoreId from, std::uint64_t n);

  // Settles what has been noted. Appends acknowledgements that are due, and wakes who waits.
  // REQUIRES: all that was posted has been counted by add().
  void settle(std::vector<Acknowledgement>& due);

  [[nodiscard]] bool is_settled() const noexcept { return applied_.empty() && touched_.empty(); }
  [[nodiscard]] std::uint64_t n_open(FinishId finish) { return state_of(finish).n_open; }
  [[nodiscard]] std::size_t size() const noexcept { return scopes_.size(); }

 private:
  struct State {
    std::uint64_t n_open = 0;
    bool is_home = false;
    bool is_engaged = false;
    bool is_touched = false;
    CoreId parent = 0;              // if it is engaged
    std::uint64_t n_to_parent = 0;  // acknowledged when nothing is open any more
    Worker* waiter = nullptr;
  };

  [[nodiscard]] State& state_of(FinishId finish) {
    if (finish != last_id_ || last_ == nullptr) [[unlikely]]
      look_up(finish);
    return *last_;
  }
  void look_up(FinishId finish);
  void forget(std::map<FinishId, State>::iterator scope);
  void touch(FinishId finish, State& state);

  CoreId core_;
  std::uint32_t n_opened_ = 0;
  std::map<FinishId, State> scopes_;
  FinishId last_id_ = 0;
  State* last_ = nullptr;
  std::map<std::pair<FinishId, CoreId>, std::uint64_t> applied_;
  std::vector<FinishId> touched_;
};

}  // namespace rubato::core::detail
