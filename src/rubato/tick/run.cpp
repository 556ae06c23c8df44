#include "rubato/tick/run.hpp"

#include <algorithm>
#include <bit>
#include <concepts>
#include <deque>
#include <optional>

#include <sys/resource.h>

#include "rubato/core/paced_engine.hpp"
#include "rubato/core/signalled_engine.hpp"
#include "rubato/core/sim_host.hpp"
#include "rubato/net/sim.hpp"
#include "rubato/tick/balance/grains.hpp"

namespace rubato::tick {
namespace {

void put(Writer& out, const NodeResult& result) {
  core::put(out, result.time);
  out.put(result.work.own_units);
  out.put(result.work.replica_units);
  out.put(result.work.interactions);
  out.put(result.work.steps_lent);
  out.put(result.work.messages_sent);
  out.put(result.work.bytes_sent);
  out.put(result.work.compared_regions);
  out.put(result.work.finished_at);
  out.put(result.work.most_ahead);
  out.put(static_cast<std::uint64_t>(result.work.inbox_most));
  out.put_vector(result.work.late);
  out.put(result.state_bytes);
  out.put(result.peak_bytes);
  out.put(result.moved);
}

NodeResult get_node_result(Reader& in) {
  NodeResult result;
  result.time = core::get_node_figures(in);
  result.work.own_units = in.get<std::int64_t>();
  result.work.replica_units = in.get<std::int64_t>();
  result.work.interactions = in.get<std::int64_t>();
  result.work.steps_lent = in.get<std::int64_t>();
  result.work.messages_sent = in.get<std::int64_t>();
  result.work.bytes_sent = in.get<std::int64_t>();
  result.work.compared_regions = in.get<std::int64_t>();
  result.work.finished_at = in.get<Nanos>();
  result.work.most_ahead = in.get<Tick>();
  result.work.inbox_most = in.get<std::uint64_t>();
  result.work.late = in.get_vector<Lateness>();
  result.state_bytes = in.get<std::uint64_t>();
  result.peak_bytes = in.get<std::uint64_t>();
  result.moved = in.get<MoveFigures>();
  return result;
}

// Of this process. Linux counts what it was before exec too: a copy of a large launcher shows.
std::uint64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

void check(const SharingOptions& sharing) {
  if (sharing.epoch < 0) {
    throw Error(
        "epoch: expected a number of ticks, 0 or more, found " + std::to_string(sharing.epoch),
        ExitCode::usage);
  }
  if (sharing.moves() && sharing.balance == Balance::persistence && sharing.n_pieces == 0) {
    throw Error("balance persistence: expected a number of pieces to move, found 0",
                ExitCode::usage);
  }
}

// Of a named system: it would be another one without.
void check_lending(const Problem& problem, const SharingOptions& sharing) {
  if (!sharing.lending.on || problem.lends()) return;
  throw Error(
      "policy asytick-lend: the steps of this model cannot be run by other nodes, as those of "
      "fish and nbody can; expected asytick-plb, which moves pieces alone",
      ExitCode::usage);
}

// For a model that cannot be cut again: what nobody has asked for becomes what it can do.
void replace_repartition(const Problem& problem, SharingOptions& sharing) {
  if (!sharing.balance_is_default) {
    throw Error(
        "balance repartition: this model cannot be cut again while it runs; " +
            std::string(problem.has_pieces() ? "expected persistence, which moves pieces, or none"
                                             : "expected none"),
        ExitCode::usage);
  }
  if (sharing.n_pieces > 0 && problem.has_pieces()) sharing.balance = Balance::persistence;
}

// Of policy auto.
SharingOptions tuned_sharing(const Problem& problem, SharingOptions sharing,
                             std::uint32_t n_nodes) {
  if (!problem.tunes()) {
    throw Error(
        "policy auto: this model has no size(query), without which nothing can be forecast; "
        "choose a policy",
        ExitCode::usage);
  }
  if (sharing.epoch == 0) {
    throw Error("policy auto: expected epochs, at which it may change something, found --epoch 0",
                ExitCode::usage);
  }
  // One node waits for nobody.
  if (n_nodes == 1) sharing = {};
  // A cut into many small pieces has a longer border, which takes more than it gives where ticks are
  // short; and a model without pieces may be one that can be cut again.
  const bool is_cut_again =
      sharing.balance_is_default ? problem.repartitions() : !problem.has_pieces();
  if (sharing.balance == Balance::persistence && is_cut_again) {
    sharing.balance = Balance::repartition;
    sharing.n_pieces = 0;
  }
  if (sharing.balance == Balance::repartition && !problem.repartitions())
    sharing.balance = Balance::none;
  if (sharing.balance != Balance::persistence || sharing.n_pieces == 0)
    sharing.grains_of_piece.clear();
  return sharing;
}

// Epochs that cut the model anew make one part a node of it, which its first cut, into pieces, was not:
// whether it can be cut so is found out here and not in the middle of the run. `ticks`: its last one.
void check_cut_anew(const Problem& problem, SharingOptions& sharing, std::uint32_t n_nodes,
                    Tick ticks) {
  if (!sharing.moves() || sharing.balance != Balance::repartition || sharing.n_pieces == 0) return;
  if (!problem.repartitions() || sharing.epoch >= ticks) return;
  try {
    (void)problem.partition(n_nodes);
  } catch (const Error& error) {
    if (!sharing.balance_is_default) {
      throw Error("balance repartition: an epoch cuts the model into one part a node, and " +
                      std::string(error.what()) + "; expected persistence, which moves pieces",
                  error.code());
    }
    sharing.balance = Balance::persistence;
  }
}

// Whether the run has epochs at which something may change.
bool has_epochs(const Problem& problem, const SharingOptions& sharing) {
  if (sharing.tune) return true;
  if (!sharing.moves()) return false;
  return sharing.balance == Balance::persistence || problem.repartitions();
}

// Where the run begins. Throws Error if it would end before.
Tick first_tick(const StateSource* start, Tick ticks) {
  const Tick begin = start == nullptr ? 0 : start->tick();
  if (begin <= ticks) return begin;
  throw Error("--ticks: expected " + std::to_string(begin) +
                  " or more, the tick of the checkpoint that the run begins with, found " +
                  std::to_string(ticks),
              ExitCode::usage);
}

// Where its engines end, if no stop test of theirs ends it before.
Tick last_tick(const StateSource* start, Tick ticks) {
  return start == nullptr ? ticks : std::min(ticks, start->ends_at());
}

// The figures of one node, summed over the segments of its run.
class NodeSum {
 public:
  void add(const NodeFigures& later, Nanos started) {
    NodeFigures& sum = result_.work;
    if (!started_) started_ = started;
    sum.own_units += later.own_units;
    sum.replica_units += later.replica_units;
    sum.interactions += later.interactions;
    sum.steps_lent += later.steps_lent;
    sum.messages_sent += later.messages_sent;
    sum.bytes_sent += later.bytes_sent;
    sum.compared_regions += later.compared_regions;
    sum.finished_at = started - *started_ + later.finished_at;
    sum.most_ahead = std::max(sum.most_ahead, later.most_ahead);
    sum.inbox_most = std::max(sum.inbox_most, later.inbox_most);
    for (const Lateness& late : later.late) {
      const auto known = std::ranges::find(sum.late, late.of, &Lateness::of);
      if (known == sum.late.end()) {
        sum.late.push_back(late);
      } else {
        known->time += late.time;
      }
    }
  }
  [[nodiscard]] NodeResult take() { return std::move(result_); }

