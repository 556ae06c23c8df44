#include "rubato/flow/program/detail/node_programs.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include <unistd.h>

#include "rubato/flow/program/program_task.hpp"
#include "rubato/global/delegate.hpp"

namespace rubato::flow::program_detail {
namespace {

constexpr Nanos kGraceAtFailure = 300 * kMillisecond;
// Programs run by threads for native work, which are as many as may run; the launcher is to hold none of
// them up, since they count as running then, and are in no order.
constexpr std::uint32_t kAtOnceMost = 4096;

LauncherOptions launcher_options() {
  LauncherOptions options;
  options.n_at_once = kAtOnceMost;
  return options;
}

}  // namespace

Launcher& NodePrograms::launcher() {
  const std::lock_guard lock(mutex_);
  if (!launcher_) launcher_.emplace(launcher_options());
  return *launcher_;
}

void NodePrograms::kill_all() {
  const std::lock_guard lock(mutex_);
  if (launcher_) launcher_->kill_all(kGraceAtFailure);
}

CorePrograms::CorePrograms()
    : n_most_(std::max({kUnderWay, 2 * static_cast<std::uint32_t>(::sysconf(_SC_NPROCESSORS_ONLN)),
                        CoreContext::here().n_native_threads()})) {}

NodePrograms& CorePrograms::node() {
  if (node_ == nullptr) {
    // What is called is the core, not its memory.
    const global::GlobalPtr<std::byte> first(CoreContext::here().shape().first_core(),
                                             global::Place::at_offset(0));
    const auto address = global::call(first, [](std::byte& /*unused*/) {
      return std::bit_cast<std::uint64_t>(&CoreContext::here().local_or_make<NodePrograms>());
    });
    node_ = std::bit_cast<NodePrograms*>(address);
    // Ctrl-C, or a node that is lost, leaves no program behind.
    CoreContext::here().on_native_close([node = node_] { node->kill_all(); });
  }
  return *node_;
}

void CorePrograms::wait_for_room() {
  Flow::here().throttle().wait_for({CoreContext::here().core(), kProgramQueue});
}

void CorePrograms::keep(std::unique_ptr<Rule> rule) {
  CoreContext& core = CoreContext::here();
  const core::FinishId scope = core.scope();
  core.begin_in_scope(scope);
  Flow::here().throttle().note_queued(kProgramQueue, rule->origin(), {.n_most = n_kept_most_});
  // From the back: most are of one priority.
  auto at = waiting_.end();
  while (at != waiting_.begin() && std::prev(at)->rule->options.priority < rule->options.priority)
    --at;
  waiting_.insert(at, {std::move(rule), scope});
}

std::optional<CorePrograms::Kept> CorePrograms::next() {
  if (waiting_.empty()) return {};
  Kept first = std::move(waiting_.front());
  waiting_.pop_front();
  Flow::here().throttle().note_begun(kProgramQueue);
  return first;
}

CoreId CorePrograms::deal() noexcept {
  const core::JobShape& shape = CoreContext::here().shape();
  return (shape.node + ++n_dealt_) % shape.n_nodes * shape.n_cores;
}

}  // namespace rubato::flow::program_detail
