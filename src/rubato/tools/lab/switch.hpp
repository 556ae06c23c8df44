#pragma once
// The switch between the lab's hosts: holds every IP packet back for as long as the profile says,
// then hands it to its destination. Packets are never lost, and never reordered within a pair of
// hosts.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include <sys/types.h>

#include "rubato/base/time.hpp"
#include "rubato/net/latency.hpp"
#include "rubato/tools/lab/hosts.hpp"

namespace rubato::tools::lab {

struct SwitchOptions {
  net::Profile profile;
  std::uint64_t seed = 1;
  int mtu = 65000;  // bytes
  bool real_time =
      true;  // under SCHED_FIFO, so that it preempts the programs; ignored if forbidden
};

struct SwitchFigures {
  std::uint64_t n_packets = 0;  // of the jittery network
  std::uint64_t n_bytes = 0;
  std::uint64_t n_foreign = 0;  // to no host of the lab: multicast, IPv6
  std::uint64_t n_refused = 0;  // that a host did not take
  // How many packets were handed over i us after their time; the last counts all that were later.
  std::vector<std::uint32_t> late_us = std::vector<std::uint32_t>(2001, 0);
  double cpu_seconds = 0;
};

class Switch {
 public:
  // `hosts` must outlive this.
  Switch(const Hosts& hosts, SwitchOptions options);

  // Forwards packets until process `child` of ours ends; returns its wait status. `signals` is a
  // signalfd with SIGCHLD; other signals that come by it are passed on to the child.
  [[nodiscard]] int run(pid_t child, int signals);

  [[nodiscard]] const SwitchFigures& figures() const noexcept { return figures_; }

 private:
  struct Packet {
    Nanos release = 0;
    std::uint64_t sequence = 0;  // among equal times: the order of arrival
    int device = -1;             // of the destination
    std::uint32_t n_bytes = 0;
    std::unique_ptr<std::uint8_t[]> data;
  };
  struct Later {
    bool operator()(const Packet& a, const Packet& b) const noexcept {
      return a.release != b.release ? a.release > b.release : a.sequence > b.sequence;
    }
  };

  void watch(int fd, std::uint32_t tag) const;
  void arm_timer();
  void ingest(Network network, int source);
  void deliver_due();
  void push(Packet packet);
  [[nodiscard]] Packet pop();
  [[nodiscard]] Nanos release_of(int source, int destination, const Packet& packet, Nanos now);
  [[nodiscard]] std::unique_ptr<std::uint8_t[]> take_buffer();
  [[nodiscard]] bool take_signals(pid_t child, int signals, int& status) const;

  const Hosts& hosts_;
  SwitchOptions options_;
  Nanos start_;
  int events_ = -1;  // epoll
  int timer_ = -1;
  Nanos armed_ = 0;                      // what the timer is set to; 0 is off
  std::vector<net::Egress> egress_;      // [n_hosts]
  std::vector<net::LinkSampler> links_;  // [n_hosts * n_hosts], by source, then destination
  std::vector<Packet> waiting_;          // a heap by Later
  std::vector<std::unique_ptr<std::uint8_t[]>> pool_;
  std::uint64_t n_sequence_ = 0;
  SwitchFigures figures_;
};

// One line for people.
[[nodiscard]] std::string describe(const SwitchFigures& figures);

}  // namespace rubato::tools::lab
