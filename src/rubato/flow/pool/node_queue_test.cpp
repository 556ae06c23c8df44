#include "rubato/flow/pool/node_queue.hpp"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace rubato::flow {
namespace {

// NOLINTNEXTLINE(cert-err58-cpp): before main, like all actions
const ActionId kNothing = register_action({.name = "nothing", .run = [](Flow&, Rule&) {}});

// A rule that is known by its number.
NodeQueue::Waiting rule(std::uint64_t number, const RuleOptions& options = {}) {
  auto made = std::make_unique<Rule>(kNothing, 0, options, PortablePlace{});
  made->set_closure(&number, sizeof number);
  return {std::move(made)};
}
NodeQueue::Waiting unit_for(CoreId core, std::uint64_t number, std::int32_t priority = 0) {
  NodeQueue::Waiting unit = rule(number, {.core = core, .priority = priority});
  unit.only = core;
  return unit;
}
std::uint64_t number_of(const NodeQueue::Waiting& waiting) {
  std::uint64_t number = 0;
  std::memcpy(&number, waiting.rule->closure().data(), sizeof number);
  return number;
}
std::vector<std::uint64_t> numbers_of(const std::vector<NodeQueue::Waiting>& all) {
  std::vector<std::uint64_t> numbers;
  for (const auto& each : all)
    numbers.push_back(number_of(each));
  return numbers;
}
void put(NodeQueue& queue, NodeQueue::Waiting waiting) {
  queue.add(std::move(waiting), false);
}
using Next = std::pair<std::uint64_t, CoreId>;  // number, core
constexpr Next kNone{99, 99};
Next next_of(const std::optional<NodeQueue::Begun>& begun) {
  return begun ? Next(number_of(begun->next), begun->core) : kNone;
}
Next begin_next(NodeQueue& queue, CoreId rather = 0) {
  return next_of(queue.begin_next(rather));
}
Next end_on(NodeQueue& queue, CoreId core) {
  return next_of(queue.end_on(core));
}

TEST(NodeQueue, begins_the_best_on_the_core_that_has_least_to_do) {
  NodeQueue queue(4, 2, 3);
  for (std::uint64_t i = 0; i < 3; ++i)
    put(queue, rule(i, {.priority = static_cast<std::int32_t>(i % 2)}));
  put(queue, rule(3));
  EXPECT_EQ(begin_next(queue, 5), (Next{1, 5}));
  EXPECT_EQ(begin_next(queue, 5), (Next{0, 4}));
  EXPECT_EQ(begin_next(queue, 5), (Next{2, 5}));
  EXPECT_EQ(begin_next(queue, 5), kNone);  // three workers
  EXPECT_EQ(end_on(queue, 4), (Next{3, 4}));
  EXPECT_EQ(end_on(queue, 5), kNone);  // nothing waits
}

TEST(NodeQueue, begins_what_is_for_a_core_there) {
  NodeQueue queue(0, 2, 2);
  put(queue, rule(1, {.core = 1}));
  put(queue, rule(2, {.core = 1}));
  put(queue, rule(3, {.core = 17, .may_move = true}));  // of another node
  EXPECT_EQ(begin_next(queue), (Next{1, 1}));
  EXPECT_EQ(begin_next(queue), (Next{2, 1}));
  EXPECT_EQ(end_on(queue, 1), (Next{3, 0}));
}

TEST(NodeQueue, gives_teams_workers_first) {
  NodeQueue queue(0, 2, 2);
  put(queue, rule(1));
  put(queue, rule(2));
  EXPECT_EQ(begin_next(queue), (Next{1, 0}));
  queue.reserve(2);
  EXPECT_TRUE(queue.counts().is_reserving);
  EXPECT_EQ(begin_next(queue), kNone);
  EXPECT_FALSE(queue.take_reserved());
  EXPECT_EQ(end_on(queue, 0), kNone);
  EXPECT_EQ(queue.counts().n_reserved, 2U);
  EXPECT_EQ(queue.take_reserved(), (std::vector<CoreId>{1, 0}));
  EXPECT_FALSE(queue.take_reserved());
  EXPECT_EQ(begin_next(queue), kNone);
  EXPECT_EQ(end_on(queue, 1), (Next{2, 1}));
}

TEST(NodeQueue, gives_the_best_and_every_second_one) {
  NodeQueue queue(0, 1, 1);
  for (std::uint64_t i = 0; i < 6; ++i)
    put(queue, rule(i));
  put(queue, rule(6, {.core = 0}));
  put(queue, rule(7, {.core = 0, .may_move = true}));
  EXPECT_EQ(queue.counts().n_waiting, 8U);
  EXPECT_EQ(queue.counts().n_movable, 7U);
  EXPECT_EQ(queue.counts().n_anywhere, 6U);
  EXPECT_EQ(numbers_of(queue.give(2, false)), (std::vector<std::uint64_t>{0, 2}));
  EXPECT_EQ(numbers_of(queue.give(100, true)), (std::vector<std::uint64_t>{1, 4}));
  EXPECT_EQ(numbers_of(queue.give(100, false)), (std::vector<std::uint64_t>{3, 7}));
  EXPECT_EQ(numbers_of(queue.give(0, false)), (std::vector<std::uint64_t>{5}));
  EXPECT_EQ(numbers_of(queue.give(1, false)), (std::vector<std::uint64_t>{}));
  EXPECT_EQ(queue.counts().n_waiting, 1U);
  EXPECT_EQ(queue.counts().n_movable, 0U);
  EXPECT_EQ(queue.counts().n_anywhere, 0U);
}

TEST(NodeQueue, hands_units_to_who_may_have_them) {
  NodeQueue queue(0, 3, 0);
  queue.add_getter({0, 10});
  queue.add_getter({1, 11});
  queue.add_getter({2, 12});
  EXPECT_EQ(queue.counts().n_free, 3U);
  put(queue, unit_for(1, 1));
  put(queue, unit_for(1, 2, 5));
  put(queue, rule(3, {.core = 2, .may_move = true}));
  put(queue, rule(4, {.priority = -1}));
  EXPECT_EQ(queue.counts().n_waiting, 2U);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> handed;  // unit, address
  while (auto next = queue.hand_next())
    handed.emplace_back(number_of(next->unit), next->to.address);
  EXPECT_EQ(handed,
            (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{3, 12}, {4, 10}, {2, 11}}));
  queue.add_getter({0, 13});
  EXPECT_FALSE(queue.hand_next());  // what is left is for core 1
  queue.close();
  queue.add_getter({1, 14});
  const auto last = queue.hand_next();
  ASSERT_TRUE(last);
  EXPECT_EQ(number_of(last->unit), 1U);
  EXPECT_EQ(last->to.address, 14U);
}