 private:
  NodeResult result_;
  std::optional<Nanos> started_;
};

// One node of a run, with epochs or without.
class NodeEngine {
 public:
  NodeEngine(const Problem& problem, std::shared_ptr<const Partition> partition,
             std::unique_ptr<NodeRun> node, const SharingOptions& sharing,
             const Dataflow::Options& flow, std::function<void(NodeRun&)> at_epoch)
      : n_pieces_(static_cast<std::uint32_t>(partition->owners().size())) {
    if (!has_epochs(problem, sharing)) {
      alone_ = std::move(node);
      return;
    }
    const EpochOptions epochs = epoch_options(node->plan().policy, sharing);
    chain_ = std::make_unique<EpochEngine>(std::move(partition), std::move(node), epochs, flow,
                                           std::move(at_epoch));
  }

  [[nodiscard]] TickEngine& engine() {
    return chain_ ? static_cast<TickEngine&>(*chain_) : alone_->engine();
  }
  // After the run: with its last state.
  [[nodiscard]] NodeRun& node() { return chain_ ? chain_->node() : *alone_; }
  [[nodiscard]] std::vector<Choice> choices() const {
    return chain_ ? chain_->choices() : std::vector<Choice>();
  }
  // Of all nodes, at the start and at the end.
  [[nodiscard]] std::uint32_t n_pieces() const noexcept { return n_pieces_; }
  [[nodiscard]] std::uint32_t n_pieces_end() const {
    return chain_ ? chain_->n_pieces() : n_pieces_;
  }
  [[nodiscard]] NodeResult result(const core::NodeFigures& time) {
    NodeSum sum;
    if (chain_) {
      for (const EpochEngine::Segment& segment : chain_->ended())
        sum.add(segment.figures, segment.started);
    }
    sum.add(node().engine().figures(), node().engine().started());
    NodeResult result = sum.take();
    result.time = time;
    result.state_bytes = node().store().bytes();
    if (chain_) result.moved = chain_->moved();
    return result;
  }

