#pragma once
// NodeWatch: the watches of the cores of a node, from before a run until its figures are gathered.
//
//   NodeWatch watch(trace);                      // on every node
//   config.host.observer = &watch.observer();
//   watch.attach(program.engine(), shape);
//   .. the run; counts() meanwhile ..
//   FlowFigures all = FlowFigures::of(host.gather(watch.pack()));   // flow_figures.hpp

#include <memory>
#include <vector>

#include "rubato/core/message/message_engine.hpp"
#include "rubato/flow/observe/core_watch.hpp"

namespace rubato::flow {

class NodeWatch {
 public:
  // `trace` is shown all tasks, `next` what the observer sees. Both may be null, and outlive this.
  NodeWatch(core::Observer* next, observe::Trace* trace) : trace_(trace), use_(next) {}
  explicit NodeWatch(observe::Trace* trace) : NodeWatch(trace, trace) {}
  NodeWatch(const NodeWatch&) = delete;
  NodeWatch& operator=(const NodeWatch&) = delete;

  // Of the host; for one run.
  [[nodiscard]] core::Observer& observer() noexcept { return use_; }
  // Before the run, which must not outlive this.
  void attach(core::MessageEngine& engine, const core::JobShape& shape,
              WatchDepth depth = WatchDepth::all);

  // From any thread, from attach() on.
  [[nodiscard]] TaskCounts counts() const noexcept;
  // After the run: for the node that gathers them all.
  [[nodiscard]] Bytes pack() const;

 private:
  observe::Trace* trace_;
  observe::CoreUse use_;
  CoreId first_core_ = 0;
  std::vector<std::unique_ptr<CoreWatch>> cores_;
};

}  // namespace rubato::flow
