#include "rubato/flow/observe/flow_report.hpp"

namespace rubato::flow {
namespace {

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

core::Observer* FlowReport::observer(observe::Trace* next) {
  watch_ = std::make_unique<NodeWatch>(next);
  return &watch_->observer();
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
  const FlowCounters& counters = result_.counters;
  page.paragraph(std::to_string(counters.n_run) + " tasks ran, " +
                 std::to_string(counters.n_failed) + " failed, " +
                 std::to_string(counters.n_skipped) + " did not run since they need what failed.");
  if (!result_.failures.empty()) page.heading("What failed").code(lines(result_.failures));
  if (!result_.waiting.empty()) page.heading("What waits for ever").code(lines(result_.waiting));
  add_figures(page, figures_);
}

}  // namespace rubato::flow
