#pragma once
// GridStore: the Store of the kind `grid` on dense arrays (blocks.hpp). Same plan, same messages
// and same bits as FragmentStore gives for the generated eight functions; no allocation in a run
// but for messages and for steps that are begun before all they need is there, and every kernel call works on whole rows in place.
//
// The cells that a round carries are copied into its payload by the steps that make them, so that
// own cells need two versions only, however long a neighbour is waited for.
//
// A cell that is not a number, or infinite where the user is kFinite, ends the run with its place: own cells are looked at in the initial
// state, at every stop test, at every kNumbersInterval-th tick and at the end, which costs
// one pass over a region in so many steps.

#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rubato/tick/grid/blocks.hpp"
#include "rubato/tick/grid/detail/pages.hpp"
#include "rubato/tick/grid/grid_model.hpp"
#include "rubato/tick/store.hpp"

namespace rubato::tick {

struct GridStoreOptions {
  double ns_per_cell = 0.5;  // virtual time of one cell's step
  double ns_per_row = 5;     // and of starting a row
  double bytes_per_ns = 4;   // of packing and unpacking
  // Where a small state stands for one that is so many times longer and wider: own cells count in
  // both directions, replica layers, which are thin, along their length only.
  double scale = 1;
  // Regions of several rows are stepped in strips of so many cells along x, so that a row is still in
  // the first-level cache when the next one reads it. 0: what a strip reads and writes takes half of
  // 32 KiB.
  std::int64_t strip_cells = 0;
};

template <GridUser U>
class GridStore final : public Store {
 public:
  static constexpr int kD = U::kDimensions;
  using Model = GridModel<U>;
  using Value = typename U::Value;
  using CellBox = Box<std::int64_t, kD>;
  using Query = BoxSet<std::int64_t, kD>;

  // Both must outlive the store. Calls the user's init on what the node holds, and on nothing else.
  GridStore(const Model& model, const TypedPlan<Query>& typed, GridStoreOptions options = {})
      : GridStore(model, typed, Tick{0}, options) {
    fill_initial(typed_.held);
    check_first_numbers();
  }
  // The same for a run that begins later: of what init gives, the fixed fields count. Throws Error if
  // the source lacks a cell.
  GridStore(const Model& model, const TypedPlan<Query>& typed, const StateSource& source,
            GridStoreOptions options = {})
      : GridStore(model, typed, source.tick(), options) {
    fill_initial(typed_.held);
    load(source);
    check_first_numbers();
  }
  // Calls init for what the node does not own, and only if there are fixed fields; those of own
  // cells come with the fragments. A replica may be stepped from a round before its first version
  // has come.
  GridStore(const Model& model, const TypedPlan<Query>& typed, Arriving start,
            GridStoreOptions options = {})
      : GridStore(model, typed, start.tick, options) {
    if (U::kFixed > 0) fill_initial(typed_.held.minus(typed_.own));
  }

  void step(RegionId region, Tick t, std::uint32_t core) override;
  // Where rows, or planes, are too long for all of them to stay in the cache, slice by slice across all
  // regions.
  void step_all(std::span<const RegionId> regions, std::span<const Tick> ticks,
                std::uint32_t core) override;
  void pack(std::uint32_t neighbour, Tick t, Writer& out) override;
  void unpack(std::uint32_t neighbour, Tick t, ByteView payload,
              std::span<const std::uint8_t> fresh) override;
  void pack_piece(std::uint32_t neighbour, std::uint32_t i, Tick t, Writer& out) override {
    put_round(first_channel_[neighbour] + i, t, out);
  }
  void unpack_piece(std::uint32_t neighbour, std::uint32_t i, Tick t, ByteView payload) override;
  [[nodiscard]] bool interacts() const override { return !ahead_.empty(); }
  // Cells whose stencils lie in regions that are present; of a step in parts the others, too, up to the
  // first of their stencils that is missing.
  bool interact(RegionId region, Tick t, std::span<const RegionId> present,
                std::uint32_t core) override;
  [[nodiscard]] Nanos interact_cost(RegionId region) const override { return ahead_[region].cost; }
  void release(Tick /*floor*/) override {}
  Bytes measure(RegionId region, Tick t) override;
  void combine(Bytes& into, ByteView from) override;
  bool stop(ByteView combined, Tick t) override;
  [[nodiscard]] Tick stop_interval() const override;
  [[nodiscard]] Tick stop_lag() const override;
  [[nodiscard]] Nanos step_cost(RegionId region, Tick t) const override;
  [[nodiscard]] Nanos copy_cost(std::size_t n_bytes) const override {
    return kMicrosecond + static_cast<Nanos>(static_cast<double>(n_bytes) / options_.bytes_per_ns);
  }
  [[nodiscard]] std::size_t bytes() const override;

