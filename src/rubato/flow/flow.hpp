#pragma once
// Flow: the part of a dataflow program that one core holds: data, rules that wait for them, shards
// of containers, and what failed [Turbine 5, 6.2].
//
// A datum lives on the core that made it, which its id names. Its writers set it or give their
// right back; when the last right is back, a container is closed, a count of tasks is done, and a
// scalar that nobody has set has failed. Who set it closes it, and what waits there goes on. It is
// freed when it is closed and nobody may read it any more.
//
// A task that throws fails: what it was to set becomes a failure with its reason, and tasks that
// need that are not run. All else goes on.
//
// Used by the core alone: by tasks, and by what messages apply. Users meet handles (handles.hpp) and
// async (async.hpp); this is what both, and interpreters of programs, stand on.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "rubato/flow/data_names.hpp"
#include "rubato/flow/homeward.hpp"
#include "rubato/flow/journal/journal.hpp"
#include "rubato/flow/observe/core_watch.hpp"
#include "rubato/flow/pool/team_pool.hpp"
#include "rubato/flow/pool/throttle.hpp"
#include "rubato/flow/pool/typed_pool.hpp"
#include "rubato/flow/rule/ready_queue.hpp"
#include "rubato/flow/rule/rule.hpp"
#include "rubato/flow/store/container.hpp"
#include "rubato/flow/store/datum.hpp"
#include "rubato/flow/store/held_places.hpp"

namespace rubato::flow {

class Flow;
class JournalLock;

// Of a core, for whoever looks at it behind a run.
struct FlowPlace {
  Flow* flow = nullptr;  // null: it had none
};

// What came of a core's part of a run, or of all.
struct FlowCounters {
  std::uint64_t n_run = 0;      // rules that ran, failed ones included
  std::uint64_t n_steps = 0;    // of them: no tasks to people (TaskPart)
  std::uint64_t n_failed = 0;   // that threw
  std::uint64_t n_skipped = 0;  // rules that did not run, since an input had failed
  // Of those, the first that needed what nobody has set: failures of the run, as n_failed are.
  std::uint64_t n_never_set = 0;
  std::uint64_t n_steps_skipped = 0;  // of the others: no tasks to people
  std::uint64_t n_data = 0;           // data that were made, containers included
  std::uint64_t n_freed = 0;
  std::uint64_t n_unset = 0;  // that nobody has set, and that nobody needed

  void add(const FlowCounters& other) noexcept;
};

// What is left where nothing goes on any more.
struct Leftovers {
  std::vector<std::string> texts;  // in sentences: the first rules, and what pools keep
  std::uint64_t n = 0;             // all of which there are
  std::uint64_t n_rules = 0;       // of them, that wait for data; they were never run
  std::uint64_t n_data = 0;        // for so many, members included
};

// How a loop's bodies are cut into tasks.
inline constexpr std::uint32_t kPairsATask = 64;

// A member, as it travels in the closure of a loop's task.
struct WordPair {
  std::int64_t key;
  std::uint64_t bits;
  Kind kind;
  [[nodiscard]] Value value() const noexcept { return Value::word(kind, bits); }
};

struct AttachLoop;

class Flow final : public core::Combiner {
 public:
  Flow();
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;
  ~Flow() override;

  // That of the core that the caller runs on.
  [[nodiscard]] static Flow& here() { return CoreContext::here().local_or_make<Flow>(); }
  [[nodiscard]] CoreContext& core() noexcept { return here_; }

  // --- data

