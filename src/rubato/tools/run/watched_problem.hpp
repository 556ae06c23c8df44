#pragma once
// A Problem as commands set it up: it tells what of that is under way, for progress lines, and a
// refusal to be cut names the option that people said the number of nodes with.

#include <functional>
#include <memory>
#include <string>

#include "rubato/tick/problem.hpp"

namespace rubato::tools {

class WatchedProblem final : public tick::Problem {
 public:
  struct Watch {
    std::function<void(std::uint32_t n_nodes)> on_cut{};  // partition() begins; null: nobody
    std::function<void(tick::NodeId node)> on_node{};     // so does make_node()
    std::function<void()> on_check{};                     // and check()
    std::string nodes_option = "";                        // e.g. "--simulate"; "": none
  };

  // `problem` and what `watch` refers to outlive it.
  WatchedProblem(const tick::Problem& problem, Watch watch)
      : problem_(problem), watch_(std::move(watch)) {}

  // Throws Error as the problem does; one of usage has the option in front.
  using Problem::partition;
  [[nodiscard]] std::unique_ptr<tick::Partition> partition(
      std::uint32_t n_nodes, std::uint32_t n_pieces, std::uint32_t grains_of_piece) const override;
  [[nodiscard]] bool has_pieces() const noexcept override { return problem_.has_pieces(); }
  [[nodiscard]] bool lends() const noexcept override { return problem_.lends(); }
  [[nodiscard]] std::uint32_t good_pieces(std::uint32_t wanted,
                                          std::uint32_t least) const override {
    return problem_.good_pieces(wanted, least);
  }
  [[nodiscard]] bool repartitions() const noexcept override { return problem_.repartitions(); }
  [[nodiscard]] bool tunes() const noexcept override { return problem_.tunes(); }
  [[nodiscard]] tick::CheckReport check(const tick::CheckOptions& options) const override {
    if (watch_.on_check) watch_.on_check();
    return problem_.check(options);
  }
  [[nodiscard]] std::string tuple_name(std::uint64_t id) const override {
    return problem_.tuple_name(id);
  }

 private:
  class Parts;

  const tick::Problem& problem_;
  Watch watch_;
};

}  // namespace rubato::tools
