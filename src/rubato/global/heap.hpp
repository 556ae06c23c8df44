#pragma once
// Memory of the job: each core has a region of its own, which the others reach through GlobalPtrs.
//
// Regions are reserved and not taken: pages come with their first use, so nobody sizes a heap.
// Space in them is symmetric [Grappa 3.1.1]: what is allocated has the same offset on all cores,
// handed out by an allocator that lives on core 0. Differs from the paper, whose symmetric objects
// have equal addresses in processes of their own: here cores are threads, or virtual.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "rubato/global/pointer.hpp"

namespace rubato::global {

// The regions of the cores of one node.
class NodeMemory {
 public:
  // Throws Error if the system refuses the address space.
  NodeMemory(std::uint32_t n_cores, std::size_t bytes_a_core, bool huge_pages = true);
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;
  ~NodeMemory();

  [[nodiscard]] std::byte* of_core(std::uint32_t local) const noexcept {
    return begin_ + local * bytes_a_core_;
  }
  [[nodiscard]] std::size_t bytes_a_core() const noexcept { return bytes_a_core_; }
  // As much as the machine has, so that no core runs out of addresses before it runs out of memory; or half of
  // the addresses that the process may still have, for all cores together. Nodes may differ.
  [[nodiscard]] static std::size_t default_bytes_a_core(std::uint32_t n_cores);

 private:
  std::size_t bytes_a_core_;
  std::size_t n_bytes_ = 0;
  std::byte* begin_ = nullptr;
};

// Which offsets are in use. Lies at offset 0 of core 0.
class SymmetricHeap {
 public:
  static constexpr std::uint64_t kNone = UINT64_MAX;
  static constexpr std::uint64_t kFirst = 4096;  // below it lies the heap itself

  // All cores of the job are known to have kSure bytes, or as many as node 0 has if that is all of it.
  static constexpr std::uint64_t kSure = std::uint64_t{16} << 20;

  explicit SymmetricHeap(std::uint64_t n_bytes);

  // Whether each core has the addresses below `end`; else one of them may have less than this one.
  [[nodiscard]] bool is_sure(std::uint64_t end) const noexcept { return end <= n_sure_; }
  // Each core has `n_bytes`; nothing is handed out above from now on.
  void limit(std::uint64_t n_bytes);
  // Offset of `n_bytes`, a multiple of 64, or kNone. First fit, since arrays are few and large.
  [[nodiscard]] std::uint64_t allocate(std::uint64_t n_bytes);
  // REQUIRES: `offset` is of allocate(), and not given back.
  void deallocate(std::uint64_t offset);
  [[nodiscard]] std::uint64_t n_used() const noexcept { return n_used_; }
  // REQUIRES: `offset` is of allocate(), and not given back since.
  [[nodiscard]] std::uint64_t size_of(std::uint64_t offset) const {
    const auto found = used_.find(offset);
    RUBATO_REQUIRE(found != used_.end() &&
                       "global memory is freed that is not allocated: was it freed before?",
                   offset);
    return found->second;
  }

 private:
  std::map<std::uint64_t, std::uint64_t> free_;  // size by offset
  std::map<std::uint64_t, std::uint64_t> used_;
  std::uint64_t n_used_ = 0;
  std::uint64_t n_sure_;
};

namespace detail {

// Of a core: how large its region is.
struct RegionBytes {
  std::uint64_t n_bytes = 0;
};

}  // namespace detail

// Space for `n_bytes` on every core at one offset; its bytes are 0. Called by a task; waits for
// core 0, and once, when more than SymmetricHeap::kSure are in use, for all cores, which may be of machines
// with more memory and less. Throws Error if there is none.
[[nodiscard]] std::uint64_t allocate_symmetric(std::uint64_t n_bytes);
// Gives it back, with its pages on all cores. Called by a task, and waits.
void deallocate_symmetric(std::uint64_t offset);
// Checked builds end the job if these bytes, of symmetric memory, are not all of one allocation that
// is there; for `at`, where somebody wants them. Each core knows all allocations there.
void check_allocated(CoreContext& here, Place place, std::uint64_t n_bytes, SourcePlace at);

}  // namespace rubato::global
