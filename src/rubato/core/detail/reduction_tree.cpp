#include "rubato/core/detail/reduction_tree.hpp"

#include <algorithm>

#include "rubato/base/error.hpp"

namespace rubato::core::detail {

void ReductionTree::add_rank(std::uint64_t rank, Bytes value, const Combine& combine) {
  RUBATO_REQUIRE(rank < n_ranks_, rank, n_ranks_);
  insert({0, rank, std::move(value)}, combine);
}

void ReductionTree::insert(Segment segment, const Combine& combine) {
  auto at =
      std::lower_bound(segments_.begin(), segments_.end(), segment.first(),
                       [](const Segment& s, std::uint64_t first) { return s.first() < first; });
  RUBATO_ASSERT(at == segments_.end() || at->first() != segment.first(), segment.first());
  at = segments_.insert(at, std::move(segment));
  while (!covers_all(*at)) {
    const bool is_left = at->index % 2 == 0;
    if (is_left && ((at->index + 1) << at->level) >= n_ranks_) {
      // The right half is empty.
    } else if (is_left) {
      const auto right = std::next(at);
      if (right == segments_.end() || right->level != at->level || right->index != at->index + 1) {
        return;
      }
      combine(at->value, right->value);
      segments_.erase(right);
    } else {
      if (at == segments_.begin()) return;
      const auto left = std::prev(at);
      if (left->level != at->level || left->index + 1 != at->index) return;
      combine(left->value, at->value);
      at = std::prev(segments_.erase(at));
    }
    ++at->level;
    at->index /= 2;
  }
}

void ReductionTree::put(Writer& out) const {
  out.put(static_cast<std::uint32_t>(segments_.size()));
  for (const auto& segment : segments_) {
    out.put(segment.level);
    out.put(segment.index);
    out.put(static_cast<std::uint64_t>(segment.value.size()));
    out.append(segment.value.data(), segment.value.size());
  }
}

void ReductionTree::add(Reader& in, const Combine& combine) {
  const auto n_segments = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < n_segments; ++i) {
    Segment segment;
    segment.level = in.get<std::uint32_t>();
    segment.index = in.get<std::uint64_t>();
    RUBATO_ASSERT(segment.level < 64, segment.level, segment.index);
    const ByteView value = in.get_view(in.get<std::uint64_t>());
    segment.value.assign(value.begin(), value.end());
    insert(std::move(segment), combine);
  }
}

bool ReductionTree::complete() const noexcept {
  return segments_.size() == 1 && covers_all(segments_.front());
}

Bytes ReductionTree::take() {
  RUBATO_REQUIRE(complete(), segments_.size());
  return std::move(segments_.front().value);
}

}  // namespace rubato::core::detail
