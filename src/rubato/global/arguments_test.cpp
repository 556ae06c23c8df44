#include "rubato/global/arguments.hpp"

#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "rubato/global/array.hpp"
#include "rubato/global/per_core.hpp"
#include "rubato/global/simulate_test.hpp"

namespace rubato::global {
namespace {

using Table = std::map<std::string, std::vector<double>>;

// Rows of any length into tables of all cores, by delegates that wait and by those that do not.
std::uint64_t n_wrong_in_tables(std::uint64_t seed) {
  const auto tables = PerCore<Table>::make();
  std::uint64_t n_wrong = 0;
  for (CoreId core = 0; core < n_cores(); ++core) {
    const std::string name = "row of " + std::to_string(core);
    std::vector<double> row(seed % 5 * 1'000 + core);
    std::iota(row.begin(), row.end(), 1.0);
    const std::uint64_t n = call(
        tables.on(core),
        [](Table& table, const std::string& key, const std::vector<double>& values) {
          table[key] = values;
          return table.size();
        },
        name, row);
    n_wrong += n == 1 ? 0 : 1;
    // Text of any kind arrives as a string; plain values as they are.
    call(
        tables.on(core),
        [](Table& table, const std::string& key, double value, std::uint32_t n_times) {
          table[key].assign(n_times, value);
        },
        "a literal", 2.5, std::uint32_t{3});
    finish([&] {
      async_call(
          tables.on(core), [](Table& table, std::string key) { table[std::move(key)]; },
          std::string_view("a view"));
    });
    const std::vector<double> back = call(
        tables.on(core), [](Table& table, const std::string& key) { return table.at(key); }, name);
    n_wrong += back == row ? 0 : 1;
    n_wrong += call(
                   tables.on(core),
                   [](Table& table, const std::string& key) {
                     return table.size() == 3 && table.at(key).empty();
                   },
                   "a view")
                   ? 0
                   : 1;
  }
  tables.free();
  return n_wrong;
}

TEST(Arguments, OfDelegatesMayBeOfAnySize) {
  expect_right(n_wrong_in_tables);
}

TEST(Arguments, OfTasksOfOtherCoresAsWell) {
  simulate_seed(3, 2, 1, [] {
    const auto n_bytes = GlobalArray<std::uint64_t>::make(n_cores());
    finish([&] {
      for (CoreId core = 0; core < n_cores(); ++core) {
        spawn_on(
            core,
            [](const GlobalArray<std::uint64_t>& to, const std::string& text) {
              yield();
              write(to[this_core()], std::uint64_t{text.size()});
            },
            n_bytes, std::string(100'000 + core, 'x'));
      }
    });
    for (CoreId core = 0; core < n_cores(); ++core)
      EXPECT_EQ(read(n_bytes[core]), 100'000U + core);
    n_bytes.free();
  });
}

// A payload that is larger than a buffer, and one that has nothing.
TEST(Arguments, AreOfAMebibyteOrEmpty) {
  simulate_seed(2, 1, 1, [] {
    const auto sums = PerCore<std::uint64_t>::make();
    for (const std::size_t n : {std::size_t{0}, std::size_t{1} << 17}) {
      const std::vector<std::uint64_t> numbers(n, 3);
      const auto add = [](std::uint64_t& sum, const std::vector<std::uint64_t>& values) {
        sum += std::accumulate(values.begin(), values.end(), std::uint64_t{0});
        return sum;
      };
      EXPECT_EQ(call(sums.on(1), add, numbers), 3 * n);
      EXPECT_EQ(call(sums.on(0), add, numbers), 3 * n);
    }
    sums.free();
  });
}

}  // namespace
}  // namespace rubato::global
