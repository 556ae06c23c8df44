#pragma once
// A problem each of whose segments has a policy of its own: what stands between two of them must
// hold for any policy on either side.

#include <memory>
#include <utility>
#include <vector>

#include "rubato/tick/problem_of.hpp"

namespace rubato::tick::testing {

// The i-th cut of a run is stepped by policies[i % n], whatever the engine asks for.
class SwitchingPartition final : public Partition {
 public:
  SwitchingPartition(std::shared_ptr<const Partition> parts, std::vector<Policy> policies,
                     std::size_t i)
      : parts_(std::move(parts)), policies_(std::move(policies)), i_(i % policies_.size()) {}

  [[nodiscard]] std::unique_ptr<NodeRun> make_node(NodeId self, const Policy& /*policy*/,
                                                   const Dataflow::Options& options,
                                                   const StateSource* start) const override {
    return parts_->make_node(self, policies_[i_], options, start);
  }
  [[nodiscard]] std::uint32_t n_nodes() const noexcept override { return parts_->n_nodes(); }
  [[nodiscard]] const std::vector<NodeId>& owners() const noexcept override {
    return parts_->owners();
  }
  [[nodiscard]] std::uint32_t n_grains() const noexcept override { return parts_->n_grains(); }
  [[nodiscard]] std::uint32_t grains_of_piece() const noexcept override {
    return parts_->grains_of_piece();
  }
  [[nodiscard]] bool can_join(std::uint32_t n_grains) const override {
    return parts_->can_join(n_grains);
  }
  [[nodiscard]] std::shared_ptr<const Partition> with_owners(
      std::vector<NodeId> owners, std::uint32_t grains_of_piece) const override {
    return followed_by(parts_->with_owners(std::move(owners), grains_of_piece));
  }
  [[nodiscard]] std::unique_ptr<Partition> cut_again(ByteView samples,
                                                     double passes) const override {
    return followed_by(parts_->cut_again(samples, passes));
  }
  void merge_samples(Bytes& into, std::span<const WeighedSamples> from) const override {
    parts_->merge_samples(into, from);
  }
  [[nodiscard]] NodeShape shape(NodeId self, const ShapeLimits& limits) const override {
    return parts_->shape(self, limits);
  }

 private:
  [[nodiscard]] std::unique_ptr<Partition> followed_by(
      std::shared_ptr<const Partition> next) const {
    return std::make_unique<SwitchingPartition>(std::move(next), policies_, i_ + 1);
  }

  std::shared_ptr<const Partition> parts_;
  std::vector<Policy> policies_;
  std::size_t i_;
};

// As much of a ProblemOf as the runs of epoch_run.hpp ask for.
template <class P>
class SwitchingProblem {
 public:
  using State = typename P::State;
  using Node = typename P::Node;

  SwitchingProblem(const P& problem, std::vector<Policy> policies)
      : problem_(problem), policies_(std::move(policies)) {}

  [[nodiscard]] const auto& model() const noexcept { return problem_.model(); }
  [[nodiscard]] const std::vector<Policy>& policies() const noexcept { return policies_; }
  [[nodiscard]] std::unique_ptr<Partition> partition(std::uint32_t n_nodes,
                                                     std::uint32_t n_pieces) const {
    return std::make_unique<SwitchingPartition>(problem_.partition(n_nodes, n_pieces), policies_,
                                                0);
  }

 private:
  const P& problem_;
  std::vector<Policy> policies_;
};

}  // namespace rubato::tick::testing
