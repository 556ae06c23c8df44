#include "rubato/core/message.hpp"

#include <algorithm>
#include <cstring>

// Bytes of a buffer: records, then {sending core, kBuffer}. A record is {handler, local core, size}
// and `size` bytes of arguments. An acknowledgement is {core, number of bytes, kAcknowledgement}.
// The kind stands at the end, so that taking it off moves nothing (channel.hpp).

#include "rubato/core/channel.hpp"

namespace rubato::core {
namespace {

constexpr std::uint32_t kBuffer = 0;
constexpr std::uint32_t kAcknowledgement = 1;

struct RecordHead {
  HandlerId handler = 0;
  std::uint32_t local_core = 0;
  std::uint32_t n_bytes = 0;
};

}  // namespace

// --- a core
// ------------------------------------------------------------------------------------------

bool CoreContext::has_room(CoreId to) {
  const auto lane = lanes_.find(shape_.node_of(to));
  if (lane == lanes_.end() || lane->second.n_on_way < window_bytes_) return true;
  wants_room_ = true;
  return false;
}

void CoreContext::begin_record(CoreId to, HandlerId handler) {
  RUBATO_REQUIRE(to < shape_.n_cores_total(), to, shape_.n_cores_total());
  writing_to_ = shape_.node_of(to);
  writing_ = &lanes_[writing_to_];
  record_at_ = writing_->bytes.size();
  if (record_at_ == 0) writing_->bytes.reserve(buffer_bytes_ + 256);
  const RecordHead head{handler, shape_.local_of(to), 0};
  put_bytes(&head, sizeof head);
}

void CoreContext::put_bytes(const void* data, std::size_t n_bytes) {
  if (n_bytes == 0) return;
  Bytes& bytes = writing_->bytes;
  const std::size_t old = bytes.size();
  bytes.resize(old + n_bytes);
  std::memcpy(bytes.data() + old, data, n_bytes);
}

void CoreContext::end_record() {
  Bytes& bytes = writing_->bytes;
  const std::size_t n_bytes = bytes.size() - record_at_ - sizeof(RecordHead);
  RUBATO_REQUIRE(n_bytes <= UINT32_MAX, n_bytes);
  const auto size = static_cast<std::uint32_t>(n_bytes);
  std::memcpy(bytes.data() + record_at_ + offsetof(RecordHead, n_bytes), &size, sizeof size);
  writing_->n_on_way += bytes.size() - record_at_;
  if (bytes.size() >= buffer_bytes_) {
    full_.emplace_back(writing_to_, std::exchange(bytes, Bytes{}));
  }
}

// --- the engine
// --------------------------------------------------------------------------------------

MessageEngine::MessageEngine(const JobShape& shape, MessageOptions options)
    : shape_(shape), options_(options) {
  for (std::uint32_t local = 0; local < shape.n_cores; ++local) {
    cores_.push_back(std::make_unique<Core>(CoreContext(
        shape.first_core() + local, shape, options.buffer_bytes, options.window_bytes)));
  }
}

MessageEngine::~MessageEngine() = default;

void MessageEngine::start(Port& /*port*/) {}

void MessageEngine::on_message(Port& /*port*/, NodeId from, Bytes bytes) {
  if (take_tag(bytes) == kBuffer) {
    unsplit_.push_back(std::move(bytes));
    return;
  }
  Reader in(bytes);
  const auto core = in.get<CoreId>();
  const auto n_bytes = in.get<std::uint64_t>();
  if (shape_.node_of(core) != shape_.node) {
    throw Error("acknowledgement for core " + std::to_string(core) + " came to node " +
                    std::to_string(shape_.node),
                ExitCode::failed);
  }
  Core& here = *cores_[shape_.local_of(core)];
  here.acknowledged[from] += n_bytes;
}

// The lanes are the running core's own, so what came for them meanwhile waits here.
void MessageEngine::take_acknowledgements(Core& core) {
  for (const auto& [node, n_bytes] : core.acknowledged) {
    auto& lane = core.here.lanes_.at(node);
    RUBATO_ASSERT(lane.n_on_way >= n_bytes, lane.n_on_way, n_bytes, node);
    lane.n_on_way -= n_bytes;
    if (core.here.wants_room_) core.has_new_room = true;
  }
  core.acknowledged.clear();
}

bool MessageEngine::next_work(std::uint32_t local, Work& work) {
  Core& core = *cores_[local];
  RUBATO_ASSERT(!core.running, local);
  take_acknowledgements(core);
  if (core.must_start) {
    core.must_start = false;
    if (on_start_) {
      work = {kStart, local, 0};
      core.running = true;
      return true;
    }
  }
  if (!core.inbox.empty()) {
    // About a buffer at a time, so that what the handlers send leaves soon.
    std::size_t n_bytes = 0;
    while (!core.inbox.empty() && n_bytes < options_.buffer_bytes) {
      n_bytes += core.inbox.front().records.size();
      core.applying.push_back(std::move(core.inbox.front()));
      core.inbox.pop_front();
    }
    work = {kApply, local, 0};
  } else if (!unsplit_.empty() && !is_splitting_) {
    // One at a time: the order of buffers is the order of messages.
    is_splitting_ = true;
    splitting_ = std::move(unsplit_.front());
    unsplit_.pop_front();
    work = {kSplit, local, 0};
  } else if (core.has_new_room) {
    core.has_new_room = core.here.wants_room_ = false;
    if (!on_room_) return false;
    work = {kRoom, local, 0};
  } else {
    return false;
  }
  core.running = true;
  return true;
}

void MessageEngine::run(const Work& work, std::uint32_t /*core*/) {
  Core& core = *cores_[work.index];
  switch (work.kind) {
    case kStart:
      on_start_(core.here);
      return;
    case kRoom:
      on_room_(core.here);
      return;
    case kSplit:
      split();
      return;
    default:
      apply(core);
  }
}

void MessageEngine::split() {
  split_.assign(shape_.n_cores, {});
  CoreId from = 0;
  if (splitting_.size() < sizeof from) throw Error("buffer of messages without a sender");
  const std::size_t end = splitting_.size() - sizeof from;
  std::memcpy(&from, splitting_.data() + end, sizeof from);
  if (shape_.n_cores == 1) {
    splitting_.resize(end);
    split_[0] = {from, std::move(splitting_)};
    return;
  }
  Reader in(ByteView(splitting_).first(end));
  while (!in.at_end()) {
    const auto head = in.get<RecordHead>();
    const ByteView arguments = in.get_view(head.n_bytes);
    if (head.local_core >= shape_.n_cores) {
      throw Error("message for core " + std::to_string(head.local_core) + " of a node with " +
                      std::to_string(shape_.n_cores),
                  ExitCode::failed);
    }
    Piece& piece = split_[head.local_core];
    piece.from = from;
    Bytes& to = piece.records;
    const std::size_t old = to.size();
    to.resize(old + sizeof head + head.n_bytes);
    std::memcpy(to.data() + old, &head, sizeof head);
    if (head.n_bytes > 0) {
      std::memcpy(to.data() + old + sizeof head, arguments.data(), arguments.size());
    }
  }
}

void MessageEngine::apply(Core& core) {
  core.n_applied = 0;
  for (const Piece& piece : core.applying) {
    Reader in(piece.records);
    while (!in.at_end()) {
      const auto head = in.get<RecordHead>();
      Reader arguments(in.get_view(head.n_bytes));
      detail::handler_at(head.handler)(core.here, arguments);
      ++core.n_applied;
    }
  }
}

void MessageEngine::on_finished(Port& port, const Work& work) {
  Core& core = *cores_[work.index];
  core.running = false;
  if (work.kind == kApply) {
    n_applied_ += core.n_applied;
    for (const Piece& piece : core.applying)
      note_applied(piece);
    core.applying.clear();
  } else if (work.kind == kSplit) {
    is_splitting_ = false;
    for (std::uint32_t local = 0; local < shape_.n_cores; ++local) {
      if (!split_[local].records.empty()) {
        cores_[local]->inbox.push_back(std::move(split_[local]));
      }
    }
  }
  // With nothing left to apply, the core is about to be idle: what has gathered leaves.
  const bool idles = core.inbox.empty() && unsplit_.empty();
  acknowledge(port, idles);
  flush(port, core, idles || port.now() >= core.flush_at);
}

void MessageEngine::flush(Port& port, Core& core, bool all) {
  CoreContext& here = core.here;
  for (auto& [to, bytes] : std::exchange(here.full_, {})) {
    post(port, here.core(), to, std::move(bytes));
  }
  bool is_empty = true;
  for (auto& [to, lane] : here.lanes_) {
    if (lane.bytes.empty()) continue;
    if (all) {
      post(port, here.core(), to, std::exchange(lane.bytes, Bytes{}));
    } else {
      is_empty = false;
    }
  }
  if (is_empty) {
    core.flush_at = kNever;
  } else if (core.flush_at == kNever) {
    core.flush_at = port.now() + options_.deadline;
    port.wake_at(core.flush_at);
  }
}

void MessageEngine::post(Port& port, CoreId from, NodeId to, Bytes bytes) {
  ++n_buffers_;
  const std::size_t old = bytes.size();
  bytes.resize(old + sizeof from);
  std::memcpy(bytes.data() + old, &from, sizeof from);
  if (to == shape_.node) {
    unsplit_.push_back(std::move(bytes));
    return;
  }
  add_tag(bytes, kBuffer);
  port.send(to, std::move(bytes));
}

void MessageEngine::note_applied(const Piece& piece) {
  if (shape_.node_of(piece.from) == shape_.node) {
    cores_[shape_.local_of(piece.from)]->acknowledged[shape_.node] += piece.records.size();
  } else {
    owed_[piece.from] += piece.records.size();
  }
}

// Of small debts one message when a core idles; of large ones at once, so that senders go on.
void MessageEngine::acknowledge(Port& port, bool all) {
  for (auto owed = owed_.begin(); owed != owed_.end();) {
    if (!all && owed->second < options_.window_bytes / 4) {
      ++owed;
      continue;
    }
    Writer out;
    out.put(owed->first);
    out.put(owed->second);
    Bytes bytes = out.take();
    add_tag(bytes, kAcknowledgement);
    port.send(shape_.node_of(owed->first), std::move(bytes));
    owed = owed_.erase(owed);
  }
}

void MessageEngine::on_time(Port& port) {
  for (auto& core : cores_) {
    if (core->flush_at == kNever) continue;
    // A running core's buffers are its own; it looks at the deadline when it has finished.
    if (core->flush_at <= port.now() && !core->running) {
      flush(port, *core, true);
    } else if (!core->running) {
      port.wake_at(core->flush_at);
    }
  }
}

bool MessageEngine::more_work() const {
  return (!unsplit_.empty() && !is_splitting_) ||
         std::any_of(cores_.begin(), cores_.end(), [](const auto& core) {
           return !core->running && (core->must_start || !core->inbox.empty() ||
                                     !core->acknowledged.empty() || core->has_new_room);
         });
}

bool MessageEngine::finished() const {
  return unsplit_.empty() && !is_splitting_ && owed_.empty() &&
         std::all_of(cores_.begin(), cores_.end(), [](const auto& core) {
           // Room that nobody has been told of yet may start everything anew.
           return !core->running && !core->must_start && core->inbox.empty() &&
                  core->flush_at == kNever && core->acknowledged.empty() && !core->has_new_room;
         });
}

std::string MessageEngine::waiting_for() const {
  for (const auto& core : cores_) {
    if (!core->running && core->here.wants_room_) {
      return "room to send from core " + std::to_string(core->here.core());
    }
  }
  return "";
}

Nanos MessageEngine::cost(const Work& work) const {
  if (work.kind == kSplit) return options_.buffer_cost;
  if (work.kind != kApply) return options_.apply_cost;
  return options_.apply_cost * static_cast<Nanos>(cores_[work.index]->n_applied);
}

Nanos MessageEngine::message_cost(std::size_t /*n_bytes*/) const {
  return options_.buffer_cost;
}

std::string MessageEngine::work_name(const Work& work) const {
  switch (work.kind) {
    case kStart:
      return "what a core of a message engine does at the start";
    case kApply:
      return "message handlers";
    case kRoom:
      return "sending what there was no room for";
    default:
      return "splitting a buffer of messages by core";
  }
}

}  // namespace rubato::core
