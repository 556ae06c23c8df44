#pragma once
// DataNames: what people call the data of a flow. A script has names for its data; a C++ program has
// places alone.

#include <string>

#include "rubato/flow/rule/rule.hpp"

namespace rubato::flow {

// Whether that is what people call a field, and not a variable or a member: 'p.y', 'c[3].y'.
[[nodiscard]] inline bool is_of_field(std::string_view name) noexcept {
  const std::size_t point = name.rfind('.');
  const std::size_t key = name.rfind(']');
  return point != std::string_view::npos && (key == std::string_view::npos || key < point);
}

class Flow;

class DataNames {
 public:
  virtual ~DataNames() = default;
  // Of the datum that was made at `at`: "'x'"; "" if it has no name.
  [[nodiscard]] virtual std::string made_at(PortablePlace at) const = 0;
  // Of what is set at `at`, which has those keys in the container: "'c[5].x'".
  [[nodiscard]] virtual std::string set_at(PortablePlace at, const Keys& keys) const = 0;
  // Says to `flow` which fields are missing in a container that was made at `at` and is to be freed,
  // as far as its members are of this core (Flow::note_unset_field()).
  virtual void note_unset_fields(Flow& flow, DataId id, PortablePlace at) const = 0;
};

}  // namespace rubato::flow
