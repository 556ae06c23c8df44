#pragma once
// For tests that disturb flows: one with something of each kind under way at a time, whose result is
// a word that a serial function finds too, and which knows how often each of its tasks has run.

#include <array>
#include <functional>
#include <numeric>

#include "rubato/base/random.hpp"
#include "rubato/flow/flow_test.hpp"
#include "rubato/global/loop.hpp"

namespace rubato::flow::mixed {

using Word = std::uint64_t;

enum Part : std::uint8_t { tasks, members, typed, teams, inner, promised };
inline constexpr std::size_t kParts = 6;
inline constexpr std::array<const char*, kParts> kNames{"tasks", "members", "typed",
                                                        "teams", "inner",   "promised"};
inline constexpr std::int64_t kEach = 24;

// Of the run that is under way; virtual nodes are one process and one thread.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
inline std::array<std::array<std::uint32_t, kEach>, kParts> n_runs;

// A task's work: it takes some time, in which others run.
inline Word work(Part part, std::int64_t i, Word before) {
  CoreContext& here = CoreContext::here();
  here.charge(5 * kMicrosecond);
  here.yield();
  here.charge(5 * kMicrosecond);
  ++n_runs[part][static_cast<std::size_t>(i)];
  return hash_words(part, static_cast<Word>(i), before);
}
inline Word serial_work(Part part, std::int64_t i, Word before) {
  return hash_words(part, static_cast<Word>(i), before);
}

// Members lie on all cores.
constexpr std::int64_t key_of(std::int64_t i) {
  return i * 700;
}
constexpr std::uint32_t team_size(std::int64_t i) {
  return static_cast<std::uint32_t>(1 + i % 2);
}

inline Word serial() {
  std::vector<Word> of_tasks;
  Word all = 0;
  for (std::int64_t i = 0; i < kEach; ++i)
    of_tasks.push_back(
        serial_work(tasks, i, i == 0 ? 0 : of_tasks[static_cast<std::size_t>(i / 2)]));
  for (std::int64_t i = 0; i < kEach; ++i) {
    const Word typed_word = serial_work(typed, i, of_tasks[static_cast<std::size_t>(i)]);
    all = hash_words(all, team_size(i) * serial_work(teams, i, typed_word));
    all = hash_words(all, serial_work(members, i, static_cast<Word>(i * i)));
    all = hash_words(all, serial_work(inner, i, static_cast<Word>(i + i * i)));
    all = hash_words(all, serial_work(promised, i, of_tasks[static_cast<std::size_t>(i)]));
  }
  return all;
}

// Containers in a container, each with two members, which its task waits for.
inline std::vector<Future<Word>> rows() {
  auto rows = make_container<Container<Word>>();
  async_for(0, kEach,
            [](std::int64_t i, const Inserter<Container<Word>>& out) {
              auto cells = make_container<Word>(i % 2 == 0 ? Spread::here : Spread::all_cores);
              out.insert(key_of(i), cells.container);
              cells.inserter.insert(0, static_cast<Word>(i));
              cells.inserter.insert(key_of(i + 1), static_cast<Word>(i * i));
            },
            {.grain = 2})(std::move(rows.inserter));
  const auto of_cells = [](std::int64_t n, Word a, Word b) { return work(inner, n, a + b); };
  const auto of_row = [of_cells](std::int64_t n, const Container<Word>& cells) {
    return async(of_cells)(n, cells[0], cells[key_of(n + 1)]);
  };
  std::vector<Future<Word>> words;
  for (std::int64_t i = 0; i < kEach; ++i)
    words.push_back(async(of_row)(i, rows.container[key_of(i)]));
  return words;
}

// Set by tasks that were given them.
inline std::vector<Future<Word>> promises(const std::vector<Future<Word>>& of_tasks) {
  std::vector<Future<Word>> words;
  for (std::int64_t i = 0; i < kEach; ++i) {
    auto datum = make_datum<Word>();
    async([](std::int64_t n, Word before, Promise<Word> promise) {
      promise.set(work(promised, n, before));
    })(i, of_tasks[static_cast<std::size_t>(i)], std::move(datum.promise));
    words.push_back(std::move(datum.future));
  }
  return words;
}

// The main of the flow: work of type gpu needs workers, teams two cores.
inline Word flow() {
  auto numbers = make_container<std::int64_t>();
  auto words = make_container<Word, std::string>();
  async_for(0, kEach,
            [](std::int64_t i, const Inserter<std::int64_t>& out) { out.insert(key_of(i), i * i); },
            {.grain = 2})(std::move(numbers.inserter));
  async_each(std::move(numbers.container),
             [](std::int64_t key, std::int64_t square, const Inserter<Word, std::string>& out) {
               const std::int64_t i = key / key_of(1);
               out.insert(std::to_string(i), work(members, i, static_cast<Word>(square)));
             })(std::move(words.inserter));
  std::vector<Future<Word>> of_tasks;
  std::vector<Future<Word>> of_teams;
  for (std::int64_t i = 0; i < kEach; ++i) {
    const auto task = async([](std::int64_t n, Word before) { return work(tasks, n, before); });
    of_tasks.push_back(i == 0 ? task(i, Word{0})
                              : task(i, of_tasks[static_cast<std::size_t>(i / 2)]));
    const auto of_type = async([](std::int64_t n, Word before) { return work(typed, n, before); },
                               {.type = work_type("gpu")})(i, of_tasks.back());
    const auto by_team = [](const global::Team& team, std::int64_t n, Word before) {
      const Word mine = team.rank() == 0 ? work(teams, n, before) : 0;
      return team.size() * team.allreduce(mine, std::plus<>{});
    };
    of_teams.push_back(async_team(team_size(i), by_team)(i, of_type));
  }
  const std::vector<Future<Word>> of_rows = rows();
  const std::vector<Future<Word>> of_promises = promises(of_tasks);
  Word all = 0;
  for (std::int64_t i = 0; i < kEach; ++i) {
    all = hash_words(all, of_teams[static_cast<std::size_t>(i)].get());
    all = hash_words(all, words.container.get(std::to_string(i)));
    all = hash_words(all, of_rows[static_cast<std::size_t>(i)].get());
    all = hash_words(all, of_promises[static_cast<std::size_t>(i)].get());
  }
  return all;
}

struct Ran {
  Word word = 0;
  FlowResult result;
  global::SimulatedRun run;
};

// Throws what the simulation does.
inline Ran simulate(const global::SimulateOptions& options, const char* workers = "gpu=1/node",
                    const std::function<Word()>& main = flow) {
  n_runs = {};
  Ran ran;
  ran.run = global::simulate(
      [&] {
        // Loops are put aside again and again.
        const auto bound_loops = [](std::size_t n) {
          global::on_all_cores([n] { Flow::here().throttle().set_at_data_most(n); });
        };
        if (options.seed % 16 == 0) bound_loops(4);
        ran.result = run([&] { ran.word = main(); }, {Workers::parse({workers}), {}});
        bound_loops(Throttle::kAtDataMost);
      },
      options);
  return ran;
}

// How many of its tasks have run.
inline std::uint32_t n_run(Part part) {
  return std::reduce(n_runs[part].begin(), n_runs[part].end());
}

// All that a flow that was not hurt has: its result is the serial one, and each task has run once.
inline void expect_whole(const Ran& ran) {
  ASSERT_EQ(ran.result.text(), "");
  ASSERT_EQ(ran.word, serial());
  ASSERT_EQ(ran.result.n_data_held, 0U) << ran.result.leak_text();
  for (std::size_t part = 0; part < kParts; ++part) {
    for (std::size_t i = 0; i < kEach; ++i)
      ASSERT_EQ(n_runs[part][i], 1U) << kNames[part] << " " << i;
  }
}

}  // namespace rubato::flow::mixed
