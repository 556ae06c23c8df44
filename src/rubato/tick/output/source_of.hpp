#pragma once
// The OutputSource of a model that says how its tuples look.

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rubato/tick/output/source.hpp"
#include "rubato/tick/plan_builder.hpp"

namespace rubato::tick {

namespace detail {

template <class T>
[[nodiscard]] constexpr ColumnType column_type() {
  if constexpr (std::same_as<T, float>) return ColumnType::f32;
  if constexpr (std::same_as<T, double>) return ColumnType::f64;
  if constexpr (std::signed_integral<T>) return ColumnType::i64;
  return ColumnType::u64;
}

// The default if the model, or the user in it, has none.
template <class U>
[[nodiscard]] PictureStyle style_of(const U& user) {
  if constexpr (requires { user.picture_style(); }) {
    return user.picture_style();
  } else {
    return {};
  }
}

template <class M, class S>
concept GridSourced = requires(const M& m, const S& store, RegionId region, Tick t) {
  requires M::User::kFields >= 1;
  requires std::same_as<typename M::Value, float> || std::same_as<typename M::Value, double> ||
      std::same_as<typename M::Value, std::uint8_t> ||
      std::same_as<typename M::Value, std::int32_t> ||
      std::same_as<typename M::Value, std::uint32_t> ||
      std::same_as<typename M::Value, std::int64_t> ||
      std::same_as<typename M::Value, std::uint64_t>;
  store.for_each_row(region, t, [](const auto&, std::int64_t, const auto&) {});
};

template <class M, class S>
class GridSource final : public OutputSource {
 public:
  GridSource(const M& model, const S& store, std::uint32_t n_own)
      : model_(model), store_(store), n_own_(n_own) {
    using U = typename M::User;
    schema_.kind = OutputSchema::Kind::grid;
    schema_.dimensions = U::kDimensions;
    schema_.grid_type = std::span<const typename M::Value>();
    for (std::size_t d = 0; d < U::kDimensions; ++d)
      schema_.extent[d] = model.space().world.high[d];
    std::vector<std::string> names;
    if constexpr (requires { model.user().field_names(); }) {
      names = model.user().field_names();
      RUBATO_REQUIRE(!names.empty() && names.size() <= M::kValues, names.size());
    } else {
      for (int f = 0; f < U::kFields; ++f)
        names.push_back("field" + std::to_string(f));
    }
    for (std::string& name : names)
      schema_.columns.push_back({std::move(name), column_type<typename M::Value>()});
    schema_.style = style_of(model.user());
  }

  [[nodiscard]] const OutputSchema& schema() const override { return schema_; }
  void read(RegionId region, Tick t, OutputReader& out) const override {
    std::vector<io::VtkArray::Values> values(schema_.columns.size());
    store_.for_each_row(region, t, [&](const auto& at, std::int64_t n, const auto& fields) {
      std::array<std::int64_t, 3> where{};
      for (std::size_t d = 0; d < at.size(); ++d)
        where[d] = at[d];
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = std::span<const typename M::Value>(fields[i], static_cast<std::size_t>(n));
      }
      out.row(where, n, values);
    });
  }
  void read_all(Tick t, OutputReader& out) const override {
    for (RegionId region = 0; region < n_own_; ++region)
      read(region, t, out);
  }
  void picture_kinds(const std::array<std::int64_t, 3>& at,
                     std::span<std::uint8_t> kinds) const override {
    std::array<std::int64_t, M::User::kDimensions> where{};
    std::copy_n(at.begin(), where.size(), where.begin());
    const auto n = static_cast<std::int64_t>(kinds.size());
    if constexpr (requires { model_.user().picture_kinds(where, n, kinds.data()); }) {
      model_.user().picture_kinds(where, n, kinds.data());
    }
  }

