// What a core writes for others, and the ways it takes: rings in the node, buffers to other nodes.

#include <algorithm>
#include <array>
#include <cstring>

#include "rubato/core/message/core_context.hpp"

namespace rubato::core {

using detail::Block;
using detail::BlockRing;
using detail::kNoHandler;
using detail::Outbox;
using detail::Parcel;
using detail::round_up_8;
using detail::RunHead;

namespace {

// In front of each part of a buffer between nodes.
struct PartHead {
  std::uint32_t local_core = 0;  // of the receiving node
  std::uint32_t zero = 0;
  std::uint64_t n_bytes = 0;  // of the runs
};

// A block to one of many cores of another node: they are many, and seldom full.
constexpr std::size_t kPartBytesLeast = 1024;
// A block to another node is copied into a buffer, out of the first-level cache.
constexpr std::size_t kPartBytesMost = std::size_t{16} << 10;
constexpr std::size_t kTagsBytes = 64;  // that engines and hosts add to a buffer
constexpr std::array<std::byte, 8> kZeros{};

std::byte* put(std::byte* at, ByteView bytes) {
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
  return at + bytes.size();
}

ByteView bytes_of(const auto& plain) {
  return std::as_bytes(std::span(&plain, 1));
}

}  // namespace

// --- writing
// -----------------------------------------------------------------------------------------

Outbox& CoreContext::find_outbox(CoreId to) {
  auto& box = outboxes_[to];
  if (box == nullptr) {
    RUBATO_REQUIRE(to < shape_.n_cores_total(), to, shape_.n_cores_total());
    box = std::make_unique<Outbox>();
    box->to = to;
    box->is_local = shape_.node_of(to) == shape_.node;
  }
  cached_[to % kCached] = box.get();
  return *box;
}

std::byte* CoreContext::begin_record(Outbox& box, HandlerId handler, std::size_t stride) {
  make_room(box, sizeof(RunHead) + stride);
  const FinishId finish = scope();
  // Somebody may have gone on with such a run while this task waited.
  if (box.handler != handler || box.finish != finish) {
    close_run(box);
    open_run(box, handler, stride, finish);
  }
  return box.end;
}

// A task that wants room to a core: may have to wait for it, in line with others.
class CoreContext::WantsRoom {
 public:
  WantsRoom(CoreContext& core, Outbox& box) noexcept : core_(core), box_(box) {}
  WantsRoom(const WantsRoom&) = delete;
  WantsRoom& operator=(const WantsRoom&) = delete;
  ~WantsRoom() {
    if (stands()) leave_line();
  }

  // There is room for the first task that wants it. What apply() posts takes room without end where
  // others ask without end, so that there might never be any: then a task waits for no more than what
  // was sent before.
  [[nodiscard]] static bool has_first_way(const CoreContext& core, const Outbox& box) {
    if (core.has_room(box)) return true;
    if (box.line.first() == nullptr) return false;
    const Sent sent = sent_to(core, box);
    return sent.n_all - sent.n_under_way >= box.first_waits_for;
  }
  // It may open a block.
  [[nodiscard]] bool has_way() const {
    const detail::InLine* const first = box_.line.first();
    return (first == nullptr || first == &me_) && has_first_way(core_, box_);
  }
  // From now on nobody who comes later is let through before it.
  void wait() {
    if (!stands()) stand_in_line();
    ++core_.counters_.n_room_waits;
    ++core_.n_waiters_;
    if (!std::exchange(box_.is_waited_for, true)) core_.waited_for_.push_back(&box_);
    me_.is_waiting = true;
    core_.tasks_.suspend("room to send");
    // Not when it was woken: the runner may have its turn before this task has.
    if (--core_.n_waiters_ == 0) core_.queue_runner();
  }

 private:
  // So far: blocks to a core of this node, bytes of the lane to another node.
  struct Sent {
    std::uint64_t n_all = 0;
    std::uint64_t n_under_way = 0;
  };
  [[nodiscard]] static Sent sent_to(const CoreContext& core, const Outbox& box) {
    if (box.is_local) return {box.n_handed_over, box.n_under_way};
    const auto lane = core.lanes_.find(core.shape_.node_of(box.to));
    return lane == core.lanes_.end() ? Sent{} : Sent{lane->second.n_all, lane->second.n_on_way};
  }
  [[nodiscard]] bool stands() const noexcept { return me_.task != nullptr; }
  [[nodiscard]] bool is_first() const noexcept { return box_.line.first() == &me_; }
  void stand_in_line() {
    me_.task = &core_.tasks_.running();
    me_.number = core_.room_turns_.come();
    box_.line.append(me_);
    if (is_first()) begin_as_first();
  }
  void begin_as_first() const { box_.first_waits_for = sent_to(core_, box_).n_all; }
  void leave_line() {
    const bool was_first = is_first();
    box_.line.remove(me_);
    if (core_.room_turns_.go(me_.number)) core_.queue_runner();
    detail::InLine* const next = box_.line.first();
    if (!was_first || next == nullptr) return;
    begin_as_first();
    // It may be the only work that this core has: nobody else would look whether there is room.
    if (has_first_way(core_, box_)) detail::RoomLine::wake(*next);
  }