// One message of each core at a time tells the keeper, who then knows of all; of units one that holds their scope open.
TEST(NodeQueue, has_news_for_its_keeper) {
  NodeQueue queue(0, 2, 1);
  NodeQueue::Waiting of_loop = rule(1);
  of_loop.rule->loop = 7;
  put(queue, std::move(of_loop));
  put(queue, rule(2));
  queue.add(rule(3), true);
  EXPECT_TRUE(queue.has_to_tell(1, 5));
  EXPECT_FALSE(queue.has_to_tell(1, 5));
  EXPECT_FALSE(queue.has_to_tell(1, 6));
  EXPECT_TRUE(queue.has_to_tell(0, 5));  // the other one may be busy before its message leaves
  EXPECT_FALSE(queue.has_to_tell(0, 5));
  EXPECT_EQ(begin_next(queue), (Next{1, 0}));
  EXPECT_EQ(queue.give(1, false).size(), 1U);
  const NodeQueue::News news = queue.take_news();
  ASSERT_EQ(news.came.size(), 2U);
  EXPECT_EQ(news.came[0].of.loop, 7U);
  EXPECT_EQ(news.came[0].n, 1U);
  EXPECT_FALSE(news.came[0].is_full);
  EXPECT_EQ(news.came[1].n, 2U);
  EXPECT_TRUE(news.came[1].is_full);
  EXPECT_EQ(news.n_begun, 1U);
  EXPECT_EQ(news.n_given, 1U);
  EXPECT_TRUE(queue.take_news().came.empty());
  EXPECT_TRUE(queue.has_to_tell(1, 0));  // of no scope: it may come when the run has ended
  EXPECT_TRUE(queue.has_to_tell(1, 5));

  NodeQueue units(0, 2);
  EXPECT_TRUE(units.has_to_tell(1, 5));
  EXPECT_FALSE(units.has_to_tell(1, 5));
  EXPECT_TRUE(units.has_to_tell(1, 6));
  EXPECT_TRUE(units.has_to_tell(1, 5));
}

