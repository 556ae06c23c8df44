#pragma once
// What a user of the kind `grid` writes: the shape, the initial values, and the step, as a kernel
// over a row of cells or, for one cell, in parts.
//
//   struct Diffusion {
//     using Value = double;
//     static constexpr int kDimensions = 2, kRadius = 1, kFields = 1, kFixed = 0;
//     GridShape<2> shape() const { return {{100, 100}, {false, false}}; }
//     void init(Index<2> at, std::int64_t n, double* const* fields, double* const*) const;
//     void step(const GridSpan<Diffusion>& in, double* const* out, Index<2> at, std::int64_t n,
//     Tick) const {
//       const double* u = in.field[0];
//       for (std::int64_t i = 0; i < n; ++i)
//         out[0][i] = 0.25 * (u[i - 1] + u[i + 1] + u[i - in.row] + u[i + in.row]);
//     }
//   };
// Kernels must not depend on how rows are cut: no sums over the cells of a span. The step in parts
// (GridHasInteract below) says the same without a loop, and goes as far as the cells around have come:
//     static constexpr std::array<Index<2>, 4> kStencil{{{-1, 0}, {1, 0}, {0, -1}, {0, 1}}};
//     using Sum = double;
//     double begin(const GridCell<Diffusion>&) const { return 0; }
//     void interact(double& sum, const GridCell<Diffusion>&, std::size_t,
//                   const GridCell<Diffusion>& other) const { sum += other[0]; }
//     double finish(const GridCell<Diffusion>&, double sum) const { return 0.25 * sum; }

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "rubato/base/bytes.hpp"
#include "rubato/tick/policy.hpp"

namespace rubato::tick {

template <int D>
using Index = std::array<std::int64_t, D>;

template <int D>
struct GridShape {
  Index<D> extent{};  // cells, x first
  std::array<bool, D> periodic{};
  // Boxes along each dimension that the world is cut into, one a node; 0: chosen, as
  // GridModel::wanted_parts() says.
  Index<D> parts{};
  const char* parts_option = "";  // what people say `parts` with, for messages
};

// A row of cells with its surroundings: field[f][i + dx + dy * row + dz * plane] is the value of
// field f at the i-th cell moved by (dx, dy, dz), each at most the radius. Outside a world that is
// not periodic the value is outside(f).
template <class U>
struct GridSpan {
  std::array<const typename U::Value*, U::kFields> field{};
  std::array<const typename U::Value*, (U::kFixed > 0 ? U::kFixed : 1)> fixed{};
  std::int64_t row = 0;
  std::int64_t plane = 0;
};

// One cell of a row, as the step in parts sees it: its values, and where and when it is.
template <class U>
class GridCell {
 public:
  GridCell(const GridSpan<U>& span, std::int64_t i, Index<U::kDimensions> at, Tick t) noexcept
      : span_(span), i_(i), at_(at), t_(t) {}

  // Of a field, and of one that never changes.
  [[nodiscard]] typename U::Value operator[](std::size_t field) const noexcept {
    return span_.field[field][i_];
  }
  [[nodiscard]] typename U::Value fixed(std::size_t field) const noexcept {
    return span_.fixed[field][i_];
  }
  // Of a cell that another one sees: beyond the edge too, also where the world is periodic.
  [[nodiscard]] Index<U::kDimensions> at() const noexcept { return at_; }
  [[nodiscard]] Tick tick() const noexcept { return t_; }
  [[nodiscard]] GridCell moved(const Index<U::kDimensions>& by) const noexcept {
    std::int64_t i = i_ + by[0];
    if constexpr (U::kDimensions > 1) i += by[1] * span_.row;
    if constexpr (U::kDimensions > 2) i += by[2] * span_.plane;
    Index<U::kDimensions> at = at_;
    for (std::size_t d = 0; d < at.size(); ++d)
      at[d] += by[d];
    return {span_, i, at, t_};
  }

