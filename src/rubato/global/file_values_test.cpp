// Containers of values and keys of any length in files.

#include <algorithm>
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

}  // namespace
}  // namespace rubato::global
