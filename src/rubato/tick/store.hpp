#pragma once
// Store: where a node's tuples lie, version by version, and how a region is stepped. The dataflow
// says what happens when; the store does it.
//
// A version (region, t) is what stepping the region from t - 1 to t produced, emigrants included,
// or what a round message brought in its place; at tick 0 it is the initial state. The union of the
// own regions' versions over all nodes is the global state of tick t [Ticks Property 1].
// Where a segment of a run begins later (StartState), its first tick is like tick 0.
//
// The dataflow calls step, pack and unpack from several cores at once and guarantees: a version is
// written once; all inputs of a unit are there; nothing that it reads is released meanwhile.

#include <cstdint>
#include <functional>
#include <span>

#include "rubato/base/bytes.hpp"
#include "rubato/base/time.hpp"
#include "rubato/tick/plan.hpp"

namespace rubato::tick {

// Dense stores look for values that are not numbers at each such tick, as well as at the ends of a
// run: rarely enough to cost nothing.
inline constexpr Tick kNumbersInterval = 256;

// A hash of one tuple; the sum over all tuples is the checksum of a state, in any order.
[[nodiscard]] std::uint64_t tuple_hash(std::uint64_t id, ByteView bytes) noexcept;

// The state that a store starts from in place of the model's initial one, at the tick that its
// node's segment of the run begins with.
template <class State>
struct StartState {
  Tick tick = 0;
  State held;  // all tuples that the node's TypedPlan::held selects
};

// A store whose regions' versions of the first tick come one by one, by begin(): of a segment that
// goes on from another one (tick/epoch/).
//   begin(region, fragments)          makes that version of what `fragments` have of the region
//   save(region, t, query, out)       appends such a fragment: what an own region produced at t, as
//                                     far as the query selects it
struct Arriving {
  Tick tick = 0;
};

// The whole state at one tick, in the pieces that the stores of all nodes have saved it in, each one
// own region's version: save(region, t, out) of every store. Where a run that begins at that tick
// finds its first state, on whatever number of nodes: a node asks for the pieces one after the other
// and keeps what its `held` query selects, so none ever has the whole.
class StateSource {
 public:
  StateSource() = default;
  StateSource(const StateSource&) = delete;
  StateSource& operator=(const StateSource&) = delete;
  virtual ~StateSource() = default;

  [[nodiscard]] virtual Tick tick() const = 0;
  // Where a stop test before that tick has decided that the run ends; kNoTick: none has.
  [[nodiscard]] virtual Tick ends_at() const { return kNoTick; }
  // Calls f for each piece, in any order; its bytes live as long as the call. May be called from
  // several threads at once. Throws Error as f does, or if the pieces cannot be had.
  virtual void for_each(const std::function<void(ByteView piece)>& f) const = 0;
};

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  // Steps `region` from t to t + 1 on `core`. May throw Error: bad values, with the tuple's name.
  virtual void step(RegionId region, Tick t, std::uint32_t core) = 0;
  // Steps regions[i] from ticks[i] to the tick after it, for each i in turn; or in any other order in
  // which each finds what it reads, and nothing else does.
  virtual void step_all(std::span<const RegionId> regions, std::span<const Tick> ticks,
                        std::uint32_t core) {
    for (std::size_t i = 0; i < regions.size(); ++i)
      step(regions[i], ticks[i], core);
  }

  // Appends the payload of round t for a neighbour: the tuples of its sources' versions t that lie
  // in R_D o (W_D o R_D)^m of its query.
  virtual void pack(std::uint32_t neighbour, Tick t, Writer& out) = 0;

  // Takes the payload of round t from a neighbour. `fresh[i]` tells for the i-th of the neighbour's
  // regions whether version t is to be inserted; the others are there already, computed here, and
  // must hold the same bits: if not, throws Error naming the tuple. Nothing present is replaced.
  virtual void unpack(std::uint32_t neighbour, Tick t, ByteView payload,
                      std::span<const std::uint8_t> fresh) = 0;

  // Policy pieces, in place of rounds: the payload of what the i-th source of a neighbour alone
  // produced at t, of the tuples that pack() takes.
  virtual void pack_piece(std::uint32_t neighbour, std::uint32_t i, Tick t, Writer& out) = 0;
  // Takes it: version t of the regions that Neighbour::pieces lists for it, all of them fresh.
  virtual void unpack_piece(std::uint32_t neighbour, std::uint32_t i, Tick t, ByteView payload) = 0;

  // The asynchronous part of the step of `region` from t, as far as `present` of its inputs, itself
  // among them, suffice [AsyTick 3.2]; what is done is left out of the step that follows. May be
  // called again when more are present, never at once with itself or that step. False if they
  // suffice for nothing new.
  virtual bool interact(RegionId /*region*/, Tick /*t*/, std::span<const RegionId> /*present*/,
                        std::uint32_t /*core*/) {
    return false;
  }
  // False if interact() never does anything for an own region, or for any.
  [[nodiscard]] virtual bool interacts(RegionId /*region*/) const { return interacts(); }
  [[nodiscard]] virtual bool interacts() const { return false; }
  // Virtual time of the last interact() of the region. step_cost() is then of the rest.
  [[nodiscard]] virtual Nanos interact_cost(RegionId /*region*/) const { return 0; }

  // Steps that another node runs for this one. False if there are none: then nobody calls the rest.
  [[nodiscard]] virtual bool lends() const { return false; }
  // As step(), unless that is going to take `least` or longer, in virtual time and as far as can be
  // told: then nothing is stepped, all that the step reads is appended to `out`, and true returned.
  [[nodiscard]] virtual bool step_or_lend(RegionId region, Tick t, std::uint32_t core,
                                          Nanos /*least*/, Writer& /*out*/) {
    step(region, t, core);
    return false;
  }
  // On any node with the same model: runs a step that was lent, appends what came of it, and returns
  // its virtual time. Throws Error as step() does.
  [[nodiscard]] virtual Nanos step_lent(ByteView /*lent*/, std::uint32_t /*core*/,
                                        Writer& /*out*/) {
    return 0;
  }
  // On the node that has lent it: the version that step() makes.
  virtual void take_back(RegionId /*region*/, Tick /*t*/, ByteView /*result*/,
                         std::uint32_t /*core*/) {}

  // No version is read any more. Steps that were lent may still be run.
  virtual void drop_versions() {}
  // Versions before `floor` are not read any more.
  virtual void release(Tick floor) = 0;

  // The part of the stop test that the step of `region` to tick t contributed; called after it,
  // before release(t). Empty if the model has none.
  [[nodiscard]] virtual Bytes measure(RegionId region, Tick t) = 0;
  virtual void combine(Bytes& into, ByteView from) = 0;
  // Whether the run ends, given the combined measure of all nodes at tick t.
  [[nodiscard]] virtual bool stop(ByteView combined, Tick t) = 0;
  // Ticks between two tests, 0 for none, and between a test and its effect.
  [[nodiscard]] virtual Tick stop_interval() const = 0;
  [[nodiscard]] virtual Tick stop_lag() const = 0;

  // Virtual time of the last step of (region, t), and of packing or unpacking `n_bytes`.
  [[nodiscard]] virtual Nanos step_cost(RegionId region, Tick t) const = 0;
  [[nodiscard]] virtual Nanos copy_cost(std::size_t n_bytes) const = 0;

  // Bytes of tuples held now, replicas included.
  [[nodiscard]] virtual std::size_t bytes() const = 0;
};

}  // namespace rubato::tick
