#include "bench/baselines/omp_spawn.hpp"

#include <vector>

#include "rubato/base/error.hpp"
#include "rubato/base/time.hpp"

// Not <omp.h>, which only some compilers come with: what it says of this function.
extern "C" int omp_get_thread_num();

namespace rubato::bench {

double omp_spawn_rate(std::uint32_t n_threads, std::uint64_t n_tasks) {
  constexpr std::size_t kLineWords = 8;
  std::vector<std::uint64_t> counts(n_threads * kLineWords, 0);
  const Nanos begin = steady_now();
#pragma omp parallel num_threads(n_threads)
#pragma omp single
  for (std::uint64_t i = 0; i < n_tasks; ++i) {
#pragma omp task shared(counts)
    ++counts[static_cast<std::size_t>(omp_get_thread_num()) * kLineWords];
  }
  const Nanos time = steady_now() - begin;
  std::uint64_t n = 0;
  for (const std::uint64_t count : counts)
    n += count;
  RUBATO_REQUIRE(n == n_tasks, n, n_tasks);
  return static_cast<double>(n_tasks) / static_cast<double>(time) * 1e3;
}

double omp_spawn_rate_of_all(std::uint32_t n_threads, std::uint64_t n_tasks) {
  constexpr std::size_t kLineWords = 8;
  std::vector<std::uint64_t> counts(n_threads * kLineWords, 0);
  const Nanos begin = steady_now();
#pragma omp parallel num_threads(n_threads)
#pragma omp for
  for (std::uint64_t i = 0; i < n_tasks; ++i) {
#pragma omp task shared(counts)
    ++counts[static_cast<std::size_t>(omp_get_thread_num()) * kLineWords];
  }
  const Nanos time = steady_now() - begin;
  std::uint64_t n = 0;
  for (const std::uint64_t count : counts)
    n += count;
  RUBATO_REQUIRE(n == n_tasks, n, n_tasks);
  return static_cast<double>(n_tasks) / static_cast<double>(time) * 1e3;
}

double omp_chain_rate(std::uint32_t n_threads, std::uint64_t n_tasks) {
  std::uint64_t value = 0;
  const Nanos begin = steady_now();
#pragma omp parallel num_threads(n_threads)
#pragma omp single
  for (std::uint64_t i = 0; i < n_tasks; ++i) {
#pragma omp task shared(value) depend(inout : value)
    ++value;
  }
  const Nanos time = steady_now() - begin;
  RUBATO_REQUIRE(value == n_tasks, value, n_tasks);
  return static_cast<double>(n_tasks) / static_cast<double>(time) * 1e3;
}

}  // namespace rubato::bench
