#include "rubato/tick/dataflow.hpp"

#include <algorithm>
#include <cstring>

#include "rubato/base/prefetch.hpp"

namespace rubato::tick {

using detail::MessageHeader;
using detail::MessageType;

Dataflow::Dataflow(const Plan& plan, Store& store, Options options)
    : plan_(plan),
      store_(store),
      window_(plan.window()),
      begin_(options.begin),
      segment_end_(options.ticks),
      cells_(plan.regions.size() * static_cast<std::size_t>(plan.window())),
      empty_cells_(plan.regions.size()),
      counts_(static_cast<std::size_t>(plan.window())),
      lanes_(std::max<std::uint32_t>(options.n_cores, 1)),
      links_(plan.neighbours.size()),
      arrived_(plan.neighbours.size()),
      outgoing_(plan.neighbours.size()),
      source_links_(plan.n_own),
      end_(segment_end_),
      floor_(options.begin),
      own_min_(options.begin),
      watched_tick_(options.begin),
      shared_(options.agreements
                  ? options.agreements
                  : std::make_shared<detail::Agreements>(detail::Agreements{
                        {plan.self, plan.n_nodes, options.begin},
                        {plan.self, plan.n_nodes, store, options.begin, options.ticks},
                        {},
                        {}})),
      barrier_(shared_->barrier),
      stop_(shared_->stop),
      lending_known_(shared_->lending),
      lates_(shared_->lates),
      arrives_(options.arrives),
      as_they_come_(options.as_they_come),
      arrivals_left_(options.arrives ? plan.regions.size() : 0) {
  begin_lending(options);
  RUBATO_REQUIRE(options.begin >= 0 && options.begin <= segment_end_, options.begin, segment_end_);
  for (RegionId region = 0; region < plan_.n_own; ++region) {
    for (const RegionId input : plan_.inputs[region]) {
      n_external_inputs_ += plan_.regions[input].own() ? 0 : 1;
    }
  }
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    const Neighbour& neighbour = plan_.neighbours[i];
    if (neighbour_of_.size() <= neighbour.node) neighbour_of_.resize(neighbour.node + 1, kNobody);
    neighbour_of_[neighbour.node] = i;
    links_[i].missing_sources.resize(static_cast<std::size_t>(window_));
    links_[i].base = neighbour.sends_here || neighbour.receives ? options.begin : kNoTick;
    links_[i].missing_pieces.resize(static_cast<std::size_t>(window_));
    links_[i].may_lend = lending_.on;
    for (const RegionId source : neighbour.sources)
      source_links_[source].push_back(i);
  }
  for (const Neighbour& neighbour : plan_.neighbours)
    figures_.late.push_back({neighbour.node});
  for (RegionId region = 0; region < plan_.regions.size(); ++region) {
    const auto inputs = plan_.inputs[region];
    if (inputs.size() > kInputsMax) {
      throw Error("region " + std::to_string(region) + " of node " + std::to_string(plan_.self) +
                      " needs " + std::to_string(inputs.size()) + " others, expected " +
                      std::to_string(kInputsMax) +
                      " at most: cut the model into fewer parts (--pieces), so that what everybody "
                      "needs lies in fewer of them",
                  ExitCode::usage);
    }
    const auto n_own = static_cast<std::uint16_t>(
        std::ranges::count_if(inputs, [&](RegionId input) { return plan_.regions[input].own(); }));
    empty_cells_[region].missing_own = n_own & kInputsMax;
    empty_cells_[region].missing_replica = (inputs.size() - n_own) & kInputsMax;
  }
  if (plan_.policy.pieces && store_.interacts()) parts_.resize(plan_.n_own);
  for (Tick t = floor_; t < floor_ + window_; ++t)
    reset_tick(t);
}

Dataflow::~Dataflow() = default;

