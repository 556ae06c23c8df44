#pragma once
// BoxTree: which of many boxes meet a given one, without asking all of them.
//
// A balanced tree: each node bounds the boxes below it, which are halved at the median of their
// centres, along the dimension in which these lie widest apart. So bands as long as the world,
// tiles and thin rings may stand in one tree, which buckets of one size would not bear.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rubato/tick/geometry/box.hpp"

namespace rubato::tick {

template <class T, int D>
class BoxTree {
 public:
  struct Item {
    Box<T, D> box;
    std::uint32_t id = 0;
  };

  explicit BoxTree(std::vector<Item> items) : items_(std::move(items)) {
    if (!items_.empty()) build(0, items_.size());
  }

  // Appends the ids of all items whose boxes meet `box`, in no order.
  void find(const Box<T, D>& box, std::vector<std::uint32_t>& ids) const {
    for (std::size_t at = 0; at < nodes_.size();) {
      const Node& node = nodes_[at];
      const bool inside = node.bounds.meets(box);
      const bool leaf = node.end == at + 1;
      if (inside && leaf) {
        for (const Item& item : std::span(items_).subspan(node.first, node.n)) {
          if (item.box.meets(box)) ids.push_back(item.id);
        }
      }
      at = inside ? at + 1 : node.end;
    }
  }

 private:
  static constexpr std::size_t kLeafItems = 8;

  // In preorder: the first child follows its node, and `end` is what follows all below it.
  struct Node {
    Box<T, D> bounds;
    std::size_t first = 0;
    std::size_t n = 0;
    std::size_t end = 0;
  };

  void build(std::size_t first, std::size_t n) {
    const std::span<Item> items = std::span(items_).subspan(first, n);
    const std::size_t at = nodes_.size();
    nodes_.push_back({bounds_of(items), first, n, 0});
    if (n > kLeafItems) {
      const std::size_t d = widest(items);
      const std::size_t half = n / 2;
      std::ranges::nth_element(items, items.begin() + static_cast<std::ptrdiff_t>(half), {},
                               [d](const Item& item) { return twice_centre(item, d); });
      build(first, half);
      build(first + half, n - half);
    }
    nodes_[at].end = nodes_.size();
  }

  [[nodiscard]] static Box<T, D> bounds_of(std::span<const Item> items) {
    Box<T, D> bounds = items.front().box;
    for (const Item& item : items) {
      for (std::size_t d = 0; d < D; ++d) {
        bounds.low[d] = std::min(bounds.low[d], item.box.low[d]);
        bounds.high[d] = std::max(bounds.high[d], item.box.high[d]);
      }
    }
    return bounds;
  }
  // Not the widest side of the bounds: that may be the side along which all items are as wide.
  [[nodiscard]] static std::size_t widest(std::span<const Item> items) {
    std::array<T, D> spread{};
    for (std::size_t d = 0; d < D; ++d) {
      const auto [low, high] =
          std::ranges::minmax(items, {}, [d](const Item& item) { return twice_centre(item, d); });
      spread[d] = twice_centre(high, d) - twice_centre(low, d);
    }
    return static_cast<std::size_t>(std::ranges::max_element(spread) - spread.begin());
  }
  [[nodiscard]] static T twice_centre(const Item& item, std::size_t d) noexcept {
    return item.box.low[d] + item.box.high[d];
  }

  std::vector<Item> items_;
  std::vector<Node> nodes_;
};

}  // namespace rubato::tick
