// EpochEngine: what an epoch changes, and the next segment of this node.

#include <bit>
#include <utility>

#include "rubato/tick/epoch/epoch_engine.hpp"

namespace rubato::tick {

using detail::Report;

// On a core: the new owners and policy and, if they are others, the next segment of this node.
void EpochEngine::plan(Job& job) {
  const Leg& from = *job.leg;
  const Report report = detail::read_report(job.bytes);
  // Each cut looks at all that was reported, and there are about log2(n) of them above each part.
  job.n_bytes = job.bytes.size() * std::bit_width(n_nodes_);
  const Tuner::Decision decision = decide(job, report.loads);
  job.next_epoch = decision.next;
  if (tuner_) job.thought = report.loads.empty() ? 0 : tuner_->cost();
  std::shared_ptr<const Partition> partition = share_anew(from, report, decision.balanced);
  const bool forecasts = tuner_ && tuner_->forecasts_at(decision.next);
  if (forecasts && (partition != from.partition || from.shape.size == 0))
    job.shape = partition->shape(self_, tuner_->layers_most(), tuner_->depth_most());
  if (partition == from.partition && decision.policy == from.node->plan().policy) return;
  job.next = next_leg(from, std::move(partition), decision.policy);
  job.n_bytes += 256 * job.next->incoming.size();
}

Tuner::Decision EpochEngine::decide(const Job& job, const std::vector<NodeReport>& reports) {
  if (!tuner_) return {job.leg->node->plan().policy, true, epoch_ + options_.every};
  return tuner_->forecasts_at(epoch_) ? tuner_->decide(epoch_, reports) : tuner_->stay(epoch_);
}

// Who owns what from the epoch on; that of `from` if nothing changes.
std::shared_ptr<const Partition> EpochEngine::share_anew(const Leg& from, const Report& report,
                                                         bool balanced) const {
  if (options_.balance == Balance::none) return from.partition;
  // Policy auto may find that moving was not worth it.
  if (!balanced) return first_cut_;
  if (options_.balance == Balance::repartition) {
    std::shared_ptr<const Partition> again =
        from.partition->cut_again(report.samples, report.passes);
    return again ? again : from.partition;
  }
  const std::vector<NodeId>& before = from.partition->owners();
  std::vector<double> all(before.size());
  for (const auto& [piece, cost] : report.costs)
    all.at(piece) = cost + report.passes / static_cast<double>(before.size());
  std::vector<NodeId> owners = balance_by_persistence(all, before, n_nodes_, options_.persistence);
  if (owners == before) return from.partition;
  return from.partition->with_owners(std::move(owners));
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
    for (std::size_t i = 0; i < before.size() && i < after.size(); ++i)
      next.n_moved += before[i] == after[i] ? 0 : 1;
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
