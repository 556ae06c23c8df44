#include "rubato/tools/run/report.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace rubato::tools {
namespace {

struct Shares {
  double stepping = 0;
  double replicas = 0;
  double waiting = 0;
  double sending = 0;
  double own = 0;
};

Shares shares_of(const core::NodeFigures& node) {
  const core::CoreFigures sum = node.total();
  const auto busy = [&](std::uint32_t kind) {
    return kind < sum.busy.size() ? sum.busy[kind] : Nanos{0};
  };
  const double all = sum.wall > 0 ? static_cast<double>(sum.wall) : 1;
  Shares shares;
  shares.stepping =
      static_cast<double>(busy(tick::step_own) + busy(tick::interact_own) + busy(tick::step_lent)) /
      all;
  shares.replicas = static_cast<double>(busy(tick::step_replica)) / all;
  shares.waiting = static_cast<double>(sum.idle) / all;
  shares.sending =
      static_cast<double>(busy(tick::pack_round) + busy(tick::unpack_round) +
                          busy(tick::move_state) + busy(tick::take_back) + sum.sending) /
      all;
  shares.own = static_cast<double>(sum.own()) / all;
  return shares;
}

std::string node_name(const core::NodeFigures& node) {
  return std::to_string(node.node) + (node.host.empty() ? "" : " (" + node.host + ")");
}

// At its peak; of a virtual node, which has no process of its own, the state alone.
std::uint64_t held_bytes(const tick::NodeResult& node) {
  return node.peak_bytes > 0 ? node.peak_bytes : node.state_bytes;
}

// The nodes in the order of the table.
std::vector<const tick::NodeResult*> shown_nodes(const tick::RunResult& result) {
  std::vector<const tick::NodeResult*> nodes;
  for (const auto& node : result.nodes)
    nodes.push_back(&node);
  if (nodes.size() > kTableNodesMax) {
    std::ranges::stable_sort(nodes, {},
                             [](const auto* node) { return shares_of(node->time).waiting; });
    nodes.resize(kTableNodesMax);
  }
  return nodes;
}

// The node that waits clearly less than the others do: they wait for it. Null if there is none: all
// wait alike, for the network.
const tick::NodeResult* straggler_of(const tick::RunResult& result) {
  if (result.nodes.size() < 2) return nullptr;
  const auto waiting = [](const auto& node) { return shares_of(node.time).waiting; };
  const auto least = std::ranges::min_element(result.nodes, {}, waiting);
  double others = 0;
  for (const auto& node : result.nodes)
    others += waiting(node);
  others = (others - waiting(*least)) / static_cast<double>(result.nodes.size() - 1);
  return others - waiting(*least) >= kStragglerMargin ? &*least : nullptr;
}

// The node that stood still for longest for want of another's rounds.
struct LatestRounds {
  const core::NodeFigures* at = nullptr;
  tick::NodeId of = 0;
  double share = 0;  // of the run
};
LatestRounds latest_rounds(const tick::RunResult& result) {
  LatestRounds latest;
  for (const auto& node : result.nodes) {
    for (const tick::Lateness& late : node.work.late) {
      const double share =
          static_cast<double>(late.time) / static_cast<double>(std::max<Nanos>(node.time.wall, 1));
      if (share > latest.share) latest = {&node.time, late.of, share};
    }
  }
  return latest;
}

void put_node(io::JsonWriter& json, const tick::NodeResult& node) {
  const Shares shares = shares_of(node.time);
  json.begin_object()
      .field("node", node.time.node)
      .field("host", node.time.host)
      .field("wall_s", static_cast<double>(node.time.wall) / kSecond)
      .field("stepping", shares.stepping)
      .field("replicas", shares.replicas)
      .field("waiting", shares.waiting)
      .field("sending", shares.sending)
      .field("own", shares.own)
      .field("messages", node.time.n_sent)
      .field("bytes", node.time.bytes_sent)
      .field("own_units", node.work.own_units)
      .field("replica_units", node.work.replica_units)
      .field("steps_lent", node.work.steps_lent)
      .field("ticks_ahead", node.work.most_ahead)
      .field("state_bytes", node.state_bytes)
      .field("peak_bytes", node.peak_bytes)
      .end_object();
}

std::string time_words(double ns) {
  if (ns < 1e4) return fmt::format("{:.1f} us", ns / 1e3);
  if (ns < 1e6) return fmt::format("{:.0f} us", ns / 1e3);
  return ns < 1e8 ? fmt::format("{:.2f} ms", ns / 1e6) : fmt::format("{:.0f} ms", ns / 1e6);
}

std::string imbalance_words(const tick::Imbalance& of) {
  return fmt::format("{:.3f} in the mean, {:.3f} at tick {}", of.mean, of.at_worst, of.worst);
}

void put_imbalance(io::JsonWriter& json, const tick::Imbalance& of, std::size_t stride) {
  json.begin_object().field("mean", of.mean).field("worst", of.at_worst);
  json.field("worst_tick", of.worst).key("by_tick").begin_array();
  for (std::size_t t = 0; t < of.by_tick.size(); t += stride)
    json.value(of.by_tick[t]);
  json.end_array().end_object();
}

}  // namespace

