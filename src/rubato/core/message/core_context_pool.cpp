// Pooled tasks of a core: running them, giving them away, asking for some.

#include <algorithm>
#include <cstring>
#include <iterator>

#include "rubato/core/message/core_context.hpp"

namespace rubato::core {

namespace {

constexpr std::size_t kGivenMost = 2048;  // pooled tasks to another node at a time
constexpr std::size_t kDealtMost = 256;   // the size of a pool that is dealt one by one
constexpr std::uint64_t kBatchMost = 256;
constexpr std::uint64_t kBatchesASlice = 8;  // of pooled tasks, between which others are looked at

}  // namespace

// A core of another node has nothing to do, or will have nothing soon.
struct Beg {
  Nanos now;
  std::uint64_t n_left;
  std::uint64_t is_ahead;
  void apply(CoreContext& here) const {
    here.lifelines_.note_question({here.source(), now, n_left, here.now_}, is_ahead != 0);
  }
};

// Another core has that many of what was shared, or was sent to it, and counts them from now on.
struct Took {
  std::uint64_t n;
  void apply(CoreContext& here) const {
    here.pool_.note_gone(n);
    for (const HeldBack& held : here.held_back_) {
      if (held.look) held.look();
    }
  }
};

// Behind so many pooled tasks, which another node has given away.
struct Gave {
  std::uint64_t n;
  Nanos asked;  // by the clock of who gets them
  Nanos held;   // the question, until there were some
  void apply(CoreContext& here) const {
    here.lifelines_.round_trip.note(here.now_ - asked - held);
    here.post(here.source(), Took{n});
  }
};

// Somewhere there are pooled tasks, so that idle cores are to ask for some.
struct TasksExist {
  void apply(CoreContext& here) const { here.spread_that_tasks_exist(); }
};

// --- pooled tasks
// -------------------------------------------------------------------------------------

// In the middle of a push, into a chunk that was begun for it, or while a core of the node is hungry or
// was a little while ago (is_offering): the record is there. Who fills pools without end lets those who
// could help see it; and so does who may be about to do something else for long.
void CoreContext::pushed(bool is_new) {
  bool looks = false;
  if (is_new) {
    queue_runner();
    // Pooled tasks have not begun either.
    counters_.n_queued_max = std::max<std::uint64_t>(counters_.n_queued_max, n_pooled());
    if (!knows_of_tasks_ && shape_.n_nodes > 1) spread_that_tasks_exist();
    looks = n_units_in_slice() > budget_;
  }
  if (may_wait() && (looks || pool_.is_offer_due([this] { return clock(); })))
    tasks_.yield_to_driver();
  if (is_new && is_in_place()) owes_way_ = true;
}

void CoreContext::queue_runner() {
  // One that is between two tasks goes on by itself.
  if (has_queued_runner_ || n_runners_ > levels_.n() || next_pool(nullptr) == nullptr) return;
  has_queued_runner_ = true;
  tasks_.spawn([this] { run_pooled(); }, "pooled tasks");
}

// A runner. It ends when the pools are empty, or another one is free to go on.
void CoreContext::run_pooled() {
  has_queued_runner_ = false;
  if (n_runners_ > levels_.n()) return;
  if (n_runners_ == 0) levels_.set_stacks(tasks_.n_stacks_share());
  ++n_runners_;
  while (const detail::TaskPool* const first = next_pool(nullptr)) {
    // What this one runs may wait: then the next one begins.
    RunnerSlot slot = slot_for(*first);
    levels_.enter(slot);
    queue_runner();
    run_batch(slot);
    levels_.leave(slot);
    if (n_runners_ > levels_.n() + 1) break;
    tasks_.yield_to_driver();
  }
  --n_runners_;
  tasks_.running().scope = 0;
}

// By a runner that is in `slot`, and in that of the last one afterwards.
void CoreContext::run_batch(RunnerSlot& slot) {
  const std::uint64_t n_most = std::clamp<std::uint64_t>(budget_ / kBatchesASlice, 1, kBatchMost);
  const detail::TaskPool* last = nullptr;
  FinishId last_finish = 0;
  for (std::uint64_t n = 0; n < n_most && charged_ < options_.slice; ++n) {
    // What next_pool() would find after one of pool_, at a glance: in most programs all the time.
    detail::TaskPool* pool = &pool_;
    if (last != pool || !pool->is_next_of(last_finish) || n_waiters_ > 0 || !sent_.empty() ||
        !bound_.empty()) {
      pool = next_pool(&slot);
      if (pool == nullptr) return;
      if (const RunnerSlot next = slot_for(*pool); next != slot) {
        levels_.leave(slot);
        levels_.enter(slot = next);
      }
      last = pool;
      last_finish = pool->top().finish;
    }
    run_next(*pool);
  }
}

CoreContext::RunnerSlot CoreContext::slot_for(const detail::TaskPool& pool) const noexcept {
  return {pool.level(), &pool == &sent_};
}

// With a task that may begin; or go on after another one, by the runner that has that slot. While
// tasks wait for room to send, more would only wait as well: but for those that were sent here, and
// may be what others wait for; and one when all who waited have had room (RoomTurns). The last who
// waits comes back, and so does the one who makes it due.
detail::TaskPool* CoreContext::next_pool(const RunnerSlot* held) noexcept {
  for (detail::TaskPool* pool : {&sent_, &bound_, &pool_}) {
    if (pool->empty()) continue;
    const RunnerSlot slot = slot_for(*pool);
    if (n_waiters_ > 0 && !slot.is_sent && !room_turns_.is_due()) {
      room_turns_.hold();
      continue;
    }
    if ((held != nullptr && slot == *held) || levels_.has_room(slot)) return pool;
  }
  return nullptr;
}

void CoreContext::run_next(detail::TaskPool& pool) {
  detail::TaskChunk& chunk = pool.top();
  tasks_.running().scope = chunk.finish;
  pool_of_next_ = &pool;
  if (&pool != &sent_) room_turns_.begin();
  chunk.kind->run(*this, chunk.bytes + (chunk.n - 1) * chunk.kind->stride);
  end_in_scope(tasks_.running().scope);
  ++counters_.n_pooled_run;
}

void CoreContext::set_hungry(bool is_hungry) noexcept {
  if (std::exchange(is_hungry_, is_hungry) == is_hungry) return;
  hunger_.n_hungry.fetch_add(is_hungry ? 1U : UINT32_MAX);
}

// Gives others of what this core cannot run at once; true if it did.
bool CoreContext::share() {
  bool gave = false;
  pool_.note_look();
  counters_.n_queued_max = std::max<std::uint64_t>(counters_.n_queued_max, n_pooled());
  // One alone as well, if there is a task to go on with that is not just about to take it.
  const bool goes_on = tasks_.has_ready_worker() && n_runners_ <= levels_.n();
  if (pool_.size() > (goes_on ? 0 : 1)) {
    gave = pool_.is_wanted();
    if (gave) pool_.share_half();
  }
  if (pool_.size() <= 1) return gave;
  if (!lifelines_.beggars.empty()) {
    give_to(lifelines_.beggars);
    return true;
  }
  if (lifelines_.has_asker_below(pool_.size())) {
    give_to(lifelines_.askers);
    return true;
  }
  return gave;
}

// Whether a pooled task of that level would begin, now or after those that run: not while as many of
// it wait as may, or for a stack.
bool CoreContext::can_run_pooled(std::uint32_t level) const noexcept {
  return level >= levels_.least() && (n_runners_ > levels_.n() || tasks_.has_stack());
}

namespace {

// All records of a pool, the oldest first.
std::vector<detail::TaskChunkPtr> take_all(detail::TaskPool& pool) {
  std::vector<detail::TaskChunkPtr> all;
  while (pool.size() > 1)
    std::ranges::move(pool.take_half(kDealtMost), std::back_inserter(all));
  all.push_back(std::make_unique<detail::TaskChunk>(pool.top()));
  pool.pop();
  return all;
}

// One in `n_shares` of the records of the oldest kind, or every second one if they are few, `n_most` at
// most. Of ranges that are cut in halves, the oldest half of the records is nearly all of the work: who
// got it would hand on the largest range, which is the oldest again, and all others would wait for the
// one that has it. And what a range has started is no reason to travel as long as there are ranges.
std::vector<detail::TaskChunkPtr> deal(detail::TaskPool& pool, std::size_t n_shares,
                                       std::size_t n_most) {
  std::vector<detail::TaskChunkPtr> all = take_all(pool);
  const detail::PooledKind* const kind = all.front()->kind;
  std::vector<detail::TaskChunkPtr> dealt;
  std::size_t n_of_kind = 0;
  for (const auto& chunk : all)
    n_of_kind += chunk->kind == kind ? chunk->n : 0;
  const std::size_t every = n_of_kind >= 2 * n_shares ? n_shares : 2;
  std::size_t n_seen = 0;  // of that kind
  std::size_t n_left = n_most;
  for (detail::TaskChunkPtr& chunk : all) {
    const std::size_t stride = chunk->kind->stride;
    std::size_t n_dealt = 0;
    for (std::size_t i = 0; i < chunk->n; ++i) {
      std::byte* to = chunk->bytes + n_dealt * stride;
      const bool is_dealt = chunk->kind == kind && n_left > 0 && n_seen++ % every == 0;
      if (is_dealt) {
        ++n_dealt;
        --n_left;
      } else {
        static_cast<void>(pool.begin_push(*chunk->kind, chunk->finish, to));
      }
      if (to != chunk->bytes + i * stride) std::memcpy(to, chunk->bytes + i * stride, stride);
    }
    chunk->n = n_dealt;
    if (n_dealt > 0) dealt.push_back(std::move(chunk));
  }
  return dealt;
}

}  // namespace

// To the last of those that have asked, a share of what this core has more than it; of many tasks some
// chunks, with so many if one has no more.
void CoreContext::give_to(std::vector<Lifelines::Question>& who) {
  const Lifelines::Question question = who.back();
  const CoreId to = question.who;
  who.pop_back();
  const std::size_t n_more = pool_.size() - question.n_left;
  const std::size_t n_most = std::clamp<std::size_t>(n_more / lifelines_.n_shares(), 1, kGivenMost);
  std::uint64_t n = 0;
  for (const detail::TaskChunkPtr& chunk : pool_.size() <= kDealtMost
                                               ? deal(pool_, lifelines_.n_shares(), n_most)
                                               : pool_.take_half(n_most)) {
    applied_scope_ = chunk->finish;
    chunk->kind->send(*this, to, chunk->bytes, chunk->n);
    // They are messages from now on, which are counted as such.
    if (chunk->finish != 0) finishes_.end(chunk->finish, chunk->n);
    n += chunk->n;
  }
  counters_.n_given += n;
  pool_.note_sent(n);
  applied_scope_ = 0;
  post(to, Gave{n, question.asked, now_ - question.heard});
  hurry(to);
}

// What nobody has taken; true if that is something. What cannot begin is no progress: what is held
// back would never leave.
bool CoreContext::take_back_shared() {
  if (!can_run_pooled(levels_.least()) || !pool_.take_back(levels_.least())) return false;
  queue_runner();
  return true;
}

// For a core that has nothing left. True if there is something now.
bool CoreContext::find_tasks() {
  if (take_back_shared()) return true;
  if (!can_run_pooled(0)) return false;
  if (hunger_.n_shared.load(std::memory_order_relaxed) == 0) return false;
  const std::uint32_t me = shape_.local_of(core_);
  for (std::uint32_t i = 1; i < shape_.n_cores; ++i) {
    CoreContext& victim = *siblings_[(me + i) % shape_.n_cores];
    std::uint64_t n = 0;
    const bool found = pool_.take_from(victim.pool_, [&](const detail::TaskChunk& chunk) {
      n += chunk.n;
      take_over(chunk.finish, victim.core_, chunk.n);
    });
    if (!found) continue;
    counters_.n_stolen += n;
    post(victim.core_, Took{n});
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
  for (const CoreId core : lifelines_.cores())
    post(core, TasksExist{});
  for (CoreId core = shape_.first_core(); core < shape_.first_core() + shape_.n_cores; ++core) {
    if (core != core_) post(core, TasksExist{});
  }
  applied_scope_ = finish;
  if (task != nullptr) task->scope = of_task;
}

// Once; whoever is asked remembers it until there is something to give. So idle cores are silent,
// and the run can be seen to end. Nor does a core ask whose tasks wait for room to send, or for stacks:
// it would not run what it got (run_pooled), and two of them would hand the same tasks to and fro for ever where
// there is room for little else.
void CoreContext::beg() {
  if (n_waiters_ > 0 || !can_run_pooled(0)) return;
  if (!knows_of_tasks_ || hunger_.n_shared.load(std::memory_order_relaxed) > 0) return;
  ask(Lifelines::Asked::now);
}

// While it still runs some. The same things hold it back; and what cores of its node have for others
// is nearer.
void CoreContext::ask_ahead() {
  if (n_waiters_ > 0 || !tasks_.is_ready() || !can_run_pooled(0)) return;
  if (!knows_of_tasks_ || hunger_.n_shared.load(std::memory_order_relaxed) > 0) return;
  ask(Lifelines::Asked::ahead);
}

void CoreContext::ask(Lifelines::Asked how) {
  const bool is_ahead = how == Lifelines::Asked::ahead;
  lifelines_.ask(how, [&](CoreId core) {
    ++counters_.n_begs;
    post(core, Beg{now_, is_ahead ? n_pooled() : 0, is_ahead ? 1U : 0U});
    if (is_ahead) hurry(core);
  });
}

std::string CoreContext::without_stack() const {
  const std::uint64_t n = tasks_.figures().n_queued + n_pooled();
  if (n == 0) return "";
  std::string text = "; " + std::to_string(n) + (n == 1 ? " task" : " tasks") + " of core " +
                     std::to_string(core_) + " cannot begin: ";
  if (!tasks_.has_stack()) {
    text += "all " + std::to_string(tasks_.n_guarded_stacks()) +
            " guarded stacks are those of tasks that wait (StackPoolOptions::n_guarded_max, and "
            "vm.max_map_count of this machine)";
  } else if (!tasks_.has_small_stack()) {
    text += "all " + std::to_string(tasks_.n_small_stacks()) +
            " small stacks are those of tasks that wait (StackPoolOptions::n_small_max)";
  } else if (n_pooled() > 0 && levels_.least() > 0) {
    text += std::to_string(levels_.n()) +
            " iterations or pooled tasks wait, and no more of their level may (" +
            "MessageOptions::n_waiting_most)";
  } else {
    return "";
  }
  return text;
}

}  // namespace rubato::core
