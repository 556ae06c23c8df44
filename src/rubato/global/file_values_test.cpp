// Containers of values and keys of any length in files.

#include <algorithm>
#include <array>
#include <future>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/base/random.hpp"
#include "rubato/global/file.hpp"
#include "rubato/global/file_test.hpp"
#include "rubato/global/page_test.hpp"

namespace rubato::global {
namespace {

Page page_of(std::uint64_t i) {
  return {key_of(i % 4 == 1 ? 0 : i), std::vector<std::uint32_t>(i % 7, std::uint32_t{7})};
}
// Some fill segments.
std::string text_of(std::uint64_t i) {
  return i % 40 == 3 ? key_of(i) + std::string(150'000, 'y') : key_of(i);
}

TEST(ContainerFile, HasValuesOfAnyLength) {
  const Folder folder;
  for (std::uint64_t seed = 0; seed < 9; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::uint64_t n = seed == 5 ? 0 : hash_words(seed) % 500;
    std::vector<Page> saved;
    run_on_shape(seed, [&] {
      const auto map = GlobalHashMap<Page, std::string>::make();
      const auto vector = GlobalVector<Page>::make();
      const auto bag = GlobalBag<std::string>::make();
      forall(0, n, [=](std::uint64_t i) {
        map.async_insert(page_of(i), text_of(i));
        vector.async_push(page_of(i));
        bag.put(text_of(i));
      });
      static_cast<void>(vector.pop_front());
      saved = vector.values();
      save(map, folder.file("map"));
      save(vector, folder.file("vector"));
      save(bag, folder.file("bag"));
    });
    std::vector<Page> loaded;
    std::vector<std::string> of_bag;
    std::uint64_t n_wrong = 0;
    run_on_shape(seed * 5 + 1, [&] {
      const auto map = load_map<Page, std::string>(folder.file("map"));
      forall(map, [wrong = make_global(n_wrong)](const Page& page, const std::string& text) {
        if (!text.starts_with(page.title)) async_call(wrong, [](std::uint64_t& w) { ++w; });
      });
      for (std::uint64_t i = 0; i < n; i += 97)
        n_wrong += map.find(page_of(i)) ? 0 : 1;
      loaded = load_vector<Page>(folder.file("vector")).values();
      const auto bag = load_bag<std::string>(folder.file("bag"));
      while (auto text = bag.take())
        of_bag.push_back(*text);
    });
    EXPECT_EQ(n_wrong, 0U);
    EXPECT_TRUE(loaded == saved) << loaded.size() << " of " << saved.size();
    std::vector<std::string> expected;
    for (std::uint64_t i = 0; i < n; ++i)
      expected.push_back(text_of(i));
    std::ranges::sort(expected);
    std::ranges::sort(of_bag);
    EXPECT_TRUE(of_bag == expected) << of_bag.size() << " of " << expected.size();
  }
  EXPECT_EQ(error_of(2, [&] { static_cast<void>(load_vector<int>(folder.file("vector"))); }),
            "reading " + folder.file("vector") +
                ": offset 16: expected elements of 4 bytes, found elements of several lengths");
}

// Bytes between cores during f, in MiB.
template <class F>
std::uint64_t mebibytes_sent(const F& f) {
  return simulate_seed(2, 2, 1, f).counters.n_bytes >> 20;
}

// An array of 16 segments, of which each core has its four: they go nowhere else. Of one that lies word
// by word on all cores three quarters do.
TEST(ContainerFile, IsWrittenAndReadByAllCores) {
  constexpr std::uint64_t kWords = 16 * detail::kSegmentBytes / sizeof(std::uint64_t);
  const Folder folder;
  const auto save_by = [&](std::uint64_t block) {
    const auto array = GlobalArray<std::uint64_t>::make(kWords, block);
    save(array, folder.file("array"));
  };
  const auto load_by = [&](std::uint64_t block) {
    EXPECT_EQ(load_array<std::uint64_t>(folder.file("array"), block).size(), kWords);
  };
  EXPECT_LE(mebibytes_sent([&] { save_by(0); }), 1U);
  EXPECT_LE(mebibytes_sent([&] { load_by(0); }), 1U);
  EXPECT_GE(mebibytes_sent([&] { save_by(1); }), 12U);
  EXPECT_GE(mebibytes_sent([&] { load_by(1); }), 12U);
}

// A value that counts where it is written and read. The nodes are in this process.
struct Traced {
  std::string text;
  static std::array<std::uint64_t, 4> n_put;
  static std::array<std::uint64_t, 4> n_got;
  void put(Writer& out) const {
    ++n_put[this_core()];
    out.put_string(text);
  }
  static Traced get(Reader& in) {
    ++n_got[this_core()];
    return {in.get_string()};
  }
};
std::array<std::uint64_t, 4> Traced::n_put;
std::array<std::uint64_t, 4> Traced::n_got;

constexpr std::uint64_t kTraced = 256;  // of 64 KiB

template <class Make>
void expect_written_by_all_cores(const std::string& path, const Make& make) {
  simulate_seed(2, 2, 1, [&] {
    const auto container = make();
    Traced::n_put = {};
    save(container, path);
    container.free();
  });
  for (const std::uint64_t n : Traced::n_put)
    EXPECT_GT(n, kTraced / 8);
}
template <class Load>
void expect_read_by_all_cores(const Load& load) {
  Traced::n_got = {};
  simulate_seed(2, 2, 1, [&] { load().free(); });
  for (const std::uint64_t n : Traced::n_got)
    EXPECT_GT(n, kTraced / 8);
}

TEST(ContainerFile, HasEntriesThatAllCoresHaveWrittenAndRead) {
  const Folder folder;
  const Traced value{std::string(std::size_t{64} << 10, 'x')};
  const auto all_of_bag = [&] {
    const auto bag = GlobalBag<Traced>::make();
    on_all_cores([bag] {
      bag.put_range(std::vector<Traced>(kTraced / 4, {std::string(std::size_t{64} << 10, 'x')}));
    });
    return bag;
  };
  const auto all_of_map = [&] {
    const auto map = GlobalHashMap<std::uint64_t, Traced>::make();
    finish([&] {
      for (std::uint64_t i = 0; i < kTraced; ++i)
        map.async_insert(i, value);
    });
    return map;
  };
  expect_written_by_all_cores(folder.file("bag"), all_of_bag);
  expect_read_by_all_cores([&] { return load_bag<Traced>(folder.file("bag")); });
  expect_written_by_all_cores(folder.file("map"), all_of_map);
  expect_read_by_all_cores([&] { return load_map<std::uint64_t, Traced>(folder.file("map")); });
}

// Files wait for no work that takes long, and cores not for files.
TEST(ContainerFile, IsWrittenAndReadWhileAllThreadsBesideTheCoresAreBusy) {
  const Folder folder;
  std::uint64_t n_wrong = 1;
  const auto main = [&] {
    const auto array = GlobalArray<std::uint64_t>::make(400'000);
    forall(array, [](std::uint64_t i, std::uint64_t& x) { x = 3 * i; });
    std::promise<void> done;
    finish([&] {
      spawn([&] { CoreContext::here().run_native([&] { done.get_future().wait(); }); });
      global::yield();
      save(array, folder.file("array"));
      const auto again = load_array<std::uint64_t>(folder.file("array"));
      std::uint64_t n = 0;
      forall(again, [to = make_global(n)](std::uint64_t i, std::uint64_t& x) {
        if (x != 3 * i) async_call(to, [](std::uint64_t& w) { ++w; });
      });
      n_wrong = n;
      again.free();
      done.set_value();
    });
    array.free();
  };
  run_here(2, main, 1);
  EXPECT_EQ(n_wrong, 0U);
}

}  // namespace
}  // namespace rubato::global
