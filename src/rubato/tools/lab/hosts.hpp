#pragma once
// Emulated hosts: a network and a UTS namespace each, with two TUN devices whose other ends this
// process holds. Needs root, network namespaces and /dev/net/tun; no kernel module besides, and
// nothing is mounted or named: all of it vanishes with the process, even when it is killed.
//
//   host i = 1..N    hostname host-i
//   jl0  10.77.0.i   the jittery network
//   jl1  10.78.0.i   an undelayed one, for launchers

#include <cstdint>
#include <string>
#include <vector>

#include "rubato/base/error.hpp"

namespace rubato::tools::lab {

inline constexpr int kHostsMax = 99;

// Which of a host's two networks.
enum class Network { jittery, control };

// The first three bytes of a network's addresses, as the upper 24 bits.
[[nodiscard]] constexpr std::uint32_t prefix_of(Network network) noexcept {
  return network == Network::jittery ? 0x0a4d0000U : 0x0a4e0000U;
}

class Hosts {
 public:
  // Makes `n_hosts` hosts; `mtu` is in bytes. Throws Error that says what is not permitted.
  // REQUIRES: 2 <= n_hosts <= kHostsMax; one Hosts a process, which has one thread.
  Hosts(int n_hosts, int mtu);
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;
  // Ends processes that are still inside, and only those.
  ~Hosts();

  [[nodiscard]] int n_hosts() const noexcept { return n_hosts_; }

  // Our end of a device: a read gives the next IP packet that the host has sent, a write delivers
  // one. Non-blocking.
  [[nodiscard]] int device(Network network, int host) const;

  // Moves the calling process into a host. For children of this process.
  void enter(int host) const;

 private:
  void make_host(int host);
  void end_leftovers() const;

  int n_hosts_;
  int mtu_;
  std::vector<int> devices_[2];  // by network, then host - 1
};

// Moves this process into `host` of the lab that process `lab_pid` runs. Throws Error.
void enter_host_of(int lab_pid, int host);

// A private mount namespace whose /sys shows the devices of the current network namespace:
// libraries that look into /sys/class/net need it. Best effort.
void refresh_sysfs() noexcept;

}  // namespace rubato::tools::lab
