// Integer sort: random keys, at first anywhere, in the end sorted over all cores [NAS IS].
//   sort [LOG2_KEYS] [BITS]
//
// Shows an exchange of everybody with everybody. A core gets the keys of one range, and counts how
// often each occurs, so that keys are compared nowhere. A key crosses the network once, as its 4
// bytes. There is a counter for each number of BITS bits: for keys of more than 30, sort otherwise.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <vector>

#include "rubato/base/arguments.hpp"
#include "rubato/base/error.hpp"
#include "rubato/base/random.hpp"
#include "rubato/base/time.hpp"
#include "rubato/global/main.hpp"
#include "rubato/global/reduce.hpp"

using namespace rubato::global;

namespace {

using Key = std::uint32_t;
using Keys = std::vector<Key>;

struct Problem {
  std::uint64_t n_keys;
  std::uint32_t n_bits;

  // Core r of n has the keys from r * 2^n_bits / n on.
  [[nodiscard]] Rank owner(Key key, Rank n) const {
    return static_cast<Rank>(std::uint64_t{key} * n >> n_bits);
  }
  [[nodiscard]] std::uint64_t first_key(Rank rank, Rank n) const {
    return ((std::uint64_t{rank} << n_bits) + n - 1) / n;
  }
};

// What the cores find together.
struct Outcome {
  std::uint64_t n_keys = 0;
  std::uint64_t checksum_before = 0;
  std::uint64_t checksum = 0;  // does not depend on the order
  std::uint64_t n_wrong = 0;
  rubato::Nanos time = 0;
};
// A lambda, since the address of a function would not travel.
constexpr auto kTogether = [](const Outcome& a, const Outcome& b) {
  return Outcome{a.n_keys + b.n_keys, a.checksum_before + b.checksum_before,
                 a.checksum + b.checksum, a.n_wrong + b.n_wrong, std::max(a.time, b.time)};
};

std::uint64_t checksum(const Keys& keys) {
  std::uint64_t sum = 0;
  for (const Key key : keys)
    sum += rubato::hash_words(key);
  return sum;
}

// The same keys in all, whatever the number of cores.
Keys random_keys(const Problem& problem, const Team& team) {
  const std::uint64_t begin = problem.n_keys * team.rank() / team.size();
  const std::uint64_t end = problem.n_keys * (team.rank() + 1) / team.size();
  Keys keys(end - begin);
  for (std::uint64_t i = begin; i < end; ++i)
    keys[i - begin] = static_cast<Key>(rubato::hash_words(i, 1) >> (64 - problem.n_bits));
  return keys;
}

std::vector<Keys> by_owner(const Problem& problem, const Keys& keys, Rank n) {
  std::vector<std::uint64_t> n_of(n);
  for (const Key key : keys)
    ++n_of[problem.owner(key, n)];
  std::vector<Keys> buckets(n);
  for (Rank rank = 0; rank < n; ++rank)
    buckets[rank].reserve(n_of[rank]);
  for (const Key key : keys)
    buckets[problem.owner(key, n)].push_back(key);
  return buckets;
}

// All keys of the pieces, which are in [begin, end).
Keys counting_sort(const std::vector<Keys>& pieces, std::uint64_t begin, std::uint64_t end) {
  std::vector<std::uint32_t> n_of(end - begin);
  std::size_t n = 0;
  for (const Keys& piece : pieces) {
    n += piece.size();
    for (const Key key : piece)
      ++n_of[key - begin];
  }
  Keys sorted;
  sorted.reserve(n);
  for (std::uint64_t key = begin; key < end; ++key)
    sorted.insert(sorted.end(), n_of[key - begin], static_cast<Key>(key));
  return sorted;
}

// Keys below one that stands in front of them, on this core or another.
std::uint64_t n_out_of_order(const Keys& sorted, const Team& team) {
  const Key last = sorted.empty() ? 0 : sorted.back();
  const auto larger = [](Key a, Key b) { return std::max(a, b); };
  Key before = team.exclusive_scan(last, larger, Key{0});
  std::uint64_t n = 0;
  for (const Key key : sorted) {
    if (key < before) ++n;
    before = key;
  }
  return n;
}

// Of each core.
Outcome sort(const Problem& problem) {
  const Team team = Team::job();
  const Rank n = team.size();
  const Keys keys = random_keys(problem, team);
  team.barrier();
  const rubato::Nanos begin = rubato::steady_now();
  const Keys sorted =
      counting_sort(team.all_to_all(by_owner(problem, keys, n)), problem.first_key(team.rank(), n),
                    problem.first_key(team.rank() + 1, n));
  const rubato::Nanos time = rubato::steady_now() - begin;
  return {sorted.size(), checksum(keys), checksum(sorted), n_out_of_order(sorted, team), time};
}

}  // namespace

int main(int argc, char** argv) {
  return run_main([=] {
    rubato::Arguments given(argc, argv);
    const std::uint64_t n_keys = std::uint64_t{1} << given.number("LOG2_KEYS", 19, 0, 40);
    const Problem problem{n_keys, given.number<std::uint32_t>("BITS", 16, 1, 28)};
    given.end();
    const Outcome all = reduce_cores([problem] { return sort(problem); }, kTogether);
    const bool is_right =
        all.n_keys == problem.n_keys && all.n_wrong == 0 && all.checksum == all.checksum_before;
    std::printf("%lu keys of %u bits, %s\n", problem.n_keys, problem.n_bits,
                is_right ? "sorted" : "NOT sorted");
    const double time = static_cast<double>(all.time) / rubato::kSecond;
    std::fprintf(stderr, "%.1f million a second on %u cores\n",
                 static_cast<double>(problem.n_keys) / time / 1e6, n_cores());
    if (!is_right) throw rubato::Error("sort: wrong", rubato::ExitCode::failed);
  });
}
