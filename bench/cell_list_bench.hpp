#pragma once
// The comparison of the engine with cell lists written by hand, for each kind of points: a million
// tuples on one node, beside two loops that have half of them each and know nothing of each other.

#include <barrier>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/cell_list_baseline.hpp"
#include "bench/harness.hpp"
#include "rubato/base/time.hpp"
#include "rubato/core/job.hpp"
#include "rubato/net/fabric_factory.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tick/run.hpp"

namespace rubato::bench {

// Make: Model(std::uint64_t n_tuples, std::uint64_t seed). Kind: as CellListBaseline wants it.
template <class Kind, class Make>
class CellListBench {
 public:
  static constexpr std::uint32_t kCores = 2;
  static constexpr std::uint64_t kTuples = 1'000'000;

  CellListBench(Make make, Options options) : make_(std::move(make)), options_(options) {}

  // One row, `metric`, in `unit`, which is millions of tuples a second. `half` says what the
  // baseline is.
  [[nodiscard]] Report run(const std::string& metric, const std::string& unit,
                           const std::string& half) const {
    const tick::Tick ticks = options_.quick ? 15 : 60;
    const int n_rounds = options_.quick ? 5 : 9;
    core::JobConfig config;
    config.host.n_cores = kCores;
    core::Job job(net::make_fabric(), config);
    core::NodeHost& host = job.host();
    require_same_bits(host);
    const Problem problem(tick::PointsModel(make_(kTuples, options_.seed)));
    std::vector<double> ours;
    std::vector<double> by_hand;
    for (int round = 0; round < n_rounds; ++round) {
      options_.begin_round(round, n_rounds);
      by_hand.push_back(run_baselines(ticks));
      const auto result = tick::execute(problem, tick::Policy::parse("local"), ticks, host, {});
      ours.push_back(rate(ticks, result.wall));
    }
    Report report;
    report.cores = kCores;
    report.rows = {compare_row(metric, unit, ours, half, by_hand, "ratio >= 0.9")};
    return report;
  }

 private:
  using Model = typename Kind::Model;
  using Tuple = typename Model::Tuple;
  using Problem =
      tick::ProblemOf<tick::PointsModel<Model>, tick::PointsStore<Model>, tick::PointsCosts>;

  // Millions a second.
  [[nodiscard]] static double rate(tick::Tick ticks, Nanos wall) noexcept {
    return static_cast<double>(kTuples) * static_cast<double>(ticks) / static_cast<double>(wall) *
           1e3;
  }

  // kCores baselines at once, each with its part of the tuples.
  [[nodiscard]] double run_baselines(tick::Tick ticks) const {
    std::barrier ready(kCores + 1);
    Nanos begin = 0;
    {
      std::vector<std::jthread> threads;
      for (std::uint32_t i = 0; i < kCores; ++i) {
        threads.emplace_back([&, i] {
          const Model model = make_(kTuples / kCores, options_.seed + i);
          CellListBaseline<Kind> baseline(model);
          baseline.run(1);  // touches its memory
          ready.arrive_and_wait();
          baseline.run(ticks);
        });
      }
      ready.arrive_and_wait();
      begin = steady_now();
    }
    return rate(ticks, steady_now() - begin);
  }

  // Both on a state that is small enough to do it each time.
  void require_same_bits(core::NodeHost& host) const {
    constexpr std::uint64_t kFew = 20'000;
    constexpr tick::Tick kTicks = 10;
    const Model model = make_(kFew, options_.seed);
    CellListBaseline<Kind> baseline(model);
    baseline.run(kTicks);
    std::uint64_t sum = 0;
    for (const Tuple& tuple : baseline.tuples())
      sum += tick::tuple_hash(tuple.id, std::as_bytes(std::span(&tuple, 1)));
    const Problem problem(tick::PointsModel(make_(kFew, options_.seed)));
    const auto result = tick::execute(problem, tick::Policy::parse("local"), kTicks, host, {});
    RUBATO_REQUIRE(result.checksum == sum, result.checksum, sum);
  }

  Make make_;
  Options options_;
};

}  // namespace rubato::bench
