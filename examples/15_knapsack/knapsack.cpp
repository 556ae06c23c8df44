// What is the most that a knapsack can hold? Branch and bound [Turbine 2.2, listing 1].
//   knapsack [ITEMS [SEED]]
//
// Shows tasks of an unknown number that share a bound: each core has the best value that it knows
// of, in global memory. Who finds a better one tells all cores; until they hear of it they search a
// little more than they had to, and nobody waits. The result is exact: it is compared with that of
// dynamic programming.

#include <algorithm>
#include <cstdio>
#include <vector>

#include "rubato/base/arguments.hpp"
#include "rubato/base/random.hpp"
#include "rubato/flow/async.hpp"
#include "rubato/flow/run.hpp"
#include "rubato/global/main.hpp"
#include "rubato/global/per_core.hpp"

using namespace rubato::flow;
using rubato::global::PerCore;

namespace {

constexpr std::size_t kItemsAlone = 20;  // that one task decides on

struct Item {
  std::int64_t value;
  std::int64_t weight;
};

// Best value a weight first, which the bound needs.
std::vector<Item> make_items(std::size_t n, std::uint64_t seed) {
  rubato::RandomStream random(seed);
  std::vector<Item> items(n);
  for (Item& item : items) {
    item.weight = random.between(100, 1000);
    item.value = item.weight + random.between(90, 110);
  }
  std::sort(items.begin(), items.end(),
            [](const Item& a, const Item& b) { return a.value * b.weight > b.value * a.weight; });
  return items;
}

// Of each core.
struct Search {
  std::vector<Item> items;
  std::int64_t best = 0;
  std::uint64_t n_nodes = 0;
};

// The items before `next` are decided on.
struct Node {
  std::size_t next;
  std::int64_t room;
  std::int64_t value;
};

// No choice of the other items gives more: as if the last one could be cut.
std::int64_t bound_of(const std::vector<Item>& items, Node node) {
  for (; node.next < items.size(); ++node.next) {
    const Item& item = items[node.next];
    if (item.weight > node.room) return node.value + item.value * node.room / item.weight;
    node.room -= item.weight;
    node.value += item.value;
  }
  return node.value;
}

void note_value(PerCore<Search> all, std::int64_t value) {
  if (value <= all.here().best) return;
  all.here().best = value;
  for (rubato::global::CoreId core = 0; core < rubato::global::n_cores(); ++core) {
    async_call(all.on(core), [value](Search& mine) { mine.best = std::max(mine.best, value); });
  }
}

void branch(PerCore<Search> all, Node node) {
  Search& mine = all.here();
  ++mine.n_nodes;
  note_value(all, node.value);
  if (node.next == mine.items.size() || bound_of(mine.items, node) <= mine.best) return;
  const bool is_alone = mine.items.size() - node.next <= kItemsAlone;
  const auto go_on = [&](const Node& child) {
    if (is_alone) return branch(all, child);
    async([all, child] { branch(all, child); })();
  };
  const Item item = mine.items[node.next++];
  // The newest of a core runs first: that which takes the item.
  if (!is_alone) go_on(node);
  if (item.weight <= node.room)
    go_on({node.next, node.room - item.weight, node.value + item.value});
  if (is_alone) go_on(node);
}

std::int64_t by_dynamic_programming(const std::vector<Item>& items, std::int64_t room) {
  std::vector<std::int64_t> best(static_cast<std::size_t>(room) + 1, 0);
  for (const Item& item : items) {
    const auto weight = static_cast<std::size_t>(item.weight);
    for (std::size_t r = best.size(); r-- > weight;)
      best[r] = std::max(best[r], best[r - weight] + item.value);
  }
  return best.back();
}

}  // namespace

int main(int argc, char** argv) {
  return rubato::global::run_main([=] {
    rubato::Arguments given(argc, argv);
    const auto n = given.number<std::size_t>("ITEMS", 80, 1, 200);
    const auto seed = given.number<std::uint64_t>("SEED", 3, 0, INT64_MAX);
    given.end();
    bool is_right = false;
    run([&] {
      const std::vector<Item> items = make_items(n, seed);
      std::int64_t room = 0;
      for (const Item& item : items)
        room += item.weight;
      room /= 2;
      const auto all = PerCore<Search>::make();
      rubato::global::on_all_cores([=] { all.here().items = make_items(n, seed); });
      rubato::global::finish([=] { branch(all, {0, room, 0}); });
      const std::int64_t best =
          all.reduce([](const Search& mine) { return mine.best; },
                     [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
      const std::uint64_t n_nodes =
          all.reduce([](const Search& mine) { return mine.n_nodes; }, std::plus<>());
      all.free();
      is_right = best == by_dynamic_programming(items, room);
      std::printf("%zu items in a knapsack for %ld: worth %ld, %s\n", n, room, best,
                  is_right ? "which is right" : "which is WRONG");
      std::fprintf(stderr, "%lu nodes of the search on %u cores\n", n_nodes,
                   rubato::global::n_cores());
    }).check();
    if (!is_right) throw rubato::Error("knapsack: wrong", rubato::ExitCode::failed);
  });
}
