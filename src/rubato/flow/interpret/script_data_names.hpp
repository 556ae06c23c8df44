#pragma once
// ScriptDataNames: the names that a script has for its data, by where they stand in its text.

#include <map>

#include "rubato/flow/data_names.hpp"
#include "rubato/flow/interpret/compiled.hpp"
#include "rubato/flow/store/container.hpp"

namespace rubato::flow {

class ScriptDataNames : public DataNames {
 public:
  // Of this script, which stays as long.
  explicit ScriptDataNames(const Compiled& compiled);

  [[nodiscard]] std::string made_at(PortablePlace at) const override;
  [[nodiscard]] std::string set_at(PortablePlace at, const Keys& keys) const override;
  void note_unset_fields(Flow& flow, DataId id, PortablePlace at) const override;

 private:
  using LineAndColumn = std::pair<int, int>;
  // A name, with so many keys behind it, is written there.
  struct Target {
    const tic::Variable* variable = nullptr;
    std::size_t n_keys = 0;
  };
  struct Unset;

  void add_block(const tic::Block& block, const tic::Frame& frame);
  [[nodiscard]] const tic::Struct& struct_of(const tic::Type& type) const {
    return compiled_.program().structs.at(static_cast<std::size_t>(type.struct_index));
  }
  void note_fields(const Unset& unset, DataId id, const std::string& name,
                   const tic::Type& type) const;

  const Compiled& compiled_;
  std::map<LineAndColumn, const tic::Variable*> variables_;
  std::map<LineAndColumn, Target> targets_;
};

// Whether it is a struct, or a container of them.
[[nodiscard]] bool has_fields(const tic::Type& type) noexcept;

}  // namespace rubato::flow
