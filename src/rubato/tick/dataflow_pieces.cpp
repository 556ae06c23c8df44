// Policy pieces in a Dataflow: fragments that leave one by one, and asynchronous parts of steps
// [AsyTick 3, 4].

#include <algorithm>

#include "rubato/base/bytes.hpp"
#include "rubato/tick/dataflow.hpp"

namespace rubato::tick {

using detail::MessageHeader;
using detail::MessageType;

namespace {

// Fragments wait for others to the same node while all cores are busy, but not for longer than this
// or a part of a tick: each message is one more that may be late, and what comes after it with it.
constexpr Nanos kDeadlineLeast = 200 * kMicrosecond;
constexpr Nanos kDeadlinesATick = 10;

// Asynchronous parts are of one tick more than an eighth of those that steps may be ahead.
constexpr Tick kPartsAhead = 8;

// In front of each fragment of a message; 24 bytes.
struct FragmentHeader {
  std::uint32_t source = 0;
  std::uint32_t zero = 0;
  Tick tick = 0;
  std::uint64_t n_bytes = 0;
};

}  // namespace

// Source `source` of the link's neighbour has its version of t.
void Dataflow::source_is_piece(std::uint32_t link, std::uint32_t source, Tick t) {
  Link& to = links_[link];
  if (to.outgoing.empty()) {
    to.outgoing_since = now_;
    outgoing_.insert(link);
  }
  to.outgoing.push_back({source, t});
}

// Takes what is to be sent to one neighbour: if not `all`, only what has waited for long, or is as
// much as a tick has. Cores look between two steps: what would be late after the next one waits for it
// all the same, since to send it before was measured to be slower (docs/decisions/0016).
bool Dataflow::take_pieces_out(bool all, core::Work& work) {
  const Nanos deadline = std::max(kDeadlineLeast, tick_time_ / kDeadlinesATick);
  return outgoing_.any_of([&](std::uint32_t i) {
    Link& link = links_[i];
    if (!link.leaving.empty()) return false;
    const bool due = link.outgoing.size() >= plan_.neighbours[i].sources.size() ||
                     now_ - link.outgoing_since >= deadline;
    if (!all && !due) return false;
    link.leaving.swap(link.outgoing);
    outgoing_.erase(i);
    Job* job = new_job(i, link.leaving.front().tick);
    job->fragments = link.leaving;
    work = {pack_round, i, job->tick, job};
    return true;
  });
}

bool Dataflow::pieces_fit(const Link& link) const {
  if (link.piece_inbox.empty() || link.unpacking != 0) return false;
  Reader in(link.piece_inbox.front().bytes);
  const auto header = in.get<MessageHeader>();
  for (std::uint32_t i = 0; i < header.detail; ++i) {
    const auto fragment = in.get<FragmentHeader>();
    if (fragment.tick > floor_ + window_ - 2) return false;
    static_cast<void>(in.get_view(fragment.n_bytes));
  }
  return true;
}

bool Dataflow::take_pieces_in(core::Work& work) {
  return arrived_.any_of([&](std::uint32_t i) {
    Link& link = links_[i];
    if (!pieces_fit(link)) return false;
    Job* job = new_job(i, 1);
    const Nanos late = link.piece_inbox.front().late;
    job->bytes = std::move(link.piece_inbox.front().bytes);
    link.piece_inbox.pop_front();
    if (link.piece_inbox.empty()) arrived_.erase(i);
    Reader in(job->bytes);
    const auto header = in.get<MessageHeader>();
    for (std::uint32_t k = 0; k < header.detail; ++k) {
      const auto fragment = in.get<FragmentHeader>();
      static_cast<void>(in.get_view(fragment.n_bytes));
      RUBATO_ASSERT(fragment.source < plan_.neighbours[i].pieces.size(), fragment.source, i);
      job->fragments.push_back({fragment.source, fragment.tick});
      for (const RegionId region : plan_.neighbours[i].pieces[fragment.source]) {
        RUBATO_ASSERT(cell(region, fragment.tick).status == Status::absent, region, fragment.tick);
        cell(region, fragment.tick).status = Status::running;
      }
    }
    job->tick = link.unpacking = header.tick;
    work = {unpack_round, i, job->tick, job, 0, late};
    return true;
  });
}

// Packs the fragments of the job into its message, or takes those of its message; on a core,
// without the lock.
void Dataflow::run_pieces(Job& job, bool pack) {
  if (!pack) {
    Reader in(job.bytes);
    const auto header = in.get<MessageHeader>();
    for (std::uint32_t k = 0; k < header.detail; ++k) {
      const auto fragment = in.get<FragmentHeader>();
      store_.unpack_piece(job.neighbour, fragment.source, fragment.tick,
                          in.get_view(fragment.n_bytes));
    }
    return;
  }
  Writer out;
  out.put(MessageHeader{MessageType::pieces, static_cast<std::uint32_t>(job.fragments.size()),
                        job.fragments.front().tick});
  for (const Fragment& fragment : job.fragments) {
    Writer payload;
    store_.pack_piece(job.neighbour, fragment.source, fragment.tick, payload);
    const Bytes bytes = payload.take();
    out.put(FragmentHeader{fragment.source, 0, fragment.tick, bytes.size()});
    out.append(bytes.data(), bytes.size());
  }
  job.bytes = out.take();
}

void Dataflow::finish_pieces_sent(core::Port& port, Job& job) {
  links_[job.neighbour].leaving.clear();
  ++figures_.messages_sent;
  figures_.bytes_sent += static_cast<std::int64_t>(job.bytes.size());
  detail::stamp(job.bytes, port.now());
  port.send(plan_.neighbours[job.neighbour].node, std::move(job.bytes));
}

void Dataflow::finish_pieces_taken(core::Port& port, const Job& job) {
  Link& link = links_[job.neighbour];
  for (const Fragment& fragment : job.fragments) {
    // Of ascending ticks: each source sends one after the other.
    if (--link.missing_pieces[slot(fragment.tick)] == 0)
      round_taken(job.neighbour, fragment.tick, port.now());
  }
  for (const Fragment& fragment : job.fragments) {
    for (const RegionId region : plan_.neighbours[job.neighbour].pieces[fragment.source])
      set_present(region, fragment.tick);
  }
  if (!link.rounds.empty()) tell_taken(port, job.neighbour, link.rounds.back());
}

// Pieces run by alpha * D + beta * tick [AsyTick 4.3, equation 1], D < 1 being the distance from the
// border and beta > alpha: the earlier tick first, then what is nearer to the border.
Tick Dataflow::piece_urgency(RegionId region, Tick t) {
  if (as_they_come_) return ++n_pushed_;
  return t * (plan_.policy.depth + 1) + plan_.regions[region].depth;
}

// Some inputs of the own unit (region, t) are there: if its own tuples are among them, a core that
// would be idle may begin with it.
void Dataflow::queue_part(RegionId region, Tick t) {
  if (!store_.interacts(region)) return;
  Part& part = parts_[region];
  if (part.queued || part.running || cell(region, t).status != Status::present ||
      cell(region, t + 1).status != Status::absent)
    return;
  part.queued = true;
  ready_parts_.push({piece_urgency(region, t), t, region});
}

// The last tick of which parts of steps may run. What they have made is kept until the step, so of
// ticks that are far ahead it would be kept for long: with all that own_limit() allows, a node of fish
// under asytick-plb took 1.34 times as much memory as under comtick, and 1.28 so.
Tick Dataflow::part_limit() const noexcept {
  return std::min(own_limit(), own_min_ + 1 + plan_.policy.depth / kPartsAhead);
}

bool Dataflow::take_part(core::Work& work) {
  const Tick limit = part_limit();
  const auto start = [&](const Ready& ready) {
    Part& part = parts_[ready.region];
    part.queued = false;
    // It may have run meanwhile: then the region's next unit has not been queued.
    Tick next = std::max(ready.tick, floor_);
    while (next + 1 < floor_ + window_ && cell(ready.region, next + 1).status != Status::absent)
      ++next;
    if (next != ready.tick) {
      if (next + 1 < floor_ + window_) queue_part(ready.region, next);
      return false;
    }
    const Cell& unit = cell(ready.region, ready.tick);
    const auto inputs = plan_.inputs[ready.region];
    const std::size_t n_present = inputs.size() - unit.missing_own - unit.missing_replica;
    if (n_present == inputs.size() || (part.tick == ready.tick && part.n_present == n_present))
      return false;
    Job* job = new_job(kNoNeighbour, ready.tick);
    std::ranges::copy_if(inputs, std::back_inserter(job->chain), [&](RegionId input) {
      return cell(input, ready.tick).status == Status::present;
    });
    part = {ready.tick, n_present, false, true};
    work = {interact_own, ready.region, ready.tick, job};
    return true;
  };
  std::vector<Ready> gated;  // beyond the limit for now; in their order nothing else is before that
  bool taken = false;
  while (!taken && !ready_parts_.empty()) {
    const Ready top = ready_parts_.top();
    if (top.tick > limit && !as_they_come_) break;
    ready_parts_.pop();
    if (top.tick > limit) {
      gated.push_back(top);
    } else {
      taken = start(top);
    }
  }
  for (const Ready& part : gated)
    ready_parts_.push(part);
  return taken;
}

void Dataflow::finish_part(RegionId region, Tick t) {
  Part& part = parts_[region];
  part.running = false;
  const Cell& unit = cell(region, t);
  if (unit.missing_own == 0 && unit.missing_replica == 0) {
    push_own(region, t);
  } else if (plan_.inputs[region].size() - unit.missing_own - unit.missing_replica !=
             part.n_present) {
    queue_part(region, t);
  }
}

}  // namespace rubato::tick
