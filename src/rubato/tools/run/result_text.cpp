#include "rubato/tools/run/result_text.hpp"

#include <fmt/format.h>

#include "rubato/tools/build_info.hpp"
#include "rubato/tools/record/run_record.hpp"
#include "rubato/tools/run/report.hpp"

namespace rubato::tools {
namespace {

std::string settings_json(const ChosenModel& model) {
  io::JsonWriter json;
  json.begin_object();
  for (const auto& [name, text] : model.settings())
    json.field(name, text);
  json.end_object();
  return json.text();
}

}  // namespace

std::string report_of_run(const RunRequest& request, const RunOutcome& outcome,
                          const io::TableStyle& style) {
  const tick::RunResult& result = outcome.result;
  std::string text = node_table(result).to_text(style);
  const std::string straggler = straggler_line(result);
  if (!straggler.empty()) text += straggler + '\n';
  text += choice_lines(result);
  const std::string pieces = pieces_line(result, outcome.n_cores, request.sharing.n_pieces);
  if (!pieces.empty()) text += pieces + '\n';
  if (request.sharing.epoch > 0) text += epoch_line(result, request.sharing) + '\n';
  if (request.sharing.lending.on) text += lending_line(result) + '\n';
  if (outcome.skew) text += skew_lines(*outcome.skew, result.ticks - result.begin);
  const std::string stop = stop_line(result);
  if (!stop.empty()) text += stop + '\n';
  for (const auto& file : outcome.files)
    text += "wrote " + file + '\n';
  if (!request.checkpoint.folder.empty()) {
    text += outcome.n_checkpoints == 0
                ? "checkpoints: none, the run ended before\n"
                : fmt::format("checkpoints: {}, the last is {}\n", outcome.n_checkpoints,
                              outcome.last_checkpoint);
  }
  if (request.record != nullptr) text += "recorded in " + request.record->folder() + '\n';
  return text;
}

std::string result_of_run(const ChosenModel& model, const RunRequest& request,
                          const RunOutcome& outcome, const io::TableStyle& style) {
  const bool simulated = request.n_simulated > 0;
  const tick::RunResult& result = outcome.result;
  const auto plural = [](std::size_t n, const char* word) {
    return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
  };
  std::string text = outcome.findings ? outcome.findings->to_text(style) : "";
  return text +
         fmt::format("{} {}: {} ticks{} in {:.3f} s{}, {:.1f} ticks/s, {} of {}, checksum {}\n",
                     model.app().name(), policy_words(request.system, result), result.ticks,
                     result.begin > 0 ? fmt::format(", from tick {},", result.begin) : "",
                     static_cast<double>(result.wall) / kSecond,
                     simulated ? " of virtual time" : "", result.ticks_per_second(),
                     plural(result.nodes.size(), simulated ? "virtual node" : "node"),
                     plural(outcome.n_cores, "core"), shown_checksum(result.checksum));
}

std::string json_of_run(const ChosenModel& model, const RunRequest& request,
                        const RunOutcome& outcome) {
  io::JsonWriter json;
  json.begin_object()
      .field("model", model.app().name())
      .field("commit", commit())
      .key("parameters")
      .raw(settings_json(model))
      .field("simulated", request.n_simulated > 0)
      .field("n_nodes", outcome.result.nodes.size())
      .field("n_cores", outcome.n_cores)
      .field("seed", request.seed)
      .field("system", request.system)
      .field("pieces", outcome.result.n_pieces)
      .field("pieces_at_end", outcome.result.n_pieces_end)
      .field("balance",
             tick::name_of(outcome.sharing.moves() ? outcome.sharing.balance : tick::Balance::none))
      .field("epoch", request.sharing.epoch)
      .field("profile", request.profile);
  json.key("files").begin_array();
  for (const auto& file : outcome.files)
    json.value(file);
  json.end_array();
  if (request.record != nullptr) json.field("record", request.record->folder());
  if (!request.checkpoint.folder.empty()) {
    json.field("checkpoints", outcome.n_checkpoints).field("checkpoint", outcome.last_checkpoint);
  }
  if (outcome.findings) {
    json.key("findings");
    outcome.findings->to_json(json);
  }
  if (outcome.result.tuned) put_choices(json, outcome.result);
  if (outcome.skew) {
    json.key("skew");
    put_skew(json, *outcome.skew);
  }
  put_result(json, outcome.result, true);
  json.end_object();
  return json.text();
}

}  // namespace rubato::tools
