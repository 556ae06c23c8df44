#pragma once
// Dataflow: the tick engine's state machine for one node: one mechanism for all policies [Ticks 5].
//
// It knows regions, ticks, rounds and messages, no tuples (those are the Store's). A fragment (B,
// t) is there when region B was stepped to t here, or when round t came from B's owner. Rules:
//   - unit (A, t) is ready when the fragments (B, t) of all inputs B of A are there;
//   - own units run up to tick c + d, c being the last tick at which all that the own query reads
//     is there; replicas run only when an own unit that has all else waits for them, and their
//     owner's message is not there (computational replication is done in time that would be lost);
//   - round t (k divides t) goes to a neighbour once its source regions are at t, even if empty;
//   - a neighbour that only receives tells which rounds it has taken, so that nobody runs away from
//     it: every node is within window() of its neighbours, and so is every inbox;
//   - with policy pieces a source sends its fragment alone, with what other sources have by then for
//     the same node; and a core that would be idle runs the asynchronous part of a unit some of
//     whose inputs are there [AsyTick 3.2, 4.3]; where lending is on, a node that would be idle
//     offers to run a step for a neighbour that it waits for (dataflow_lending.cpp);
//   - ticks below floor() are released: every own region is past them, every neighbour's replicas
//     can be recomputed from a round at or above it, and they are packed.
// Differs from the paper: Algorithms 2 and 3 wait for the messages of all neighbours together, here
// each region waits for its own inputs; so at least the units of the paper are eligible (tested).

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <span>
#include <string>
#include <vector>

#include "rubato/base/bit_set.hpp"
#include "rubato/core/engine.hpp"
#include "rubato/tick/detail/collective.hpp"
#include "rubato/tick/lending.hpp"
#include "rubato/tick/plan.hpp"
#include "rubato/tick/store.hpp"
#include "rubato/tick/tick_engine.hpp"

namespace rubato::tick {

// Kinds of core::Work of a run; move_state is what epochs do (tick/epoch/epoch_engine.hpp).
enum WorkKind : std::uint32_t {
  step_own = 0,
  step_replica = 1,
  pack_round = 2,
  unpack_round = 3,
  move_state = 4,
  interact_own = 5,  // the asynchronous part of an own unit, ahead of its step
  step_lent = 6,     // a step of a neighbour's region
  take_back = 7,     // an own unit's step that a neighbour has run
  offer_help = 8     // tells a neighbour that this node has nothing to do
};

// How long a node's own work stood still for want of rounds of another node.
struct Lateness {
  NodeId of = 0;
  std::uint32_t unused = 0;
  Nanos time = 0;
};

// What a node did, for the table at the end of a run.
struct NodeFigures {
  std::int64_t own_units = 0;
  std::int64_t replica_units = 0;
  std::int64_t interactions = 0;  // asynchronous parts that ran ahead of their steps
  std::int64_t messages_sent = 0;
  std::int64_t bytes_sent = 0;
  std::int64_t steps_lent = 0;        // own units whose steps neighbours ran
  std::int64_t compared_regions = 0;  // replicas that a late message confirmed
  Nanos finished_at = 0;       // when the last own region was at the last tick; since start(), of
                               // the first segment if there are several
  Tick most_ahead = 0;         // of an own region over the slowest
  std::size_t inbox_most = 0;  // rounds of one neighbour that waited to be taken
  std::vector<Lateness> late;  // of each neighbour, by node
};

class Dataflow final : public TickEngine {
 public:
  struct Options {
    Tick ticks = 0;  // the run ends here, or earlier by the model's stop condition
    std::uint32_t n_cores = 1;
    Tick begin = 0;  // of which the store has the state
    // A run may be cut into segments, each with an engine of its own (tick/epoch/). Of a later one:
    // nothing of tick `begin` is there, region by region comes (arrive()).
    bool arrives = false;
    std::shared_ptr<detail::Agreements> agreements{};  // of all segments; null: this is the first
    bool hands_over = false;                           // there may be another one after it
    // With policy pieces: units and their parts run as they became ready, whatever their tick and
    // their distance from the border: to find what that order gains [AsyTick 5.3, figure 10].
    bool as_they_come = false;
    LendingOptions lending{};  // with policy pieces, of a store that lends
  };

  // `plan` and `store` must outlive the engine.
  Dataflow(const Plan& plan, Store& store, Options options);
  ~Dataflow() override;

