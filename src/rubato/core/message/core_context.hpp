#pragma once
// CoreContext: one core of a job: its tasks, its messages to other cores, its scopes.
//
//   here.post(owner, AddEdge{from, to});             a record (record.hpp)
//   here.send<&add_edge>(owner, from, to);           a function and its arguments
//   here.spawn([=] { ... });                         a task of this core
//   here.finish([&] { ... });                        waits for all that was started in it, everywhere
//
// Messages gather in a block for each core that is sent to, as runs of records of one kind [Grappa
// 3.3, message aggregation, whose messages are linked lists of closures instead]. A block leaves
// when it is full, at the end of the slice after its own, or when this core has nothing else to do.
// To a core of the same node it goes through a ring, in place. To another node it goes into a
// buffer for that node, which leaves when it is full, with the slice in which its deadline passes,
// or when the core idles; there, one core brings its parts to their cores through its own rings.
// Messages of a pair of cores are applied in their order, those of one task or apply() at least.
//
// Bounds: to each core of the node `window_blocks` blocks may be under way, to each other node
// `window_bytes` until they have been applied. A task that posts beyond that waits; what apply()
// posts is always taken, since its number is bounded by the asking side. Who waits gets room in line,
// at the latest when all that was sent before its turn has been applied; others add to what is open.
//
// Used by its own core alone; MessageEngine drives it: turn() and what follows in the list.

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rubato/base/time.hpp"
#include "rubato/core/job_shape.hpp"
#include "rubato/core/message/block.hpp"
#include "rubato/core/message/combiner.hpp"
#include "rubato/core/message/counters.hpp"
#include "rubato/core/message/finish_table.hpp"
#include "rubato/core/message/frame_pool.hpp"
#include "rubato/core/message/lifelines.hpp"
#include "rubato/core/message/local_slot.hpp"
#include "rubato/core/message/message_options.hpp"
#include "rubato/core/message/multicast.hpp"
#include "rubato/core/message/native_pool.hpp"
#include "rubato/core/message/outbox.hpp"
#include "rubato/core/message/record.hpp"
#include "rubato/core/message/runner_levels.hpp"
#include "rubato/core/message/stackless.hpp"
#include "rubato/core/message/task_pool.hpp"
#include "rubato/core/task/scheduler.hpp"
#include "rubato/core/task/sync.hpp"

namespace rubato::core {

class MessageEngine;

class CoreContext {
 public:
  CoreContext(const CoreContext&) = delete;
  CoreContext& operator=(const CoreContext&) = delete;
  ~CoreContext();

  // The core that the caller runs on. REQUIRES: called by a task or by apply().
  [[nodiscard]] static CoreContext& here() noexcept {
    if (here_ == nullptr) [[unlikely]]
      return come_home();
    return *here_;
  }

  [[nodiscard]] CoreId core() const noexcept { return core_; }
  [[nodiscard]] const JobShape& shape() const noexcept { return shape_; }
  [[nodiscard]] Scheduler& tasks() noexcept { return tasks_; }
  [[nodiscard]] CoreCounters counters() const noexcept;

  // The core's own object of type T. REQUIRES: set_local<T>() was called.
  template <class T>
  [[nodiscard]] T& local() {
    std::shared_ptr<void>& place = locals_.at(detail::LocalSlot<T>::kIndex);
    RUBATO_REQUIRE(place != nullptr, typeid(T).name(), core_);
    return *static_cast<T*>(place.get());
  }
  // `object` outlives the engine.
  template <class T>
  void set_local(T& object) {
    locals_.at(detail::LocalSlot<T>::kIndex) = std::shared_ptr<void>(&object, [](void*) {});
  }
  // The same, made when it is asked for first.
  template <class T>
  [[nodiscard]] T& local_or_make() {
    const std::size_t slot = detail::LocalSlot<T>::kIndex;
    if (locals_.at(slot) == nullptr) [[unlikely]] {
      // Its constructor may ask for others, so that the places move.
      std::shared_ptr<T> made = std::make_shared<T>();
      locals_.at(slot) = std::move(made);
    }
    return *static_cast<T*>(locals_.at(slot).get());
  }
  // The node's own, which its cores share and which locks itself; made when the first of them asks.
  template <class T>
  [[nodiscard]] T& of_node() {
    const auto make = [] { return std::shared_ptr<void>(std::make_shared<T>()); };
    return *static_cast<T*>(of_node_or_make(detail::LocalSlot<T>::kIndex, make));
  }

