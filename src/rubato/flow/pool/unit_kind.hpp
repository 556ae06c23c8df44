#pragma once
// Units of work that tasks put and get by themselves [Turbine 3; ADLB's put and get]:
//
//   const UnitKind<Dock> kDocks("dock");           a static object: on all nodes the same
//
//   kDocks.put({protein, ligand}, {.priority = 3});  from anywhere in the flow
//   while (const auto dock = kDocks.get()) ...;      nothing: there will be no more
//
// For programs whose tasks are workers with a state of their own, or take what they get in ways of
// their own; else a unit is a task of its own (async), which waits for its inputs and has a result.
//
// The cores of a node share a queue of each kind, the largest priority first. Nodes where tasks wait in
// get(), or will soon, are given half of what others have, many at a time. When nothing is left to do
// in the flow but to wait, for units or futures, and no unit is left that any of these may have, all
// of them return nothing: termination is found by counting (docs/decisions/0020). A unit that nobody
// gets waits for ever, as a rule does.
//
// What cannot begin or go on before one of them ends (a task that waits for a worker of its type which
// one of them has, a team whose member waits in get(), more than 4,096 of them on a core) counts as
// something that is left to do, so that the flow ends with the report of a deadlock.

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rubato/flow/flow.hpp"
#include "rubato/flow/store/codec.hpp"

namespace rubato::flow {

inline constexpr NodeId kAnyNode = ~NodeId{0};

struct UnitOptions {
  std::int32_t priority = 0;
  // Who is to have it: a core, or any core of a node. With may_move that is a wish, and others who
  // wait may have it.
  CoreId core = kAnyCore;
  NodeId node = kAnyNode;
  bool may_move = false;
};

namespace detail {
[[nodiscard]] std::uint32_t register_unit_kind(std::string name);
void put_units(std::uint32_t kind, std::vector<Value> values, const UnitOptions& options,
               PortablePlace at);
[[nodiscard]] std::optional<Value> get_unit(std::uint32_t kind);
}  // namespace detail

// Units of type T, any type that a datum may have (codec.hpp). A static object.
template <class T>
class UnitKind {
 public:
  explicit UnitKind(std::string name) : number_(detail::register_unit_kind(std::move(name))) {}
  UnitKind(const UnitKind&) = delete;
  UnitKind& operator=(const UnitKind&) = delete;
  ~UnitKind() = default;

  // May wait for room to send. Throws Error if the core or the node does not exist.
  void put(const T& unit, const UnitOptions& options = {},
           SourcePlace at = SourcePlace::here()) const {
    put_all({&unit, 1}, options, at);
  }
  // The same of many that are alike but for their content, a batch: they go the same way together, in
  // parts of some hundred.
  void put_all(std::span<const T> units, const UnitOptions& options = {},
               SourcePlace at = SourcePlace::here()) const {
    constexpr std::size_t kAtOnce = 512;
    for (std::size_t first = 0; first < units.size(); first += kAtOnce) {
      std::vector<Value> values;
      for (const T& unit : units.subspan(first, std::min(kAtOnce, units.size() - first)))
        values.push_back(Codec<T>::put(unit));
      detail::put_units(number_, std::move(values), options, PortablePlace(at));
    }
  }
  // Waits for a unit that this core may have; the best of its node. Nothing if there will be none.
  // Throws Error if the caller is within a finish scope of its own.
  [[nodiscard]] std::optional<T> get() const {
    const std::optional<Value> unit = detail::get_unit(number_);
    if (!unit) return {};
    return Codec<T>::get(*unit);
  }

 private:
  std::uint32_t number_;
};

}  // namespace rubato::flow
