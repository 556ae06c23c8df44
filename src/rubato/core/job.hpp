#pragma once
// Job: the nodes of a job seen from one of them: shape, fabric, configuration, host.
//
// `main` makes one and passes it down; there is no global one. A laptop's job is one node with the
// local fabric, a cluster's has a node for each process that the launcher started; nothing above
// this line knows which.

#include <memory>
#include <string>
#include <utility>

#include "rubato/core/node_host.hpp"
#include "rubato/net/fabric.hpp"

namespace rubato::core {

struct JobConfig {
  NodeHostOptions host;
  std::uint64_t seed = 1;  // of everything random in the job, equal on all nodes
};

class Job {
 public:
  // Collective (NodeHost): blocks until all nodes of `fabric` have met. Throws Error if they
  // differ.
  Job(std::unique_ptr<net::Fabric> fabric, JobConfig config)
      : fabric_(std::move(fabric)), config_(std::move(config)), host_(*fabric_, config_.host) {}
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() = default;

  [[nodiscard]] const JobShape& shape() const noexcept { return host_.shape(); }
  [[nodiscard]] const JobConfig& config() const noexcept { return config_; }
  [[nodiscard]] net::Fabric& fabric() noexcept { return *fabric_; }
  // Runs engines, and does what nodes do together between runs: gather, broadcast, agree.
  [[nodiscard]] NodeHost& host() noexcept { return host_; }
  // True on the node that writes what the job says once.
  [[nodiscard]] bool speaks() const noexcept { return shape().node == 0; }

 private:
  std::unique_ptr<net::Fabric> fabric_;
  JobConfig config_;
  NodeHost host_;
};

}  // namespace rubato::core
