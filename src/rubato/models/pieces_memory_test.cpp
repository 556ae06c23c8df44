// Policy pieces holds little more of the state than bulk does, though its regions are at ticks that
// are further apart: versions go with their last reader. State is counted while virtual nodes run, at
// its most.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/models/apps.hpp"
#include "rubato/tick/run.hpp"

namespace rubato::models {
namespace {

constexpr double kMost = 1.3;  // of the peak under bulk
constexpr std::uint32_t kNodes = 4;

// Looks at the state of a node after every so many pieces of work.
class PeakOfState final : public core::Observer {
 public:
  void follow(net::NodeId node, tick::NodeRun& run) { runs_[node] = &run; }
  void forget() { runs_.clear(); }

  void on_work(net::NodeId node, std::uint32_t /*core*/, const core::Work& /*work*/,
               Nanos /*begin*/, Nanos /*end*/) noexcept override {
    constexpr std::uint64_t kEach = 16;
    const auto run = runs_.find(node);
    if (run == runs_.end() || ++n_works_ % kEach != 0) return;
    most_ = std::max(most_, static_cast<double>(run->second->store().bytes()));
  }
  void on_sent(net::NodeId, net::NodeId, std::size_t, Nanos) noexcept override {}
  void on_taken(net::NodeId, net::NodeId, std::size_t, Nanos) noexcept override {}

  [[nodiscard]] double most() const noexcept { return most_; }

 private:
  std::map<net::NodeId, tick::NodeRun*> runs_;
  std::uint64_t n_works_ = 0;
  double most_ = 0;
};

struct Instance {
  std::string model;
  std::vector<std::pair<std::string, std::string>> parameters;
};

// The most that one node held at once, and what the run came to.
std::pair<double, std::uint64_t> peak_of(const Instance& instance, const std::string& policy) {
  for (const tick::AppMaker& make : built_in_apps()) {
    const std::unique_ptr<tick::App> app = make();
    if (app->name() != instance.model) continue;
    tick::Parameters parameters;
    app->declare(parameters);
    for (const auto& [name, text] : instance.parameters)
      parameters.set(name, text);
    const auto problem = app->build();
    PeakOfState peak;
    tick::SimulationOptions options;
    options.n_nodes = kNodes;
    options.profile = net::parse_profile("ec2-large");
    options.observer = &peak;
    options.at_start = [&](net::NodeId node, tick::NodeRun& run) { peak.follow(node, run); };
    options.at_end = [&](net::NodeId, tick::NodeRun&) { peak.forget(); };
    const tick::RunResult result =
        tick::simulate(*problem, tick::Policy::parse(policy), 20, options);
    return {peak.most(), result.checksum};
  }
  ADD_FAILURE() << "no model " << instance.model;
  return {};
}

class PiecesMemory : public ::testing::TestWithParam<Instance> {};

TEST_P(PiecesMemory, is_little_more_than_that_of_bulk) {
  const auto [bulk, checksum] = peak_of(GetParam(), "bulk");
  EXPECT_GT(bulk, 1e5);
  for (const char* policy : {"pieces(1)", "pieces(2)"}) {
    const auto [pieces, same] = peak_of(GetParam(), policy);
    RecordProperty(policy, std::to_string(pieces / bulk));
    EXPECT_LE(pieces, kMost * bulk) << policy << " " << pieces / bulk;
    EXPECT_EQ(same, checksum);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, PiecesMemory,
                         ::testing::Values(Instance{"fish", {{"fish", "10000"}}},
                                           Instance{"nbody", {{"bodies", "10000"}}},
                                           Instance{"heat", {{"width", "400"}, {"height", "400"}}},
                                           Instance{"pagerank", {{"vertices", "5000"}}}),
                         [](const auto& instance) { return instance.param.model; });

}  // namespace
}  // namespace rubato::models
