// The bytes of a checkpoint, at the offsets that docs/formats.md gives, by nothing but memcpy and XXH3:
// writer and reader of the source could change together.

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>
#include <xxhash.h>

#include "rubato/tick/checkpoint/checkpoints.hpp"
#include "rubato/tick/grid/grid_store.hpp"
#include "rubato/tick/problem_of.hpp"
#include "rubato/tick/reference.hpp"
#include "rubato/tick/testing/grid_worlds.hpp"
#include "rubato/tick/testing/swarm_model.hpp"

namespace rubato::tick {
namespace {

using testing::Agent;
using testing::SwarmModel;
using Swarm = ProblemOf<SwarmModel, FragmentStore<SwarmModel>>;
using Grid = testing::MixingGrid<2, 1, 2, false>;
using GridProblem = ProblemOf<GridModel<Grid>, GridStore<Grid>, GridStoreOptions>;

// A file, or a stretch of one.
class Raw {
 public:
  explicit Raw(std::string bytes) : bytes_(std::move(bytes)) {}
  static Raw of_file(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return Raw(text.str());
  }

  template <class T>
  [[nodiscard]] T at(std::size_t offset) const {
    T value{};
    EXPECT_LE(offset + sizeof value, bytes_.size());
    if (offset + sizeof value <= bytes_.size())
      std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  [[nodiscard]] std::string bytes(std::size_t offset, std::size_t n) const {
    EXPECT_LE(offset + n, bytes_.size());
    return offset > bytes_.size() ? "" : bytes_.substr(offset, n);
  }
  [[nodiscard]] std::uint64_t checksum(std::size_t offset, std::size_t n,
                                       std::uint64_t seed) const {
    return XXH3_64bits_withSeed(bytes(offset, n).data(), n, seed);
  }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

  // What follows on what was read last.
  void go_to(std::size_t offset) { next_ = offset; }
  [[nodiscard]] std::size_t next() const { return next_; }
  std::uint64_t u64() { return take<std::uint64_t>(); }
  std::uint32_t u32() { return take<std::uint32_t>(); }
  std::string text() {
    const std::uint64_t n = u64();
    next_ += n;
    return bytes(next_ - n, n);
  }

 private:
  template <class T>
  T take() {
    next_ += sizeof(T);
    return at<T>(next_ - sizeof(T));
  }

  std::string bytes_;
  std::size_t next_ = 0;
};

struct RawPart {
  std::uint64_t n_bytes = 0;
  std::uint64_t n_pieces = 0;
  std::uint64_t checksum = 0;
};

class CheckpointFormat : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Runs on two nodes, with checkpoints at all multiples of 4.
  template <class P>
  void run(const P& problem, Tick ticks) {
    CheckpointOptions checkpoint;
    checkpoint.folder = folder_;
    checkpoint.every = 4;
    checkpoint.about = about_;
    checkpoint.about.ticks = ticks;
    SimulationOptions options;
    options.n_nodes = 2;
    const auto checkpoints = add_checkpoints(options, checkpoint);
    (void)simulate(problem, Policy::parse("local"), ticks, options);
  }
  [[nodiscard]] Raw manifest() const { return Raw::of_file(folder_ + "/tick-00000004/manifest"); }
  // Those of the manifest, which follow on a list of parameters; each is held against its file, and of
  // each piece f is called.
  template <class F>
  void read_parts(Raw& manifest, F&& f) const {
    const std::uint64_t n_parts = manifest.u64();
    ASSERT_EQ(n_parts, 2U);
    for (std::uint32_t i = 0; i < n_parts; ++i) {
      RawPart part;
      part.n_bytes = manifest.u64();
      part.n_pieces = manifest.u64();
      part.checksum = manifest.u64();
      read_part(i, part, manifest.at<std::uint64_t>(64), f);
    }
  }

  const std::string folder_ =
      ::testing::TempDir() + "/rubato-checkpoint-format-" + std::to_string(::getpid());
  Manifest about_;

