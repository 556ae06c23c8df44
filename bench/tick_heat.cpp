// Question: what does the engine make of a memory-bound stencil on one node?
// Hypothesis: the skewed wavefront reads a cell from memory once in several ticks, so that the
// engine passes the roofline of a sweep by about 3, bookkeeping included.

#include <barrier>
#include <thread>
#include <utility>

#include "bench/harness.hpp"
#include "bench/sim_heat.hpp"
#include "rubato/core/job.hpp"
#include "rubato/net/fabric_factory.hpp"
#include "rubato/tick/run.hpp"

namespace rubato::bench {
namespace {

constexpr std::uint32_t kCores = 2;

// What a user writes without us: two arrays, a barrier a tick, rows split between the threads.
class NaiveSweep {
 public:
  explicit NaiveSweep(std::int64_t size) : size_(size), row_(size + 2 + (8 - (size + 2) % 8) % 8) {
    for (auto* field : {&now_, &next_}) {
      *field = tick::detail::Pages(static_cast<std::size_t>(row_ * (size + 2)) * sizeof(double));
    }
  }

  void init(const models::UniformHeat& model) {
    for (std::int64_t y = 0; y < size_; ++y) {
      double* first = at(now_, y, 0);
      model.init({0, y}, size_, &first, nullptr);
    }
  }

  void run(tick::Tick ticks) {
    std::barrier barrier(kCores);
    const auto body = [&](std::int64_t thread) {
      double* from = at(now_, 0, 0);
      double* to = at(next_, 0, 0);
      for (tick::Tick t = 0; t < ticks; ++t) {
        for (std::int64_t y = size_ * thread / kCores; y < size_ * (thread + 1) / kCores; ++y) {
          sweep_row(to + y * row_, from + y * row_);
        }
        std::swap(from, to);
        barrier.arrive_and_wait();
      }
    };
    {
      std::vector<std::jthread> threads;
      for (std::uint32_t i = 1; i < kCores; ++i)
        threads.emplace_back(body, i);
      body(0);
    }
    if (ticks % 2 != 0) std::swap(now_, next_);
  }

  [[nodiscard]] std::uint64_t checksum() const {
    std::uint64_t sum = 0;
    for (std::int64_t y = 0; y < size_; ++y) {
      for (std::int64_t x = 0; x < size_; ++x) {
        const double* cell = at(now_, y, x);
        sum += tick::tuple_hash(static_cast<std::uint64_t>(y * size_ + x),
                                std::as_bytes(std::span<const double, 1>(cell, 1)));
      }
    }
    return sum;
  }

 private:
  // Half as wide as elsewhere: rows begin one cell behind a cache line, and AMD's are faster so.
#ifdef __x86_64__
  [[gnu::target("prefer-vector-width=256")]]
#endif
  void
  sweep_row(double* __restrict to, const double* __restrict from) const {
    for (std::int64_t x = 0; x < size_; ++x) {
      to[x] = 0.25 * ((from[x - 1] + from[x + 1]) + (from[x - row_] + from[x + row_]));
    }
  }
  [[nodiscard]] double* at(const tick::detail::Pages& field, std::int64_t y, std::int64_t x) const {
    return static_cast<double*>(field.data()) + (y + 1) * row_ + 1 + x;
  }

  std::int64_t size_;
  std::int64_t row_;
  tick::detail::Pages now_;
  tick::detail::Pages next_;
};

Report run(const Options& options) {
  const std::int64_t size = 4096;
  const tick::Tick ticks = options.quick ? 60 : 240;
  const int n_rounds = options.quick ? 3 : 7;
  const SimHeat problem = sim_heat(size, size, 1, 0);
  core::JobConfig config;
  config.host.n_cores = kCores;
  core::Job job(net::make_fabric(), config);
  core::NodeHost& host = job.host();
  const double cells = static_cast<double>(size * size * ticks);
  std::vector<double> ours;
  std::vector<double> naive;
  for (int round = 0; round < n_rounds; ++round) {
    options.begin_round(round, n_rounds);
    NaiveSweep sweep(size);
    sweep.init(problem.model().user());
    const Nanos begin = steady_now();
    sweep.run(ticks);
    naive.push_back(cells / static_cast<double>(steady_now() - begin));
    const tick::RunResult result =
        tick::execute(problem, tick::Policy::parse("local"), ticks, host, {});
    ours.push_back(cells / static_cast<double>(result.wall));
    RUBATO_REQUIRE(result.checksum == sweep.checksum(), result.checksum);
  }
  Report report;
  report.cores = kCores;
  report.rows = {compare_row("heat", "Gcells/s", ours, "naive sweep, 2 threads, same bits", naive,
                             "ratio >= 2.8")};
  return report;
}

}  // namespace

Benchmark tick_heat() {
  return {"tick-heat", "heat 4096^2 doubles on one node: how far past a sweep's roofline?", run};
}

}  // namespace rubato::bench
