#include "rubato/core/message/core_context.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

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

// In outboxes' cache where there is none; for no core.
Outbox& no_outbox() {
  static Outbox none;
  return none;
}

// A block to one of many cores of another node: they are many, and seldom full.
constexpr std::size_t kPartBytesLeast = 1024;
// A block to another node is copied into a buffer, out of the first-level cache.
constexpr std::size_t kPartBytesMost = std::size_t{16} << 10;
constexpr std::size_t kTagsBytes = 64;  // that engines and hosts add to a buffer
constexpr std::uint64_t kTurnsAtOnce = 1024;
constexpr std::size_t kGivenMost = 2048;       // pooled tasks to another node at a time
constexpr std::uint64_t kBatchesASlice = 8;  // of pooled tasks, between which others are looked at
constexpr std::array<std::byte, 8> kZeros{};

std::byte* put(std::byte* at, ByteView bytes) {
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
  return at + bytes.size();
}

ByteView bytes_of(const auto& plain) {
  return std::as_bytes(std::span(&plain, 1));
}

}  // namespace

// What ends in a scope on other cores.
struct FinishDone {
  FinishId finish;
  std::uint64_t n;
  void apply(CoreContext& here) const { here.finishes_.end(finish, n); }
};

// A core of another node has nothing to do.
struct Beg {
  void apply(CoreContext& here) const { here.beggars_.push_back(here.source()); }
};

// Somewhere there are pooled tasks, so that idle cores are to ask for some.
struct TasksExist {
  void apply(CoreContext& here) const { here.spread_that_tasks_exist(); }
};

void CoreCounters::add(const CoreCounters& other) noexcept {
  n_posted += other.n_posted;
  n_applied += other.n_applied;
  n_runs += other.n_runs;
  n_blocks += other.n_blocks;
  n_full_blocks += other.n_full_blocks;
  n_buffers += other.n_buffers;
  n_bytes += other.n_bytes;
  n_room_waits += other.n_room_waits;
  n_pooled += other.n_pooled;
  n_stolen += other.n_stolen;
  n_given += other.n_given;
  n_begs += other.n_begs;
  n_slices += other.n_slices;
}

CoreContext::CoreContext(CoreId core, const JobShape& shape, const MessageOptions& options,
                         const std::vector<std::unique_ptr<CoreContext>>& siblings,
                         detail::NodeHunger& hunger)
    : core_(core),
      shape_(shape),
      options_(options),
      siblings_(siblings),
      tasks_(options.tasks),
      finishes_(core),
      ways_(shape.n_cores),
      hunger_(hunger),
      pool_(hunger),
      bound_(hunger),
      incoming_(shape.n_cores),
      signals_((shape.n_cores + 63) / 64),
      pending_(signals_.size(), 0) {
  std::ranges::fill(cached_, &no_outbox());
  set_hungry(true);
  // The same core of the nodes whose number differs in one bit: few, and work comes to everybody by way of them
  // [Saraswat et al., "Lifeline-based global load balancing", PPoPP 2011].
  for (NodeId bit = 1; bit != 0 && bit < shape.n_nodes; bit <<= 1) {
    const NodeId node = shape.node ^ bit;
    if (node < shape.n_nodes) lifelines_.push_back(node * shape.n_cores + shape.local_of(core));
  }
  has_asked_.resize(lifelines_.size());
}

CoreContext::~CoreContext() {
  for (Way& way : ways_) {
    if (way.ring != nullptr) way.ring->drop([](const auto& entry) { delete entry.block; });
    for (const auto& entry : way.backlog)
      delete entry.block;
  }
}

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

void CoreContext::make_room(Outbox& box, std::size_t n_bytes) {
  while (static_cast<std::size_t>(box.limit - box.end) < n_bytes) {
    if (box.limit != nullptr) {
      ++counters_.n_full_blocks;
      close_block(box);
      // A full buffer leaves at the end of the slice, so that whoever waits for it can begin.
      if (tasks_.running_or_null() != nullptr && (!full_.empty() || n_posted_in_slice() > budget_)) {
        tasks_.yield_to_driver();
        continue;
      }
    }
    if (tasks_.running_or_null() != nullptr && !has_room(box)) {
      ++counters_.n_room_waits;
      ++n_waiters_;
      if (!std::exchange(box.is_waited_for, true)) waited_for_.push_back(&box);
      box.waiters.wait("room to send");
      --n_waiters_;
    } else {
      open_block(box, n_bytes);
    }
  }
}