// Makes the slot of tick t empty: nothing there, every unit lacks all of its inputs.
void Dataflow::reset_tick(Tick t) {
  std::ranges::copy(empty_cells_, &cell(0, t));
  counts_[slot(t)] = {n_external_inputs_, 0};
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    links_[i].missing_sources[slot(t)] =
        static_cast<std::uint32_t>(plan_.neighbours[i].sources.size());
    links_[i].missing_pieces[slot(t)] =
        static_cast<std::uint32_t>(plan_.neighbours[i].pieces.size());
  }
}

void Dataflow::start(core::Port& port) {
  started_ = own_min_since_ = port.now();
  if (arrives_) return;
  for (RegionId region = 0; region < plan_.regions.size(); ++region) {
    cell(region, own_min_).status = Status::present;
  }
  counts_[slot(own_min_)].own_present = plan_.n_own;
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

void Dataflow::arrive(RegionId region) {
  RUBATO_ASSERT(arrivals_left_ > 0 && cell(region, begin_).status == Status::absent, region, begin_,
                floor_);
  --arrivals_left_;
  cell(region, begin_).status = Status::present;
  const bool own = plan_.regions[region].own();
  if (own) ++counts_[slot(begin_)].own_present;
  for (const RegionId reader : plan_.readers[region])
    input_arrived(reader, begin_, own);
  if (arrivals_left_ == 0) advance_floor();
}

void Dataflow::end_at(core::Port& port, Tick t, std::function<void(RegionId)> f) {
  RUBATO_REQUIRE(t > begin_ && t <= segment_end_ && own_min_ <= t, begin_, own_min_, t);
  segment_end_ = t;
  end_ = std::min(t, stop_.end());
  at_end_ = std::move(f);
  for (RegionId region = 0; region < plan_.n_own; ++region) {
    if (t < floor_ + window_ && cell(region, t).status == Status::present) at_end_(region);
  }
  if (own_min_ == end_) note_finished(port);
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
    ++counts_[slot(t)].own_present;
    figures_.most_ahead = std::max(figures_.most_ahead, t - own_min_);
    source_arrived(region, t);
    if (at_end_ && t == segment_end_) at_end_(region);
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
  if (own && !own_input) --counts_[slot(t)].external_missing;
  if (own && !parts_.empty() && (unit.missing_own != 0 || unit.missing_replica != 0)) {
    queue_part(reader, t);
    return;
  }
  if (unit.missing_own != 0) return;
  if (unit.missing_replica == 0) {
    const Cell& target = cell(reader, t + 1);
    if (target.status != Status::absent) return;  // of a chain
    if (own) {
      // Its step follows its asynchronous part.
      if (parts_.empty() || !parts_[reader].running) push_own(reader, t);
    } else if (target.demanded != 0) {
      push_replica(reader, t);
    }
  } else if (own && plan_.policy.replica_layers > 0) {
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
  const Tick urgency = plan_.in_blocks       ? plan_.block_end(t)
                       : plan_.policy.pieces ? piece_urgency(region, t)
                                             : from + depth;
  const Ready unit{urgency, t, region};
  if (plan_.neighbours.empty() && (!plan_.in_blocks || urgency <= lane.end)) {
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
  if (!is_round(t) || (at_end_ && t == segment_end_)) return;
  for (const std::uint32_t i : source_links_[region]) {
    if (plan_.policy.pieces) {
      const auto& sources = plan_.neighbours[i].sources;
      source_is_piece(
          i,
          static_cast<std::uint32_t>(std::ranges::lower_bound(sources, region) - sources.begin()),
          t);
      continue;
    }
    if (--links_[i].missing_sources[slot(t)] != 0) continue;
    links_[i].packing.push_back(t);
    ready_packs_.push_back({pack_round, i, t, nullptr});
  }
}

void Dataflow::take_message(core::Port& port, NodeId from, Bytes bytes, core::Port::Came came) {
  MessageHeader header;
  RUBATO_ASSERT(bytes.size() >= sizeof header, bytes.size());
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::uint32_t at = from < neighbour_of_.size() ? neighbour_of_[from] : kNobody;
  now_ = port.now();
  if (header.type == MessageType::pieces) {
    RUBATO_ASSERT(at != kNobody && plan_.neighbours[at].sends_here, from);
    Link& link = links_[at];
    link.piece_inbox.push_back({std::move(bytes), lates_.late(from, header.sent, came)});
    arrived_.insert(at);
    figures_.inbox_most = std::max(figures_.inbox_most, link.piece_inbox.size());
    return;
  }
  if (header.type >= MessageType::offer && header.type <= MessageType::all_back) {
    RUBATO_ASSERT(at != kNobody && lending_.on, from, static_cast<std::uint32_t>(header.type));
    on_loan(port, at, std::move(bytes));
    return;
  }
  if (header.type == MessageType::round) {
    RUBATO_ASSERT(at != kNobody && plan_.neighbours[at].sends_here, from);
    Link& link = links_[at];
    Message message{std::move(bytes), lates_.late(from, header.sent, came)};
    const bool is_new = link.inbox.emplace(header.tick, std::move(message)).second;
    RUBATO_ASSERT(is_new, from, header.tick);
    arrived_.insert(at);
    figures_.inbox_most = std::max(figures_.inbox_most, link.inbox.size());
    return;
  }
  if (header.type == MessageType::taken) {
    RUBATO_ASSERT(at != kNobody, from);
    links_[at].base = header.tick;
    advance_floor();
  } else if (header.type == MessageType::barrier) {
    barrier_.on_message(port, header);
  } else {
    RUBATO_ASSERT(header.type == MessageType::measure || header.type == MessageType::decision, from,
                  static_cast<std::uint32_t>(header.type));
    stop_.on_message(port, header, ByteView(bytes).subspan(sizeof header));
    note_end(port);
  }
}

void Dataflow::run(const core::Work& work, std::uint32_t core) {
  if (is_loan(work)) {
    run_loan(work, *static_cast<Job*>(work.detail), core);
    return;
  }
  if (work.kind == offer_help) return;
  if (work.detail == nullptr) {
    store_.step(work.index, work.tick, core);
    if (work.kind == step_own) tell_followers(work.index, work.tick + 1);
    return;
  }
  Job& job = *static_cast<Job*>(work.detail);
  if (work.kind == step_own || work.kind == step_replica) {
    run_steps(work, job, core);
    return;
  }
  if (work.kind == interact_own) {
    job.fresh.push_back(store_.interact(work.index, work.tick, job.chain, core) ? 1 : 0);
    return;
  }
  if (plan_.policy.pieces) {
    run_pieces(job, work.kind == pack_round);
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

// One after the other where somebody wants to see a version among them: once all are done, others may
// lie in its place.
void Dataflow::run_steps(const core::Work& work, const Job& job, std::uint32_t core) {
  const Tick last = std::ranges::max(job.ticks);
  bool wanted = false;
  for (Tick t = job.tick; t <= last; ++t)
    wanted |= std::ranges::any_of(followers_, [t](const Follower& f) { return f.wants(t + 1); });
  if (!wanted || work.kind != step_own) {
    store_.step_all(job.chain, job.ticks, core);
    return;
  }
  for (std::size_t i = 0; i < job.chain.size(); ++i) {
    store_.step(job.chain[i], job.ticks[i], core);
    tell_followers(job.chain[i], job.ticks[i] + 1);
  }
}

void Dataflow::tell_followers(RegionId region, Tick t) const {
  for (const Follower& follower : followers_) {
    if (follower.wants(t)) follower.f(region, t);
  }
}

void Dataflow::prefetch(const core::Work& work, std::uint32_t core) const {
  prefetch_for_write(&end_);
  prefetch_for_write(&free_jobs_);
  prefetch_for_write(&lanes_[core % lanes_.size()]);
  if ((work.kind != step_own && work.kind != step_replica) || is_loan(work)) return;
  const Job* job = static_cast<const Job*>(work.detail);
  const std::size_t n_steps = job == nullptr ? 1 : job->chain.size();
  prefetch_for_write(&counts_[slot(work.tick + 1)]);
  for (std::size_t i = 0; i < n_steps; ++i) {
    const Tick t = (job == nullptr ? work.tick : job->ticks[i]) + 1;
    const RegionId region = job == nullptr ? work.index : job->chain[i];
    // The units of its readers, too: most are beside it.
    prefetch_for_write(&cell(region, t));
    if (i + 1 == n_steps) prefetch_for_write(&cell(region, t + 1));
  }
}

std::span<const RegionId> Dataflow::stepped_by(const core::Work& work) {
  if (work.detail == nullptr) return {&work.index, 1};
  if (is_loan(work)) return {&work.index, static_cast<const Job*>(work.detail)->is_lent ? 0U : 1U};
  return static_cast<const Job*>(work.detail)->chain;
}

Nanos Dataflow::cost(const core::Work& work) const {
  if (work.detail == nullptr) return store_.step_cost(work.index, work.tick);
  if (is_loan(work)) return loan_cost(work);
  if (work.kind == offer_help) return 0;
  const Job& job = *static_cast<const Job*>(work.detail);
  if (work.kind == interact_own) return store_.interact_cost(work.index);
  if (work.kind == pack_round || work.kind == unpack_round)
    return store_.copy_cost(job.bytes.size());
  Nanos sum = 0;
  for (std::size_t i = 0; i < job.chain.size(); ++i) {
    sum += store_.step_cost(job.chain[i], job.ticks[i]);
  }
  return sum;
}

Nanos Dataflow::message_cost(std::size_t n_bytes) const {
  // Taking or handing over a buffer; its contents are charged when they are packed and unpacked.
  return n_bytes == 0 ? 0 : 2 * kMicrosecond;
}

void Dataflow::on_finished(core::Port& port, const core::Work& work) {
  --n_running_;
  now_ = port.now();
  if (lending_.on && work.kind == step_own) count_step(work);
  if (is_loan(work)) {
    finish_loan(port, work);
    advance_floor();
    return;
  }
  switch (work.kind) {
    case offer_help:
      finish_offer(port, *static_cast<Job*>(work.detail));
      drop_job(static_cast<Job*>(work.detail));
      break;
    case step_own:
      if (Job* job = static_cast<Job*>(work.detail); job != nullptr) {
        for (std::size_t i = 0; i < job->chain.size(); ++i)
          finish_own(port, job->chain[i], job->ticks[i] + 1);
        drop_job(job);
      } else {
        finish_own(port, work.index, work.tick + 1);
      }
      break;
    case step_replica:
      if (Job* job = static_cast<Job*>(work.detail); job != nullptr) {
        for (std::size_t i = 0; i < job->chain.size(); ++i)
          finish_replica(job->chain[i], job->ticks[i] + 1);
        drop_job(job);
      } else {
        finish_replica(work.index, work.tick + 1);
      }
      break;
    case interact_own:
      figures_.interactions += static_cast<Job*>(work.detail)->fresh.front();
      drop_job(static_cast<Job*>(work.detail));
      finish_part(work.index, work.tick);
      break;
    case pack_round:
      finish_pack(port, *static_cast<Job*>(work.detail));
      drop_job(static_cast<Job*>(work.detail));
      break;
    default:
      finish_unpack(port, *static_cast<Job*>(work.detail));
      drop_job(static_cast<Job*>(work.detail));
      break;
  }
  advance_floor();
}

void Dataflow::finish_replica(RegionId region, Tick t) {
  ++figures_.replica_units;
  running_replicas_.erase(std::ranges::find(running_replicas_, t - 1));
  set_present(region, t);
}

// Own region `region` has its version of tick t.
void Dataflow::finish_own(core::Port& port, RegionId region, Tick t) {
  ++figures_.own_units;
  set_present(region, t);
  if (stop_.tests(t)) {
    stop_.add(t, store_.measure(region, t));
    if (counts_[slot(t)].own_present == plan_.n_own) stop_.complete(port, t);
    note_end(port);
  }
  advance_own(port);
}

void Dataflow::finish_pack(core::Port& port, Job& job) {
  if (plan_.policy.pieces) {
    finish_pieces_sent(port, job);
    return;
  }
  Link& link = links_[job.neighbour];
  link.packed.emplace(job.tick, std::move(job.bytes));
  // Two cores may pack two rounds at once; the receiver counts on their order.
  while (!link.packing.empty() && link.packed.contains(link.packing.front())) {
    Bytes bytes = std::move(link.packed.extract(link.packing.front()).mapped());
    link.packing.pop_front();
    ++figures_.messages_sent;
    figures_.bytes_sent += static_cast<std::int64_t>(bytes.size());
    detail::stamp(bytes, port.now());
    port.send(plan_.neighbours[job.neighbour].node, std::move(bytes));
  }
}

// All of round t is here.
void Dataflow::round_taken(std::uint32_t neighbour, Tick t, Nanos now) {
  Link& link = links_[neighbour];
  link.rounds.push_back(t);
  if (t > own_min_) return;
  link.base = t;
  // Own work has stood at this tick without the round.
  if (t == own_min_) figures_.late[neighbour].time += now - own_min_since_;
}

void Dataflow::finish_unpack(core::Port& port, const Job& job) {
  Link& link = links_[job.neighbour];
  link.unpacking = 0;
  if (plan_.policy.pieces) {
    finish_pieces_taken(port, job);
    return;
  }
  round_taken(job.neighbour, job.tick, port.now());
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
  out.put(MessageHeader{MessageType::taken, 0, t, port.now()});
  port.send(plan_.neighbours[neighbour].node, out.take());
}

void Dataflow::advance_own(core::Port& port) {
  while (own_min_ < end_ && counts_[slot(own_min_ + 1)].own_present == plan_.n_own) {
    ++own_min_;
    watched_tick_.store(own_min_, std::memory_order_relaxed);
    const Nanos took = port.now() - own_min_since_;
    own_min_since_ += took;
    // Before the first tick a segment may have waited for the one before it.
    if (own_min_ > begin_ + 1) tick_time_ += (took - tick_time_) / 8;
    for (Link& link : links_) {
      while (!link.rounds.empty() && link.rounds.front() <= own_min_) {
        link.base = link.rounds.front();
        link.rounds.pop_front();
      }
    }
    if (plan_.policy.barrier) barrier_.arrive(port, own_min_);
    advance_floor();
    if (own_min_ == end_) note_finished(port);
  }
}

void Dataflow::note_end(core::Port& port) {
  const Tick end = std::min(segment_end_, stop_.end());
  if (end == end_) return;
  end_ = end;
  // Where the decision comes last.
  if (own_min_ == end_) note_finished(port);
}

// All own regions are at the end.
void Dataflow::note_finished(core::Port& port) {
  figures_.finished_at = port.now() - started_;
  // A segment that the run ends before: nobody waits for it, and its first tick is of another one.
  if (end_ == begin_) return;
  // What comes later is not taken any more.
  for (std::uint32_t i = 0; i < links_.size(); ++i)
    tell_taken(port, i, end_);
  tell_all_back(port);
}

void Dataflow::advance_floor() {
  Tick floor = own_min_;
  if (floor == floor_ || arrivals_left_ != 0) return;
  // The link that held it the last time is asked first: it often holds it still.
  for (std::size_t i = 0; i < links_.size() && floor > floor_; ++i) {
    if (i > 0 && ++floor_link_ == links_.size()) floor_link_ = 0;
    const Link& link = links_[floor_link_];
    floor = std::min(floor, link.base);
    for (const Tick t : link.packing)
      floor = std::min(floor, t);
    for (const Fragment& fragment : link.outgoing)
      floor = std::min(floor, fragment.tick);
    for (const Fragment& fragment : link.leaving)
      floor = std::min(floor, fragment.tick);
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
  return drained() && stop_.has_decided(end_);
}

bool Dataflow::is_done() const {
  if (own_min_ < end_ || n_running_ != 0) return false;
  return std::ranges::all_of(links_, [](const Link& link) {
    return link.packing.empty() && link.outgoing.empty() && link.leaving.empty();
  });
}

}  // namespace rubato::tick