  // --- messages

  // Queues the record for core `to`. A task waits here if too much is on its way.
  template <Record R>
  [[gnu::always_inline]] void post(CoreId to, const R& record) {
    static_assert(!detail::HasPayload<R>, "this record takes a payload: post(to, record, payload)");
    constexpr std::size_t kStride = detail::Registered<R>::kStride;
    detail::Outbox& box = outbox(to);
    std::byte* at = box.end;
    if (box.handler != detail::Registered<R>::kId || box.finish != scope() ||
        static_cast<std::size_t>(box.limit - at) < kStride) [[unlikely]] {
      at = begin_record(box, detail::Registered<R>::kId, kStride);
    }
    detail::put_record(at, record, streams_);
    box.end = at + kStride;
  }
  template <Record R>
  void post(CoreId to, const R& record, ByteView payload) {
    static_assert(detail::HasPayload<R>, "this record takes no payload");
    post_payload(outbox(to), detail::Registered<R>::kId,
                 {reinterpret_cast<const std::byte*>(&record), sizeof record}, payload);
  }
  // Queues a call of F on core `to`, like post().
  template <auto F, class... A>
  void send(CoreId to, const A&... arguments) {
    using Sig = detail::Signature<decltype(F)>;
    static_assert(sizeof...(A) == Sig::kArguments,
                  "this handler takes another number of arguments");
    send_all<F, typename Sig::Arguments>(to, std::make_index_sequence<Sig::kPlain>{},
                                         std::forward_as_tuple(arguments...));
  }

  // The record on each of the cores [first, last), this one or not: handed on from core to core, in
  // as many steps as their number has digits to the base 8; no core sends it more than 7 times each.
  template <Record R>
  void multicast(CoreId first, CoreId last, const R& record) {
    if (first < last) post(first, detail::MulticastRecord<R>{first, last, record});
  }
  template <Record R>
  void multicast(CoreId first, CoreId last, const R& record, ByteView payload) {
    if (first < last) post(first, detail::MulticastRecord<R>{first, last, record}, payload);
  }

  // What was posted to core `to` leaves after this apply(), or with the caller's turn, old or not.
  void hurry(CoreId to) { hurried_.push_back(to); }

  // --- scopes and tasks

