// Checked builds look at what every call captures that takes a closure to other cores.

#include <vector>

#include <gtest/gtest.h>

#include "rubato/global/array.hpp"
#include "rubato/global/bag.hpp"
#include "rubato/global/future.hpp"
#include "rubato/global/hash_map.hpp"
#include "rubato/global/object.hpp"
#include "rubato/global/reduce_cores.hpp"
#include "rubato/global/simulate_test.hpp"
#include "rubato/global/team.hpp"
#include "rubato/global/vector.hpp"
#include "rubato/net/local.hpp"

namespace rubato::global {
namespace {

#if !defined(NDEBUG) && !defined(__SANITIZE_THREAD__)

using Word = std::uint64_t;

// As the main task of a job of two nodes, with the word of the other node, and an address to capture.
template <class F>
// NOLINTNEXTLINE(readability-function-size): within EXPECT_DEATH
void expect_told(F use, const char* name) {
  const auto main = [use] {
    Word local = 0;
    use(GlobalArray<Word>::make(2)[1], &local);
  };
  const std::string text = std::string("captures an address.*CaptureDeathTest_") + name;
  EXPECT_DEATH(simulate_seed(2, 1, 1, main), text);
}

TEST(CaptureDeathTest, OfCall) {
  expect_told([](auto p, Word* to) { call(p, [to](Word& x) { *to = x; }); }, "OfCall");
}
TEST(CaptureDeathTest, OfAsyncCall) {
  expect_told([](auto p, Word* to) { finish([&] { async_call(p, [to](Word& x) { *to = x; }); }); },
              "OfAsyncCall");
}
// What handles the result stays here, and may.
TEST(CaptureDeathTest, OfFetchCall) {
  expect_told(
      [](auto p, Word* to) {
        finish([&] {
          fetch_call(
              p, [to](Word& x) { return x + *to; }, [](Word) {});
        });
      },
      "OfFetchCall");
}
TEST(CaptureDeathTest, OfFutureCall) {
  expect_told(
      [](auto p, Word* to) {
        static_cast<void>(future_call(p, [to](Word& x) { return x + *to; }).get());
      },
      "OfFutureCall");
}
TEST(CaptureDeathTest, OfAValueThatIsInserted) {
  struct Held {
    Word* to;
  };
  expect_told(
      [](auto, Word* to) {
        const auto map = GlobalHashMap<Word, Held>::make();
        for (Word key = 0; key < 20; ++key)
          map.insert(key, Held{to});
      },
      "OfAValueThatIsInserted");
}
TEST(CaptureDeathTest, OfAnUpsertThatIsCombined) {
  struct Sum {
    Word* to;
  };
  expect_told(
      [](auto, Word* to) {
        const auto map = GlobalHashMap<Word, Sum>::make();
        finish([&] { map.async_combine(1, Sum{to}, [](Sum& a, const Sum& b) { a = b; }); });
      },
      "OfAnUpsertThatIsCombined");
}
TEST(CaptureDeathTest, OfWhatMakesAnObject) {
  struct Holder {
    Word* to;
  };
  struct Object {
    explicit Object(const Holder& holder) : held(holder) {}
    Holder held;
  };
  expect_told([](auto, Word* to) { static_cast<void>(create<Object>(1, Holder{to})); },
              "OfWhatMakesAnObject");
}

TEST(CaptureDeathTest, OfALoopOverARange) {
  expect_told([](auto, Word* to) { forall(0, 100, [to](Word i) { *to = i; }); },
              "OfALoopOverARange");
}
TEST(CaptureDeathTest, OfALoopOverAnArray) {
  expect_told(
      [](auto, Word* to) { forall(GlobalArray<Word>::make(9), [to](Word& x) { *to = x; }); },
      "OfALoopOverAnArray");
}
// Which is sent to the owners of its blocks alone.
TEST(CaptureDeathTest, OfALoopOverPartOfAnArray) {
  expect_told(
      [](auto, Word* to) {
        const auto array = GlobalArray<Word>::make(9);
        forall(array.begin() + 1, array.begin() + 2, [to](Word& x) { *to = x; });
      },
      "OfALoopOverPartOfAnArray");
}
TEST(CaptureDeathTest, OfALoopOverAMap) {
  expect_told(
      [](auto, Word* to) {
        forall(GlobalHashMap<Word, Word>::make(), [to](Word, Word& x) { *to = x; });
      },
      "OfALoopOverAMap");
}
TEST(CaptureDeathTest, OfALoopOverAVector) {
  expect_told(
      [](auto, Word* to) { forall(GlobalVector<Word>::make(), [to](Word& x) { *to = x; }); },
      "OfALoopOverAVector");
}
TEST(CaptureDeathTest, OfALoopOverABag) {
  expect_told([](auto, Word* to) { forall(GlobalBag<Word>::make(), [to](Word& x) { *to = x; }); },
              "OfALoopOverABag");
}

TEST(CaptureDeathTest, OfATaskOfAllCores) {
  expect_told([](auto, Word* to) { on_all_cores([to] { ++*to; }); }, "OfATaskOfAllCores");
}
TEST(CaptureDeathTest, OfATaskOfATeam) {
  expect_told(
      [](auto, Word* to) {
        on_all_cores([to = make_global(*to)] {
          const Team half = Team::job().split(0);
          if (to.is_local()) half.on_all_cores([at = &to.local()] { ++*at; });
        });
      },
      "OfATaskOfATeam");
}
TEST(CaptureDeathTest, OfATaskOfACore) {
  expect_told([](auto, Word* to) { finish([&] { spawn_on(1, [to] { ++*to; }); }); },
              "OfATaskOfACore");
}
TEST(CaptureDeathTest, OfATaskOfAnyCore) {
  expect_told([](auto, Word* to) { finish([&] { spawn_anywhere([to] { ++*to; }); }); },
              "OfATaskOfAnyCore");
}
TEST(CaptureDeathTest, OfAReductionOverCores) {
  expect_told(
      [](auto, Word* to) { static_cast<void>(reduce_cores([to] { return *to; }, std::plus<>{})); },
      "OfAReductionOverCores");
}

// In a job of one node it means the same on all cores: people are told once of each lambda.
TEST(Capture, OfAJobOfOneNodeIsToldOnce) {
  net::LocalFabric fabric;
  core::NodeHostOptions options;
  options.n_cores = 2;
  options.owns_process = false;
  core::NodeHost host(fabric, options);
  ::testing::internal::CaptureStderr();
  Word local = 0;
  run(host, {}, [&local] {
    Word* const to = &local;
    for (int i = 0; i < 3; ++i)
      finish([to] { spawn_on(1, [to] { ++*to; }); });
    const auto values = GlobalArray<Word>::make(100);
    forall(values, [values, n = Word{7}](Word& x) { x = n; });
  });
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(local, 3U);
  const std::size_t first = text.find("captures an address");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_NE(text.find("Capture_OfAJobOfOneNode", first), std::string::npos) << text;
  EXPECT_EQ(text.find("captures an address", first + 1), std::string::npos) << text;
}

#endif

}  // namespace
}  // namespace rubato::global