  // A new scalar of this core, to be set once by whoever has its writer; reader and writer have the
  // whole weight.
  [[nodiscard]] DataId create(Kind kind, PortablePlace at) {
    return create(kind, Closing::set, at);
  }
  // A new void datum that is closed when all of its writers have given their right back; cores of
  // the whole job, if it is spread.
  [[nodiscard]] DataId create_count(bool is_spread, PortablePlace at) {
    const DataId id = create(Kind::unit, Closing::counted, at);
    return is_spread ? id.of_spread() : id;
  }
  // A new container of this core. Its members are spread over all cores, or all here. With fields, what
  // is missing in it, or in those that are made in it, is told by the names that people have for it.
  [[nodiscard]] DataId create_container(Kind kind, bool is_spread, PortablePlace at,
                                        bool has_fields = false);
  // Sets a scalar and gives the right back. One that is set already is a failure of the run.
  void set(Ref writer, Value value, PortablePlace at);
  // Gives back the right to write; with a failure, what is closed by it has failed.
  void give_back_writer(Ref writer, const Value* failure = nullptr,
                        FailedPart part = FailedPart::any_member);
  void give_back_reader(Ref reader);
  // A part of a reference, for another holder. May wait, if the weight is used up: called by tasks.
  [[nodiscard]] Ref share(Ref& ref, bool is_writer);

  // --- containers

  // Adds a member; `writer`, which stays with the caller, pays for the way. May wait for room.
  void insert(Ref& writer, const Value& key, Value value, PortablePlace at);
  // The same of numbers or truth values of that kind, of keys of one part from `first` on (kMembersAPart).
  void insert_words(Ref& writer, std::int64_t first, Kind kind,
                    std::span<const std::uint64_t> words, PortablePlace at);
  // The same of a member of a member, and so on; containers on the way are made where there are
  // none yet, and closed with the one that they are in. REQUIRES: keys is not empty.
  void insert_at(Ref& writer, Keys keys, Value value, PortablePlace at);
  // The container under these keys is there from now on, if it was not yet. REQUIRES: the same.
  void make_inner(Ref& writer, Keys keys, PortablePlace at);
  // The member under these keys is there as a failure: who needs it fails, and who reads a container
  // that it is in as a whole; other members are as they were. REQUIRES: the same.
  void fail_member(Ref& writer, Keys keys, const Value& failure, PortablePlace at);
  // Any member of the container under these keys may be missing. REQUIRES: the same.
  void fail_inner(Ref& writer, Keys keys, const Value& failure, PortablePlace at);
  // The members that come from `at` are all that the container will have, or the container at those
  // keys: nobody else sets it, or a member of it. Before them.
  void assign_whole(Ref& writer, Keys keys, PortablePlace at);
  // All members that are there, in the order of their keys; the caller owns references among them.
  // Waits. REQUIRES: the caller may read the container until then.
  [[nodiscard]] std::vector<std::pair<Value, Value>> all_members(const Ref& container);
  // Whether there is a member of that key; its value does not travel. Waits, if it is of another
  // core. REQUIRES: the caller may read the container until then.
  [[nodiscard]] bool has_member(const Ref& container, const Value& key);
  // How many members it has. Waits, if its home is another core. REQUIRES: the caller may read the
  // container until then, and it is closed.
  [[nodiscard]] std::uint64_t n_members(const Ref& container);
  // Runs copies of `body` on members as they come, kPairsATask at most at a time: their keys and
  // values are in its closure, or behind its arguments (LoopPairs). REQUIRES: a container's reader
  // is its argument 0.
  void attach_loop(std::unique_ptr<Rule> body);
  // Makes the weight of a reference enough for some million copies. May wait.
  void make_wide(Ref& ref, bool is_writer, std::uint64_t least = kWideLeast);

  // --- rules

