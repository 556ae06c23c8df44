#include "rubato/tick/dataflow.hpp"

#include <algorithm>
#include <cstring>

namespace rubato::tick {

using detail::MessageHeader;
using detail::MessageType;

Dataflow::Dataflow(const Plan& plan, Store& store, Options options)
    : plan_(plan),
      store_(store),
      window_(plan.window()),
      segment_end_(std::min(options.ticks, options.until)),
      end_(segment_end_),
      floor_(options.begin),
      own_min_(options.begin),
      watched_tick_(options.begin),
      cells_(plan.regions.size() * static_cast<std::size_t>(plan.window())),
      empty_cells_(plan.regions.size()),
      own_at_(plan.n_own, options.begin),
      own_present_(static_cast<std::size_t>(plan.window()), 0),
      external_missing_(static_cast<std::size_t>(plan.window()), 0),
      lanes_(std::max<std::uint32_t>(options.n_cores, 1)),
      links_(plan.neighbours.size()),
      source_links_(plan.n_own),
      barrier_(plan.self, plan.n_nodes, options.begin),
      stop_(plan.self, plan.n_nodes, store, options.begin, options.ticks) {
  RUBATO_REQUIRE(options.begin >= 0 && options.begin <= segment_end_, options.begin, segment_end_);
  for (RegionId region = 0; region < plan_.n_own; ++region) {
    for (const RegionId input : plan_.inputs[region]) {
      n_external_inputs_ += plan_.regions[input].own() ? 0 : 1;
    }
  }
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    const Neighbour& neighbour = plan_.neighbours[i];
    neighbour_of_[neighbour.node] = i;
    links_[i].missing_sources.resize(static_cast<std::size_t>(window_));
    links_[i].base = options.begin;
    for (const RegionId source : neighbour.sources)
      source_links_[source].push_back(i);
  }
  for (const Neighbour& neighbour : plan_.neighbours)
    figures_.late.push_back({neighbour.node});
  for (RegionId region = 0; region < plan_.regions.size(); ++region) {
    const auto inputs = plan_.inputs[region];
    RUBATO_REQUIRE(inputs.size() <= kInputsMax, region, inputs.size());
    const auto n_own = static_cast<std::uint16_t>(
        std::ranges::count_if(inputs, [&](RegionId input) { return plan_.regions[input].own(); }));
    empty_cells_[region].missing_own = n_own & kInputsMax;
    empty_cells_[region].missing_replica = (inputs.size() - n_own) & kInputsMax;
  }
  for (Tick t = floor_; t < floor_ + window_; ++t)
    reset_tick(t);
}

Dataflow::~Dataflow() = default;

// Makes the slot of tick t empty: nothing there, every unit lacks all of its inputs.
void Dataflow::reset_tick(Tick t) {
  for (RegionId region = 0; region < plan_.regions.size(); ++region) {
    cell(region, t) = empty_cells_[region];
  }
  own_present_[slot(t)] = 0;
  external_missing_[slot(t)] = n_external_inputs_;
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    links_[i].missing_sources[slot(t)] =
        static_cast<std::uint32_t>(plan_.neighbours[i].sources.size());
  }
}

void Dataflow::start(core::Port& port) {
  started_ = own_min_since_ = port.now();
  for (RegionId region = 0; region < plan_.regions.size(); ++region) {
    cell(region, own_min_).status = Status::present;
  }
  own_present_[slot(own_min_)] = plan_.n_own;
  // After all are marked, so that no unit counts as waiting in between.
  for (RegionId region = 0; region < plan_.regions.size(); ++region) {
    for (const RegionId reader : plan_.readers[region]) {
      input_arrived(reader, own_min_, plan_.regions[region].own());
    }
  }
  for (RegionId region = 0; region < plan_.n_own; ++region) {
    RUBATO_ASSERT(!plan_.inputs[region].empty(), region);
  }
}

// The fragment (region, t) is there now.
void Dataflow::set_present(RegionId region, Tick t) {
  RUBATO_ASSERT(t > floor_ && t < floor_ + window_ - 1 && cell(region, t).status == Status::running,
                region, t, floor_, own_min_);
  cell(region, t).status = Status::present;
  const bool own = plan_.regions[region].own();
  for (const RegionId reader : plan_.readers[region])
    input_arrived(reader, t, own);
  if (own) {
    own_at_[region] = t;
    ++own_present_[slot(t)];
    figures_.most_ahead = std::max(figures_.most_ahead, t - own_min_);
    source_arrived(region, t);
  }
}

