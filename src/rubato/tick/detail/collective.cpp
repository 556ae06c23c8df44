#include "rubato/tick/detail/collective.hpp"

#include <algorithm>

namespace rubato::tick::detail {
namespace {

Bytes message(const MessageHeader& header, ByteView payload = {}) {
  Writer writer;
  writer.reserve(sizeof header + payload.size());
  writer.put(header);
  writer.append(payload.data(), payload.size());
  return writer.take();
}

}  // namespace

void Barrier::arrive(core::Port& port, Tick t) {
  RUBATO_ASSERT(t == released_ + 1 && current_ == released_, t, released_);
  current_ = t;
  stage_ = 0;
  if (n_nodes_ > 1) send_stage(port);
  progress(port);
}

void Barrier::send_stage(core::Port& port) {
  const NodeId to =
      static_cast<NodeId>((std::uint64_t{self_} + (std::uint64_t{1} << stage_)) % n_nodes_);
  port.send(to, message({MessageType::barrier, stage_, current_}));
}

void Barrier::on_message(core::Port& port, const MessageHeader& header) {
  if (header.tick <= released_) return;  // of a barrier that resume() has left behind
  came_.emplace(header.tick, header.detail);
  progress(port);
}

void Barrier::resume(Tick t) {
  released_ = current_ = t;
  came_.erase(came_.begin(), came_.lower_bound({t + 1, 0}));
}

void Barrier::progress(core::Port& port) {
  if (current_ == released_) return;
  while ((std::uint64_t{1} << stage_) < n_nodes_) {
    if (came_.erase({current_, stage_}) == 0) return;
    ++stage_;
    if ((std::uint64_t{1} << stage_) < n_nodes_) send_stage(port);
  }
  released_ = current_;
}

StopTest::StopTest(NodeId self, std::uint32_t n_nodes, Store& store, Tick begin, Tick end)
    : self_(self),
      n_nodes_(n_nodes),
      store_(&store),
      interval_(store.stop_interval()),
      lag_(std::max<Tick>(store.stop_lag(), 0)),
      end_(end),
      next_undecided_(interval_ > 0 ? (begin / interval_ + 1) * interval_ : 0) {}

StopTest::Pending& StopTest::pending(Tick t) {
  const auto [at, is_new] = pending_.try_emplace(t);
  if (is_new) {
    const std::uint64_t first = 2 * std::uint64_t{self_} + 1;
    at->second.missing = 1 + (first < n_nodes_ ? 1 : 0) + (first + 1 < n_nodes_ ? 1 : 0);
  }
  return at->second;
}

void StopTest::add(Tick t, ByteView part) {
  store_->combine(pending(t).measure, part);
}

void StopTest::complete(core::Port& port, Tick t) {
  part_complete(port, t);
}

void StopTest::on_message(core::Port& port, const MessageHeader& header, ByteView payload) {
  if (header.type == MessageType::measure) {
    add(header.tick, payload);
    part_complete(port, header.tick);
  } else {
    decided(port, header.tick, header.detail != 0);
  }
}

void StopTest::part_complete(core::Port& port, Tick t) {
  Pending& entry = pending(t);
  if (--entry.missing != 0) return;
  const Bytes measure = std::move(entry.measure);
  pending_.erase(t);
  if (self_ == 0) {
    decided(port, t, store_->stop(measure, t));
  } else {
    port.send((self_ - 1) / 2, message({MessageType::measure, 0, t}, measure));
  }
}

void StopTest::decided(core::Port& port, Tick t, bool stop) {
  for (std::uint64_t child = 2 * std::uint64_t{self_} + 1;
       child < n_nodes_ && child <= 2 * std::uint64_t{self_} + 2; ++child) {
    port.send(static_cast<NodeId>(child), message({MessageType::decision, stop ? 1U : 0U, t}));
  }
  // Decisions come in order: tests complete in the order of ticks on every node of the tree.
  RUBATO_ASSERT(t == next_undecided_, t, next_undecided_);
  next_undecided_ = t + interval_;
  if (stop) end_ = std::min(end_, t + lag_);
}

Tick StopTest::limit() const noexcept {
  return interval_ > 0 && next_undecided_ + lag_ < end_ ? next_undecided_ + lag_ : end_;
}

}  // namespace rubato::tick::detail