  // Starts a rule: it waits, moves and runs. May wait for room to send, and where rules like it are
  // queued until fewer are (pool/throttle.hpp).
  void submit(std::unique_ptr<Rule> rule) {
    note_made(*rule);
    throttle_.mark(*rule);
    const RuleOptions& how = rule->options;
    if (how.core != kAnyCore || how.type || how.needs_several()) [[unlikely]]
      return submit_queued(std::move(rule));
    advance(std::move(rule));
    throttle_.note_ready();
  }
  // One more task that will run; or one more rule.
  void note_made() noexcept {
    if (watch_ != nullptr) [[unlikely]]
      watch_->note_made();
  }
  void note_made(const Rule& rule) noexcept {
    if (watch_ != nullptr) [[unlikely]]
      watch_->note_made(rule);
  }
  // f() on a thread beside the cores, and its time for those who watch: CoreContext::run_native(). What
  // people are told of it is the task's place, which is theirs.
  template <class F>
  auto run_native(F&& f, core::NativeTurn turn = {}) -> std::invoke_result_t<F&> {
    if (watch_ == nullptr) return here_.run_native(f, turn, {});
    CoreWatch::Native native(*watch_);
    const auto timed = [&]() -> std::invoke_result_t<F&> {
      const CoreWatch::Native::Timed span(native);
      return f();
    };
    return here_.run_native(timed, turn, {});
  }
  // The same, and here and now if the caller must not wait.
  template <class F>
  auto run_beside(F&& f, core::NativeTurn turn) -> std::invoke_result_t<F&> {
    return here_.may_wait() ? run_native(f, turn) : f();
  }
  // Null if nobody wants to see what this core does.
  [[nodiscard]] CoreWatch* watch() noexcept { return watch_; }
  // Whether runs of that action were seen to make tasks, here: they begin behind those that do not.
  [[nodiscard]] bool makes_more(ActionId action) const noexcept {
    return action < makes_more_.size() && makes_more_[action];
  }
  [[nodiscard]] bool is_maker(const Rule& rule) const;
  // A task that is no run of a rule of its own begins (Action::counts_itself).
  void note_run() noexcept { ++counters_.n_run; }
  // Another rule with the same arguments, which shares the references; it has all its inputs.
  [[nodiscard]] std::unique_ptr<Rule> copy_rule(Rule& rule, std::uint32_t n_args_more = 0);
  // The same, and each has half of the weight, for what is cut in halves again and again.
  [[nodiscard]] std::unique_ptr<Rule> halve_rule(Rule& rule) { return part_of_rule(rule, 1, 2); }
  // The same, and it has n_part of n_all equal parts of the weight.
  [[nodiscard]] std::unique_ptr<Rule> part_of_rule(Rule& rule, std::uint64_t n_part,
                                                   std::uint64_t n_all);
  // The references that the rule still has; with a failure, what it was to write has failed.
  void give_back(Rule& rule, const Value* failure);
  // Why `rule` does not run, since that argument of it is `failure`. That something was never set is
  // said here, once: what is passed on is a failure like any other.
  [[nodiscard]] Value told(const Rule& rule, std::size_t argument, const Value& failure);
  // One more that does not run, since an input had failed; of an interpreter, or of people.
  void note_skipped(bool is_step) noexcept {
    ++counters_.n_skipped;
    if (is_step) ++counters_.n_steps_skipped;
  }
  // Says that a task failed, for the table at the end.
  void note_failure(std::string what);
  // The same, of one iteration of a loop.
  void note_failed_body(std::string what) {
    ++counters_.n_failed;
    if (watch_ != nullptr) watch_->note_failed();
    note_failure(std::move(what));
  }

  // --- of the run

  [[nodiscard]] const FlowCounters& counters() const noexcept { return counters_; }
  // The first of them, in sentences; and how many there were.
  [[nodiscard]] const std::vector<std::string>& failures() const noexcept { return failures_; }
  [[nodiscard]] std::uint64_t n_failures() const noexcept { return n_failures_; }
  // What waits though nothing goes on any more: each rule by itself, at most `n_most` of them.
  [[nodiscard]] Leftovers leftovers(std::size_t n_most) const;
  // Forgets all of the last run.
  void begin_again();
  // The same of one that could not begin everywhere.
  void cancel_run();
  [[nodiscard]] std::uint64_t n_data_held() const noexcept { return data_.n_held(); }
  // The same, by the places that made them.
  [[nodiscard]] HeldPlaces held() const;
  // Of what nobody has set, and nobody needed.
  [[nodiscard]] const HeldPlaces& unset() const noexcept { return unset_; }