  // Runs f, and waits until all that was started in it has ended, on all cores: tasks, messages,
  // and what those started. Called by a task. If f throws, waits and throws on.
  template <class F>
  void finish(F&& f) {
    const FinishScope inside(*this);
    std::forward<F>(f)();
    // The scope's end waits.
  }
  // A task of this core, in the scope of the caller. Called by tasks and by apply().
  template <class F>
  void spawn(F&& f, TaskOptions options = {}, SourcePlace at = SourcePlace::here()) {
    const FinishId finish = scope();
    if (finish != 0) finishes_.add(finish, 1);
    tasks_.spawn(
        [this, finish, call = std::remove_cvref_t<F>(std::forward<F>(f))]() mutable {
          const TaskScope inside(*this, finish);
          call();
        },
        options, at);
  }
  // A task that any core of the job may run, in the scope of the caller; the newest of a core
  // first.
  template <PooledTask R>
  void spawn_pooled(const R& record) {
    push_pooled(pool_, record);
  }
  // The same, but this core runs it.
  template <PooledTask R>
  void spawn_bound(const R& record) {
    push_pooled(bound_, record);
  }
  // The same of a record that was sent here: before all others, and while tasks wait for room.
  template <PooledTask R>
  void spawn_sent(const R& record) {
    push_pooled(sent_, record);
  }
  // A task that another node has given away enters the pool of this core. Called by apply() of the
  // record that brought it (PooledTask::send).
  template <PooledTask R>
  void take_given(const R& record) {
    push_pooled(pool_, record);
    --n_came_;
    lifelines_.note_given(source_);
  }
  // The scope of whoever runs.
  [[nodiscard]] FinishId scope() const noexcept {
    const Worker* task = tasks_.running_or_null();
    return task != nullptr ? task->scope : applied_scope_;
  }
  // Something else that runs in a scope on this core, and is to be waited for: begins and ends.
  void begin_in_scope(FinishId finish) {
    if (finish != 0) finishes_.add(finish, 1);
  }
  void end_in_scope(FinishId finish) {
    if (finish != 0) finishes_.end(finish, 1);
  }
  // A task of this core, of which nothing else is open, belongs to another scope from now on. It may
  // be one that nothing is open of on this core; then that does not end before a message in it has
  // come here, and what that finds open has ended.
  void move_to_scope(Worker& task, FinishId to);
  // Something that is open in a scope on another core of the node goes on here: it will end here.
  void take_over(FinishId finish, CoreId from, std::uint64_t n = 1);
  // What whoever runs does meanwhile belongs to another scope.
  class RunningScope {
   public:
    RunningScope(CoreContext& core, FinishId finish) noexcept
        : scope_(core.tasks_.running_or_null() != nullptr ? core.tasks_.running().scope
                                                          : core.applied_scope_),
          outer_(std::exchange(scope_, finish)) {}
    RunningScope(const RunningScope&) = delete;
    RunningScope& operator=(const RunningScope&) = delete;
    ~RunningScope() { scope_ = outer_; }

   private:
    FinishId& scope_;
    FinishId outer_;
  };
  // A task that was spawned in a scope; it ends in the one that it is in then.
  class TaskScope {
   public:
    TaskScope(CoreContext& core, FinishId finish) noexcept : core_(core) {
      core.tasks_.running().scope = finish;
    }
    TaskScope(const TaskScope&) = delete;
    TaskScope& operator=(const TaskScope&) = delete;
    ~TaskScope() { core_.end_in_scope(std::exchange(core_.tasks_.running().scope, 0)); }

   private:
    CoreContext& core_;
  };
  // While a task runs a delegate in place: as if it were applied, so that it does not wait.
  struct InPlace : Scheduler::MustNotWait {
    explicit InPlace(CoreContext& core) noexcept : MustNotWait(core.tasks_) {}
  };
  // Before a task runs a delegate in place, of which it may run any number one after the other: each
  // posts without waiting, so what was posted too much is made up for now.
  void ready_for_delegate() {
    if (owes_way_) [[unlikely]]
      give_way();
  }
  // What runs is `applied`, for people.
  const detail::Handler* swap_applied(const detail::Handler* applied) noexcept {
    return applied_.swap(applied);
  }
  // f() on a thread beside the cores, for what takes long and cannot be cut: a call of a library,
  // of the system. The task waits, its core goes on; returns what f returned, throws what it threw.
  // f must not use the runtime. With no such threads, as simulate() has it, it runs at once. At
  // most MessageOptions::n_native_threads run at the same time on a node, and one more that is brief.
  template <class F>
  auto run_native(F&& f, NativeTurn turn = {}, SourcePlace at = SourcePlace::here())
      -> std::invoke_result_t<F&> {
    if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
      do_native(std::ref(f), turn, at);
    } else {
      std::optional<std::invoke_result_t<F&>> result;
      do_native([&] { result.emplace(f()); }, turn, at);
      return std::move(*result);
    }
  }
  // f is called if the run fails or is told to end, before native work is waited for: it ends what
  // would not end by itself. f, and what it uses, live as long as the run.
  void on_native_close(std::function<void()> f) { native_.on_close(std::move(f)); }
  [[nodiscard]] std::uint32_t n_native_threads() const noexcept {
    return options_.n_native_threads;
  }
  // So many run at the same time beside these, from now on. By any core of the node.
  void allow_native(std::uint32_t n_more) { native_.allow(n_more); }
  // f says what waits here beside tasks, for the text of a deadlock; "" if nothing does.
  void explain_waiting(std::function<std::string()> f) { reasons_.push_back(std::move(f)); }
  // Tasks of this core that have not begun; and those that cores of the node may take, or that other
  // cores have got and did not say so yet.
  [[nodiscard]] std::size_t n_pooled() const noexcept {
    return pool_.size() + bound_.size() + sent_.size();
  }
  // Of those that have not begun: other nodes may get them.
  [[nodiscard]] std::size_t n_movable() const noexcept { return pool_.size(); }
  [[nodiscard]] std::size_t n_lent() const noexcept { return pool_.n_lent(); }
  [[nodiscard]] detail::FramePool& frames() noexcept { return frames_; }  // of coroutines
  [[nodiscard]] detail::StacklessTasks& stackless() noexcept { return stackless_; }  // coroutines
  // Work that is held back while anything else goes on (combiner.hpp).
  void let_go_when_quiet(HeldBack held) { held_back_.push_back(std::move(held)); }
  // `combiner`, which outlives the run, holds something: it will be told to send it. While it does,
  // what it holds is open in a scope (begin_in_scope).
  void hold_back(Combiner& combiner);
  void note_combined() noexcept { ++counters_.n_combined; }
  void yield() { tasks_.yield_to_driver(); }  // the core looks for messages, too
  // A task of this core and of no scope, when that time has passed since this call.
  void spawn_after(Nanos delay, std::function<void()> f) {
    tasks_.spawn_at(clock() + delay, std::move(f), {"after a time"});
  }

