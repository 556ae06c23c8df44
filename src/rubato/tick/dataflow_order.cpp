// Which unit of a Dataflow runs next, and how many in one go.

#include <algorithm>

#include "rubato/tick/dataflow.hpp"

namespace rubato::tick {

// The last tick at which all that the own query reads is here.
Tick Dataflow::complete_tick() const noexcept {
  return counts_[slot(own_min_)].external_missing == 0 ? own_min_ : own_min_ - 1;
}

// The last tick that own units may step now.
Tick Dataflow::own_limit() const noexcept {
  Tick limit = std::min(end_, stop_.limit()) - 1;
  const Tick complete = complete_tick();
  limit = std::min(limit, plan_.in_blocks ? plan_.block_end(complete) + plan_.skew - 1
                                          : complete + plan_.ahead());
  // All versions stay below floor + window - 1, so that the fragment after any of them has a slot.
  limit = std::min({limit, floor_ + window_ - 3, std::min(hold_, gate_) - 1});
  if (plan_.policy.barrier) limit = std::min(limit, barrier_.released());
  return limit;
}

// The furthest tick that a step of an own region has begun to: seldom more than two beyond the first
// where nothing is ahead, however large the window is.
Tick Dataflow::reach() const noexcept {
  for (Tick t = floor_ + window_ - 1; t > own_min_; --t) {
    for (RegionId region = 0; region < plan_.n_own; ++region) {
      if (cell(region, t).status != Status::absent) return t;
    }
  }
  return own_min_;
}

bool Dataflow::find_work(std::uint32_t core, core::Work& work) {
  if (plan_.policy.pieces) {
    // What is sent waits for more of it until a core has nothing else to do, or a deadline.
    const bool found = take_loan(work) || (own_min_ < end_ && take_pieces_in(work)) ||
                       take_pieces_out(false, work) || (own_min_ < end_ && take_own(core, work)) ||
                       take_pieces_out(true, work) || (own_min_ < end_ && take_part(work));
    if (found) ++n_running_;
    return found;
  }
  if (own_min_ >= end_ && ready_packs_.empty()) return false;
  bool taken = take_unpack(work) || take_pack(work);
  if (!taken) {
    Lane& home = lanes_[core % lanes_.size()];
    Lane* own = ready_replica_.empty() ? nullptr : first_own(own_limit(), home);
    const bool replica_first =
        !ready_replica_.empty() &&
        (own == nullptr || own->ready.top().urgency >= ready_replica_.top().urgency);
    taken = replica_first ? take_replica(work) || take_own(core, work)
                          : take_own(core, work) || take_replica(work);
  }
  if (taken) ++n_running_;
  return taken;
}

// Errs on the side of yes: an idle core that looks in vain costs less than one that sleeps on.
bool Dataflow::more_work() const {
  if (!lending_.to_run.empty() || !lending_.to_take.empty()) return true;
  if (outgoing_.any_of([&](std::uint32_t i) { return links_[i].leaving.empty(); })) return true;
  if (own_min_ >= end_) return !ready_packs_.empty();
  if (!ready_packs_.empty() || !ready_replica_.empty()) return true;
  const auto comes = [&](std::uint32_t i) {
    return may_unpack(links_[i], i) || pieces_fit(links_[i]);
  };
  if (arrived_.any_of(comes)) return true;
  const Tick limit = own_limit();
  if (!ready_parts_.empty() && (as_they_come_ || ready_parts_.top().tick <= part_limit()))
    return true;
  return std::ranges::any_of(lanes_, [&](const Lane& lane) {
    return !lane.ready.empty() || !lane.fresh.empty() ||
           (limit > gated_limit_ && !lane.gated.empty());
  });
}

// The most urgent unit of the lane that the limit allows.
const Dataflow::Ready* Dataflow::first_of(Lane& lane, Tick limit) {
  while (!lane.ready.empty()) {
    const Ready& top = lane.ready.top();
    if (top.tick <= limit) return &top;
    lane.gated.push_back(top);
    lane.ready.pop();
  }
  return nullptr;
}

// The lane of the most urgent unit that the limit allows; it is on top. Without neighbours the home lane
// is in the own cache, and if it has one that is it. Null if there is none.
Dataflow::Lane* Dataflow::first_own(Tick limit, Lane& home) {
  if (limit > gated_limit_) {
    for (Lane& lane : lanes_) {
      for (const Ready& unit : lane.gated)
        lane.ready.push(unit);
      lane.gated.clear();
    }
  }
  gated_limit_ = limit;
  if (plan_.neighbours.empty() && first_of(home, limit) != nullptr) return &home;
  Lane* first = nullptr;
  for (Lane& lane : lanes_) {
    const Ready* unit = first_of(lane, limit);
    if (unit != nullptr && (first == nullptr || first->ready.top() > *unit)) first = &lane;
  }
  return first;
}

bool Dataflow::may_unpack(const Link& link, std::uint32_t neighbour) const {
  if (link.inbox.empty() || link.unpacking != 0) return false;
  const Tick t = link.inbox.begin()->first;
  if (t > floor_ + window_ - 2) return false;
  // A replica that is being stepped to the same tick first gets there.
  return std::ranges::none_of(plan_.neighbours[neighbour].regions, [&](RegionId region) {
    return cell(region, t).status == Status::running;
  });
}

bool Dataflow::take_unpack(core::Work& work) {
  return arrived_.any_of([&](std::uint32_t i) {
    Link& link = links_[i];
    if (!may_unpack(link, i)) return false;
    const auto first = link.inbox.begin();
    Job* job = new_job(i, first->first);
    const Nanos late = first->second.late;
    job->bytes = std::move(first->second.bytes);
    link.inbox.erase(first);
    if (link.inbox.empty()) arrived_.erase(i);
    link.unpacking = job->tick;
    for (const RegionId region : plan_.neighbours[i].regions) {
      Cell& target = cell(region, job->tick);
      job->fresh.push_back(target.status == Status::absent ? 1 : 0);
      if (target.status == Status::absent) {
        target.status = Status::running;
      } else {
        ++figures_.compared_regions;
      }
    }
    work = {unpack_round, i, job->tick, job, 0, late};
    return true;
  });
}

bool Dataflow::take_pack(core::Work& work) {
  if (ready_packs_.empty()) return false;
  work = ready_packs_.front();
  ready_packs_.pop_front();
  work.detail = new_job(work.index, work.tick);
  return true;
}

bool Dataflow::take_own(std::uint32_t core, core::Work& work) {
  const Tick limit = own_limit();
  Lane& home = lanes_[core % lanes_.size()];
  Ready unit;
  if (take_fresh(home, limit, unit)) {
    start_own(unit, limit, work);
    return true;
  }
  Lane* lane = first_own(limit, home);
  // What another core has begun of a block comes before what it has not.
  const bool others_first = lane == nullptr || (plan_.in_blocks && lane != &home);
  for (Lane& other : lanes_) {
    if (!others_first || !take_fresh(other, limit, unit)) continue;
    start_own(unit, limit, work);
    return true;
  }
  if (lane != nullptr) {
    unit = lane->ready.top();
    lane->ready.pop();
    if (plan_.in_blocks) lane->end = std::max(lane->end, plan_.block_end(unit.tick));
    start_own(unit, limit, work);
    return true;
  }
  return false;
}

bool Dataflow::take_fresh(Lane& lane, Tick limit, Ready& unit) {
  while (!lane.fresh.empty()) {
    unit = lane.fresh.back();
    lane.fresh.pop_back();
    if (unit.tick <= limit) return true;
    lane.gated.push_back(unit);
    gated_limit_ = std::min(gated_limit_, limit);
  }
  return false;
}

// Where tiles are cut for a wavefront, runs down its diagonal in one go, or down several: each unit lacks
// nothing but what the job makes before it. That is less bookkeeping for each of many small tiles. Under
// policy pieces the earlier tick goes first, unless nobody waits for this node.
void Dataflow::start_own(const Ready& unit, Tick limit, core::Work& work) {
  work = {step_own, unit.region, unit.tick, nullptr};
  cell(unit.region, unit.tick + 1).status = Status::running;
  if (may_lend_unit(work)) return;
  if (plan_.skew == 1 || (plan_.policy.pieces && !plan_.neighbours.empty())) return;
  Job* job = new_job(kNoNeighbour, unit.tick);
  work.detail = job;
  Tick last = std::min(limit, unit.tick + plan_.chain_most() - 1);
  if (plan_.in_blocks) last = std::min(last, plan_.block_end(unit.tick) - 1);
  add_diagonal(*job, unit, last);
  if (plan_.n_abreast > 1 && parts_.empty()) add_diagonals_beside(*job, unit, last);
}

// The unit, and those of the diagonal behind it that lack nothing but what the job makes before them.
void Dataflow::add_diagonal(Job& job, const Ready& unit, Tick last) {
  const std::uint32_t lane = lane_of(unit.region);
  job.diagonals.push_back(job.chain.size());
  job.chain.push_back(unit.region);
  job.ticks.push_back(unit.tick);
  for (Tick t = unit.tick + 1; t <= last; ++t) {
    const auto readers = plan_.readers[job.chain.back()];
    const auto next = std::ranges::find_if(readers, [&](RegionId reader) {
      const Cell& reads = cell(reader, t);
      // Each diagonal makes one unit of a tick at most.
      return reader < plan_.n_own && reads.missing_own != 0 &&
             reads.missing_own <= job.diagonals.size() && reads.missing_replica == 0 &&
             lane_of(reader) == lane && cell(reader, t + 1).status == Status::absent &&
             (parts_.empty() || !parts_[reader].running) &&
             reads.missing_own == n_made(job, reader, t);
    });
    if (next == readers.end()) break;
    cell(*next, t + 1).status = Status::running;
    job.chain.push_back(*next);
    job.ticks.push_back(t);
  }
}

// How many of the inputs of unit (region, t) the job makes.
std::size_t Dataflow::n_made(const Job& job, RegionId region, Tick t) const {
  // All diagonals begin at one tick.
  const auto step = static_cast<std::size_t>(t - 1 - job.tick);
  const auto is_made = [&](RegionId input) {
    for (std::size_t d = job.diagonals.size(); d-- > 0;) {
      const std::size_t i = job.diagonals[d] + step;
      const std::size_t end =
          d + 1 < job.diagonals.size() ? job.diagonals[d + 1] : job.chain.size();
      if (i < end && job.chain[i] == input) return true;
    }
    return false;
  };
  return static_cast<std::size_t>(std::ranges::count_if(plan_.inputs[region], is_made));
}

// The next diagonals, each beside the one before it, as far as their first units are ready.
void Dataflow::add_diagonals_beside(Job& job, const Ready& unit, Tick last) {
  Lane& lane = lanes_[lane_of(unit.region)];
  RegionId region = unit.region;
  // A lane is some jobs, so that its neighbours find what they wait for.
  constexpr std::size_t kJobsOfALane = 4;
  std::size_t n_most =
      std::min<std::size_t>(plan_.n_abreast, plan_.n_own / lanes_.size() / kJobsOfALane);
  // Others may wait for what the first of them makes: a quarter of the own units at most.
  if (!plan_.neighbours.empty())
    n_most = std::min(n_most, plan_.n_own / 4 / static_cast<std::size_t>(last - unit.tick + 1));
  while (job.diagonals.size() < n_most && !lane.ready.empty()) {
    const Ready next = lane.ready.top();
    const auto beside = plan_.readers[region];
    if (next.tick != unit.tick || std::ranges::find(beside, next.region) == beside.end()) break;
    lane.ready.pop();
    region = next.region;
    cell(region, next.tick + 1).status = Status::running;
    add_diagonal(job, next, last);
  }
}

bool Dataflow::replica_wanted(RegionId region, Tick t) const {
  if (t < floor_ || t >= end_ || t >= stop_.limit()) return false;
  const Cell& target = cell(region, t + 1);
  if (target.status != Status::absent || target.demanded == 0) return false;
  const Link& link = links_[plan_.regions[region].neighbour];
  return !link.inbox.contains(t + 1);
}

bool Dataflow::take_replica(core::Work& work) {
  while (!ready_replica_.empty()) {
    const Ready top = ready_replica_.top();
    const Tick t = top.tick;
    ready_replica_.pop();
    if (!replica_wanted(top.region, t)) continue;
    start_replica(top.region, t, work);
    return true;
  }
  return false;
}

// Layers are thin, and each unit of the next layer and tick waits for little else than this one: as
// for own units, several run in one go.
void Dataflow::start_replica(RegionId region, Tick t, core::Work& work) {
  work = {step_replica, region, t, nullptr};
  cell(region, t + 1).status = Status::running;
  running_replicas_.push_back(t);
  if (plan_.skew == 1) return;
  Job* job = nullptr;
  const Tick last = t + plan_.chain_most() - 1;
  for (++t; t <= last; ++t) {
    const auto readers = plan_.readers[region];
    const auto next = std::ranges::find_if(readers, [&](RegionId reader) {
      const Cell& reads = cell(reader, t);
      return !plan_.regions[reader].own() && reads.missing_own == 0 && reads.missing_replica == 1 &&
             steppable(reader) && replica_wanted(reader, t);
    });
    if (next == readers.end()) return;
    if (job == nullptr) {
      job = new_job(kNoNeighbour, work.tick);
      job->chain.push_back(region);
      job->ticks.push_back(work.tick);
      work.detail = job;
    }
    region = *next;
    cell(region, t + 1).status = Status::running;
    running_replicas_.push_back(t);
    job->chain.push_back(region);
    job->ticks.push_back(t);
  }
}

Dataflow::Job* Dataflow::new_job(std::uint32_t neighbour, Tick t) {
  Job* job = nullptr;
  if (free_jobs_.empty()) {
    jobs_.push_back(std::make_unique<Job>());
    job = jobs_.back().get();
  } else {
    job = free_jobs_.back();
    free_jobs_.pop_back();
  }
  job->neighbour = neighbour;
  job->tick = t;
  return job;
}

// Kept for the next one, without the message that it had.
void Dataflow::drop_job(Job* job) {
  job->bytes = {};
  job->chain.clear();
  job->ticks.clear();
  job->diagonals.clear();
  job->fresh.clear();
  job->fragments.clear();
  job->lends = job->is_lent = false;
  job->least = job->time = 0;
  free_jobs_.push_back(job);
}

}  // namespace rubato::tick