 private:
  const GridSpan<U>& span_;
  std::int64_t i_;
  Index<U::kDimensions> at_;
  Tick t_;
};

// The new values of a cell: one number where there is one field.
template <class U>
using GridValues = std::conditional_t<U::kFields == 1, typename U::Value,
                                      std::array<typename U::Value, U::kFields>>;

template <class U>
concept GridHasStep = requires(const U& u, Index<U::kDimensions> at, std::int64_t n, Tick t,
                               typename U::Value* const* out, const GridSpan<U>& in) {
  u.step(in, out, at, n, t);
};
// In place of step(), the step of a cell in parts [AsyTick 3.2, Table 1]:
//   static constexpr std::array<Index<kDimensions>, N> kStencil   the cells that it sees beside its
//                                                                 own, none further than kRadius
//   using Sum = ..;                                               plain; what has been taken up
//   Sum begin(const GridCell<U>& own) const;
//   void interact(Sum& sum, const GridCell<U>& own, std::size_t k, const GridCell<U>& other) const;
//                                         once for each cell of the stencil: own, moved by kStencil[k]
//   GridValues<U> finish(const GridCell<U>& own, const Sum& sum) const;
// Cells are taken up in the order of the stencil, whenever they come: those that come before their
// turn wait for it, and the bits are those of a step that has all of them. The whole step is made of
// the same functions, a loop over a row that compilers make vectors of: they should be short, without
// branches but those on k. A sum that starts at -0.0 costs nothing to begin. Where there is a step(),
// too, it is left aside.
template <class U>
concept GridHasInteract = requires(const U& u, const GridCell<U>& cell, typename U::Sum& sum,
                                   std::size_t k) {
  requires Plain<typename U::Sum>;
  { U::kStencil[k] } -> std::convertible_to<Index<U::kDimensions>>;
  { u.begin(cell) } -> std::convertible_to<typename U::Sum>;
  u.interact(sum, cell, k, cell);
  { u.finish(cell, sum) } -> std::convertible_to<GridValues<U>>;
};

template <class U>
concept GridUser = requires(const U& u, Index<U::kDimensions> at, std::int64_t n,
                            typename U::Value* const* out) {
  requires U::kDimensions >= 1 && U::kDimensions <= 3;
  requires U::kRadius >= 1 && U::kFields >= 1 && U::kFixed >= 0;
  requires std::is_arithmetic_v<typename U::Value> && Unpadded<typename U::Value>;
  { u.shape() } -> std::convertible_to<GridShape<U::kDimensions>>;
  // The n cells from `at` along x; fixed fields never change.
  u.init(at, n, out, out);
}
&&(GridHasStep<U> || GridHasInteract<U>);

// Optional: `static constexpr bool kFinite = true` tells that an infinite field is an error.
// Optional: `static constexpr bool kStar = true` tells that the kernel reads along the axes only,
// so that neighbours across corners need not be waited for. A stencil tells it by itself.
template <class U>
inline constexpr bool kReadsStar = [] {
  if constexpr (GridHasInteract<U>) {
    for (const Index<U::kDimensions>& by : U::kStencil) {
      int n_axes = 0;
      for (const std::int64_t along : by)
        n_axes += along != 0 ? 1 : 0;
      if (n_axes > 1) return false;
    }
    return true;
  } else if constexpr (requires { U::kStar; }) {
    return static_cast<bool>(U::kStar);
  } else {
    return false;
  }
}();

// No cell of the stencil is further away than the radius, none is the cell itself.
template <GridHasInteract U>
consteval bool has_stencil_within_radius() {
  for (const Index<U::kDimensions>& by : U::kStencil) {
    if (by == Index<U::kDimensions>{}) return false;
    for (const std::int64_t along : by) {
      if (along > U::kRadius || along < -U::kRadius) return false;
    }
  }
  return true;
}

// Optional: the value of a field (fixed fields count on from kFields) beyond the edge; 0 without
// it.
template <class U>
concept GridHasOutside = requires(const U& u, int field) {
  { u.outside(field) } -> std::convertible_to<typename U::Value>;
};

// Optional: the stop condition of tick/model.hpp, with a measure over a row before and after its
// step.
template <class U>
concept GridHasStop = requires(const U& u, typename U::Measure& m, const GridSpan<U>& in,
                               const typename U::Value* const* after, std::int64_t n) {
  u.measure(m, in, after, n);
  u.combine(m, m);
  { u.stop(m, Tick{}) } -> std::convertible_to<bool>;
  { u.stop_interval() } -> std::convertible_to<Tick>;
  { u.stop_lag() } -> std::convertible_to<Tick>;
};

// Optional: what the cells of the box [low, high) take to be stepped, in any unit, where they
// differ; cheap, since a cut asks for many boxes. Without it each cell is a unit of work.
template <class U>
concept GridHasWork = requires(const U& u, Index<U::kDimensions> at) {
  { u.work(at, at) } -> std::convertible_to<double>;
};

namespace detail {

struct NoGridSum {};
template <class U>
struct GridSum {
  using type = NoGridSum;
};
template <GridHasInteract U>
struct GridSum<U> {
  using type = typename U::Sum;
};
template <class U>
inline constexpr std::size_t kStencilCells = 0;
template <GridHasInteract U>
inline constexpr std::size_t kStencilCells<U> = U::kStencil.size();

// f(k) of each cell k of the stencil, as a constant.
template <class U, class F>
void for_each_of_stencil(F&& f) {
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    (f(std::integral_constant<std::size_t, K>{}), ...);
  }
  (std::make_index_sequence<kStencilCells<U>>{});
}

template <class U>
void put_values(const GridValues<U>& values, typename U::Value* const* out, std::int64_t i) {
  if constexpr (U::kFields == 1) {
    out[0][i] = values;
  } else {
    for (std::size_t f = 0; f < values.size(); ++f)
      out[f][i] = values[f];
  }
}

// Cell i of the row that begins at `at`.
template <class U>
[[nodiscard]] GridCell<U> cell_of_row(const GridSpan<U>& in, std::int64_t i,
                                      Index<U::kDimensions> at, Tick t) noexcept {
  at[0] += i;
  return {in, i, at, t};
}

// The whole step of a row. What it writes is another version than what it reads.
template <GridHasInteract U>
void step_row_in_parts(const U& user, const GridSpan<U>& in, typename U::Value* const* out,
                       const Index<U::kDimensions>& at, std::int64_t n, Tick t) {
  const GridSpan<U> span = in;  // that no store can change
  std::array<typename U::Value*, U::kFields> to{};
  for (std::size_t f = 0; f < to.size(); ++f)
    to[f] = out[f];
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) {
    const GridCell<U> own = cell_of_row(span, i, at, t);
    typename U::Sum sum = user.begin(own);
    for_each_of_stencil<U>([&](auto k) { user.interact(sum, own, k, own.moved(U::kStencil[k])); });
    put_values<U>(user.finish(own, sum), to.data(), i);
  }
}

}  // namespace detail

// The step of the n cells from `at` along x.
template <GridUser U>
void step_row(const U& user, const GridSpan<U>& in, typename U::Value* const* out,
              const Index<U::kDimensions>& at, std::int64_t n, Tick t) {
  if constexpr (GridHasInteract<U>) {
    static_assert(has_stencil_within_radius<U>(),
                  "kStencil: a cell further away than kRadius, or the cell itself");
    detail::step_row_in_parts(user, in, out, at, n, t);
  } else {
    user.step(in, out, at, n, t);
  }
}

}  // namespace rubato::tick