bool CoreContext::has_room(const Outbox& box) const {
  if (box.is_local) {
    // What a core sends to itself is applied when its tasks pause: the less, the more of it is in cache.
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
  if (lane.bytes.empty()) lane.bytes.reserve(std::max(n_bytes, options_.buffer_bytes) + kTagsBytes);
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
  if (lane.bytes.size() >= options_.buffer_bytes) {
    send_lane(node, lane);
  }
}

// At the end of the slice.
void CoreContext::send_lane(NodeId node, Lane& lane) {
  if (!lane.bytes.empty()) full_.emplace_back(node, std::exchange(lane.bytes, Bytes{}));
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
      if (block->capacity == options_.block_bytes) spare_.push_back(std::move(block));
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
    if (!has_room(*box)) return false;
    box->is_waited_for = false;
    box->waiters.wake_all();
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

// --- applying
// -----------------------------------------------------------------------------------------

std::uint64_t CoreContext::apply_incoming(std::uint64_t budget) {
  std::uint64_t n_applied = 0;
  for (std::size_t word = 0; word < signals_.size(); ++word) {
    if (signals_[word].load(std::memory_order_relaxed) != 0) {
      pending_[word] |= signals_[word].exchange(0, std::memory_order_acq_rel);  // with push()
    }
    for (std::uint64_t left = pending_[word]; left != 0; left &= left - 1) {
      const auto bit = static_cast<std::uint32_t>(std::countr_zero(left));
      const auto local = static_cast<std::uint32_t>(word * 64) + bit;
      if (!apply_from(local, budget, n_applied)) return n_applied;
      pending_[word] &= ~(std::uint64_t{1} << bit);
    }
  }
  return n_applied;
}

// False if the budget is used up and more may be there.
bool CoreContext::apply_from(std::uint32_t local, std::uint64_t budget, std::uint64_t& n_applied) {
  Incoming& in = incoming_[local];
  BlockRing& ring = *in.ring.load(std::memory_order_acquire);  // with push()
  bool any = false;
  const BlockRing::Entry* entry = nullptr;
  is_applying_ = true;
  while (n_applied < budget && (entry = ring.front()) != nullptr) {
    n_applied += apply_some(in, *entry, budget - n_applied);
    if (in.at < entry->n_bytes) break;
    in.at = 0;
    ring.pop();
    any = true;
  }
  applied_scope_ = 0;
  is_applying_ = false;
  if (any) siblings_[local]->returned_.store(true, std::memory_order_release);  // with reclaim()
  return n_applied < budget;
}

// A run may be long, and its records may be work: as many as the budget has.
std::uint64_t CoreContext::apply_some(Incoming& in, const BlockRing::Entry& entry,
                                      std::uint64_t budget) {
  std::uint64_t n_records = 0;
  while (n_records < budget && in.at < entry.n_bytes) {
    if (in.n_left == 0) open_incoming_run(in, entry);
    const detail::Handler& handler = *in.handler;
    const std::size_t n_bytes =
        handler.has_payload
            ? in.n_left
            : std::min<std::size_t>(in.n_left, (budget - n_records) * handler.stride);
    const std::uint64_t n = handler.has_payload ? in.n_records : n_bytes / handler.stride;
    applied_scope_ = in.finish;
    source_ = entry.from;
    handler.apply(*this, entry.runs + in.at, n_bytes);
    if (in.finish != 0) finishes_.note_applied(in.finish, entry.from, n);
    n_records += n;
    in.n_left -= n_bytes;
    in.at += n_bytes;
    if (in.n_left == 0) in.at = std::min(round_up_8(in.at), entry.n_bytes);
  }
  return n_records;
}

void CoreContext::open_incoming_run(Incoming& in, const BlockRing::Entry& entry) {
  Reader reader(ByteView(entry.runs, entry.n_bytes).subspan(in.at));
  const auto head = reader.get<RunHead>();
  const detail::Handler& handler = detail::handler_at(head.handler);
  const std::uint64_t whole = std::uint64_t{handler.stride} * head.n_records;
  if (head.n_bytes > reader.left() || head.n_bytes == 0 ||
      (handler.has_payload ? head.n_bytes < whole : head.n_bytes != whole)) {
    throw Error("run of " + std::to_string(head.n_records) + " messages with " +
                    std::to_string(head.n_bytes) + " bytes: expected " + std::to_string(whole) +
                    ", and " + std::to_string(reader.left()) + " are there",
                ExitCode::failed);
  }
  in.at += sizeof head;
  in.n_left = head.n_bytes;
  in.handler = &handler;
  in.finish = head.finish;
  in.n_records = head.n_records;
}

// --- a slice
// ------------------------------------------------------------------------------------------

void CoreContext::turn() {
  const HereScope inside(*this);
  set_hungry(false);
  ++counters_.n_slices;
  n_applied_in_slice_ = n_turns_in_slice_ = 0;
  charged_ = 0;
  n_posted_before_slice_ = counters_.n_posted + counters_.n_pooled;
  forward_parcels();
  std::uint64_t left = budget_;
  for (;;) {
    reclaim();
    push_backlog();
    wake_for_room();
    if (share()) break;  // the host wakes who can help
    const std::uint64_t n_applied = apply_incoming(left);
    const std::uint64_t turn = tasks_.n_turns();
    const std::uint64_t posted = counters_.n_posted + counters_.n_pooled;
    if (n_applied < left) {
      tasks_.run_some(std::min((left - n_applied) / kTurnUnits + 1, kTurnsAtOnce), now_);
    }
    const std::uint64_t n_turns = tasks_.n_turns() - turn;
    n_applied_in_slice_ += n_applied;
    counters_.n_applied += n_applied;
    n_turns_in_slice_ += n_turns;
    const std::uint64_t spent = n_applied + n_turns * kTurnUnits + counters_.n_posted +
                                counters_.n_pooled - posted;
    if (spent >= left || !full_.empty() || charged_ >= options_.slice) break;
    left -= spent;
    if (spent > 0) continue;
    if (find_tasks()) continue;
    settle_scopes();
    close_blocks(false);
    if (has_work()) continue;
    set_hungry(true);
    return;
  }
  settle_scopes();
  // If the budget ended together with the work, nobody would come back for what is open.
  close_blocks(has_work());
  if (!has_work()) set_hungry(true);
}

void CoreContext::count_open_runs() {
  for (Outbox* box : open_)
    count_run(*box);
}

void CoreContext::settle_scopes() {
  if (finishes_.is_settled()) return;
  count_open_runs();
  due_.clear();
  finishes_.settle(due_);
  for (const auto& due : due_)
    post(due.to, FinishDone{due.finish, due.n});
}

bool CoreContext::has_work() const noexcept {
  if (tasks_.is_ready() || !parcels_.empty() || tasks_.next_time() <= now_) return true;
  if (hunger_.n_shared.load(std::memory_order_relaxed) > 0) return true;
  const auto is_set = [](const auto& word) { return word != 0; };
  if (std::ranges::any_of(pending_, is_set) || std::ranges::any_of(signals_, is_set)) return true;
  return (n_backlog_ > 0 || n_waiters_ > 0 || !parcels_on_way_.empty()) && returned_;
}

bool CoreContext::is_quiet() const noexcept {
  const auto is_empty = [](const auto& lane) { return lane.second.bytes.empty(); };
  return !has_work() && tasks_.figures().n_waiting == 0 && tasks_.next_time() == kNever &&
         n_backlog_ == 0 && parcels_on_way_.empty() && applied_from_.empty() && full_.empty() &&
         std::ranges::all_of(open_, [](const Outbox* box) { return box->limit == nullptr; }) &&
         std::ranges::all_of(lanes_, is_empty);
}

// --- pooled tasks
// -------------------------------------------------------------------------------------

// In the middle of a push: the record is there.
void CoreContext::began_chunk() {
  queue_runner();
  if (!knows_of_tasks_ && shape_.n_nodes > 1) spread_that_tasks_exist();
  // Who fills pools without end lets those who could help see it.
  if (tasks_.running_or_null() != nullptr && !is_applying_ && n_posted_in_slice() > budget_) {
    tasks_.yield_to_driver();
  }
}

void CoreContext::queue_runner() {
  // One that is between two tasks goes on by itself.
  if (has_queued_runner_ || n_runners_ > n_in_task_ || n_runners_ >= kRunnersMost) return;
  has_queued_runner_ = true;
  tasks_.spawn([this] { run_pooled(); }, "pooled tasks");
}

// A runner. It ends when the pools are empty, or another one is free to go on.
void CoreContext::run_pooled() {
  has_queued_runner_ = false;
  if (n_runners_ > n_in_task_) return;
  ++n_runners_;
  while (!bound_.empty() || !pool_.empty()) {
    // What this one runs may wait: then the next one begins.
    ++n_in_task_;
    queue_runner();
    const std::uint64_t n_most = std::max<std::uint64_t>(budget_ / kBatchesASlice, 1);
    for (std::uint64_t n = 0; n < n_most && charged_ < options_.slice; ++n) {
      if (bound_.empty() && pool_.empty()) break;
      run_next(bound_.empty() ? pool_ : bound_);
    }
    --n_in_task_;
    if (n_runners_ > n_in_task_ + 1) break;
    tasks_.yield_to_driver();
  }
  --n_runners_;
  tasks_.running().scope = 0;
}

void CoreContext::run_next(detail::TaskPool& pool) {
  detail::TaskChunk& chunk = pool.top();
  const FinishId finish = chunk.finish;
  tasks_.running().scope = finish;
  pool_of_next_ = &pool;
  chunk.kind->run(*this, chunk.bytes + (chunk.n - 1) * chunk.kind->stride);
  if (finish != 0) finishes_.end(finish, 1);
}

void CoreContext::set_hungry(bool is_hungry) noexcept {
  if (std::exchange(is_hungry_, is_hungry) == is_hungry) return;
  hunger_.n_hungry.fetch_add(is_hungry ? 1U : UINT32_MAX);
}

// Gives others of what this core cannot run at once; true if it did.
bool CoreContext::share() {
  bool gave = false;
  if (pool_.size() > 1) {
    const std::uint32_t n_hungry = hunger_.n_hungry.load(std::memory_order_relaxed);
    gave = n_hungry > hunger_.n_shared.load(std::memory_order_relaxed);
    if (gave) pool_.share_half();
  }
  while (!beggars_.empty() && pool_.size() > 1) {
    give_to_beggar();
    gave = true;
  }
  return gave;
}

void CoreContext::give_to_beggar() {
  const CoreId to = beggars_.back();
  beggars_.pop_back();
  for (const detail::TaskChunkPtr& chunk : pool_.take_half(kGivenMost)) {
    applied_scope_ = chunk->finish;
    chunk->kind->send(*this, to, chunk->bytes, chunk->n);
    // They are messages from now on, which are counted as such.
    if (chunk->finish != 0) finishes_.end(chunk->finish, chunk->n);
    counters_.n_given += chunk->n;
  }
  applied_scope_ = 0;
  close_block(outbox(to));
  const NodeId node = shape_.node_of(to);
  send_lane(node, lanes_[node]);
}

// For a core that has nothing left. True if there is something now.
bool CoreContext::find_tasks() {
  if (pool_.has_shared() && pool_.take_back()) {
    queue_runner();
    return true;
  }
  if (hunger_.n_shared.load(std::memory_order_relaxed) == 0) {
    if (knows_of_tasks_) beg();
    return false;
  }
  const std::uint32_t me = shape_.local_of(core_);
  for (std::uint32_t i = 1; i < shape_.n_cores; ++i) {
    CoreContext& victim = *siblings_[(me + i) % shape_.n_cores];
    const bool found = pool_.take_from(victim.pool_, [&](const detail::TaskChunk& chunk) {
      counters_.n_stolen += chunk.n;
      if (chunk.finish == 0) return;
      // As if it had sent them here, and they had begun as tasks of this core.
      finishes_.add(chunk.finish, chunk.n);
      finishes_.note_applied(chunk.finish, victim.core_, chunk.n);
    });
    if (!found) continue;
    queue_runner();
    return true;
  }
  return false;
}

// Programs without such tasks do not pay for the questions of idle cores.
void CoreContext::spread_that_tasks_exist() {
  if (std::exchange(knows_of_tasks_, true)) return;
  const FinishId finish = std::exchange(applied_scope_, 0);
  Worker* const task = tasks_.running_or_null() != nullptr ? &tasks_.running() : nullptr;
  const FinishId of_task = task != nullptr ? std::exchange(task->scope, 0) : 0;
  for (const CoreId core : lifelines_)
    post(core, TasksExist{});
  for (CoreId core = shape_.first_core(); core < shape_.first_core() + shape_.n_cores; ++core) {
    if (core != core_) post(core, TasksExist{});
  }
  applied_scope_ = finish;
  if (task != nullptr) task->scope = of_task;
}

// Once; whoever is asked remembers it until there is something to give. So idle cores are silent, and the run can be
// seen to end.
void CoreContext::beg() {
  for (std::size_t i = 0; i < lifelines_.size(); ++i) {
    if (has_asked_[i]) continue;
    has_asked_[i] = true;
    ++counters_.n_begs;
    post(lifelines_[i], Beg{});
  }
}

void CoreContext::note_given(CoreId by) {
  for (std::size_t i = 0; i < lifelines_.size(); ++i) {
    if (lifelines_[i] == by) has_asked_[i] = false;
  }
}

// --- scopes
// -------------------------------------------------------------------------------------------

CoreContext::FinishScope::FinishScope(CoreContext& core) : core_(core) {
  core.check_may_block();
  outer_ = std::exchange(core.tasks_.running().scope, core.finishes_.open());
}

CoreContext::FinishScope::~FinishScope() {
  Worker& me = core_.tasks_.running();
  core_.wait_for_scope(std::exchange(me.scope, outer_));
}

void CoreContext::wait_for_scope(FinishId finish) {
  count_open_runs();
  while (finishes_.n_open(finish) != 0) {
    finishes_.set_waiter(finish, &tasks_.running());
    tasks_.suspend("the end of a finish scope");
  }
  finishes_.close(finish);
}

}  // namespace rubato::core
