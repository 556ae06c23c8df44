#include "rubato/io/edge_list.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <zlib.h>

#include "rubato/base/random.hpp"
#include "rubato/io/detail/testing.hpp"

namespace rubato::io {
namespace {

using testing::error_of;
using testing::TempFolder;
using Ids = std::vector<std::uint32_t>;

EdgeList32 list_of(const std::string& text, const EdgeListOptions& options = {}) {
  const TempFolder folder;
  return read_edge_list<std::uint32_t>(folder.file("g.txt", text), options);
}

std::string message_for(const std::string& text, const EdgeListOptions& options = {}) {
  const TempFolder folder;
  const std::string path = folder.file("g.txt", text);
  std::string message =
      error_of([&] { static_cast<void>(read_edge_list<std::uint32_t>(path, options)); });
  if (message.starts_with(path)) message.replace(0, path.size(), "FILE");
  return message;
}

TEST(EdgeList, ReadsAnySeparatorCommentsAndLineEnds) {
  for (const char* const text : {"# c\n% c\n0\t1\n\n2\t0\n", "0,1\r\n2,0\r\n", " 0 , 1 \n 2 , 0",
                                 "0 \t 1\n2 0", "0;1;9\n2;0;9\n"}) {
    const EdgeList32 list = list_of(text);
    EXPECT_EQ(list.source, (Ids{0, 2})) << text;
    EXPECT_EQ(list.target, (Ids{1, 0})) << text;
    EXPECT_EQ(list.n_vertices, 3U) << text;
    EXPECT_TRUE(list.weight.empty());
  }
}

TEST(EdgeList, TakesTheVertexCountFromTheFirstLine) {
  const EdgeList32 list = list_of("# peers\r\n62586\r\n0\t1\r\n0\t2\r\n");
  EXPECT_EQ(list.n_vertices, 62586U);
  EXPECT_EQ(list.n_edges(), 2U);
  EXPECT_EQ(message_for("3\n0 1\n1 3\n"),
            "FILE: line 3, column 2: expected a vertex id below 3, the vertex count in the first "
            "line, found 3");
}

TEST(EdgeList, ReadsWeights) {
  EdgeListOptions options;
  options.weight_column = 3;
  const EdgeList32 list = list_of("0 1 0.5\n1 0 -2e3\n", options);
  EXPECT_EQ(list.weight, (std::vector<double>{0.5, -2000}));
  EXPECT_EQ(message_for("0 1 nan\n", options),
            "FILE: line 1, column 3: expected a finite weight, found \"nan\"");
  EXPECT_EQ(message_for("0 1 1\n0 1\n", options),
            "FILE: line 2: expected a value in column 3, found 2 columns");
}

TEST(EdgeList, HintsAtStringLabelsForAWord) {
  EXPECT_EQ(message_for("0 1\n1 bob\n"),
            "FILE: line 2, column 2: expected a vertex id, found \"bob\" (names instead of "
            "integers need --labels text)");
  EXPECT_NE(message_for("0 1\n1 -2\n").find("found \"-2\""), std::string::npos);
  EXPECT_NE(message_for("0 1\n1 2.5\n").find("found \"2.5\""), std::string::npos);
}

TEST(EdgeList, NamesTheIdThatDoesNotFit) {
  EXPECT_EQ(message_for("0 1\n1 4294967296\n"),
            "FILE: line 2: vertex id 4294967296 does not fit 32 bits");
  EXPECT_EQ(list_of("0 4294967295\n").n_vertices, std::uint64_t{1} << 32);
  EXPECT_EQ(message_for("0 99999999999999999999\n"),
            "FILE: line 1, column 2: vertex id 99999999999999999999 does not fit 64 bits");
  EXPECT_EQ(message_for("4294967297\n0 1\n"),
            "FILE: 4294967297 vertices do not fit ids of 32 bits");
  const TempFolder folder;
  const auto wide = read_edge_list<std::uint64_t>(folder.file("g", "0 4294967296\n"));
  EXPECT_EQ(wide.target.front(), std::uint64_t{1} << 32);
}

TEST(EdgeList, RefusesAFileWithoutEdgesAndALineWithoutATarget) {
  EXPECT_EQ(message_for(""), "FILE: expected edges, found none");
  EXPECT_EQ(message_for("# only\n5\n"), "FILE: expected edges, found none");
  EXPECT_EQ(message_for("0 1\n7\n"), "FILE: line 2: expected a value in column 2, found 1 column");
}

TEST(EdgeList, LabelsAreNumberedInSortedOrder) {
  EdgeListOptions options;
  options.labels = Labels::text;
  const EdgeList32 list = list_of("pear\tbig apple\nfig\tpear\n", options);
  EXPECT_EQ(list.labels, (std::vector<std::string>{"big apple", "fig", "pear"}));
  EXPECT_EQ(list.source, (Ids{2, 1}));
  EXPECT_EQ(list.target, (Ids{0, 2}));
  EXPECT_EQ(list.n_vertices, 3U);
}

constexpr const char* kTriples =
    "a\tDepends\tb\na\tSection\tlibs\nb\tDepends\tc\nc\tPre-Depends\ta\nc\tDepends\ta\n";

EdgeListOptions depends() {
  EdgeListOptions options;
  options.labels = Labels::text;
  options.target_column = 3;
  options.filter = {{2, {"Depends"}}};
  return options;
}

TEST(EdgeList, ChoosesColumnsAndFiltersByAnother) {
  const EdgeList32 list = list_of(kTriples, depends());
  EXPECT_EQ(list.labels, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(list.source, (Ids{0, 1, 2}));
  EXPECT_EQ(list.target, (Ids{1, 2, 0}));
  EdgeListOptions both = depends();
  both.filter->values.emplace_back("Pre-Depends");
  EXPECT_EQ(list_of(kTriples, both).n_edges(), 4U);
}

TEST(EdgeList, NamesTheNearestValueOfAFilterThatLetsNothingThrough) {
  EdgeListOptions options = depends();
  options.filter->values = {"Depend"};
  EXPECT_EQ(message_for(kTriples, options),
            "FILE: no line has \"Depend\" in column 2 (did you mean \"Depends\"?), found "
            "\"Depends\", \"Section\", \"Pre-Depends\"");
}

std::string random_triples(std::uint64_t seed) {
  RandomStream random(seed);
  std::string text = "# triples\n";
  for (int i = 0; i < 300; ++i) {
    text += "v" + std::to_string(random.between(0, 60));
    text += random.between(0, 2) == 0 ? "\tSection\t" : "\tDepends\t";
    text += "v" + std::to_string(random.between(0, 60)) + "\n";
  }
  return text;
}

TEST(EdgeList, PartsMergeToWhatOneNodeReads) {
  const TempFolder folder;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const std::string path = folder.file("g", random_triples(seed));
    const EdgeList32 whole = read_edge_list<std::uint32_t>(path, depends());
    for (const std::uint32_t count : {2U, 3U, 7U, 64U}) {
      std::vector<EdgeList32> parts;
      std::vector<std::string> labels;
      for (std::uint32_t index = 0; index < count; ++index) {
        EdgeListOptions options = depends();
        options.part = {index, count};
        parts.push_back(read_edge_list<std::uint32_t>(path, options));
        labels = merge_labels(labels, parts.back().labels);
      }
      EdgeList32 all;
      for (auto& part : parts) {
        relabel(part, labels);
        all.source.insert(all.source.end(), part.source.begin(), part.source.end());
        all.target.insert(all.target.end(), part.target.begin(), part.target.end());
      }
      ASSERT_EQ(labels, whole.labels) << "seed " << seed << ", parts " << count;
      ASSERT_EQ(all.source, whole.source) << "seed " << seed << ", parts " << count;
      ASSERT_EQ(all.target, whole.target) << "seed " << seed << ", parts " << count;
    }
  }
}

TEST(EdgeList, ThePartsOfAFileShareItsVertexCount) {
  const TempFolder folder;
  std::string text = "\n\n# c\n500\n";
  for (int i = 0; i < 100; ++i)
    text += std::to_string(i) + " " + std::to_string(i + 1) + "\n";
  const std::string path = folder.file("g", text);
  for (const std::uint32_t count : {2U, 50U, 200U}) {
    std::size_t n_edges = 0;
    for (std::uint32_t index = 0; index < count; ++index) {
      EdgeListOptions options;
      options.part = {index, count};
      const auto part = read_edge_list<std::uint32_t>(path, options);
      EXPECT_EQ(part.n_vertices, 500U);
      n_edges += part.n_edges();
    }
    EXPECT_EQ(n_edges, 100U);
  }
}

TEST(EdgeList, ReadsGzip) {
  const TempFolder folder;
  gzFile file = ::gzopen((folder / "g.gz").c_str(), "wb");
  ::gzputs(file, "0 1\n1 2\n");
  ::gzclose(file);
  EXPECT_EQ(read_edge_list<std::uint32_t>(folder / "g.gz").n_edges(), 2U);
}

TEST(MatrixMarket, ReadsGeneralSymmetricAndSkewEntries) {
  const EdgeList32 general =
      list_of("%%MatrixMarket matrix coordinate real general\n% c\n3 3 2\n1 2 0.5\n3 3 -1\n");
  EXPECT_EQ(general.source, (Ids{0, 2}));
  EXPECT_EQ(general.target, (Ids{1, 2}));
  EXPECT_EQ(general.weight, (std::vector<double>{0.5, -1}));
  EXPECT_EQ(general.n_vertices, 3U);
  const EdgeList32 symmetric =
      list_of("%%MatrixMarket MATRIX Coordinate pattern symmetric\n4 4 2\n2 1\n3 3\n");
  EXPECT_EQ(symmetric.source, (Ids{1, 0, 2}));
  EXPECT_EQ(symmetric.target, (Ids{0, 1, 2}));
  EXPECT_TRUE(symmetric.weight.empty());
  const EdgeList32 skew =
      list_of("%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 7\n");
  EXPECT_EQ(skew.weight, (std::vector<double>{7, -7}));
}

TEST(MatrixMarket, SaysWhatIsWrong) {
  const std::string head = "%%MatrixMarket matrix coordinate real general\n";
  EXPECT_EQ(message_for("%%MatrixMarket matrix array real general\n2 2\n"),
            "FILE: line 1: expected coordinate in the Matrix Market banner, found \"array\"");
  EXPECT_EQ(message_for("%%MatrixMarket matrix coordinate real symetric\n2 2 0\n"),
            "FILE: line 1: expected general or symmetric or skew-symmetric in the Matrix Market "
            "banner, found \"symetric\" (did you mean \"symmetric\"?)");
  EXPECT_EQ(message_for(head + "2 3 1\n1 1 1\n"),
            "FILE: line 2: expected a square matrix, since it is read as a graph, found 2 x 3");
  EXPECT_EQ(message_for(head + "2 2 1\n0 1 1\n"),
            "FILE: line 3, column 1: expected an index from 1 to 2, found \"0\"");
  EXPECT_EQ(message_for(head + "2 2 2\n1 1 1\n"),
            "FILE: expected 2 entries as the size line says, found 1");
  EXPECT_EQ(message_for(head + "2 2 1\n1 1 1\n2 2 1\n"),
            "FILE: line 4: expected 1 entries as the size line says, found more");
}

TEST(MatrixMarket, PartsGiveEachEntryOnce) {
  const TempFolder folder;
  std::string text = "%%MatrixMarket matrix coordinate pattern symmetric\n%\n%c\n99 99 90\n";
  for (int i = 1; i <= 90; ++i)
    text += std::to_string(i + 1) + " " + std::to_string(i) + "\n";
  const std::string path = folder.file("m.mtx", text);
  for (const std::uint32_t count : {2U, 5U, 100U}) {
    std::size_t n_edges = 0;
    for (std::uint32_t index = 0; index < count; ++index) {
      EdgeListOptions options;
      options.part = {index, count};
      n_edges += read_edge_list<std::uint32_t>(path, options).n_edges();
    }
    EXPECT_EQ(n_edges, 180U) << count;
  }
}

TEST(EdgeList, FuzzedFilesEitherParseOrThrow) {
  const std::string alphabet = "0129\t ,;#%.-e\n\r";
  const auto integer = [](const std::string& path) {
    EdgeListOptions options;
    options.weight_column = 3;
    static_cast<void>(read_edge_list<std::uint32_t>(path, options));
    options.part = {1, 2};
    static_cast<void>(read_edge_list<std::uint64_t>(path, options));
  };
  const auto triples = [](const std::string& path) {
    static_cast<void>(read_edge_list<std::uint32_t>(path, depends()));
  };
  EXPECT_GT(testing::fuzz_file("# c\n9\n0\t1\t0.5\n1\t2\t3\n8\t0\t1e3\n", 800, alphabet, integer),
            0U);
  EXPECT_GT(testing::fuzz_file(kTriples, 800, alphabet, triples), 0U);
  EXPECT_GT(testing::fuzz_file(
                "%%MatrixMarket matrix coordinate real symmetric\n%\n4 4 3\n1 1 1\n2 1 .5\n4 3 2\n",
                800, alphabet, integer),
            0U);
}

}  // namespace
}  // namespace rubato::io
