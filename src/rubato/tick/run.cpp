#include "rubato/tick/run.hpp"

#include <algorithm>
#include <concepts>
#include <deque>
#include <optional>

#include <sys/resource.h>

#include "rubato/core/paced_engine.hpp"
#include "rubato/core/signalled_engine.hpp"
#include "rubato/core/sim_host.hpp"
#include "rubato/net/sim.hpp"

namespace rubato::tick {
namespace {

void put(Writer& out, const NodeResult& result) {
  core::put(out, result.time);
  out.put(result.work.own_units);
  out.put(result.work.replica_units);
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

// Where the segment that begins at `begin` ends, if the run does not end before.
Tick next_epoch(const Problem& problem, Tick begin, Tick epoch) {
  return epoch > 0 && problem.repartitions() ? (begin / epoch + 1) * epoch : kNoTick;
}

void check_epoch(Tick epoch) {
  if (epoch >= 0) return;
  throw Error("epoch: expected a number of ticks, 0 or more, found " + std::to_string(epoch),
              ExitCode::usage);
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

bool goes_on(const Dataflow& flow) {
  return flow.end() < flow.run_end();
}

// The figures of one node, summed over the segments of its run.
class NodeSum {
 public:
  void add(const Dataflow& flow, const core::NodeFigures& time) {
    const NodeFigures& later = flow.figures();
    NodeFigures& sum = result_.work;
    if (!started_) started_ = flow.started();
    sum.own_units += later.own_units;
    sum.replica_units += later.replica_units;
    sum.messages_sent += later.messages_sent;
    sum.bytes_sent += later.bytes_sent;
    sum.compared_regions += later.compared_regions;
    // What lies between the segments counts: moves, new plans, and waiting for all nodes.
    sum.finished_at = flow.started() - *started_ + later.finished_at;
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
    result_.time.add(time);
  }
  void add(const Redistribution& move, const core::NodeFigures& time) {
    result_.moved.add(move.figures());
    result_.time.add(time);
  }
  [[nodiscard]] NodeResult take(const Store& store) {
    result_.state_bytes = store.bytes();
    return std::move(result_);
  }

 private:
  NodeResult result_;
  std::optional<Nanos> started_;
};

// All nodes of a simulation: one network, and a host of virtual cores for each segment and each
// move, one after the other in the same virtual time.
class VirtualJob {
 public:
  VirtualJob(const Problem& problem, const SimulationOptions& options)
      : problem_(problem),
        options_(options),
        network_({.n_nodes = options.n_nodes, .profile = options.profile, .seed = options.seed}),
        sums_(options.n_nodes) {
    for (NodeId node = 0; node < options.slowdowns.size(); ++node) {
      network_.set_slowdown(node, options.slowdowns[node]);
    }
  }

  // To the end of the run; then the nodes hold the last state.
  void run(const Policy& policy, Tick ticks) {
    Dataflow::Options segment{last_tick(options_.start, ticks), options_.n_cores,
                              first_tick(options_.start, ticks)};
    segment.until = next_epoch(problem_, segment.begin, options_.epoch);
    {
      const auto partition = problem_.partition(options_.n_nodes);
      for (NodeId node = 0; node < options_.n_nodes; ++node) {
        nodes_.push_back(partition->make_node(node, policy, segment, options_.start));
        if (options_.at_start) options_.at_start(node, *nodes_.back());
      }
    }
    run_engines(nodes_);
    while (goes_on(nodes_.front()->engine())) {
      segment.begin = nodes_.front()->engine().end();
      segment.until = next_epoch(problem_, segment.begin, options_.epoch);
      segment.ticks = nodes_.front()->engine().run_end();
      move(segment);
      run_engines(nodes_);
    }
  }

  [[nodiscard]] NodeRun& node(NodeId node) { return *nodes_[node]; }
  [[nodiscard]] NodeSum& sum(NodeId node) { return sums_[node]; }

 private:
  void move(const Dataflow::Options& segment) {
    std::vector<std::unique_ptr<NodeMove>> moves;
    for (const auto& node : nodes_)
      moves.push_back(node->leave());
    run_engines(moves);
    for (NodeId node = 0; node < options_.n_nodes; ++node) {
      nodes_[node] = moves[node]->arrive(segment);
      moves[node].reset();
      if (options_.at_epoch) options_.at_epoch(node, *nodes_[node]);
    }
  }

  template <class List>
  void run_engines(const List& list) {
    std::vector<core::Engine*> engines;
    engines.reserve(list.size());
    std::vector<std::unique_ptr<core::Engine>> wrapped;
    std::deque<core::SignalledEngine> signalled;
    for (const auto& each : list) {
      engines.push_back(&each->engine());
      if constexpr (std::same_as<List, std::vector<std::unique_ptr<NodeRun>>>) {
        if (options_.wrap) {
          wrapped.push_back(options_.wrap(static_cast<NodeId>(engines.size() - 1), *each));
          engines.back() = wrapped.back().get();
        }
      }
      if (options_.heeds_signals) engines.back() = &signalled.emplace_back(*engines.back());
    }
    core::SimHostOptions host_options;
    host_options.n_cores = options_.n_cores;
    host_options.seed = options_.seed;
    host_options.observer = options_.observer;
    const core::SimReport report = core::SimHost(network_, host_options).run(engines);
    for (NodeId node = 0; node < options_.n_nodes; ++node)
      sums_[node].add(list[node]->engine(), report.nodes[node]);
  }

  const Problem& problem_;
  const SimulationOptions& options_;
  net::SimNetwork network_;
  std::vector<std::unique_ptr<NodeRun>> nodes_;
  std::vector<NodeSum> sums_;
};

core::NodeFigures run_engine(core::NodeHost& host, core::Engine& engine, bool paced) {
  if (!paced) return host.run(engine);
  core::PacedEngine slow(engine, host.shape().n_cores);
  return host.run(slow);
}

// A segment of the run of this node.
core::NodeFigures run_node(core::NodeHost& host, NodeRun& node, const ExecutionOptions& options) {
  if (!options.wrap) return run_engine(host, node.engine(), options.paced);
  const std::unique_ptr<core::Engine> wrapped = options.wrap(node);
  return run_engine(host, *wrapped, options.paced);
}

// This node of a real job, through all segments of its run.
std::unique_ptr<NodeRun> run_segments(const Problem& problem, const Policy& policy, Tick ticks,
                                      core::NodeHost& host, const ExecutionOptions& options,
                                      NodeSum& sum) {
  Dataflow::Options segment{last_tick(options.start, ticks), host.shape().n_cores};
  std::unique_ptr<NodeRun> node;
  host.agree([&] {
    check_epoch(options.epoch);
    segment.begin = first_tick(options.start, ticks);
    segment.until = next_epoch(problem, segment.begin, options.epoch);
    const auto partition = problem.partition(host.shape().n_nodes);
    node = partition->make_node(host.shape().node, policy, segment, options.start);
    if (options.at_start) options.at_start(*node);
  });
  sum.add(node->engine(), run_node(host, *node, options));
  while (goes_on(node->engine())) {
    segment.begin = node->engine().end();
    segment.until = next_epoch(problem, segment.begin, options.epoch);
    segment.ticks = node->engine().run_end();
    std::unique_ptr<NodeMove> move;
    host.agree([&] { move = node->leave(); });
    sum.add(move->engine(), run_engine(host, move->engine(), options.paced));
    host.agree([&] {
      node = move->arrive(segment);
      move.reset();
      if (options.at_epoch) options.at_epoch(*node);
    });
    sum.add(node->engine(), run_node(host, *node, options));
  }
  return node;
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
  check_epoch(options.epoch);
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
  result.begin = first_tick(options.start, ticks);
  note_end(result, job.node(0), ticks);
  for (NodeId node = 0; node < options.n_nodes; ++node) {
    NodeRun& run = job.node(node);
    result.nodes.push_back(job.sum(node).take(run.store()));
    result.wall = std::max(result.wall, result.nodes.back().work.finished_at);
    result.checksum += run.checksum();
    if (options.at_end) options.at_end(node, run);
  }
  return result;
}

RunResult execute(const Problem& problem, const Policy& policy, Tick ticks, core::NodeHost& host,
                  const ExecutionOptions& options) {
  NodeSum sum;
  const std::unique_ptr<NodeRun> node = run_segments(problem, policy, ticks, host, options, sum);
  NodeResult mine = sum.take(node->store());
  std::uint64_t checksum = node->checksum();
  if (options.at_end) host.agree([&] { options.at_end(*node); });
  if (options.at_close) host.agree([&] { options.at_close(); });
  mine.peak_bytes = peak_resident_bytes();

  Writer out;
  out.put(checksum);
  put(out, mine);
  RunResult result;
  result.policy = policy;
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