// The keeper looks when a message has come, and in between; there is one for whatever has changed.
TEST(NodeQueue, has_a_message_for_all_news) {
  constexpr std::uint64_t kRounds = 100;
  constexpr std::uint64_t kEach = 500;
  constexpr std::uint32_t kCores = 3;  // the first is the keeper
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    NodeQueue queue(0, kCores, 1);
    std::atomic<std::uint64_t> n_messages = 0;
    std::atomic<std::uint32_t> n_ended = 0;
    std::uint64_t n_came = 0;
    const auto look = [&] {
      for (const auto& came : queue.take_news().came)
        n_came += came.n;
    };
    const auto play = [&](CoreId me) {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        put(queue, rule(i));
        if (queue.has_to_tell(me, 5 + i % 2)) ++n_messages;
      }
      ++n_ended;
    };
    const auto keep = [&] {
      std::uint64_t n_seen = 0;
      while (n_ended < kCores - 1 || n_seen < n_messages) {
        if (n_seen == n_messages) {
          if (n_ended == 0) look();
          continue;
        }
        ++n_seen;
        look();
      }
    };
    {
      std::vector<std::jthread> cores;
      cores.emplace_back(keep);
      for (CoreId core = 1; core < kCores; ++core)
        cores.emplace_back(play, core);
    }
    ASSERT_EQ(n_came, kEach * (kCores - 1)) << "round " << round;
  }
}

// Each core looks once after what it has done itself; if that were not enough, some would stay for ever.
TEST(NodeQueue, loses_no_rule_for_which_there_is_a_worker) {
  constexpr std::uint64_t kRounds = 300;
  constexpr std::uint64_t kEach = 100;
  constexpr std::uint32_t kCores = 4;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    NodeQueue queue(0, kCores, static_cast<std::uint32_t>(1 + round % 3));
    std::atomic<std::uint64_t> n_done = 0;
    const auto play = [&](CoreId me) {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        put(queue, rule(i));
        for (auto next = queue.begin_next(me); next; next = queue.end_on(next->core))
          ++n_done;
      }
    };
    {
      std::vector<std::jthread> cores;
      for (CoreId core = 0; core < kCores; ++core)
        cores.emplace_back(play, core);
    }
    ASSERT_EQ(n_done, kEach * kCores) << "round " << round;
  }
}

// Threads put, run and give away at the same time: each rule goes one way, and no more run than may.
TEST(NodeQueue, loses_nothing_among_threads) {
  constexpr std::uint64_t kEach = 20'000;
  constexpr std::uint32_t kCores = 4;
  constexpr int kWorkers = 3;
  NodeQueue queue(0, kCores, kWorkers);
  std::vector<std::atomic<int>> n_seen(kEach * kCores);
  std::atomic<std::uint64_t> n_done = 0;
  std::atomic<int> n_running = 0;
  std::atomic<bool> too_many = false;
  const auto play = [&](CoreId me) {
    std::uint64_t n_put = 0;
    while (n_done < kEach * kCores) {
      if (n_put < kEach) put(queue, rule(me * kEach + n_put++));
      if (n_put % 16 == me) {
        for (const auto& each : queue.give(2, false)) {
          ++n_seen[number_of(each)];
          ++n_done;
        }
      }
      for (auto next = queue.begin_next(me); next;) {
        if (++n_running > kWorkers) too_many = true;
        ++n_seen[number_of(next->next)];
        --n_running;
        ++n_done;
        next = queue.end_on(next->core);
      }
    }
  };
  {
    std::vector<std::jthread> cores;
    for (CoreId core = 0; core < kCores; ++core)
      cores.emplace_back(play, core);
  }
  EXPECT_FALSE(too_many);
  for (const auto& n : n_seen)
    ASSERT_EQ(n, 1);
  const NodeQueue::Counts left = queue.counts();
  EXPECT_EQ(left.n_waiting + left.n_movable + left.n_anywhere, 0U);
  EXPECT_EQ(left.n_free, std::size_t{kWorkers});
}

}  // namespace
}  // namespace rubato::flow
