#pragma once
// Boxes and unions of boxes in 1 to 3 dimensions, on a plane or a torus: the queries of grids
// (integer cells) and of points (real coordinates).
//
// A Box is half-open: low <= p < high in each dimension. A BoxSet is a union of boxes that do not
// overlap. A Space knows the world: it wraps what leaves a periodic dimension and clips the rest,
// so that every BoxSet lies inside the world.

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "rubato/base/error.hpp"

namespace rubato::tick {

template <class T, int D>
struct Box {
  std::array<T, D> low{};
  std::array<T, D> high{};

  bool operator==(const Box&) const = default;

  [[nodiscard]] bool empty() const noexcept {
    for (std::size_t d = 0; d < D; ++d) {
      if (!(low[d] < high[d])) return true;
    }
    return false;
  }
  [[nodiscard]] bool contains(const std::array<T, D>& p) const noexcept {
    for (std::size_t d = 0; d < D; ++d) {
      if (p[d] < low[d] || !(p[d] < high[d])) return false;
    }
    return true;
  }
  [[nodiscard]] bool contains(const Box& other) const noexcept {
    for (std::size_t d = 0; d < D; ++d) {
      if (other.low[d] < low[d] || high[d] < other.high[d]) return false;
    }
    return true;
  }
  [[nodiscard]] Box intersect(const Box& other) const noexcept {
    Box result;
    for (std::size_t d = 0; d < D; ++d) {
      result.low[d] = std::max(low[d], other.low[d]);
      result.high[d] = std::min(high[d], other.high[d]);
    }
    return result;
  }
  [[nodiscard]] bool meets(const Box& other) const noexcept { return !intersect(other).empty(); }
  [[nodiscard]] Box grown(T by) const noexcept {
    Box result;
    for (std::size_t d = 0; d < D; ++d) {
      result.low[d] = low[d] - by;
      result.high[d] = high[d] + by;
    }
    return result;
  }
  [[nodiscard]] Box moved(const std::array<T, D>& by) const noexcept {
    Box result;
    for (std::size_t d = 0; d < D; ++d) {
      result.low[d] = low[d] + by[d];
      result.high[d] = high[d] + by[d];
    }
    return result;
  }
  [[nodiscard]] T width(std::size_t d) const noexcept { return high[d] - low[d]; }
  // Cells of an integer box, volume of a real one; 0 if empty.
  [[nodiscard]] T volume() const noexcept {
    if (empty()) return T{0};
    T product{1};
    for (std::size_t d = 0; d < D; ++d)
      product *= width(d);
    return product;
  }
};

// Appends the parts of `box` that lie outside `hole`: at most 2 D boxes.
template <class T, int D>
void subtract(Box<T, D> box, const Box<T, D>& hole, std::vector<Box<T, D>>& parts) {
  if (box.empty()) return;
  if (!box.meets(hole)) {
    parts.push_back(box);
    return;
  }
  // The last dimension first, so that the first cuts are long in x, where memory is contiguous.
  for (std::size_t i = D; i-- > 0;) {
    if (box.low[i] < hole.low[i]) {
      Box<T, D> part = box;
      part.high[i] = hole.low[i];
      parts.push_back(part);
      box.low[i] = hole.low[i];
    }
    if (hole.high[i] < box.high[i]) {
      Box<T, D> part = box;
      part.low[i] = hole.high[i];
      parts.push_back(part);
      box.high[i] = hole.high[i];
    }
  }
}

template <class T, int D>
class BoxSet {
 public:
  BoxSet() = default;
  explicit BoxSet(const Box<T, D>& box) { add(box); }

  bool operator==(const BoxSet&) const = default;

  // Adds what of `box` is not yet there.
  void add(const Box<T, D>& box) {
    std::vector<Box<T, D>> parts{box};
    for (const auto& present : boxes_)
      parts = without(parts, present);
    for (const auto& part : parts) {
      if (!part.empty()) boxes_.push_back(part);
    }
  }

  // The union of boxes that do not overlap, in fewer boxes where some have a side in common.
  [[nodiscard]] static BoxSet of_disjoint(std::vector<Box<T, D>> boxes) {
    std::erase_if(boxes, [](const Box<T, D>& box) { return box.empty(); });
    std::size_t n_before = 0;
    do {
      n_before = boxes.size();
      for (std::size_t d = 0; d < D; ++d)
        merge_along(boxes, d);
    } while (boxes.size() < n_before);
    BoxSet result;
    result.boxes_ = std::move(boxes);
    return result;
  }