  // The right to use a file, which goes when all parts of it have been given back (give_back_writer()),
  // whether the file is there or not.
  [[nodiscard]] Ref lease_file(const std::string& path, PortablePlace at);
  // For the name of a file that has none: nobody else's in this job, not of a later run either.
  [[nodiscard]] std::string new_file_name() {
    return std::to_string(here_.core()) + "-" + std::to_string(n_file_names_++);
  }
  // Of this node; null if the run has none.
  [[nodiscard]] Journal* journal() const noexcept { return journal_; }
  void set_journal(Journal* journal) noexcept { journal_ = journal; }
  // By the core that runs the flow: no other process writes that journal until it leaves it. With the
  // number of the run; throws Error as JournalLock does. Suspends the calling task.
  [[nodiscard]] JournalOptions take_journal(const JournalOptions& asked);
  void leave_journal() noexcept;
  // By the first core of the node.
  void own_journal(std::unique_ptr<Journal> journal);

  // --- of messages and pools
  void flush(CoreContext& here) override;
  void run(Rule& rule);
  // The best that waits on `owner`, a core of this node, in the scope of the caller.
  void run_best_of(Flow& owner);
  [[nodiscard]] std::unique_ptr<Rule> pop_best(core::FinishId scope) {
    return ready_.pop_best(scope);
  }
  // Rules with a priority that may run: here, or here and elsewhere.
  void add_bound(std::unique_ptr<Rule> rule) { add_ready_to(bound_ready_, std::move(rule)); }
  void add_ready(std::unique_ptr<Rule> rule) { add_ready_to(ready_, std::move(rule)); }
  [[nodiscard]] TypedPool& typed_pool() noexcept { return typed_pool_; }
  [[nodiscard]] TeamPool& team_pool() noexcept { return team_pool_; }
  [[nodiscard]] Throttle& throttle() noexcept { return throttle_; }
  // One that the pool of this core gives: it is run, or put aside.
  void run_pooled(std::unique_ptr<Rule> rule);
  // What another member of a team gets of its rule: all but the outputs. May wait.
  [[nodiscard]] std::unique_ptr<Rule> copy_for_member(Rule& rule);
  // That member's part; why it failed, "" if it did not.
  [[nodiscard]] std::string run_part(Rule& rule);
  void advance(std::unique_ptr<Rule> rule);
  void set_here(Ref writer, const Value& value, PortablePlace at);
  void give_back_writer_here(Ref writer, const Value* failure, FailedPart part);
  void give_back_reader_here(Ref reader);
  void mint_here(DataId id, bool is_writer, std::uint64_t weight);
  void end_widening(std::uint64_t ticket, std::uint64_t weight);
  // For tests: with how little weight a stored reference asks for more.
  void set_stored_least(std::uint64_t weight) noexcept { stored_least_ = weight; }
  // `path`: the keys to the member from where it is written, if there are others beside its own, which
  // has `n_inner` - 1 before it.
  void insert_here(Ref writer, const Value& key, const Value& value, PortablePlace at,
                   const Keys* path = nullptr, std::size_t n_inner = 1);
  void insert_words_here(Ref writer, std::int64_t first, Kind kind, ByteView words,
                         PortablePlace at);
  void put_at_here(Ref writer, Insertion what, const Keys& keys, std::size_t n_left,
                   const Value& value, PortablePlace at);
  void assign_whole_here(Ref writer, PortablePlace at, const Keys& path = {});
  void attach_loop_here(std::unique_ptr<Rule> body);
  void spread_loop(AttachLoop to, std::unique_ptr<Rule> body);
  void close_shard(DataId id, const Value* failure = nullptr);
  // To the home of a spread datum, by way of other cores.
  void say_home(DataId id, Homeward::What what, std::uint64_t amount, CoreId n_cores);
  void count_shards(DataId id, std::uint64_t n_members, CoreId n_shards);
  void note_freed_shards(DataId id, CoreId n_shards);
  void send_members(DataId id, CoreId to, std::uint64_t address);
  void send_whether_there(DataId id, const Value& key, CoreId to, std::uint64_t address);
  void send_n_members(DataId id, CoreId to, std::uint64_t address);
  // With where it was made if it has fields that may be missing.
  void free_shard(DataId id, const PortablePlace* made_at = nullptr);

