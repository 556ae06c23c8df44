#include "bench/baselines/fiber_yield.hpp"

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <boost/fiber/all.hpp>
#include <sys/mman.h>

#include "bench/yield_work.hpp"
#include "rubato/base/error.hpp"

namespace rubato::bench {
namespace {

constexpr std::size_t kStackBytes = 8192;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Stacks of huge pages in random order, with a line between them as tasks of ours have.
class Stacks {
 public:
  Stacks(std::size_t n, std::uint64_t seed)
      : n_bytes_(n * kStride + 2 * kHugePage), order_(shuffled(n, seed)) {
    map_ = mmap(nullptr, n_bytes_, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    RUBATO_REQUIRE(map_ != MAP_FAILED, n_bytes_);
    madvise(map_, n_bytes_, MADV_HUGEPAGE);
  }
  ~Stacks() { munmap(map_, n_bytes_); }
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  [[nodiscard]] char* top_of_next() {
    return static_cast<char*>(map_) + (order_[n_given_++] + 1) * kStride;
  }

 private:
  static constexpr std::size_t kStride = kStackBytes + 64;
  std::size_t n_bytes_;
  void* map_ = nullptr;
  std::vector<std::size_t> order_;
  std::size_t n_given_ = 0;
};

struct StackAllocator {
  Stacks* stacks;
  [[nodiscard]] boost::context::stack_context allocate() const {
    boost::context::stack_context context;
    context.size = kStackBytes;
    context.sp = stacks->top_of_next();
    return context;
  }
  void deallocate(boost::context::stack_context& /*context*/) const {}
};

void run_fibers(YieldClock& clock, std::size_t n, std::uint64_t n_yields, std::uint64_t seed) {
  Stacks stacks(n, seed);
  const auto work = [&] { yield_work(clock, n_yields, [] { boost::this_fiber::yield(); }); };
  std::vector<boost::fibers::fiber> fibers;
  fibers.reserve(n);
  for (std::size_t i = 0; i < n; ++i)
    fibers.emplace_back(boost::fibers::launch::post, std::allocator_arg, StackAllocator{&stacks},
                        work);
  for (auto& fiber : fibers)
    fiber.join();
}

}  // namespace

double fiber_yield_ns(std::size_t n, std::uint64_t n_yields, std::uint64_t seed) {
  YieldClock clock(n);
  // A thread of its own: the scheduler of Boost.Fiber is the thread's.
  std::thread thread(run_fibers, std::ref(clock), n, n_yields, seed);
  thread.join();
  return clock.ns_a_yield(n_yields);
}

}  // namespace rubato::bench
