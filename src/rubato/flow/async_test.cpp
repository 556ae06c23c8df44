#include "rubato/flow/async.hpp"

#include "rubato/base/random.hpp"
#include "rubato/flow/flow_test.hpp"
#include "rubato/flow/node_turns.hpp"
#include "rubato/global/loop.hpp"

namespace rubato::flow {
namespace {

using Word = std::uint64_t;

Future<std::int64_t> fibonacci(std::int64_t n) {
  if (n < 2) return async([](std::int64_t k) { return k; })(n);
  auto a = async([](std::int64_t k) { return fibonacci(k); })(n - 1);
  auto b = async([](std::int64_t k) { return fibonacci(k); })(n - 2);
  return async([](std::int64_t x, std::int64_t y) { return x + y; })(std::move(a), std::move(b));
}

TEST(Async, gives_a_task_the_values_of_its_inputs) {
  expect_good([] {
    const auto a = async([](int x) { return x + 1; })(4);
    const auto b = async([](double x, bool up) { return up ? x * 2 : x; })(1.25, true);
    const auto c = async([](int x, double y, const std::string& text) {
      return text + std::to_string(x) + "/" + std::to_string(y);
    })(a, b, "of ");
    EXPECT_EQ(c.get(), "of 5/2.500000");
    EXPECT_EQ(async([](int x, int y) { return x * y; })(a, a).get(), 25);
  });
}

TEST(Async, keeps_plain_structs_vectors_and_names_of_files) {
  struct Pair {
    int a;
    double b;
  };
  expect_good([] {
    const auto pair = async([] { return Pair{3, 0.5}; })();
    const auto vector = async([](Pair p) { return std::vector<double>{p.b, double(p.a)}; })(pair);
    EXPECT_EQ(vector.get(), (std::vector<double>{0.5, 3}));
    EXPECT_EQ(async([](const FileName& f) { return f; })(FileName{"a.txt"}).get().path, "a.txt");
  });
}

TEST(Async, passes_a_future_on_that_a_task_returns) {
  expect_good([] { EXPECT_EQ(fibonacci(11).get(), 89); }, 10);
}

TEST(Async, runs_a_task_on_the_core_that_is_asked_for) {
  for (std::uint64_t seed = 0; seed < n_seeds(30); ++seed) {
    const FlowResult result = simulate_flow(seed, [] {
      for (CoreId core = 0; core < global::n_cores(); ++core) {
        const auto ran_on = async([] { return global::this_core(); }, {.core = core})();
        EXPECT_EQ(ran_on.get(), core);
      }
    });
    ASSERT_EQ(result.text(), "");
  }
}

TEST(Async, runs_tasks_of_a_node_on_its_cores_in_turn) {
  for (std::uint64_t seed = 0; seed < n_seeds(30); ++seed) {
    const FlowResult result = simulate_flow(seed, [] {
      const core::JobShape& shape = CoreContext::here().shape();
      for (core::NodeId node = 0; node < shape.n_nodes; ++node) {
        std::vector<std::uint32_t> n_of_core(shape.n_cores);
        for (std::uint32_t i = 0; i < 3 * shape.n_cores; ++i) {
          const CoreId ran_on =
              async([] { return global::this_core(); }, {.core = next_core_of(node)})().get();
          EXPECT_EQ(shape.node_of(ran_on), node);
          ++n_of_core[shape.local_of(ran_on)];
        }
        EXPECT_EQ(n_of_core, std::vector<std::uint32_t>(shape.n_cores, 3));
      }
      EXPECT_THROW(static_cast<void>(next_core_of(shape.n_nodes)), Error);
    });
    ASSERT_EQ(result.text(), "");
  }
}

TEST(Async, runs_the_largest_priority_first) {
  const FlowResult result = run_flow_here(1, [] {
    const auto order = make_container<int>(Spread::here);
    static std::int64_t n_ran;
    n_ran = 0;
    for (const int priority : {1, 5, 3, 5, 2}) {
      async([](int p, const Inserter<int>& out) { out.insert(n_ran++, p); },
            {.priority = priority})(priority, order.inserter);
    }
    std::vector<int> ran;
    for (std::int64_t i = 0; i < 5; ++i)
      ran.push_back(order.container.get(i));
    EXPECT_EQ(ran, (std::vector<int>{5, 5, 3, 2, 1}));
  });
  EXPECT_EQ(result.text(), "");
}

TEST(Async, runs_what_takes_long_beside_the_cores) {
  const FlowResult result = run_flow_here(2, [] {
    auto sum = async([] { return 1; }, {.native = true})();
    for (int i = 0; i < 20; ++i)
      sum = async([](int x) { return x + 1; }, {.native = true})(std::move(sum));
    EXPECT_EQ(sum.get(), 21);
  });
  EXPECT_EQ(result.text(), "");
}

// A graph of tasks, each of which hashes the values of some earlier ones; made by tasks, anywhere.
Word value_of(Word node, const std::vector<Word>& values) {
  Word word = hash_words(node);
  for (Word k = 0; k < node % 4 && node > 0; ++k)
    word = hash_words(word, values[hash_words(node, k) % node]);
  return word;
}

TEST(Async, computes_what_a_serial_program_does_for_any_graph) {
  constexpr Word kNodes = 150;
  std::vector<Word> expected;
  for (Word node = 0; node < kNodes; ++node)
    expected.push_back(value_of(node, expected));
  for (std::uint64_t seed = 0; seed < n_seeds(150); ++seed) {
    const FlowResult result = simulate_flow(seed, [&] {
      std::vector<Future<Word>> values;
      for (Word node = 0; node < kNodes; ++node) {
        const auto input = [&](Word k) { return values[hash_words(node, k) % node]; };
        const RuleOptions options{
            .core = node % 5 == 0 ? static_cast<CoreId>(node % global::n_cores()) : kAnyCore};
        const Word n = node == 0 ? 0 : node % 4;
        constexpr auto kHash = [](Word a, auto... b) {
          Word word = hash_words(a);
          ((word = hash_words(word, b)), ...);
          return word;
        };
        const auto task = async(kHash, options);
        if (n == 0) values.push_back(task(node));
        if (n == 1) values.push_back(task(node, input(0)));
        if (n == 2) values.push_back(task(node, input(0), input(1)));
        if (n == 3) values.push_back(task(node, input(0), input(1), input(2)));
      }
      for (Word node = 0; node < kNodes; ++node)
        EXPECT_EQ(values[node].get(), expected[node]) << "seed " << seed << " node " << node;
    });
    ASSERT_EQ(result.text(), "") << "seed " << seed;
    ASSERT_EQ(result.n_data_held, 0U) << "seed " << seed;
  }
}

// A container that is passed on and on has less weight each time, and is stored where nobody waits.
Future<Container<int>> deep_container(int depth) {
  if (depth > 0) return async([](int n) { return deep_container(n); })(depth - 1);
  return async([] {
    auto [members, insert] = make_container<int>();
    insert.insert(0, 7);
    return std::move(members);
  })();
}

TEST(Async, passes_a_container_on_from_far_below) {
  expect_good([] {
    const Future<Container<int>> members = deep_container(30);
    std::vector<Future<int>> sums;
    for (int i = 0; i < 40; ++i) {
      sums.push_back(
          async([](const Container<int>& c, int k) { return c.get(0) + k; })(members, i));
    }
    for (int i = 0; i < 40; ++i)
      EXPECT_EQ(sums[static_cast<std::size_t>(i)].get(), 7 + i);
  });
}

// Copies of copies, until their weight is used up and more comes from the home.
void hand_on(int depth, const Future<int>& seen) {
  if (depth == 0) return;
  async([](int d, const Future<int>& f) { hand_on(d - 1, f); },
        {.core = static_cast<CoreId>(static_cast<Word>(depth) % global::n_cores())})(depth,
                                                                                     later(seen));
  async([](int x) { EXPECT_EQ(x, 7); })(seen);
}

TEST(Async, shares_a_reference_without_end) {
  expect_good([] { hand_on(150, async([] { return 7; })()); }, 20);
}

TEST(Async, fails_what_depends_on_a_failed_task_and_nothing_else) {
  for (std::uint64_t seed = 0; seed < n_seeds(30); ++seed) {
    const FlowResult result = simulate_flow(seed, [] {
      const auto bad = async([](int x) -> int { throw Error("no luck with " + std::to_string(x)); },
                             {.name = "draw"})(13);
      const auto next = async([](int x) { return x; })(bad);
      const auto last = async([](int x, int y) { return x + y; })(next, bad);
      EXPECT_EQ(async([](int x) { return x; })(5).get(), 5);
      try {
        static_cast<void>(last.get());
        FAIL() << "a value of what failed";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::some_tasks_failed);
        EXPECT_NE(std::string(error.what()).find("no luck with 13"), std::string::npos);
      }
    });
    ASSERT_EQ(result.n_failures, 1U) << result.text();
    EXPECT_EQ(result.counters.n_skipped, 2U);
    EXPECT_NE(result.failures[0].find("task 'draw' of "), std::string::npos) << result.text();
    EXPECT_EQ(result.n_data_held, 0U);
    EXPECT_TRUE(result.waiting.empty());
    EXPECT_THROW(result.check(), Error);
  }
}

// Chains that are longer than a stack is deep, were it used for each link.
Future<int> count_down(int n) {
  if (n == 0) return async([] { return 7; })();
  return async([n] { return count_down(n - 1); })();
}

TEST(Async, wakes_chains_of_any_length) {
  expect_good([] { EXPECT_EQ(count_down(3'000).get(), 7); }, 5);
  const FlowResult result = simulate_flow(1, [] {
    auto last = async([]() -> int { throw Error("the first"); })();
    for (int i = 0; i < 3'000; ++i)
      last = async([](int x) { return x; })(std::move(last));
  });
  EXPECT_EQ(result.n_failures, 1U);
  EXPECT_EQ(result.counters.n_skipped, 3'000U);
  EXPECT_EQ(result.n_data_held, 0U);
}

TEST(Async, hands_containers_on_as_results) {
  expect_good([] {
    const auto squares = async([] {
      auto [container, inserter] = make_container<std::int64_t>();
      for (std::int64_t i = 0; i < 10; ++i)
        inserter.insert(i, i * i);
      return container;
    })();
    EXPECT_EQ(async([](const Container<std::int64_t>& c) { return c.get(7); })(squares).get(), 49);
    EXPECT_EQ(squares.get().size().get(), 10);
    const auto inner = async([] {
      return async([] {
        auto made = make_container<int>(Spread::here);
        made.inserter.insert(1, 5);
        return made.container;
      })();
    })();
    EXPECT_EQ(inner.get().get(1), 5);
  });
}

TEST(Async, says_why_a_promise_was_not_kept) {
  const FlowResult result = simulate_flow(2, [] {
    auto kept = make_datum<int>();
    async([](const Promise<int>& /*promise*/) { throw Error("no time"); })(std::move(kept.promise));
    try {
      static_cast<void>(kept.future.get());
      FAIL();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("no time"), std::string::npos) << error.what();
    }
  });
  EXPECT_EQ(result.n_failures, 1U);
  EXPECT_EQ(result.n_data_held, 0U);
}

TEST(Async, ends_with_the_code_of_what_main_throws) {
  const FlowResult result = simulate_flow(1, [] { throw Error("no such word", ExitCode::usage); });
  EXPECT_EQ(result.text(), "1 task failed:\n  main: no such word");
  try {
    result.check();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
  }
}

TEST(Async, says_what_waits_for_ever_and_where) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    const FlowResult result = simulate_flow(seed, [] {
      auto never = make_datum<int>();
      static_cast<void>(never.promise.take());  // nobody gives it back
      const auto waits = async([](int x) { return x; }, {.name = "reader"})(never.future);
      async([](int) {})(waits);
    });
    ASSERT_EQ(result.waiting.size(), 2U) << result.text();
    EXPECT_EQ(result.n_failures, 0U);
    const std::string text = result.text();
    EXPECT_NE(text.find("task 'reader' of "), std::string::npos) << text;
    EXPECT_NE(text.find("async_test.cpp:"), std::string::npos) << text;
    EXPECT_NE(text.find("which nobody has set"), std::string::npos) << text;
  }
}

// More than are shown, and than are kept.
TEST(Async, says_each_rule_that_waits_for_ever_up_to_what_is_shown_and_how_many_there_are) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    const int n = seed % 2 == 0 ? 7 : 1'250;
    const FlowResult result = simulate_flow(seed, [n] {
      auto never = make_datum<int>();
      static_cast<void>(never.promise.take());  // nobody gives it back
      auto [members, insert] = make_container<int>();
      static_cast<void>(insert.take());
      for (int i = 0; i < n; ++i)
        async([](int) {}, {.name = "reader"})(never.future);
      for (int i = 0; i < 3; ++i)
        async([](int) {}, {.name = "one"})(members[i]);
      async([](std::int64_t) {}, {.name = "size"})(members.size());
    });
    const auto n_rules = static_cast<std::uint64_t>(n) + 4;
    EXPECT_EQ(result.n_waiting, n_rules) << result.text();
    EXPECT_EQ(result.n_rules_waiting, n_rules);
    EXPECT_EQ(result.n_data_awaited, 5U);
    EXPECT_EQ(result.waiting.size(), std::min<std::size_t>(n_rules, 1'000));
    const std::string text = result.text();
    const std::string head = "nothing goes on any more, and " + std::to_string(n_rules) +
                             " rules wait for ever for 5 data that are not set:\n";
    EXPECT_EQ(text.find(head), 0U) << text;
    const auto n_lines = static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
    EXPECT_EQ(n_lines, n_rules > 20 ? 21 : n_rules) << text;
    const bool says_more = text.ends_with(
        "\n  and " + std::to_string(n_rules - std::min<std::size_t>(n_rules, 20)) + " more");
    EXPECT_EQ(says_more, n_rules > 20) << text;
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(Async, says_for_what_a_task_blocks_for_ever) {
  for (std::uint64_t seed = 0; seed < n_seeds(20); ++seed) {
    try {
      simulate_flow(seed, [] {
        auto never = make_datum<int>();
        static_cast<void>(never.promise.take());  // nobody gives it back
        async([](const Future<int>& x) { return x.get(); },
              {.core = static_cast<CoreId>(global::n_cores() - 1)})(later(never.future));
      });
      FAIL() << "seed " << seed;
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("deadlock"), std::string::npos) << text;
      EXPECT_NE(text.find("task 'get()' of "), std::string::npos) << text;
      EXPECT_NE(text.find("async_test.cpp:"), std::string::npos) << text;
      EXPECT_NE(text.find("which nobody has set"), std::string::npos) << text;
    }
  }
}

// Each copy of what is stored asks for more.
TEST(Async, asks_for_more_of_a_stored_reference) {
  for (std::uint64_t seed = 0; seed < n_seeds(60); ++seed) {
    const FlowResult result = simulate_flow(seed, [] {
      global::on_all_cores([] { Flow::here().set_stored_least(kWholeWeight); });
      const Future<Container<int>> stored = async([] {
        auto [members, insert] = make_container<int>();
        insert.insert(3, 7);
        return std::move(members);
      })();
      auto [outer, insert] = make_container<Future<int>>();
      insert.insert(0, async([] { return 5; })());
      for (int i = 0; i < 50; ++i) {
        async([](const Container<int>& c) { EXPECT_EQ(c.get(3), 7); })(stored);
        async([](const Future<int>& x) { EXPECT_EQ(x.get(), 5); })(outer[0]);
      }
    });
    ASSERT_EQ(result.text(), "") << "seed " << seed;
    ASSERT_EQ(result.n_data_held, 0U) << "seed " << seed;
  }
}

// Several tasks of the core where a reference is stored copy it while the way to its datum is full.
struct Filler {
  std::array<std::uint64_t, 4> words = {};
  void apply(CoreContext& /*here*/) const {}
};
TEST(Async, copies_a_stored_reference_while_others_wait_for_room) {
  const auto fill = [](CoreId core) {
    for (int i = 0; i < 6; ++i)
      CoreContext::here().post(core, Filler{});
  };
  for (std::uint64_t seed = 0; seed < n_seeds(60); ++seed) {
    const auto n_nodes = static_cast<std::uint32_t>(2 + seed % 4);
    FlowResult result;
    const auto flow = [fill] {
      global::on_all_cores([] { Flow::here().set_stored_least(kWholeWeight); });
      const auto far = static_cast<CoreId>(global::n_cores() - 1);
      auto stored = make_datum<Container<int>>();
      const auto make = [](Promise<Container<int>> promise) {
        auto [members, insert] = make_container<int>();
        insert.insert(3, 7);
        promise.set(members);
      };
      async(make, {.core = far})(std::move(stored.promise));
      const auto copy = [far, fill](const Future<Container<int>>& one) {
        for (int i = 0; i < 20; ++i) {
          fill(far);
          const Container<int> copied = one.get();
          fill(far);
        }
      };
      for (int i = 0; i < 12; ++i)
        async(copy, {.core = 0})(later(stored.future));
    };
    global::simulate_seed(
        n_nodes, 2, seed, [&] { result = run(flow); }, global::tiny_windows());
    ASSERT_EQ(result.text(), "") << "seed " << seed;
    ASSERT_EQ(result.n_data_held, 0U) << "seed " << seed;
  }
}

TEST(Async, refuses_a_promise_that_is_set_twice_and_names_both_places) {
  std::string said;
  const FlowResult result = simulate_flow(1, [&said] {
    auto made = make_datum<int>();
    made.promise.set(1);
    const int line = __LINE__ - 1;
    try {
      made.promise.set(2);
    } catch (const Error& error) {
      said = error.what();
    }
    EXPECT_NE(said.find("async_test.cpp:" + std::to_string(line)), std::string::npos) << said;
    EXPECT_NE(said.find("async_test.cpp:" + std::to_string(line + 3)), std::string::npos) << said;
    EXPECT_EQ(made.future.get(), 1);
    EXPECT_THROW(Promise<int>().set(1), Error);
  });
  EXPECT_EQ(result.text(), "");
}

TEST(Async, fails_a_datum_that_nobody_can_set_any_more) {
  const FlowResult result = simulate_flow(3, [] {
    auto dropped = make_datum<int>();
    { const Promise<int> promise = std::move(dropped.promise); }
    EXPECT_THROW(static_cast<void>(dropped.future.get()), Error);
    auto failed = make_datum<int>();
    failed.promise.fail("for a reason");
    EXPECT_THROW(static_cast<void>(failed.future.get()), Error);
  });
  EXPECT_EQ(result.n_data_held, 0U);
}

// What is captured goes by its bytes, and addresses differ on other nodes: places and names as well.
TEST(Async, may_be_captured_by_tasks_and_loops_of_other_nodes) {
  global::simulate_seed(2, 1, 1, [] {
    const FlowResult result = run([] {
      const auto fail =
          async([](int x) { throw Error("not " + std::to_string(x)); }, {.name = "strict"});
      async_for(0, 64, [fail](std::int64_t i) { fail(static_cast<int>(i)); })().get();
      async([fail] { fail(64); }, {.core = 1})().get();
    });
    EXPECT_EQ(result.n_failures, 65U);
    EXPECT_NE(result.text().find("'strict' of "), std::string::npos) << result.text();
  });
}

#if !defined(NDEBUG) && !defined(__SANITIZE_THREAD__)
TEST(AsyncDeathTest, a_task_that_captures_an_address_is_told_with_its_place) {
  const auto task = [] {
    int local = 0;
    async([to = &local] { ++*to; })().get();
  };
  const auto loop = [] {
    int local = 0;
    async_for(0, 2, [to = &local](std::int64_t) { ++*to; })().get();
  };
  EXPECT_DEATH(global::simulate_seed(2, 1, 1, [&] { run(task); }),
               "captures an address.*a_task_that_captures_an_address");
  EXPECT_DEATH(global::simulate_seed(2, 1, 1, [&] { run(loop); }),
               "captures an address.*a_task_that_captures_an_address");
}
#endif

}  // namespace
}  // namespace rubato::flow
