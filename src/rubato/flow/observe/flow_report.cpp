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

std::string lines(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts)
    all += text + "\n";
  return all;
}

}  // namespace

void put_result(io::JsonWriter& json, const FlowResult& result) {
  json.field("run", result.counters.n_run)
      .field("failed", result.counters.n_failed)
      .field("skipped", result.counters.n_skipped)
      .field("data", result.counters.n_data);
  json.key("journal")
      .begin_object()
      .field("done", result.journal.n_done)
      .field("new", result.journal.n_new)
      .field("again", result.journal.n_again)
      .field("problem", result.journal.problem);
  put_texts(json, "why", result.journal.why);
  json.end_object();
  put_texts(json, "failures", result.failures);
  put_texts(json, "waiting", result.waiting);
}

FlowReport* FlowReport::here() {
  return CoreContext::here().local_or_make<ReportPlace>().report;
}

void FlowReport::add_result(const FlowResult& result) {
  result_.counters.add(result.counters);
  result_.n_failures += result.n_failures;
  result_.n_data_held += result.n_data_held;
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
  if (!mark_.empty()) figures_.name_file(mark_, script_);
}

std::string FlowReport::text(const io::TableStyle& style) const {
  if (figures_.names.empty()) return "";
  return "\n" + names_table(figures_).to_text(style) + "\n" +
         slowest_table(figures_).to_text(style);
}

void FlowReport::put(io::JsonWriter& json) const {
  put_result(json, result_);
  put_figures(json, figures_);
}

void FlowReport::add(io::HtmlReport& page) const {
  if (figures_.names.empty() && result_.is_good()) return;
  const FlowCounters& counters = result_.counters;
  page.paragraph(std::to_string(counters.n_run) + " tasks ran, " +
                 std::to_string(counters.n_failed) + " failed, " +
                 std::to_string(counters.n_skipped) + " did not run since they need what failed.");
  if (!result_.failures.empty()) page.heading("What failed").code(lines(result_.failures));
  if (!result_.waiting.empty()) page.heading("What waits for ever").code(lines(result_.waiting));
  add_figures(page, figures_);
}

}  // namespace rubato::flow
