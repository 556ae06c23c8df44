#pragma once
// FlowReport: what is said of a flow beside the figures of its program: its tasks, what failed and
// what waits.

#include "rubato/flow/observe/flow_figures.hpp"
#include "rubato/flow/observe/node_watch.hpp"
#include "rubato/flow/run.hpp"
#include "rubato/global/report.hpp"

namespace rubato::flow {

class FlowReport final : public global::ReportPart {
 public:
  // That of the program that the caller is a task of; null if nobody asked for one.
  [[nodiscard]] static FlowReport* here();

  // On the node that runs main: what came of all flows so far, or of one more; and that a failure of
  // any is one of the program.
  void set_result(FlowResult result) { result_ = std::move(result); }
  void add_result(const FlowResult& result);
  void must_be_good() noexcept { must_be_good_ = true; }
  // From any thread, from attach() on: of this node.
  [[nodiscard]] TaskCounts counts() const noexcept {
    return watch_ ? watch_->counts() : TaskCounts{};
  }

  [[nodiscard]] core::Observer* observer(core::Observer* next, observe::Trace* trace) override;
  void attach(core::MessageEngine& engine, const core::JobShape& shape) override;
  // The same for counts() alone; observer() is not needed.
  void attach_counts(core::MessageEngine& engine, const core::JobShape& shape);
  [[nodiscard]] Bytes pack() const override { return watch_ ? watch_->pack() : Bytes{}; }
  void take(const std::vector<Bytes>& parts) override;
  [[nodiscard]] std::string text(const io::TableStyle& style) const override;
  // The fields of put_result(), and those of put_figures().
  void put(io::JsonWriter& json) const override;
  void add(io::HtmlReport& page) const override;
  void check() const override {
    if (must_be_good_) result_.check();
  }

 private:
  std::unique_ptr<NodeWatch> watch_;
  FlowResult result_;
  bool must_be_good_ = false;
  FlowFigures figures_;
};

// The fields run, tasks, rules, failed, skipped, never_set, data, journal, failures, waiting,
// rules_waiting, data_awaited, not_freed and unset of a result, into an open object.
void put_result(io::JsonWriter& json, const FlowResult& result);

}  // namespace rubato::flow
