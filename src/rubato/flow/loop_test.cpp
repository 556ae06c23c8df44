#include "rubato/flow/loop.hpp"

#include <atomic>

#include "rubato/flow/flow_test.hpp"

namespace rubato::flow {
namespace {

using Key64 = std::int64_t;

// The sum of a container, as a task would get it.
template <class T, class K>
std::int64_t count_of(const Container<T, K>& container) {
  return container.size().get();
}

TEST(Loops, run_a_body_for_each_index_once) {
  expect_good([] {
    const auto seen = make_container<Key64>();
    const auto done = async_for(-3, 500, [](Key64 i, const Inserter<Key64>& out) {
      out.insert(i, 2 * i);  // twice would be a failure
    })(seen.inserter);
    done.get();
    for (Key64 i = -3; i < 500; i += 29)
      EXPECT_EQ(seen.container.get(i), 2 * i);
  });
}

TEST(Loops, meet_members_that_are_there_and_that_come_later) {
  expect_good([] {
    auto numbers = make_container<Key64>();
    auto first = make_container<Key64>();
    auto second = make_container<Key64>();
    constexpr auto kCopy = [](Key64 key, Key64 value, const Inserter<Key64>& out) {
      out.insert(key, value + 1);
    };
    const auto one = async_each(numbers.container, kCopy)(std::move(first.inserter));
    const auto filled = async_for(0, 700, [](Key64 i, const Inserter<Key64>& out) {
      out.insert(i * 5, i);
    })(std::move(numbers.inserter));
    EXPECT_EQ(first.container.get(3 * 5), 4);  // before anybody is at the end
    filled.get();
    const auto two = async_each(numbers.container, kCopy)(std::move(second.inserter));
    one.get();
    two.get();
    EXPECT_EQ(count_of(numbers.container), 700);
    EXPECT_EQ(count_of(first.container), 700);
    EXPECT_EQ(count_of(second.container), 700);
  });
}

TEST(Loops, wait_for_futures_among_their_arguments_once) {
  expect_good([] {
    const auto factor = async([] { return 3; })();
    auto out = make_container<Key64>(Spread::here);
    async_for(0, 20, [](Key64 i, int f, const Inserter<Key64>& to) { to.insert(i, i * f); })(
        factor, std::move(out.inserter));
    EXPECT_EQ(out.container.get(19), 57);
    EXPECT_EQ(count_of(out.container), 20);
  });
}

TEST(Loops, run_nothing_for_an_empty_range_or_container) {
  expect_good([] {
    async_for(5, 5, [](Key64) { FAIL(); })().get();
    async_for(5, -5, [](Key64) { FAIL(); })().get();
    auto empty = make_container<int>();
    const auto done = async_each(empty.container, [](Key64, int) { FAIL(); })();
    { const auto dropped = std::move(empty.inserter); }
    done.get();
    EXPECT_EQ(count_of(empty.container), 0);
  });
}

TEST(Loops, go_over_strings) {
  expect_good([] {
    auto words = make_container<std::string, std::string>();
    auto lengths = make_container<Key64, std::string>();
    const auto done =
        async_each(words.container, [](const std::string& key, const std::string& value,
                                       const Inserter<Key64, std::string>& out) {
          out.insert(key, static_cast<Key64>(value.size()));
        })(std::move(lengths.inserter));
    for (const std::string word : {"wave", "ripple", "", "tide"})
      words.inserter.insert("the " + word, word);
    { const auto dropped = std::move(words.inserter); }
    done.get();
    EXPECT_EQ(lengths.container.get("the ripple"), 6);
    EXPECT_EQ(count_of(lengths.container), 4);
  });
}

TEST(Loops, run_the_other_iterations_when_one_throws) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    const FlowResult result = simulate_flow(seed, [] {
      auto out = make_container<Key64>();
      const auto done = async_for(0, 100, [](Key64 i, const Inserter<Key64>& to) {
        if (i % 50 == 7) throw Error("bad number " + std::to_string(i));
        to.insert(i, i);
      })(std::move(out.inserter));
      EXPECT_THROW(done.get(), Error);
      EXPECT_EQ(out.container.get(99), 99);
      EXPECT_THROW(static_cast<void>(out.container.get(7)), Error);
      // It is closed, but not as it was to be.
      EXPECT_THROW(static_cast<void>(count_of(out.container)), Error);
    });
    ASSERT_EQ(result.n_failures, 2U) << result.text();
    EXPECT_NE(result.text().find("iteration 57: bad number 57"), std::string::npos);
    EXPECT_EQ(result.n_data_held, 0U);
  }
}

