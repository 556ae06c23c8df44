#pragma once
// Outbox: what one core has gathered for another one: a block, and the run in it that is being
// written. Beside it, the ways that blocks take: Way and Incoming, the two ends of a ring between two
// cores of a node, and Lane, to another node.

#include <atomic>
#include <deque>
#include <memory>

#include "rubato/base/bytes.hpp"
#include "rubato/core/message/block.hpp"
#include "rubato/core/task/sync.hpp"

namespace rubato::core::detail {

inline constexpr HandlerId kNoHandler = UINT32_MAX;

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
  std::uint32_t n_under_way = 0;  // blocks in the ring, if it is local
  WaitList waiters;               // tasks that wait for room
  bool is_waited_for = false;
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
};

}  // namespace rubato::core::detail
