// TaskPool alone: what is run first, what is given away, and how much of it at once.

#include "rubato/core/message/task_pool.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace rubato::core::detail {
namespace {

using Number = std::uint64_t;
constexpr std::size_t kInChunk = TaskChunk::kBytes / sizeof(Number);

PooledKind kind_of(std::size_t stride, bool makes_more = false) {
  PooledKind kind;
  kind.stride = stride;
  kind.makes_more = makes_more;
  return kind;
}

class Pools : public ::testing::Test {
 protected:
  void push(TaskPool& pool, Number number, const PooledKind& kind, FinishId finish = 0) {
    std::byte* at = nullptr;
    (void)pool.begin_push(kind, finish, at);
    std::memcpy(at, &number, sizeof number);
  }
  void push_all(TaskPool& pool, Number first, Number n) {
    for (Number i = 0; i < n; ++i)
      push(pool, first + i, kind_);
  }
  // The next one, which is gone then.
  Number pop(TaskPool& pool) {
    const TaskChunk& top = pool.top();
    Number number = 0;
    std::memcpy(&number, top.bytes + (top.n - 1) * top.kind->stride, sizeof number);
    pool.pop();
    return number;
  }
  std::vector<Number> pop_all(TaskPool& pool) {
    std::vector<Number> numbers;
    while (!pool.empty())
      numbers.push_back(pop(pool));
    return numbers;
  }
  std::size_t take(TaskPool& thief, TaskPool& victim) {
    std::size_t n = 0;
    (void)thief.take_from(victim, [&](const TaskChunk& chunk) { n += chunk.n; });
    victim.note_gone(n);
    return n;
  }

  const PooledKind kind_ = kind_of(sizeof(Number));
  NodeHunger hunger_;
  TaskPool mine_{hunger_};
  TaskPool thief_{hunger_};
};

TEST_F(Pools, the_newest_is_run_first_and_the_oldest_is_given_away) {
  push_all(mine_, 0, 10 * kInChunk);
  mine_.share_half();
  EXPECT_EQ(mine_.size(), 5 * kInChunk);
  EXPECT_EQ(mine_.n_lent(), 5 * kInChunk);
  EXPECT_EQ(hunger_.n_shared.load(), 5U);
  EXPECT_EQ(pop(mine_), 10 * kInChunk - 1);
  // Half of what is shared, and one chunk of an odd number more.
  EXPECT_EQ(take(thief_, mine_), 3 * kInChunk);
  EXPECT_EQ(hunger_.n_shared.load(), 2U);
  std::vector<Number> given = pop_all(thief_);
  std::ranges::sort(given);
  std::vector<Number> oldest(3 * kInChunk);
  std::iota(oldest.begin(), oldest.end(), Number{0});
  EXPECT_EQ(given, oldest);
  // The rest is this core's again if nobody comes, once.
  EXPECT_TRUE(mine_.take_back(0));
  EXPECT_FALSE(mine_.take_back(0));
  EXPECT_EQ(mine_.n_lent(), 0U);
  EXPECT_EQ(mine_.size(), 7 * kInChunk - 1);
}

// Whoever makes tasks faster than all run them would have most of them go to and fro.
TEST_F(Pools, of_very_many_some_thousand_are_shared_at_a_time) {
  constexpr std::size_t kMost = 8192;
  push_all(mine_, 0, 40 * kMost);
  mine_.share_half();
  EXPECT_EQ(mine_.n_lent(), kMost);
  EXPECT_EQ(mine_.size(), 39 * kMost);
  EXPECT_EQ(take(thief_, mine_), kMost / 2);
  // Of few it is half.
  TaskPool few(hunger_);
  push_all(few, 0, kMost);
  few.share_half();
  EXPECT_EQ(few.n_lent(), kMost / 2);
}

// Chunks of large records are as many bytes: a first one is given though it alone were too many.
TEST_F(Pools, at_least_one_chunk_is_given_whatever_the_bound) {
  push_all(mine_, 0, 4 * kInChunk);
  const std::vector<TaskChunkPtr> taken = mine_.take_half(1);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0]->n, kInChunk);
  EXPECT_EQ(mine_.size(), 3 * kInChunk);
}

