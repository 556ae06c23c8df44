#pragma once
// Homeward: what the cores of a job say to the home of a datum that all of them may use, summed on
// the way: rights that are given back, and answers of shards.
//
// The cores are a tree with the home as its root, of fan-in kFanIn: a core's parent is the core whose
// distance from the home has the lowest digit that is not 0 cleared, written to the base kFanIn. So
// the home hears from kFanIn - 1 cores for each digit, however many there are.
//
//   weights    leave a core when it has nothing else to do, or after
//              MessageOptions::combining_age; whatever has come by then goes on as one sum
//   answers    of all cores of a subtree leave it as one
//
// What is held is open in the scope in which it was said. Used by Flow alone.

#include <map>
#include <tuple>

#include "rubato/core/message/core_context.hpp"
#include "rubato/flow/store/ref.hpp"

namespace rubato::flow {

class Homeward final : public core::Combiner {
 public:
  enum class What : std::uint32_t {
    readers,  // weight that is given back
    writers,
    counted,  // members of shards that are closed
    freed,    // shards
  };
  static constexpr CoreId kFanIn = 8;

  explicit Homeward(core::CoreContext& here) noexcept : here_(here) {}

  // Of `n_cores`, if it is an answer. REQUIRES: the datum is spread, and not of this core.
  void add(DataId id, What what, std::uint64_t amount, CoreId n_cores);
  void flush(core::CoreContext& here) override;

  // To which core this one sends what is for `home`, and from how many it does, itself included.
  // REQUIRES: core != home.
  struct Place {
    CoreId parent;
    CoreId n_cores;
  };
  [[nodiscard]] static Place place_of(CoreId core, CoreId home, CoreId n_cores_total) noexcept;

 private:
  struct Sum {
    std::uint64_t amount = 0;
    CoreId n_cores = 0;
  };
  using Key = std::tuple<core::FinishId, std::uint64_t, What>;  // DataId::word
  using Sums = std::map<Key, Sum>;

  void send(const Key& key, const Sum& sum);

  core::CoreContext& here_;
  Sums weights_;
  Sums answers_;  // of subtrees that have not answered as a whole
};

}  // namespace rubato::flow
