#include "rubato/flow/observe/flow_report.hpp"

namespace rubato::flow {
namespace {

// Of a core.
struct ReportPlace {
  FlowReport* report = nullptr;
};

void put_texts(io::JsonWriter& json, const char* name, const std::vector<std::string>& texts) {
  json.key(name).begin_array();
  for (const std::string& text : texts)
    json.value(text);
  json.end_array();
}

// The first of so many.
std::string lines(const std::vector<std::string>& texts, std::uint64_t n_all) {
  std::string all;
  for (const std::string& text : texts)
    all += text + "\n";
  return n_all > texts.size() ? all + "and " + std::to_string(n_all - texts.size()) + " more\n"
                              : all;
}

std::string held_text(const FlowResult& result) {
  const std::uint64_t n = result.n_data_held;
  return std::to_string(n) + (n == 1 ? " datum was" : " data were") + " not freed at the end" +
         (result.waiting.empty()
              ? ": handles of the program, or of what they hold."
              : ". Rules that wait for ever hold what they wait for and what they would set.");
}

io::Table held_table(const FlowResult& result) {
  io::Table table({{"not freed"}, {"kind"}, {"made by"}, {"number"}, {"members"}});
  std::uint64_t n_told = 0;
  for (const HeldPlace& held : result.held.most_first()) {
    n_told += held.n;
    table.row()
        .text(held.what)
        .text(held.kind)
        .text(held.place)
        .integer(static_cast<std::int64_t>(held.n));
    if (held.n_members > 0) table.integer(static_cast<std::int64_t>(held.n_members));
  }
  if (n_told == result.n_data_held) return table;
  const auto n_more = static_cast<std::int64_t>(result.n_data_held - n_told);
  table.row().text("others").empty().empty().integer(n_more);
  return table;
}

}  // namespace

void put_result(io::JsonWriter& json, const FlowResult& result) {
  json.field("run", result.counters.n_run)
      .field("tasks", result.n_tasks())
      .field("rules", result.counters.n_steps)
      .field("failed", result.n_failures)
      .field("skipped", result.n_not_run())
      .field("rules_skipped", result.counters.n_steps_skipped)
      .field("never_set", result.counters.n_never_set)
      .field("data", result.counters.n_data);
  json.key("journal")
      .begin_object()
      .field("done", result.journal.n_done)
      .field("new", result.journal.n_new)
      .field("again", result.journal.n_again)
      .field("problem", result.journal.problem)
      .field("why_in", result.journal.why_in);
  put_texts(json, "why", result.journal.why);
  json.end_object();
  put_texts(json, "failures", result.failures);
  put_texts(json, "waiting", result.waiting);
  json.field("rules_waiting", result.n_rules_waiting).field("data_awaited", result.n_data_awaited);
  json.key("not_freed").begin_object().field("number", result.n_data_held);
  json.key("places").begin_array();
  for (const HeldPlace& held : result.held.most_first()) {
    json.begin_object()
        .field("what", held.what)
        .field("kind", held.kind)
        .field("place", held.place)
        .field("number", held.n)
        .field("members", held.n_members)
        .end_object();
  }
  json.end_array().end_object();
  json.key("unset").begin_object().field("number", result.counters.n_unset);
  json.key("places").begin_array();
  for (const HeldPlace& unset : result.unset.most_first()) {
    json.begin_object()
        .field("what", unset.what)
        .field("place", unset.place)
        .field("number", unset.n)
        .end_object();
  }
  json.end_array().end_object();
}

FlowReport* FlowReport::here() {
  return CoreContext::here().local_or_make<ReportPlace>().report;
}

void FlowReport::add_result(const FlowResult& result) {
  result_.counters.add(result.counters);
  result_.n_failures += result.n_failures;
  result_.n_waiting += result.n_waiting;
  result_.n_rules_waiting += result.n_rules_waiting;
  result_.n_data_awaited += result.n_data_awaited;
  result_.n_data_held += result.n_data_held;
  result_.held.add(result.held);
  result_.unset.add(result.unset);
  const auto append = [](std::vector<std::string>& to, const std::vector<std::string>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(result_.failures, result.failures);
  append(result_.waiting, result.waiting);
  result_.journal.add(result.journal);
  if (result.n_failures > 0) result_.code = result.code;
}

core::Observer* FlowReport::observer(core::Observer* next, observe::Trace* trace) {
  watch_ = std::make_unique<NodeWatch>(next, trace);
  return &watch_->observer();
}

void FlowReport::attach(core::MessageEngine& engine, const core::JobShape& shape) {
  watch_->attach(engine, shape);
  for (std::uint32_t local = 0; local < shape.n_cores; ++local)
    engine.core(local).local_or_make<ReportPlace>().report = this;
}

void FlowReport::attach_counts(core::MessageEngine& engine, const core::JobShape& shape) {
  watch_ = std::make_unique<NodeWatch>(nullptr);
  watch_->attach(engine, shape, WatchDepth::counts);
}

void FlowReport::take(const std::vector<Bytes>& parts) {
  figures_ = FlowFigures::of(parts);
}

std::string FlowReport::text(const io::TableStyle& style) const {
  std::string all;
  if (!figures_.names.empty()) {
    all =
        "\n" + names_table(figures_).to_text(style) + "\n" + slowest_table(figures_).to_text(style);
  }
  if (result_.n_data_held > 0)
    all += "\n" + held_text(result_) + "\n" + held_table(result_).to_text(style);
  return all;
}

void FlowReport::put(io::JsonWriter& json) const {
  put_result(json, result_);
  put_figures(json, figures_);
}

void FlowReport::add(io::HtmlReport& page) const {
  const bool has_notes = result_.n_data_held > 0 || result_.counters.n_unset > 0;
  if (figures_.names.empty() && result_.is_good() && !has_notes) return;
  const std::uint64_t n_rules = result_.counters.n_steps;
  const std::uint64_t n_steps_skipped = result_.counters.n_steps_skipped;
  page.paragraph(std::to_string(result_.n_tasks()) + " tasks ran, " +
                 std::to_string(result_.n_failures) + " failed, " +
                 std::to_string(result_.n_not_run()) +
                 " did not run since they need what failed or was never set." +
                 (n_rules == 0 ? "" : " Beside them ran " + std::to_string(n_rules) + " rules.") +
                 (n_steps_skipped == 0
                      ? ""
                      : " Of these, " + std::to_string(n_steps_skipped) + " more did not run."));
  if (!result_.failures.empty())
    page.heading("What failed").code(lines(result_.failures, result_.n_failures));
  if (!result_.waiting.empty()) {
    page.heading("What waits for ever")
        .paragraph(std::to_string(result_.n_rules_waiting) + " rules, for " +
                   std::to_string(result_.n_data_awaited) + " data that are not set.")
        .code(lines(result_.waiting, result_.n_waiting));
  }
  if (const std::string unset = result_.unset_text(); !unset.empty())
    page.heading("What was never set, and not needed").code(unset + "\n");
  if (result_.n_data_held > 0) {
    page.heading("What was not freed").paragraph(held_text(result_)).table(held_table(result_));
  }
  add_figures(page, figures_);
}

}  // namespace rubato::flow
