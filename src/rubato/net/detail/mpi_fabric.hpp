#pragma once
// MpiFabric: a Fabric on the C interface of an MPI plugin; knows no MPI itself.
//
// - Messages travel as fragments of at most kSlotBytes; a larger one is announced, then sent so.
// - Receives are pre-posted, so fragments of a pair may complete out of order: the tag holds a
//   number, and what is early stays in its slot. Fragments of other nodes are never held up by
//   that (a rendezvous that waits for a late network must not delay its neighbours).
// - Back-pressure: once a quarter of what may lie unmatched at a peer is on its way, one fragment is
//   synchronous. When it completes, its receiver has matched all that was sent before, so what a
//   slow receiver leaves lying in MPI's memory has a bound too. Its answer is a message of its own,
//   which a late network holds up like any other, and what follows it: not one is sent in vain.
// - The first fragment to a peer carries the name of our host: nobody gathers a table of all nodes.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "rubato/net/fabric.hpp"
#include "rubato/net/local.hpp"
#include "rubato/net/mpi/plugin_api.h"

namespace rubato::net::detail {

class MpiFabric final : public Fabric {
 public:
  // Receives that are posted: 32 x 264 KiB, room for a 256 KiB buffer and what is put before it.
  static constexpr std::uint32_t kSlots = 32;
  static constexpr std::uint32_t kSlotBytes = 264 * 1024;
  // Sends that may be open at once, in all and to one peer.
  static constexpr std::uint32_t kSendsMax = 256;
  static constexpr std::uint32_t kSendsPerPeerMax = 32;

  // `api` was started with the constants above and gave `info`; it must outlive this. Refuses above
  // `pair_bytes_max` bytes that were sent to one node and not yet matched there.
  MpiFabric(const RubatoMpiApi& api, const RubatoMpiInfo& info, std::size_t pair_bytes_max);

  // Collective, and blocks: drains, waits until all nodes come here, and stops MPI. What still
  // comes is dropped. Says so on stderr when it takes longer than 10 s.
  ~MpiFabric() override;

  [[nodiscard]] NodeId node() const noexcept override { return info_.rank; }
  [[nodiscard]] std::uint32_t n_nodes() const noexcept override { return info_.n_ranks; }
  [[nodiscard]] bool try_send(NodeId to, Bytes& bytes) noexcept override;
  [[nodiscard]] bool poll(Arrival& arrival) noexcept override;
  [[nodiscard]] bool drained() const noexcept override;
  // "?" for a node that has not sent anything to this one.
  [[nodiscard]] std::string host(NodeId node) const override;
  [[noreturn]] void abort(int code, const std::string& message) noexcept override;

  // The MPI and its version, for people.
  [[nodiscard]] const char* library() const noexcept { return info_.library; }

 private:
  // What a fragment is; in the low bits of its tag.
  enum class Kind : std::uint32_t { whole = 0, first = 1, part = 2, hello = 3 };

  struct OutMessage {
    Bytes bytes;
    std::uint64_t n_bytes = 0;  // sent as the content of the first fragment of a large message
    std::size_t n_posted = 0;
    bool announced = false;
  };
  struct PeerOut {
    std::deque<std::shared_ptr<OutMessage>> queue;  // not fully posted
    std::uint32_t next_number = 0;
    std::uint32_t n_open = 0;
    std::uint64_t n_accepted = 0;  // bytes with envelopes: taken, given to MPI, matched there
    std::uint64_t n_posted = 0;
    std::uint64_t n_matched = 0;
    bool synchronous_is_open = false;
    bool is_listed = false;  // in waiting_
  };
  struct Fragment {
    std::shared_ptr<OutMessage> message;  // keeps the bytes until they are sent
    PeerOut* peer = nullptr;
    std::uint64_t end = 0;  // of this fragment in n_posted
    bool is_synchronous = false;
  };
  struct PeerIn {
    std::uint32_t next_number = 0;
    std::vector<RubatoMpiEvent> early;  // at most kSlots
    Bytes partial;
    std::uint64_t n_partial = 0;  // size of the message that is coming in parts; 0 is none
    std::string host;
  };
  struct Piece {
    Kind kind;
    const void* data;
    std::size_t n_bytes;
    std::size_t weight;  // what it adds to n_posted
    bool asks = false;   // synchronous, whatever is on its way
  };

  void pump(NodeId to, PeerOut& peer);
  void pump_waiting();
  void post(NodeId to, PeerOut& peer, const Piece& piece, std::shared_ptr<OutMessage> message);
  void ask_for_match(NodeId to, PeerOut& peer);
  void progress();
  void on_sent(const RubatoMpiEvent& event);
  void on_came(const RubatoMpiEvent& event);
  void take(PeerIn& peer, const RubatoMpiEvent& event);
  [[nodiscard]] bool pop(Arrival& arrival);
  [[nodiscard]] bool ready_to_leave();
  void require(bool ok);

  const RubatoMpiApi& api_;
  RubatoMpiInfo info_;
  std::string host_;
  std::size_t pair_bytes_max_;
  LocalFabric self_;
  std::unordered_map<NodeId, PeerOut> out_;  // in no order that shows
  std::unordered_map<NodeId, PeerIn> in_;
  std::deque<NodeId> waiting_;  // peers with a queue
  std::vector<Fragment> fragments_;
  std::vector<std::uint32_t> free_fragments_;
  std::uint32_t n_open_ = 0;
  std::vector<RubatoMpiEvent> events_;
  std::deque<Arrival> ready_;  // at most what one progress() brought
  std::uint32_t n_polls_ = 0;
  // Within a call of MPI that may end the process: MPICH does so with exit(), which destroys static
  // objects, and one of them may own us.
  bool inside_mpi_ = false;
};

}  // namespace rubato::net::detail
