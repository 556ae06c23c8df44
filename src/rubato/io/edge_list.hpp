#pragma once
// Graphs as users have them: edge lists and Matrix Market files, plain or gzip.
//
//   const EdgeList32 g = read_edge_list<std::uint32_t>("wiki-Vote.txt");
//
//   EdgeListOptions options;                  // which Debian package depends on which?
//   options.labels = Labels::text;            // package<TAB>relation<TAB>value
//   options.target_column = 3;
//   options.filter = {{2, {"Depends"}}};
//   const auto deps = read_edge_list<std::uint32_t>("debian12-triples.tsv.gz", options);
//
// Understood without being told: columns separated by tabs, commas, semicolons or blanks (the first
// line with an edge decides), lines that start with # or %, a first line that holds nothing but the
// vertex count, CRLF, and the banner of Matrix Market (coordinate; general, symmetric or
// skew-symmetric; 1-based).
//
// Node-count independent: n nodes read the n parts of a file (line_reader.hpp). Integer ids mean
// the same everywhere. Text labels get their ids by sorted order; each part has a dictionary of its
// own, and merge_labels() and relabel() bring the parts to the dictionary that one node would have
// had.
//
// EdgeReader streams and holds nothing but the dictionary; read_edge_list collects.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rubato/io/line_reader.hpp"

namespace rubato::io {

enum class Labels {
  integer,  // vertex ids, from 0
  text,     // any strings; ids are made
};

enum class FirstLine {
  detect,  // a first line of one integer is the vertex count (text labels: never)
  count,   // it must be one
  edge,    // it is an edge like the others
};

// Keeps the lines whose field in `column` is one of `values`.
struct EdgeFilter {
  std::size_t column = 0;  // from 1
  std::vector<std::string> values;
};

struct EdgeListOptions {
  Labels labels = Labels::integer;
  FirstLine first_line = FirstLine::detect;
  std::size_t source_column = 1;  // all columns count from 1
  std::size_t target_column = 2;
  std::size_t weight_column =
      0;  // 0: all weights are 1 (Matrix Market: the values, if it has them)
  // Smaller weights are an Error of read_edge_list().
  double weight_least = std::numeric_limits<double>::lowest();
  std::optional<EdgeFilter> filter = std::nullopt;
  std::string comments = "#%";  // characters that make a line a comment
  FilePart part = {};
};

struct Edge {
  std::uint64_t source = 0;
  std::uint64_t target = 0;
  double weight = 1;

  friend bool operator==(const Edge&, const Edge&) = default;
};

// Reads one part of a file, edge by edge.
class EdgeReader {
 public:
  // Reads the head of the file, whatever the part. Throws Error if it cannot be read, or if it is a
  // Matrix Market file of a form that is no graph. Options for columns, labels and filters do not
  // apply to Matrix Market.
  explicit EdgeReader(const std::string& path, const EdgeListOptions& options = {});
  EdgeReader(const EdgeReader&) = delete;
  EdgeReader& operator=(const EdgeReader&) = delete;
  ~EdgeReader();

  // The next edge of this part; false at its end. Text labels: the ids count labels by first
  // appearance. Throws Error, with file and line, for what is no edge, an id that is not below the
  // declared vertex count, a weight that is not finite. At the end of a file that is read whole it
  // throws if a filter let nothing through, naming the nearest value that was there, or if a Matrix
  // Market file is shorter than it says.
  [[nodiscard]] bool next(Edge& edge);

  // What the first line, or Matrix Market's size line, says; absent if the file has none.
  [[nodiscard]] std::optional<std::uint64_t> declared_vertices() const noexcept;

  [[nodiscard]] bool is_matrix_market() const noexcept;

  // True if the file has weights that are asked for.
  [[nodiscard]] bool weighted() const noexcept;

  // [n] The labels of this part so far by first appearance; empty for integer labels.
  [[nodiscard]] const std::vector<std::string>& labels() const noexcept;

  // An error about the line of the last edge.
  [[nodiscard]] Error error(std::string_view message) const;

 private:
  struct Format;
  struct Dictionary;

  bool next_text_edge(std::string_view line, Edge& edge);
  bool next_matrix_edge(std::string_view line, Edge& edge);
  [[nodiscard]] std::string_view field(std::size_t column) const;
  void split(std::string_view line);
  [[nodiscard]] std::uint64_t vertex(std::size_t column);
  [[nodiscard]] double weight(std::string_view text, std::size_t column) const;
  [[nodiscard]] bool passes_filter();
  void check_end() const;

  EdgeListOptions options_;
  LineReader lines_;
  std::unique_ptr<Format> format_;
  std::unique_ptr<Dictionary> dictionary_;
  std::vector<std::string_view> fields_;
  std::optional<Edge> mirrored_;  // the other direction of a symmetric entry, to be handed out next
  std::uint64_t n_lines_ = 0;     // lines with an edge, before the filter
  std::uint64_t n_edges_ = 0;     // entries, after it
  std::vector<std::string> rejected_;  // some values that the filter turned away
};

// A part of a graph, in memory. Parallel arrays: edge i is source[i] -> target[i].
template <class Id>
struct EdgeList {
  std::vector<Id> source;
  std::vector<Id> target;
  std::vector<double> weight;       // [n_edges], or empty if the file is not weighted
  std::vector<std::string> labels;  // [n_vertices] ascending, or empty for integer labels
  std::uint64_t n_vertices =
      0;  // declared, or the largest id plus one. Of a part: as far as it knows

  [[nodiscard]] std::size_t n_edges() const noexcept { return source.size(); }
};
using EdgeList32 = EdgeList<std::uint32_t>;
using EdgeList64 = EdgeList<std::uint64_t>;

// Reads a part of a file. Id is std::uint32_t or std::uint64_t; an id that does not fit is an Error
// that names it. A file that is read whole and has no edge is an Error.
template <class Id>
[[nodiscard]] EdgeList<Id> read_edge_list(const std::string& path,
                                          const EdgeListOptions& options = {});

// The union of two ascending lists of labels, ascending. Associative: nodes combine theirs in a
// tree.
[[nodiscard]] std::vector<std::string> merge_labels(std::span<const std::string> a,
                                                    std::span<const std::string> b);

// Moves the edges from their part's labels to `all`. REQUIRES: `all` is ascending and has each of
// theirs.
template <class Id>
void relabel(EdgeList<Id>& edges, const std::vector<std::string>& all);

}  // namespace rubato::io
