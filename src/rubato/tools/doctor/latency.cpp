#include "rubato/tools/doctor/latency.hpp"

#include <algorithm>
#include <ostream>
#include <string>

#include "rubato/core/job.hpp"
#include "rubato/io/json.hpp"
#include "rubato/io/output_file.hpp"
#include "rubato/io/table.hpp"
#include "rubato/net/fabric_factory.hpp"
#include "rubato/net/profile.hpp"
#include "rubato/tools/doctor/doctor.hpp"

namespace rubato::tools {

PingPong::PingPong(core::NodeId self, std::uint32_t n_nodes, std::size_t n_bytes,
                   std::uint32_t n_samples)
    : self_(self),
      n_nodes_(n_nodes),
      n_bytes_(n_bytes),
      n_samples_(n_samples),
      round_trips_(self == 0 ? n_nodes - 1 : 0) {}

void PingPong::start(core::Port& port) {
  if (self_ == 0 && peer_ < n_nodes_) ping(port);
}

void PingPong::ping(core::Port& port) {
  sent_at_ = steady_now();
  port.send(peer_, Bytes(n_bytes_));
}

void PingPong::on_message(core::Port& port, core::NodeId from, Bytes bytes) {
  if (self_ != 0) {
    port.send(from, std::move(bytes));
    return;
  }
  const Nanos trip = steady_now() - sent_at_;
  if (n_done_ >= kWarmUp) round_trips_[peer_ - 1].push_back(trip);
  if (++n_done_ == n_samples_ + kWarmUp) {
    ++peer_;
    n_done_ = 0;
  }
  if (peer_ < n_nodes_) ping(port);
}

std::string PingPong::waiting_for() const {
  return finished() ? "" : "an answer of node " + std::to_string(peer_);
}

namespace {

double milliseconds(const std::vector<Nanos>& sorted, double q) {
  const auto place = static_cast<std::size_t>(q * static_cast<double>(sorted.size()));
  return static_cast<double>(sorted[std::min(place, sorted.size() - 1)]) / 1e6;
}

// Whether a sample tells a quantile from its own ends: p99.9 of 100 round trips would be their
// longest, and say no more than that.
bool has_quantile(std::size_t n_samples, double q) {
  const auto n = static_cast<double>(n_samples);
  return q == 0 || q == 1 || (n * q >= 1 && n * (1 - q) >= 1);
}

constexpr std::pair<const char*, double> kQuantiles[] = {
    {"min", 0}, {"p10", .1}, {"p50", .5}, {"p90", .9}, {"p99", .99}, {"p99.9", .999}, {"max", 1}};

void print(const std::vector<std::vector<Nanos>>& trips, const net::Fabric& fabric,
           const LatencyOptions& options, const Context& context) {
  std::vector<io::TableColumn> columns{{"node"}, {"host"}};
  for (const auto& [name, q] : kQuantiles)
    columns.push_back({name, 3, " ms"});
  io::Table table(columns);
  for (std::size_t i = 0; i < trips.size(); ++i) {
    std::vector<Nanos> sorted = trips[i];
    std::ranges::sort(sorted);
    const auto node = static_cast<net::NodeId>(i + 1);
    table.row().integer(static_cast<std::int64_t>(node)).text(fabric.host(node));
    for (const auto& [name, q] : kQuantiles) {
      if (has_quantile(sorted.size(), q)) {
        table.number(milliseconds(sorted, q));
      } else {
        table.empty();
      }
    }
  }
  if (context.json) {
    io::JsonWriter json;
    json.begin_object().field("bytes", options.n_bytes).field("samples", options.n_samples);
    json.field("profile", options.profile_path).key("round_trips_ms");
    table.to_json(json);
    json.end_object();
    context.out << json.text() << '\n';
  } else {
    context.out << "round trips of " << options.n_bytes << " bytes from node 0\n"
                << table.to_text(io::style_of_terminal(1));
  }
}

// The path as an option takes it: a bare word without the ending would be a preset's name.
std::string profile_word(const std::string& path) {
  const bool is_clear = path.find('/') != std::string::npos || path.ends_with(".profile");
  return (is_clear ? "" : "file:") + path;
}

}  // namespace

ExitCode measure_latency(const LatencyOptions& options, const Context& context) {
  core::JobConfig config;
  config.host.n_cores = 1;
  // A round trip should show the network, not our naps.
  config.host.nap_min = config.host.nap_max = config.host.crowded_nap_max = 2 * kMicrosecond;
  config.host.poll_interval = 0;
  core::Job job(net::make_fabric(), std::move(config));
  const core::JobShape shape = job.shape();
  if (shape.n_nodes < 2) {
    throw Error("a round trip needs two nodes, found one; run it as a job: rubato launch -n 2 -- " +
                    std::string("rubato doctor --latency"),
                ExitCode::usage);
  }
  PingPong engine(shape.node, shape.n_nodes, options.n_bytes, options.n_samples);
  job.host().run(engine);
  if (shape.node != 0) return ExitCode::ok;
  std::vector<Nanos> all;
  for (const auto& trips : engine.round_trips())
    all.insert(all.end(), trips.begin(), trips.end());
  io::OutputFile file(options.profile_path);
  file.write(net::to_text(net::profile_from_round_trips(all, "measured")));
  file.commit();
  print(engine.round_trips(), job.fabric(), options, context);
  context.err << "wrote " << options.profile_path << ": use it as --profile "
              << profile_word(options.profile_path) << '\n';
  return ExitCode::ok;
}

}  // namespace rubato::tools
