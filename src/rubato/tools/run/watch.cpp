#include "rubato/tools/run/watch.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace rubato::tools {
namespace {

// Between two looks at the clock.
constexpr std::uint64_t kWorksBetween = 256;

std::string note(double ticks_per_second, double waiting, const char* unit) {
  return fmt::format("{:.{}f} {}, waiting {:.0f} %", ticks_per_second,
                     ticks_per_second < 10 ? 2 : 0, unit, waiting * 100);
}

double part_of(tick::Tick done, tick::Tick all) {
  return all > 0 ? static_cast<double>(done) / static_cast<double>(all) : 0;
}

}  // namespace

SetUpWatch::SetUpWatch(std::ostream& err, bool is_terminal, const std::string& title,
                       const std::string& inputs)
    : progress_(err, is_terminal, title) {
  progress_.at(Progress::kUnknown, inputs.empty() ? "setting up" : "reading " + inputs);
}

void SetUpWatch::cut(std::uint32_t n_nodes) {
  n_nodes_ = n_nodes;
  progress_.at(Progress::kUnknown,
               fmt::format("cutting into {} part{}", n_nodes, n_nodes == 1 ? "" : "s"));
}

void SetUpWatch::node(tick::NodeId node) {
  progress_.at(Progress::kUnknown, fmt::format("planning node {} of {}", node, n_nodes_));
}

SimulationWatch::SimulationWatch(ProgressShare share, tick::Tick ticks, std::uint64_t n_cores,
                                 core::Observer* next)
    : ChainedObserver(next),
      share_(std::move(share)),
      ticks_(ticks),
      n_cores_(static_cast<double>(n_cores)) {}

void SimulationWatch::on_work(net::NodeId node, std::uint32_t core, const core::Work& work,
                              Nanos begin, Nanos end) noexcept {
  ChainedObserver::on_work(node, core, work, begin, end);
  busy_ += end - begin;
  if (++n_works_ % kWorksBetween != 0 || work.kind != tick::step_own || end <= 0) return;
  // Nodes are at most a few ticks apart, so the tick of any of them tells how far the run is.
  const double span = static_cast<double>(end);
  const double waiting = std::clamp(1 - static_cast<double>(busy_) / (span * n_cores_), 0.0, 1.0);
  const double rate = static_cast<double>(work.tick) * 1e9 / span;
  const double part = share_.begin + (share_.end - share_.begin) * part_of(work.tick, ticks_);
  const std::string head = share_.name.empty() ? "" : share_.name + " ";
  share_.progress.update(steady_now(), part, head + note(rate, waiting, "virtual ticks/s"));
}

RunWatch::RunWatch(std::ostream& err, bool is_terminal, const std::string& title, tick::Tick ticks)
    : progress_(err, is_terminal, title, steady_now()), ticks_(ticks) {}

void RunWatch::look(const core::RunGlance& glance) {
  if (engine_ == nullptr || glance.elapsed <= 0) return;
  // The host counts each segment of a run with epochs from its own start.
  if (glance.elapsed < elapsed_) before_ += elapsed_;
  elapsed_ = glance.elapsed;
  const tick::Tick done = engine_->watched_tick();
  const double rate = static_cast<double>(done) * 1e9 / static_cast<double>(before_ + elapsed_);
  progress_.update(steady_now(), part_of(done, ticks_),
                   note(rate, glance.waiting_share, "ticks/s"));
}

}  // namespace rubato::tools
