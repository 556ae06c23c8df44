#pragma once
// Handover: one node between two segments of a run, at the epoch tick E: which of its tuples go to
// whom, and what its new regions are made of. HandoverOf (handover_of.hpp) finds that by a model's
// functions alone.
//
// The unit of a move is the fragment (B, E): what an old region B produced at E, as far as a node
// will hold it. Node j will hold H_j = R_D o (W_D o R_D)^m (Q'_j); stepping B can yield some of it
// exactly if B meets W_D(H_j), so that sender and receiver find the same list, and a new region A
// is complete when the fragments of all B that meet W_D(A) are there. Nobody waits for more: the
// step of A from E needs those regions at E anyway.

#include <cstddef>
#include <span>
#include <vector>

#include "rubato/base/bytes.hpp"
#include "rubato/tick/plan.hpp"

namespace rubato::tick {

class Handover {
 public:
  struct Send {
    NodeId to = 0;
    std::vector<RegionId> regions;  // own, of the old segment, ascending
  };
  struct Receive {
    NodeId from = 0;
    // For each fragment, in the order of Send::regions there: the new regions that it is part of.
    std::vector<std::vector<RegionId>> readers;
  };

  Handover() = default;
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;
  virtual ~Handover() = default;

  // Ascending by node; this node itself is among them.
  [[nodiscard]] const std::vector<Send>& sends() const noexcept { return sends_; }
  [[nodiscard]] const std::vector<Receive>& receives() const noexcept { return receives_; }

  // These come from several cores at once. pack() appends the fragment of an old region for
  // sends()[i]; begin() makes the first version of a new region.
  virtual void pack(std::size_t i, RegionId region, Writer& out) const = 0;
  virtual void begin(RegionId region, std::span<const ByteView> fragments) = 0;

 protected:
  std::vector<Send> sends_;
  std::vector<Receive> receives_;
};

}  // namespace rubato::tick
