// Question: how many small messages go from node to node in a second, and how many random
// increments, with an MPI between two processes of a core each?
// Hypothesis: buffers of 64 KiB of typed runs are bound by copying, not by messages; each byte is
// copied into a block, a buffer and the MPI's memory and out of it, which costs half of what a
// program reaches that was written by hand for one kind of message.

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness.hpp"
#include "bench/job.hpp"

namespace rubato::bench {
namespace {

struct Kind {
  std::string metric;
  std::vector<std::string> arguments;
  std::string must;
  // The same by hand; if there are none, with the same arguments.
  std::string baseline = "MPI by hand, 64 KiB buffers";
  std::vector<std::string> by_hand = {};
};

Report compare(const Options& options, const std::vector<Kind>& kinds, int n_rounds) {
  Report report;
  report.nodes = 2;
  int n_done = 0;
  for (const Kind& kind : kinds) {
    std::vector<double> ours;
    std::vector<double> by_hand;
    Counters counters;
    for (int round = 0; round < n_rounds; ++round) {
      options.begin_round(n_done++, n_rounds * static_cast<int>(kinds.size()), kind.metric);
      JobResult job = run_job("message_job", 2, kind.arguments);
      ours.push_back(job.rate);
      counters = std::move(job.counters);
      by_hand.push_back(
          run_job("messages_mpi", 2, kind.by_hand.empty() ? kind.arguments : kind.by_hand).rate);
    }
    report.rows.push_back(
        compare_row(kind.metric, "million/s", ours, kind.baseline, by_hand, kind.must));
    report.rows.back().counters = std::move(counters);
  }
  return report;
}

Report run_messages(const Options& options) {
  const std::string n = options.quick ? "5000000" : "50000000";
  return compare(
      options,
      {{"one-way", {"one-way", n}, "value >= 56"}, {"both-ways", {"both-ways", n}, "value >= 90"}},
      options.quick ? 1 : 9);
}

Report run_gups_mpi(const Options& options) {
  const std::string log2_words = options.quick ? "24" : "27";
  const std::string n = options.quick ? "20000000" : "200000000";
  // What a card's atomics, or an MPI's, do one by one: as many as take as long.
  const std::string n_atomics = options.quick ? "200000" : "5000000";
  return compare(options,
                 {{"updates", {"gups", log2_words, n}, "value >= 70"},
                  {"over-atomics",
                   {"gups", log2_words, n},
                   "",
                   "MPI_Fetch_and_op",
                   {"fetch-and-op", log2_words, n_atomics}}},
                 options.quick ? 1 : 9);
}

// As many bytes of each size, at least 100,000 messages.
Report run_message_size(const Options& options) {
  std::vector<Kind> kinds;
  for (const std::uint64_t n_bytes : {8, 32, 128, 512, 2'048, 8'192, 65'536}) {
    const std::uint64_t n =
        std::max<std::uint64_t>((options.quick ? 100'000'000 : 1'000'000'000) / n_bytes, 20'000);
    const std::uint64_t n_plain = std::min<std::uint64_t>(n, options.quick ? 500'000 : 5'000'000);
    const std::string bytes = std::to_string(n_bytes);
    kinds.push_back({bytes + "-bytes",
                     {"sized", bytes, std::to_string(std::min<std::uint64_t>(n, 20'000'000))},
                     "",
                     "an MPI message each",
                     {"plain", bytes, std::to_string(n_plain)}});
  }
  return compare(options, kinds, options.quick ? 1 : 5);
}

}  // namespace

Benchmark message_size() {
  return {"message-size", "messages of 8 bytes to 64 KiB between two nodes: how many in a second?",
          run_message_size};
}

Benchmark messages() {
  return {"messages", "messages of 32 bytes between two nodes: how many in a second?",
          run_messages};
}

Benchmark gups_mpi() {
  return {"gups-mpi", "random increments over two nodes under MPI: how many in a second?",
          run_gups_mpi};
}

}  // namespace rubato::bench
