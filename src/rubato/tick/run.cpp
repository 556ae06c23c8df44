#include "rubato/tick/run.hpp"

#include <algorithm>

#include "rubato/core/paced_engine.hpp"
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
  out.put_vector(result.work.late_by);
  out.put(result.state_bytes);
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
  result.work.late_by = in.get_vector<Nanos>();
  result.state_bytes = in.get<std::uint64_t>();
  return result;
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

RunResult simulate(const Problem& problem, const Policy& policy, Tick ticks,
                   const SimulationOptions& options) {
  RUBATO_REQUIRE(options.slowdowns.empty() || options.slowdowns.size() == options.n_nodes,
                 options.slowdowns.size(), options.n_nodes);
  const auto partition = problem.partition(options.n_nodes);
  std::vector<std::unique_ptr<NodeRun>> nodes;
  std::vector<core::Engine*> engines;
  for (NodeId node = 0; node < options.n_nodes; ++node) {
    nodes.push_back(partition->make_node(node, policy, ticks, options.n_cores));
    engines.push_back(&nodes.back()->engine());
    if (options.at_start) options.at_start(node, *nodes.back());
  }
  net::SimOptions network_options;
  network_options.n_nodes = options.n_nodes;
  network_options.profile = options.profile;
  network_options.seed = options.seed;
  net::SimNetwork network(network_options);
  for (NodeId node = 0; node < options.slowdowns.size(); ++node) {
    network.set_slowdown(node, options.slowdowns[node]);
  }
  core::SimHostOptions host_options;
  host_options.n_cores = options.n_cores;
  host_options.seed = options.seed;
  host_options.observer = options.observer;
  core::SimHost host(network, host_options);
  const core::SimReport report = host.run(engines);

  RunResult result;
  result.policy = policy;
  result.ticks = nodes.front()->engine().end();
  for (NodeId node = 0; node < options.n_nodes; ++node) {
    result.wall = std::max(result.wall, nodes[node]->engine().figures().finished_at);
    result.checksum += nodes[node]->checksum();
    result.nodes.push_back(
        {report.nodes[node], nodes[node]->engine().figures(), nodes[node]->store().bytes()});
    if (options.at_end) options.at_end(node, *nodes[node]);
  }
  return result;
}

RunResult execute(const Problem& problem, const Policy& policy, Tick ticks, core::NodeHost& host,
                  const ExecutionOptions& options) {
  std::unique_ptr<NodeRun> node;
  host.agree([&] {
    const auto partition = problem.partition(host.shape().n_nodes);
    node = partition->make_node(host.shape().node, policy, ticks, host.shape().n_cores);
    if (options.at_start) options.at_start(*node);
  });
  NodeResult mine;
  core::PacedEngine paced(node->engine(), host.shape().n_cores);
  mine.time = options.paced ? host.run(paced) : host.run(node->engine());
  mine.work = node->engine().figures();
  mine.state_bytes = node->store().bytes();
  std::uint64_t checksum = node->checksum();
  if (options.at_end) host.agree([&] { options.at_end(*node); });
  if (options.at_close) host.agree([&] { options.at_close(); });

  Writer out;
  out.put(checksum);
  put(out, mine);
  RunResult result;
  result.policy = policy;
  result.ticks = node->engine().end();
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

std::string describe_nodes(const RunResult& result) {
  std::vector<core::NodeFigures> figures;
  for (const NodeResult& node : result.nodes)
    figures.push_back(node.time);
  const std::vector<std::string> kinds{"stepping", "replicas", "packing", "unpacking"};
  return core::figures_table(figures, kinds);
}

}  // namespace rubato::tick