 private:
  std::uint32_t n_pieces_;
  std::unique_ptr<NodeRun> alone_;
  std::unique_ptr<EpochEngine> chain_;
};

// All nodes of a simulation on one network.
class VirtualJob {
 public:
  VirtualJob(const Problem& problem, const SimulationOptions& options)
      : problem_(problem),
        options_(options),
        sharing_(chosen_sharing(problem, options.sharing, options.n_nodes, options.n_cores)),
        network_({.n_nodes = options.n_nodes, .profile = options.profile, .seed = options.seed}) {
    for (NodeId node = 0; node < options.slowdowns.size(); ++node) {
      network_.set_slowdown(node, options.slowdowns[node]);
    }
  }

  // To the end of the run; then the nodes hold the last state.
  void run(const Policy& policy, Tick ticks) {
    SharingOptions& sharing = sharing_;
    Dataflow::Options flow{last_tick(options_.start, ticks), options_.n_cores,
                           first_tick(options_.start, ticks)};
    check_cut_anew(problem_, sharing, options_.n_nodes, flow.ticks);
    flow.hands_over = has_epochs(problem_, sharing);
    flow.as_they_come = options_.as_they_come;
    flow.lending = sharing.lending;
    {
      const std::shared_ptr<const Partition> partition =
          first_partition(problem_, options_.n_nodes, sharing);
      for (NodeId node = 0; node < options_.n_nodes; ++node) {
        auto run = partition->make_node(node, policy, flow, options_.start);
        if (options_.at_start) options_.at_start(node, *run);
        nodes_.emplace_back(problem_, partition, std::move(run), sharing, flow,
                            [this, node](NodeRun& next) {
                              if (options_.at_epoch) options_.at_epoch(node, next);
                            });
      }
    }
    run_engines();
  }

  [[nodiscard]] NodeRun& node(NodeId node) { return nodes_[node].node(); }
  [[nodiscard]] NodeResult result(NodeId node) { return nodes_[node].result(times_[node]); }
  [[nodiscard]] std::vector<Choice> choices() const { return nodes_.front().choices(); }
  [[nodiscard]] std::uint32_t n_pieces() const noexcept { return nodes_.front().n_pieces(); }
  [[nodiscard]] std::uint32_t n_pieces_end() const { return nodes_.front().n_pieces_end(); }