  CoreContext& core_;
  Outbox& box_;
  detail::InLine me_;
};

void CoreContext::make_room(Outbox& box, std::size_t n_bytes) {
  WantsRoom me(*this, box);
  bool has_yielded = false;
  while (static_cast<std::size_t>(box.limit - box.end) < n_bytes) {
    if (box.limit != nullptr) {
      ++counters_.n_full_blocks;
      close_block(box);
      // A full buffer leaves at the end of the slice, so that whoever waits for it can begin.
      // Once: who finds a full block of somebody else each time would yield for ever.
      if (may_wait() && (!full_.empty() || n_units_in_slice() > budget_) &&
          !std::exchange(has_yielded, true)) {
        tasks_.yield_to_driver();
        continue;
      }
    }
    if (may_wait() && !me.has_way()) {
      me.wait();
    } else {
      if (is_in_place()) [[unlikely]] {
        owes_way_ = true;
        if (!std::exchange(box.is_posted_in_place, true)) posted_in_place_.push_back(&box);
      }
      open_block(box, n_bytes);
    }
  }
}

// A task that runs nothing but delegates in place would never let leave what they post.
void CoreContext::give_way() {
  if (!may_wait()) return;  // a delegate runs another one
  owes_way_ = false;
  const std::vector<Outbox*> boxes = std::exchange(posted_in_place_, {});
  if (!full_.empty() || n_units_in_slice() > budget_) tasks_.yield_to_driver();
  for (Outbox* box : boxes) {
    box->is_posted_in_place = false;
    WantsRoom me(*this, *box);
    while (!me.has_way())
      me.wait();
  }
}

bool CoreContext::has_room(const Outbox& box) const {
  if (box.is_local) {
    // What a core sends to itself is applied when its tasks pause: the less, the more of it is in
    // cache.
    return box.n_under_way < (box.to == core_ ? 1 : options_.window_blocks);
  }
  const auto lane = lanes_.find(shape_.node_of(box.to));
  return lane == lanes_.end() || lane->second.n_on_way < options_.window_bytes;
}

void CoreContext::open_block(Outbox& box, std::size_t n_bytes) {
  std::size_t capacity = options_.block_bytes;
  if (!box.is_local) {
    capacity = std::clamp(options_.block_bytes / shape_.n_cores, kPartBytesLeast, kPartBytesMost);
    capacity = std::min(options_.buffer_bytes, capacity);
  }
  capacity = std::max(capacity, n_bytes);
  if (box.block == nullptr && box.is_local && !spare_.empty()) {
    box.block = std::move(spare_.back());
    spare_.pop_back();
  }
  if (box.block == nullptr || box.block->capacity < capacity) {
    box.block = std::make_unique<Block>(capacity);
  }
  box.end = box.block->bytes.get();
  box.limit = box.end + box.block->capacity;
  box.opened_in = counters_.n_slices;
  if (!std::exchange(box.is_open, true)) open_.push_back(&box);
}

// A stride of 0 is that of records with payloads.
void CoreContext::open_run(Outbox& box, HandlerId handler, std::size_t stride, FinishId finish) {
  box.handler = handler;
  box.finish = finish;
  box.stride = static_cast<std::uint32_t>(stride);
  box.head = box.end;
  box.end += sizeof(RunHead);
  box.counted = box.end;
  box.n_records = box.n_counted = 0;
}

void CoreContext::count_run(Outbox& box) {
  if (box.handler == kNoHandler || box.end == box.counted) return;
  if (box.stride != 0) {
    box.n_records += static_cast<std::uint64_t>(box.end - box.counted) / box.stride;
  }
  box.counted = box.end;
  const std::uint64_t n = box.n_records - std::exchange(box.n_counted, box.n_records);
  counters_.n_posted += n;
  if (box.finish != 0) finishes_.add(box.finish, n);
}

void CoreContext::close_run(Outbox& box) {
  if (box.handler == kNoHandler) return;
  count_run(box);
  const auto n_bytes = static_cast<std::size_t>(box.end - box.head) - sizeof(RunHead);
  const RunHead head{box.handler, static_cast<std::uint32_t>(box.n_records), n_bytes, box.finish};
  std::memcpy(box.head, &head, sizeof head);
  box.handler = kNoHandler;
  ++counters_.n_runs;
}

void CoreContext::close_block(Outbox& box) {
  if (box.limit == nullptr) return;
  close_run(box);
  box.block->n_bytes = static_cast<std::size_t>(box.end - box.block->bytes.get());
  box.end = box.limit = nullptr;
  if (box.block->n_bytes == 0) return;
  if (box.is_local) {
    hand_over(box, std::move(box.block));
  } else {
    append_part(box, {ByteView(box.block->bytes.get(), box.block->n_bytes)});
  }
}

void CoreContext::hand_over(Outbox& box, std::unique_ptr<Block> block) {
  ++counters_.n_blocks;
  counters_.n_bytes += block->n_bytes;
  ++box.n_under_way;
  ++box.n_handed_over;
  const std::byte* const bytes = block->bytes.get();
  const std::size_t n_bytes = block->n_bytes;
  push(shape_.local_of(box.to), {bytes, n_bytes, core_, block.release(), nullptr});
}

void CoreContext::post_payload(Outbox& box, HandlerId handler, ByteView record, ByteView payload) {
  const std::size_t stride = round_up_8(record.size());
  const std::uint64_t n_bytes = stride + payload.size();
  const std::size_t n_all = sizeof n_bytes + round_up_8(n_bytes);
  if (sizeof(RunHead) + n_all > options_.block_bytes / 4) {
    post_large(box, handler, record, payload);
    return;
  }
  make_room(box, sizeof(RunHead) + n_all);
  const FinishId finish = scope();
  if (box.handler != handler || box.finish != finish) {
    close_run(box);
    open_run(box, handler, 0, finish);
  }
  std::byte* const at = box.end;
  put(put(at, bytes_of(n_bytes)), record);
  put(at + sizeof n_bytes + stride, payload);
  box.end = at + n_all;
  ++box.n_records;
}

// A block of its own, or straight into the buffer.
void CoreContext::post_large(Outbox& box, HandlerId handler, ByteView record, ByteView payload) {
  close_block(box);  // what was posted before is applied before
  make_room(box, sizeof(RunHead));
  close_block(box);
  const ByteView pad = ByteView(kZeros).first(round_up_8(record.size()) - record.size());
  const std::uint64_t n_bytes = record.size() + pad.size() + payload.size();
  const RunHead head{handler, 1, sizeof n_bytes + n_bytes, scope()};
  if (head.finish != 0) finishes_.add(head.finish, 1);
  ++counters_.n_posted;
  ++counters_.n_runs;
  if (!box.is_local) {
    append_part(box, {bytes_of(head), bytes_of(n_bytes), record, pad, payload});
    return;
  }
  auto block = std::make_unique<Block>(sizeof head + head.n_bytes);
  std::byte* at = block->bytes.get();
  for (const ByteView bytes : {bytes_of(head), bytes_of(n_bytes), record, pad, payload})
    at = put(at, bytes);
  block->n_bytes = block->capacity;
  hand_over(box, std::move(block));
}

void CoreContext::append_part(Outbox& box, std::initializer_list<ByteView> parts) {
  const NodeId node = shape_.node_of(box.to);
  Lane& lane = lanes_[node];
  PartHead head{shape_.local_of(box.to), 0, 0};
  for (const ByteView part : parts)
    head.n_bytes += part.size();
  const std::size_t n_bytes = sizeof head + round_up_8(head.n_bytes);
  // Room for the part with which it is full, so that it is never copied to grow.
  const std::size_t room = options_.buffer_bytes + kPartBytesMost;
  if (!lane.bytes.empty() && lane.bytes.size() + n_bytes > room) {
    ++counters_.n_full_buffers;
    send_lane(node, lane);
  }
  if (lane.bytes.empty()) lane.bytes.reserve(std::max(n_bytes, room) + kTagsBytes);
  // insert() and not resize(), which would write zeros first.
  const auto append = [&](ByteView bytes) {
    lane.bytes.insert(lane.bytes.end(), bytes.begin(), bytes.end());
  };
  append(bytes_of(head));
  for (const ByteView part : parts)
    append(part);
  append(ByteView(kZeros).first(round_up_8(head.n_bytes) - head.n_bytes));
  ++counters_.n_blocks;
  counters_.n_bytes += n_bytes;
  lane.n_on_way += n_bytes;
  lane.n_all += n_bytes;
  if (lane.bytes.size() >= options_.buffer_bytes) {
    ++counters_.n_full_buffers;
    send_lane(node, lane);
  }
}

// At the end of the slice.
void CoreContext::send_lane(NodeId node, Lane& lane) {
  if (!lane.bytes.empty()) full_.emplace_back(node, std::exchange(lane.bytes, Bytes{}));
}

void CoreContext::send_hurried() {
  for (const CoreId to : std::exchange(hurried_, {})) {
    Outbox& box = outbox(to);
    close_block(box);
    if (box.is_local) continue;
    const NodeId node = shape_.node_of(to);
    Lane& lane = lanes_[node];
    if (!lane.bytes.empty()) ++counters_.n_hurried_buffers;
    send_lane(node, lane);
  }
}

bool CoreContext::close_blocks(bool old_ones_only) {
  bool closed = false;
  std::erase_if(open_, [&](Outbox* box) {
    if (box->limit != nullptr) {
      if (old_ones_only && (!box->is_local || box->opened_in == counters_.n_slices)) return false;
      close_block(*box);
      closed = true;
    }
    box->is_open = false;
    return true;
  });
  return closed;
}

void CoreContext::close_blocks_to_nodes() {
  for (Outbox* box : open_) {
    if (!box->is_local) close_block(*box);
  }
}

// --- between the cores of the node
// ---------------------------------------------------------------------

void CoreContext::push(std::uint32_t local, const BlockRing::Entry& entry) {
  Way& way = ways_[local];
  CoreContext& there = *siblings_[local];
  const std::uint32_t me = shape_.local_of(core_);
  if (way.ring == nullptr) {
    way.ring = std::make_unique<BlockRing>();
    there.incoming_[me].ring.store(way.ring.get(), std::memory_order_release);  // with apply_from()
  }
  if (streams_) stream_fence();
  if (!way.backlog.empty() || !way.ring->try_push(entry)) {
    way.backlog.push_back(entry);
    ++n_backlog_;
    return;
  }
  // Always: that the bit was set a moment ago does not say that the entry has been seen.
  there.signals_[me / 64].fetch_or(std::uint64_t{1} << (me % 64), std::memory_order_acq_rel);
}

void CoreContext::push_backlog() {
  if (n_backlog_ == 0) return;
  for (std::uint32_t local = 0; local < ways_.size(); ++local) {
    auto& backlog = ways_[local].backlog;
    n_backlog_ -= backlog.size();
    for (const auto& entry : std::exchange(backlog, {}))
      push(local, entry);
  }
}

void CoreContext::reclaim() {
  if (!returned_.load(std::memory_order_relaxed)) return;
  returned_.exchange(false, std::memory_order_acquire);
  bool parcel_is_done = false;
  for (std::uint32_t local = 0; local < ways_.size(); ++local) {
    if (ways_[local].ring == nullptr) continue;
    ways_[local].ring->reclaim([&](const BlockRing::Entry& entry) {
      if (entry.parcel != nullptr) {
        parcel_is_done |= --entry.parcel->n_open == 0;
        return;
      }
      std::unique_ptr<Block> block(entry.block);
      --outbox(shape_.first_core() + local).n_under_way;
      const bool is_usual = block->capacity == options_.block_bytes;
      // As many as are under way where all ways are full: what is applied may post more at times.
      const std::size_t n_most = std::size_t{options_.window_blocks} * shape_.n_cores;
      if (is_usual && spare_.size() < n_most) spare_.push_back(std::move(block));
    });
  }
  if (!parcel_is_done) return;
  std::erase_if(parcels_on_way_, [&](const auto& parcel) {
    if (parcel->n_open > 0) return false;
    applied_from_.emplace_back(parcel->from, parcel->bytes.size());
    return true;
  });
}

void CoreContext::wake_for_room() {
  std::erase_if(waited_for_, [&](Outbox* box) {
    if (!WantsRoom::has_first_way(*this, *box)) return false;
    box->is_waited_for = false;
    box->line.wake_all();
    return true;
  });
}

void CoreContext::hear_room(NodeId node, std::uint64_t n_bytes) {
  Lane& lane = lanes_.at(node);
  RUBATO_ASSERT(lane.n_on_way >= n_bytes, lane.n_on_way, n_bytes, node);
  lane.n_on_way -= n_bytes;
  returned_ = true;
}

// --- from other nodes
// ---------------------------------------------------------------------------------

void CoreContext::take_parcel(CoreId from, Bytes bytes) {
  parcels_.push_back(std::make_unique<Parcel>(Parcel{std::move(bytes), from, 0}));
}

void CoreContext::forward_parcels() {
  for (; !parcels_.empty(); parcels_.pop_front()) {
    Parcel& parcel = *parcels_.front();
    Reader in(parcel.bytes);
    while (!in.at_end()) {
      const auto head = in.get<PartHead>();
      if (head.local_core >= shape_.n_cores) {
        throw Error("message for core " + std::to_string(head.local_core) + " of a node with " +
                        std::to_string(shape_.n_cores),
                    ExitCode::failed);
      }
      const ByteView runs = in.get_view(head.n_bytes);
      static_cast<void>(in.get_view(std::min(in.left(), round_up_8(head.n_bytes) - head.n_bytes)));
      ++parcel.n_open;
      push(head.local_core, {runs.data(), runs.size(), parcel.from, nullptr, &parcel});
    }
    parcels_on_way_.push_back(std::move(parcels_.front()));
  }
}

}  // namespace rubato::core
