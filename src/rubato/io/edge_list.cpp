#include "rubato/io/edge_list.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "rubato/io/detail/matrix_market.hpp"
#include "rubato/io/number.hpp"

namespace rubato::io {
namespace {

// Values that a filter turned away are kept for the message only.
constexpr std::size_t kRejectedMax = 64;

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept {
    return std::hash<std::string_view>{}(text);
  }
};

// '\0' stands for runs of blanks.
char separator_of(std::string_view line) {
  for (const char c : {'\t', ',', ';'}) {
    if (line.find(c) != std::string_view::npos) return c;
  }
  return '\0';
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

}  // namespace

// What the head of the file says, equal for all parts.
struct EdgeReader::Format {
  std::optional<detail::MatrixMarket> matrix;
  char separator = '\0';
  std::optional<std::uint64_t> n_vertices;
  std::uint64_t data_offset = 0;  // of the first line behind the head
};

struct EdgeReader::Dictionary {
  std::unordered_map<std::string, std::uint64_t, StringHash, std::equal_to<>> ids;
  std::vector<std::string> labels;

  std::uint64_t id_of(std::string_view label) {
    if (const auto found = ids.find(label); found != ids.end()) return found->second;
    labels.emplace_back(label);
    ids.emplace(label, labels.size() - 1);
    return labels.size() - 1;
  }
};

EdgeReader::EdgeReader(const std::string& path, const EdgeListOptions& options)
    : options_(options),
      lines_(path, options.part),
      format_(std::make_unique<Format>()),
      dictionary_(std::make_unique<Dictionary>()) {
  RUBATO_REQUIRE(options.source_column > 0 && options.target_column > 0);
  RUBATO_REQUIRE(!options.filter || options.filter->column > 0);
  LineReader head(path);
  format_->matrix = detail::read_matrix_market_head(head);
  if (format_->matrix) {
    format_->n_vertices = format_->matrix->n_vertices;
    format_->data_offset = format_->matrix->data_offset;
    return;
  }
  LineReader again(path);
  std::string_view line;
  bool first = true;
  while (again.next(line)) {
    const std::string_view text = trimmed(line);
    if (text.empty() || options_.comments.find(text.front()) != std::string::npos) continue;
    const bool one_field = text.find_first_of(" \t,;") == std::string_view::npos;
    const bool may_be_count = options_.first_line == FirstLine::count ||
                              (options_.first_line == FirstLine::detect &&
                               options_.labels == Labels::integer && one_field);
    if (first && may_be_count) {
      const auto count = parse_number<std::uint64_t>(text);
      if (!count) throw again.error("expected the number of vertices, found " + shown(text));
      format_->n_vertices = *count;
      format_->data_offset = again.line_offset() + 1;
      first = false;
      continue;
    }
    format_->separator = separator_of(line);
    return;
  }
}

EdgeReader::~EdgeReader() = default;

std::optional<std::uint64_t> EdgeReader::declared_vertices() const noexcept {
  return format_->n_vertices;
}

bool EdgeReader::is_matrix_market() const noexcept {
  return format_->matrix.has_value();
}

bool EdgeReader::weighted() const noexcept {
  return format_->matrix ? format_->matrix->weighted : options_.weight_column != 0;
}

const std::vector<std::string>& EdgeReader::labels() const noexcept {
  return dictionary_->labels;
}

Error EdgeReader::error(std::string_view message) const {
  return lines_.error(message);
}

bool EdgeReader::next(Edge& edge) {
  if (mirrored_) {
    edge = *mirrored_;
    mirrored_.reset();
    return true;
  }
  std::string_view line;
  while (lines_.next(line)) {
    if (lines_.line_offset() < format_->data_offset) continue;
    const std::string_view text = trimmed(line);
    if (text.empty()) continue;
    const std::string_view comments = format_->matrix ? "%" : std::string_view(options_.comments);
    if (comments.find(text.front()) != std::string_view::npos) continue;
    if (format_->matrix ? next_matrix_edge(text, edge) : next_text_edge(line, edge)) return true;
  }
  if (options_.part.whole()) check_end();
  return false;
}

// Integer columns may be separated by any mixture; in text, a blank may be part of a label.
void EdgeReader::split(std::string_view line) {
  fields_.clear();
  const char separator = format_->separator;
  if (separator != '\0' && options_.labels == Labels::text) {
    for (std::size_t at = 0;;) {
      const std::size_t end = std::min(line.find(separator, at), line.size());
      fields_.push_back(trimmed(line.substr(at, end - at)));
      if (end == line.size()) return;
      at = end + 1;
    }
  }
  const auto separates = [&](char c) {
    return is_blank(c) || (separator != '\0' && c == separator);
  };
  for (std::size_t at = 0; at < line.size();) {
    // Blanks around one separator belong to it; two separators hold an empty field between them.
    while (at < line.size() && is_blank(line[at]))
      ++at;
    std::size_t end = at;
    while (end < line.size() && !separates(line[end]))
      ++end;
    if (at < line.size()) fields_.push_back(line.substr(at, end - at));
    while (end < line.size() && is_blank(line[end]))
      ++end;
    const bool other = separator != '\0' && !is_blank(separator);
    if (other && end < line.size() && line[end] == separator) ++end;
    at = end;
  }
}

std::string_view EdgeReader::field(std::size_t column) const {
  if (column <= fields_.size() && !fields_[column - 1].empty()) return fields_[column - 1];
  const std::string found =
      column <= fields_.size()
          ? "an empty one"
          : std::to_string(fields_.size()) + (fields_.size() == 1 ? " column" : " columns");
  throw error("expected a value in column " + std::to_string(column) + ", found " + found);
}

std::uint64_t EdgeReader::vertex(std::size_t column) {
  const std::string_view text = field(column);
  if (options_.labels == Labels::text) return dictionary_->id_of(text);
  const auto id = parse_number<std::uint64_t>(text);
  if (!id && id.error() == NumberError::out_of_range) {
    throw lines_.error(column, "vertex id " + std::string(text) + " does not fit 64 bits");
  }
  if (!id) {
    throw lines_.error(column, "expected a vertex id, found " + shown(text) +
                                   " (names instead of integers need --labels text)");
  }
  if (format_->n_vertices && *id >= *format_->n_vertices) {
    throw lines_.error(column,
                       "expected a vertex id below " + std::to_string(*format_->n_vertices) +
                           ", the vertex count in the first line, found " + std::to_string(*id));
  }
  return *id;
}

double EdgeReader::weight(std::string_view text, std::size_t column) const {
  const auto value = parse_number<double>(text);
  if (value) return *value;
  throw lines_.error(column, "expected a finite weight, found " + shown(text));
}

bool EdgeReader::passes_filter() {
  if (!options_.filter) return true;
  const std::string_view value = field(options_.filter->column);
  const auto& wanted = options_.filter->values;
  if (std::find(wanted.begin(), wanted.end(), value) != wanted.end()) return true;
  if (n_edges_ == 0 && rejected_.size() < kRejectedMax &&
      std::find(rejected_.begin(), rejected_.end(), value) == rejected_.end()) {
    rejected_.emplace_back(value);
  }
  return false;
}

bool EdgeReader::next_text_edge(std::string_view line, Edge& edge) {
  split(line);
  ++n_lines_;
  if (!passes_filter()) return false;
  edge.source = vertex(options_.source_column);
  edge.target = vertex(options_.target_column);
  edge.weight = options_.weight_column == 0
                    ? 1
                    : weight(field(options_.weight_column), options_.weight_column);
  ++n_edges_;
  return true;
}

bool EdgeReader::next_matrix_edge(std::string_view line, Edge& edge) {
  const detail::MatrixMarket& matrix = *format_->matrix;
  if (++n_edges_ > matrix.n_entries) {
    throw error("expected " + std::to_string(matrix.n_entries) +
                " entries as the size line says, found more");
  }
  split(line);
  const auto index = [&](std::size_t column) {
    const auto value = parse_number<std::uint64_t>(field(column));
    if (value && *value >= 1 && *value <= matrix.n_vertices) return *value - 1;
    throw lines_.error(column, "expected an index from 1 to " + std::to_string(matrix.n_vertices) +
                                   ", found " + shown(field(column)));
  };
  edge.source = index(1);
  edge.target = index(2);
  edge.weight = matrix.weighted ? weight(field(3), 3) : 1;
  if (matrix.mirror != 0 && edge.source != edge.target) {
    mirrored_ = Edge{edge.target, edge.source, matrix.mirror * edge.weight};
  }
  return true;
}

void EdgeReader::check_end() const {
  if (format_->matrix && n_edges_ < format_->matrix->n_entries) {
    throw Error(lines_.path() + ": expected " + std::to_string(format_->matrix->n_entries) +
                " entries as the size line says, found " + std::to_string(n_edges_));
  }
  if (!options_.filter || n_edges_ > 0 || n_lines_ == 0) return;
  std::string found;
  for (std::size_t i = 0; i < std::min<std::size_t>(8, rejected_.size()); ++i) {
    found += (i == 0 ? "" : ", ") + shown(rejected_[i]);
  }
  const std::string wanted = options_.filter->values.empty() ? "" : options_.filter->values.front();
  throw Error(lines_.path() + ": no line has " + shown(wanted) + " in column " +
              std::to_string(options_.filter->column) + did_you_mean(wanted, rejected_) +
              ", found " + found);
}

template <class Id>
EdgeList<Id> read_edge_list(const std::string& path, const EdgeListOptions& options) {
  constexpr std::uint64_t kIdMax = std::numeric_limits<Id>::max();
  EdgeReader reader(path, options);
  const auto declared = reader.declared_vertices();
  if (declared && *declared - 1 > kIdMax && *declared != 0) {
    throw Error(path + ": " + std::to_string(*declared) + " vertices do not fit ids of " +
                std::to_string(8 * sizeof(Id)) + " bits");
  }
  EdgeList<Id> list;
  std::uint64_t n_seen = 0;
  const bool weighted = reader.weighted();
  for (Edge edge; reader.next(edge);) {
    const std::uint64_t largest = std::max(edge.source, edge.target);
    if (largest > kIdMax || largest == UINT64_MAX) {
      throw reader.error("vertex id " + std::to_string(largest) + " does not fit " +
                         std::to_string(8 * sizeof(Id)) + " bits");
    }
    if (weighted && edge.weight < options.weight_least) {
      throw reader.error("expected a weight of " + number_text(options.weight_least) +
                         " or more, found " + number_text(edge.weight));
    }
    n_seen = std::max(n_seen, largest + 1);
    list.source.push_back(static_cast<Id>(edge.source));
    list.target.push_back(static_cast<Id>(edge.target));
    if (weighted) list.weight.push_back(edge.weight);
  }
  if (options.part.whole() && list.source.empty()) {
    throw Error(path + ": expected edges, found none");
  }
  list.n_vertices = declared.value_or(n_seen);
  if (options.labels == Labels::text && !reader.labels().empty()) {
    // From first appearance, which depends on the part, to sorted order, which does not.
    list.labels = reader.labels();
    std::vector<std::string> sorted = list.labels;
    std::sort(sorted.begin(), sorted.end());
    relabel(list, sorted);
  }
  return list;
}

std::vector<std::string> merge_labels(std::span<const std::string> a,
                                      std::span<const std::string> b) {
  std::vector<std::string> all;
  all.reserve(std::max(a.size(), b.size()));
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  return all;
}

template <class Id>
void relabel(EdgeList<Id>& edges, const std::vector<std::string>& all) {
  std::vector<Id> new_id(edges.labels.size());
  for (std::size_t i = 0; i < edges.labels.size(); ++i) {
    const auto at = std::lower_bound(all.begin(), all.end(), edges.labels[i]);
    RUBATO_REQUIRE(at != all.end() && *at == edges.labels[i], edges.labels[i]);
    new_id[i] = static_cast<Id>(at - all.begin());
  }
  for (auto* const ends : {&edges.source, &edges.target}) {
    for (Id& id : *ends)
      id = new_id[id];
  }
  edges.labels = all;
  edges.n_vertices = all.size();
}

template EdgeList32 read_edge_list<std::uint32_t>(const std::string&, const EdgeListOptions&);
template EdgeList64 read_edge_list<std::uint64_t>(const std::string&, const EdgeListOptions&);
template void relabel<std::uint32_t>(EdgeList32&, const std::vector<std::string>&);
template void relabel<std::uint64_t>(EdgeList64&, const std::vector<std::string>&);

}  // namespace rubato::io
