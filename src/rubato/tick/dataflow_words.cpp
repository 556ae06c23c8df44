// What people hear of a Dataflow: names of work, what it waits for, its own memory.

#include <algorithm>

#include "rubato/tick/dataflow.hpp"

namespace rubato::tick {

std::string Dataflow::work_name(const core::Work& work) const {
  const std::string tick = " " + std::to_string(work.tick);
  const auto node = [&] { return std::to_string(plan_.neighbours[work.index].node); };
  switch (work.kind) {
    case step_own:
      return "region " + std::to_string(work.index) + " from tick" + tick;
    case step_replica:
      return "replica " + std::to_string(work.index) + " from tick" + tick;
    case interact_own:
      return "asynchronous part of region " + std::to_string(work.index) + " from tick" + tick;
    case step_lent:
      return "region " + std::to_string(work.index) + " of node " +
             std::to_string(
                 plan_.neighbours[static_cast<const Job*>(work.detail)->neighbour].node) +
             " from tick" + tick;
    case take_back:
      return "taking back region " + std::to_string(work.index) + " from tick" + tick;
    case offer_help:
      return "offering help at tick" + tick;
    case pack_round:
      return "packing round" + tick + " for node " + node();
    default:
      return "taking round" + tick + " from node " + node();
  }
}

std::string Dataflow::waiting_for() const {
  if (finished()) return "";
  std::string text = "at tick " + std::to_string(own_min_) + " of " + std::to_string(end_);
  const Tick late = complete_tick() + 1;
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    const auto& regions = plan_.neighbours[i].regions;
    const bool lacking = std::ranges::any_of(regions, [&](RegionId region) {
      return plan_.regions[region].layer == 1 && cell(region, late).status != Status::present;
    });
    if (lacking && plan_.neighbours[i].sends_here) {
      text += ", waits for node " + std::to_string(plan_.neighbours[i].node) +
              " beyond its round " + std::to_string(links_[i].base);
    }
  }
  if (plan_.policy.barrier && barrier_.released() < own_min_) {
    text += ", waits at the barrier of tick " + std::to_string(own_min_);
  }
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    if (own_min_ >= end_ && links_[i].may_lend && end_ > begin_)
      text += ", waits for node " + std::to_string(plan_.neighbours[i].node) +
              ", which may still have steps run by others";
  }
  if (own_min_ >= end_ && !stop_.has_decided(end_)) {
    text += ", waits for the stop decisions up to its last tick";
  } else if (stop_.limit() <= own_min_ && stop_.limit() < end_) {
    text +=
        ", waits for the stop decision that takes effect at tick " + std::to_string(stop_.limit());
  }
  return text;
}

std::size_t Dataflow::bytes() const noexcept {
  // A node of a map: what it holds, three pointers and a colour.
  constexpr std::size_t kMapNode = 4 * sizeof(void*);
  const auto of = [](const auto& list) { return list.capacity() * sizeof(list[0]); };
  const auto of_messages = [](const auto& messages) {
    return messages.size() * (kMapNode + sizeof(*messages.begin()));
  };
  std::size_t n = sizeof *this + plan_.bytes() + of(cells_) + of(empty_cells_) + of(counts_) +
                  of(parts_) + of(lanes_) + of(links_) + of(source_links_) + of(running_replicas_) +
                  of(jobs_) + free_jobs_.capacity() * sizeof(void*) +
                  ready_replica_.size() * sizeof(Ready) + ready_packs_.size() * sizeof(core::Work) +
                  of(neighbour_of_) + arrived_.bytes() + outgoing_.bytes();
  for (const Lane& lane : lanes_)
    n += lane.ready.size() * sizeof(Ready) + of(lane.gated) + of(lane.fresh);
  for (const Link& link : links_) {
    n += of(link.missing_sources) + of(link.missing_pieces) + of(link.outgoing) + of(link.leaving) +
         link.piece_inbox.size() * sizeof(Message) + of_messages(link.inbox) +
         of_messages(link.packed) + (link.rounds.size() + link.packing.size()) * sizeof(Tick);
  }
  for (const auto& list : source_links_)
    n += of(list);
  for (const auto& job : jobs_)
    n += sizeof *job + of(job->chain) + of(job->ticks) + of(job->diagonals) + of(job->fresh);
  return n;
}

}  // namespace rubato::tick
