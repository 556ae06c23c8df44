#include "rubato/net/local.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <unistd.h>

#include "rubato/base/error.hpp"

namespace rubato::net {

LocalFabric::LocalFabric(std::size_t bytes_max) : bytes_max_(bytes_max) {}

bool LocalFabric::try_send(NodeId to, Bytes& bytes) noexcept {
  RUBATO_REQUIRE(to == 0, to);
  if (!queue_.empty() && n_bytes_ + bytes.size() + kEnvelopeBytes > bytes_max_) return false;
  n_bytes_ += bytes.size() + kEnvelopeBytes;
  queue_.push_back(std::exchange(bytes, Bytes()));
  return true;
}

bool LocalFabric::poll(Arrival& arrival) noexcept {
  if (queue_.empty()) return false;
  arrival.from = 0;
  arrival.bytes = std::move(queue_.front());
  queue_.pop_front();
  n_bytes_ -= arrival.bytes.size() + kEnvelopeBytes;
  return true;
}

std::string LocalFabric::host(NodeId node) const {
  RUBATO_REQUIRE(node == 0, node);
  return this_host();
}

void LocalFabric::abort(int code, const std::string& message) noexcept {
  std::fprintf(stderr, "rubato: %s\n", message.c_str());
  std::fflush(nullptr);
  std::_Exit(code);
}

std::string this_host() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

}  // namespace rubato::net