  // Calls f(at, n, fields) for each row of own cells: `at` in the world, fields[f] the values of
  // field f at tick t (fixed fields follow). REQUIRES: t is the tick that all own regions have.
  template <class F>
  void for_each_own_row(Tick t, F&& f) const;
  // The same for one region. REQUIRES: t is the last version of the region, or the one before.
  template <class F>
  void for_each_row(RegionId region, Tick t, F&& f) const;
  // Appends the cells of one own region at tick t, for a StateSource: boxes as in a round, without
  // the fixed fields. REQUIRES: as for_each_row().
  void save(RegionId region, Tick t, Writer& out) const;
  // Segments (Arriving in store.hpp). A fragment is like what save() has above, with the fixed
  // fields behind the others of each box. Whole rows are copied, and nothing else is done for a
  // cell.
  void save(RegionId region, Tick t, const Query& query, Writer& out) const;
  void begin(RegionId region, std::span<const ByteView> fragments);
  // The checksum of the own cells at the tick that all own regions have (tick/problem.hpp). Throws
  // Error if a cell is not a number.
  [[nodiscard]] std::uint64_t checksum(Tick t) const;
  // The same as general states, for tests: of all own cells, of one own region.
  [[nodiscard]] typename Model::State own_state(Tick t) const;
  [[nodiscard]] typename Model::State region_state(RegionId region, Tick t) const;

 private:
  using Measure = typename Model::Measure;
  // Cells of a piece that interact() has not stepped. Of a step in parts they have taken up the first
  // `n_taken` cells of their stencils.
  struct Begun {
    CellBox box;
    std::size_t n_taken = 0;
    std::vector<typename detail::GridSum<U>::type>
        sums;  // [cells of box], x first; empty: none taken
  };
  // What interact() has done of a region's next step, and what it has left.
  struct Ahead {
    Tick tick = -1;
    std::vector<std::vector<Begun>> left;  // [pieces of the region]
    std::size_t n_bytes = 0;               // of that
    Measure measured{};
    double n_cells = 0;  // of the region's, those that are done; those that are begun as a part
    double cells_of_call = 0;
    double rows_of_call = 0;
    Nanos cost = 0;  // of the last call

    void add(const CellBox& box, double n_nominal) {
      cells_of_call += n_nominal;
      const std::int64_t n_rows = box.volume() / box.width(0);
      rows_of_call += static_cast<double>(n_rows);
    }
  };
  // Of the work of a cell: to take up one of its stencil, and to finish it.
  static constexpr double kShare = 1.0 / (1 + static_cast<double>(detail::kStencilCells<U>));
  // Cells of a region that go into a round: `box` of the block, to be found in the payload at
  // `to_byte`, one field after the other and `field_bytes` apart, laid out as `shape` has it.
  struct Packing {
    std::uint32_t channel = 0;
    std::uint32_t block = 0;
    CellBox box;
    BlockShape<kD> shape;
    std::size_t to_byte = 0;
    std::size_t field_bytes = 0;
  };
  // Rows that the step of a row reads and writes, in bytes for each cell of it.
  static constexpr std::int64_t kRowsBytes = (2 * U::kRadius + 2) * U::kFields * sizeof(Value);
  static constexpr std::int64_t kStripCells =
      std::max<std::int64_t>(64, (1 << 14) / kRowsBytes / 64 * 64);
  struct Region {
    std::vector<Piece<kD>> pieces;
    std::vector<Export<kD>> exports;
    std::vector<Packing> packings;  // of own regions
    double n_cells = 0;             // nominal
    double n_rows = 0;
  };
  struct Block {
    BlockShape<kD> shape;
    // One array for all, so that strips, whose versions are small and many, get huge pages too: the
    // cells of a tick are far apart, and nodes that share a core share its page walks.
    detail::Pages versions;         // [n_versions], each with all fields
    std::size_t version_bytes = 0;  // from one to the next
    detail::Pages fixed;
  };
  // With no state.
  GridStore(const Model& model, const TypedPlan<Query>& typed, Tick begin,
            GridStoreOptions options);

