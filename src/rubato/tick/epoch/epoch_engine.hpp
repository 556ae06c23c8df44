#pragma once
// EpochEngine: the engine of a run whose work is shared anew at epochs: one node's chain of
// segments, each a NodeRun with a cut of its own, of which two and more live at once.
//
//   1 report    at tick R = E - N/2, N ticks being an epoch, each node tells what its pieces, or
//               all that it owns, have cost since the last one, or samples of its state at R by it; the
//               reports climb a tree
//   2 decide    all of them come down it; every node computes the same new owners and, in a run that
//               is tuned (tick/tune/), the same policy and the same next epoch. No unit of tick E or
//               later starts before that (Dataflow::gate)
//   3 plan      a core builds the next segment, its plan and an empty store, while others step
//   4 move      what each old region has produced at E goes to all who will hold some of it, as soon
//               as it is there; a new region begins when what it is made of has come (handover.hpp)
// So nobody stops: a node steps new regions while old ones are still before E, here or elsewhere,
// and where nothing has changed the old segment goes on. Ticks, rounds and stop tests keep their
// numbers; the barrier and the stop test are those of the whole run (detail::Agreements).

#include <atomic>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rubato/tick/balance/balance.hpp"
#include "rubato/tick/balance/persistent_cost.hpp"
#include "rubato/tick/epoch/report.hpp"
#include "rubato/tick/problem.hpp"
#include "rubato/tick/tune/tuner.hpp"

namespace rubato::tick {

struct EpochOptions {
  Tick every = 0;  // ticks; epochs are its multiples
  Balance balance = Balance::none;
  BalanceOptions persistence;
  // Of balance persistence, where the number of pieces may change: of how many grains each may be
  // (balance/piece_size.hpp). For tests: which of them at an epoch, any number, in place of what costs say.
  std::vector<std::uint32_t> grains_of_piece{};
  std::function<std::size_t(Tick)> chooses{};
  // Policy auto: the tuner decides whether anything is balanced, and which multiples of `every` are
  // epochs.
  std::optional<TunerOptions> tuner{};
};

// What epochs moved.
struct MoveFigures {
  std::int64_t n_epochs = 0;  // at which something moved
  // Of all nodes, that have got another owner; where their size changed, as many of the new ones as that is.
  std::int64_t n_pieces = 0;
  std::int64_t bytes_sent = 0;  // of tuples, to other nodes; reports are not counted
  Nanos time = 0;               // that this node's cores took to plan, pack and take them
};

class EpochEngine final : public TickEngine {
 public:
  struct Segment {
    Tick begin = 0;
    NodeFigures figures;
    Nanos started = 0;
  };

  // `first` is of `partition`, with Options::hands_over. `at_epoch`, if any, is called for each
  // further NodeRun of this node before its first step, as an event; the one before it may still
  // run then. REQUIRES: options.every > 0, and a tuner, of a problem that tunes, or a balance other
  // than none that the partition can do: pieces for persistence, a problem that repartitions for
  // repartition.
  EpochEngine(std::shared_ptr<const Partition> partition, std::unique_ptr<NodeRun> first,
              const EpochOptions& options, const Dataflow::Options& flow,
              std::function<void(NodeRun&)> at_epoch);
  ~EpochEngine() override;

  void start(core::Port& port) override;
  void on_message(core::Port& port, NodeId from, Bytes bytes) override;
  void on_finished(core::Port& port, const core::Work& work) override;
  [[nodiscard]] bool next_work(std::uint32_t core, core::Work& work) override;
  [[nodiscard]] bool more_work() const override;
  void run(const core::Work& work, std::uint32_t core) override;
  [[nodiscard]] Nanos cost(const core::Work& work) const override;
  [[nodiscard]] Nanos message_cost(std::size_t n_bytes) const override;
  [[nodiscard]] bool finished() const override;
  [[nodiscard]] std::string waiting_for() const override;
  [[nodiscard]] std::string work_name(const core::Work& work) const override;

