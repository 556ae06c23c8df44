// The jobs of benchmarks whose nodes are processes: message_job gups LOG2_WORDS UPDATES, or
// message_job one-way|both-ways MESSAGES, or message_job sized BYTES MESSAGES. One core a node.
// Node 0 prints a line of JSON with "million_per_second" and "counters".

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "bench/counted_run.hpp"
#include "bench/gups_work.hpp"
#include "bench/job.hpp"
#include "bench/jobs/job_result.hpp"
#include "rubato/base/time.hpp"
#include "rubato/core/job.hpp"
#include "rubato/global/array.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/net/fabric_factory.hpp"

namespace rubato::bench {
namespace {

// Million a second.
double rate(std::uint64_t n, Nanos time) {
  return static_cast<double>(n) / static_cast<double>(time) * 1e3;
}

JobResult gups(core::NodeHost& host, std::uint32_t log2_words, std::uint64_t n_updates) {
  JobResult result;
  result.counters = counted_run(host, [&] {
    const std::uint64_t mask = (std::uint64_t{1} << log2_words) - 1;
    const auto table = global::GlobalArray<std::uint64_t>::make(mask + 1);
    global::forall(table, [](std::uint64_t& x) { x = 0; });  // pages come with the first use
    const Nanos begin = steady_now();
    global::forall(0, n_updates, [=](std::uint64_t i) {
      global::async_call(table[gups_word(i, mask)], [](std::uint64_t& x) { ++x; });
    });
    result.rate = rate(n_updates, steady_now() - begin);
    const auto sum = global::GlobalArray<std::uint64_t>::make(1);
    global::on_all_cores([table, sum] {
      std::uint64_t mine = 0;
      for (std::uint64_t k = 0; k < table.n_of(global::this_core()); ++k)
        mine += table.local()[k];
      global::fetch_add(sum[0], mine);
    });
    const std::uint64_t n = global::read(sum[0]);
    RUBATO_REQUIRE(n == n_updates, n, n_updates);
  });
  return result;
}

// What a core has received: the sum of the words of all messages.
struct Received {
  std::uint64_t n = 0;
  std::uint64_t sum = 0;
};

struct Message {
  std::array<std::uint64_t, 4> words;
  void apply(core::CoreContext& here) const {
    auto& received = *reinterpret_cast<Received*>(here.memory() + kReceived);
    ++received.n;
    for (const std::uint64_t word : words)
      received.sum += word;
  }
  static constexpr std::size_t kReceived = 1 << 20;
};

JobResult messages(core::NodeHost& host, bool both_ways, std::uint64_t n_messages) {
  JobResult result;
  result.counters = counted_run(host, [&] {
    const Nanos begin = steady_now();
    global::on_all_cores([=] {
      core::CoreContext& here = core::CoreContext::here();
      if (here.core() > (both_ways ? 1U : 0U)) return;
      for (std::uint64_t i = 0; i < n_messages; ++i)
        here.post(1 - here.core(), Message{{i, 1, 2, 3}});
    });
    result.rate = rate(n_messages * (both_ways ? 2 : 1), steady_now() - begin);
    const global::GlobalPtr<Received> received(1, global::Place::at_offset(Message::kReceived));
    const Received found = global::read(received);
    const std::uint64_t expected = n_messages * (n_messages - 1) / 2 + 6 * n_messages;
    RUBATO_REQUIRE(found.n == n_messages && found.sum == expected, found.n, found.sum, expected);
  });
  return result;
}

// A message of any size, of which the receiver counts the bytes.
struct Sized {
  std::uint64_t first = 0;
  void apply(core::CoreContext& here, ByteView bytes) const {
    auto& received = *reinterpret_cast<Received*>(here.memory() + Message::kReceived);
    ++received.n;
    received.sum += first + bytes.size();
  }
};

// Million messages a second of `n_bytes`, at least 8, from node 0 to node 1.
JobResult sized_messages(core::NodeHost& host, std::size_t n_bytes, std::uint64_t n_messages) {
  JobResult result;
  result.counters = counted_run(host, [&] {
    const Nanos begin = steady_now();
    global::on_all_cores([=] {
      core::CoreContext& here = core::CoreContext::here();
      if (here.core() != 0) return;
      const Bytes rest(n_bytes - sizeof(Sized));
      for (std::uint64_t i = 0; i < n_messages; ++i)
        here.post(1, Sized{1}, rest);
    });
    result.rate = rate(n_messages, steady_now() - begin);
    const global::GlobalPtr<Received> received(1, global::Place::at_offset(Message::kReceived));
    const Received found = global::read(received);
    const std::uint64_t expected = n_messages * (1 + n_bytes - sizeof(Sized));
    RUBATO_REQUIRE(found.n == n_messages && found.sum == expected, found.n, found.sum, expected);
  });
  return result;
}

int run(const std::vector<std::string>& words) {
  core::JobConfig config;
  config.host.n_cores = 1;
  core::Job job(net::make_fabric(), config);
  JobResult result;
  if (words.size() == 3 && words[0] == "gups") {
    result =
        gups(job.host(), static_cast<std::uint32_t>(std::stoul(words[1])), std::stoull(words[2]));
  } else if (words.size() == 3 && words[0] == "sized" && std::stoul(words[1]) >= sizeof(Sized)) {
    if (job.shape().n_nodes != 2) throw Error("messages go between 2 nodes", ExitCode::usage);
    result = sized_messages(job.host(), std::stoul(words[1]), std::stoull(words[2]));
  } else if (words.size() == 2 && (words[0] == "one-way" || words[0] == "both-ways")) {
    if (job.shape().n_nodes != 2) throw Error("messages go between 2 nodes", ExitCode::usage);
    result = messages(job.host(), words[0] == "both-ways", std::stoull(words[1]));
  } else {
    throw Error(
        "expected gups LOG2_WORDS UPDATES, sized BYTES MESSAGES, one-way MESSAGES or "
        "both-ways MESSAGES",
        ExitCode::usage);
  }
  if (job.speaks()) print(result);
  return 0;
}

}  // namespace
}  // namespace rubato::bench

int main(int argc, char** argv) {
  return rubato::bench::job_main(argc, argv, "message_job", rubato::bench::run);
}
