#include "rubato/tools/run/watched_problem.hpp"

#include "rubato/core/signals.hpp"

namespace rubato::tools {

class WatchedProblem::Parts final : public tick::Partition {
 public:
  Parts(const WatchedProblem& problem, std::unique_ptr<tick::Partition> parts)
      : problem_(problem), parts_(std::move(parts)) {}

  [[nodiscard]] std::unique_ptr<tick::NodeRun> make_node(
      tick::NodeId self, const tick::Policy& policy, const tick::Dataflow::Options& options,
      const tick::StateSource* start) const override {
    core::throw_if_signalled();
    if (problem_.watch_.on_node) problem_.watch_.on_node(self);
    return parts_->make_node(self, policy, options, start);
  }
  // What is cut while the run goes on is not watched.
  [[nodiscard]] std::uint32_t n_nodes() const noexcept override { return parts_->n_nodes(); }
  [[nodiscard]] const std::vector<tick::NodeId>& owners() const noexcept override {
    return parts_->owners();
  }
  [[nodiscard]] std::uint32_t n_grains() const noexcept override { return parts_->n_grains(); }
  [[nodiscard]] std::uint32_t grains_of_piece() const noexcept override {
    return parts_->grains_of_piece();
  }
  [[nodiscard]] bool can_join(std::uint32_t n_grains) const override {
    return parts_->can_join(n_grains);
  }
  [[nodiscard]] std::shared_ptr<const tick::Partition> with_owners(
      std::vector<tick::NodeId> owners, std::uint32_t grains_of_piece) const override {
    return parts_->with_owners(std::move(owners), grains_of_piece);
  }
  [[nodiscard]] std::unique_ptr<tick::Partition> cut_again(ByteView samples,
                                                           double passes) const override {
    return parts_->cut_again(samples, passes);
  }
  void merge_samples(Bytes& into, std::span<const tick::WeighedSamples> from) const override {
    parts_->merge_samples(into, from);
  }
  [[nodiscard]] tick::NodeShape shape(tick::NodeId self,
                                      const tick::ShapeLimits& limits) const override {
    return parts_->shape(self, limits);
  }

 private:
  const WatchedProblem& problem_;
  std::unique_ptr<tick::Partition> parts_;
};

std::unique_ptr<tick::Partition> WatchedProblem::partition(std::uint32_t n_nodes,
                                                           std::uint32_t n_pieces,
                                                           std::uint32_t grains_of_piece) const {
  core::throw_if_signalled();
  if (watch_.on_cut) watch_.on_cut(n_nodes);
  try {
    return std::make_unique<Parts>(*this, problem_.partition(n_nodes, n_pieces, grains_of_piece));
  } catch (const Error& error) {
    if (error.code() != ExitCode::usage || watch_.nodes_option.empty()) throw;
    throw error.in(watch_.nodes_option + " " + std::to_string(n_nodes));
  }
}

}  // namespace rubato::tools