 private:
  void run_engines() {
    std::vector<core::Engine*> engines;
    std::vector<std::unique_ptr<core::Engine>> wrapped;
    std::deque<core::SignalledEngine> signalled;
    for (NodeEngine& node : nodes_) {
      engines.push_back(&node.engine());
      if (options_.wrap) {
        const auto number = static_cast<NodeId>(engines.size() - 1);
        wrapped.push_back(options_.wrap(number, node.engine()));
        engines.back() = wrapped.back().get();
      }
      if (options_.heeds_signals) engines.back() = &signalled.emplace_back(*engines.back());
    }
    core::SimHostOptions host_options;
    host_options.n_cores = options_.n_cores;
    host_options.seed = options_.seed;
    host_options.observer = options_.observer;
    times_ = core::SimHost(network_, host_options).run(engines).nodes;
  }

  const Problem& problem_;
  const SimulationOptions& options_;
  SharingOptions sharing_;
  net::SimNetwork network_;
  std::deque<NodeEngine> nodes_;
  std::vector<core::NodeFigures> times_;
};

core::NodeFigures run_engine(core::NodeHost& host, core::Engine& engine, bool paced) {
  if (!paced) return host.run(engine);
  core::PacedEngine slow(engine, host.shape().n_cores);
  return host.run(slow);
}

// This node of a real job: its run.
core::NodeFigures run_node(core::NodeHost& host, TickEngine& engine,
                           const ExecutionOptions& options) {
  if (!options.wrap) return run_engine(host, engine, options.paced);
  const std::unique_ptr<core::Engine> wrapped = options.wrap(engine);
  return run_engine(host, *wrapped, options.paced);
}

std::unique_ptr<NodeEngine> make_engine(const Problem& problem, const Policy& policy, Tick ticks,
                                        core::NodeHost& host, const ExecutionOptions& options) {
  Dataflow::Options flow{last_tick(options.start, ticks), host.shape().n_cores};
  std::unique_ptr<NodeEngine> engine;
  host.agree([&] {
    SharingOptions sharing =
        chosen_sharing(problem, options.sharing, host.shape().n_nodes, host.shape().n_cores);
    check_cut_anew(problem, sharing, host.shape().n_nodes, flow.ticks);
    flow.begin = first_tick(options.start, ticks);
    flow.hands_over = has_epochs(problem, sharing);
    flow.lending = sharing.lending;
    const std::shared_ptr<const Partition> partition =
        first_partition(problem, host.shape().n_nodes, sharing);
    auto node = partition->make_node(host.shape().node, policy, flow, options.start);
    if (options.at_start) options.at_start(*node);
    engine = std::make_unique<NodeEngine>(problem, partition, std::move(node), sharing, flow,
                                          options.at_epoch);
    if (options.at_engine) options.at_engine(engine->engine());
  });
  return engine;
}

// A stop condition is not tested where it could only end the run at its last tick, so a run that it
// has ended is a shorter one.
void note_end(RunResult& result, NodeRun& node, Tick ticks) {
  result.ticks = node.engine().end();
  result.stopped = result.ticks < ticks;
  const Tick interval = node.store().stop_interval();
  result.has_stop = interval > 0;
  if (!result.has_stop || result.stopped) return;
  const Tick untested = std::max<Tick>(0, ticks - std::max<Tick>(node.store().stop_lag(), 0));
  result.last_test = untested > 0 ? (untested - 1) / interval * interval : 0;
}

}  // namespace

namespace {

struct PiecesOfCore {
  std::uint32_t wanted = 0;
  std::uint32_t least = 0;
};
std::uint32_t n_good_pieces(const Problem& problem, std::uint32_t n_nodes, std::uint32_t n_cores,
                            PiecesOfCore of_core) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 24;
  const auto times = [&](std::uint64_t n) {
    return static_cast<std::uint32_t>(std::min(n * n_nodes * n_cores, kMost));
  };
  return problem.good_pieces(times(of_core.wanted), times(of_core.least));
}

// Where pieces move and nobody says how many there are: they may become as small as half of those that are
// usual, however few cutoffs wide that is, and as large as two for each core.
void choose_grains(const Problem& problem, SharingOptions& sharing, std::uint32_t n_nodes,
                   std::uint32_t n_cores) {
  constexpr std::uint32_t kMost = 16;
  const std::uint32_t of_core = 2 * n_pieces_of_core();
  const std::uint32_t most = n_good_pieces(problem, n_nodes, n_cores, {of_core, of_core});
  const std::uint32_t first = std::max(1U, std::bit_floor(most / sharing.n_pieces));
  const std::uint32_t n_grains = sharing.n_pieces * first;
  sharing.grains_of_piece = {first};
  for (std::uint32_t n = 1; n <= kMost; n *= 2) {
    const std::uint64_t n_pieces = n_pieces_of(n_grains, n);
    if (n != first && n_pieces >= std::uint64_t{2} * n_nodes * n_cores)
      sharing.grains_of_piece.push_back(n);
  }
}

}  // namespace

