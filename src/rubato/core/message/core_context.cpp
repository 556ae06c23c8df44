#include "rubato/core/message/core_context.hpp"

#include <algorithm>
#include <system_error>

#include "rubato/base/caller.hpp"
#include "rubato/core/message/budget.hpp"

namespace rubato::core {

using detail::BlockRing;
using detail::Outbox;
using detail::round_up_8;
using detail::RunHead;

namespace {

// In outboxes' cache where there is none; for no core.
Outbox& no_outbox() {
  static Outbox none;
  return none;
}

constexpr std::uint64_t kTurnsAtOnce = 1024;
// Blocks that are filled by turns, one for each core: more would cost more than they gain (stream_store.hpp).
// Of several nodes most records go on by way of a buffer, which this core fills from its caches.
constexpr std::uint32_t kStreamsMost = 6;
// Records that a slice applies at most where tasks are so long that the budget which both share is the
// least. A core that took a few records between two of them would leave in its inbox the tasks that it
// has been given, where nobody else can have them, and behind these the questions of those that have
// none.
constexpr std::uint64_t kRecordsBesideLongTasks = 256;

}  // namespace

std::size_t detail::next_local_slot() {
  static std::atomic<std::size_t> n_slots{0};
  return n_slots++;
}

// What ends in a scope on other cores.
struct FinishDone {
  FinishId finish;
  std::uint64_t n;
  void apply(CoreContext& here) const { here.finishes_.end(finish, n); }
};

CoreCounters CoreContext::counters() const noexcept {
  CoreCounters counters = counters_;
  const Scheduler::Figures tasks = tasks_.figures();
  counters.n_tasks = tasks.n_spawned;
  counters.n_switches = tasks.n_turns;
  return counters;
}

void CoreContext::note_queues() noexcept {
  const Scheduler::Figures tasks = tasks_.figures();
  counters_.n_waiting_max = std::max(counters_.n_waiting_max, tasks.n_waiting);
  counters_.n_queued_max = std::max(counters_.n_queued_max, tasks.n_queued);
}

// NOLINTNEXTLINE(readability-function-size): parameters, all of which are the engine's
CoreContext::CoreContext(CoreId core, const JobShape& shape, const MessageOptions& options,
                         const std::vector<std::unique_ptr<CoreContext>>& siblings,
                         detail::NodeHunger& hunger, detail::NativePool& native,
                         detail::NodeObjects& objects)
    : core_(core),
      shape_(shape),
      options_(options),
      streams_(kHasStreamStores && shape.n_nodes == 1 && shape.n_cores > 1 &&
               shape.n_cores <= kStreamsMost),
      siblings_(siblings),
      tasks_(options.tasks),
      finishes_(core),
      of_node_(objects),
      ways_(shape.n_cores),
      hunger_(hunger),
      native_(native),
      pool_(hunger),
      bound_(hunger),
      sent_(hunger),
      levels_(options.n_waiting_most),
      incoming_(shape.n_cores),
      signals_((shape.n_cores + 63) / 64),
      pending_(signals_.size(), 0) {
  std::ranges::fill(cached_, &no_outbox());
  set_hungry(true);
  Scheduler::set_refusal([] {
    if (here_ != nullptr) here_->refuse_to_wait({});
  });
  // The same core of the nodes whose number differs in one bit: few, and work comes to everybody by
  // way of them [Saraswat et al., "Lifeline-based global load balancing", PPoPP 2011].
  for (NodeId bit = 1; bit != 0 && bit < shape.n_nodes; bit <<= 1) {
    const NodeId node = shape.node ^ bit;
    if (node < shape.n_nodes) lifelines_.add(node * shape.n_cores + shape.local_of(core));
  }
}

CoreContext::~CoreContext() {
  for (Way& way : ways_) {
    if (way.ring != nullptr) way.ring->drop([](const auto& entry) { delete entry.block; });
    for (const auto& entry : way.backlog)
      delete entry.block;
  }
}

// --- applying
// -----------------------------------------------------------------------------------------

std::uint64_t CoreContext::apply_incoming(std::uint64_t budget) {
  for (std::size_t word = 0; word < signals_.size(); ++word) {
    if (signals_[word].load(std::memory_order_relaxed) == 0) continue;
    pending_[word] |= signals_[word].exchange(0, std::memory_order_acq_rel);  // with push()
  }
  // From where the budget ended the last time, so that nobody's messages keep those of others out.
  std::uint64_t n_applied = 0;
  const std::uint32_t first = apply_first_;
  if (apply_pending(first, shape_.n_cores, budget, n_applied)) {
    static_cast<void>(apply_pending(0, first, budget, n_applied));
  }
  return n_applied;
}

// It may be the records that take long: then no more of them than fit into a slice.
std::uint64_t CoreContext::apply_beside_long_tasks() {
  const Nanos begin = clock();
  std::uint64_t n_applied = 0;
  while (n_applied < kRecordsBesideLongTasks) {
    const std::uint64_t n = apply_incoming(detail::kBudgetLeast);
    n_applied += n;
    if (n < detail::kBudgetLeast || clock() - begin >= options_.slice) break;
  }
  return n_applied;
}

// What came from the cores [first, last) of this node; false if the budget is used up.
bool CoreContext::apply_pending(std::uint32_t first, std::uint32_t last, std::uint64_t budget,
                                std::uint64_t& n_applied) {
  for (std::uint32_t local = first; local < last; ++local) {
    std::uint64_t& word = pending_[local / 64];
    if (word == 0) {
      local |= 63U;  // the loop goes on with the next word
      continue;
    }
    const std::uint64_t bit = std::uint64_t{1} << (local % 64);
    if ((word & bit) == 0) continue;
    if (!apply_from(local, budget, n_applied)) {
      apply_first_ = (local + 1) % shape_.n_cores;
      return false;
    }
    word &= ~bit;
  }
  return true;
}

// False if the budget is used up and more may be there.
bool CoreContext::apply_from(std::uint32_t local, std::uint64_t budget, std::uint64_t& n_applied) {
  Incoming& in = incoming_[local];
  BlockRing& ring = *in.ring.load(std::memory_order_acquire);  // with push()
  bool any = false;
  const BlockRing::Entry* entry = nullptr;
  tasks_.set_must_not_wait(true);
  while (n_applied < budget && (entry = ring.front()) != nullptr) {
    n_applied += apply_some(in, *entry, budget - n_applied);
    if (in.at < entry->n_bytes) break;
    in.at = 0;
    ring.pop();
    any = true;
  }
  applied_scope_ = 0;
  tasks_.set_must_not_wait(false);
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
    applied_.swap(&handler);
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

std::string CoreContext::who_runs() const {
  if (!is_applying()) {
    const std::string task = tasks_.running_name();
    return task.empty() ? "what no task runs" : task;
  }
#ifdef NDEBUG
  if (is_in_place()) return "a delegate in place of " + tasks_.running_name();
#endif
  const detail::Handler* const applied = applied_.get();
  return applied == nullptr ? "a delegate" : std::string(applied->name);
}

void CoreContext::refuse_to_wait(SourcePlace at) const {
  const std::string place = at.line > 0 ? at.text() : user_caller();
  const std::string what = who_runs() + (place.empty() ? "" : " at " + place);
  RUBATO_REQUIRE(!"a delegate, and what else a message does, and a coroutine but at co_await, "
                  "must not wait: it runs between two others of its core; spawn a task in it that "
                  "waits",
                 what, core_);
}

void CoreContext::refuse_memory_of(CoreId of, const SourcePlace& at) const {
  const std::string what = who_runs() + " at " + at.text();
  RUBATO_REQUIRE(!"memory of another core is touched: call a delegate there, or read it", what, of,
                 core_);
}

// --- a slice
// ------------------------------------------------------------------------------------------

// Who runs on this thread is this core.
class CoreContext::HereScope {
 public:
  explicit HereScope(CoreContext& core) noexcept : outer_(std::exchange(here_, &core)) {}
  HereScope(const HereScope&) = delete;
  HereScope& operator=(const HereScope&) = delete;
  ~HereScope() { here_ = outer_; }

 private:
  CoreContext* outer_;
  Scheduler::NoTask no_task_;
};

std::uint64_t CoreContext::n_units_of_tasks() const noexcept {
  return counters_.n_posted + counters_.n_pooled + counters_.n_pooled_run;
}
std::uint64_t CoreContext::n_units_in_slice() const noexcept {
  return n_units_of_tasks() - n_units_before_slice_;
}

void CoreContext::turn() {
  const HereScope inside(*this);
  set_hungry(false);
  ++counters_.n_slices;
  lifelines_.begin_turn(now_, counters_.n_pooled_run, n_came_, options_.ask_ahead);
  // Not if the last slice has done it: what is to be hurried may come without end.
  const bool may_put_off = n_turns_in_slice_ > 0 || !tasks_.is_ready();
  n_applied_in_slice_ = n_turns_in_slice_ = 0;
  charged_ = 0;
  n_turns_before_ = tasks_.n_turns();
  n_units_before_slice_ = n_units_of_tasks();
  forward_parcels();
  std::uint64_t left = budget_;
  bool gave = false;
  for (;;) {
    reclaim();
    push_backlog();
    wake_for_room();
    wake_native();
    gave = share();
    if (gave) break;  // the host wakes who can help
    if (lifelines_.n_ahead() > 0 && n_pooled() <= lifelines_.n_ahead()) ask_ahead();
    const std::uint64_t n_applied =
        budget_ > detail::kBudgetLeast ? apply_incoming(left) : apply_beside_long_tasks();
    const bool hurries = !hurried_.empty();
    send_hurried();
    const std::uint64_t turn = tasks_.n_turns();
    const std::uint64_t n_units = n_units_of_tasks();
    // However much comes, tasks go on: after what others wait for has left, with the end of the slice
    // if these are of another node.
    if (!hurries || full_.empty() || !may_put_off) {
      tasks_.run_some(std::min((left - std::min(left, n_applied)) / kTurnUnits + 1, kTurnsAtOnce),
                      now_);
      if (!natives_.leaving.empty()) send_beside();
      send_hurried();
    }
    const std::uint64_t n_turns = tasks_.n_turns() - turn;
    n_applied_in_slice_ += n_applied;
    counters_.n_applied += n_applied;
    n_turns_in_slice_ += n_turns;
    const std::uint64_t spent = n_applied + n_turns * kTurnUnits + n_units_of_tasks() - n_units;
    if (spent >= left || !full_.empty() || charged_ >= options_.slice) break;
    left -= spent;
    if (spent > 0) continue;
    if (find_tasks() || flush_combiners()) continue;
    beg();  // not before: what was held back may have become tasks of this core
    settle_scopes();
    close_blocks(false);
    if (has_work()) continue;
    set_hungry(can_run_pooled(0));
    return;
  }
  if (has_to_flush_ || now_ - held_since_ >= options_.combining_age) flush_combiners();
  settle_scopes();
  // If the budget ended together with the work, nobody would come back for what is open. What
  // others have shared is no reason: it may be gone when this core is asked next.
  if (!has_own_work()) {
    if (!find_tasks()) beg();
  } else if (pool_.empty() && !gave) {
    // What is always ready may wait for what this core has shared, and all others be as busy.
    static_cast<void>(take_back_shared());
  }
  send_hurried();
  close_blocks(has_own_work());
  if (has_own_work()) return lifelines_.pace.note_work_left();
  set_hungry(can_run_pooled(0));
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

void CoreContext::move_to_scope(Worker& task, FinishId to) {
  begin_in_scope(to);
  end_in_scope(std::exchange(task.scope, to));
}

// As if that core had sent it here, and it had begun as a task of this one.
void CoreContext::take_over(FinishId finish, CoreId from, std::uint64_t n) {
  if (finish == 0 || from == core_) return;
  finishes_.add(finish, n);
  finishes_.note_applied(finish, from, n);
}

void* CoreContext::of_node_or_make(std::size_t slot, std::shared_ptr<void> (*make)()) {
  const std::scoped_lock lock(of_node_.mutex);
  std::shared_ptr<void>& place = of_node_.objects.at(slot);
  if (place == nullptr) place = make();
  return place.get();
}

void CoreContext::hold_back(Combiner& combiner) {
  if (std::exchange(combiner.is_listed_, true)) return;
  if (combiners_.empty()) held_since_ = now_;
  combiners_.push_back(&combiner);
}

// False if there was none.
bool CoreContext::flush_combiners() {
  has_to_flush_ = false;
  if (combiners_.empty()) return false;
  std::vector<Combiner*> all;
  all.swap(combiners_);
  for (Combiner* combiner : all) {
    combiner->is_listed_ = false;
    combiner->flush(*this);
  }
  return true;
}

bool CoreContext::has_work() const noexcept {
  if (has_own_work()) return true;
  const std::uint32_t least = levels_.least();
  return can_run_pooled(least) && (least == 0 ? hunger_.n_shared.load(std::memory_order_relaxed) > 0
                                              : pool_.has_shared(least));
}

// Of what no other core can take away.
bool CoreContext::has_own_work() const noexcept {
  if (tasks_.is_ready() || !parcels_.empty() || tasks_.next_time() <= now_) return true;
  if (!combiners_.empty() || has_native_news()) return true;
  const auto is_set = [](const auto& word) { return word != 0; };
  if (std::ranges::any_of(pending_, is_set) || std::ranges::any_of(signals_, is_set)) return true;
  return (n_backlog_ > 0 || n_waiters_ > 0 || !parcels_on_way_.empty()) && returned_;
}

bool CoreContext::is_quiet() const noexcept {
  const auto is_empty = [](const auto& lane) { return lane.second.bytes.empty(); };
  return !has_work() && tasks_.figures().n_waiting == 0 && stackless_.n() == 0 && pool_.empty() &&
         bound_.empty() && sent_.empty() && tasks_.next_time() == kNever && n_backlog_ == 0 &&
         parcels_on_way_.empty() && applied_from_.empty() && full_.empty() &&
         std::ranges::all_of(open_, [](const Outbox* box) { return box->limit == nullptr; }) &&
         std::ranges::all_of(lanes_, is_empty);
}

// --- native work
// --------------------------------------------------------------------------------------

void CoreContext::do_native(std::function<void()> call, NativeTurn turn, const SourcePlace& at) {
  check_may_block();
  if (!native_.has_threads()) return call();
  detail::NativeWork work(std::move(call));
  work.is_brief = turn.time == NativeTime::brief;
  work.priority = turn.priority;
  work.at = at;
  try {
    begin_native(work);
  } catch (const std::system_error&) {
    return work.call();  // there is no thread to be had
  }
  wait_for_native(work);
  if (work.error) std::rethrow_exception(work.error);
}

void CoreContext::begin_native(detail::NativeWork& work) {
  work.waiter = &tasks_.running();
  work.local = shape_.local_of(core_);
  native_.add(work);
  ++natives_.n;
}

// Tasks that have left their stacks in this turn.
void CoreContext::send_beside() {
  for (detail::NativeWork* work : std::exchange(natives_.leaving, {})) {
    try {
      native_.add(*work);
      ++natives_.n;
    } catch (const std::system_error&) {
      tasks_.wake(*work->waiter);  // there is no thread: it stays
    }
  }
}

void CoreContext::wait_for_native(detail::NativeWork& work) {
  while (!work.is_done && !work.is_due) {
    work.is_waited_for = true;
    tasks_.suspend("native work");
  }
  work.is_due = false;
}

// Within a turn the time is that of its begin, or older: what counts from then would be due too
// soon.
void CoreContext::time_native(detail::NativeWork& work, Nanos patience) {
  work.patience = patience;
  work.is_timed.store(patience != kNever, std::memory_order_relaxed);
  natives_.begun.push_back(&work);
}

void CoreContext::set_native_times() {
  for (detail::NativeWork* work : std::exchange(natives_.begun, {})) {
    work->due = work->patience < kNever - now_ ? now_ + work->patience : kNever;
    natives_.timed.push_back(work);
    natives_.due = std::min(natives_.due, work->due);
  }
}

bool CoreContext::has_native_news() const noexcept {
  return natives_.n > 0 && (natives_.due <= now_ || native_.any_news(shape_.local_of(core_)));
}

void CoreContext::wake_native() {
  if (!has_native_news()) return;
  // The task may wait for something else meanwhile, having been told that its work is late.
  const auto wake = [this](detail::NativeWork& work) {
    if (std::exchange(work.is_waited_for, false)) tasks_.wake(*work.waiter);
  };
  const detail::NativePool::News news = native_.take_news(shape_.local_of(core_));
  for (detail::NativeWork* work : news.begun)
    time_native(*work, work->timeout);
  for (detail::NativeWork* work : news.done) {
    --natives_.n;
    work->is_done = true;
    std::erase(natives_.begun, work);
    std::erase(natives_.timed, work);
    wake(*work);
  }
  natives_.due = kNever;
  for (detail::NativeWork* work : std::exchange(natives_.timed, {})) {
    if (work->due > now_) {
      natives_.timed.push_back(work);
      natives_.due = std::min(natives_.due, work->due);
      continue;
    }
    work->is_due = true;
    work->is_late.store(true, std::memory_order_relaxed);
    wake(*work);
  }
}

// --- scopes
// -------------------------------------------------------------------------------------------

CoreContext::FinishScope::FinishScope(CoreContext& core) : core_(core) {
  core.check_may_block();
  outer_ = std::exchange(core.tasks_.running().scope, core.finishes_.open(core.scope()));
}

CoreContext::FinishScope::~FinishScope() {
  Worker& me = core_.tasks_.running();
  core_.wait_for_scope(std::exchange(me.scope, outer_));
}

void CoreContext::wait_for_scope(FinishId finish) {
  count_open_runs();
  // What is held back to be combined may be what is waited for.
  has_to_flush_ = has_to_flush_ || finishes_.n_open(finish) != 0;
  while (finishes_.n_open(finish) != 0) {
    finishes_.set_waiter(finish, &tasks_.running());
    tasks_.suspend("the end of a finish scope");
  }
  finishes_.close(finish);
}

}  // namespace rubato::core