  // A box of cells of a round, or of a saved region, field by field.
  struct Sent {
    BlockShape<kD> shape;
    const std::byte* data = nullptr;  // not aligned
    std::uint32_t neighbour = 0;
    Tick t = 0;

    [[nodiscard]] const std::byte* row(const Index<kD>& at, std::size_t field) const noexcept {
      const std::int64_t cell = static_cast<std::int64_t>(field) * shape.n_cells + shape.offset(at);
      return data + cell * static_cast<std::int64_t>(sizeof(Value));
    }
  };

  [[nodiscard]] Value* values(const Block& block, Tick t, std::size_t field) const noexcept {
    return version(block, static_cast<std::size_t>(block.shape.version(t)), field);
  }
  [[nodiscard]] Value* version(const Block& block, std::size_t v,
                               std::size_t field) const noexcept {
    return reinterpret_cast<Value*>(static_cast<std::byte*>(block.versions.data()) +
                                    v * block.version_bytes) +
           static_cast<std::ptrdiff_t>(field) * block.shape.n_cells;
  }
  [[nodiscard]] Value* fixed(const Block& block, std::size_t field) const noexcept {
    return static_cast<Value*>(block.fixed.data()) +
           static_cast<std::ptrdiff_t>(field) * block.shape.n_cells;
  }
  // The distance of versions of n bytes: whole lines, and neither a multiple of a page nor close to
  // one, where a load of one version waits for a store to the same place of the next.
  [[nodiscard]] static constexpr std::size_t apart(std::size_t n) noexcept {
    constexpr std::size_t kLine = 64;
    constexpr std::size_t kPage = 4096;
    n = (n + kLine - 1) / kLine * kLine;
    const std::size_t beyond = n % kPage;
    if (beyond < kPage / 4) n += kPage / 4 - beyond;
    if (beyond > kPage * 3 / 4) n += kPage * 5 / 4 - beyond;
    return n;
  }
  [[nodiscard]] double nominal_cells(const CellBox& box, bool is_own) const;
  void add_packings(const BlockLayout<kD>& layout, std::uint32_t neighbour);
  void add_channel(const std::vector<Piece<kD>>& pieces, RegionId first, RegionId last);
  static void add_packing(Region& region, Packing packing);
  [[nodiscard]] std::byte* round_of(std::uint32_t channel, Tick t);
  void put_round(std::uint32_t channel, Tick t, Writer& out);
  void take_round(std::uint32_t neighbour, Tick t, ByteView payload,
                  std::span<const RegionId> regions, std::span<const std::uint8_t> fresh);
  [[nodiscard]] bool measures(RegionId region, Tick t) const;
  [[nodiscard]] std::vector<CellBox> moved_images(const Piece<kD>& piece,
                                                  std::span<const RegionId> missing) const;
  // Puts what is left in the place of what was, and counts its bytes.
  void leave(Ahead& ahead, std::vector<std::vector<Begun>> left);
  // What of `begun` lies in `box`.
  [[nodiscard]] static Begun part_of(const Begun& begun, const CellBox& box);
  [[nodiscard]] static std::size_t place_in(const CellBox& box, const Index<kD>& at) noexcept;
  void take_cells(const Piece<kD>& piece, Begun& begun, Tick t);
  void take_in_order(const Piece<kD>& piece, Begun begun, std::span<const CellBox> missing, Tick t,
                     Ahead& ahead, std::vector<Begun>& left);
  void finish_box(const Piece<kD>& piece, const Begun& begun, const CellBox& box, Tick t,
                  Measure* measured);
  void finish_sums(const Piece<kD>& piece, const Begun& begun, const CellBox& box, Tick t,
                   Measure* measured);
  [[nodiscard]] std::vector<Begun> go_ahead(const Piece<kD>& piece, std::span<const Begun> all,
                                            std::span<const RegionId> missing, Tick t, Ahead& ahead,
                                            Measure* measured);
  void fill_outside(Block& block);
  void fill_initial(const Query& cells);
  void fill_initial(Block& block, const Query& cells);
  void load(const StateSource& source);
  void load_part(const Block& block, const Sent& saved, const CellBox& box, const Index<kD>& shift);
  std::int64_t load_box(const Sent& saved);
  std::int64_t begin_piece(const Piece<kD>& piece, const Sent& fragment, bool has_fixed);
  struct Slice;
  [[nodiscard]] std::int64_t chosen_slice() const;
  void step_slice(RegionId region, Tick t, const Slice& slice, Measure& measured);
  void publish(const Region& region, Tick t, const Slice& slice);
  void pack_region(const Region& region, Tick t, const Slice& slice);
  void publish_fixed(const Region& region);
  template <std::size_t kN, class Array>
  void show(const Region& region, const Array& array, const Slice& slice);
  void check_first_numbers() const;
  // Throws Error if an own cell of the region that lies in the slice is not a number at tick t.
  void check_numbers(RegionId region, Tick t, const Slice& slice) const;
  [[nodiscard]] static std::int64_t first_bad(const Value* row, std::int64_t n, bool finite);
  [[nodiscard]] static constexpr bool is_finite_user() noexcept {
    if constexpr (requires { U::kFinite; }) return U::kFinite;
    return false;
  }
  template <class F>
  void for_each_row(RegionId region, Tick t, const Slice& slice, F&& f) const;
  template <class F>
  void for_each_row_to_step(const Piece<kD>& piece, const CellBox& box, Tick t, F&& f);
  [[nodiscard]] static Index<kD> in_world(const Piece<kD>& piece, Index<kD> at);
  void step_box(const Piece<kD>& piece, const CellBox& box, Tick t, Measure* measured);
  void take_box(const Sent& sent, std::span<const RegionId> regions,
                std::span<const std::uint8_t> fresh);
  void take_piece(const Piece<kD>& piece, const Sent& sent, bool is_fresh);
  [[noreturn]] void refuse(const Sent& sent, Index<kD> at, std::size_t field,
                           const Value* here) const;

