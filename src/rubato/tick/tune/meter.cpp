#include "rubato/tick/tune/meter.hpp"

#include <algorithm>

namespace rubato::tick {

void NodeReport::put(Writer& out) const {
  out.put(std::uint64_t{node});
  out.put(load);
  out.put(tick_time);
  out.put(ticks);
  out.put(static_cast<std::uint64_t>(delays.size()));
  for (const auto& [from, delays_of] : delays) {
    out.put(std::uint64_t{from});
    out.put(delays_of);
  }
  shape.put(out);
}

NodeReport NodeReport::get(Reader& in) {
  NodeReport report;
  report.node = static_cast<NodeId>(in.get<std::uint64_t>());
  report.load = in.get<TickCosts>();
  report.tick_time = in.get<double>();
  report.ticks = in.get<Tick>();
  report.delays.resize(in.get<std::uint64_t>());
  for (auto& [from, delays_of] : report.delays) {
    from = static_cast<NodeId>(in.get<std::uint64_t>());
    delays_of = in.get<Delays>();
  }
  report.shape = NodeShape::get(in);
  return report;
}

void Meter::follow(const Dataflow& flow, std::uint32_t n_own, Nanos now) {
  flow_ = &flow;
  n_own_ = std::max(n_own, 1U);
  begin(flow.begin(), now);
  pause();
}

void Meter::pause() {
  begun_ = false;
  begin_tick_ = flow_->own_tick();
}

void Meter::begin(Tick tick, Nanos now) {
  begin_tick_ = tick;
  begin_time_ = now;
  begin_units_ = flow_->figures().own_units;
  own_ = replicas_ = messages_ = packing_ = 0;
  begun_ = true;
}

void Meter::count(const core::Work& work) {
  if (work.kind == step_own || work.kind == interact_own) own_ += work.took;
  if (work.kind == step_replica) replicas_ += work.took;
  if (work.kind == pack_round || work.kind == unpack_round) packing_ += work.took;
}

void Meter::count_sent(MessageCost cost) {
  messages_ += cost.empty;
  packing_ += cost.content;
}

void Meter::count_message(NodeId from, Nanos delay, MessageCost cost) {
  count_sent(cost);
  if (begun_) delays_[from].add(delay);
}

void Meter::look(Nanos now) {
  if (!begun_ && flow_->own_tick() > begin_tick_) begin(flow_->own_tick(), now);
}

NodeReport Meter::report(Nanos now, const PieceSpread& pieces) {
  NodeReport report;
  report.node = self_;
  const Tick tick = flow_->own_tick();
  report.ticks = begun_ ? tick - begin_tick_ : 0;
  const auto steps = static_cast<double>(flow_->figures().own_units - begin_units_) / n_own_;
  const auto ticks = static_cast<double>(std::max<Tick>(report.ticks, 1));
  report.load.step = static_cast<double>(own_) / std::max(steps, 1.0) / n_cores_;
  report.load.message = static_cast<double>(messages_) / ticks / n_cores_;
  report.load.packing = static_cast<double>(packing_) / ticks / n_cores_;
  report.load.replicas = static_cast<double>(replicas_) / ticks / n_cores_;
  // In less than a tick nothing can be told.
  if (report.ticks == 0) report.load = load_;
  load_ = report.load;
  report.load.pieces = pieces;
  report.tick_time = static_cast<double>(now - begin_time_) / ticks;
  for (const auto& [from, log] : delays_)
    report.delays.emplace_back(from, log.delays());
  begin(tick, now);
  return report;
}

}  // namespace rubato::tick
