#pragma once
// LocalFabric: the fabric of a job of one node. It can only send to itself, and does so through a
// bounded queue: what try_send took, the next poll hands over.

#include <cstddef>
#include <deque>

#include "rubato/net/fabric.hpp"

namespace rubato::net {

class LocalFabric final : public Fabric {
 public:
  // Refuses above `bytes_max` bytes that were sent and not polled; one message always passes.
  explicit LocalFabric(std::size_t bytes_max = std::size_t{64} << 20);

  [[nodiscard]] NodeId node() const noexcept override { return 0; }
  [[nodiscard]] std::uint32_t n_nodes() const noexcept override { return 1; }
  [[nodiscard]] bool try_send(NodeId to, Bytes& bytes) noexcept override;
  [[nodiscard]] bool poll(Arrival& arrival) noexcept override;
  [[nodiscard]] bool drained() const noexcept override { return true; }
  [[nodiscard]] std::string host(NodeId node) const override;
  [[noreturn]] void abort(int code, const std::string& message) noexcept override;

 private:
  std::size_t bytes_max_;
  std::size_t n_bytes_ = 0;
  std::deque<Bytes> queue_;
};

// The name of this machine, for people; "localhost" if it has none.
[[nodiscard]] std::string this_host();

}  // namespace rubato::net