  // Calls f(region, t) right after an own region was stepped to a tick t that wants(t) is true of, on
  // the core that did it and without the lock, before any other unit may see or overwrite that
  // version: for output, which reads it in place. May throw Error, as a step. Those that are added are
  // called one after the other. Before the run; what wants() says of a tick no longer changes once a
  // step to it has begun.
  void on_own_step(std::function<bool(Tick)> wants, std::function<void(RegionId, Tick)> f) {
    followers_.push_back({std::move(wants), std::move(f)});
  }
  void hold(Tick t) override { hold_ = t; }
  // Segments; all of them as events. gate(): the run may be cut again at tick t: own regions are not
  // stepped beyond it until there is another gate. end_at(): it is: the engine ends there, and sends
  // no rounds of t. Calls f(region) for each own region that has its version of t, now or when it
  // has it. REQUIRES: no own region is beyond t.
  void gate(Tick t) { gate_ = t; }
  void end_at(core::Port& port, Tick t, std::function<void(RegionId)> f);
  // Of an engine with Options::arrives: the store has the region's version of the first tick.
  void arrive(RegionId region);
  // The end of the run may have become known through another segment.
  void note_end(core::Port& port);
  // The regions that a work of own steps takes a tick on, one after the other; some several times.
  [[nodiscard]] static std::span<const RegionId> stepped_by(const core::Work& work);
  // Of a work that takes a step back: how long that took where it was run.
  [[nodiscard]] static Nanos time_elsewhere(const core::Work& work) {
    return static_cast<const Job*>(work.detail)->time;
  }
  // All that this segment is to do is done.
  [[nodiscard]] bool drained() const { return is_done() && !may_be_asked(); }
  // The same but for steps that neighbours may lend still: nobody needs its state any more.
  [[nodiscard]] bool is_done() const;
  [[nodiscard]] const std::shared_ptr<detail::Agreements>& agreements() const { return shared_; }

  void start(core::Port& port) override;
  void on_message(core::Port& port, NodeId from, Bytes bytes) override {
    take_message(port, from, std::move(bytes), port.came());
  }
  // One that came earlier, to wait for this segment.
  void take_message(core::Port& port, NodeId from, Bytes bytes, core::Port::Came came);
  void on_finished(core::Port& port, const core::Work& work) override;
  [[nodiscard]] bool next_work(std::uint32_t core, core::Work& work) override {
    return find_work(core, work) || take_offer(work);
  }
  // The two halves of next_work(): what is to be done here, and an offer to run a neighbour's steps,
  // which is for cores that have found nothing in any segment.
  [[nodiscard]] bool find_work(std::uint32_t core, core::Work& work);
  [[nodiscard]] bool take_offer(core::Work& work);
  [[nodiscard]] bool more_work() const override;
  [[nodiscard]] std::string work_name(const core::Work& work) const override;
  void prefetch(const core::Work& work, std::uint32_t core) const override;
  void run(const core::Work& work, std::uint32_t core) override;
  [[nodiscard]] Nanos cost(const core::Work& work) const override;
  [[nodiscard]] Nanos message_cost(std::size_t n_bytes) const override;
  [[nodiscard]] bool finished() const override;
  [[nodiscard]] std::string waiting_for() const override;

