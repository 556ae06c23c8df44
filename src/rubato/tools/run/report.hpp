#pragma once
// What a run's figures look like: a table by node for people, JSON for programs.

#include <string>

#include "rubato/io/json.hpp"
#include "rubato/io/table.hpp"
#include "rubato/observe/trace.hpp"
#include "rubato/tick/balance/skew.hpp"
#include "rubato/tick/run.hpp"

namespace rubato::tools {

// Sixteen hexadecimal digits.
[[nodiscard]] std::string shown_checksum(std::uint64_t checksum);

// Where the time of each node went, in shares of its cores' time: stepping, replicas, waiting,
// sending (packing and unpacking too) and the runtime's own share; messages, bytes, how far it ran
// ahead and the memory that it held. Of more than kTableNodesMax nodes, those that waited least:
// the others wait for them.
inline constexpr std::size_t kTableNodesMax = 64;
// A straggler waits so much less than the mean of the others, as a share of all time.
inline constexpr double kStragglerMargin = 0.02;
[[nodiscard]] io::Table node_table(const tick::RunResult& result);

// Names the straggler: the node that waits clearly less than the others; where there is none, the
// two between which rounds came latest. "" for a run of one node.
[[nodiscard]] std::string straggler_line(const tick::RunResult& result);

// The policy; of a system its name and that in brackets: of auto, what it chose last.
[[nodiscard]] std::string policy_words(const std::string& system, const tick::RunResult& result);
// What policy auto chose at which tick, and why, a line each; "" of other policies.
[[nodiscard]] std::string choice_lines(const tick::RunResult& result);
// The same as the list "auto", with what each candidate was expected to take.
void put_choices(io::JsonWriter& json, const tick::RunResult& result);

// How many pieces there were at first, and why, or "" if there were none. `wanted`: how many were asked for,
// or kGoodPieces.
[[nodiscard]] std::string pieces_line(const tick::RunResult& result, std::uint32_t n_cores,
                                      std::uint32_t wanted);

// How often the state moved, how much of it, and which share of the run that took; or why it did not.
// REQUIRES: sharing.epoch > 0.
[[nodiscard]] std::string lending_line(const tick::RunResult& result);
[[nodiscard]] std::string epoch_line(const tick::RunResult& result,
                                     const tick::SharingOptions& sharing);

// Whether the model's stop condition has ended the run, or "" if it has none.
[[nodiscard]] std::string stop_line(const tick::RunResult& result);

// How unevenly pieces lay on nodes: lines with a line feed each. `n_ticks` are those of the run.
[[nodiscard]] std::string skew_lines(const tick::SkewFigures& skew, tick::Tick n_ticks);

// The same as an object, with lists by tick of at most kSkewTicksMax: of each `stride`-th tick.
inline constexpr std::size_t kSkewTicksMax = 1000;
void put_skew(io::JsonWriter& json, const tick::SkewFigures& skew);

// The fields of a result, into an open object: policy, ticks, stopped (by the stop condition),
// wall_s, ticks_per_second, waiting_share, checksum, messages, bytes, epochs, bytes_moved and, if
// wanted, nodes: an array with the figures of each.
void put_result(io::JsonWriter& json, const tick::RunResult& result, bool with_nodes);

// What a trace of the run says beside its events.
[[nodiscard]] observe::TraceText trace_text(const tick::RunResult& result,
                                            const std::string& title);

}  // namespace rubato::tools
