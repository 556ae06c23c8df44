#pragma once
// Environment: what the variables of one activation of a block mean [Turbine 5.2, stack frames].
//
// A variable is known (its value is here), or it is a way to a datum: a reference, and keys if it is
// a member of a container. An environment owns its references; statements that wait take shares of
// those that they need along, as arguments of their rules, and what is left is given back when the
// activation ends. So a frame is freed when all that it started has ended, without anybody counting.

#include <map>
#include <optional>
#include <vector>

#include "rubato/flow/flow.hpp"
#include "rubato/flow/interpret/compiled.hpp"

namespace rubato::flow {

// To a datum, or to a member of a container. Keys are as in Arg: the outermost last.
struct Way {
  Ref ref;
  Keys keys;
};

struct Slot {
  Value value;  // if it is known
  Way reader;
  Way writer;
  Value name;  // of a file, if it is known before the file is closed
  Ref named;   // of a file that the script names: a datum that becomes the name, if it may have it
  Ref lease;  // of a temporary file: while parts of it are out, the file stays (Flow::lease_file())

  [[nodiscard]] bool is_known() const noexcept { return value.kind() != Kind::none; }
};

class Environment {
 public:
  Environment(Flow& flow, const tic::Frame& frame) : flow_(flow), frame_(frame) {}
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  // Gives back all references.
  ~Environment();

  [[nodiscard]] Flow& flow() noexcept { return flow_; }
  [[nodiscard]] const tic::Frame& frame() const noexcept { return frame_; }
  // Stays where it is.
  [[nodiscard]] Slot& slot(int variable) { return slots_[variable]; }
  [[nodiscard]] const Slot& slot(int variable) const;
  // Gives its references back; it is as if it had not been declared.
  void forget(int variable);

  // Values of names, members and fields that have been waited for, by where they stand in the text.
  std::map<const tic::Expr*, Value> known;
  // The same of the statement that is done; references among them are given back.
  void forget_known();

  // Shares of the variables that a statement needs, for its rule; and the other way round.
  void pack(const CompiledStatement& statement, std::vector<Arg>& to);
  void pack_slot(int variable, bool may_write, std::vector<Arg>& to);
  // One that has failed is no input of the rule that it goes along with: who needs it does not run.
  [[nodiscard]] static Arg packed(Value value);
  // A file's name, and its lease, as the last arguments of its slot.
  [[nodiscard]] Arg pack_name(Slot& slot);
  [[nodiscard]] Arg pack_lease(Slot& slot);
  // Reads from args[at] on, and moves `at` behind.
  void unpack(const CompiledStatement& statement, std::span<Arg> args, std::size_t& at);
  void unpack_slot(int variable, std::span<Arg> args, std::size_t& at);
  // Of files and of all else.
  static constexpr std::size_t kFileArgs = 5;
  static constexpr std::size_t kArgs = 4;
  [[nodiscard]] bool is_file(int variable) const {
    return frame_.variables[static_cast<std::size_t>(variable)].type.is(tic::Kind::file);
  }

 private:
  void forget(Slot& slot);

  Flow& flow_;
  const tic::Frame& frame_;
  // Of those that are used: a statement of a long block is to cost no more than one of a short one.
  std::map<int, Slot> slots_;
};

}  // namespace rubato::flow
