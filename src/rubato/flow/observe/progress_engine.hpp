#pragma once
// ProgressEngine: a message engine whose node 0 knows how far the tasks of all nodes are, for a
// progress line. Made on all nodes or on none.
//
// Where something has happened, a node tells node 0 at most every kInterval, and a last time that
// long after it. Where nothing happens, nothing is sent and no timer is set: a node sleeps as
// without it, and a deadlock is found. Nothing of it is asked for to end a run.

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "rubato/core/job_shape.hpp"
#include "rubato/core/wrapped_engine.hpp"
#include "rubato/flow/observe/task_counts.hpp"

namespace rubato::flow {

class ProgressEngine final : public core::WrappedEngine {
 public:
  static constexpr Nanos kInterval = kSecond / 2;

  // `counts` tells what this node's tasks have come to, from any thread. `engine` outlives this.
  ProgressEngine(core::Engine& engine, const core::JobShape& shape,
                 std::function<TaskCounts()> counts);

  // On node 0, from any thread: of all nodes, as far as they have told. Others' are at most some
  // kInterval old.
  [[nodiscard]] TaskCounts counts() const;

  void start(core::Port& port) override;
  void on_message(core::Port& port, core::NodeId from, Bytes bytes) override;
  void on_finished(core::Port& port, const core::Work& work) override;
  void on_time(core::Port& port) override;

 private:
  void tell(core::Port& port);

  core::JobShape shape_;
  std::function<TaskCounts()> mine_;
  TaskCounts told_;                     // by this node, last
  Nanos next_ = 0;                      // not before
  Nanos timer_ = kNever;                // the one that was asked for
  std::vector<LiveTaskCounts> others_;  // [n_nodes], at node 0
};

// What a progress line says of tasks. Looks at them now and then.
class ProgressText {
 public:
  struct Line {
    std::string text;
    double part = -1;  // of the tasks that are known has ended; -1 if that says nothing
    Nanos left = -1;   // then: as long as the others will take at the rate of the last ones
  };
  // `elapsed` since the start of the run.
  [[nodiscard]] Line look(Nanos elapsed, const TaskCounts& counts);

 private:
  // Of the last kRateTime: tasks take as long as those that ended last, not as the first ones.
  struct Ended {
    Nanos when;
    std::uint64_t n;
  };
  [[nodiscard]] double rate(Nanos elapsed, std::uint64_t n_ended);

  std::deque<Ended> ended_;
  std::uint64_t n_known_ = 0;  // tasks, at the last look
  Nanos grew_at_ = 0;          // when they became more
};

}  // namespace rubato::flow
