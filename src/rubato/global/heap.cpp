#include "rubato/global/heap.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

#include <sys/mman.h>

#include "rubato/base/memory.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/loop.hpp"
#include "rubato/global/reduce_cores.hpp"

namespace rubato::global {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
// Half of what processors with 48 bits of address have for a process.
constexpr std::size_t kAddressesMost = std::size_t{1} << 46;
constexpr std::uint64_t kLine = 64;

GlobalPtr<SymmetricHeap> heap() {
  return {0, Place::at_offset(0)};
}

#ifdef NDEBUG
void tell_all_cores(std::uint64_t /*offset*/, std::uint64_t /*n_bytes*/) {}
void forget(CoreContext& /*here*/, std::uint64_t /*offset*/) {}
#else
// What a core knows of allocations: bytes by offset.
struct Allocations {
  std::map<std::uint64_t, std::uint64_t> n_bytes;
};
struct Allocated {
  std::uint64_t offset;
  std::uint64_t n_bytes;
  void apply(CoreContext& here) const {
    here.local_or_make<Allocations>().n_bytes[offset] = n_bytes;
  }
};
// Before anybody can use it.
void tell_all_cores(std::uint64_t offset, std::uint64_t n_bytes) {
  CoreContext& here = CoreContext::here();
  const auto n_cores = static_cast<CoreId>(here.shape().n_cores_total());
  here.finish([&] { here.multicast(0, n_cores, Allocated{offset, n_bytes}); });
}
void forget(CoreContext& here, std::uint64_t offset) {
  here.local_or_make<Allocations>().n_bytes.erase(offset);
}
#endif

}  // namespace

NodeMemory::NodeMemory(std::uint32_t n_cores, std::size_t bytes_a_core, bool huge_pages)
    : bytes_a_core_(bytes_a_core) {
  const std::size_t n_bytes = n_cores * bytes_a_core + kHugePage;
  void* const at = mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    throw Error("reserving " + std::to_string(n_bytes >> 20) + " MiB of addresses for " +
                    std::to_string(n_cores) + " cores: " + std::strerror(errno) +
                    " (is the address space limited, ulimit -v, or vm.overcommit_memory 2?)",
                ExitCode::failed);
  }
  // Regions begin with a huge page; what is over on both sides is given back.
  auto* const begin = static_cast<std::byte*>(at);
  const auto over = reinterpret_cast<std::uintptr_t>(begin) % kHugePage;
  const std::size_t front = over == 0 ? 0 : kHugePage - over;
  begin_ = begin + front;
  if (front > 0) munmap(begin, front);
  if (front < kHugePage) munmap(begin_ + n_cores * bytes_a_core, kHugePage - front);
  // For speed alone: a system without huge pages refuses.
  if (huge_pages) static_cast<void>(madvise(begin_, n_cores * bytes_a_core, MADV_HUGEPAGE));
  RUBATO_ASSERT(begin_ != nullptr, n_bytes);
  n_bytes_ = n_cores * bytes_a_core;
}

NodeMemory::~NodeMemory() {
  munmap(begin_, n_bytes_);
}

std::size_t NodeMemory::default_bytes_a_core(std::uint32_t n_cores) {
  const std::size_t wanted = std::bit_ceil<std::size_t>(physical_memory());
  const std::size_t allowed = addresses_left() / 2 / n_cores / kHugePage * kHugePage;
  if (allowed < SymmetricHeap::kSure) {
    throw Error("this process may have " + std::to_string(addresses_left() >> 20) +
                    " MiB more of addresses (ulimit -v), and " + std::to_string(n_cores) +
                    (n_cores == 1 ? " core needs" : " cores need") + " more than " +
                    std::to_string(2 * (n_cores * SymmetricHeap::kSure >> 20)),
                ExitCode::usage);
  }
  return std::min({std::max(wanted, kHugePage), allowed, std::bit_floor(kAddressesMost / n_cores)});
}

SymmetricHeap::SymmetricHeap(std::uint64_t n_bytes) : n_sure_(std::min(n_bytes, kSure)) {
  static_assert(sizeof(SymmetricHeap) <= kFirst);
  RUBATO_REQUIRE(n_bytes > kFirst, n_bytes);
  free_[kFirst] = n_bytes - kFirst;
}

std::uint64_t SymmetricHeap::allocate(std::uint64_t n_bytes) {
  if (n_bytes > UINT64_MAX / 2) return kNone;
  n_bytes = std::max((n_bytes + kLine - 1) / kLine * kLine, kLine);
  const auto found =
      std::ranges::find_if(free_, [&](const auto& piece) { return piece.second >= n_bytes; });
  if (found == free_.end()) return kNone;
  const auto [offset, size] = *found;
  free_.erase(found);
  if (size > n_bytes) free_[offset + n_bytes] = size - n_bytes;
  used_[offset] = n_bytes;
  n_used_ += n_bytes;
  return offset;
}