  [[nodiscard]] const std::vector<Box<T, D>>& boxes() const noexcept { return boxes_; }
  [[nodiscard]] bool empty() const noexcept { return boxes_.empty(); }
  [[nodiscard]] bool contains(const std::array<T, D>& p) const noexcept {
    return std::ranges::any_of(boxes_, [&](const auto& box) { return box.contains(p); });
  }
  [[nodiscard]] bool meets(const BoxSet& other) const noexcept {
    return std::ranges::any_of(boxes_, [&](const auto& a) {
      return std::ranges::any_of(other.boxes_, [&](const auto& b) { return a.meets(b); });
    });
  }
  [[nodiscard]] BoxSet intersect(const BoxSet& other) const {
    BoxSet result;
    for (const auto& a : boxes_) {
      for (const auto& b : other.boxes_) {
        const auto both = a.intersect(b);
        if (!both.empty()) result.boxes_.push_back(both);
      }
    }
    return result;
  }
  [[nodiscard]] BoxSet minus(const BoxSet& other) const {
    BoxSet result;
    result.boxes_ = boxes_;
    for (const auto& hole : other.boxes_)
      result.boxes_ = without(result.boxes_, hole);
    return result;
  }
  [[nodiscard]] T volume() const noexcept {
    T sum{0};
    for (const auto& box : boxes_)
      sum += box.volume();
    return sum;
  }

 private:
  // Makes one of those that follow each other along d and are alike in the other dimensions.
  static void merge_along(std::vector<Box<T, D>>& boxes, std::size_t d) {
    const auto row_of = [d](Box<T, D> box) {
      box.low[d] = box.high[d] = T{0};
      return std::pair(box.low, box.high);
    };
    std::ranges::sort(boxes, [&](const Box<T, D>& a, const Box<T, D>& b) {
      return std::pair(row_of(a), a.low[d]) < std::pair(row_of(b), b.low[d]);
    });
    std::size_t n = 0;
    for (const Box<T, D>& box : boxes) {
      if (n > 0 && row_of(boxes[n - 1]) == row_of(box) && boxes[n - 1].high[d] == box.low[d]) {
        boxes[n - 1].high[d] = box.high[d];
      } else {
        boxes[n++] = box;
      }
    }
    boxes.resize(n);
  }

  static std::vector<Box<T, D>> without(const std::vector<Box<T, D>>& boxes,
                                        const Box<T, D>& hole) {
    std::vector<Box<T, D>> parts;
    for (const auto& box : boxes)
      subtract(box, hole, parts);
    return parts;
  }

  std::vector<Box<T, D>> boxes_;
};

template <class T, int D>
struct Space {
  Box<T, D> world;
  std::array<bool, D> periodic{};

  // `box`, which may leave the world by less than its width, wrapped and clipped.
  [[nodiscard]] BoxSet<T, D> inside(const Box<T, D>& box) const {
    BoxSet<T, D> result;
    if (box.empty()) return result;
    std::array<T, D> shift{};
    add_images(box, 0, shift, result);
    return result;
  }
  // All that is within `by` of the set (in each dimension by itself).
  [[nodiscard]] BoxSet<T, D> grown(const BoxSet<T, D>& set, T by) const {
    BoxSet<T, D> result;
    for (const auto& box : set.boxes()) {
      const BoxSet<T, D> images = inside(box.grown(by));
      for (const auto& image : images.boxes())
        result.add(image);
    }
    return result;
  }
  // The same along one dimension only.
  [[nodiscard]] BoxSet<T, D> grown_along(const BoxSet<T, D>& set, std::size_t d, T by) const {
    BoxSet<T, D> result;
    for (auto box : set.boxes()) {
      box.low[d] -= by;
      box.high[d] += by;
      const BoxSet<T, D> images = inside(box);
      for (const auto& image : images.boxes())
        result.add(image);
    }
    return result;
  }
  // What of the set is not within `by` of the world outside the set. The world's own edge is no
  // border.
  [[nodiscard]] BoxSet<T, D> shrunk(const BoxSet<T, D>& set, T by) const {
    return set.minus(grown(BoxSet<T, D>(world).minus(set), by));
  }

 private:
  void add_images(const Box<T, D>& box, std::size_t d, std::array<T, D>& shift,
                  BoxSet<T, D>& result) const {
    if (d == D) {
      result.add(box.moved(shift).intersect(world));
      return;
    }
    const T extent = world.width(d);
    for (const T by : {T{0}, -extent, extent}) {
      if (by != T{0} && !periodic[d]) continue;
      shift[d] = by;
      add_images(box, d + 1, shift, result);
    }
    shift[d] = T{0};
  }
};

}  // namespace rubato::tick