 private:
  template <class F>
  void read_part(std::uint32_t number, const RawPart& part, std::uint64_t run, F&& f) const {
    Raw file = Raw::of_file(folder_ + "/tick-00000004/part-0000" + std::to_string(number));
    EXPECT_EQ(file.size(), part.n_bytes);
    EXPECT_EQ(file.bytes(0, 8), "rubatoCP");
    EXPECT_EQ(file.at<std::uint32_t>(8), 1U);
    EXPECT_EQ(file.at<std::uint32_t>(12), number);
    EXPECT_EQ(file.at<std::uint32_t>(16), 2U);
    EXPECT_EQ(file.at<std::uint32_t>(20), 0U);
    EXPECT_EQ(file.at<std::int64_t>(24), 4);
    EXPECT_EQ(file.at<std::uint64_t>(32), run);
    std::string checksums;
    std::size_t offset = 40;
    for (std::uint64_t i = 0; i < part.n_pieces; ++i) {
      const auto n_bytes = file.at<std::uint64_t>(offset);
      EXPECT_EQ(file.at<std::uint64_t>(offset + 8), file.checksum(offset + 16, n_bytes, n_bytes));
      checksums += file.bytes(offset + 8, 8);
      Raw piece(file.bytes(offset + 16, n_bytes));
      f(piece);
      EXPECT_EQ(piece.next(), n_bytes);
      offset += 16 + n_bytes;
    }
    EXPECT_EQ(offset, file.size());
    EXPECT_GT(part.n_pieces, 0U);
    EXPECT_EQ(Raw(checksums).checksum(0, checksums.size(), part.n_pieces), part.checksum);
  }
};

TEST_F(CheckpointFormat, a_manifest_and_its_parts_stand_where_the_documents_say) {
  about_.build = 0x1112131415161718;
  about_.instructions = 0x2122232425262728;
  about_.seed = 0x3132333435363738;
  about_.model = "swarm";
  about_.model_version = 7;
  about_.program = "rubato 0.1.0 (abc)";
  about_.parameters = {{"visibility", "3", 0}, {"map", "a.csv", 0x4142434445464748}};
  about_.job = "20261121-231459-0a1b2c";
  about_.settings = {{"policy", "local"}, {"pieces", "64"}};
  about_.branch_tick = 3;
  SwarmModel::Options world;
  world.stop_interval = 5;
  world.stop_lag = 2;
  const SwarmModel model(world);
  run(Swarm(model), 7);

  Raw file = manifest();
  EXPECT_EQ(file.bytes(0, 8), "rubatoCM");
  EXPECT_EQ(file.at<std::uint32_t>(8), 4U);
  EXPECT_EQ(file.at<std::uint32_t>(12), 0U);
  EXPECT_EQ(file.at<std::uint64_t>(16), file.checksum(24, file.size() - 24, 4));
  EXPECT_EQ(file.at<std::int64_t>(24), 4);
  EXPECT_EQ(file.at<std::int64_t>(32), 7);
  EXPECT_EQ(file.at<std::int64_t>(40), INT64_MAX);  // no test has decided that it ends
  EXPECT_EQ(file.at<std::int64_t>(48), 5);
  EXPECT_EQ(file.at<std::int64_t>(56), 2);
  EXPECT_NE(file.at<std::uint64_t>(64), 0U);
  EXPECT_EQ(file.at<std::uint64_t>(72), about_.build);
  EXPECT_EQ(file.at<std::uint64_t>(80), about_.instructions);
  EXPECT_EQ(file.at<std::uint64_t>(88), about_.seed);
  file.go_to(96);
  EXPECT_EQ(file.text(), "swarm");
  EXPECT_EQ(file.u32(), 7U);
  EXPECT_EQ(file.text(), "rubato 0.1.0 (abc)");
  ASSERT_EQ(file.u64(), 2U);
  for (const CheckpointParameter& parameter : about_.parameters) {
    EXPECT_EQ(file.text(), parameter.name);
    EXPECT_EQ(file.text(), parameter.text);
    EXPECT_EQ(file.u64(), parameter.file_hash);
  }
  // Pieces are states as SwarmModel::write has them.
  SwarmModel::State state;
  read_parts(file, [&](Raw& piece) {
    for (std::uint64_t n = piece.u64(); n > 0; --n) {
      Agent& agent = state.emplace_back();
      agent.id = piece.u64();
      agent.x = static_cast<std::int32_t>(piece.u32());
      agent.y = static_cast<std::int32_t>(piece.u32());
      agent.value = piece.u64();
    }
  });
  std::ranges::sort(state, {}, &Agent::id);
  EXPECT_TRUE(state == run_reference(model, model.everything(), 4).state);
  EXPECT_EQ(file.text(), "20261121-231459-0a1b2c");
  ASSERT_EQ(file.u64(), 2U);
  for (const CheckpointSetting& setting : about_.settings) {
    EXPECT_EQ(file.text(), setting.name);
    EXPECT_EQ(file.text(), setting.text);
  }
  EXPECT_EQ(file.u64(), 3U);
  EXPECT_EQ(file.next(), file.size());
}

// Tested at tick 3, with effect at 6.
TEST_F(CheckpointFormat, the_tick_at_which_a_stop_test_ends_the_run_is_in_the_manifest) {
  SwarmModel::Options world;
  world.stop_interval = 3;
  world.stop_lag = 3;
  world.stop_below = UINT64_MAX;
  run(Swarm(SwarmModel(world)), 20);
  const Raw file = manifest();
  EXPECT_EQ(file.at<std::int64_t>(24), 4);
  EXPECT_EQ(file.at<std::int64_t>(32), 20);
  EXPECT_EQ(file.at<std::int64_t>(40), 6);
  EXPECT_EQ(file.at<std::int64_t>(48), 3);
  EXPECT_EQ(file.at<std::int64_t>(56), 3);
}

// Boxes: their number, corners with x first, cells field by field with x fastest, no fixed field.
TEST_F(CheckpointFormat, pieces_of_a_grid_are_boxes_as_in_a_round) {
  constexpr std::int64_t kWidth = 12;
  constexpr std::int64_t kHeight = 10;
  Grid user;
  user.grid = {{kWidth, kHeight}, {false, false}};
  const GridModel<Grid> model(user);
  run(GridProblem(model, GridStoreOptions{}), 5);

  std::vector<std::array<double, 2>> cells(kWidth * kHeight);
  std::vector<int> n_found(cells.size(), 0);
  const auto read_box = [&](Raw& piece) {
    std::array<std::int64_t, 4> box{};  // low x, low y, high x, high y
    for (std::int64_t& corner : box)
      corner = static_cast<std::int64_t>(piece.u64());
    ASSERT_TRUE(0 <= box[0] && box[2] <= kWidth && 0 <= box[1] && box[3] <= kHeight);
    for (std::size_t field = 0; field < 2; ++field) {
      for (std::int64_t i = 0; i < (box[2] - box[0]) * (box[3] - box[1]); ++i) {
        const std::int64_t x = box[0] + i % (box[2] - box[0]);
        const std::int64_t y = box[1] + i / (box[2] - box[0]);
        const auto at = static_cast<std::size_t>(y * kWidth + x);
        cells[at][field] = piece.at<double>(piece.next());
        piece.go_to(piece.next() + sizeof(double));
        ++n_found[at];
      }
    }
  };
  Raw file = manifest();
  file.go_to(96);
  (void)file.text();
  (void)file.u32();
  (void)file.text();
  ASSERT_EQ(file.u64(), 0U);  // no parameters
  read_parts(file, [&](Raw& piece) {
    for (std::uint32_t n = piece.u32(); n > 0 && !HasFatalFailure(); --n)
      read_box(piece);
  });
  EXPECT_EQ(n_found, std::vector<int>(cells.size(), 2));
  const auto reference = run_reference(model, model.everything(), 4).state;
  std::size_t n_compared = 0;
  model.for_each_tuple(reference, [&](std::uint64_t id, ByteView bytes) {
    ASSERT_LT(id, cells.size());
    EXPECT_EQ(std::memcmp(bytes.data(), cells[id].data(), sizeof cells[id]), 0) << "cell " << id;
    ++n_compared;
  });
  EXPECT_EQ(n_compared, cells.size());
}

}  // namespace
}  // namespace rubato::tick
