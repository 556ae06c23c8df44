#pragma once
// Workers: how many tasks of which type of work the nodes do at a time [Turbine 3; ADLB's types of
// work].
//
//   gpu=1/node    one on each node
//   licence=4     four in all, spread evenly over the nodes
//
// A worker is the right to run one task of its type; its core does other work beside it. Types are
// for what a machine has few of: devices, licences, memory. What has no type runs anywhere.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/bytes.hpp"
#include "rubato/core/job_shape.hpp"

namespace rubato::flow {

using core::NodeId;

// A type of work of this run; the same number on all cores. 0: none.
struct WorkType {
  std::uint32_t number = 0;
  explicit operator bool() const noexcept { return number != 0; }
  bool operator==(const WorkType&) const = default;
};

class Workers {
 public:
  // Of texts as above. Throws Error (usage) that says what is wrong with which of them.
  [[nodiscard]] static Workers parse(const std::vector<std::string>& texts);

  // Throws Error (usage) if the name is taken or empty, or there are none or more than kMost.
  WorkType add(std::string name, std::uint32_t n, bool on_each_node);
  [[nodiscard]] bool empty() const noexcept { return types_.empty(); }
  [[nodiscard]] std::size_t n_types() const noexcept { return types_.size(); }
  // Throws Error, with the nearest name, if there are no workers of it.
  [[nodiscard]] WorkType type(std::string_view name) const;
  [[nodiscard]] const std::string& name(WorkType type) const { return of(type).name; }
  // On a node of the job.
  [[nodiscard]] std::uint32_t n_on(WorkType type, core::NodeId node,
                                   const core::JobShape& shape) const;
  [[nodiscard]] std::uint64_t n_in_all(WorkType type, const core::JobShape& shape) const;

  void put(Writer& out) const;
  [[nodiscard]] static Workers get(Reader& in);

  static constexpr std::uint32_t kMost = 1U << 20;  // of a type on a node, or in all

 private:
  struct Type {
    std::string name;
    std::uint32_t n = 0;
    bool on_each_node = false;
  };
  [[nodiscard]] const Type& of(WorkType type) const { return types_.at(type.number - 1); }

  std::vector<Type> types_;
};

}  // namespace rubato::flow
