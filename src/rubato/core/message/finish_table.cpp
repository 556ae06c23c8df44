#include "rubato/core/message/finish_table.hpp"

#include <algorithm>

#include "rubato/base/error.hpp"

namespace rubato::core::detail {

FinishId FinishTable::open(FinishId outer) {
  constexpr std::uint64_t kNumbers = std::uint64_t{1} << kScopeNumberBits;
  const FinishId level = std::min(level_of(outer) + 1, kScopeLevels);
  // After 2^24 scopes numbers come again. A scope that has ended is known nowhere.
  FinishId id = 0;
  do {
    ++n_opened_;
    id = FinishId{core_} << 32 | level << kScopeNumberBits | n_opened_ % kNumbers;
  } while (scopes_.contains(id));
  state_of(id).is_home = true;
  return id;
}

void FinishTable::close(FinishId finish) {
  const auto scope = scopes_.find(finish);
  RUBATO_ASSERT(scope != scopes_.end() && scope->second.is_home && scope->second.n_open == 0,
                finish);
  forget(scope);
}

void FinishTable::look_up(FinishId finish) {
  last_ = &scopes_[finish];
  last_id_ = finish;
}

void FinishTable::forget(std::map<FinishId, State>::iterator scope) {
  if (last_id_ == scope->first) last_ = nullptr;
  scopes_.erase(scope);
}

void FinishTable::touch(FinishId finish, State& state) {
  if (std::exchange(state.is_touched, true)) return;
  touched_.push_back(finish);
}

void FinishTable::note_applied(FinishId finish, CoreId from, std::uint64_t n) {
  applied_[{finish, from}] += n;
}

void FinishTable::settle(std::vector<Acknowledgement>& due) {
  // What this core sent to itself first: it tells whether anything is left open.
  for (const auto& [key, n] : applied_) {
    if (key.second == core_) end(key.first, n);
  }
  for (const auto& [key, n] : applied_) {
    const auto [finish, from] = key;
    if (from == core_) continue;
    const auto scope = scopes_.find(finish);
    if (scope != scopes_.end()) {
      State& state = scope->second;
      if (state.n_open > 0 && !state.is_home && !state.is_engaged) {
        state.is_engaged = true;
        state.parent = from;
        state.n_to_parent = n;
        continue;
      }
    }
    due.push_back({from, finish, n});
  }
  applied_.clear();
  for (const FinishId finish : touched_) {
    const auto scope = scopes_.find(finish);
    if (scope == scopes_.end()) continue;  // closed meanwhile
    State& state = scope->second;
    state.is_touched = false;
    if (state.n_open > 0) continue;
    if (state.waiter != nullptr) {
      Worker& waiter = *std::exchange(state.waiter, nullptr);
      waiter.home().wake(waiter);
    }
    if (state.is_engaged) due.push_back({state.parent, finish, state.n_to_parent});
    if (!state.is_home) forget(scope);
  }
  touched_.clear();
}

}  // namespace rubato::core::detail