TEST(Containers, hand_a_member_to_a_task_when_it_is_set) {
  expect_good([] {
    auto values = make_container<double>();
    const auto sum = async([](double a, double b) { return a + b; })(values.container[4000],
                                                                     values.container[2]);
    const auto n =
        async([](const Container<double>& all) { return all.get(2); })(closed(values.container));
    values.inserter.insert(2, 0.5);
    values.inserter.insert(4000, 4);
    EXPECT_EQ(sum.get(), 4.5);
    { const auto dropped = std::move(values.inserter); }
    EXPECT_EQ(n.get(), 0.5);
  });
}

TEST(Containers, fail_who_waits_for_a_member_that_was_never_set_and_say_who_it_was) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    const FlowResult result = simulate_flow(seed, [] {
      auto values = make_container<int>();
      const auto early = async([](int x) { return x; })(values.container[9]);
      { const auto dropped = std::move(values.inserter); }
      EXPECT_THROW(static_cast<void>(early.get()), Error);
      EXPECT_THROW(static_cast<void>(values.container.get(10)), Error);
    });
    ASSERT_EQ(result.n_failures, 1U) << result.text();
    EXPECT_EQ(result.counters.n_never_set, 1U);
    EXPECT_EQ(result.counters.n_skipped, 1U);
    EXPECT_EQ(result.counters.n_failed, 0U);
    EXPECT_EQ(result.n_data_held, 0U);
    EXPECT_FALSE(result.is_good());
    const std::string text = result.text();
    EXPECT_EQ(text.find("1 task needs what was never set:\n  task of "), 0U) << text;
    EXPECT_NE(text.find("loop_test.cpp:"), std::string::npos) << text;
    EXPECT_NE(text.find(" did not run: member 9 of a container that is closed was never set"),
              std::string::npos)
        << text;
  }
}

TEST(Containers, refuse_a_member_that_is_set_twice_and_name_both_places) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    const FlowResult result = simulate_flow(seed, [] {
      auto values = make_container<int>();
      values.inserter.insert(1, 10);
      values.inserter.insert(2, 20);
      EXPECT_EQ(values.container.get(1), 10);
      values.inserter.insert(1, 11);
      EXPECT_EQ(values.container.get(1), 10);
    });
    ASSERT_EQ(result.n_failures, 1U) << result.text();
    const std::string text = result.failures[0];
    EXPECT_NE(text.find("member 1 of a container was set at "), std::string::npos) << text;
    const std::size_t first = text.find("loop_test.cpp:");
    ASSERT_NE(first, std::string::npos) << text;
    EXPECT_NE(text.find("loop_test.cpp:", first + 1), std::string::npos) << text;
  }
}

TEST(Containers, take_keys_far_from_each_other) {
  expect_good([] {
    auto values = make_container<std::string>();
    const std::vector<Key64> keys = {INT64_MIN, -1, 0, 1, 1023, 1024, INT64_MAX};
    for (const Key64 key : keys)
      values.inserter.insert(key, std::to_string(key));
    for (const Key64 key : keys)
      EXPECT_EQ(values.container.get(key), std::to_string(key));
    { const auto dropped = std::move(values.inserter); }
    EXPECT_EQ(count_of(values.container), static_cast<Key64>(keys.size()));
  });
}