// Enough for a balancer to have something to move; of more, messages are more and smaller, each of which
// may be late, and less of a piece is out of sight of others (decision 0012).
std::uint32_t n_pieces_of_core() noexcept {
  return 4;
}

std::uint32_t n_good_pieces(const Problem& problem, std::uint32_t n_nodes, std::uint32_t n_cores) {
  return n_good_pieces(problem, n_nodes, n_cores, {n_pieces_of_core(), 2});
}

SharingOptions chosen_sharing(const Problem& problem, SharingOptions sharing, std::uint32_t n_nodes,
                              std::uint32_t n_cores) {
  check(sharing);
  check_lending(problem, sharing);
  if (sharing.moves() && sharing.balance == Balance::repartition && !problem.repartitions())
    replace_repartition(problem, sharing);
  if (sharing.tune) sharing = tuned_sharing(problem, std::move(sharing), n_nodes);
  if (sharing.n_pieces == kGoodPieces) {
    sharing.n_pieces = n_good_pieces(problem, n_nodes, n_cores);
    if (sharing.sizes_pieces && n_nodes > 1 && sharing.moves() &&
        sharing.balance == Balance::persistence && sharing.grains_of_piece.empty())
      choose_grains(problem, sharing, n_nodes, n_cores);
  }
  return sharing;
}

std::shared_ptr<const Partition> first_partition(const Problem& problem, std::uint32_t n_nodes,
                                                 SharingOptions& sharing) {
  std::vector<std::uint32_t>& choices = sharing.grains_of_piece;
  if (choices.empty()) return problem.partition(n_nodes, sharing.n_pieces);
  std::shared_ptr<const Partition> first =
      problem.partition(n_nodes, sharing.n_pieces, choices.front());
  if (first->grains_of_piece() != choices.front()) {
    choices.clear();
    return problem.partition(n_nodes, sharing.n_pieces);
  }
  std::erase_if(choices, [&](std::uint32_t n) { return !first->can_join(n); });
  return first;
}

EpochOptions epoch_options(const Policy& first, const SharingOptions& sharing) {
  EpochOptions epochs{sharing.epoch, sharing.balance, sharing.persistence};
  if (!sharing.tune) {
    epochs.grains_of_piece = sharing.grains_of_piece;
    epochs.chooses = sharing.chooses;
    return epochs;
  }
  TunerOptions tuner;
  tuner.balances = sharing.balance != Balance::none;
  tuner.every = sharing.epoch;
  tuner.chooses = sharing.chooses;
  if (!sharing.grains_of_piece.empty()) tuner.grains_of_piece = sharing.grains_of_piece;
  tuner.candidates = sharing.candidates.empty() ? tuned_policies() : sharing.candidates;
  std::erase(tuner.candidates, first);
  tuner.candidates.insert(tuner.candidates.begin(), first);
  epochs.tuner = std::move(tuner);
  return epochs;
}

