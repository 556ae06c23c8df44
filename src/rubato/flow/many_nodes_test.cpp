// Flows on more nodes than the other tests have: what goes through trees of cores.

#include <algorithm>
#include <numeric>

#include "rubato/flow/flow_test.hpp"

namespace rubato::flow {
namespace {

using Key64 = std::int64_t;

// As many as are no power of anything, and some that are.
constexpr std::uint32_t kNodes[] = {2, 7, 16, 65, 100};

global::SimulatedRun simulate_on(std::uint32_t n_nodes, std::uint32_t n_cores, std::uint64_t seed,
                                 const std::function<void()>& main) {
  return global::simulate(main, {.n_nodes = n_nodes,
                                 .n_cores = n_cores,
                                 .seed = seed,
                                 .shuffle = seed % 2 == 1,
                                 .program = {{}, global::kTestBytesACore}});
}

TEST(ManyNodes, get_their_parts_of_a_wide_range_at_once) {
  constexpr Key64 kEach = 32;
  for (const std::uint32_t n_nodes : kNodes) {
    static std::vector<Key64> n_of;
    n_of.assign(n_nodes, 0);
    const auto run = simulate_on(n_nodes, 1, n_nodes, [n_nodes] {
      const auto body = [](Key64) {
        core::CoreContext::here().charge(kMillisecond);
        ++n_of.at(core::CoreContext::here().core());
      };
      flow::run([&] { async_for(0, kEach * n_nodes, body, {.grain = 2})(); }).check();
    });
    EXPECT_EQ(std::reduce(n_of.begin(), n_of.end()), kEach * n_nodes);
    EXPECT_GE(*std::ranges::min_element(n_of), kEach * 3 / 4) << n_nodes;
    EXPECT_LE(*std::ranges::max_element(n_of), kEach * 5 / 4) << n_nodes;
    EXPECT_LE(run.wall, (kEach + 8) * kMillisecond) << n_nodes;
  }
}

void make_long_tasks(Key64 n) {
  for (Key64 i = 0; i < n; ++i)
    async([] { core::CoreContext::here().charge(kMillisecond); })();
}

// Who has got many tasks that take long hands them on before it has run them.
TEST(ManyNodes, share_long_tasks_that_one_of_them_makes) {
  constexpr Key64 kEach = 64;
  for (const std::uint32_t n_nodes : {7U, 16U, 64U}) {
    const auto main = [n = kEach * n_nodes] { flow::run([n] { make_long_tasks(n); }).check(); };
    const auto run = simulate_on(n_nodes, 1, n_nodes, main);
    EXPECT_LE(run.wall, 2 * kEach * kMillisecond) << n_nodes;
  }
}

TEST(ManyNodes, speak_to_a_home_by_way_of_a_tree_of_all_cores) {
  for (const CoreId n_cores : {2U, 7U, 8U, 9U, 64U, 65U, 1000U}) {
    for (const CoreId home : {0U, n_cores / 3, n_cores - 1}) {
      std::vector<CoreId> heard(n_cores);  // of each core, itself included
      std::vector<CoreId> n_children(n_cores);
      for (CoreId core = 0; core < n_cores; ++core) {
        ++heard[core];
        for (CoreId at = core; at != home;) {
          at = Homeward::place_of(at, home, n_cores).parent;
          ++heard[at];
        }
        if (core != home) ++n_children[Homeward::place_of(core, home, n_cores).parent];
      }
      for (CoreId core = 0; core < n_cores; ++core) {
        const CoreId n = core == home ? n_cores : Homeward::place_of(core, home, n_cores).n_cores;
        EXPECT_EQ(heard[core], n) << core << " of " << n_cores << ", home " << home;
        EXPECT_LE(n_children[core], (Homeward::kFanIn - 1) * 4);
      }
    }
  }
}

// Containers are filled, gone over, read and closed by all nodes; their homes are different ones.
TEST(ManyNodes, fill_containers_and_go_over_them) {
  constexpr Key64 kEach = 96;
  for (const std::uint32_t n_nodes : kNodes) {
    const Key64 n = kEach * n_nodes;
    FlowResult result;
    const std::uint32_t n_cores = 1 + n_nodes % 3;
    simulate_on(n_nodes, n_cores, n_nodes, [&] {
      result = flow::run([n] {
        auto sums = make_container<Key64>();
        for (const Key64 of : {0, 1}) {
          const auto fill = [n](Key64 which, const Inserter<Key64>& sum) {
            auto [numbers, in] = make_container<Key64>();
            auto [doubles, out] = make_container<Key64>();
            async_for(0, n, [](Key64 i, const Inserter<Key64>& to) { to.insert(i * 100, i); },
                      {.grain = 8})(std::move(in));
            const auto copy = [](Key64 key, Key64 value, const Inserter<Key64>& to) {
              to.insert(key, 2 * value);
            };
            async_each(std::move(numbers), copy)(std::move(out));
            sum.insert(which, doubles.size().get() + doubles.get((n - 1) * 100));
          };
          const auto core =
              static_cast<CoreId>(of * (core::CoreContext::here().shape().n_nodes - 1));
          async(fill, {.core = core})(of, sums.inserter);
        }
        EXPECT_EQ(sums.container.get(0), n + 2 * (n - 1));
        EXPECT_EQ(sums.container.get(1), n + 2 * (n - 1));
      });
    });
    EXPECT_EQ(result.text(), "") << n_nodes;
    EXPECT_EQ(result.n_data_held, 0U) << n_nodes;
  }
}

TEST(ManyNodes, close_a_container_with_the_failure_of_one_that_writes_it) {
  for (const std::uint32_t n_nodes : kNodes) {
    FlowResult result;
    simulate_on(n_nodes, 1, n_nodes, [&] {
      result = flow::run([n = Key64{40} * n_nodes] {
        auto [numbers, in] = make_container<Key64>();
        const auto filled = async_for(0, n,
                                      [n](Key64 i, const Inserter<Key64>& to) {
                                        if (i == n - 3) throw Error("no number here");
                                        to.insert(i, i);
                                      },
                                      {.grain = 5})(std::move(in));
        const auto seen = async_each(numbers, [](Key64, Key64) {})();
        EXPECT_THROW(filled.get(), Error);
        EXPECT_THROW(seen.get(), Error);
        EXPECT_THROW(static_cast<void>(numbers.size().get()), Error);
        EXPECT_EQ(numbers.get(n - 1), n - 1);
      });
    });
    EXPECT_EQ(result.n_failures, 1U) << result.text();
    EXPECT_EQ(result.n_data_held, 0U) << n_nodes;
  }
}

}  // namespace
}  // namespace rubato::flow