  [[nodiscard]] Tick own_tick() const override;
  [[nodiscard]] Tick reach() const override;
  [[nodiscard]] Tick watched_tick() const override { return watched_tick_.load(); }
  [[nodiscard]] Tick run_begin() const override { return run_begin_; }
  [[nodiscard]] Tick run_end() const override;
  [[nodiscard]] bool has_decided(Tick t) const override;
  [[nodiscard]] Nanos started() const override { return started_; }
  [[nodiscard]] std::size_t state_bytes() const override;
  void hold(Tick t) override;

  // After the run: the node with its last state.
  [[nodiscard]] NodeRun& node();
  [[nodiscard]] const MoveFigures& moved() const noexcept { return moved_; }
  // That the model is cut into there, of all nodes; 0: by its part().
  [[nodiscard]] std::uint32_t n_pieces() const {
    return static_cast<std::uint32_t>(legs_.front()->partition->owners().size());
  }
  // Of policy auto; else none.
  [[nodiscard]] std::vector<Choice> choices() const {
    return tuner_ ? tuner_->choices() : std::vector<Choice>();
  }
  // Whether tuples are on their way between two segments, of this node's as far as it knows: it has
  // some to pack, or lacks some.
  [[nodiscard]] bool is_moving() const;
  // Of the segments before that of node().
  [[nodiscard]] const std::vector<Segment>& ended() const noexcept { return ended_; }

 private:
  enum class Step : std::uint32_t { plan, pack, begin };
  struct Leg;
  struct Message {
    NodeId from = 0;
    Bytes bytes;
    core::Port::Came came;
  };
  // Reached by Work::detail, so that run() needs no lock.
  struct Job {
    Step step = Step::plan;
    Leg* leg = nullptr;             // that it begins; of plan: that it follows
    std::size_t i = 0;              // of pack: in Handover::sends()
    std::vector<RegionId> regions;  // of pack: old ones; of begin: the new one
    Bytes bytes;                    // what it reads or has written
    std::unique_ptr<Leg> next;      // of plan; null: nothing changes
    Tick next_epoch = kNoTick;      // of plan
    NodeShape shape{};              // of plan, if the next epoch forecasts and it is not known
    Nanos thought = 0;              // of plan: virtual time of a forecast
    std::size_t n_bytes = 0;        // for its cost
    std::list<Job>::iterator at;
  };
  // What one target of a handover is owed.
  struct Outgoing {
    std::vector<RegionId> ready;  // to be packed
    std::size_t left = 0;         // regions that are not packed
    bool packing = false;
  };
  struct Fragment {
    std::shared_ptr<const Bytes> memory;
    ByteView view;
  };
  // What a new region is made of.
  struct Incoming {
    std::size_t missing = 0;
    std::vector<Fragment> fragments;
  };
  // A segment of the run, and the way into it from the one before.
  struct Leg {
    std::shared_ptr<const Partition> partition;
    std::unique_ptr<NodeRun> node;
    std::unique_ptr<Handover> handover;  // null of the first
    std::vector<Outgoing> outgoing;      // [sends]
    std::vector<Incoming> incoming;      // [regions]
    std::vector<RegionId> complete;      // regions that may begin
    std::size_t outgoing_left = 0;       // sends that are not done
    std::size_t incoming_left = 0;       // regions that have not begun
    std::int64_t n_moved = 0;            // pieces that have another owner than in the one before
    NodeShape shape{};                   // for forecasts, once one is near
    bool is_dropped = false;             // its versions are: neighbours may lend it steps still
    std::vector<PersistentCost> costs;   // [own regions] since the last report

    [[nodiscard]] Dataflow& flow() const { return node->engine(); }
    // [own regions] nanoseconds a tick since the last call.
    [[nodiscard]] std::vector<PersistentCost::Mean> take_costs();
  };