double RunResult::waiting_share() const noexcept {
  Nanos idle = 0;
  Nanos all = 0;
  for (const NodeResult& node : nodes) {
    const core::CoreFigures total = node.time.total();
    idle += total.idle;
    all += total.wall;
  }
  return all > 0 ? static_cast<double>(idle) / static_cast<double>(all) : 0;
}

std::int64_t RunResult::n_epochs() const noexcept {
  return nodes.empty() ? 0 : nodes.front().moved.n_epochs;
}

std::int64_t RunResult::pieces_moved() const noexcept {
  return nodes.empty() ? 0 : nodes.front().moved.n_pieces;
}

std::int64_t RunResult::bytes_moved() const noexcept {
  std::int64_t n = 0;
  for (const NodeResult& node : nodes)
    n += node.moved.bytes_sent;
  return n;
}

RunResult simulate(const Problem& problem, const Policy& policy, Tick ticks,
                   const SimulationOptions& options) {
  RUBATO_REQUIRE(options.slowdowns.empty() || options.slowdowns.size() == options.n_nodes,
                 options.slowdowns.size(), options.n_nodes);
  VirtualJob job(problem, options);
  try {
    job.run(policy, ticks);
  } catch (const Error&) {
    // The signal came to the process, whichever virtual node has noticed it.
    const int number = options.heeds_signals ? core::SignalScope::received() : 0;
    if (number != 0) throw core::error_of_signal(number);
    throw;
  }
  RunResult result;
  result.policy = policy;
  result.tuned = options.sharing.tune;
  result.choices = job.choices();
  result.n_pieces = job.n_pieces();
  result.n_pieces_end = job.n_pieces_end();
  result.begin = first_tick(options.start, ticks);
  note_end(result, job.node(0), ticks);
  for (NodeId node = 0; node < options.n_nodes; ++node) {
    NodeRun& run = job.node(node);
    result.nodes.push_back(job.result(node));
    result.wall = std::max(result.wall, result.nodes.back().work.finished_at);
    result.checksum += run.checksum();
    if (options.at_end) options.at_end(node, run);
  }
  return result;
}

RunResult execute(const Problem& problem, const Policy& policy, Tick ticks, core::NodeHost& host,
                  const ExecutionOptions& options) {
  const std::unique_ptr<NodeEngine> engine = make_engine(problem, policy, ticks, host, options);
  NodeResult mine = engine->result(run_node(host, engine->engine(), options));
  NodeRun* node = &engine->node();
  std::uint64_t checksum = node->checksum();
  if (options.at_end) host.agree([&] { options.at_end(*node); });
  if (options.at_close) host.agree([&] { options.at_close(); });
  mine.peak_bytes = peak_resident_bytes();

  Writer out;
  out.put(checksum);
  put(out, mine);
  RunResult result;
  result.policy = policy;
  result.tuned = options.sharing.tune;
  result.choices = engine->choices();
  result.n_pieces = engine->n_pieces();
  result.n_pieces_end = engine->n_pieces_end();
  result.begin = first_tick(options.start, ticks);
  note_end(result, *node, ticks);
  Writer summary;
  const std::vector<Bytes> all = host.gather(out.take());
  if (host.shape().node == 0) {
    for (const Bytes& bytes : all) {
      Reader in(bytes);
      result.checksum += in.get<std::uint64_t>();
      result.nodes.push_back(get_node_result(in));
      result.wall = std::max(result.wall, result.nodes.back().work.finished_at);
    }
    summary.put(result.checksum);
    summary.put(result.wall);
  }
  const Bytes shared = host.broadcast(summary.take());
  Reader in(shared);
  result.checksum = in.get<std::uint64_t>();
  result.wall = in.get<Nanos>();
  if (result.nodes.empty()) result.nodes.push_back(std::move(mine));
  return result;
}

}  // namespace rubato::tick
