#include "rubato/core/detail/node_run.hpp"

#include <algorithm>
#include <cstdio>

#include <sched.h>
#include <signal.h>

#include "rubato/base/prefetch.hpp"
#include "rubato/core/placement.hpp"
#include "rubato/core/signalled_engine.hpp"
#include "rubato/core/signals.hpp"

namespace rubato::core::detail {
namespace {

// Yielding before the first nap: longer than most waits of cores for each other, since waking a
// napping core takes its waker 10 us and more on a virtual machine. But the processor belongs to
// whoever else wants it: a yield that takes so long gave it to somebody, and ends the yielding.
constexpr Nanos kYieldTime = 60 * kMicrosecond;
// The same after a wait that ended within that time: work that comes so soon will do so again, and a
// core that naps when it comes is late by more than it has spared.
constexpr Nanos kYieldTimeMost = 240 * kMicrosecond;
constexpr Nanos kCrowdedYield = 10 * kMicrosecond;
// A nap on a crowded processor: that share of the wait so far, by which the wait gets longer.
constexpr Nanos kWaitShare = 8;
// Of idle cores that need not look for messages, since another one does.
constexpr Nanos kLongNap = 200 * kMicrosecond;
constexpr Nanos kWorkTimeShare = 16;  // of the latest work in the running mean
constexpr Nanos kServeNapMax = 2 * kMillisecond;
constexpr Nanos kServeNapAlone = 5 * kMillisecond;
constexpr Nanos kWatchInterval = kSecond;
constexpr std::size_t kWaitingLinesMax = 64;

Error as_error(const std::exception& e) {
  const auto* error = dynamic_cast<const Error*>(&e);
  return error != nullptr ? *error : Error(e.what(), ExitCode::failed);
}

}  // namespace

NodeRun::NodeRun(NodeLink& link, const NodeHostOptions& options,
                 const std::vector<std::uint32_t>& processors, Engine& engine)
    : link_(link),
      options_(options),
      processors_(processors),
      engine_(engine),
      port_(*this),
      alone_(link.shape().n_nodes == 1),
      cores_(link.shape().n_cores),
      watchdog_(link.shape().n_cores, options.busy_after) {}

NodeRun::~NodeRun() {
  const std::lock_guard lock(link_.mutex());
  link_.stop_listening();
}

NodeFigures NodeRun::run() {
  {
    const std::lock_guard lock(link_.mutex());
    start();
  }
  n_threads_ = link_.shape().n_cores;
  std::vector<std::thread> threads;
  for (std::uint32_t core = 0; core < link_.shape().n_cores; ++core) {
    cores_[core].place =
        "node " + std::to_string(link_.shape().node) + " core " + std::to_string(core);
    threads.emplace_back([this, core] { core_thread(core); });
  }
  serve();
  for (auto& thread : threads)
    thread.join();
  if (state_ == State::failed) leave_failed();
  if (!link_.drain(10 * kSecond)) {
    throw Error("messages did not leave the node within 10 s of the end of the run",
                ExitCode::failed);
  }
  return figures();
}

// --- core threads
// ------------------------------------------------------------------------------------

void NodeRun::core_thread(std::uint32_t core) {
  if (!processors_.empty()) pin_thread(processors_[core]);
  lower_timer_slack();
  run_in_batches();
  set_fatal_place(cores_[core].place.c_str());
  core_loop(core);
  set_fatal_place(nullptr);
  n_threads_.fetch_sub(1);
  server_sleeper_.wake_all();
}

void NodeRun::core_loop(std::uint32_t core) {
  CoreFigures& figures = cores_[core].figures;
  const Nanos begin = steady_now();
  bool has_run = false;
  IdleSpell spell;
  while (true) {
    // Read before looking for work: a wake that comes later is not slept through.
    const std::uint32_t seen = cores_sleeper_.seen();
    const bool found = take(core, has_run);
    has_run = false;
    if (state_ != State::running) break;
    if (link_.wire().posted()) {
      const Nanos t = steady_now();
      link_.wire().pump(false);
      const Nanos spent = steady_now() - t;
      figures.sending += spent;
      spell.last += spent;  // which is not idle time
    }
    if (found) {
      spell = spell.next();
      execute(core);
      has_run = true;
    } else {
      idle(core, seen, spell);
    }
  }
  figures.wall = steady_now() - begin;
}

bool NodeRun::take(std::uint32_t core, bool has_run) {
  Core& me = cores_[core];
  bool found = false;
  Wake wake = Wake::nobody;
  if (has_run) {
    prefetch_for_write(&event_time_);
    engine_.prefetch(me.work, core);
  }
  {
    const std::lock_guard lock(link_.mutex());
    const Nanos now = steady_now();
    const std::uint64_t n_events = n_events_;
    if (has_run) {
      me.since = kNever;
      event_time_ = now;
      event([&] { engine_.on_finished(port_, me.work); });
    }
    if (timer_at_ <= now) run_timer(now);
    if (state_ != State::running) return false;
    if (me.idle) --n_idle_;
    me.idle = false;
    try {
      found = engine_.next_work(core, me.work);
      if (found) me.since = now;
      // The next one who is free learns what this one left, when it has taken its own.
      if (n_events_ != n_events || found) wake = offer();
      if (!found) wake = std::max(wake, found_nothing(me, now));
    } catch (const std::exception& e) {
      fail(as_error(e));
    }
  }
  if (wake == Wake::all) cores_sleeper_.wake_all();
  if (wake == Wake::one) cores_sleeper_.wake_one();
  return found && state_ == State::running;
}

// Idle cores leave the lock alone until something was offered: one that looked after each event
// would be in the way of those that have work.
NodeRun::Wake NodeRun::offer() {
  if (n_idle_ == 0 || !engine_.more_work()) return Wake::nobody;
  offers_.fetch_add(1, std::memory_order_relaxed);
  if (!cores_sleeper_.anyone()) return Wake::nobody;
  return engine_.work_is_of_cores() ? Wake::all : Wake::one;
}

NodeRun::Wake NodeRun::found_nothing(Core& me, Nanos now) {
  me.idle = true;
  ++n_idle_;
  me.idle_epoch = n_events_;
  const std::uint64_t n_let_go = n_let_go_;
  look_for_end(now);
  if (n_let_go_ != n_let_go) {  // and this core does not sleep
    return cores_sleeper_.anyone() ? Wake::all : Wake::nobody;
  }
  // The end is found when every core has looked since the last event.
  const auto has_not_looked = [&](const Core& c) {
    return c.since == kNever && c.idle_epoch != n_events_;
  };
  const bool all = engine_.finished() && std::ranges::any_of(cores_, has_not_looked);
  if (all) offers_.fetch_add(1, std::memory_order_relaxed);
  me.offers = offers_.load(std::memory_order_relaxed);
  return all && cores_sleeper_.anyone() ? Wake::all : Wake::nobody;
}

void NodeRun::execute(std::uint32_t core) {
  Core& me = cores_[core];
  const Work work = me.work;
  const Nanos begin = steady_now();
  in_work_ = true;
  try {
    engine_.run(work, core);
  } catch (const std::exception& e) {
    in_work_ = false;
    const std::lock_guard lock(link_.mutex());
    fail(as_error(e));
  }
  in_work_ = false;
  const Nanos end = steady_now();
  me.work.took = end - begin;
  me.figures.add_busy(work.kind, end - begin);
  const Nanos mean = me.work_time.load(std::memory_order_relaxed);
  me.work_time.store(mean + (end - begin - mean) / kWorkTimeShare, std::memory_order_relaxed);
  if (options_.observer != nullptr) {
    options_.observer->on_work(link_.shape().node, core, work, begin, end);
  }
  if (!alone_ && end - link_.wire().last_poll() >= options_.poll_interval) {
    link_.wire().pump(true);
    me.figures.sending += steady_now() - end;
  }
}

NodeRun::IdleSpell NodeRun::IdleSpell::next() const {
  IdleSpell next;
  const Nanos waited = last - begin;
  if (waited < kYieldTimeMost) next.yield_time = waited > kYieldTime ? kYieldTimeMost : yield_time;
  return next;
}

void NodeRun::idle(std::uint32_t core, std::uint32_t seen, IdleSpell& spell) {
  // A look in vain between two rounds is part of being idle.
  if (spell.begin == 0) spell.begin = spell.last = steady_now();
  if (spell.yield_time == 0) spell.yield_time = kYieldTime;
  const bool polls = !polled_.exchange(true);
  std::uint32_t n_delivered = polls ? link_.wire().pump(true) : 0;
  Nanos now = steady_now();
  if (n_delivered == 0 && (spell.crowded || now - spell.begin >= spell.yield_time)) {
    cores_sleeper_.nap(seen, nap_time(polls, spell, now));
    ++spell.n_naps;
  }
  // Nothing can be found before the next offer, so the lock is left alone until then.
  while (n_delivered == 0 && spell.n_naps == 0 && !spell.crowded &&
         now - spell.begin < spell.yield_time && timer_at_ > now && state_ == State::running &&
         offers_.load(std::memory_order_relaxed) == cores_[core].offers) {
    sched_yield();
    const Nanos yielded = steady_now();
    spell.crowded = yielded - now > kCrowdedYield;
    if (polls) n_delivered = link_.wire().pump(true);
    now = steady_now();
  }
  if (polls) polled_ = false;
  CoreFigures& figures = cores_[core].figures;
  const Nanos spent = steady_now() - spell.last;
  spell.last += spent;
  (n_delivered > 0 ? figures.sending : figures.idle) += spent;
  if (n_delivered == 0) idle_.fetch_add(spent, std::memory_order_relaxed);
}

Nanos NodeRun::nap_time(bool polls, const IdleSpell& spell, Nanos now) const {
  Nanos time = kLongNap;
  if (polls && !alone_) {
    // Five microseconds longer each time: fast answers to short waits, few wake-ups in long ones.
    const Nanos grown = options_.nap_min + Nanos{spell.n_naps} * 5 * kMicrosecond;
    time = std::min(grown, options_.nap_max);
    if (spell.crowded && options_.crowded_nap_max > time) {
      time = std::clamp((now - spell.begin) / kWaitShare, time, options_.crowded_nap_max);
    }
  }
  const Nanos timer = timer_at_;
  return timer == kNever ? time : std::min(time, timer - steady_now());
}

// --- events, under the lock
// --------------------------------------------------------------------------

// The caller has set event_time_.
template <class F>
void NodeRun::event(F call) {
  if (state_ != State::running) return;
  ++n_events_;
  try {
    call();
  } catch (const std::exception& e) {
    fail(as_error(e));
  }
}

void NodeRun::start() {
  start_time_ = event_time_ = steady_now();
  if (link_.termination().state() != Termination::State::running) link_.termination().restart();
  link_.listen({[this](NodeId from, Bytes bytes) { on_message(from, std::move(bytes)); },
                [this](const Error& error) {
                  error_ = error;
                  failed_at_ = steady_now();
                  end(State::failed);
                }},
               [this] { event([&] { engine_.start(port_); }); });
}

void NodeRun::on_message(NodeId from, Bytes bytes) {
  ++counts_.n_received;
  counts_.bytes_received += bytes.size();
  event_time_ = steady_now();
  if (options_.observer != nullptr) {
    options_.observer->on_taken(link_.shape().node, from, bytes.size(), event_time_);
  }
  event([&] { engine_.on_message(port_, from, std::move(bytes)); });
  const Wake wake = offer();
  if (wake == Wake::all) cores_sleeper_.wake_all();
  if (wake == Wake::one) cores_sleeper_.wake_one();
}

void NodeRun::send(NodeId to, Bytes bytes) {
  ++counts_.n_sent;
  counts_.bytes_sent += bytes.size();
  if (options_.observer != nullptr) {
    options_.observer->on_sent(link_.shape().node, to, bytes.size(), event_time_);
  }
  link_.post_to_engine(to, std::move(bytes));
}

// Never exactly, however coarse the clock is.
Port::Came NodeRun::EnginePort::came() const noexcept {
  return {std::min(run_.link_.wire().last_empty(), run_.event_time_ - 1), run_.event_time_};
}

void NodeRun::EnginePort::wake_at(Nanos when) {
  if (when < run_.timer_at_) run_.timer_at_ = when;
}

void NodeRun::run_timer(Nanos now) {
  timer_at_ = kNever;
  event_time_ = now;
  event([&] { engine_.on_time(port_); });
}

bool NodeRun::passive() const {
  return std::all_of(cores_.begin(), cores_.end(), [&](const Core& core) {
    return core.since == kNever && core.idle_epoch == n_events_;
  });
}

void NodeRun::look_for_end(Nanos now) {
  if (collecting_) return;
  const bool finished = engine_.finished();
  // Timers of a finished engine keep nobody waiting.
  const bool may_wait =
      finished || (timer_at_ == kNever && now - event_time_ >= options_.suspect_after);
  const bool is_passive = may_wait && passive();
  for (;;) {
    switch (link_.termination().update(link_.control_port(), {counts_.n_sent, counts_.n_received,
                                                              is_passive, finished, n_let_go_})) {
      case Termination::State::running:
        return;
      case Termination::State::terminated:
        end(State::done);
        return;
      case Termination::State::quiet:
        link_.termination().resume();
        if (let_go()) return;
        break;
      case Termination::State::deadlocked:
        collect_waiting();
        return;
    }
  }
}

// Asked by a core that has found nothing. True if there is something now.
bool NodeRun::let_go() {
  bool goes_on = false;
  event([&] { goes_on = engine_.on_quiet(port_); });
  if (!goes_on) return false;
  ++n_let_go_;
  event_time_ = steady_now();
  offers_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// All nodes know of the deadlock; they put together who waits for what, and node 0 says it.
void NodeRun::collect_waiting() {
  collecting_ = true;
  struct Lines {
    static Bytes write(std::uint64_t n_waiting, const std::vector<std::string>& lines) {
      Writer out;
      out.put(n_waiting);
      out.put(static_cast<std::uint64_t>(lines.size()));
      for (const auto& line : lines)
        out.put_string(line);
      return out.take();
    }
    static std::uint64_t read(ByteView bytes, std::vector<std::string>& lines) {
      Reader in(bytes);
      const auto n_waiting = in.get<std::uint64_t>();
      const auto n_lines = in.get<std::uint64_t>();
      for (std::uint64_t i = 0; i < n_lines; ++i) {
        std::string line = in.get_string();
        if (lines.size() < kWaitingLinesMax) lines.push_back(std::move(line));
      }
      return n_waiting;
    }
  };
  std::vector<std::string> mine;
  if (!engine_.finished()) {
    const std::string reason = engine_.waiting_for();
    const NodeId node = link_.shape().node;
    mine.push_back("node " + std::to_string(node) + " (" + link_.fabric().host(node) +
                   ") waits for " + (reason.empty() ? "nothing it names" : reason));
  }
  link_.nodes().async_allreduce(
      link_.control_port(), link_.shape().node, Lines::write(mine.size(), mine),
      [](Bytes& into, ByteView later) {
        std::vector<std::string> lines;
        const std::uint64_t n = Lines::read(into, lines) + Lines::read(later, lines);
        into = Lines::write(n, lines);
      },
      [this](Port&, const Bytes& all) {
        if (link_.shape().node != 0) return;
        std::vector<std::string> lines;
        const std::uint64_t n = Lines::read(all, lines);
        std::string text = "deadlock: all cores are idle, no message is on its way, and " +
                           std::to_string(n) + " of " + std::to_string(link_.shape().n_nodes) +
                           " nodes wait:";
        for (const auto& line : lines)
          text += "\n  " + line;
        if (n > lines.size()) text += "\n  and " + std::to_string(n - lines.size()) + " more";
        link_.fail(Error(text, ExitCode::failed));
      });
}

void NodeRun::end(State state) {
  if (state_ != State::running) return;
  state_ = state;
  end_time_ = steady_now();
  cores_sleeper_.wake_all();
  server_sleeper_.wake_all();
}

void NodeRun::fail(const Error& error) {
  if (state_ != State::running) return;
  const NodeId node = link_.shape().node;
  link_.fail(
      alone_ ? error
             : error.in("node " + std::to_string(node) + " (" + link_.fabric().host(node) + ")"));
}

// --- the service thread
// ------------------------------------------------------------------------------

void NodeRun::serve() {
  const Nanos nap_max = alone_ ? kServeNapAlone : kServeNapMax;
  Nanos nap_time = alone_ ? kServeNapAlone : options_.serve_interval;
  Nanos watched_at = steady_now();
  lower_timer_slack();
  while (true) {
    const std::uint32_t seen = server_sleeper_.seen();
    if (n_threads_ == 0) return;
    server_sleeper_.nap(seen, nap_time);
    check_signal();
    const Nanos now = steady_now();
    if (state_ == State::failed) {
      if (now - failed_at_ > options_.stop_grace) {
        link_.fabric().abort(static_cast<int>(error_->code()), error_->what());
      }
      // Work is under way on the cores: the news must not wait for it.
      link_.wire().pump(true);
      nap_time = options_.serve_interval;
    }
    if (state_ != State::running) continue;
    if (timer_at_ <= now) {
      const std::lock_guard lock(link_.mutex());
      if (timer_at_ <= now) run_timer(now);
    }
    if (cores_are_deaf(now)) {
      link_.wire().pump(true);
      nap_time = alone_ ? nap_max : options_.serve_interval;
    } else {
      // The cores look for themselves: stay out of their way for longer and longer.
      nap_time = std::min(2 * nap_time, nap_max);
      if (link_.wire().posted()) link_.wire().pump(false);
    }
    if (now - watched_at > std::min(kWatchInterval, options_.busy_after)) {
      watched_at = now;
      check_busy(now);
    }
    if (options_.glance) show_glance(now);
  }
}

// No core looks for messages, nor will one soon. A core whose work is short looks often; one that
// has not for a while has lost its processor, which this thread would only keep from it for longer.
bool NodeRun::cores_are_deaf(Nanos now) const {
  const Nanos age = now - link_.wire().last_poll();
  const bool all_short = std::ranges::all_of(
      cores_, [&](const Core& core) { return core.work_time < options_.serve_interval / 2; });
  if (polled_ || all_short) return age > kServeNapMax;
  return age > options_.serve_interval;
}

void NodeRun::check_signal() {
  if (!options_.owns_process) return;
  const int number = SignalScope::received();
  if (number == 0 || state_ != State::running) return;
  const std::lock_guard lock(link_.mutex());
  link_.fail(error_of_signal(number));
}

void NodeRun::show_glance(Nanos now) {
  if (now - glanced_at_ < options_.glance_interval) return;
  glanced_at_ = now;
  RunGlance glance;
  glance.elapsed = now - start_time_;
  const double all = static_cast<double>(glance.elapsed) * static_cast<double>(cores_.size());
  if (all > 0) glance.waiting_share = std::min(1.0, static_cast<double>(idle_.load()) / all);
  options_.glance(glance);
}

void NodeRun::check_busy(Nanos now) {
  const std::lock_guard lock(link_.mutex());
  // Also those that have worked since the last look, but for the tenth that looking for work may take.
  const Nanos idle = idle_.load(std::memory_order_relaxed);
  const Nanos all = (now - busy_looked_at_) * static_cast<Nanos>(cores_.size());
  bool cores_work = busy_looked_at_ > 0 && idle - busy_idle_ < all / 10 * 9;
  busy_looked_at_ = now;
  busy_idle_ = idle;
  for (std::uint32_t core = 0; core < cores_.size(); ++core) {
    cores_work = cores_work || cores_[core].since != kNever;
    const std::string line =
        watchdog_.look(core, cores_[core].since, cores_[core].work, now, engine_);
    if (!line.empty()) report(line);
  }
  for (const std::string& line : watchdog_.look_beside(now, cores_work, engine_))
    report(line);
}

void NodeRun::report(const std::string& line) const {
  const std::string text =
      (alone_ ? "" : "node " + std::to_string(link_.shape().node) + ", ") + line;
  if (options_.report) {
    options_.report(text);
  } else {
    std::fprintf(stderr, "rubato: %s\n", text.c_str());
  }
}

// The cores of this node have stopped.
void NodeRun::leave_failed() {
  link_.leave_failed(*error_, std::max<Nanos>(failed_at_ + options_.stop_grace - steady_now(), 0));
  engine_.on_failed(*error_);
  throw *error_;  // NOLINT: a copy
}

NodeFigures NodeRun::figures() {
  NodeFigures out = counts_;
  out.node = link_.shape().node;
  out.host = link_.fabric().host(out.node);
  out.wall = end_time_ - start_time_;
  for (const auto& core : cores_)
    out.cores.push_back(core.figures);
  return out;
}

}  // namespace rubato::core::detail
