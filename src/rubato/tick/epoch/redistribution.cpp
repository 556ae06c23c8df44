#include "rubato/tick/epoch/redistribution.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "rubato/tick/dataflow.hpp"

namespace rubato::tick {
namespace {

// In front of every message, padded to 8 bytes.
enum class MoveMessage : std::uint64_t { samples_up = 1, samples_down, tuples };

Bytes message(MoveMessage type, ByteView payload) {
  Writer writer;
  writer.reserve(sizeof type + payload.size());
  writer.put(type);
  writer.append(payload.data(), payload.size());
  return writer.take();
}

ByteView payload_of(const Bytes& bytes) {
  return ByteView(bytes).subspan(sizeof(MoveMessage));
}

}  // namespace

Redistribution::Redistribution(StateMove& move, NodeId self, std::uint32_t n_nodes, Tick t)
    : move_(move), self_(self), n_nodes_(n_nodes), tick_(t) {
  RUBATO_REQUIRE(self < n_nodes, self, n_nodes);
  figures_.n_epochs = 1;
}

std::vector<NodeId> Redistribution::children() const {
  std::vector<NodeId> list;
  for (std::uint64_t child = 2 * std::uint64_t{self_} + 1;
       child < n_nodes_ && child <= 2 * std::uint64_t{self_} + 2; ++child) {
    list.push_back(static_cast<NodeId>(child));
  }
  return list;
}

void Redistribution::push(Step step, std::size_t i, Bytes bytes) {
  jobs_.push_back({step, i, std::move(bytes), 0});
  ready_.push_back({move_state, static_cast<std::uint32_t>(step), tick_, &jobs_.back()});
}

void Redistribution::start(core::Port& port) {
  started_ = port.now();
  push(Step::sample);
}

bool Redistribution::next_work(std::uint32_t /*core*/, core::Work& work) {
  if (ready_.empty()) return false;
  work = ready_.front();
  ready_.pop_front();
  return true;
}

void Redistribution::run(const core::Work& work, std::uint32_t /*core*/) {
  Job& job = *static_cast<Job*>(work.detail);
  switch (job.step) {
    case Step::sample:
      job.bytes = move_.sample();
      break;
    case Step::merge:
      job.bytes = std::move(*own_);
      for (const Bytes& part : parts_)
        move_.merge_samples(job.bytes, payload_of(part));
      break;
    case Step::decide:
      move_.decide(job.bytes);
      // Each cut looks at all counts, and there are about log2(n) of them above each part.
      job.n_bytes = job.bytes.size() * std::bit_width(n_nodes_);
      return;
    case Step::pack: {
      Writer out;
      out.put(MoveMessage::tuples);
      move_.pack(job.i, out);
      job.bytes = out.take();
      break;
    }
    case Step::unpack:
      move_.unpack(job.i, payload_of(job.bytes));
      break;
    case Step::keep:
      move_.keep();
      break;
  }
  job.n_bytes = job.bytes.size();
}

Nanos Redistribution::cost(const core::Work& work) const {
  return move_.cost(static_cast<const Job*>(work.detail)->n_bytes);
}

Nanos Redistribution::message_cost(std::size_t n_bytes) const {
  // As in Dataflow: the contents are charged when they are packed and unpacked.
  return n_bytes == 0 ? 0 : 2 * kMicrosecond;
}

void Redistribution::on_message(core::Port& port, NodeId from, Bytes bytes) {
  RUBATO_ASSERT(bytes.size() >= sizeof(MoveMessage), bytes.size());
  MoveMessage type{};
  std::memcpy(&type, bytes.data(), sizeof type);
  switch (type) {
    case MoveMessage::samples_up:
      parts_.push_back(std::move(bytes));
      collect();
      break;
    case MoveMessage::samples_down:
      bytes.erase(bytes.begin(), bytes.begin() + sizeof type);
      spread(port, std::move(bytes));
      break;
    case MoveMessage::tuples:
      if (stage_ == Stage::moving) {
        take(from, std::move(bytes));
      } else {
        early_.emplace(from, std::move(bytes));
      }
      break;
    default:
      RUBATO_ASSERT(false, from, static_cast<std::uint64_t>(type));
  }
}

// Merges when the samples of this node and of all of its children are here.
void Redistribution::collect() {
  if (own_ && parts_.size() == children().size()) push(Step::merge);
}

// The sum of all samples is here: hands it down, and decides.
void Redistribution::spread(core::Port& port, Bytes samples) {
  stage_ = Stage::deciding;
  for (const NodeId child : children())
    port.send(child, message(MoveMessage::samples_down, samples));
  push(Step::decide, 0, std::move(samples));
}

void Redistribution::begin_moving() {
  stage_ = Stage::moving;
  packs_left_ = move_.targets().size();
  unpacks_left_ = move_.sources().size();
  for (std::size_t i = 0; i < packs_left_; ++i)
    push(Step::pack, i);
  if (packs_left_ == 0) push(Step::keep);
  for (auto& [from, bytes] : early_)
    take(from, std::move(bytes));
  early_.clear();
}

void Redistribution::take(NodeId from, Bytes bytes) {
  const auto& sources = move_.sources();
  const auto at = std::ranges::lower_bound(sources, from);
  RUBATO_ASSERT(at != sources.end() && *at == from, self_, from, tick_);
  push(Step::unpack, static_cast<std::size_t>(at - sources.begin()), std::move(bytes));
}

void Redistribution::on_finished(core::Port& port, const core::Work& work) {
  Job& job = *static_cast<Job*>(work.detail);
  switch (job.step) {
    case Step::sample:
      own_ = std::move(job.bytes);
      collect();
      break;
    case Step::merge:
      parts_.clear();
      if (self_ == 0) {
        spread(port, std::move(job.bytes));
      } else {
        port.send((self_ - 1) / 2, message(MoveMessage::samples_up, job.bytes));
      }
      break;
    case Step::decide:
      begin_moving();
      break;
    case Step::pack:
      figures_.bytes_sent += static_cast<std::int64_t>(payload_of(job.bytes).size());
      port.send(move_.targets()[job.i], std::move(job.bytes));
      if (--packs_left_ == 0) push(Step::keep);
      break;
    case Step::unpack:
      RUBATO_ASSERT(unpacks_left_ > 0, self_, tick_);
      --unpacks_left_;
      break;
    case Step::keep:
      has_kept_ = true;
      break;
  }
  job.bytes = {};
  finish_if_all_moved(port);
}

void Redistribution::finish_if_all_moved(core::Port& port) {
  if (stage_ != Stage::moving || !has_kept_ || unpacks_left_ != 0) return;
  stage_ = Stage::done;
  figures_.time = port.now() - started_;
}

std::string Redistribution::waiting_for() const {
  const std::string where = "moving the state of tick " + std::to_string(tick_);
  switch (stage_) {
    case Stage::sampling:
      return where + ", waits for the samples of the nodes " +
             (own_ && parts_.size() < children().size() ? "below it" : "above it");
    case Stage::deciding:
      return where + ", cuts";
    case Stage::moving:
      return where + ", waits for the tuples of " + std::to_string(unpacks_left_) + " of " +
             std::to_string(move_.sources().size()) + " nodes";
    default:
      return "";
  }
}

std::string Redistribution::work_name(const core::Work& work) const {
  static constexpr const char* kNames[] = {
      "counting own tuples", "merging samples", "cutting",
      "packing tuples",      "taking tuples",   "keeping own tuples"};
  const Job& job = *static_cast<const Job*>(work.detail);
  return std::string(kNames[work.index]) +
         (job.step == Step::pack     ? " for node " + std::to_string(move_.targets()[job.i])
          : job.step == Step::unpack ? " from node " + std::to_string(move_.sources()[job.i])
                                     : "") +
         " at the epoch of tick " + std::to_string(tick_);
}

}  // namespace rubato::tick