  const Model& model_;
  const TypedPlan<Query>& typed_;
  const Tick begin_;
  GridStoreOptions options_;
  std::int64_t slice_ = 0;  // rows, or cells of each; 0: whole ones
  std::vector<Block> blocks_;
  std::vector<Region> regions_;  // [plan.regions]
  // What is packed apart is a channel: the rounds to each neighbour, or of policy pieces what each
  // source has for it.
  std::vector<std::uint32_t> first_channel_;  // [plan.neighbours]
  std::vector<Bytes> empty_rounds_;           // [channels] payloads, of which the cells are to come
  std::mutex rounds_mutex_;
  std::map<std::pair<std::uint32_t, Tick>, Bytes> rounds_;  // begun and not fetched
  std::vector<std::vector<Bytes>> used_rounds_;  // [channels] fetched, to be filled again
  std::vector<Ahead> ahead_;                     // [plan.regions]; of policy pieces
  std::atomic<std::size_t> bytes_ahead_{0};      // of what they have left
  std::mutex measures_mutex_;
  std::map<std::pair<RegionId, Tick>, Measure> measures_;
};

}  // namespace rubato::tick

#include "rubato/tick/grid/detail/grid_store_ahead.hpp"
#include "rubato/tick/grid/detail/grid_store_impl.hpp"
#include "rubato/tick/grid/detail/grid_store_rounds.hpp"
#include "rubato/tick/grid/detail/grid_store_segments.hpp"
#include "rubato/tick/grid/detail/grid_store_slices.hpp"