  // --- of names (flow_names.cpp)
  // Who knows names for the data of this core from now on; null: nobody. Stays as long.
  void set_names(const DataNames* names) noexcept { names_ = names; }
  // Of a container that is to be freed, for DataNames: whether a member is missing that nobody waited
  // for; whether it has none since something failed; the containers in it that this core made.
  [[nodiscard]] bool lacks_field(DataId id, std::int64_t field) const;
  [[nodiscard]] bool may_tell_unset(DataId id) const;
  [[nodiscard]] DataId made_inside(DataId id, std::int64_t field) const;
  void for_each_made_inside(DataId id, const std::function<void(DataId)>& visit) const;
  // Of the variable that was made at `at`.
  void note_unset_field(PortablePlace at, const std::string& name);

 private:
  [[nodiscard]] DataId create(Kind kind, Closing closing, PortablePlace at);
  [[nodiscard]] bool is_here(DataId id) const noexcept { return id.home() == here_.core(); }
  [[nodiscard]] Datum& datum(DataId id) {
    RUBATO_DASSERT(is_here(id));
    return data_.at(id.slot());
  }
  [[nodiscard]] CoreId owner_of(DataId id, const Value& key) const noexcept;
  [[nodiscard]] Shard& shard(DataId id);
  void wake_member(Shard& shard, const Value& key, const Value& value);
  [[nodiscard]] static Value missing(const Value& key, const Value& failure);
  // New weight, which is given away only when its home knows of it: parts of it could come back
  // first. mint() waits; widen() calls then(ref) when the weight has come, in the caller's scope.
  void mint(Ref& ref, bool is_writer, std::uint64_t weight);
  void widen(Ref ref, bool is_writer, std::uint64_t weight, std::function<void(Ref)> then);
  // A part of a reference that is stored as a value, or as that member; does not wait.
  [[nodiscard]] Ref share_stored(Value& stored, DataId of, const Value* key);
  void add_to_stored(DataId of, const Value* key, Ref more);

