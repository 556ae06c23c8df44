#include "rubato/global/program.hpp"

#include <new>

namespace rubato::global {

Program::Program(const core::JobShape& shape, const ProgramOptions& options)
    : shape_(shape),
      memory_(shape.n_cores,
              options.bytes_a_core != 0 ? options.bytes_a_core
                                        : NodeMemory::default_bytes_a_core(shape.n_cores),
              options.huge_pages),
      engine_(shape, options.messages) {
  for (std::uint32_t local = 0; local < shape.n_cores; ++local) {
    core::CoreContext& core = engine_.core(local);
    core.set_memory(memory_.of_core(local));
    core.local_or_make<detail::RegionBytes>().n_bytes = memory_.bytes_a_core();
  }
  if (shape.node == 0) heap_ = ::new (memory_.of_core(0)) SymmetricHeap(memory_.bytes_a_core());
}

Program::~Program() {
  if (heap_ != nullptr) heap_->~SymmetricHeap();
}

namespace detail {

void yield_elsewhere(SourcePlace at) {
  core::CoreContext& here = core::CoreContext::here();
  here.check_may_block(at);
  here.tasks().yield_to_any();
}

}  // namespace detail
}  // namespace rubato::global
