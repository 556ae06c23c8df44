#include "rubato/tick/output/schema.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>

namespace rubato::tick {

std::vector<io::LegendEntry> looks_of(const std::vector<PictureKind>& kinds) {
  std::vector<io::LegendEntry> looks;
  for (const PictureKind& kind : kinds) {
    looks.push_back(kind.look);
    if (looks.back().label.empty()) looks.back().label = kind.name;
  }
  return looks;
}

double OutputRows::number(std::size_t column, std::size_t row) const {
  return std::visit(
      [row](const auto& list) -> double {
        using T = typename std::remove_cvref_t<decltype(list)>::value_type;
        if constexpr (std::is_arithmetic_v<T>) {
          return static_cast<double>(list[row]);
        } else {
          return 0;
        }
      },
      values_[column]);
}

void OutputRows::append(const OutputRows& other) {
  if (other.ids_.empty()) return;
  if (values_.empty() && ids_.empty()) {
    *this = other;
    return;
  }
  RUBATO_REQUIRE(values_.size() == other.values_.size(), values_.size(), other.values_.size());
  ids_.insert(ids_.end(), other.ids_.begin(), other.ids_.end());
  for (std::size_t i = 0; i < values_.size(); ++i) {
    std::visit(
        [&](auto& into) {
          const auto& from = std::get<std::remove_cvref_t<decltype(into)>>(other.values_[i]);
          into.insert(into.end(), from.begin(), from.end());
        },
        values_[i]);
  }
  next_ = values_.size();
}

void OutputRows::sort() {
  std::vector<std::size_t> order(ids_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return ids_[i]; });
  const auto permute = [&order](auto& list) {
    auto sorted = list;
    for (std::size_t i = 0; i < order.size(); ++i)
      sorted[i] = std::move(list[order[i]]);
    list = std::move(sorted);
  };
  permute(ids_);
  for (Values& list : values_)
    std::visit(permute, list);
}

}  // namespace rubato::tick
