// EpochEngine: what an epoch changes, and the next segment of this node.

#include <algorithm>
#include <bit>
#include <utility>

#include "rubato/tick/balance/grains.hpp"
#include "rubato/tick/epoch/epoch_engine.hpp"

namespace rubato::tick {

using detail::Report;

// On a core: the new owners and policy and, if they are others, the next segment of this node.
void EpochEngine::plan(Job& job) {
  const Leg& from = *job.leg;
  const Report report = detail::read_report(job.bytes);
  // Each cut looks at all that was reported, and there are about log2(n) of them above each part.
  job.n_bytes = job.bytes.size() * std::bit_width(n_nodes_);
  const Tuner::Decision decision = decide(job, report);
  job.next_epoch = decision.next;
  if (tuner_) job.thought = report.loads.empty() ? 0 : tuner_->cost();
  std::shared_ptr<const Partition> partition = share_anew(from, report, decision);
  const bool forecasts = tuner_ && tuner_->forecasts_at(decision.next);
  if (forecasts && (partition != from.partition || from.shape.size == 0))
    job.shape = partition->shape(self_, tuner_->shape_limits());
  if (partition == from.partition && decision.policy == from.node->plan().policy) return;
  job.next = next_leg(from, std::move(partition), decision.policy);
  job.n_bytes += 256 * job.next->incoming.size();
}

Tuner::Decision EpochEngine::decide(const Job& job, const Report& report) {
  if (!tuner_) {
    return {job.leg->node->plan().policy, true, grains_of_piece(*job.leg, report),
            epoch_ + options_.every};
  }
  if (!tuner_->forecasts_at(epoch_)) return tuner_->stay(epoch_);
  return tuner_->decide(epoch_, report.loads, indivisible_of(*job.leg, report));
}

// Without policy auto.
std::uint32_t EpochEngine::grains_of_piece(const Leg& from, const Report& report) {
  const Partition& cut = *from.partition;
  if (!piece_size_) return cut.grains_of_piece();
  const std::vector<std::uint32_t>& choices = options_.grains_of_piece;
  if (options_.chooses) return choices[options_.chooses(epoch_) % choices.size()];
  return piece_size_->choose(costs_of(from, report), cut.owners(), cut.n_grains(),
                             cut.grains_of_piece());
}

// [pieces] ns of a tick.
std::vector<double> EpochEngine::costs_of(const Leg& from, const Report& report) const {
  std::vector<double> costs(from.partition->owners().size());
  for (const auto& [piece, cost] : report.costs)
    costs.at(piece) = cost + report.passes / static_cast<double>(costs.size());
  return costs;
}

// As in ForecastInput, for each number of grains that the tuner may choose; none if there is one.
std::vector<std::vector<double>> EpochEngine::indivisible_of(const Leg& from,
                                                             const Report& report) const {
  const std::vector<std::uint32_t>& choices = tuner_->grains_of_piece();
  std::vector<std::vector<double>> all;
  if (choices.size() < 2) return all;
  const Partition& cut = *from.partition;
  std::vector<double> costs(cut.owners().size());
  for (const auto& [piece, cost] : report.costs)
    costs.at(piece) = cost;
  const std::vector<double> grains = costs_of_grains(costs, cut.n_grains(), cut.grains_of_piece());
  for (const std::uint32_t n : choices) {
    const std::vector<double> pieces = costs_of_pieces(grains, n);
    const std::vector<NodeId> owners =
        owners_of_pieces(grains, cut.owners(), cut.grains_of_piece(), n, n_nodes_);
    std::vector<double>& most = all.emplace_back(n_nodes_);
    for (std::size_t i = 0; i < pieces.size(); ++i)
      most[owners[i]] = std::max(most[owners[i]], pieces[i]);
  }
  return all;
}

// Who owns what from the epoch on; that of `from` if nothing changes.
std::shared_ptr<const Partition> EpochEngine::share_anew(const Leg& from, const Report& report,
                                                         const Tuner::Decision& decision) const {
  if (options_.balance == Balance::none && !tuner_) return from.partition;
  // Policy auto may find that moving was not worth it.
  if (!decision.balanced) return first_cut(from, decision.grains_of_piece);
  if (options_.balance == Balance::repartition) {
    std::shared_ptr<const Partition> again =
        from.partition->cut_again(report.samples, report.passes);
    return again ? again : from.partition;
  }
  return move_pieces(from, report, decision.grains_of_piece);
}

// By what they have cost, and in pieces of so many grains.
std::shared_ptr<const Partition> EpochEngine::move_pieces(const Leg& from, const Report& report,
                                                          std::uint32_t grains_of_piece) const {
  const Partition& cut = *from.partition;
  std::vector<NodeId> before = cut.owners();
  std::vector<double> costs = costs_of(from, report);
  if (grains_of_piece != cut.grains_of_piece()) {
    const std::vector<double> grains =
        costs_of_grains(costs, cut.n_grains(), cut.grains_of_piece());
    before = owners_of_pieces(grains, before, cut.grains_of_piece(), grains_of_piece, n_nodes_);
    costs = costs_of_pieces(grains, grains_of_piece);
  }
  std::vector<NodeId> owners =
      balance_by_persistence(costs, before, n_nodes_, options_.persistence);
  if (grains_of_piece == cut.grains_of_piece() && owners == before) return from.partition;
  return cut.with_owners(std::move(owners), grains_of_piece);
}

// As the run began, in pieces of so many grains.
std::shared_ptr<const Partition> EpochEngine::first_cut(const Leg& from,
                                                        std::uint32_t grains_of_piece) const {
  if (grains_of_piece == first_cut_->grains_of_piece()) return first_cut_;
  const std::vector<double> grains(first_cut_->n_grains(), 1.0);
  std::vector<NodeId> owners = owners_of_pieces(
      grains, first_cut_->owners(), first_cut_->grains_of_piece(), grains_of_piece, n_nodes_);
  if (grains_of_piece == from.partition->grains_of_piece() && owners == from.partition->owners())
    return from.partition;
  return first_cut_->with_owners(std::move(owners), grains_of_piece);
}

std::unique_ptr<EpochEngine::Leg> EpochEngine::next_leg(const Leg& from,
                                                        std::shared_ptr<const Partition> partition,
                                                        const Policy& policy) const {
  auto next = std::make_unique<Leg>();
  Dataflow::Options flow = flow_options_;
  flow.begin = epoch_;  // which no other call changes while a plan is made
  flow.arrives = flow.hands_over = true;
  flow.agreements = agreements_;
  next->node = partition->make_node(self_, policy, flow, nullptr);
  next->partition = std::move(partition);
  next->handover = from.node->hand_over(*next->node, epoch_);
  for (const Handover::Send& send : next->handover->sends())
    next->outgoing.push_back({{}, send.regions.size(), false});
  next->outgoing_left = next->outgoing.size();
  next->incoming.resize(next->node->plan().regions.size());
  next->incoming_left = next->incoming.size();
  for (const Handover::Receive& receive : next->handover->receives()) {
    for (const auto& readers : receive.readers) {
      for (const RegionId region : readers)
        ++next->incoming[region].missing;
    }
  }
  for (RegionId region = 0; region < next->incoming.size(); ++region) {
    if (next->incoming[region].missing == 0) next->complete.push_back(region);
  }
  return next;
}

void EpochEngine::planned(core::Port& port, Job& job) {
  const bool changes = job.next != nullptr;
  const Tick next_epoch = job.next_epoch < agreements_->stop.end() ? job.next_epoch : kNoTick;
  if (!changes && job.shape.size > 0) newest().shape = std::move(job.shape);
  if (meter_ && job.thought > 0) meter_->pause();
  if (agreements_->stop.end() <= epoch_) {
    set_epoch(kNoTick);
  } else if (!changes) {
    set_epoch(next_epoch);
  } else {
    Leg& from = newest();
    Leg& next = *job.next;
    const auto& before = from.partition->owners();
    const auto& after = next.partition->owners();
    const std::uint32_t n_before = from.partition->grains_of_piece();
    const std::uint32_t n_after = next.partition->grains_of_piece();
    std::int64_t n_moved = 0;  // grains
    for (std::size_t i = 0; !after.empty() && i < from.partition->n_grains(); ++i)
      n_moved += before[i / n_before] == after[i / n_after] ? 0 : 1;
    next.n_moved = (n_moved + n_after - 1) / n_after;
    const Tick t = epoch_;
    next.shape = job.shape.size > 0                 ? std::move(job.shape)
                 : next.partition == from.partition ? from.shape
                                                    : NodeShape{};
    {
      const std::lock_guard lock(legs_mutex_);
      legs_.push_back(std::move(job.next));
    }
    follow(next);
    if (at_epoch_) at_epoch_(*next.node);
    agreements_->stop.use(next.node->store());
    if (next.node->plan().policy.barrier && !from.node->plan().policy.barrier)
      agreements_->barrier.resume(t);
    next.flow().hold(hold_);
    next.flow().start(port);
    if (meter_) meter_->follow(next.flow(), next.node->plan().n_own, port.now());
    set_epoch(next_epoch);
    from.flow().end_at(port, t, [this, &next](RegionId region) { old_region_ready(next, region); });
  }
  deliver_early(port);
}

}  // namespace rubato::tick