std::string shown_checksum(std::uint64_t checksum) {
  return fmt::format("{:016x}", checksum);
}

io::Table node_table(const tick::RunResult& result) {
  io::Table table({{"node"},
                   {"stepping", 1, " %"},
                   {"replicas", 1, " %"},
                   {"waiting", 1, " %"},
                   {"sending", 1, " %"},
                   {"own", 2, " %"},
                   {"messages"},
                   {"MB sent", 3},
                   {"ahead"},
                   {result.nodes.front().peak_bytes > 0 ? "MB peak" : "MB state", 1}});
  const tick::NodeResult* straggler = straggler_of(result);
  for (const tick::NodeResult* node : shown_nodes(result)) {
    const Shares shares = shares_of(node->time);
    table.row()
        .text(node_name(node->time))
        .number(100 * shares.stepping)
        .number(100 * shares.replicas)
        .number(100 * shares.waiting)
        .number(100 * shares.sending)
        .number(100 * shares.own)
        .integer(static_cast<std::int64_t>(node->time.n_sent))
        .number(static_cast<double>(node->time.bytes_sent) / 1e6)
        .integer(node->work.most_ahead)
        .number(static_cast<double>(held_bytes(*node)) / 1e6);
    if (node == straggler) table.highlight();
  }
  return table;
}

std::string straggler_line(const tick::RunResult& result) {
  if (result.nodes.size() < 2) return "";
  std::string line = "straggler: none";
  const tick::NodeResult* straggler = straggler_of(result);
  if (straggler != nullptr) {
    line = fmt::format("straggler: node {}, waiting {:.1f} %, the least of all",
                       node_name(straggler->time), 100 * shares_of(straggler->time).waiting);
  }
  const LatestRounds latest = latest_rounds(result);
  if (latest.at == nullptr) return line;
  if (straggler == nullptr) line += ", all nodes wait alike";
  // A node whose messages are late waits itself: it shows here alone.
  return line + fmt::format(
                    "; the longest wait on one link is that of node {} for messages of node {}, "
                    "{:.1f} % of the run",
                    node_name(*latest.at), latest.of, 100 * latest.share);
}

std::string pieces_line(const tick::RunResult& result, std::uint32_t n_cores,
                        std::uint32_t wanted) {
  if (result.n_pieces == 0) return "";
  std::string line = fmt::format("pieces: {}", result.n_pieces);
  // About as many: worlds are cut into rows and columns.
  if (wanted != tick::kGoodPieces) {
    if (result.n_pieces >= wanted - wanted / 4) return line;
    return line + fmt::format(" in place of {}: this model has no room for more", wanted);
  }
  const std::uint64_t n_workers = std::uint64_t{n_cores} * result.nodes.size();
  // Of a model that is cut again there are none from then on.
  const bool changed = result.n_pieces_end != result.n_pieces && result.n_pieces_end > 0;
  if (changed) line += fmt::format(", {} at the end", result.n_pieces_end);
  return line + fmt::format(
                    ", chosen for {} core{}{} the size of the model{}; --pieces says "
                    "another number",
                    n_workers, n_workers == 1 ? "" : "s in all", changed ? "," : " and",
                    changed ? " and what pieces cost" : "");
}

std::string epoch_line(const tick::RunResult& result, const tick::SharingOptions& sharing) {
  if (result.n_epochs() == 0) {
    const tick::Tick first = (result.begin / sharing.epoch + 1) * sharing.epoch;
    if (sharing.moves() && first >= result.ticks) {
      return fmt::format(
          "epochs: none, so nothing was balanced: the first is at tick {}, and the run ended at "
          "tick {}; --epoch says how many ticks apart they are, here {}",
          first, result.ticks, sharing.epoch);
    }
    return std::string("epochs: none, ") +
           (sharing.moves() ? "there was nothing to move" : "since balance is none");
  }
  Nanos longest = 0;
  for (const auto& node : result.nodes)
    longest = std::max(longest, node.moved.time);
  const double all = result.wall > 0 ? static_cast<double>(result.wall) : 1;
  const std::string pieces =
      result.pieces_moved() > 0 ? fmt::format("{} pieces moved, ", result.pieces_moved()) : "";
  return fmt::format("epochs: {}, {}{:.3f} MB between nodes, in {:.1f} % of the time",
                     result.n_epochs(), pieces, static_cast<double>(result.bytes_moved()) / 1e6,
                     100 * static_cast<double>(longest) / all);
}

