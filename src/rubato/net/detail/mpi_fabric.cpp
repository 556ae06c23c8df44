#include "rubato/net/detail/mpi_fabric.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "rubato/base/error.hpp"

namespace rubato::net::detail {
namespace {

// Numbers of fragments wrap here: 13 bits and 2 for the kind fill the tag that every MPI has. At
// most kSlots fragments of a pair are early, far below half of that.
constexpr std::uint32_t kNumbers = (RUBATO_MPI_TAG_MAX + 1) / 4;
// How often poll() drives the network though messages are at hand.
constexpr std::uint32_t kPollsPerProgress = 16;

constexpr Nanos kLeaveNap = 20 * kMicrosecond;
constexpr Nanos kLeaveReport = 10 * kSecond;

}  // namespace

MpiFabric::MpiFabric(const RubatoMpiApi& api, const RubatoMpiInfo& info, std::size_t pair_bytes_max)
    : api_(api),
      info_(info),
      host_(info.host),
      pair_bytes_max_(pair_bytes_max),
      self_(pair_bytes_max),
      fragments_(kSendsMax),
      events_(kSlots + kSendsMax) {
  for (std::uint32_t i = 0; i < kSendsMax; ++i)
    free_fragments_.push_back(kSendsMax - 1 - i);
}

MpiFabric::~MpiFabric() {
  if (inside_mpi_) return;
  const Nanos start = steady_now();
  bool told = false;
  // MPI may hang in its own end while messages are unmatched, so nobody stops it before all of ours
  // are, everywhere.
  while (true) {
    progress();
    ready_.clear();
    if (ready_to_leave()) {
      const int left = api_.try_barrier();
      require(left >= 0);
      if (left > 0) break;
    }
    if (!told && steady_now() - start > kLeaveReport) {
      told = true;
      std::fprintf(stderr, "rubato: node %u (%s) has finished and waits for the other nodes\n",
                   info_.rank, info_.host);
    }
    nap(kLeaveNap);
  }
  require(api_.finish() == 0);
}

void MpiFabric::require(bool ok) {
  if (!ok) {
    abort(static_cast<int>(ExitCode::node_lost), std::string("MPI failed: ") + api_.error_text());
  }
}

bool MpiFabric::try_send(NodeId to, Bytes& bytes) noexcept {
  RUBATO_REQUIRE(to < info_.n_ranks, to, info_.n_ranks);
  if (to == info_.rank) return self_.try_send(0, bytes);
  const auto [at, is_new] = out_.try_emplace(to);
  PeerOut& peer = at->second;
  const std::size_t weight = bytes.size() + kEnvelopeBytes;
  const std::uint64_t n_pending = peer.n_accepted - peer.n_matched;
  if (n_pending > 0 && n_pending + weight > pair_bytes_max_) {
    ask_for_match(to, peer);
    return false;
  }
  auto message = std::make_shared<OutMessage>();
  message->bytes = std::exchange(bytes, Bytes());
  message->n_bytes = message->bytes.size();
  peer.n_accepted += weight;
  if (is_new) {
    // Outside of the bounds: it is the only fragment of its kind, and there is always room for it.
    peer.queue.push_back(nullptr);
  }
  peer.queue.push_back(std::move(message));
  pump(to, peer);
  return true;
}

// What was sent behind the last synchronous fragment would never be known as matched without
// another.
void MpiFabric::ask_for_match(NodeId to, PeerOut& peer) {
  if (peer.synchronous_is_open || !peer.queue.empty() || n_open_ == kSendsMax) return;
  post(to, peer, {Kind::hello, host_.data(), host_.size(), 0, true}, nullptr);
}

void MpiFabric::pump(NodeId to, PeerOut& peer) {
  while (!peer.queue.empty() && n_open_ < kSendsMax && peer.n_open < kSendsPerPeerMax) {
    const std::shared_ptr<OutMessage> message = peer.queue.front();
    if (message == nullptr) {
      post(to, peer, {Kind::hello, host_.data(), host_.size(), 0}, nullptr);
      peer.queue.pop_front();
      continue;
    }
    const std::size_t n_bytes = message->bytes.size();
    if (n_bytes > kSlotBytes && !std::exchange(message->announced, true)) {
      post(to, peer, {Kind::first, &message->n_bytes, sizeof message->n_bytes, 0}, message);
      continue;
    }
    const std::size_t n_piece = std::min<std::size_t>(kSlotBytes, n_bytes - message->n_posted);
    const std::byte* data = message->bytes.data() + message->n_posted;
    message->n_posted += n_piece;
    const bool is_last = message->n_posted == n_bytes;
    const Kind kind = n_bytes > kSlotBytes ? Kind::part : Kind::whole;
    post(to, peer, {kind, data, n_piece, n_piece + (is_last ? kEnvelopeBytes : 0)}, message);
    if (is_last) peer.queue.pop_front();
  }
  if (!peer.queue.empty() && !std::exchange(peer.is_listed, true)) waiting_.push_back(to);
}

void MpiFabric::pump_waiting() {
  // Each peer once, in turns.
  for (std::size_t n = waiting_.size(); n > 0 && n_open_ < kSendsMax; --n) {
    const NodeId to = waiting_.front();
    waiting_.pop_front();
    PeerOut& peer = out_.at(to);
    peer.is_listed = false;
    pump(to, peer);
  }
}

void MpiFabric::post(NodeId to, PeerOut& peer, const Piece& piece,
                     std::shared_ptr<OutMessage> message) {
  const std::uint32_t token = free_fragments_.back();
  free_fragments_.pop_back();
  peer.n_posted += piece.weight;
  const bool asks = piece.asks || peer.n_posted - peer.n_matched >= pair_bytes_max_ / 4;
  const bool is_synchronous = asks && !peer.synchronous_is_open;
  peer.synchronous_is_open |= is_synchronous;
  fragments_[token] = {std::move(message), &peer, peer.n_posted, is_synchronous};
  const std::uint32_t tag = peer.next_number << 2 | static_cast<std::uint32_t>(piece.kind);
  peer.next_number = (peer.next_number + 1) % kNumbers;
  ++peer.n_open;
  ++n_open_;
  require(api_.send(to, tag, piece.data, static_cast<std::uint32_t>(piece.n_bytes), token,
                    is_synchronous ? 1 : 0) == 0);
}

void MpiFabric::progress() {
  inside_mpi_ = true;
  const int n_events = api_.progress(events_.data());
  inside_mpi_ = false;
  require(n_events >= 0);
  for (int i = 0; i < n_events; ++i) {
    const RubatoMpiEvent& event = events_[static_cast<std::size_t>(i)];
    if (event.kind == RUBATO_MPI_SENT) {
      on_sent(event);
    } else {
      on_came(event);
    }
  }
  pump_waiting();
}

void MpiFabric::on_sent(const RubatoMpiEvent& event) {
  const auto token = static_cast<std::uint32_t>(event.token);
  const Fragment fragment = std::exchange(fragments_[token], Fragment());
  free_fragments_.push_back(token);
  --n_open_;
  --fragment.peer->n_open;
  if (!fragment.is_synchronous) return;
  fragment.peer->synchronous_is_open = false;
  fragment.peer->n_matched = fragment.end;
}

void MpiFabric::on_came(const RubatoMpiEvent& event) {
  PeerIn& peer = in_[event.from];
  if (event.tag >> 2 != peer.next_number) {
    peer.early.push_back(event);
    return;
  }
  take(peer, event);
  // What was early may be due now; there are few, and the order of the list means nothing.
  for (std::size_t i = 0; i < peer.early.size();) {
    if (peer.early[i].tag >> 2 != peer.next_number) {
      ++i;
      continue;
    }
    const RubatoMpiEvent due = peer.early[i];
    peer.early[i] = peer.early.back();
    peer.early.pop_back();
    take(peer, due);
    i = 0;
  }
}

void MpiFabric::take(PeerIn& peer, const RubatoMpiEvent& event) {
  peer.next_number = (peer.next_number + 1) % kNumbers;
  const auto* data = static_cast<const std::byte*>(event.data);
  const std::size_t n_bytes = event.n_bytes;
  switch (static_cast<Kind>(event.tag & 3U)) {
    case Kind::whole:
      ready_.push_back({event.from, Bytes(data, data + n_bytes)});
      break;
    case Kind::first:
      RUBATO_ASSERT(n_bytes == sizeof peer.n_partial && peer.n_partial == 0, n_bytes);
      std::memcpy(&peer.n_partial, data, sizeof peer.n_partial);
      peer.partial.reserve(peer.n_partial);
      break;
    case Kind::part:
      RUBATO_ASSERT(peer.partial.size() + n_bytes <= peer.n_partial, n_bytes, peer.n_partial);
      peer.partial.insert(peer.partial.end(), data, data + n_bytes);
      if (peer.partial.size() == peer.n_partial) {
        ready_.push_back({event.from, std::exchange(peer.partial, Bytes())});
        peer.n_partial = 0;
      }
      break;
    case Kind::hello:
      peer.host.assign(static_cast<const char*>(event.data), n_bytes);
      break;
  }
  require(api_.release(event.slot) == 0);
}

bool MpiFabric::pop(Arrival& arrival) {
  if (!ready_.empty()) {
    arrival = std::move(ready_.front());
    ready_.pop_front();
    return true;
  }
  if (!self_.poll(arrival)) return false;
  arrival.from = info_.rank;
  return true;
}

bool MpiFabric::poll(Arrival& arrival) noexcept {
  // A node that has always something at hand, from itself, must not stop the network.
  if (++n_polls_ % kPollsPerProgress != 0 && pop(arrival)) return true;
  // What is at hand goes first, or ready_ would grow.
  if (ready_.empty()) progress();
  return pop(arrival);
}

bool MpiFabric::drained() const noexcept {
  return n_open_ == 0 && waiting_.empty();
}

bool MpiFabric::ready_to_leave() {
  if (!drained()) return false;
  bool all_matched = true;
  // order: of no effect, each peer is asked for itself.
  for (auto& [to, peer] : out_) {
    if (peer.n_matched == peer.n_accepted) continue;
    all_matched = false;
    ask_for_match(to, peer);
  }
  return all_matched;
}

std::string MpiFabric::host(NodeId node) const {
  RUBATO_REQUIRE(node < info_.n_ranks, node, info_.n_ranks);
  if (node == info_.rank) return host_;
  const auto at = in_.find(node);
  return at == in_.end() || at->second.host.empty() ? "?" : at->second.host;
}

void MpiFabric::abort(int code, const std::string& message) noexcept {
  std::fprintf(stderr, "rubato: node %u (%s): %s\n", info_.rank, info_.host, message.c_str());
  std::fflush(nullptr);
  inside_mpi_ = true;
  // MPICH ends this process with exit(), which must not destroy what is in use. The last handler
  // that was registered is the first to run.
  static int code_of_exit = 0;
  code_of_exit = code;
  std::atexit([] { std::_Exit(code_of_exit); });
  api_.abort(code);
  std::_Exit(code);
}

}  // namespace rubato::net::detail