TEST(Containers, hold_containers_and_futures) {
  expect_good([] {
    auto rows = make_container<Container<Key64>>();
    auto sums = make_container<Future<Key64>>();
    const auto summed = async_each(rows.container, [](Key64 row, const Container<Key64>& cells,
                                                      const Inserter<Future<Key64>>& out) {
      out.insert(row, async([](Key64 a, Key64 b) { return a + b; })(cells[0], cells[2]));
    })(std::move(sums.inserter));
    for (Key64 row = 0; row < 5; ++row) {
      auto cells = make_container<Key64>(row % 2 == 0 ? Spread::here : Spread::all_cores);
      rows.inserter.insert(row, cells.container);
      for (Key64 i = 0; i < 3; ++i)
        cells.inserter.insert(i, 10 * row + i);
    }
    { const auto dropped = std::move(rows.inserter); }
    summed.get();
    for (Key64 row = 0; row < 5; ++row)
      EXPECT_EQ(sums.container.get(row).get(), 20 * row + 2);
    EXPECT_EQ(rows.container.get(4).get(1), 41);
    const auto cell =
        async([](const Container<Key64>& cells) { return cells.get(2); })(rows.container[3]);
    EXPECT_EQ(cell.get(), 32);
  });
}

TEST(Containers, come_and_go_without_a_trace_of_those_before) {
  expect_good([] {
    for (int round = 0; round < 20; ++round) {
      auto c = make_container<Key64>();
      c.inserter.insert(0, round);
      c.inserter.insert(5'000, round);
      { const auto dropped = std::move(c.inserter); }
      EXPECT_EQ(count_of(c.container), 2);
      EXPECT_EQ(c.container.get(5'000), round);
    }
  });
}

TEST(Loops, run_the_bodies_of_members_beside_one_that_failed) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    const FlowResult result = simulate_flow(seed, [] {
      auto values = make_container<Future<Key64>>();
      auto seen = make_container<Key64>();
      for (Key64 i = 0; i < 6; ++i) {
        values.inserter.insert(i, async([i]() -> Key64 {
                                 if (i == 3) throw Error("no three");
                                 return i;
                               })());
      }
      { const auto dropped = std::move(values.inserter); }
      const auto done = async_each(
          values.container, [](Key64 i, const Future<Key64>& value, const Inserter<Key64>& out) {
            out.insert(i, value.get());
          })(std::move(seen.inserter));
      EXPECT_THROW(done.get(), Error);
      EXPECT_EQ(seen.container.get(5), 5);
    });
    EXPECT_EQ(result.n_failures, 2U) << result.text();
    EXPECT_EQ(result.n_data_held, 0U);
  }
}

TEST(Loops, fail_when_their_container_does) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    const FlowResult result = simulate_flow(seed, [] {
      auto values = make_container<Key64>();
      async([](const Inserter<Key64>& out) {
        out.insert(1, 1);
        throw Error("half done");
      })(std::move(values.inserter));
      const auto done = async_each(values.container, [](Key64, Key64) {})();
      EXPECT_THROW(done.get(), Error);
      EXPECT_THROW(static_cast<void>(count_of(values.container)), Error);
    });
    EXPECT_EQ(result.n_failures, 1U) << result.text();
    EXPECT_EQ(result.n_data_held, 0U);
  }
}

// Generation follows consumption: what a loop starts runs before it goes on.
TEST(Loops, hold_a_bounded_number_of_tasks) {
  std::atomic<std::uint64_t> n_ran{0};
  global::run_here(2, [&] {
    static std::atomic<std::uint64_t>* ran;
    ran = &n_ran;
    const FlowResult result =
        run([] { async_for(0, 1'000'000, [](Key64) { async([] { ran->fetch_add(1); })(); })(); });
    EXPECT_EQ(result.text(), "");
    EXPECT_LT(CoreContext::here().counters().n_queued_max, 5'000U);
  });
  EXPECT_EQ(n_ran.load(), 1'000'000U);
}

}  // namespace
}  // namespace rubato::flow