void Dataflow::input_arrived(RegionId reader, Tick t, bool own_input) {
  Cell& unit = cell(reader, t);
  if (own_input) {
    --unit.missing_own;
  } else {
    --unit.missing_replica;
  }
  const bool own = plan_.regions[reader].own();
  if (own && !own_input) --external_missing_[slot(t)];
  if (unit.missing_own != 0) return;
  if (unit.missing_replica == 0) {
    if (own) {
      if (cell(reader, t + 1).status == Status::absent) push_own(reader, t);
    } else if (cell(reader, t + 1).demanded != 0) {
      push_replica(reader, t);
    }
  } else if (own) {
    demand_inputs(reader, t);
  }
}

// Marks what is missing for unit (region, t) and can be computed here, and what that needs in turn
// [Ticks Algorithm 3, lines 11-21].
void Dataflow::demand_inputs(RegionId region, Tick t) {
  for (const RegionId input : plan_.inputs[region]) {
    if (plan_.regions[input].own()) continue;
    Cell& wanted = cell(input, t);
    if (wanted.status != Status::absent || wanted.demanded != 0) continue;
    wanted.demanded = 1;
    if (!steppable(input) || t <= floor_) continue;
    const Cell& unit = cell(input, t - 1);
    if (unit.missing_replica != 0) {
      demand_inputs(input, t - 1);
    } else if (unit.missing_own == 0) {
      push_replica(input, t - 1);
    }
  }
}

void Dataflow::push_own(RegionId region, Tick t) {
  Lane& lane = lanes_[lane_of(region)];
  const Tick depth = plan_.regions[region].depth;
  const Tick from = depth > 0 ? t - t % plan_.skew : t;
  const Ready unit{from + depth, t, region};
  if (plan_.neighbours.empty()) {
    lane.fresh.push_back(unit);
  } else {
    lane.ready.push(unit);
  }
}

void Dataflow::push_replica(RegionId region, Tick t) {
  // What a late message may still bring waits until own work of that urgency is done.
  const Tick needed = t + plan_.regions[region].layer;
  ready_replica_.push({is_round(t + 1) ? needed + 1 : needed, t, region});
}

void Dataflow::source_arrived(RegionId region, Tick t) {
  if (!is_round(t)) return;
  for (const std::uint32_t i : source_links_[region]) {
    if (--links_[i].missing_sources[slot(t)] != 0) continue;
    links_[i].packing.push_back(t);
    ready_packs_.push_back({pack_round, i, t, nullptr});
  }
}

void Dataflow::on_message(core::Port& port, NodeId from, Bytes bytes) {
  MessageHeader header;
  RUBATO_ASSERT(bytes.size() >= sizeof header, bytes.size());
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.type == MessageType::round) {
    const auto at = neighbour_of_.find(from);
    RUBATO_ASSERT(at != neighbour_of_.end() && plan_.neighbours[at->second].sends_here, from);
    Link& link = links_[at->second];
    link.inbox.emplace(header.tick, std::move(bytes));
    figures_.inbox_most = std::max(figures_.inbox_most, link.inbox.size());
    return;
  }
  if (header.type == MessageType::taken) {
    links_[neighbour_of_.at(from)].base = header.tick;
    advance_floor();
  } else if (header.type == MessageType::barrier) {
    barrier_.on_message(port, header);
  } else {
    stop_.on_message(port, header, ByteView(bytes).subspan(sizeof header));
    end_ = std::min(segment_end_, stop_.end());
  }
}

// The last tick at which all that the own query reads is here.
Tick Dataflow::complete_tick() const noexcept {
  return external_missing_[slot(own_min_)] == 0 ? own_min_ : own_min_ - 1;
}

// The last tick that own units may step now.
Tick Dataflow::own_limit() const noexcept {
  Tick limit = std::min(end_, stop_.limit()) - 1;
  limit = std::min(limit, complete_tick() + plan_.ahead());
  // All versions stay below floor + window - 1, so that the fragment after any of them has a slot.
  limit = std::min(limit, floor_ + window_ - 3);
  if (plan_.policy.barrier) limit = std::min(limit, barrier_.released());
  return limit;
}