std::string lending_line(const tick::RunResult& result) {
  std::int64_t n_units = 0;
  std::int64_t n_lent = 0;
  for (const auto& node : result.nodes) {
    n_units += node.work.own_units;
    n_lent += node.work.steps_lent;
  }
  return fmt::format("lent: {} of {} steps were run by nodes that had nothing to do", n_lent,
                     n_units);
}

std::string policy_words(const std::string& system, const tick::RunResult& result) {
  const tick::Policy& last = result.choices.empty() ? result.policy : result.choices.back().policy;
  return system.empty() ? last.to_string() : system + " (" + last.to_string() + ")";
}

std::string choice_lines(const tick::RunResult& result) {
  if (!result.tuned) return "";
  if (result.choices.empty()) {
    return fmt::format("auto: {} to the end; {}\n", result.policy.to_string(),
                       result.nodes.size() == 1 ? "one node waits for nobody"
                                                : "the run ended before the first epoch");
  }
  std::string text;
  for (const tick::Choice& choice : result.choices) {
    const bool cuts = choice.n_pieces > 0 && choice.n_pieces != result.n_pieces;
    const bool changes = choice.policy != result.policy || choice.balanced || cuts;
    text += fmt::format(
        "auto: from tick {} on {}{}{}, since a tick should take {}", choice.tick,
        choice.policy.to_string(), choice.balanced ? " with its work balanced at epochs" : "",
        cuts ? fmt::format(" in {} pieces", choice.n_pieces) : "", time_words(choice.tick_time));
    if (!changes) text += " and no other policy clearly less";
    if (changes && choice.first > 0) {
      text += fmt::format(" in place of {} under {}", time_words(choice.first),
                          result.policy.to_string());
    }
    text += fmt::format(": a node's own work is {} of it, the slowest's {:.0f} % more",
                        time_words(choice.step), 100 * choice.imbalance);
    // Once: later ones differ little, and --json has them all.
    if (&choice == &result.choices.front()) {
      text += fmt::format(", its pieces cost {} each with a deviation of {:.0f} % and {} at most",
                          time_words(choice.pieces.mean()), 100 * choice.pieces.deviation(),
                          time_words(choice.pieces.largest));
    }
    text += fmt::format(", and of 100 messages 1 is later than {}\n", time_words(choice.late));
  }
  return text;
}

