// Data and rules. Rules that may run are in flow_pool.cpp, references in flow_references.cpp, containers in
// flow_containers.cpp, what is left at the end of a run in flow_leftovers.cpp, what travels in records.hpp.

#include "rubato/flow/flow.hpp"

#include <cxxabi.h>

#include "rubato/flow/journal/journal_lock.hpp"
#include "rubato/flow/lines.hpp"
#include "rubato/flow/pool/team_task.hpp"
#include "rubato/flow/records.hpp"

namespace rubato::flow {
namespace {

constexpr std::size_t kFailuresKept = 1000;  // of a core; others are counted
constexpr std::size_t kLeftoversSaid = 8;    // of a core, where tasks wait for ever
// Longer than a file server keeps locks of a machine that is gone.
constexpr Nanos kLocksLast = 120 * kSecond;
constexpr Nanos kLockPause = kSecond;

}  // namespace

void FlowCounters::add(const FlowCounters& other) noexcept {
  n_run += other.n_run;
  n_steps += other.n_steps;
  n_failed += other.n_failed;
  n_skipped += other.n_skipped;
  n_never_set += other.n_never_set;
  n_steps_skipped += other.n_steps_skipped;
  n_data += other.n_data;
  n_freed += other.n_freed;
  n_unset += other.n_unset;
}

Flow::Flow()
    : here_(CoreContext::here()),
      watch_(here_.local_or_make<WatchPlace>().watch),
      homeward_(here_) {
  here_.local_or_make<FlowPlace>().flow = this;
  // Tasks that block in get() may wait for ever, and then the run does not end.
  here_.explain_waiting([this] {
    const Leftovers left = leftovers(kLeftoversSaid);
    std::string all;
    for (const std::string& text : left.texts)
      all += (all.empty() ? "" : "; ") + text;
    const std::uint64_t n_more = left.n - left.texts.size();
    return n_more > 0 ? all + "; and " + std::to_string(n_more) + " more" : all;
  });
}

Flow::~Flow() = default;

void Flow::begin_again() {
  data_ = DatumTable();
  shards_.clear();
  last_shard_ = nullptr;
  makes_more_.clear();
  counters_ = {};
  unset_ = {};
  failures_.clear();
  n_failures_ = 0;
  throttle_.begin();
  typed_pool_.begin({});
  team_pool_.begin();
  journal_ = nullptr;
  owned_journal_.reset();
  leased_.clear();
}

void Flow::cancel_run() {
  if (owned_journal_ != nullptr) owned_journal_->discard();
  leave_journal();
  begin_again();
}

JournalOptions Flow::take_journal(const JournalOptions& asked) {
  leave_journal();  // of a run that did not come to its end
  const Nanos begin = here_.clock();
  for (;;) {
    journal_lock_ = here_.run_native([&] { return std::make_unique<JournalLock>(asked); });
    const std::string& other = journal_lock_->in_use_by();
    if (other.empty()) return journal_lock_->options();
    const std::string found = "journal: found " + asked.folder + " in use by " + other;
    const Nanos waited = here_.clock() - begin;
    if (!journal_lock_->may_be_left() || waited > kLocksLast)
      throw Error(found + ", expected one that no run writes: wait for its end, or end it");
    if (waited < kLockPause) say_line(here_, stderr, found + "; waiting, two minutes at most");
    here_.tasks().wait_until(here_.clock() + kLockPause);
  }
}

void Flow::leave_journal() noexcept {
  journal_lock_.reset();
}

void Flow::own_journal(std::unique_ptr<Journal> journal) {
  owned_journal_ = std::move(journal);
}

// --- data
// -----------------------------------------------------------------------------------------------

DataId Flow::create(Kind kind, Closing closing, PortablePlace at) {
  const DataId id = DataId::of(here_.core(), data_.add());
  Datum& made = datum(id);
  made.state = Datum::State::open;
  made.kind = kind;
  made.closing = closing;
  made.readers = made.writers = kWholeWeight;
  made.made_at = at;
  ++counters_.n_data;
  return id;
}

void Flow::set(Ref writer, Value value, PortablePlace at) {
  RUBATO_REQUIRE(value.kind() != Kind::none, at.place().text());
  if (value.is_reference()) {
    Ref ref = value.as_reference();
    if (ref.weight < kWideLeast && !is_here(ref.id) && !here_.may_wait()) {
      return widen(ref, false, kMinted,
                   [this, writer, at](Ref wide) { set(writer, Value::reference(wide), at); });
    }
    make_wide(ref, false);
    value = Value::reference(ref);
  }
  if (is_here(writer.id)) {
    set_here(writer, value, at);
  } else if (value.is_word()) {
    here_.post(writer.id.home(), SetWord{writer, value.bits(), value.kind(), at});
  } else {
    Writer out;
    value.put(out);
    here_.post(writer.id.home(), SetText{writer, at}, out.view());
  }
}

void Flow::set_here(Ref writer, const Value& value, PortablePlace at) {
  Datum& mine = datum(writer.id);
  RUBATO_ASSERT(mine.writers >= writer.weight, mine.writers, writer.weight);
  mine.writers -= writer.weight;
  if (mine.state == Datum::State::open) return close(writer.id, mine, value, at);
  note_set_twice(mine, at);
  if (value.is_reference()) give_back_reader(value.as_reference());
  free_if_unused(writer.id, mine);
}

void Flow::close(DataId id, Datum& closed, const Value& value, PortablePlace at) {
  closed.state = Datum::State::closed;
  closed.value = value;
  closed.set_at = at;
  RuleList waiting = std::move(closed.waiting);
  free_if_unused(id, closed);
  wake(std::move(waiting), value, id);
}

// What waits goes on. It holds references of its own, so that the datum stays until they are given
// back.
// Each of them goes on after this one is done with: what a rule sets wakes others, and so on, and a
// chain of them must not be as deep as it is long. In place, so that the next ones do not wait until
// there is room for one.
void Flow::go_on(std::unique_ptr<Rule> rule) {
  woken_.push_back(std::move(rule));
  if (is_waking_) return;
  const CoreContext::InPlace inside(here_);
  is_waking_ = true;
  while (!woken_.empty()) {
    std::unique_ptr<Rule> next = std::move(woken_.front());
    woken_.pop_front();
    advance(std::move(next));
  }
  is_waking_ = false;
}

void Flow::wake(RuleList waiting, const Value& value, DataId of, const Value* key) {
  while (!waiting.empty()) {
    std::unique_ptr<Rule> rule = waiting.pop();
    throttle_.note_has_data(*rule);
    Arg& arg = rule->args()[rule->at_arg];
    if (of.is_container() && key == nullptr && arg.mode == Arg::Mode::closed) {
      if (value.is_failed()) {
        // dispatch() finds it.
        give_back_reader(std::exchange(arg.ref, {}));
        arg.mode = Arg::Mode::value;
        arg.value = value;
      } else {
        arg.mode = Arg::Mode::reader;
      }
    } else {
      static_cast<void>(hand_over(arg, value, of, key));
    }
    go_on(std::move(rule));
  }
}

bool Flow::hand_over(Arg& arg, const Value& value, DataId of, const Value* key) {
  const Ref used = std::exchange(arg.ref, {});
  if (value.is_reference()) {
    // What is stored stays as long as `used` is not given back.
    Value& stored = key == nullptr ? datum(of).value : *shard(of).stored(*key);
    arg.ref = share_stored(stored, of, key);
    if (arg.mode == Arg::Mode::link && !arg.has_keys()) arg.mode = Arg::Mode::reader;
  } else {
    if (key == nullptr && value.is_never_set()) datum(of).is_needed = true;
    arg.mode = Arg::Mode::value;
    arg.value = arg.has_keys() && !value.is_failed()
                    ? Value::failed("a value of kind " + std::string(name_of(value.kind())) +
                                    " has no member " + key_text(arg.keys->back()))
                    : value;
  }
  give_back_reader(used);
  return !arg.is_waited_for();
}

void Flow::give_back_writer_here(Ref writer, const Value* failure, FailedPart part) {
  Datum& mine = datum(writer.id);
  RUBATO_ASSERT(mine.writers >= writer.weight, mine.writers, writer.weight);
  mine.writers -= writer.weight;
  const bool is_open = mine.state == Datum::State::open;
  if (is_open && failure != nullptr) {
    if (mine.closing == Closing::set) return close(writer.id, mine, *failure, mine.made_at);
    mine.note_failure(*failure, part);
  }
  if (mine.writers > 0 || !is_open) return free_if_unused(writer.id, mine);
  if (mine.closing == Closing::counted) return close_counted(writer.id, mine);
  // Nobody is left who could. If nobody reads it either, that is nobody's loss (note_unset()).
  close(writer.id, mine, Value::never_set("the datum of " + mine.made_at.place().text()),
        mine.made_at);
}

void Flow::free_if_unused(DataId id, Datum& unused) {
  if (unused.state != Datum::State::closed || unused.readers > 0 || unused.writers > 0) return;
  if (unused.is_container) {
    // Its place is nobody else's before all shards are gone: they know it by the same id.
    const auto n_cores = static_cast<CoreId>(here_.shape().n_cores_total());
    unused.state = Datum::State::freeing;
    unused.n_shards_open = id.is_spread() ? n_cores : 1;
    const bool may_lack = unused.has_fields;
    if (id.is_spread() && may_lack) {
      here_.multicast(0, n_cores, FreeShardWithFields{id, unused.made_at});
    } else if (id.is_spread()) {
      here_.multicast(0, n_cores, FreeShard{id});
    } else {
      const PortablePlace made_at = unused.made_at;
      free_shard(id, may_lack ? &made_at : nullptr);
    }
    return;
  }
  if (unused.value.is_never_set() && !unused.is_needed) note_unset(unused);
  const Value value = std::move(unused.value);
  data_.remove(id.slot());
  ++counters_.n_freed;
  if (value.is_reference()) give_back_reader(value.as_reference());
}

void Flow::note_freed_shards(DataId id, CoreId n_shards) {
  if ((datum(id).n_shards_open -= n_shards) > 0) return;
  data_.remove(id.slot());
  ++counters_.n_freed;
}

// --- rules
// ----------------------------------------------------------------------------------------------

void Flow::advance(std::unique_ptr<Rule> rule) {
  while (rule->at_arg < rule->args().size()) {
    Arg& arg = rule->args()[rule->at_arg];
    if (arg.is_waited_for() && !take_input(rule, arg)) return;
    ++rule->at_arg;
  }
  if (rule->options.core != kAnyCore && rule->options.core != here_.core() && !rule->options.type) {
    const CoreId to = rule->options.core;
    const bool is_bound = rule->options.is_bound();
    move_to(to, std::move(rule));
    if (is_bound) throttle_.note_put({to, kBoundQueue});
    return;
  }
  dispatch(std::move(rule));
}

// From reference to reference, until what is asked for is there.
bool Flow::take_input(std::unique_ptr<Rule>& rule, Arg& arg) {
  while (arg.is_waited_for()) {
    const DataId id = arg.ref.id;
    const bool is_member = id.is_container() && arg.has_keys();
    const bool wants_handle = arg.mode == Arg::Mode::handle || arg.mode == Arg::Mode::link;
    if (id.is_container() && !is_member && wants_handle) {
      arg.mode = Arg::Mode::reader;
      return true;
    }
    const CoreId home = is_member ? owner_of(id, arg.keys->back()) : id.home();
    if (home != here_.core()) {
      move_to(home, std::move(rule));
      return false;
    }
    const bool goes_on = is_member           ? take_member(rule, arg)
                         : id.is_container() ? take_container(rule, arg)
                                             : take_scalar(rule, arg);
    if (!goes_on) return false;
  }
  return true;
}

bool Flow::take_scalar(std::unique_ptr<Rule>& rule, Arg& arg) {
  Datum& mine = datum(arg.ref.id);
  if (mine.state != Datum::State::closed) {
    throttle_.note_at_data(*rule);
    mine.waiting.push(std::move(rule));
    return false;
  }
  const Value value = mine.value;
  static_cast<void>(hand_over(arg, value, arg.ref.id, nullptr));
  return true;
}

bool Flow::take_container(std::unique_ptr<Rule>& rule, Arg& arg) {
  Datum& mine = datum(arg.ref.id);
  if (mine.state != Datum::State::closed || arg.mode == Arg::Mode::wait) {
    return take_scalar(rule, arg);
  }
  if (mine.value.is_failed()) {
    const Value failure = mine.value;
    const std::size_t argument = rule->at_arg;
    skip(std::move(rule), argument, failure);
    return false;
  }
  arg.mode = Arg::Mode::reader;
  return true;
}

void Flow::move_to(CoreId core, std::unique_ptr<Rule> rule) {
  here_.post(core, MoveRule{}, rule->to_bytes());
}

void Flow::run(Rule& rule) {
  const Action& action = action_at(rule.action);
  if (action.in_place || action.is_start) {
    if (watch_ != nullptr) watch_->note_gone(rule);
    return perform(action, rule);
  }
  label_running(rule);
  Throttle::Running frame(throttle_, rule.loop, emptied_by(rule));
  if (!action.counts_itself) {
    ++counters_.n_run;
    if (action.part != TaskPart::task) ++counters_.n_steps;
  }
  if (watch_ == nullptr || action.counts_itself) [[likely]] {
    perform(action, rule);
  } else {
    const CoreWatch::Span span(*watch_, rule);
    perform(action, rule);
  }
  // What becomes a task when it has its inputs, as one other, is no maker.
  if (frame.has_made() && action.part == TaskPart::task && !makes_more(rule.action)) [[unlikely]]
    note_makes_more(rule.action);
  frame.settle();
}

void Flow::note_makes_more(ActionId action) {
  if (makes_more_.size() <= action) makes_more_.resize(action + 1);
  makes_more_[action] = true;
}

void Flow::perform(const Action& action, Rule& rule) {
  const auto fail = [&](const char* why) {
    if (rule.team != nullptr) rule.team->fail(why);
    std::string what = rule.text() + ": " + why;
    const Value failure = Value::failed(what);
    note_failed_body(std::move(what));
    give_back(rule, &failure);
  };
  try {
    action.run(*this, rule);
    give_back(rule, nullptr);
  } catch (const std::exception& error) {
    fail(error.what());
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    fail(kUnknownException);
  }
}

void Flow::label_running(const Rule& rule) {
  const bool has_name = !rule.options.name.empty();
  here_.tasks().label_running(has_name ? rule.options.name.c_str() : "task of a flow",
                              rule.at.place());
}

std::unique_ptr<Rule> Flow::copy_for_member(Rule& rule) {
  auto copy = empty_copy(rule, 0);
  for (std::size_t i = 0; i < rule.args().size(); ++i) {
    Arg& from = rule.args()[i];
    Arg& to = copy->args()[i];
    to.mode = from.mode;
    if (from.mode == Arg::Mode::output) continue;
    to.ref = share(from.ref, from.mode == Arg::Mode::writer);
    to.value = from.value;
    to.keys = from.copy_keys();
  }
  return copy;
}

// What it was to write fails with the first member, which has the outputs.
std::string Flow::run_part(Rule& rule) {
  label_running(rule);
  const Throttle::Running frame(throttle_, rule.loop, emptied_by(rule));
  std::string failure;
  try {
    action_at(rule.action).run(*this, rule);
  } catch (const std::exception& error) {
    failure = "on core " + std::to_string(here_.core()) + ": " + error.what();
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    failure = "on core " + std::to_string(here_.core()) + ": " + kUnknownException;
  }
  give_back(rule, nullptr);
  return failure;
}

void Flow::skip(std::unique_ptr<Rule> rule, std::size_t argument, const Value& failure) {
  if (action_at(rule->action).takes_failures) {
    Arg& arg = rule->args()[argument];
    give_back_reader(std::exchange(arg.ref, {}));
    arg.mode = Arg::Mode::value;
    arg.value = failure;
    return go_on(std::move(rule));
  }
  const Action& action = action_at(rule->action);
  note_skipped(action.part == TaskPart::step && !failure.is_never_set());
  if (watch_ != nullptr) watch_->note_gone(*rule);
  const Value reason = told(*rule, argument, failure);
  Arg& arg = rule->args()[argument];
  give_back_reader(std::exchange(arg.ref, {}));
  arg = {Arg::Mode::value, {}, reason, nullptr};
  fail_targets_of(std::move(rule), reason);
}

void Flow::fail_targets_of(std::unique_ptr<Rule> rule, const Value& failure) {
  const ActionId failed = action_at(rule->action).when_failed;
  if (failed == kNoAction) return give_back(*rule, &failure);
  std::unique_ptr<Rule> next = empty_copy(*rule, 1);
  std::ranges::move(rule->args(), next->args().begin());
  next->args().back().value = failure;
  next->action = failed;
  next->options = {};
  dispatch(std::move(next));
}

Value Flow::told(const Rule& rule, std::size_t argument, const Value& failure) {
  if (!failure.is_never_set()) return failure;
  const auto describe = action_at(rule.action).describe_input;
  const std::string name = describe != nullptr ? describe(rule, argument) : "";
  std::string what = rule.text() + " did not run: ";
  if (is_of_field(name)) {
    what += "it needs '" + name + "', which was never set";
  } else {
    what += (name.empty() ? "" : "it needs '" + name + "', and ") + failure.as_text();
  }
  ++counters_.n_never_set;
  note_failure(std::move(what));
  return Value::failed(failure.as_text());
}

// All references that the rule still has.
void Flow::give_back(Rule& rule, const Value* failure) {
  for (Arg& arg : rule.args()) {
    const Ref ref = std::exchange(arg.ref, {});
    if (ref.weight == 0) continue;
    if (arg.mode == Arg::Mode::output || arg.mode == Arg::Mode::writer) {
      give_back_writer(ref, failure);
    } else {
      give_back_reader(ref);
    }
  }
}

std::unique_ptr<Rule> Flow::empty_copy(const Rule& rule, std::uint32_t n_args_more) const {
  const auto n = static_cast<std::uint32_t>(rule.args().size()) + n_args_more;
  auto copy = std::make_unique<Rule>(rule.action, n, rule.options, rule.at);
  copy->set_closure(rule.closure().data(), rule.closure().size());
  copy->at_arg = n;
  copy->loop = rule.loop;
  copy->made_on = rule.made_on;
  return copy;
}

std::unique_ptr<Rule> Flow::copy_rule(Rule& rule, std::uint32_t n_args_more) {
  auto copy = empty_copy(rule, n_args_more);
  for (std::size_t i = 0; i < rule.args().size(); ++i) {
    Arg& from = rule.args()[i];
    copy->args()[i] = {from.mode, share(from.ref, from.mode == Arg::Mode::writer), from.value,
                       from.copy_keys()};
  }
  return copy;
}

std::unique_ptr<Rule> Flow::part_of_rule(Rule& rule, std::uint64_t n_part, std::uint64_t n_all) {
  for (Arg& arg : rule.args()) {
    if (arg.ref.id && arg.ref.weight < n_all) mint(arg.ref, arg.mode == Arg::Mode::writer, kMinted);
  }
  auto copy = empty_copy(rule, 0);
  for (std::size_t i = 0; i < rule.args().size(); ++i) {
    Arg& from = rule.args()[i];
    const Ref part{from.ref.id, from.ref.weight / n_all * n_part};
    from.ref.weight -= part.weight;
    copy->args()[i] = {from.mode, part, from.value, from.copy_keys()};
  }
  return copy;
}

void Flow::note_failure(std::string what) {
  if (failures_.size() < kFailuresKept) failures_.push_back(printable(std::move(what)));
  ++n_failures_;
}

}  // namespace rubato::flow