  // What offsets in global addresses count from (global/pointer.hpp). Set before the run.
  [[nodiscard]] std::byte* memory() const noexcept { return memory_; }
  void set_memory(std::byte* memory) noexcept { memory_ = memory; }
  // Of what apply() applies: the core that posted it.
  [[nodiscard]] CoreId source() const noexcept { return source_; }
  // Before the running code waits, at `at`: a task, and not what apply() calls.
  void check_may_block(const SourcePlace& at = {}) const {
    if (!may_wait()) [[unlikely]]
      refuse_to_wait(at);
  }
  [[nodiscard]] bool may_wait() const noexcept {
    return !tasks_.must_not_wait() && tasks_.running_or_null() != nullptr;
  }

  // Ends the job: whoever runs has touched memory of core `of`, at `at`.
  void refuse_memory_of(CoreId of, const SourcePlace& at) const;

  // The time, for figures, for what is due and for who runs what: of the host's clock; in virtual
  // time, when this turn began, and what it has been charged with so far. From native work, too.
  [[nodiscard]] Nanos clock() const noexcept {
    if (options_.clock != nullptr) return options_.clock();
    return turn_began_ + charged_ +
           options_.turn_cost * static_cast<Nanos>(tasks_.n_turns() - n_turns_before_);
  }
  // When this turn began, by the host's clock, and how often there was nothing to do: for decisions.
  [[nodiscard]] Nanos now() const noexcept { return now_; }
  [[nodiscard]] std::uint64_t n_idle() const noexcept { return lifelines_.pace.n_idle(); }
  [[nodiscard]] Nanos ask_ahead_most() const noexcept { return options_.ask_ahead; }
  // Adds to what the work of this core costs in virtual time; nothing on real cores.
  void charge(Nanos cost) noexcept { charged_ += cost; }
  [[nodiscard]] bool is_applying() const noexcept { return tasks_.must_not_wait(); }

 private:
  friend class Beside;
  friend class MessageEngine;
  friend class NativeCall;
  friend struct FinishDone;
  friend struct Beg;
  friend struct Took;
  friend struct Gave;
  friend struct TasksExist;

  // Opens a scope of the running task, and waits for its end.
  class FinishScope {
   public:
    explicit FinishScope(CoreContext& core);
    FinishScope(const FinishScope&) = delete;
    FinishScope& operator=(const FinishScope&) = delete;
    ~FinishScope();

   private:
    CoreContext& core_;
    FinishId outer_;
  };
  class HereScope;  // core_context.cpp
  using Incoming = detail::Incoming;
  using Lane = detail::Lane;
  using Way = detail::Way;
  using RunnerSlot = detail::RunnerLevels::Slot;
  class WantsRoom;  // core_context_send.cpp