void put_choices(io::JsonWriter& json, const tick::RunResult& result) {
  json.key("auto").begin_array();
  for (const tick::Choice& choice : result.choices) {
    json.begin_object()
        .field("tick", choice.tick)
        .field("policy", choice.policy.to_string())
        .field("balanced", choice.balanced)
        .field("pieces", choice.n_pieces)
        .field("tick_s", choice.tick_time / 1e9)
        .field("before_s", choice.before / 1e9)
        .field("step_s", choice.step / 1e9)
        .field("imbalance", choice.imbalance)
        .field("piece_s", choice.pieces.mean() / 1e9)
        .field("piece_deviation", choice.pieces.deviation())
        .field("piece_most_s", choice.pieces.largest / 1e9)
        .field("late_s", choice.late / 1e9)
        .key("candidates")
        .begin_array();
    for (const tick::Expected& candidate : choice.candidates) {
      json.begin_object()
          .field("policy", candidate.policy.to_string())
          .field("balanced", candidate.balanced)
          .field("pieces", candidate.n_pieces)
          .field("tick_s", candidate.tick_time / 1e9)
          .end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

// Both lambdas along the run: means of stretches of ticks, of which there are ten at most.
std::string skew_by_tick(const tick::SkewFigures& skew) {
  constexpr std::size_t kStretchesMost = 10;
  const std::size_t stretch = (skew.n_ticks + kStretchesMost - 1) / kStretchesMost;
  std::string ticks = stretch == 1 ? "skew: tick        " : "skew: from tick   ";
  std::string lambda_l = "skew:   lambda_L  ";
  std::string lambda_c = "skew:   lambda_C  ";
  const auto mean = [](const std::vector<double>& values, std::size_t first, std::size_t last) {
    double sum = 0;
    for (std::size_t t = first; t < last; ++t)
      sum += values[t];
    return sum / static_cast<double>(last - first);
  };
  for (std::size_t t = 0; t < skew.n_ticks; t += stretch) {
    const std::size_t last = std::min(t + stretch, skew.n_ticks);
    ticks += fmt::format(" {:>6}", skew.begin + static_cast<tick::Tick>(t));
    lambda_l += fmt::format(" {:>6.2f}", mean(skew.computation.by_tick, t, last));
    lambda_c += fmt::format(" {:>6.2f}", mean(skew.communication.by_tick, t, last));
  }
  return ticks + "\n" + lambda_l + "\n" + lambda_c + "\n";
}

std::string skew_lines(const tick::SkewFigures& skew, tick::Tick n_ticks) {
  if (skew.n_ticks == 0) return "";
  const auto n_seen = static_cast<tick::Tick>(skew.n_ticks);
  const std::string part =
      n_seen < n_ticks ? fmt::format(", of the first {} ticks", n_seen) : std::string();
  std::string text = fmt::format(
      "skew: of stepping, lambda_L {}; of messages, lambda_C {}{}\n"
      "skew: {:.1f} % of stepping ran ahead of inputs that were missing\n",
      imbalance_words(skew.computation), imbalance_words(skew.communication), part,
      100 * skew.asynchronous_share);
  text += skew_by_tick(skew);
  if (const std::optional<double> absorbed = skew.absorbed()) {
    text += fmt::format(
        "skew: its steps take {:.4g} s shared evenly, {:.4g} s with a barrier at each tick; "
        "the run took {:.4g} s: skew absorbed {}\n",
        skew.even_s, skew.barriers_s, skew.span_s,
        *absorbed > 0 ? fmt::format("{:.1f} %", 100 * *absorbed) : std::string("none"));
  }
  if (skew.completion.empty()) return text;
  text += fmt::format("skew: when tick {} was done,", skew.completion_tick);
  for (const double share : skew.completion)
    text += fmt::format(" {:.1f} %{}", 100 * share, &share == &skew.completion.back() ? "" : ",");
  return text + fmt::format(" of the steps of the {} after it were too\n",
                            skew.completion.size() == 1
                                ? std::string("tick")
                                : fmt::format("{} ticks", skew.completion.size()));
}

void put_skew(io::JsonWriter& json, const tick::SkewFigures& skew) {
  const std::size_t stride =
      std::max<std::size_t>((skew.n_ticks + kSkewTicksMax - 1) / kSkewTicksMax, 1);
  json.begin_object()
      .field("begin", skew.begin)
      .field("ticks", skew.n_ticks)
      .field("stride", stride)
      .field("asynchronous_share", skew.asynchronous_share)
      .field("even_s", skew.even_s)
      .field("barriers_s", skew.barriers_s)
      .field("span_s", skew.span_s)
      .key("absorbed");
  const std::optional<double> absorbed = skew.absorbed();
  if (absorbed) {
    json.value(*absorbed);
  } else {
    json.null();
  }
  json.key("computation");
  put_imbalance(json, skew.computation, stride);
  json.key("communication");
  put_imbalance(json, skew.communication, stride);
  json.field("completion_tick", skew.completion_tick).key("completion").begin_array();
  for (const double share : skew.completion)
    json.value(share);
  json.end_array().end_object();
}

std::string stop_line(const tick::RunResult& result) {
  if (!result.has_stop) return "";
  if (result.stopped) return fmt::format("stop condition: reached, at tick {}", result.ticks);
  if (result.last_test == 0) {
    return fmt::format("stop condition: not tested, {} ticks are too few for a test to end them",
                       result.ticks);
  }
  return fmt::format(
      "stop condition: not reached at tick {}, the last test that could end a run of {} ticks",
      result.last_test, result.ticks);
}

void put_result(io::JsonWriter& json, const tick::RunResult& result, bool with_nodes) {
  std::uint64_t n_messages = 0;
  std::uint64_t n_bytes = 0;
  for (const auto& node : result.nodes) {
    n_messages += node.time.n_sent;
    n_bytes += node.time.bytes_sent;
  }
  json.field("policy", result.policy.to_string())
      .field("begin", result.begin)
      .field("ticks", result.ticks)
      .field("stopped", result.stopped)
      .field("wall_s", static_cast<double>(result.wall) / kSecond)
      .field("ticks_per_second", result.ticks_per_second())
      .field("waiting_share", result.waiting_share())
      .field("checksum", shown_checksum(result.checksum))
      .field("messages", n_messages)
      .field("bytes", n_bytes)
      .field("epochs", result.n_epochs())
      .field("pieces_moved", result.pieces_moved())
      .field("bytes_moved", result.bytes_moved());
  if (!with_nodes) return;
  json.key("nodes").begin_array();
  for (const auto& node : result.nodes)
    put_node(json, node);
  json.end_array();
}

observe::TraceText trace_text(const tick::RunResult& result, const std::string& title) {
  observe::TraceText text;
  text.title = title;
  for (const auto& node : result.nodes)
    text.nodes.push_back(node.time);
  text.kinds = {{"step", "region", "tick"},    {"replica", "region", "tick"},
                {"pack", "neighbour", "tick"}, {"unpack", "neighbour", "tick"},
                {"move", "neighbour", "tick"}, {"interact", "region", "tick"},
                {"lent", "region", "tick"},    {"back", "region", "tick"},
                {"offer", "neighbour", "tick"}};
  return text;
}

}  // namespace rubato::tools
