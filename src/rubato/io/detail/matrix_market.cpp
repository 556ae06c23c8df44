#include "rubato/io/detail/matrix_market.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "rubato/io/number.hpp"

namespace rubato::io::detail {
namespace {

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (std::size_t at = 0; (at = line.find_first_not_of(" \t", at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

// Throws unless `word` is one of `known`, naming the nearest.
void require_word(const LineReader& lines, const std::string& word,
                  const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), word) != known.end()) return;
  std::string listed;
  for (const auto& name : known)
    listed += (listed.empty() ? "" : " or ") + name;
  throw lines.error("expected " + listed + " in the Matrix Market banner, found " + shown(word) +
                    did_you_mean(word, known));
}

void read_size_line(LineReader& lines, MatrixMarket& matrix) {
  std::string_view line;
  do {
    if (!lines.next(line)) {
      throw lines.error("expected the size line of a matrix, found the end of the file");
    }
  } while (trimmed(line).empty() || trimmed(line).front() == '%');
  const auto words = words_of(trimmed(line));
  std::array<std::uint64_t, 3> sizes{};
  bool good = words.size() == 3;
  for (std::size_t i = 0; good && i < 3; ++i) {
    const auto value = parse_number<std::uint64_t>(words[i]);
    good = value.has_value();
    if (good) sizes[i] = *value;
  }
  if (!good) throw lines.error("expected rows, columns and entries, found " + shown(line));
  if (sizes[0] != sizes[1]) {
    throw lines.error("expected a square matrix, since it is read as a graph, found " +
                      std::to_string(sizes[0]) + " x " + std::to_string(sizes[1]));
  }
  matrix.n_vertices = sizes[0];
  matrix.n_entries = sizes[2];
  matrix.data_offset = lines.line_offset() + 1;
}

}  // namespace

std::optional<MatrixMarket> read_matrix_market_head(LineReader& lines) {
  std::string_view line;
  if (!lines.next(line) || !line.starts_with("%%MatrixMarket")) return std::nullopt;
  auto words = words_of(trimmed(line));
  words.resize(5);
  std::transform(words.begin(), words.end(), words.begin(), lower);
  require_word(lines, words[1], {"matrix"});
  require_word(lines, words[2], {"coordinate"});
  require_word(lines, words[3], {"real", "double", "integer", "pattern"});
  require_word(lines, words[4], {"general", "symmetric", "skew-symmetric"});
  MatrixMarket matrix;
  matrix.weighted = words[3] != "pattern";
  matrix.mirror = words[4] == "general" ? 0 : words[4] == "symmetric" ? 1 : -1;
  read_size_line(lines, matrix);
  return matrix;
}

}  // namespace rubato::io::detail