  [[nodiscard]] Leg& newest() const { return *legs_.back(); }
  [[nodiscard]] Leg* leg_of(Tick t) const;
  [[nodiscard]] Leg& leg_of(const core::Work& work) const;
  [[nodiscard]] std::vector<NodeId> children() const;
  [[nodiscard]] Tick epoch_after(Tick t) const;
  [[nodiscard]] Tick epoch_length() const;
  void follow(Leg& leg);
  void set_epoch(Tick t);
  template <class F>
  void event(core::Port& port, F call);
  void handle(core::Port& port, Message message);
  void look(core::Port& port);
  void report(core::Port& port);
  void take_samples(Bytes& into, const Leg& leg, std::span<const PersistentCost::Mean> costs);
  void add_report(core::Port& port, ByteView bytes);
  void decided(core::Port& port, Bytes reports);
  void plan(Job& job);
  [[nodiscard]] Tuner::Decision decide(const Job& job, const detail::Report& report);
  [[nodiscard]] std::uint32_t grains_of_piece(const Leg& from, const detail::Report& report);
  [[nodiscard]] std::shared_ptr<const Partition> share_anew(const Leg& from,
                                                            const detail::Report& report,
                                                            const Tuner::Decision& decision) const;
  [[nodiscard]] std::shared_ptr<const Partition> move_pieces(const Leg& from,
                                                             const detail::Report& report,
                                                             std::uint32_t grains_of_piece) const;
  [[nodiscard]] std::shared_ptr<const Partition> first_cut(const Leg& from,
                                                           std::uint32_t grains_of_piece) const;
  [[nodiscard]] std::vector<double> costs_of(const Leg& from, const detail::Report& report) const;
  [[nodiscard]] std::vector<std::vector<double>> indivisible_of(const Leg& from,
                                                                const detail::Report& report) const;
  [[nodiscard]] std::unique_ptr<Leg> next_leg(const Leg& from,
                                              std::shared_ptr<const Partition> partition,
                                              const Policy& policy) const;
  void planned(core::Port& port, Job& job);
  void finish_move(core::Port& port, const core::Work& work);
  void deliver_early(core::Port& port);
  void old_region_ready(Leg& leg, RegionId region);
  void take_moved(NodeId from, Bytes bytes);
  [[nodiscard]] Job& new_job(Step step, Leg& leg);
  [[nodiscard]] bool take_job(bool idle, core::Work& work);
  [[nodiscard]] bool take_pack(Leg& leg, bool idle, core::Work& work);
  void pack(Job& job);
  void packed(core::Port& port, Job& job);
  void begin_region(Job& job);
  void retire();
  void count(const core::Work& work);

  const EpochOptions options_;
  const Dataflow::Options flow_options_;
  const std::function<void(NodeRun&)> at_epoch_;
  const NodeId self_;
  const std::uint32_t n_nodes_;
  const Tick run_begin_;
  std::shared_ptr<detail::Agreements> agreements_;
  mutable std::mutex
      legs_mutex_;  // of the list itself: works find their leg without the host's lock
  std::deque<std::unique_ptr<Leg>> legs_;
  std::vector<Segment> ended_;
  std::atomic<Tick> watched_tick_;
  Nanos started_ = 0;
  Tick hold_ = kNoTick;

  // The epoch to come.
  Tick epoch_ = kNoTick;        // its tick
  Tick report_tick_ = kNoTick;  // of the report for it
  bool reported_ = false;
  Tick told_tick_;     // own_tick() at the last report, or of the run's begin,
  Nanos told_at_ = 0;  // and when that was
  bool decided_ = false;
  std::size_t missing_ = 0;  // reports of children, and by one its own
  Bytes samples_;            // of reports so far
  detail::Report all_;
  std::atomic<Tick> sample_tick_{kNoTick};  // at which own steps take samples
  std::mutex samples_mutex_;
  std::vector<std::pair<RegionId, Bytes>> own_samples_;

  std::list<Job> jobs_;
  Job* plan_ = nullptr;        // to be run
  std::deque<Message> early_;  // for segments that are not planned yet
  MoveFigures moved_;
  // Of policy auto; null without.
  std::shared_ptr<const Partition> first_cut_;
  std::unique_ptr<Tuner> tuner_;
  std::unique_ptr<PieceSize> piece_size_;  // null: it does not change, or the tuner says so
  std::unique_ptr<Meter> meter_;
};

}  // namespace rubato::tick
