// Question: what does the engine make of a memory-bound stencil on one node?
// Hypothesis: the skewed wavefront reads a cell from memory once in several ticks, so that the
// engine passes the roofline of a sweep by about 3, bookkeeping included; where rows, or planes, are too
// long for a cache, too, since it goes through them in slices.

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

// As UniformHeat, in space: a cell becomes the mean of its six neighbours.
struct HeatInSpace {
  using Value = double;
  static constexpr int kDimensions = 3, kRadius = 1, kFields = 1, kFixed = 0;
  static constexpr bool kFinite = true;
  tick::Index<3> extent{};

  [[nodiscard]] tick::GridShape<3> shape() const { return {extent, {}}; }
  [[nodiscard]] double outside(int /*field*/) const { return 0; }
  void init(tick::Index<3> at, std::int64_t n, double* const* fields, double* const*) const {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto id = static_cast<std::uint64_t>(at[0] + i + 997 * (at[1] + 997 * at[2]));
      fields[0][i] = 100 + unit_double(static_cast<std::uint32_t>(id * 2654435761U), 0);
    }
  }
  void step(const tick::GridSpan<HeatInSpace>& in, double* const* out, tick::Index<3> /*at*/,
            std::int64_t n, tick::Tick /*t*/) const {
    const double* const from = in.field[0];
    double* const to = out[0];
    for (std::int64_t i = 0; i < n; ++i) {
      to[i] = 1.0 / 6 *
              ((from[i - 1] + from[i + 1]) + (from[i - in.row] + from[i + in.row]) +
               (from[i - in.plane] + from[i + in.plane]));
    }
  }
};

// What a user writes without us: two arrays, a barrier a tick, rows, or planes, split between the
// threads.
template <int D>
class NaiveSweep {
 public:
  explicit NaiveSweep(const tick::Index<D>& extent)
      : extent_(extent), row_(extent[0] + 2 + (8 - (extent[0] + 2) % 8) % 8) {
    plane_ = D == 2 ? row_ : row_ * (extent[1] + 2);
    for (auto* field : {&now_, &next_}) {
      *field = tick::detail::Pages(static_cast<std::size_t>(plane_ * (extent[D - 1] + 2)) *
                                   sizeof(double));
    }
  }

  template <class User>
  void init(const User& user) {
    for_each_row(0, extent_[D - 1], [&](const tick::Index<D>& at, std::int64_t offset) {
      double* first = origin(now_) + offset;
      user.init(at, extent_[0], &first, nullptr);
    });
  }

  void run(tick::Tick ticks) {
    std::barrier barrier(kCores);
    const auto body = [&](std::int64_t thread) {
      double* from = origin(now_);
      double* to = origin(next_);
      const std::int64_t n = extent_[D - 1];
      for (tick::Tick t = 0; t < ticks; ++t) {
        for_each_row(n * thread / kCores, n * (thread + 1) / kCores,
                     [&](const tick::Index<D>& /*at*/, std::int64_t offset) {
                       sweep_row(to + offset, from + offset);
                     });
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
    std::uint64_t id = 0;
    for_each_row(0, extent_[D - 1], [&](const tick::Index<D>& /*at*/, std::int64_t offset) {
      const double* row = origin(now_) + offset;
      for (std::int64_t x = 0; x < extent_[0]; ++x)
        sum += tick::tuple_hash(id++, std::as_bytes(std::span<const double, 1>(row + x, 1)));
    });
    return sum;
  }

 private:
  // f(first cell, its place behind origin()) of the rows in [low, high) of the last dimension.
  template <class F>
  void for_each_row(std::int64_t low, std::int64_t high, F&& f) const {
    for (std::int64_t last = low; last < high; ++last) {
      if constexpr (D == 2) {
        f({0, last}, last * row_);
      } else {
        for (std::int64_t y = 0; y < extent_[1]; ++y)
          f({0, y, last}, last * plane_ + y * row_);
      }
    }
  }
  // Half as wide as elsewhere: rows begin one cell behind a cache line, and AMD's are faster so.
#ifdef __x86_64__
  [[gnu::target("prefer-vector-width=256")]]
#endif
  void
  sweep_row(double* __restrict to, const double* __restrict from) const {
    for (std::int64_t x = 0; x < extent_[0]; ++x) {
      if constexpr (D == 2) {
        to[x] = 0.25 * ((from[x - 1] + from[x + 1]) + (from[x - row_] + from[x + row_]));
      } else {
        to[x] = 1.0 / 6 *
                ((from[x - 1] + from[x + 1]) + (from[x - row_] + from[x + row_]) +
                 (from[x - plane_] + from[x + plane_]));
      }
    }
  }
  // The first cell that is not of the margin.
  [[nodiscard]] double* origin(const tick::detail::Pages& field) const {
    return static_cast<double*>(field.data()) + plane_ + (D == 2 ? 0 : row_) + 1;
  }

  tick::Index<D> extent_;
  std::int64_t row_;
  std::int64_t plane_ = 0;
  tick::detail::Pages now_;
  tick::detail::Pages next_;
};

struct Rounds {
  const Options& options;
  core::NodeHost& host;
  int n_rounds;
  tick::Tick ticks;
};

template <class Problem>
Row measure(const char* metric, const Problem& problem, const Rounds& rounds, const char* must) {
  constexpr int kD = std::decay_t<decltype(problem.model())>::kD;
  const tick::Index<kD> extent = problem.model().space().world.high;
  double cells = static_cast<double>(rounds.ticks);
  for (const std::int64_t n : extent)
    cells *= static_cast<double>(n);
  std::vector<double> ours;
  std::vector<double> naive;
  for (int round = 0; round < rounds.n_rounds; ++round) {
    rounds.options.begin_round(round, rounds.n_rounds, metric);
    NaiveSweep<kD> sweep(extent);
    sweep.init(problem.model().user());
    const Nanos begin = steady_now();
    sweep.run(rounds.ticks);
    naive.push_back(cells / static_cast<double>(steady_now() - begin));
    const tick::RunResult result =
        tick::execute(problem, tick::Policy::parse("local"), rounds.ticks, rounds.host, {});
    ours.push_back(cells / static_cast<double>(result.wall));
    RUBATO_REQUIRE(result.checksum == sweep.checksum(), result.checksum);
  }
  return compare_row(metric, "Gcells/s", ours, "naive sweep, 2 threads, same bits", naive, must);
}

Report run(const Options& options) {
  using InSpace = tick::ProblemOf<tick::GridModel<HeatInSpace>, tick::GridStore<HeatInSpace>>;
  const tick::Tick ticks = options.quick ? 60 : 240;
  const int n_rounds = options.quick ? 3 : 7;
  core::JobConfig config;
  config.host.n_cores = kCores;
  core::Job job(net::make_fabric(), config);
  const Rounds rounds{options, job.host(), n_rounds, ticks};
  Report report;
  report.cores = kCores;
  report.rows.push_back(measure("heat", sim_heat(4096, 4096, 1, 0), rounds, "ratio >= 2.8"));
  report.rows.push_back(measure("long-rows", sim_heat(65'536, 256, 1, 0), rounds, "reported"));
  const HeatInSpace user{{256, 256, 256}};
  report.rows.push_back(
      measure("in-space", InSpace(tick::GridModel<HeatInSpace>(user)), rounds, "reported"));
  return report;
}

}  // namespace

Benchmark tick_heat() {
  return {"tick-heat", "heat 4096^2 doubles on one node: how far past a sweep's roofline?", run};
}

}  // namespace rubato::bench
