#include <algorithm>
#include <type_traits>

#include "rubato/io/csv.hpp"
#include "rubato/io/number.hpp"
#include "rubato/io/output_file.hpp"
#include "rubato/tick/output/detail/grid_frame.hpp"

namespace rubato::tick::detail {
namespace {

template <io::Number T>
void append_padded(std::string& text, T value, int width) {
  std::string number;
  io::append_number(number, value);
  RUBATO_ASSERT(number.size() <= static_cast<std::size_t>(width), number, width);
  text.append(static_cast<std::size_t>(width) - number.size(), ' ');
  text += number;
}

}  // namespace

int widest(const io::VtkArray::Values& type) {
  return std::visit(
      [](const auto& values) {
        using T = std::remove_cv_t<typename std::remove_cvref_t<decltype(values)>::value_type>;
        // -2.2250738585072014e-308, -1.17549435e-38, -9223372036854775808, ..
        if constexpr (std::is_same_v<T, double>) return 24;
        if constexpr (std::is_same_v<T, float>) return 15;
        return sizeof(T) == 8 ? 20 : sizeof(T) == 4 ? 11 : 3;
      },
      type);
}

GridCsv::GridCsv(const OutputSchema& schema, std::span<const int> value_widths)
    : dimensions_(schema.dimensions),
      extent_(schema.extent),
      value_widths_(value_widths.begin(), value_widths.end()) {
  static constexpr std::array kNames{"x", "y", "z"};
  std::vector<std::string> names;
  for (std::size_t d = 0; d < static_cast<std::size_t>(dimensions_); ++d) {
    index_widths_[d] = static_cast<int>(std::to_string(extent_[d] - 1).size());
    line_bytes_ += static_cast<std::uint64_t>(index_widths_[d]) + 1;
    names.emplace_back(kNames[d]);
  }
  for (std::size_t i = 0; i < schema.columns.size(); ++i) {
    line_bytes_ += static_cast<std::uint64_t>(value_widths_[i]) + 1;
    names.push_back(schema.columns[i].name);
  }
  io::StringSink header;
  const io::CsvWriter writes_names(header, names);
  header_ = header.text();
}

std::uint64_t GridCsv::offset(const std::array<std::int64_t, 3>& at) const noexcept {
  const std::int64_t id = at[0] + extent_[0] * (at[1] + extent_[1] * at[2]);
  return header_.size() + static_cast<std::uint64_t>(id) * line_bytes_;
}

std::uint64_t GridCsv::n_bytes() const noexcept {
  return offset({0, 0, extent_[2]});
}

std::string GridCsv::lines(std::array<std::int64_t, 3> at, std::int64_t n,
                           std::span<const io::VtkArray::Values> fields) const {
  std::string text;
  text.reserve(static_cast<std::size_t>(n) * line_bytes_);
  for (std::int64_t i = 0; i < n; ++i, ++at[0]) {
    for (std::size_t d = 0; d < static_cast<std::size_t>(dimensions_); ++d) {
      append_padded(text, at[d], index_widths_[d]);
      text += ',';
    }
    for (std::size_t f = 0; f < fields.size(); ++f) {
      std::visit(
          [&](const auto& values) {
            append_padded(text, values[static_cast<std::size_t>(i)], value_widths_[f]);
          },
          fields[f]);
      text += f + 1 < fields.size() ? ',' : '\n';
    }
  }
  return text;
}

GridSamples::GridSamples(const OutputSchema& schema) : extent_(schema.extent) {
  const std::int64_t longer = std::max(extent_[0], extent_[1]);
  for (std::size_t d = 0; d < 2; ++d) {
    size_[d] =
        longer <= kSide ? extent_[d] : std::max<std::int64_t>(1, extent_[d] * kSide / longer);
  }
}

std::int64_t GridSamples::first_at(std::size_t d, std::int64_t from) const noexcept {
  std::int64_t i = std::clamp<std::int64_t>(from * size_[d] / extent_[d], 0, size_[d]);
  while (i > 0 && cell(d, i - 1) >= from)
    --i;
  while (i < size_[d] && cell(d, i) < from)
    ++i;
  return i;
}

}  // namespace rubato::tick::detail
