#pragma once
// TeamTask: one task that several cores run together, as what the task itself sees of it.

#include <cstdint>
#include <functional>
#include <string>

#include "rubato/global/team.hpp"

namespace rubato::flow {

class Flow;

// A member's part of the task; rank 0 is the one that has the outputs.
struct TeamTask {
  global::Team team;
  bool is_first = false;
  std::uint32_t n_open = 0;  // of rank 0: members that have not ended
  std::string failure = {};  // of rank 0: of the first member that failed
  core::Worker* waiter = nullptr;

  // What a user has written, beside the core: global::Team::run_beside(); seen by those who watch.
  void run_beside(Flow& flow, const std::function<void()>& f) const;

  // Before rank 0 sets what came of it: waits until all members have ended, and throws Error if one
  // has failed. Nothing for others.
  void settle();
  // This member cannot go on: others are told, in their next call of the team.
  void fail(const std::string& why) const { team.abandon(why); }

  void wait_for_others();
};

}  // namespace rubato::flow
