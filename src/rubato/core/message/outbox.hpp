#pragma once
// Outbox: what one core has gathered for another one: a block, and the run in it that is being
// written; and the line of the tasks that want room there (RoomLine). Beside it, the ways that blocks
// take: Way and Incoming, the two ends of a ring between two cores of a node, and Lane, to another node.

#include <atomic>
#include <deque>
#include <memory>
#include <utility>

#include "rubato/base/bytes.hpp"
#include "rubato/core/message/block.hpp"
#include "rubato/core/task/scheduler.hpp"

namespace rubato::core::detail {

inline constexpr HandlerId kNoHandler = UINT32_MAX;

// A task that wants room to a core, on its stack.
struct InLine {
  Worker* task = nullptr;
  InLine* before = nullptr;
  InLine* behind = nullptr;
  bool is_waiting = false;   // suspended
  std::uint64_t number = 0;  // of RoomTurns
};

// Those that want room to one core, in the order in which they came; each until it has got what it
// wants. One that is woken and finds that somebody was faster waits on where it stands: in a new line
// each time, behind those who have just been let through, it could wait for ever.
class RoomLine {
 public:
  RoomLine() = default;
  RoomLine(const RoomLine&) = delete;
  RoomLine& operator=(const RoomLine&) = delete;

  [[nodiscard]] InLine* first() const noexcept { return first_; }
  void append(InLine& one) noexcept {
    one.before = last_;
    (last_ == nullptr ? first_ : last_->behind) = &one;
    last_ = &one;
  }
  void remove(InLine& one) noexcept {
    (one.before == nullptr ? first_ : one.before->behind) = one.behind;
    (one.behind == nullptr ? last_ : one.behind->before) = one.before;
  }
  static void wake(InLine& one) {
    if (std::exchange(one.is_waiting, false)) one.task->home().wake(*one.task);
  }
  void wake_all() {
    for (InLine* one = first_; one != nullptr; one = one->behind)
      wake(*one);
  }

 private:
  InLine* first_ = nullptr;
  InLine* last_ = nullptr;
};

// When a pooled task may begin though tasks wait for room: these keep it out, since it would only wait
// as well, but somebody may always wait, and for that task. So one may when all have had room that
// waited when the one before began.
class RoomTurns {
 public:
  // Some are held back from now on.
  void hold() noexcept {
    if (n_before_ > 0 || is_due_) return;
    last_before_ = n_come_;
    n_before_ = n_in_line_;
  }
  [[nodiscard]] bool is_due() const noexcept { return is_due_; }
  void begin() noexcept { is_due_ = false; }
  // Somebody comes to wait, who gets the number; and has had room. True if one is due by that.
  [[nodiscard]] std::uint64_t come() noexcept {
    ++n_in_line_;
    return ++n_come_;
  }
  bool go(std::uint64_t number) noexcept {
    --n_in_line_;
    if (n_before_ == 0 || number > last_before_) return false;
    is_due_ = --n_before_ == 0;
    return is_due_;
  }

 private:
  std::uint64_t n_come_ = 0;
  std::uint64_t n_in_line_ = 0;
  std::uint64_t last_before_ = 0;
  std::uint64_t n_before_ = 0;  // of those up to that one, in line; 0: nothing is held back
  bool is_due_ = false;
};

struct Outbox {
  // What post() looks at.
  std::byte* end = nullptr;    // of what was written
  std::byte* limit = nullptr;  // of the block
  FinishId finish = 0;         // of the open run
  HandlerId handler = kNoHandler;
  CoreId to = UINT32_MAX;

  // The open run.
  std::byte* head = nullptr;
  std::byte* counted = nullptr;  // what the scope's count knows of
  std::uint32_t stride = 0;      // 0: of records with payloads, which are counted one by one
  std::uint64_t n_records = 0;   // of those
  std::uint64_t n_counted = 0;

  std::unique_ptr<Block> block;
  std::uint64_t opened_in = 0;  // slice
  bool is_local = false;
  std::uint32_t n_under_way = 0;    // blocks in the ring, if it is local
  std::uint64_t n_handed_over = 0;  // blocks so far, if it is local
  RoomLine line;                    // of tasks that want room
  // The first of them is let through when so much of all that this core has sent there, blocks or the
  // lane's bytes, has been applied: what was sent before it was the first.
  std::uint64_t first_waits_for = 0;
  bool is_waited_for = false;       // listed among those in whose line somebody waits
  bool is_posted_in_place = false;  // listed among those whose room a task waits for afterwards
  bool is_open = false;             // listed among those that may have a block
};

// To a core of this node.
struct Way {
  std::unique_ptr<BlockRing> ring;
  std::deque<BlockRing::Entry> backlog;  // for which the ring had no room
};

// From a core of this node.
struct Incoming {
  std::atomic<BlockRing*> ring{nullptr};  // made by the pushing core
  // Of the oldest entry: what of it is done, and the run under way.
  std::size_t at = 0;
  std::size_t n_left = 0;
  const Handler* handler = nullptr;
  FinishId finish = 0;
  std::uint64_t n_records = 0;
};

// To another node.
struct Lane {
  Bytes bytes;
  std::uint64_t n_on_way = 0;  // sent and not known to be applied, `bytes` included
  std::uint64_t n_all = 0;     // so far, `bytes` included
};

}  // namespace rubato::core::detail