  // True if the argument is there now; false if the rule waits here or has moved on.
  [[nodiscard]] bool take_input(std::unique_ptr<Rule>& rule, Arg& arg);
  [[nodiscard]] bool take_scalar(std::unique_ptr<Rule>& rule, Arg& arg);
  [[nodiscard]] bool take_container(std::unique_ptr<Rule>& rule, Arg& arg);
  [[nodiscard]] bool take_member(std::unique_ptr<Rule>& rule, Arg& arg);
  void move_to(CoreId core, std::unique_ptr<Rule> rule);
  void dispatch(std::unique_ptr<Rule> rule);
  void put_in_pool(std::unique_ptr<Rule> rule);
  void submit_queued(std::unique_ptr<Rule> rule);
  [[nodiscard]] QueueId emptied_by(const Rule& rule) const;
  void label_running(const Rule& rule);
  void note_makes_more(ActionId action);
  void add_ready_to(ReadyQueue& queue, std::unique_ptr<Rule> rule);
  [[nodiscard]] std::unique_ptr<Rule> pop_best_here();
  void skip(std::unique_ptr<Rule> rule, std::size_t argument, const Value& failure);
  void fail_targets_of(std::unique_ptr<Rule> rule, const Value& failure);
  [[nodiscard]] std::unique_ptr<Rule> empty_copy(const Rule& rule, std::uint32_t n_args_more) const;
  void close(DataId id, Datum& closed, const Value& value, PortablePlace at);
  void close_counted(DataId id, Datum& closed);
  void end_lease(DataId id);
  void free_if_unused(DataId id, Datum& unused);
  void note_unset(const Datum& freed);
  void wake(RuleList waiting, const Value& value, DataId of, const Value* key = nullptr);
  // The value as an argument; true if it is all that was asked for. A reference is shared with what
  // is stored, and the argument goes on to what it refers to.
  [[nodiscard]] bool hand_over(Arg& arg, const Value& value, DataId of, const Value* key);
  void put_at(Ref& writer, Insertion what, Keys keys, Value value, PortablePlace at);
  void put_whole_at_here(Ref writer, Insertion what, const Keys& path, const Value& value,
                         PortablePlace at);
  void note_set_twice(const Datum& mine, PortablePlace again);
  void note_set_twice(const Keys& keys, PortablePlace first, PortablePlace again);
  // The keys behind the first `n_inner` are those of the whole.
  void note_part_set(const Keys& keys, std::size_t n_inner, PortablePlace whole,
                     PortablePlace part);
  [[nodiscard]] std::string name_at(PortablePlace at, const Keys& keys) const;
  [[nodiscard]] bool is_made_inside(const Value& member) const;
  void note_failed_member(Shard& shard, const Value& failure);
  void hold(Shard& shard);
  void add_pair(Shard& shard, ShardLoop& loop, const Value& key, const Value& value);
  void start_pairs(Shard& shard);
  void start_pairs(ShardLoop& loop);
  void end_loops(Shard& shard);
  void send_held();
  void go_on(std::unique_ptr<Rule> rule);
  void perform(const Action& action, Rule& rule);

  // Some million references may have asked for it before a word is full.
  static constexpr std::uint64_t kMinted = std::uint64_t{1} << 40;
  static constexpr std::uint64_t kWideLeast = std::uint64_t{1} << 38;
  // Of a loop: some million tasks; and hundreds of thousands of loops over one container at a time.
  static constexpr std::uint64_t kLoopWeightACore = std::uint64_t{1} << 34;
  static constexpr std::uint64_t kLoopWeightMost = std::uint64_t{1} << 46;
  // What is stored asks for more while there is enough for some million copies.
  static constexpr std::uint64_t kStoredLeast = std::uint64_t{1} << 37;

  CoreContext& here_;
  CoreWatch* watch_;
  DatumTable data_;
  std::map<std::uint64_t, std::unique_ptr<Shard>> shards_;  // DataId::word
  Shard* last_shard_ = nullptr;
  Homeward homeward_;
  struct Widening {
    Ref ref;
    std::function<void(Ref)> then;
  };
  std::map<std::uint64_t, Widening> widening_;  // by ticket
  std::uint64_t n_tickets_ = 0;
  std::uint64_t stored_least_ = kStoredLeast;
  std::set<std::uint64_t> stored_that_ask_;  // DataId::word of what is referred to
  std::vector<DataId> held_;                 // shards that have something to send
  core::FinishId held_scope_ = 0;
  ReadyQueue ready_;        // with a priority
  ReadyQueue bound_ready_;  // the same, of rules that stay here
  Throttle throttle_;
  TypedPool typed_pool_;
  TeamPool team_pool_{typed_pool_};
  std::uint64_t n_file_names_ = 0;
  std::map<std::uint64_t, std::string> leased_;  // files, by DataId::word of their leases
  std::unique_ptr<JournalLock> journal_lock_;
  std::unique_ptr<Journal> owned_journal_;
  Journal* journal_ = nullptr;
  std::deque<std::unique_ptr<Rule>> woken_;  // that go on when this one is done with
  bool is_waking_ = false;
  std::vector<bool> makes_more_;  // [ActionId]
  FlowCounters counters_;
  HeldPlaces unset_;
  const DataNames* names_ = nullptr;
  std::vector<std::string> failures_;  // the first
  std::uint64_t n_failures_ = 0;
};

}  // namespace rubato::flow