bool Dataflow::next_work(std::uint32_t core, core::Work& work) {
  if (own_min_ >= end_ && ready_packs_.empty()) return false;
  bool taken = take_unpack(work) || take_pack(work);
  if (!taken) {
    Lane* own = ready_replica_.empty() ? nullptr : first_own(own_limit());
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
  if (own_min_ >= end_) return !ready_packs_.empty();
  if (!ready_packs_.empty() || !ready_replica_.empty()) return true;
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    if (may_unpack(links_[i], i)) return true;
  }
  const Tick limit = own_limit();
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

// The lane of the most urgent unit that the limit allows; it is on top. Null if there is none.
Dataflow::Lane* Dataflow::first_own(Tick limit) {
  if (limit > gated_limit_) {
    for (Lane& lane : lanes_) {
      for (const Ready& unit : lane.gated)
        lane.ready.push(unit);
      lane.gated.clear();
    }
  }
  gated_limit_ = limit;
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
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    Link& link = links_[i];
    if (!may_unpack(link, i)) continue;
    const auto first = link.inbox.begin();
    Job* job = new_job(i, first->first);
    job->bytes = std::move(first->second);
    link.inbox.erase(first);
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
    work = {unpack_round, i, job->tick, job};
    return true;
  }
  return false;
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
  Lane* lane = first_own(limit);
  if (lane != nullptr) {
    // Without neighbours nothing is urgent, and the own lane is in the own cache.
    if (plan_.neighbours.empty() && !home.ready.empty()) lane = &home;
    unit = lane->ready.top();
    lane->ready.pop();
    start_own(unit, limit, work);
    return true;
  }
  for (Lane& other : lanes_) {
    if (!take_fresh(other, limit, unit)) continue;
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

// Where tiles are cut for a wavefront, runs down its diagonal in one go: each unit lacks nothing
// but the fragment of the one before. That is less bookkeeping for each of many small tiles.
void Dataflow::start_own(const Ready& unit, Tick limit, core::Work& work) {
  work = {step_own, unit.region, unit.tick, nullptr};
  cell(unit.region, unit.tick + 1).status = Status::running;
  if (plan_.skew == 1) return;
  Job* job = new_job(kNoNeighbour, unit.tick);
  work.detail = job;
  job->chain.push_back(unit.region);
  const std::uint32_t lane = lane_of(unit.region);
  const Tick last = std::min(limit, unit.tick + plan_.chain_most() - 1);
  for (Tick t = unit.tick + 1; t <= last; ++t) {
    const auto readers = plan_.readers[job->chain.back()];
    const auto next = std::ranges::find_if(readers, [&](RegionId reader) {
      const Cell& reads = cell(reader, t);
      return reader < plan_.n_own && reads.missing_own == 1 && reads.missing_replica == 0 &&
             lane_of(reader) == lane && cell(reader, t + 1).status == Status::absent;
    });
    if (next == readers.end()) break;
    cell(*next, t + 1).status = Status::running;
    job->chain.push_back(*next);
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
    work = {step_replica, top.region, t, nullptr};
    cell(top.region, t + 1).status = Status::running;
    running_replicas_.push_back(t);
    return true;
  }
  return false;
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
  job->fresh.clear();
  free_jobs_.push_back(job);
}

void Dataflow::run(const core::Work& work, std::uint32_t core) {
  if (work.detail == nullptr) {
    store_.step(work.index, work.tick, core);
    if (own_step_ && work.kind == step_own) own_step_(work.index, work.tick + 1);
    return;
  }
  Job& job = *static_cast<Job*>(work.detail);
  if (work.kind == step_own) {
    for (std::size_t i = 0; i < job.chain.size(); ++i) {
      const Tick t = work.tick + static_cast<Tick>(i);
      store_.step(job.chain[i], t, core);
      if (own_step_) own_step_(job.chain[i], t + 1);
    }
    return;
  }
  if (work.kind == pack_round) {
    Writer out;
    out.put(MessageHeader{MessageType::round, 0, work.tick});
    store_.pack(job.neighbour, work.tick, out);
    job.bytes = out.take();
  } else {
    store_.unpack(job.neighbour, work.tick, ByteView(job.bytes).subspan(sizeof(MessageHeader)),
                  job.fresh);
  }
}

Nanos Dataflow::cost(const core::Work& work) const {
  if (work.detail == nullptr) return store_.step_cost(work.index, work.tick);
  const Job& job = *static_cast<const Job*>(work.detail);
  if (work.kind != step_own) return store_.copy_cost(job.bytes.size());
  Nanos sum = 0;
  for (std::size_t i = 0; i < job.chain.size(); ++i) {
    sum += store_.step_cost(job.chain[i], work.tick + static_cast<Tick>(i));
  }
  return sum;
}

Nanos Dataflow::message_cost(std::size_t n_bytes) const {
  // Taking or handing over a buffer; its contents are charged when they are packed and unpacked.
  return n_bytes == 0 ? 0 : 2 * kMicrosecond;
}

void Dataflow::on_finished(core::Port& port, const core::Work& work) {
  --n_running_;
  switch (work.kind) {
    case step_own:
      if (Job* job = static_cast<Job*>(work.detail); job != nullptr) {
        for (std::size_t i = 0; i < job->chain.size(); ++i) {
          finish_own(port, job->chain[i], work.tick + static_cast<Tick>(i) + 1);
        }
        drop_job(job);
      } else {
        finish_own(port, work.index, work.tick + 1);
      }
      break;
    case step_replica:
      ++figures_.replica_units;
      running_replicas_.erase(std::ranges::find(running_replicas_, work.tick));
      set_present(work.index, work.tick + 1);
      break;
    case pack_round: {
      Job* job = static_cast<Job*>(work.detail);
      Link& link = links_[job->neighbour];
      link.packed.emplace(job->tick, std::move(job->bytes));
      // Two cores may pack two rounds at once; the receiver counts on their order.
      while (!link.packing.empty() && link.packed.contains(link.packing.front())) {
        Bytes bytes = std::move(link.packed.extract(link.packing.front()).mapped());
        link.packing.pop_front();
        ++figures_.messages_sent;
        figures_.bytes_sent += static_cast<std::int64_t>(bytes.size());
        port.send(plan_.neighbours[job->neighbour].node, std::move(bytes));
      }
      drop_job(job);
      break;
    }
    default: {
      Job* job = static_cast<Job*>(work.detail);
      finish_unpack(port, *job);
      drop_job(job);
      break;
    }
  }
  advance_floor();
}

// Own region `region` has its version of tick t.
void Dataflow::finish_own(core::Port& port, RegionId region, Tick t) {
  ++figures_.own_units;
  set_present(region, t);
  if (stop_.tests(t)) {
    stop_.add(t, store_.measure(region, t));
    if (own_present_[slot(t)] == plan_.n_own) stop_.complete(port, t);
    end_ = std::min(segment_end_, stop_.end());
  }
  advance_own(port);
}

void Dataflow::finish_unpack(core::Port& port, const Job& job) {
  Link& link = links_[job.neighbour];
  link.unpacking = 0;
  link.rounds.push_back(job.tick);
  if (job.tick <= own_min_) {
    link.base = job.tick;
    // Own work has stood at this tick without the round.
    if (job.tick == own_min_) figures_.late[job.neighbour].time += port.now() - own_min_since_;
  }
  const auto& regions = plan_.neighbours[job.neighbour].regions;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (job.fresh[i] != 0) set_present(regions[i], job.tick);
  }
  tell_taken(port, job.neighbour, job.tick);
}

// Only to a neighbour that gets no rounds from here, whose ticks would tell the same.
void Dataflow::tell_taken(core::Port& port, std::uint32_t neighbour, Tick t) {
  if (plan_.neighbours[neighbour].receives) return;
  Writer out;
  out.put(MessageHeader{MessageType::taken, 0, t});
  port.send(plan_.neighbours[neighbour].node, out.take());
}

void Dataflow::advance_own(core::Port& port) {
  while (own_min_ < end_ && own_present_[slot(own_min_ + 1)] == plan_.n_own) {
    ++own_min_;
    watched_tick_.store(own_min_, std::memory_order_relaxed);
    own_min_since_ = port.now();
    for (Link& link : links_) {
      while (!link.rounds.empty() && link.rounds.front() <= own_min_) {
        link.base = link.rounds.front();
        link.rounds.pop_front();
      }
    }
    if (plan_.policy.barrier) barrier_.arrive(port, own_min_);
    advance_floor();
    if (own_min_ == end_) {
      figures_.finished_at = port.now() - started_;
      // What comes later is not taken any more.
      for (std::uint32_t i = 0; i < links_.size(); ++i)
        tell_taken(port, i, end_);
    }
  }
}

void Dataflow::advance_floor() {
  Tick floor = own_min_;
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    floor = std::min(floor, links_[i].base);
    for (const Tick t : links_[i].packing)
      floor = std::min(floor, t);
  }
  for (const Tick t : running_replicas_)
    floor = std::min(floor, t);
  if (floor <= floor_) return;
  for (Tick t = floor_; t < floor; ++t)
    reset_tick(t + window_);
  floor_ = floor;
  store_.release(floor_);
}

bool Dataflow::finished() const {
  // A test of this segment may end the run in a later one; who goes on has to know.
  if (own_min_ < end_ || n_running_ != 0 || !stop_.has_decided(end_)) return false;
  return std::ranges::all_of(links_, [](const Link& link) { return link.packing.empty(); });
}

}  // namespace rubato::tick