TEST_F(Pools, one_chunk_is_cut_and_each_record_is_in_one_half) {
  push_all(mine_, 0, 7);
  const std::vector<TaskChunkPtr> taken = mine_.take_half(100);
  ASSERT_EQ(taken.size(), 1U);
  ASSERT_EQ(taken[0]->n, 3U);
  std::vector<Number> given(3);
  std::memcpy(given.data(), taken[0]->bytes, 3 * sizeof(Number));
  EXPECT_EQ(given, (std::vector<Number>{0, 1, 2}));
  EXPECT_EQ(pop_all(mine_), (std::vector<Number>{6, 5, 4, 3}));
}

TEST_F(Pools, one_alone_is_given_as_a_whole) {
  push(mine_, 7, kind_);
  mine_.share_half();
  EXPECT_TRUE(mine_.empty());
  EXPECT_EQ(mine_.n_lent(), 1U);
  EXPECT_EQ(take(thief_, mine_), 1U);
  EXPECT_EQ(pop_all(thief_), std::vector<Number>{7});
  push(mine_, 8, kind_);
  EXPECT_EQ(pop_all(mine_), std::vector<Number>{8});
}

// The clock is asked for the first of those that are made, the second, the fourth and so on.
TEST_F(Pools, offers_are_due_at_once_and_then_after_a_while) {
  Nanos now = kMillisecond;
  int n_asked = 0;
  const auto is_due = [&] {
    return mine_.is_offer_due([&] {
      ++n_asked;
      return now;
    });
  };
  push(mine_, 1, kind_);
  EXPECT_FALSE(is_due()) << "nobody is hungry";
  hunger_.n_hungry = 1;
  EXPECT_TRUE(is_due());
  for (int i = 0; i < 1000; ++i)
    EXPECT_FALSE(is_due()) << "no time has passed";
  EXPECT_EQ(n_asked, 1 + 10) << "1 to 512";
  EXPECT_EQ(mine_.size(), 1U) << "nobody would know";
  now += kMillisecond;
  hunger_.n_hungry = 0;
  EXPECT_FALSE(is_due());
  EXPECT_EQ(take(thief_, mine_), 1U) << "it lies ready";
  // However many were made before.
  hunger_.n_hungry = 1;
  push(mine_, 2, kind_);
  EXPECT_TRUE(is_due());
  mine_.share_half();
  push(mine_, 3, kind_);
  now += kMillisecond;
  EXPECT_FALSE(is_due()) << "what was shared waits to be taken";
}

// So that the other core, which has the first of them, has more when that is done.
TEST_F(Pools, of_few_that_are_made_after_an_offer_half_lies_ready) {
  Nanos now = kMillisecond;
  const auto push_and_offer = [&](Number number) {
    push(mine_, number, kind_);
    return mine_.is_offer_due([&] { return now; });
  };
  hunger_.n_hungry = 1;
  EXPECT_TRUE(push_and_offer(0));
  mine_.share_half();
  EXPECT_EQ(take(thief_, mine_), 1U);
  hunger_.n_hungry = 0;
  EXPECT_TRUE(mine_.is_offering());
  for (Number i = 1; i <= 32; ++i)
    EXPECT_FALSE(push_and_offer(i));
  EXPECT_EQ(mine_.n_lent() + mine_.size(), 32U);
  EXPECT_GT(mine_.n_lent(), 16U);
  EXPECT_GT(mine_.size(), 8U);
  // Many are shared between turns.
  for (Number i = 33; i <= 2000; ++i)
    EXPECT_FALSE(push_and_offer(i));
  EXPECT_FALSE(mine_.is_offering());
  EXPECT_LT(mine_.n_lent(), 1024U);
}

// What makes others last, whenever it came: nobody makes what lies unused.
TEST_F(Pools, makers_of_others_are_run_last_and_given_first) {
  const PooledKind makers = kind_of(sizeof(Number), true);
  push(mine_, 1, kind_);
  push(mine_, 100, makers);
  push(mine_, 2, kind_);
  push(mine_, 101, makers);
  const std::vector<TaskChunkPtr> taken = mine_.take_half(100);
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_TRUE(taken[0]->kind->makes_more);
  EXPECT_EQ(pop_all(mine_), (std::vector<Number>{2, 1}));
}

}  // namespace
}  // namespace rubato::core::detail
