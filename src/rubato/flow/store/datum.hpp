#pragma once
// Datum: what a core knows of a variable of a flow; and the table of them.

#include <memory>
#include <vector>

#include "rubato/flow/rule/rule.hpp"

namespace rubato::flow {

// When a datum is closed.
enum class Closing : std::uint8_t {
  set,      // by its value
  counted,  // when nobody may write it any more
};

// What of a container has failed.
enum class FailedPart : std::uint8_t {
  any_member,    // whoever was to set one did not run: what is not there may be that
  some_members,  // those that are there as failures, or are in a container that says so
};

struct Datum {
  enum class State : std::uint8_t { unused, open, closing, closed, freeing };

  State state = State::unused;
  Kind kind = Kind::none;
  Closing closing = Closing::set;
  bool is_container = false;
  bool is_needed = false;  // by somebody who was told that it was never set
  // Of a container that has failed: any member may be missing; else those that failed say so.
  bool lacks_members = false;
  bool has_fields = false;  // of a container: its members, or those of containers in it, have names
  std::uint32_t n_shards_open =
      0;  // that have not said how many members they have; then, that are not freed
  std::uint64_t readers = 0;  // weight that is out
  std::uint64_t writers = 0;
  std::uint64_t n_members = 0;
  Value value;  // when closed; while it is open, the failure that it will be closed with
  RuleList waiting;
  PortablePlace made_at;
  PortablePlace set_at;

  // While it is open: the first reason stays, but one for any member comes before one for some.
  void note_failure(const Value& failure, FailedPart part) {
    const bool comes_first = part == FailedPart::any_member && !lacks_members;
    if (value.kind() == Kind::none || comes_first) value = failure;
    if (part == FailedPart::any_member) lacks_members = true;
  }
};

// The data of a core. A datum does not move while it is used.
class DatumTable {
 public:
  [[nodiscard]] std::uint64_t add() {
    if (unused_.empty()) grow();
    const std::uint64_t slot = unused_.back();
    unused_.pop_back();
    return slot;
  }
  void remove(std::uint64_t slot) {
    at(slot) = Datum{};
    unused_.push_back(slot);
  }
  [[nodiscard]] Datum& at(std::uint64_t slot) {
    RUBATO_REQUIRE(slot / kBlock < blocks_.size(), slot);
    return blocks_[slot / kBlock][slot % kBlock];
  }
  [[nodiscard]] const Datum& at(std::uint64_t slot) const {
    RUBATO_REQUIRE(slot / kBlock < blocks_.size(), slot);
    return blocks_[slot / kBlock][slot % kBlock];
  }
  [[nodiscard]] std::uint64_t n_held() const noexcept {
    return blocks_.size() * kBlock - unused_.size();
  }
  // visit(slot, datum) for all that are used.
  template <class F>
  void for_each(F&& visit) const {
    for (std::size_t slot = 0; slot < blocks_.size() * kBlock; ++slot) {
      const Datum& datum = blocks_[slot / kBlock][slot % kBlock];
      if (datum.state != Datum::State::unused) visit(slot, datum);
    }
  }

 private:
  static constexpr std::size_t kBlock = 256;

  void grow() {
    blocks_.push_back(std::make_unique<Datum[]>(kBlock));  // NOLINT(modernize-avoid-c-arrays)
    for (std::size_t i = kBlock; i-- > 0;)
      unused_.push_back((blocks_.size() - 1) * kBlock + i);
  }

  std::vector<std::unique_ptr<Datum[]>> blocks_;  // NOLINT(modernize-avoid-c-arrays)
  std::vector<std::uint64_t> unused_;
};

}  // namespace rubato::flow
