#include "rubato/core/message/message_engine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// Bytes of a buffer: parts, {head, runs} each (core_context.cpp), then {sending core, kBuffer}. An
// acknowledgement is {core, number of bytes, kAcknowledgement}. The kind stands at the end, so that
// taking it off moves nothing (channel.hpp).

#include "rubato/core/channel.hpp"
#include "rubato/core/message/budget.hpp"

namespace rubato::core {
namespace {

constexpr std::uint32_t kBuffer = 0;
constexpr std::uint32_t kAcknowledgement = 1;
constexpr std::size_t kTasksShown = 8;
// Buffers that leave together within a deadline, and how many deadlines they wait at most.
constexpr Nanos kLanesAtOnce = 8;
constexpr Nanos kPatienceMost = 16;
constexpr Nanos kNativePoll = 200 * kMicrosecond;
constexpr Nanos kNativeGrace = kSecond;

// For people; of each call at one line of one kind of task the same.
std::string name_of(const detail::NativeWork& work) {
  std::string text = work.is_task ? "work beside its core" : "native work";
  const bool has_place = *work.at.file != '\0';
  text += has_place ? " asked for at " + work.at.text() + " by " : " of ";
  return text + Scheduler::name_of(*work.waiter);
}

// Of one that yields again and again; "" if none was seen to run.
std::string name_of_runner(const Scheduler& tasks) {
  constexpr int kLooks = 1000;
  std::string name;
  for (int i = 0; i < kLooks && name.empty(); ++i)
    name = tasks.running_name();
  return name;
}

}  // namespace

MessageEngine::MessageEngine(const JobShape& shape, const MessageOptions& options)
    : shape_(shape),
      options_(options),
      polls_(shape.n_cores),
      running_(shape.n_cores, false),
      acknowledged_(shape.n_cores),
      arrived_(shape.n_cores),
      native_(options.n_native_threads, shape.n_cores, options.clock) {
  for (std::uint32_t local = 0; local < shape.n_cores; ++local) {
    cores_.push_back(std::unique_ptr<CoreContext>(new CoreContext(
        shape.first_core() + local, shape_, options_, cores_, hunger_, native_, objects_)));
  }
}

MessageEngine::~MessageEngine() = default;

void MessageEngine::set_on_start(const std::function<void(CoreContext&)>& f) {
  for (auto& core : cores_)
    core->tasks_.spawn([call = std::function(f), &core = *core] { call(core); }, "start");
}

void MessageEngine::start(Port& port) {
  began_ = event_time_ = port.now();
}

void MessageEngine::on_message(Port& port, NodeId from, Bytes bytes) {
  event_time_ = port.now();
  if (take_tag(bytes) == kBuffer) {
    // All of a node's buffers to one core: their order is the order of messages.
    const CoreId sender = take_tag(bytes);
    arrived_[from % shape_.n_cores].emplace_back(sender, std::move(bytes));
    return;
  }
  Reader in(bytes);
  const auto core = in.get<CoreId>();
  const auto n_bytes = in.get<std::uint64_t>();
  if (shape_.node_of(core) != shape_.node) {
    throw Error("acknowledgement for core " + std::to_string(core) + " came to node " +
                    std::to_string(shape_.node) + " at " + std::to_string(port.now()),
                ExitCode::failed);
  }
  acknowledged_[shape_.local_of(core)][from] += n_bytes;
}

bool MessageEngine::next_work(std::uint32_t local, Work& work) {
  CoreContext& core = *cores_[local];
  RUBATO_ASSERT(!running_[local], local);
  for (const auto& [node, n_bytes] : acknowledged_[local])
    core.hear_room(node, n_bytes);
  acknowledged_[local].clear();
  for (auto& [from, bytes] : arrived_[local])
    core.take_parcel(from, std::move(bytes));
  arrived_[local].clear();
  if (!core.has_work()) return false;
  work = {0, local, static_cast<std::int64_t>(core.tasks_.figures().n_waiting)};
  running_[local] = true;
  core.turn_began_ = core.now_ = event_time_;  // it may have been idle for long
  return true;
}

// What a delegate throws here, another core has asked for: who reads it needs to know which it was.
void MessageEngine::run(const Work& work, std::uint32_t /*core*/) {
  CoreContext& core = *cores_[work.index];
  const auto is_of_delegate = [&] { return core.is_applying() && core.applied_.get() != nullptr; };
  const auto told = [&](const Error& error) {
    return error.in("on core " + std::to_string(core.core_) + ", in " +
                    std::string(core.applied_.get()->name));
  };
  try {
    core.turn();
    polls_[work.index].note(n_done(core), core.tasks_.n_turns(), core.now_);
  } catch (const Error& error) {
    if (!is_of_delegate()) throw;
    throw told(error);
  } catch (const std::exception& error) {
    if (!is_of_delegate()) throw;
    throw told(Error(error.what(), ExitCode::failed));
  } catch (...) {
    const Error error("an exception of unknown type", ExitCode::failed);
    throw is_of_delegate() ? told(error) : error;
  }
}

void MessageEngine::on_finished(Port& port, const Work& work) {
  CoreContext& core = *cores_[work.index];
  running_[work.index] = false;
  core.now_ = event_time_ = port.now();
  core.lifelines_.pace.note_end(core.now_, core.n_waiters_ > 0);
  core.note_queues();
  adapt(core, work.took);
  for (const auto& [from, n_bytes] : core.applied_from_)
    owed_[from] += n_bytes;
  core.applied_from_.clear();
  // With nothing left to do, the core is about to be idle: what has gathered leaves.
  const bool idles = !core.has_own_work() && arrived_[work.index].empty();
  acknowledge(port);
  const Flush lanes = idles                          ? Flush::idle
                      : port.now() >= core.flush_at_ ? Flush::late
                                                     : Flush::none;
  flush(port, core, lanes);
  set_timers(port, core);
}

void MessageEngine::set_timers(Port& port, CoreContext& core) {
  core.set_native_times();
  if (core.tasks_.next_time() != kNever) port.wake_at(core.tasks_.next_time());
  // Nobody says here that native work has ended.
  if (core.natives_.n > 0) port.wake_at(port.now() + kNativePoll);
}

void MessageEngine::adapt(CoreContext& core, Nanos took) const {
  const std::uint64_t spent = core.n_applied_in_slice_ + core.n_units_in_slice() +
                              core.n_turns_in_slice_ * CoreContext::kTurnUnits;
  if (spent * 2 < core.budget_ && took < options_.slice) return;  // it had nothing else to do
  const double wanted = static_cast<double>(spent) * static_cast<double>(options_.slice) /
                        static_cast<double>(std::max<Nanos>(took, 1));
  // By halves, since a slice may have been interrupted.
  const double next = std::clamp(wanted, static_cast<double>(core.budget_) / 2,
                                 static_cast<double>(core.budget_) * 2);
  core.budget_ =
      std::clamp(static_cast<std::uint64_t>(next), detail::kBudgetLeast, detail::kBudgetMost);
}

void MessageEngine::flush(Port& port, CoreContext& core, Flush lanes) {
  if (lanes != Flush::none) core.close_blocks_to_nodes();
  for (auto& [to, bytes] : core.full_)
    post(port, core.core(), to, std::move(bytes));
  core.full_.clear();
  const auto n_blocks = std::ranges::count_if(core.open_, [](const detail::Outbox* box) {
    return !box->is_local && box->limit != nullptr;
  });
  Nanos n_open = n_blocks / shape_.n_cores;  // buffers, with those that blocks will go into
  bool is_empty = n_blocks == 0;
  for (auto& [to, lane] : core.lanes_) {
    if (lane.bytes.empty()) continue;
    if (lanes != Flush::none) {
      if (lanes == Flush::late) ++core.counters_.n_late_buffers;
      post(port, core.core(), to, std::exchange(lane.bytes, Bytes{}));
    } else {
      is_empty = false;
      ++n_open;
    }
  }
  if (is_empty) {
    core.flush_at_ = kNever;
  } else {
    // Asked for each time: a timer that came while this core ran is gone.
    // Of many buffers, each of which costs as much however little it holds, later: a core that is
    // busy spends a bounded share of its time on them.
    const Nanos patience = std::clamp<Nanos>(n_open / kLanesAtOnce, 1, kPatienceMost);
    if (core.flush_at_ == kNever) core.flush_at_ = port.now() + options_.deadline * patience;
    port.wake_at(core.flush_at_);
  }
}

void MessageEngine::post(Port& port, CoreId from, NodeId to, Bytes bytes) {
  ++cores_[shape_.local_of(from)]->counters_.n_buffers;
  add_tag(bytes, from);
  add_tag(bytes, kBuffer);
  port.send(to, std::move(bytes));
}

// Of large debts alone: a sender for which only small ones are open has room.
void MessageEngine::acknowledge(Port& port) {
  for (auto owed = owed_.begin(); owed != owed_.end();) {
    if (owed->second < std::max<std::uint64_t>(options_.window_bytes / 4, 1)) {
      ++owed;
      continue;
    }
    Writer out;
    out.put(owed->first);
    out.put(owed->second);
    Bytes bytes = out.take();
    add_tag(bytes, kAcknowledgement);
    port.send(shape_.node_of(owed->first), std::move(bytes));
    owed = owed_.erase(owed);
  }
}

void MessageEngine::on_time(Port& port) {
  event_time_ = port.now();
  for (std::uint32_t local = 0; local < shape_.n_cores; ++local) {
    // A running core's state is its own; it looks at the time when it has finished.
    if (running_[local]) continue;
    CoreContext& core = *cores_[local];
    core.now_ = port.now();
    if (core.flush_at_ != kNever) {
      if (core.flush_at_ <= port.now()) {
        flush(port, core, Flush::late);
      } else {
        port.wake_at(core.flush_at_);
      }
    }
    if (core.tasks_.next_time() > port.now()) set_timers(port, core);
  }
}

bool MessageEngine::more_work() const {
  for (std::uint32_t local = 0; local < shape_.n_cores; ++local) {
    if (running_[local]) continue;
    if (!arrived_[local].empty() || !acknowledged_[local].empty() || cores_[local]->has_work()) {
      return true;
    }
  }
  return false;
}

bool MessageEngine::finished() const {
  for (std::uint32_t local = 0; local < shape_.n_cores; ++local) {
    if (running_[local] || !arrived_[local].empty() || !acknowledged_[local].empty() ||
        !cores_[local]->is_quiet()) {
      return false;
    }
  }
  return true;
}

void MessageEngine::on_failed(const Error& error) {
  if (native_.close(kNativeGrace)) return;
  std::fprintf(stderr, "rubato: %s (native work that does not end was given up)\n", error.what());
  std::_Exit(static_cast<int>(error.code()));
}

// What a core lets go runs in a task: an event must not be long.
bool MessageEngine::on_quiet(Port& /*port*/) {
  bool goes_on = false;
  for (std::uint32_t local = 0; local < shape_.n_cores; ++local) {
    if (running_[local]) continue;
    CoreContext& core = *cores_[local];
    for (const HeldBack& held : core.held_back_) {
      if (!held.is_any()) continue;
      core.tasks_.spawn(held.let_go, "what was held back");
      goes_on = true;
    }
  }
  return goes_on;
}

std::string MessageEngine::waiting_for() const {
  std::string text;
  std::string reasons;
  std::uint64_t n_waiting = 0;
  std::size_t n_shown = 0;
  for (std::uint32_t local = 0; local < shape_.n_cores; ++local) {
    if (running_[local]) continue;
    const CoreContext& core = *cores_[local];
    n_waiting += core.tasks_.figures().n_waiting;
    for (const WaitingTask& task : core.tasks_.waiting(kTasksShown - n_shown)) {
      ++n_shown;
      text += (text.empty() ? "" : "; ");
      text += "task " + (task.name.empty() ? "" : "'" + task.name + "' ") + "of core " +
              std::to_string(core.core()) + ", spawned at " + task.spawned + ", for " +
              task.waits_for;
    }
    reasons += core.without_stack() + core.stackless_.text(core.core_, kTasksShown);
    for (const auto& reason_of : core.reasons_) {
      const std::string reason = reason_of();
      if (!reason.empty()) reasons += "; " + reason;
    }
  }
  if (n_waiting > n_shown) {
    const auto n_more = n_waiting - n_shown;
    text += "; and " + std::to_string(n_more) + (n_more == 1 ? " more task" : " more tasks");
  }
  text += reasons;
  return text.starts_with("; ") ? text.substr(2) : text;
}

Nanos MessageEngine::cost(const Work& work) const {
  CoreContext& core = *cores_[work.index];
  return options_.apply_cost * static_cast<Nanos>(core.n_applied_in_slice_) +
         options_.turn_cost * static_cast<Nanos>(core.n_turns_in_slice_) +
         std::exchange(core.charged_, 0);
}

Nanos MessageEngine::message_cost(std::size_t /*n_bytes*/) const {
  return options_.buffer_cost;
}

std::string MessageEngine::work_name(const Work& work) const {
  const CoreContext& core = *cores_[work.index];
  std::string task = core.tasks_.running_name();
  if (!task.empty()) return task;
  const std::string all = "messages of core " + std::to_string(core.core_);
  const detail::Handler* const applied = core.applied_.get();
  return applied == nullptr ? all : all + " (" + std::string(applied->name) + ")";
}

// All but yields, and waits for a time.
std::uint64_t MessageEngine::n_done(const CoreContext& core) noexcept {
  return core.tasks_.n_done() + core.counters_.n_posted + core.counters_.n_applied +
         core.counters_.n_pooled_run;
}

std::vector<WorkBeside> MessageEngine::work_beside(Nanos begun_by) const {
  std::vector<WorkBeside> all;
  native_.look_at_running([&](const detail::NativeWork& work) {
    if (work.since > begun_by || work.is_timed.load(std::memory_order_relaxed)) return;
    all.push_back({name_of(work), work.since});
  });
  for (const auto& core : cores_) {
    detail::PollWatch& poll = polls_[shape_.local_of(core->core_)];
    const Nanos since = poll.since(begun_by);
    if (since == kNever) continue;
    const std::string* task = poll.task_since(since, [&] { return name_of_runner(core->tasks_); });
    if (task == nullptr) continue;
    all.push_back({"core " + std::to_string(core->core_) +
                       ", whose tasks yield or sleep and do nothing else" +
                       (task->empty() ? "," : " (" + *task + "),"),
                   since});
  }
  return all;
}

CoreCounters MessageEngine::counters() const {
  CoreCounters sum;
  for (const auto& core : cores_)
    sum.add(core->counters());
  return sum;
}

}  // namespace rubato::core
