// Who is asked for tasks, how long ahead, and who gets some.

#include "rubato/core/message/lifelines.hpp"

#include <gtest/gtest.h>

namespace rubato::core {
namespace {

constexpr Nanos kAheadMost = 4 * kMillisecond;

// Turns of that time, behind each of which so many tasks have begun and come.
struct Turns {
  Pace pace;
  Nanos now = 0;
  std::uint64_t n_begun = 0;
  std::uint64_t n_came = 0;
  void add(int n_turns, Nanos time, std::uint64_t n_begun_each, std::uint64_t n_came_each = 0) {
    for (int turn = 0; turn < n_turns; ++turn) {
      pace.begin_turn(now, n_begun, n_came);
      pace.note_work_left();
      now += time;
      n_begun += n_begun_each;
      n_came += n_came_each;
    }
    pace.begin_turn(now, n_begun, n_came);
  }
};

TEST(Pace, is_how_many_tasks_begin_in_a_time) {
  Turns turns;
  EXPECT_EQ(turns.pace.n_in(kMillisecond), 0U);  // nothing is known
  turns.add(9, 100 * kMicrosecond, 5);
  EXPECT_EQ(turns.pace.n_in(kMillisecond), 0U);  // too little
  turns.add(100, 100 * kMicrosecond, 5);
  EXPECT_EQ(turns.pace.n_in(2 * kMillisecond), 100U);
  EXPECT_EQ(turns.pace.n_in(0), 0U);
  turns.add(1000, 100 * kMicrosecond, 1);  // slower of late
  EXPECT_EQ(turns.pace.n_in(2 * kMillisecond), 20U);
}

TEST(Pace, of_tasks_that_take_longer_is_one_until_none_has_begun_for_long) {
  Turns turns;
  turns.add(3, 300 * kMillisecond, 1);
  EXPECT_EQ(turns.pace.n_in(kMillisecond), 1U);
  turns.add(2, 300 * kMillisecond, 0);
  EXPECT_EQ(turns.pace.n_in(kMillisecond), 1U);
  turns.add(10, 300 * kMillisecond, 0);
  EXPECT_EQ(turns.pace.n_in(kMillisecond), 0U);
}

TEST(Pace, leaves_out_what_comes_meanwhile) {
  Turns turns;
  turns.add(100, 100 * kMicrosecond, 10, 4);
  EXPECT_EQ(turns.pace.n_in(kMillisecond), 60U);
  turns.add(1000, 100 * kMicrosecond, 10, 10);
  EXPECT_EQ(turns.pace.n_in(kMillisecond), 0U);
  turns.add(1000, 100 * kMicrosecond, 10, 30);
  EXPECT_EQ(turns.pace.n_in(kMillisecond), 0U);
  Turns slow;  // of which nearly all come
  slow.add(100, 10 * kMillisecond, 4, 3);
  EXPECT_EQ(slow.pace.n_in(kMillisecond), 0U);
}

TEST(Pace, leaves_out_the_time_in_which_there_is_no_work) {
  Turns turns;
  for (int i = 0; i < 100; ++i) {
    turns.add(1, kMillisecond, 10);
    turns.now += kSecond;  // the turn before had none left
  }
  EXPECT_EQ(turns.pace.n_in(kMillisecond), 10U);
}

TEST(RoundTrip, follows_what_it_was_of_late) {
  RoundTrip trip;
  EXPECT_EQ(trip.time(), 0);
  trip.note(800);
  EXPECT_EQ(trip.time(), 800);
  trip.note(1600);
  EXPECT_EQ(trip.time(), 900);
  for (int i = 0; i < 200; ++i)
    trip.note(80);
  EXPECT_NEAR(static_cast<double>(trip.time()), 80, 8);
  for (int i = 0; i < 200; ++i)
    trip.note(-5);  // turns have begun before what they are about
  EXPECT_GE(trip.time(), 1);
}

std::vector<CoreId> asked(Lifelines& lifelines, Lifelines::Asked how) {
  std::vector<CoreId> all;
  lifelines.ask(how, [&](CoreId core) { all.push_back(core); });
  return all;
}

TEST(Lifelines, ask_each_other_core_once_until_it_gives_something) {
  using Asked = Lifelines::Asked;
  Lifelines lifelines;
  for (const CoreId core : {3U, 5U, 9U})
    lifelines.add(core);
  EXPECT_EQ(asked(lifelines, Asked::ahead), (std::vector<CoreId>{3, 5, 9}));
  EXPECT_EQ(asked(lifelines, Asked::ahead), std::vector<CoreId>{});
  EXPECT_EQ(asked(lifelines, Asked::now), (std::vector<CoreId>{3, 5, 9}));
  EXPECT_EQ(asked(lifelines, Asked::now), std::vector<CoreId>{});
  lifelines.note_given(5);
  lifelines.note_given(7);  // it was not asked
  EXPECT_EQ(asked(lifelines, Asked::ahead), std::vector<CoreId>{5});
  EXPECT_EQ(asked(lifelines, Asked::now), std::vector<CoreId>{5});
}

TEST(Lifelines, ask_twice_as_long_ahead_as_an_answer_takes) {
  Lifelines lifelines;
  lifelines.add(1);
  std::uint64_t n = 0;
  const auto turns = [&](int n_turns, Nanos ahead_most) {
    for (int turn = 0; turn < n_turns; ++turn) {
      lifelines.begin_turn(static_cast<Nanos>(n) * 10 * kMicrosecond, n, 0, ahead_most);
      lifelines.pace.note_work_left();
      n += 10;
    }
  };
  turns(200, kAheadMost);
  EXPECT_EQ(lifelines.n_ahead(), 0U);  // no answer yet
  lifelines.round_trip.note(kMillisecond);
  turns(1, kAheadMost);
  EXPECT_EQ(lifelines.n_ahead(), 200U);
  turns(1, kMillisecond);
  EXPECT_EQ(lifelines.n_ahead(), 100U);
  turns(1, 0);
  EXPECT_EQ(lifelines.n_ahead(), 0U);
}

TEST(Lifelines, give_those_first_who_have_least_and_only_of_a_difference) {
  Lifelines lifelines;
  for (CoreId core = 1; core < 10; ++core)
    lifelines.add(core);
  EXPECT_EQ(lifelines.n_shares(), 4U);
  EXPECT_FALSE(lifelines.has_asker_below(100));
  lifelines.note_question({1, 0, 20, 0}, true);
  lifelines.note_question({2, 0, 10, 0}, true);
  lifelines.note_question({3, 0, 30, 0}, true);
  EXPECT_FALSE(lifelines.has_asker_below(13));
  ASSERT_TRUE(lifelines.has_asker_below(14));
  EXPECT_EQ(lifelines.askers.back().who, 2U);
  lifelines.note_question({2, 0, 40, 0}, true);  // it was given some, and asks again
  EXPECT_EQ(lifelines.askers.size(), 3U);
  ASSERT_TRUE(lifelines.has_asker_below(24));
  EXPECT_EQ(lifelines.askers.back().who, 1U);
  lifelines.note_question({1, 0, 0, 0}, false);  // it has nothing left
  EXPECT_EQ(lifelines.askers.size(), 2U);
  ASSERT_EQ(lifelines.beggars.size(), 1U);
  lifelines.note_question({1, 0, 5, 0}, true);  // a question of before, on its way for longer
  EXPECT_EQ(lifelines.askers.size(), 2U);
  EXPECT_EQ(lifelines.beggars.size(), 1U);
}

}  // namespace
}  // namespace rubato::core
