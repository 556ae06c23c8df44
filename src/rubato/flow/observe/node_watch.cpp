#include "rubato/flow/observe/node_watch.hpp"

#include "rubato/flow/observe/flow_figures.hpp"

namespace rubato::flow {

void NodeWatch::attach(core::MessageEngine& engine, const core::JobShape& shape, WatchDepth depth) {
  use_.begin_run(shape.n_cores, engine.began());
  first_core_ = shape.first_core();
  cores_.clear();
  for (std::uint32_t local = 0; local < shape.n_cores; ++local) {
    CoreContext& core = engine.core(local);
    cores_.push_back(std::make_unique<CoreWatch>(core, engine.began(), trace_, depth));
    core.local_or_make<WatchPlace>().watch = cores_.back().get();
  }
}

TaskCounts NodeWatch::counts() const noexcept {
  TaskCounts all;
  for (const auto& core : cores_)
    all.add(core->counts());
  return all;
}

Bytes NodeWatch::pack() const {
  Writer out;
  for (std::uint32_t local = 0; local < cores_.size(); ++local)
    put_core(out, first_core_ + local, *cores_[local], use_.of_core()[local]);
  return out.take();
}

}  // namespace rubato::flow