 private:
  const M& model_;
  const S& store_;
  std::uint32_t n_own_;
  OutputSchema schema_;
};

// A store whose own regions can be read one by one as states of the model.
template <class M, class S>
concept StateSourced = requires(const S& store, RegionId region, Tick t) {
  { store.region_state(region, t) } -> std::convertible_to<typename M::State>;
  { store.own_state(t) } -> std::convertible_to<typename M::State>;
};

template <class M>
concept WritesRows = requires(const M& m, const typename M::State& s, OutputRows& rows) {
  { m.output_columns() } -> std::convertible_to<std::vector<OutputColumn>>;
  m.output_rows(s, rows);
};

// Points: a state is a list of tuples with id and position in a world.
template <class M>
concept WritesPoints = requires(const M& m, const typename M::Tuple& tuple) {
  { tuple.id } -> std::convertible_to<std::uint64_t>;
  tuple.position[0];
  m.lattice().world().box.low[0];
};

// Graphs: a state is vertices and their values, and the user writes one of them.
template <class M>
concept WritesVertices = requires(const M& m, const typename M::State& s, OutputRows& rows) {
  { m.user().output_columns() } -> std::convertible_to<std::vector<OutputColumn>>;
  m.user().output_row(s.ids[0], s.values[0], rows);
};

template <class M>
[[nodiscard]] OutputSchema points_schema(const M& model) {
  OutputSchema schema;
  const auto& world = model.lattice().world();
  static constexpr std::array kUses{ColumnUse::x, ColumnUse::y, ColumnUse::z};
  static constexpr std::array kNames{"x", "y", "z"};
  for (std::size_t d = 0; d < world.box.low.size(); ++d) {
    schema.columns.push_back({kNames[d], column_type<typename M::Scalar>(), kUses[d]});
    schema.world_low[d] = static_cast<double>(world.box.low[d]);
    schema.world_high[d] = static_cast<double>(world.box.high[d]);
  }
  if constexpr (requires { model.user().output_columns(); }) {
    for (OutputColumn& column : model.user().output_columns())
      schema.columns.push_back(std::move(column));
  }
  schema.style = style_of(model.user());
  return schema;
}

template <class M, class S>
class TableSource final : public OutputSource {
 public:
  TableSource(const M& model, const S& store) : model_(model), store_(store) {
    if constexpr (WritesRows<M>) {
      schema_.columns = model.output_columns();
      if constexpr (requires { model.output_id_name(); }) schema_.id_name = model.output_id_name();
      schema_.style = style_of(model);
      if constexpr (requires { model.picture_world(); }) {
        std::tie(schema_.world_low, schema_.world_high) = model.picture_world();
      }
    } else if constexpr (WritesVertices<M>) {
      schema_.columns = model.user().output_columns();
      schema_.id_name = "vertex";
      schema_.style = style_of(model.user());
    } else {
      schema_ = points_schema(model);
    }
  }

  [[nodiscard]] const OutputSchema& schema() const override { return schema_; }
  void read(RegionId region, Tick t, OutputReader& out) const override {
    out.rows(rows_of(store_.region_state(region, t)));
  }
  void read_all(Tick t, OutputReader& out) const override {
    out.rows(rows_of(store_.own_state(t)));
  }

 private:
  [[nodiscard]] OutputRows rows_of(const typename M::State& state) const {
    OutputRows rows(schema_.columns);
    if constexpr (WritesRows<M>) {
      model_.output_rows(state, rows);
    } else if constexpr (WritesVertices<M>) {
      for (std::size_t i = 0; i < state.ids.size(); ++i) {
        rows.begin(state.ids[i]);
        model_.user().output_row(state.ids[i], state.values[i], rows);
      }
    } else {
      for (const auto& tuple : state) {
        rows.begin(tuple.id);
        for (const auto x : tuple.position)
          rows.add(x);
        if constexpr (requires { model_.user().output_row(tuple, rows); }) {
          model_.user().output_row(tuple, rows);
        }
      }
    }
    return rows;
  }

  const M& model_;
  const S& store_;
  OutputSchema schema_;
};

}  // namespace detail

// Reads the tuples of `store`, whose node has `n_own` own regions; null if the model does not say
// how they are written. `model` and `store` outlive it.
template <class M, class S>
[[nodiscard]] std::unique_ptr<OutputSource> make_output_source(const M& model, const S& store,
                                                               std::uint32_t n_own) {
  if constexpr (detail::GridSourced<M, S>) {
    return std::make_unique<detail::GridSource<M, S>>(model, store, n_own);
  } else if constexpr (detail::StateSourced<M, S> &&
                       (detail::WritesRows<M> || detail::WritesVertices<M> ||
                        detail::WritesPoints<M>)) {
    return std::make_unique<detail::TableSource<M, S>>(model, store);
  } else {
    return nullptr;
  }
}

}  // namespace rubato::tick
