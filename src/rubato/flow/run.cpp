#include "rubato/flow/run.hpp"

#include <cstdlib>
#include <sstream>

#include "rubato/core/message/message_engine.hpp"
#include "rubato/flow/journal/equal_tasks.hpp"
#include "rubato/flow/journal/journal_lock.hpp"
#include "rubato/flow/observe/flow_report.hpp"
#include "rubato/global/main.hpp"
#include "rubato/global/reduce_cores.hpp"

namespace rubato::flow {
namespace {

// NOLINTNEXTLINE(cert-err58-cpp): before main
[[maybe_unused]] const bool kHasPart = global::register_report_part(
    []() -> std::unique_ptr<global::ReportPart> { return std::make_unique<FlowReport>(); });

constexpr std::size_t kTextsKept = 1000;  // of what waits, and of what failed
constexpr std::size_t kTextsShown = 20;
constexpr std::size_t kHeldShown = 3;  // places, in a line

void put_texts(Writer& out, const std::vector<std::string>& texts) {
  const std::size_t n = std::min(texts.size(), kTextsKept);
  out.put(static_cast<std::uint64_t>(n));
  for (std::size_t i = 0; i < n; ++i)
    out.put_string(texts[i]);
}
std::vector<std::string> get_texts(Reader& in) {
  std::vector<std::string> texts(in.get<std::uint64_t>());
  for (std::string& text : texts)
    text = in.get_string();
  return texts;
}

void add_texts(std::vector<std::string>& texts, const std::vector<std::string>& more) {
  const std::size_t n = std::min(more.size(), kTextsKept - std::min(texts.size(), kTextsKept));
  texts.insert(texts.end(), more.begin(), more.begin() + static_cast<std::ptrdiff_t>(n));
}

// What a core has to say at the end of a run, of which it forgets all.
FlowResult take_result() {
  Flow& flow = Flow::here();
  FlowResult mine;
  mine.counters = flow.counters();
  mine.n_failures = flow.n_failures();
  mine.failures = flow.failures();
  Leftovers left = flow.leftovers(kTextsKept);
  mine.waiting = std::move(left.texts);
  mine.n_waiting = left.n;
  mine.n_rules_waiting = left.n_rules;
  mine.n_data_awaited = left.n_data;
  mine.n_data_held = flow.n_data_held();
  mine.held = flow.held();
  mine.unset = flow.unset();
  const bool speaks_for_node = flow.core().core() == flow.core().shape().first_core();
  if (speaks_for_node && flow.journal() != nullptr) mine.journal = flow.journal()->counts();
  flow.begin_again();
  forget_equal_tasks(flow.core());
  return mine;
}

// Why a run cannot begin.
struct BeginProblem {
  std::string text;
};
struct SetBeginProblem {
  std::uint64_t unused = 0;
  void apply(CoreContext& here, ByteView bytes) const {
    Reader in(bytes);
    here.local_or_make<BeginProblem>().text = in.get_string();
  }
};
struct SetJournal {
  std::uint64_t address;  // of a core of this node
  void apply(CoreContext& /*here*/) const {
    Flow::here().set_journal(std::bit_cast<Journal*>(address));
  }
};

constexpr int kLooks = 50;
constexpr Nanos kLookPause = 100 * kMillisecond;

// By a task of the first core of a node.
void open_journal(const JournalOptions& options, CoreId asked_by) {
  CoreContext& here = CoreContext::here();
  // What the run has written may be seen a little later by others.
  const auto sees_it = [&] { return JournalLock::holder_in(options.folder) == options.holder; };
  for (int i = 0; i < kLooks && !here.run_native(sees_it, {core::NativeTime::brief}); ++i)
    here.tasks().wait_until(here.clock() + kLookPause);
  try {
    auto journal =
        here.run_native([&] { return std::make_unique<Journal>(options, here.shape().node); });
    const auto address = std::bit_cast<std::uint64_t>(journal.get());
    Flow::here().own_journal(std::move(journal));
    for (CoreId i = 0; i < here.shape().n_cores; ++i)
      here.post(here.core() + i, SetJournal{address});
  } catch (const Error& error) {
    Writer out;
    out.put_string(error.what());
    here.post(asked_by, SetBeginProblem{}, out.view());
  }
}

// What a core is to know of the run.
struct BeginRun {
  CoreId asked_by;
  void apply(CoreContext& here, ByteView bytes) const {
    Reader in(bytes);
    Flow::here().typed_pool().begin(Workers::get(in));
    JournalOptions journal{in.get_string()};
    journal.resume = in.get<std::uint32_t>() != 0;
    journal.run = in.get<std::uint32_t>();
    journal.holder = in.get_string();
    if (journal.folder.empty() || here.core() != here.shape().first_core()) return;
    here.spawn([journal, who = asked_by] { open_journal(journal, who); });
  }
};

void begin_run(CoreContext& here, const RunOptions& options) {
  Writer out;
  options.workers.put(out);
  out.put_string(options.journal.folder);
  out.put(static_cast<std::uint32_t>(options.journal.resume ? 1 : 0));
  out.put(options.journal.run);
  out.put_string(options.journal.holder);
  std::string& problem = here.local_or_make<BeginProblem>().text;
  problem.clear();
  const auto n_cores = static_cast<CoreId>(here.shape().n_cores_total());
  here.finish([&] { here.multicast(0, n_cores, BeginRun{here.core()}, out.view()); });
  if (problem.empty()) return;
  global::on_all_cores([] { Flow::here().cancel_run(); });
  throw Error(problem);
}

// The scopes of TypedPool::begin_units().
struct BeginUnits {
  core::FinishId units;
  core::FinishId around;
  void apply(CoreContext& /*here*/) const { Flow::here().typed_pool().begin_units(units, around); }
};
struct CloseUnits {
  std::uint64_t unused = 0;
  void apply(CoreContext& /*here*/) const { Flow::here().typed_pool().close_units(); }
};
struct EndUnits {
  std::uint64_t unused = 0;
  void apply(CoreContext& /*here*/) const { Flow::here().typed_pool().end_units(); }
};

// main() and all that it starts. Where tasks may wait for units, they get nothing more when all the
// others have ended; what they do then is waited for, too.
void finish_all(CoreContext& here, const std::function<void()>& main) {
  const auto run_main = [&main] {
    Throttle::Running frame(Flow::here().throttle(), 0, {});
    main();
    frame.settle();
  };
  if (TypedPool::n_kinds() == 0) return here.finish(run_main);
  const auto n_cores = static_cast<CoreId>(here.shape().n_cores_total());
  here.finish([&] {
    const core::FinishId around = here.scope();
    here.finish([&] {
      const core::FinishId units = here.scope();
      here.finish([&] { here.multicast(0, n_cores, BeginUnits{units, around}); });
      // A task, so that it may wait for units itself.
      here.spawn(run_main, {"main"});
    });
    Flow::here().typed_pool().close_units();
    // Who is told may put units at once, which are nobody's any more, wherever they are kept.
    here.finish([&] { here.multicast(0, n_cores, CloseUnits{}); });
    here.multicast(0, n_cores, EndUnits{});
  });
}

std::string from_environment(const char* name) {
  const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return text != nullptr ? text : "";
}

RunOptions options_of_environment() {
  RunOptions options;
  std::istringstream words(from_environment("RUBATO_WORKERS"));
  std::vector<std::string> all;
  for (std::string word; words >> word;)
    all.push_back(word);
  options.workers = Workers::parse(all);
  options.journal.folder = from_environment("RUBATO_RESUME");
  options.journal.resume = !options.journal.folder.empty();
  if (!options.journal.resume) options.journal.folder = from_environment("RUBATO_JOURNAL");
  return options;
}

// The first of so many.
std::string lines(const std::vector<std::string>& texts, std::uint64_t n_all) {
  std::string all;
  const std::size_t n_shown = std::min(texts.size(), kTextsShown);
  for (std::size_t i = 0; i < n_shown; ++i)
    all += "\n  " + texts[i];
  return n_all > n_shown ? all + "\n  and " + std::to_string(n_all - n_shown) + " more" : all;
}

// "3 tasks failed, 1 needs what was never set, 2 did not run since they need what failed"
std::string counts_text(const FlowResult& result) {
  const std::uint64_t n_never_set = result.counters.n_never_set;
  const std::uint64_t n_failed = result.n_failures - n_never_set;
  const std::uint64_t n_skipped = result.n_not_run();
  std::string all;
  if (n_failed > 0)
    all = std::to_string(n_failed) + (n_failed == 1 ? " task failed" : " tasks failed");
  if (n_never_set > 0) {
    all += (all.empty() ? "" : ", ") + std::to_string(n_never_set) +
           (n_never_set == 1 ? " task needs" : " tasks need") + " what was never set";
  }
  if (n_skipped > 0) {
    all += ", " + std::to_string(n_skipped) + " did not run since they need what " +
           (n_failed > 0 ? "failed" : "these were to set");
  }
  return all;
}

// "3 rules wait for ever for 2 data that are not set"
std::string waiting_text(const FlowResult& result) {
  const std::uint64_t n_rules = result.n_rules_waiting;
  const std::uint64_t n_data = result.n_data_awaited;
  if (n_rules == 0) return "these wait for ever";
  std::string all = std::to_string(n_rules) + (n_rules == 1 ? " rule waits" : " rules wait");
  all += " for ever for " + std::to_string(n_data) +
         (n_data == 1 ? " datum that is not set" : " data that are not set");
  return result.n_waiting > n_rules ? all + ", and others beside" : all;
}

}  // namespace

FlowResult result_so_far(core::MessageEngine& engine, const core::JobShape& shape) {
  FlowResult all;
  for (std::uint32_t local = 0; local < shape.n_cores; ++local) {
    const Flow* const flow = engine.core(local).local_or_make<FlowPlace>().flow;
    if (flow == nullptr) continue;
    FlowResult mine;
    mine.counters = flow->counters();
    mine.n_failures = flow->n_failures();
    mine.failures = flow->failures();
    all.add(mine);
  }
  return all;
}

WorkType work_type(std::string_view name) {
  return Flow::here().typed_pool().workers().type(name);
}

FlowResult run(const std::function<void()>& main, const RunOptions& options) {
  CoreContext& here = CoreContext::here();
  FlowResult all;
  const bool has_journal = !options.journal.folder.empty();
  if (has_journal && options.journal.run == 0) {
    return run(main, {options.workers, Flow::here().take_journal(options.journal)});
  }
  if (has_journal || !options.workers.empty()) begin_run(here, options);
  finish_all(here, [&] {
    try {
      main();
    } catch (const std::exception& error) {
      if (const auto* known = dynamic_cast<const Error*>(&error)) all.code = known->code();
      Flow::here().note_failure(std::string("main: ") + error.what());
    }
  });
  const auto add = [](FlowResult lower, const FlowResult& higher) {
    lower.add(higher);
    return lower;
  };
  all.add(global::reduce_cores([] { return take_result(); }, add));
  if (has_journal && all.is_good()) Journal::drop_older_files(options.journal);
  Flow::here().leave_journal();
  if (FlowReport* const report = FlowReport::here()) report->add_result(all);
  return all;
}

void FlowResult::add(const FlowResult& other) {
  counters.add(other.counters);
  n_failures += other.n_failures;
  n_waiting += other.n_waiting;
  n_rules_waiting += other.n_rules_waiting;
  n_data_awaited += other.n_data_awaited;
  n_data_held += other.n_data_held;
  held.add(other.held);
  unset.add(other.unset);
  add_texts(failures, other.failures);
  add_texts(waiting, other.waiting);
  journal.add(other.journal);
}

void FlowResult::put(Writer& out) const {
  out.put(counters);
  out.put(n_failures);
  out.put(n_waiting);
  out.put(n_rules_waiting);
  out.put(n_data_awaited);
  out.put(n_data_held);
  held.put(out);
  unset.put(out);
  put_texts(out, failures);
  put_texts(out, waiting);
  journal.put(out);
}

FlowResult FlowResult::get(Reader& in) {
  FlowResult result;
  result.counters = in.get<FlowCounters>();
  result.n_failures = in.get<std::uint64_t>();
  result.n_waiting = in.get<std::uint64_t>();
  result.n_rules_waiting = in.get<std::uint64_t>();
  result.n_data_awaited = in.get<std::uint64_t>();
  result.n_data_held = in.get<std::uint64_t>();
  result.held = HeldPlaces::get(in);
  result.unset = HeldPlaces::get(in);
  result.failures = get_texts(in);
  result.waiting = get_texts(in);
  result.journal = JournalCounts::get(in);
  return result;
}

std::uint64_t FlowResult::n_not_run() const noexcept {
  const std::uint64_t n_others = counters.n_never_set + counters.n_steps_skipped;
  return counters.n_skipped - std::min(counters.n_skipped, n_others);
}

std::string FlowResult::summary() const {
  std::string all = std::to_string(n_tasks()) + (n_tasks() == 1 ? " task, " : " tasks, ");
  all += std::to_string(n_failures) + " failed, " + std::to_string(n_not_run()) + " not run";
  const std::uint64_t n_steps = counters.n_steps_skipped;
  if (n_steps == 0) return all;
  return all + " (nor " + std::to_string(n_steps) + (n_steps == 1 ? " rule" : " rules") +
         " beside them)";
}

std::string FlowResult::text() const {
  std::string all;
  if (n_failures > 0) {
    all += counts_text(*this) + ":" + lines(failures, n_failures);
  }
  if (!waiting.empty()) {
    if (!all.empty()) all += "\n";
    all += "nothing goes on any more, and " + waiting_text(*this) + ":" + lines(waiting, n_waiting);
  }
  return all;
}

std::string FlowResult::leak_text() const {
  if (n_data_held == 0 || !waiting.empty()) return "";
  std::string all = std::to_string(n_data_held) +
                    (n_data_held == 1 ? " datum was not freed: " : " data were not freed: ");
  std::uint64_t n_told = 0;
  const std::vector<HeldPlace> places = held.most_first();
  for (std::size_t i = 0; i < std::min(places.size(), kHeldShown); ++i) {
    n_told += places[i].n;
    all += (i == 0 ? "" : ", ") + places[i].text();
  }
  return n_told < n_data_held ? all + ", and " + std::to_string(n_data_held - n_told) + " more"
                              : all;
}

std::string FlowResult::unset_text() const {
  const std::uint64_t n_all = counters.n_unset;
  if (n_all == 0) return "";
  std::string all =
      std::to_string(n_all) + (n_all == 1 ? " datum was never set, and nothing needed it:"
                                          : " data were never set, and nothing needed them:");
  const std::vector<HeldPlace> places = unset.most_first();
  std::uint64_t n_told = 0;
  for (std::size_t i = 0; i < std::min(places.size(), kTextsShown); ++i) {
    const HeldPlace& each = places[i];
    n_told += each.n;
    all += "\n  " + (each.what.empty() ? "that" : each.what) + " of " + each.place +
           (each.n > 1 ? ", " + std::to_string(each.n) + " times" : "");
  }
  return n_told < n_all ? all + "\n  and " + std::to_string(n_all - n_told) + " more" : all;
}

void FlowResult::check() const {
  if (is_good()) return;
  throw Error(text(), n_failures > 0 ? code : ExitCode::failed);
}

int run_main(const std::function<void()>& main, const global::ProgramOptions& options,
             SourcePlace at) {
  const auto run_checked = [&] {
    const FlowResult result = run(main, options_of_environment());
    // A report of a run that was not good is said before the program ends with that.
    if (FlowReport* const report = FlowReport::here()) return report->must_be_good();
    result.check();
  };
  return global::run_main(run_checked, options, at);
}

}  // namespace rubato::flow