  // A pooled task of type R: how it runs, and how it travels.
  template <PooledTask R>
  struct Pooled {
    struct Moved {
      R record;
      void apply(CoreContext& here) const { here.take_given(record); }
    };
    static void run(CoreContext& here, const std::byte* at) {
      const R record = *std::launder(reinterpret_cast<const R*>(at));
      here.pool_of_next_->pop();
      record.run(here);
    }
    static void send(CoreContext& here, CoreId to, const std::byte* at, std::size_t n) {
      for (std::size_t i = 0; i < n; ++i, at += kKind.stride) {
        const R& record = *std::launder(reinterpret_cast<const R*>(at));
        if constexpr (detail::SendsItself<R>) {
          record.send(here, to);
        } else {
          here.post(to, Moved{record});
        }
      }
    }
    static constexpr detail::PooledKind kKind{&run, &send, detail::round_up_8(sizeof(R)),
                                              detail::MakesMore<R>};
    static_assert(kKind.stride <= kPooledBytesMost && kPooledBytesMost <= detail::TaskChunk::kBytes,
                  "a pooled task is at most 512 bytes: let it own its data by a global address");
  };
  template <PooledTask R>
  void push_pooled(detail::TaskPool& pool, const R& record) {
    const FinishId finish = scope();
    if (finish != 0) finishes_.add(finish, 1);
    std::byte* at = nullptr;
    const bool is_new = pool.begin_push(Pooled<R>::kKind, finish, at);
    ::new (static_cast<void*>(at)) R(record);
    ++counters_.n_pooled;
    n_came_ += tasks_.running_or_null() == nullptr ? 1U : 0U;
    if (is_new || hunger_.n_hungry.load(std::memory_order_relaxed) != 0 || pool_.is_offering())
      pushed(is_new);
  }

  static constexpr std::size_t kCached = 64;      // outboxes that are found at once
  static constexpr std::uint64_t kTurnUnits = 4;  // of budget: a turn counts as so many records

  // --- of MessageEngine
  // `siblings` are the cores of this node, [n_cores], complete before the first turn.
  CoreContext(CoreId core, const JobShape& shape, const MessageOptions& options,
              const std::vector<std::unique_ptr<CoreContext>>& siblings, detail::NodeHunger& hunger,
              detail::NativePool& native, detail::NodeObjects& objects);
  void turn();
  // What tasks have done so far, in units of the budget: records and pooled tasks.
  [[nodiscard]] std::uint64_t n_units_of_tasks() const noexcept;
  [[nodiscard]] std::uint64_t n_units_in_slice() const noexcept;
  void note_queues() noexcept;
  [[nodiscard]] bool has_work() const noexcept;
  [[nodiscard]] bool has_own_work() const noexcept;
  [[nodiscard]] bool is_quiet() const noexcept;
  void take_parcel(CoreId from, Bytes bytes);
  void hear_room(NodeId node, std::uint64_t n_bytes);
  void close_blocks_to_nodes();

  template <auto F, class P, std::size_t... I, class T>
  void send_all(CoreId to, std::index_sequence<I...> /*plain*/, const T& arguments) {
    static_assert(
        (std::is_convertible_v<std::tuple_element_t<I, T>, std::tuple_element_t<I, P>> && ...),
        "an argument does not convert to what the handler takes");
    const auto record = detail::CallRecord<F>::of(
        static_cast<std::tuple_element_t<I, P>>(std::get<I>(arguments))...);
    if constexpr (detail::Signature<decltype(F)>::has_payload()) {
      post(to, record, ByteView(std::get<sizeof...(I)>(arguments)));
    } else {
      post(to, record);
    }
  }