  [[nodiscard]] Tick own_tick() const noexcept override { return own_min_; }
  [[nodiscard]] Tick reach() const noexcept override;
  [[nodiscard]] Tick watched_tick() const noexcept override {
    return watched_tick_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t state_bytes() const override { return store_.bytes(); }
  // Where this segment begins, and ends.
  [[nodiscard]] Tick begin() const noexcept { return begin_; }
  [[nodiscard]] Tick end() const noexcept { return end_; }
  [[nodiscard]] Tick run_begin() const noexcept override { return begin_; }
  [[nodiscard]] Tick run_end() const noexcept override { return stop_.end(); }
  [[nodiscard]] bool has_decided(Tick t) const noexcept override { return stop_.has_decided(t); }
  [[nodiscard]] Nanos started() const noexcept override { return started_; }
  [[nodiscard]] Tick floor() const noexcept { return floor_; }
  [[nodiscard]] const NodeFigures& figures() const noexcept { return figures_; }
  // Bytes of this state machine itself, the plan included; tuples, in messages too, not.
  [[nodiscard]] std::size_t bytes() const noexcept;

 private:
  enum class Status : std::uint16_t { absent, running, present };
  // One (region, tick) of the window. There are many: 4 bytes.
  struct Cell {
    std::uint16_t missing_own : 15 = 0;  // inputs of the unit that are not there
    std::uint16_t demanded : 1 = 0;      // an own unit waits for this fragment
    std::uint16_t missing_replica : 14 = 0;
    Status status : 2 = Status::absent;  // of the fragment
  };
  static_assert(sizeof(Cell) == 4);
  // Of all own regions, at one tick of the window.
  struct TickCounts {
    std::uint64_t external_missing = 0;  // replica inputs that own units lack
    std::uint32_t own_present = 0;       // own regions that have the tick
  };
  static constexpr std::uint32_t kNobody = UINT32_MAX;
  static constexpr std::size_t kInputsMax = (1U << 14) - 1;
  // A unit that may run. The urgency of (A, t) is the tick at which the border, of which neighbours
  // wait to hear, needs it: t + depth for own regions, t + layer for replicas. The most urgent runs
  // first, so the border runs ahead of the inside by up to d ticks and its messages leave early; in
  // a spike that lag, and as much again, is work to do.
  struct Ready {
    Tick urgency;
    Tick tick;
    RegionId region;
    bool operator>(const Ready& other) const noexcept {
      return urgency != other.urgency ? urgency > other.urgency
             : tick != other.tick     ? tick < other.tick
                                      : region > other.region;
    }
  };
  using ReadyHeap = std::priority_queue<Ready, std::vector<Ready>, std::greater<>>;

  // Own regions have a home lane, and a core prefers its own lane, so that cells stay in its cache.
  // A node without neighbours has no urgency: units that become ready go to `fresh`, and the newest
  // is taken first, which walks through a row of tiles as a skewed wavefront, several ticks deep. Where
  // it goes block by block of ticks, those of later blocks than the lane is at wait in `ready`.
  struct alignas(64) Lane {
    ReadyHeap ready;
    std::vector<Ready> gated;  // beyond the limit when they were looked at
    std::vector<Ready> fresh;
    Tick end = 0;  // of Plan::in_blocks: of the last block of which a unit was taken from `ready`
  };

  // What the i-th source of a neighbour produced at a tick, or what it gets of this node's.
  struct Fragment {
    std::uint32_t source = 0;
    Tick tick = 0;
  };

  // A round, or fragments of policy pieces, that came.
  struct Message {
    Bytes bytes;
    Nanos late = 0;  // (detail::Lates)
  };
  // What one neighbour has sent and is owed.
  struct Link {
    std::map<Tick, Message> inbox;  // rounds that came and are not taken; bounded by the protocol
    std::deque<Tick> rounds;        // rounds taken, ascending, from base on
    Tick base = 0;                  // the last round taken that is not above own_min_
    Tick unpacking = 0;             // 0: none
    std::vector<std::uint32_t> missing_sources;  // [window] of the round to it
    std::deque<Tick> packing;      // rounds that are ready, being packed or wait for an earlier one
    std::map<Tick, Bytes> packed;  // done before an earlier one; sent in order
    // Policy pieces.
    std::deque<Message> piece_inbox;            // that came and are not taken, in order
    std::vector<std::uint32_t> missing_pieces;  // [window] of the neighbour's fragments
    std::vector<Fragment> outgoing;             // that are to be packed
    Nanos outgoing_since = 0;                   // the first of them
    std::vector<Fragment> leaving;              // that are being packed
    bool may_lend = false;                      // it may send steps to be run here still
  };
  // Steps that are lent (dataflow_lending.cpp).
  struct Loan {
    std::uint32_t neighbour = 0;  // that has lent it, or has run it
    Tick tick = 0;                // that it leads to
    RegionId region = 0;          // of the lender
    Bytes bytes;
  };
  struct Lending {
    bool on = false;
    bool measures = false;                    // what lending takes
    std::uint32_t offered_to = kNoNeighbour;  // link that this node has an open offer to
    bool told_all_back = false;
    std::deque<std::uint32_t> offers;  // links whose nodes would run a step
    std::deque<Loan> to_run;           // of neighbours, those to earlier ticks first
    std::deque<Loan> to_take;          // that neighbours have run
  };
  // A pack or unpack on its way through run(); reached by Work::detail, so that run() needs no
  // lock.
  struct Job {
    std::uint32_t neighbour = 0;
    Tick tick = 0;
    Bytes bytes;                  // header and payload
    std::vector<RegionId> chain;  // of steps: region chain[i] from ticks[i] to ticks[i] + 1
    std::vector<Tick> ticks;
    // Of own steps: where in the chain each diagonal of a wavefront begins, all with the job's tick.
    std::vector<std::size_t> diagonals;
    std::vector<std::uint8_t> fresh;  // of an unpack
    std::vector<Fragment> fragments;  // of a message of policy pieces
    // Of a step that may be lent, and of those that were.
    bool lends = false;
    bool is_lent = false;
    Nanos least = 0;  // virtual time
    Nanos time = 0;   // where it ran; of a step that is run for a neighbour in virtual time
  };
  // Of own steps (on_own_step()).
  struct Follower {
    std::function<bool(Tick)> wants;
    std::function<void(RegionId, Tick)> f;
  };
  // The asynchronous part of the next unit of an own region.
  struct Part {
    Tick tick = -1;             // that it was last run for
    std::size_t n_present = 0;  // inputs that it had then
    bool queued = false;        // in ready_parts_
    bool running = false;
  };

  [[nodiscard]] std::size_t slot(Tick t) const noexcept {
    return static_cast<std::size_t>(t % window_);
  }
  [[nodiscard]] Cell& cell(RegionId region, Tick t) noexcept {
    return cells_[slot(t) * empty_cells_.size() + region];
  }
  [[nodiscard]] const Cell& cell(RegionId region, Tick t) const noexcept {
    return cells_[slot(t) * empty_cells_.size() + region];
  }
  [[nodiscard]] bool steppable(RegionId region) const noexcept {
    return plan_.regions[region].layer <= plan_.policy.replica_layers;
  }
  [[nodiscard]] bool is_round(Tick t) const noexcept {
    return t > 0 && t % plan_.policy.period == 0;
  }

  void reset_tick(Tick t);
  void set_present(RegionId region, Tick t);
  void input_arrived(RegionId reader, Tick t, bool own_input);
  void demand_inputs(RegionId region, Tick t);
  void push_own(RegionId region, Tick t);
  [[nodiscard]] Tick piece_urgency(RegionId region, Tick t);
  void push_replica(RegionId region, Tick t);
  void source_arrived(RegionId region, Tick t);
  void advance_own(core::Port& port);
  void note_finished(core::Port& port);
  void advance_floor();
  void finish_pack(core::Port& port, Job& job);
  void finish_unpack(core::Port& port, const Job& job);
  // Policy pieces (dataflow_pieces.cpp).
  void run_pieces(Job& job, bool pack);
  void source_is_piece(std::uint32_t link, std::uint32_t source, Tick t);
  void finish_pieces_sent(core::Port& port, Job& job);
  void finish_pieces_taken(core::Port& port, const Job& job);
  [[nodiscard]] bool take_pieces_out(bool all, core::Work& work);
  [[nodiscard]] bool take_pieces_in(core::Work& work);
  [[nodiscard]] bool pieces_fit(const Link& link) const;
  void queue_part(RegionId region, Tick t);
  [[nodiscard]] bool take_part(core::Work& work);
  void finish_part(RegionId region, Tick t);
  // Steps that are lent (dataflow_lending.cpp).
  [[nodiscard]] static bool is_loan(const core::Work& work) {
    return work.kind == step_lent || work.kind == take_back ||
           (work.kind == step_own && work.detail != nullptr &&
            static_cast<const Job*>(work.detail)->lends);
  }
  void begin_lending(const Options& options);
  [[nodiscard]] bool may_be_asked() const;
  [[nodiscard]] Nanos ready_time() const;
  [[nodiscard]] bool may_lend_unit(core::Work& work);
  [[nodiscard]] bool take_loan(core::Work& work);
  [[nodiscard]] std::uint32_t waits_for() const;
  void run_loan(const core::Work& work, Job& job, std::uint32_t core);
  void step_or_lend(const core::Work& work, Job& job, std::uint32_t core);
  [[nodiscard]] Nanos loan_cost(const core::Work& work) const;
  void count_step(const core::Work& work);
  void finish_loan(core::Port& port, const core::Work& work);
  void finish_offer(core::Port& port, const Job& job);
  void on_loan(core::Port& port, std::uint32_t link, Bytes bytes);
  void tell(core::Port& port, std::uint32_t link, detail::MessageType type, Tick t,
            std::uint32_t detail = 0) const;
  void tell_all_back(core::Port& port);
  void round_taken(std::uint32_t neighbour, Tick t, Nanos now);
  void tell_taken(core::Port& port, std::uint32_t neighbour, Tick t);
  [[nodiscard]] bool may_unpack(const Link& link, std::uint32_t neighbour) const;
  [[nodiscard]] Job* new_job(std::uint32_t neighbour, Tick t);
  void drop_job(Job* job);
  [[nodiscard]] bool take_unpack(core::Work& work);
  [[nodiscard]] bool take_pack(core::Work& work);
  [[nodiscard]] bool take_own(std::uint32_t core, core::Work& work);
  [[nodiscard]] bool take_fresh(Lane& lane, Tick limit, Ready& unit);
  [[nodiscard]] const Ready* first_of(Lane& lane, Tick limit);
  [[nodiscard]] Lane* first_own(Tick limit, Lane& home);
  void start_own(const Ready& unit, Tick limit, core::Work& work);
  void start_replica(RegionId region, Tick t, core::Work& work);
  void finish_own(core::Port& port, RegionId region, Tick t);
  void run_steps(const core::Work& work, const Job& job, std::uint32_t core);
  void tell_followers(RegionId region, Tick t) const;
  void finish_replica(RegionId region, Tick t);
  void add_diagonal(Job& job, const Ready& unit, Tick last);
  void add_diagonals_beside(Job& job, const Ready& unit, Tick last);
  [[nodiscard]] std::size_t n_made(const Job& job, RegionId region, Tick t) const;
  [[nodiscard]] std::uint32_t lane_of(RegionId region) const noexcept {
    return static_cast<std::uint32_t>(std::uint64_t{region} * lanes_.size() / plan_.n_own);
  }
  [[nodiscard]] bool take_replica(core::Work& work);
  [[nodiscard]] bool replica_wanted(RegionId region, Tick t) const;
  [[nodiscard]] Tick complete_tick() const noexcept;
  [[nodiscard]] Tick own_limit() const noexcept;
  [[nodiscard]] Tick part_limit() const noexcept;

  const Plan& plan_;
  Store& store_;
  const Tick window_;
  const Tick begin_;
  Tick segment_end_;                      // if no stop condition comes before
  std::function<void(RegionId)> at_end_;  // of end_at()
  std::uint64_t n_external_inputs_ = 0;
  std::vector<Cell> cells_;         // [window][regions]
  std::vector<Cell> empty_cells_;   // [regions] of a tick of which nothing is there
  std::vector<TickCounts> counts_;  // [window]
  std::vector<Lane> lanes_;         // [n_cores]
  std::vector<Link> links_;         // [neighbours]
  BitSet arrived_;                  // links with messages that came and are not taken
  BitSet outgoing_;                 // links with fragments that are to be packed
  std::vector<std::vector<std::uint32_t>> source_links_;  // [n_own] neighbours it is packed for
  std::vector<std::uint32_t> neighbour_of_;               // [node]; kNobody: it is none
  std::vector<Follower> followers_;

  // What each event writes is together, on lines that nothing else is read from.
  alignas(64) Tick end_;
  Tick floor_;
  Tick own_min_;
  Nanos own_min_since_ = 0;
  Nanos tick_time_ = 0;  // of late ticks, about
  Tick hold_ = kNoTick;
  Tick gate_ = kNoTick;
  Tick gated_limit_ = 0;            // of own_limit() when units were last gated
  std::atomic<Tick> watched_tick_;  // a copy of own_min_
  std::uint32_t n_running_ = 0;
  std::uint32_t floor_link_ = 0;  // that held the floor when it was last looked at
  std::vector<Job*> free_jobs_;
  Nanos now_ = 0;  // of the latest event; of policy pieces
  NodeFigures figures_;
  alignas(64) ReadyHeap ready_replica_;
  std::deque<core::Work> ready_packs_;
  std::vector<Tick> running_replicas_;
  std::vector<std::unique_ptr<Job>> jobs_;  // as many as were under way at once
  std::vector<Part> parts_;                 // [n_own]; empty where there are no asynchronous parts
  ReadyHeap ready_parts_;
  Lending lending_;
  std::shared_ptr<detail::Agreements> shared_;
  detail::Barrier& barrier_;               // in it
  detail::StopTest& stop_;                 // in it
  detail::LendingFigures& lending_known_;  // in it
  detail::Lates& lates_;                   // in it
  const bool arrives_;
  const bool as_they_come_;
  Tick n_pushed_ = 0;              // if as_they_come_: units so far
  std::size_t arrivals_left_ = 0;  // regions that have not come; nothing is released before
  Nanos started_ = 0;
};

}  // namespace rubato::tick
