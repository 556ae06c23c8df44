#pragma once
// The programs of a node, as its cores see them: one launcher for all of them, and those of a core
// that wait for their turn. Private to flow/program.

#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "rubato/flow/flow.hpp"
#include "rubato/flow/program/program.hpp"

namespace rubato::flow::program_detail {

// Lies with the first core of the node, whose end is that of the run: then all programs are ended.
class NodePrograms {
 public:
  // Made with the first program, by a thread for native work: those have all processors of the
  // node, as it had them before its cores were pinned, and so has the launcher. In the simulator,
  // which pins nothing, by the one thread that there is. Throws Error if the system refuses.
  [[nodiscard]] Launcher& launcher();
  // All programs end: SIGTERM, and soon SIGKILL. From any thread.
  void kill_all();

 private:
  std::mutex mutex_;
  std::optional<Launcher> launcher_;
};

// Of one core; used by its tasks alone.
class CorePrograms {
 public:
  CorePrograms();
  [[nodiscard]] static CorePrograms& here() {
    return CoreContext::here().local_or_make<CorePrograms>();
  }

  // That of the node. Called by tasks; waits when it is called first.
  [[nodiscard]] NodePrograms& node();

  // One more program is under way; false if there are enough, and it has to wait.
  [[nodiscard]] bool begin() noexcept { return n_under_way_ < n_most_ && ++n_under_way_ > 0; }
  void end() noexcept { --n_under_way_; }

  // Waits while so many are kept that whoever makes more is too fast (pool/throttle.hpp).
  void wait_for_room();
  void set_kept_most(std::size_t n) noexcept { n_kept_most_ = n; }
  // Keeps a rule until somebody asks for it; the scope of the caller stays open.
  void keep(std::unique_ptr<Rule> rule);
  struct Kept {
    std::unique_ptr<Rule> rule;
    core::FinishId scope = 0;  // open: whoever has run the rule ends it
  };
  // The one of the largest priority, of these the oldest; nothing if none waits.
  [[nodiscard]] std::optional<Kept> next();

  // The first core of the node that is to have the next program that is too many here.
  [[nodiscard]] CoreId deal() noexcept;

 private:
  NodePrograms* node_ = nullptr;
  std::uint32_t n_most_;
  std::uint32_t n_under_way_ = 0;
  std::uint32_t n_dealt_ = 0;
  std::size_t n_kept_most_ = 1024;
  std::deque<Kept> waiting_;  // the next one first
};

}  // namespace rubato::flow::program_detail
