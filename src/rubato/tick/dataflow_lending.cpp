// Steps that a node of policy pieces lends. Where skew comes with a tick and goes with it, no balance
// of pieces can know it; but who has nothing to do can run a step of who has more than it can run.
//
//   1 offer    a node that has found no work tells the neighbour that it waits for; one offer at a
//              time is out, so that no node gets more than it has asked for
//   2 lend     a node with an offer that takes up an own unit, and has more than that to do, has its
//              store gather what the step reads; if the step is going to take longer than lending
//              does, that is sent in place of being stepped
//   3 return   the other steps it before anything of its own, and sends what came of it, of which
//              the lender makes the version that its own step would have made: the same bits
// A node that has found no work has nothing to lend, and declines the offers that it holds; if it has
// had no step for long that was worth lending, it is not asked for some ticks: each message may be late,
// and what comes behind it with it.
//
// What is lent stays an own unit in all else: its region has no later version, and the balancer
// counts it with the time that it took elsewhere. Whoever may be asked for help stays until its
// neighbours have said that they lend no more (MessageType::all_back), in each segment.

#include <algorithm>
#include <cstring>

#include "rubato/base/bytes.hpp"
#include "rubato/tick/dataflow.hpp"

namespace rubato::tick {

using detail::MessageHeader;
using detail::MessageType;

namespace {

// Behind the MessageHeader of what is lent, and of what comes of it; 16 bytes.
struct LoanHeader {
  Nanos lent_at = 0;  // by the lender's clock
  Nanos took = 0;     // where it was run
};
constexpr std::size_t kLoanHeaders = sizeof(MessageHeader) + sizeof(LoanHeader);

LoanHeader loan_header(const Bytes& bytes) {
  LoanHeader header;
  std::memcpy(&header, bytes.data() + sizeof(MessageHeader), sizeof header);
  return header;
}
void set_loan_header(Bytes& bytes, const LoanHeader& header) {
  std::memcpy(bytes.data() + sizeof(MessageHeader), &header, sizeof header);
}

// A node lends while it has other units ready for so many times what lending takes: with 1, more is
// lent and less gained; with 6, less is lent (benchmark skew-nbody, docs/benchmarks.md).
constexpr Nanos kMuchToDo = 3;
// Who has had no long step for so many of its ticks says so, and is not asked again for so many. Another
// one that had nothing to lend, not within the same tick.
constexpr Tick kLongAgo = 64;
constexpr Tick kQuiet = 128;
// What steps take is not known before so many ticks of a run.
constexpr Tick kUnknown = 16;
// Averages follow what is measured by one part of so many.
constexpr Nanos kOfSteps = 64;
constexpr Nanos kOfLoans = 8;
// A message that is late is no measure of the others.
constexpr Nanos kTakesMost = 4;

}  // namespace

void Dataflow::begin_lending(const Options& options) {
  lending_.on = options.lending.on && plan_.policy.pieces && store_.lends();
  lending_.measures = !options.lending.takes;
  if (options.lending.takes) lending_known_.takes = *options.lending.takes;
  if (!options.agreements) lending_known_.long_at = begin_ + kUnknown - kLongAgo;
}

// Whether a neighbour may send a step to be run here, or has. Of a segment that the run ends before,
// nobody lends anything.
bool Dataflow::may_be_asked() const {
  return !lending_.to_run.empty() ||
         (end_ > begin_ && std::ranges::any_of(links_, &Link::may_lend));
}

// How long this node's cores will take for the own units that are ready.
Nanos Dataflow::ready_time() const {
  std::size_t n_ready = 0;
  for (const Lane& lane : lanes_)
    n_ready += lane.ready.size();
  return static_cast<Nanos>(n_ready / lanes_.size()) * lending_known_.unit_time;
}

// Whether the unit that `work` steps is one to lend, if it is long: makes its Job.
bool Dataflow::may_lend_unit(core::Work& work) {
  if (lending_.offers.empty() || ready_time() < kMuchToDo * lending_known_.takes) return false;
  Job* job = new_job(kNoNeighbour, work.tick + 1);
  job->lends = true;
  job->least =
      lending_known_.scale > 0
          ? static_cast<Nanos>(static_cast<double>(lending_known_.takes) / lending_known_.scale)
          : lending_known_.takes;
  // Whose offer it uses if it is lent; nobody else's step may.
  job->neighbour = lending_.offers.front();
  lending_.offers.pop_front();
  work.detail = job;
  return true;
}

// Others wait for these, so they go first.
bool Dataflow::take_loan(core::Work& work) {
  const bool back = !lending_.to_take.empty();
  std::deque<Loan>& loans = back ? lending_.to_take : lending_.to_run;
  if (loans.empty()) return false;
  Loan& loan = loans.front();
  Job* job = new_job(loan.neighbour, loan.tick);
  job->is_lent = true;
  job->bytes = std::move(loan.bytes);
  work = {back ? take_back : step_lent, loan.region, loan.tick - 1, job};
  loans.pop_front();
  return true;
}

// The neighbour, of those that may have something to lend, that has sent least of the first tick that
// is not complete; none if nothing is missing.
std::uint32_t Dataflow::waits_for() const {
  const Tick t = complete_tick() + 1;
  std::uint32_t most = 0;
  std::uint32_t best = kNoNeighbour;
  for (std::uint32_t i = 0; i < links_.size(); ++i) {
    const std::uint32_t missing = links_[i].missing_pieces[slot(t)];
    if (!links_[i].may_lend || missing <= most) continue;
    const auto quiet = lending_known_.quiet_till.find(plan_.neighbours[i].node);
    if (quiet != lending_known_.quiet_till.end() && own_min_ < quiet->second) continue;
    most = missing;
    best = i;
  }
  return best;
}

// Before the first tick of a segment it may turn out that the run ends with the one before it.
bool Dataflow::take_offer(core::Work& work) {
  if (!lending_.on || own_min_ == begin_ || own_min_ >= end_) return false;
  const std::uint32_t to = lending_.offered_to == kNoNeighbour ? waits_for() : kNoNeighbour;
  if (to == kNoNeighbour && lending_.offers.empty()) return false;
  if (to != kNoNeighbour) lending_.offered_to = to;
  work = {offer_help, to, own_min_, new_job(to, own_min_)};
  ++n_running_;
  return true;
}

// Meanwhile others may have ended, or this node: then nobody waits for an answer, or lends.
void Dataflow::finish_offer(core::Port& port, const Job& job) {
  const bool long_ago = own_min_ - lending_known_.long_at > kLongAgo;
  for (const std::uint32_t link : lending_.offers) {
    if (!lending_.told_all_back)
      tell(port, link, MessageType::declined, job.tick, long_ago ? 1 : 0);
  }
  lending_.offers.clear();
  if (job.neighbour == kNoNeighbour) return;
  if (links_[job.neighbour].may_lend && !lending_.told_all_back) {
    tell(port, job.neighbour, MessageType::offer, job.tick);
  } else if (lending_.offered_to == job.neighbour) {
    lending_.offered_to = kNoNeighbour;
  }
}

void Dataflow::tell(core::Port& port, std::uint32_t link, MessageType type, Tick t,
                    std::uint32_t detail) const {
  Writer out;
  out.put(MessageHeader{type, detail, t});
  port.send(plan_.neighbours[link].node, out.take());
}

// All steps that were lent are back, and no more will be lent.
void Dataflow::tell_all_back(core::Port& port) {
  if (!lending_.on || lending_.told_all_back) return;
  lending_.told_all_back = true;
  for (std::uint32_t i = 0; i < links_.size(); ++i)
    tell(port, i, MessageType::all_back, end_);
}

void Dataflow::on_loan(core::Port& port, std::uint32_t at, Bytes bytes) {
  MessageHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  switch (header.type) {
    case MessageType::offer:
      // Who has said that all is back lends no more.
      if (!lending_.told_all_back) lending_.offers.push_back(at);
      break;
    case MessageType::declined:
      lending_known_.quiet_till[plan_.neighbours[at].node] =
          own_min_ + (header.detail != 0 ? kQuiet : 1);
      if (lending_.offered_to == at) lending_.offered_to = kNoNeighbour;
      break;
    case MessageType::all_back:
      links_[at].may_lend = false;
      if (lending_.offered_to == at) lending_.offered_to = kNoNeighbour;
      break;
    case MessageType::lent: {
      lending_.offered_to = kNoNeighbour;
      const auto place = std::ranges::upper_bound(lending_.to_run, header.tick, {}, &Loan::tick);
      lending_.to_run.insert(place, Loan{at, header.tick, header.detail, std::move(bytes)});
      break;
    }
    default: {
      const LoanHeader loan = loan_header(bytes);
      const Nanos took = port.now() - loan.lent_at - loan.took;
      if (lending_.measures) {
        lending_known_.takes += (std::clamp<Nanos>(took, 0, kTakesMost * lending_known_.takes + 1) -
                                 lending_known_.takes) /
                                kOfLoans;
      }
      lending_.to_take.push_back({at, header.tick, header.detail, std::move(bytes)});
      break;
    }
  }
}

void Dataflow::step_or_lend(const core::Work& work, Job& job, std::uint32_t core) {
  Writer out;
  out.put(MessageHeader{MessageType::lent, work.index, work.tick + 1});
  out.put(LoanHeader{});
  job.is_lent = store_.step_or_lend(work.index, work.tick, core, job.least, out);
  if (job.is_lent) {
    job.bytes = out.take();
  } else {
    tell_followers(work.index, work.tick + 1);
  }
}

// On a core, without the lock.
void Dataflow::run_loan(const core::Work& work, Job& job, std::uint32_t core) {
  if (work.kind == step_own) {
    step_or_lend(work, job, core);
    return;
  }
  const ByteView payload = ByteView(job.bytes).subspan(kLoanHeaders);
  if (work.kind == take_back) {
    job.time = loan_header(job.bytes).took;
    store_.take_back(work.index, work.tick, payload, core);
    tell_followers(work.index, work.tick + 1);
    return;
  }
  Writer out;
  out.put(MessageHeader{MessageType::returned, work.index, work.tick + 1});
  out.put(loan_header(job.bytes));
  job.time = store_.step_lent(payload, core, out);
  job.bytes = out.take();
}

Nanos Dataflow::loan_cost(const core::Work& work) const {
  const Job& job = *static_cast<const Job*>(work.detail);
  if (!job.is_lent) return store_.step_cost(work.index, work.tick);
  return store_.copy_cost(job.bytes.size()) + (work.kind == step_lent ? job.time : 0);
}

// What own steps take, as it is measured.
void Dataflow::count_step(const core::Work& work) {
  const std::span<const RegionId> regions = stepped_by(work);
  if (regions.empty()) return;
  const Nanos took = work.took / static_cast<Nanos>(regions.size());
  lending_known_.unit_time += (took - lending_known_.unit_time) / kOfSteps;
  if (took >= lending_known_.takes) lending_known_.long_at = own_min_;
  const auto cost = static_cast<double>(store_.step_cost(regions.front(), work.tick));
  if (regions.size() != 1 || cost <= 0) return;
  const double scale = static_cast<double>(took) / cost;
  lending_known_.scale += lending_known_.scale > 0
                              ? (scale - lending_known_.scale) / static_cast<double>(kOfSteps)
                              : scale;
}

void Dataflow::finish_loan(core::Port& port, const core::Work& work) {
  Job* job = static_cast<Job*>(work.detail);
  const NodeId node = plan_.neighbours[job->neighbour].node;
  if (work.kind == take_back) {
    finish_own(port, work.index, work.tick + 1);
  } else if (work.kind == step_lent) {
    LoanHeader header = loan_header(job->bytes);
    header.took = work.took;
    set_loan_header(job->bytes, header);
    port.send(node, std::move(job->bytes));
  } else if (job->is_lent) {
    ++figures_.steps_lent;
    lending_known_.long_at = own_min_;
    set_loan_header(job->bytes, {port.now(), 0});
    port.send(node, std::move(job->bytes));
  } else {
    // The offer is for the next one.
    lending_.offers.push_front(job->neighbour);
    finish_own(port, work.index, work.tick + 1);
  }
  drop_job(job);
}

}  // namespace rubato::tick