  [[nodiscard, gnu::always_inline]] detail::Outbox& outbox(CoreId to) {
    detail::Outbox& box = *cached_[to % kCached];
    if (box.to == to) [[likely]]
      return box;
    return find_outbox(to);
  }
  [[nodiscard]] detail::Outbox& find_outbox(CoreId to);
  // Where the next record goes; a run of its kind is open.
  [[nodiscard]] std::byte* begin_record(detail::Outbox& box, HandlerId handler, std::size_t stride);
  void post_payload(detail::Outbox& box, HandlerId handler, ByteView record, ByteView payload);
  void post_large(detail::Outbox& box, HandlerId handler, ByteView record, ByteView payload);
  void make_room(detail::Outbox& box, std::size_t n_bytes);
  // A task runs a delegate in place: what that posts does not wait.
  [[nodiscard]] bool is_in_place() const noexcept {
    return is_applying() && tasks_.running_or_null() != nullptr;
  }
  void give_way();
  [[nodiscard]] bool has_room(const detail::Outbox& box) const;
  void open_run(detail::Outbox& box, HandlerId handler, std::size_t stride, FinishId finish);
  void close_run(detail::Outbox& box);
  void count_run(detail::Outbox& box);
  void open_block(detail::Outbox& box, std::size_t n_bytes);
  void close_block(detail::Outbox& box);
  void hand_over(detail::Outbox& box, std::unique_ptr<detail::Block> block);
  void send_lane(NodeId node, Lane& lane);
  void send_hurried();
  void append_part(detail::Outbox& box, std::initializer_list<ByteView> parts);
  void push(std::uint32_t local, const detail::BlockRing::Entry& entry);
  void push_backlog();
  void reclaim();
  void forward_parcels();
  void wake_for_room();
  [[nodiscard]] std::uint64_t apply_incoming(std::uint64_t budget);
  [[nodiscard]] std::uint64_t apply_beside_long_tasks();
  [[nodiscard]] bool apply_pending(std::uint32_t first, std::uint32_t last, std::uint64_t budget,
                                   std::uint64_t& n_applied);
  [[nodiscard]] bool apply_from(std::uint32_t local, std::uint64_t budget,
                                std::uint64_t& n_applied);
  [[nodiscard]] std::uint64_t apply_some(Incoming& in, const detail::BlockRing::Entry& entry,
                                         std::uint64_t budget);
  void open_incoming_run(Incoming& in, const detail::BlockRing::Entry& entry);
  [[nodiscard]] void* of_node_or_make(std::size_t slot, std::shared_ptr<void> (*make)());
  // Of a task that has left its core (beside.hpp), which comes back. Ends the job if there is none.
  static CoreContext& come_home() noexcept;
  void do_native(std::function<void()> call, NativeTurn turn, const SourcePlace& at);
  void send_beside();
  void begin_native(detail::NativeWork& work);
  // Until it has ended, or is due.
  void wait_for_native(detail::NativeWork& work);
  void time_native(detail::NativeWork& work, Nanos patience);
  void set_native_times();
  [[nodiscard]] bool has_native_news() const noexcept;
  void wake_native();
  void settle_scopes();
  bool flush_combiners();
  void count_open_runs();
  bool close_blocks(bool old_ones_only);
  void wait_for_scope(FinishId finish);
  void pushed(bool is_new);
  void queue_runner();
  [[nodiscard]] bool can_run_pooled(std::uint32_t level) const noexcept;
  [[nodiscard]] RunnerSlot slot_for(const detail::TaskPool& pool) const noexcept;
  void run_batch(RunnerSlot& slot);
  [[nodiscard]] detail::TaskPool* next_pool(const RunnerSlot* held) noexcept;
  // "; 3 tasks of core 1 wait for ..", or "" if none waits for a stack. For people.
  [[nodiscard]] std::string without_stack() const;
  [[nodiscard]] std::string who_runs() const;
  void refuse_to_wait(SourcePlace at) const;
  void run_pooled();
  void run_next(detail::TaskPool& pool);
  [[nodiscard]] bool share();
  void give_to(std::vector<Lifelines::Question>& who);
  void spread_that_tasks_exist();
  bool find_tasks();
  bool take_back_shared();
  void beg();
  void ask_ahead();
  void ask(Lifelines::Asked how);
  void set_hungry(bool is_hungry) noexcept;

