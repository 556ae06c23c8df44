#pragma once
// Fabric: what moves bytes between the nodes of a job.
//
// Delivers whole buffers, in order for each pair of nodes, never lost, never blocking. One fabric a
// job. Called by one thread of the node at a time (its service thread or an idle core's event
// loop). Kinds: local (a job of one node), mpi (a plugin for each MPI), sim (virtual nodes in one
// thread).

#include <cstddef>
#include <cstdint>
#include <string>

#include "rubato/base/bytes.hpp"
#include "rubato/base/time.hpp"

namespace rubato::net {

using NodeId = std::uint32_t;

// A whole buffer that came from a node.
struct Arrival {
  NodeId from = 0;
  Bytes bytes;
  Nanos came = 0;  // in virtual time; 0 where there is none
};

// What a message weighs beside its bytes in every bound: a queue of empty ones must have an end
// too.
inline constexpr std::size_t kEnvelopeBytes = 64;

class Fabric {
 public:
  Fabric() = default;
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;
  virtual ~Fabric() = default;

  [[nodiscard]] virtual NodeId node() const noexcept = 0;
  [[nodiscard]] virtual std::uint32_t n_nodes() const noexcept = 0;

  // Takes `bytes` and returns true, or leaves them untouched and returns false if too much is on
  // its way to `to`: poll, then try again. Sending to oneself is allowed. Never blocks.
  [[nodiscard]] virtual bool try_send(NodeId to, Bytes& bytes) noexcept = 0;

  // Hands over the next buffer that came, or returns false. Also drives sends that are on their
  // way, so it is called even by a node that expects nothing. Never blocks.
  [[nodiscard]] virtual bool poll(Arrival& arrival) noexcept = 0;

  // True if all that was sent has left this node's memory.
  [[nodiscard]] virtual bool drained() const noexcept = 0;

  // The host of a node, for people: "node 2 (cn-17)".
  [[nodiscard]] virtual std::string host(NodeId node) const = 0;

  // Ends the whole job at once with `code`, after `message`; used when a node fails alone.
  [[noreturn]] virtual void abort(int code, const std::string& message) noexcept = 0;
};

}  // namespace rubato::net