void SymmetricHeap::deallocate(std::uint64_t offset) {
  const auto found = used_.find(offset);
  RUBATO_REQUIRE(found != used_.end(), offset);
  std::uint64_t begin = offset;
  std::uint64_t size = found->second;
  used_.erase(found);
  n_used_ -= size;
  // Joined with its free neighbours.
  const auto after = free_.lower_bound(begin);
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == begin) {
      begin = before->first;
      size += before->second;
      free_.erase(before);
    }
  }
  if (after != free_.end() && begin + size == after->first) {
    size += after->second;
    free_.erase(after);
  }
  free_[begin] = size;
}

// What is free above is gone; what is in use there is given back by who has asked for it (allocate_symmetric).
void SymmetricHeap::limit(std::uint64_t n_bytes) {
  n_sure_ = n_bytes;
  free_.erase(free_.lower_bound(n_bytes), free_.end());
  if (free_.empty()) return;
  const auto last = std::prev(free_.end());
  last->second = std::min(last->second, n_bytes - last->first);
}

namespace {

// The least that a core has, and which one.
struct Least {
  std::uint64_t n_bytes;
  CoreId core;
};
Least least_region() {
  const auto mine = [] {
    CoreContext& here = CoreContext::here();
    return Least{here.local_or_make<detail::RegionBytes>().n_bytes, here.core()};
  };
  return reduce_cores(mine,
                      [](const Least& a, const Least& b) { return b.n_bytes < a.n_bytes ? b : a; });
}

[[noreturn]] void refuse_allocation(std::uint64_t n_bytes, const Least& least) {
  throw Error("no room for " + std::to_string(n_bytes) + " bytes on each core: core " +
                  std::to_string(least.core) + " has addresses for " +
                  std::to_string(least.n_bytes >> 20) +
                  " MiB, by the memory of its machine and its limits (ulimit -v)",
              ExitCode::failed);
}

}  // namespace

std::uint64_t allocate_symmetric(std::uint64_t n_bytes) {
  struct Found {
    std::uint64_t offset;
    std::uint64_t is_sure;
  };
  const auto allocate = [n_bytes](SymmetricHeap& h) {
    const std::uint64_t offset = h.allocate(n_bytes);
    return Found{offset, offset == SymmetricHeap::kNone || h.is_sure(offset + n_bytes) ? 1U : 0U};
  };
  Found found = call(heap(), allocate);
  if (found.offset == SymmetricHeap::kNone || found.is_sure == 0) {
    const Least least = least_region();
    if (found.offset + n_bytes > least.n_bytes || found.offset == SymmetricHeap::kNone) {
      // Once more below the limit: others may have held what they were refused in turn.
      found.offset = call(heap(), [n_least = least.n_bytes, allocate, found](SymmetricHeap& h) {
        if (found.offset != SymmetricHeap::kNone) h.deallocate(found.offset);
        h.limit(n_least);
        return allocate(h).offset;
      });
      if (found.offset == SymmetricHeap::kNone) refuse_allocation(n_bytes, least);
    } else {
      call(heap(), [n_least = least.n_bytes](SymmetricHeap& h) { h.limit(n_least); });
    }
  }
  tell_all_cores(found.offset, n_bytes);
  return found.offset;
}

void check_allocated([[maybe_unused]] CoreContext& here, [[maybe_unused]] Place place,
                     [[maybe_unused]] std::uint64_t n_bytes, [[maybe_unused]] SourcePlace at) {
#ifndef NDEBUG
  if (!place.is_offset()) return;  // an object that its core has exported
  const auto& known = here.local_or_make<Allocations>().n_bytes;
  const std::uint64_t offset = place.offset();
  const auto behind = known.upper_bound(offset);
  std::pair<std::uint64_t, std::uint64_t> nearest(offset, 0);
  if (behind != known.begin()) nearest = *std::prev(behind);
  const auto [first, n_there] = nearest;
  const std::uint64_t from = offset - first;  // the bounds are [0, n_there)
  RUBATO_REQUIRE(from <= n_there && n_bytes <= n_there - from &&
                     "a range of global memory is not within what was allocated there",
                 at.text(), from, n_bytes, n_there);
#endif
}

void deallocate_symmetric(std::uint64_t offset) {
  const std::uint64_t n_bytes =
      call(heap(), [offset](SymmetricHeap& h) { return h.size_of(offset); });
  // The next one who gets the space finds zeros.
  on_all_cores([offset, n_bytes] {
    forget(CoreContext::here(), offset);
    std::byte* const begin = CoreContext::here().memory() + offset;
    // Whole huge pages to the system, the rest by hand.
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    const std::uintptr_t first = (address + kHugePage - 1) / kHugePage * kHugePage;
    const std::uintptr_t last = (address + n_bytes) / kHugePage * kHugePage;
    if (first >= last) {
      std::memset(begin, 0, n_bytes);
      return;
    }
    std::byte* const whole = begin + (first - address);
    std::memset(begin, 0, first - address);
    if (madvise(whole, last - first, MADV_DONTNEED) != 0) std::memset(whole, 0, last - first);
    std::memset(whole + (last - first), 0, address + n_bytes - last);
  });
  call(heap(), [offset](SymmetricHeap& h) { h.deallocate(offset); });
}

}  // namespace rubato::global