  [[gnu::tls_model("initial-exec")]]                                  // beside.hpp
  inline static thread_local constinit CoreContext* here_ = nullptr;  // NOLINT: private
  CoreId core_;
  JobShape shape_;
  const MessageOptions& options_;
  const bool streams_;  // records are written past the caches
  const std::vector<std::unique_ptr<CoreContext>>& siblings_;
  detail::FramePool frames_;  // outlives the tasks, which may hold coroutines
  detail::StacklessTasks stackless_;
  Scheduler tasks_;
  detail::FinishTable finishes_;
  std::byte* memory_ = nullptr;
  FinishId applied_scope_ = 0;
  CoreId source_ = 0;
  bool owes_way_ = false;  // delegates in place have posted or spawned much
  detail::AppliedHandler applied_;
  Nanos now_ = 0;
  std::uint64_t budget_ = 32;  // of a slice, learnt
  Nanos charged_ = 0;
  Nanos turn_began_ = 0;
  std::uint64_t n_turns_before_ = 0;  // of tasks, when it began
  std::uint64_t n_applied_in_slice_ = 0;
  std::uint64_t n_turns_in_slice_ = 0;
  std::uint64_t n_units_before_slice_ = 0;
  std::uint32_t apply_first_ = 0;  // the core whose messages are applied first
  CoreCounters counters_;
  detail::LocalObjects locals_;
  detail::NodeObjects& of_node_;
  std::vector<Combiner*> combiners_;                   // that hold something
  Nanos held_since_ = 0;                               // the first of them
  bool has_to_flush_ = false;                          // a task waits
  std::vector<std::function<std::string()>> reasons_;  // of what waits
  std::vector<HeldBack> held_back_;

  // Out.
  detail::Outbox* cached_[kCached];
  std::unordered_map<CoreId, std::unique_ptr<detail::Outbox>> outboxes_;
  std::vector<detail::Outbox*> open_;  // with a block
  std::vector<std::unique_ptr<detail::Block>> spare_;
  std::map<NodeId, Lane> lanes_;
  std::vector<std::pair<NodeId, Bytes>> full_;  // buffers that wait for the end of the slice
  std::vector<CoreId> hurried_;                 // what is for them waits for it, too
  std::vector<Way> ways_;                       // [n_cores]
  std::uint64_t n_backlog_ = 0;
  std::uint64_t n_waiters_ = 0;  // tasks that wait for room
  std::vector<detail::Outbox*> waited_for_;
  detail::RoomTurns room_turns_;
  std::vector<detail::Outbox*> posted_in_place_;  // to whom since some task gave way
  std::atomic<bool> returned_{false};             // another core is done with an entry of ours
  Nanos flush_at_ = kNever;                       // the deadline of the lanes

  // Pooled tasks, which runners run, one after the other; one that waits lets another one begin.
  detail::NodeHunger& hunger_;
  detail::NativePool& native_;
  detail::CoreNative natives_;  // works that run beside this core
  detail::TaskPool pool_;
  detail::TaskPool bound_;
  detail::TaskPool sent_;
  detail::TaskPool* pool_of_next_ = nullptr;
  std::uint32_t n_runners_ = 0;
  detail::RunnerLevels levels_;     // of those that are in a pooled task
  bool has_queued_runner_ = false;  // which has not begun
  bool is_hungry_ = false;
  bool knows_of_tasks_ = false;  // there are pooled tasks in this run
  Lifelines lifelines_;
  std::uint64_t n_came_ = 0;  // pooled tasks that messages have made, but for those given away

  // In.
  std::vector<Incoming> incoming_;                              // [n_cores]
  std::vector<std::atomic<std::uint64_t>> signals_;             // a bit a core that has pushed
  std::vector<std::uint64_t> pending_;                          // those that have been seen
  std::deque<std::unique_ptr<detail::Parcel>> parcels_;         // to be brought to their cores
  std::deque<std::unique_ptr<detail::Parcel>> parcels_on_way_;  // some of their parts are in rings
  std::vector<detail::FinishTable::Acknowledgement> due_;
  std::vector<std::pair<CoreId, std::uint64_t>> applied_from_;  // bytes of parcels, unanswered
};

}  // namespace rubato::core
