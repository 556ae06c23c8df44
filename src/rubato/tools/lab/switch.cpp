#include "rubato/tools/lab/switch.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rubato::tools::lab {
namespace {

constexpr std::size_t kIpHeaderBytesMin = 20;
constexpr std::size_t kTcpHeaderBytesMin = 20;
constexpr int kBurstMax = 64;  // packets of one host before the others have their turn
constexpr std::uint32_t kTimerTag = 1000;
constexpr std::uint32_t kSignalTag = 1001;
constexpr std::uint32_t kControlTag =
    2000;  // + host: its control device; below 1000: its jittery one

// The destination of an IPv4 packet, or 0.
std::uint32_t destination_of(const std::uint8_t* data, std::size_t n_bytes) {
  if (n_bytes < kIpHeaderBytesMin || (data[0] >> 4) != 4) return 0;
  std::uint32_t address = 0;
  std::memcpy(&address, data + 16, sizeof address);
  return ntohl(address);
}

// False for TCP packets that only acknowledge.
bool has_payload(const std::uint8_t* data, std::size_t n_bytes) {
  const std::size_t ip_bytes = std::size_t{data[0]} % 16 * 4;
  if (data[9] != IPPROTO_TCP || n_bytes < ip_bytes + kTcpHeaderBytesMin) return true;
  return n_bytes > ip_bytes + std::size_t{data[ip_bytes + 12]} / 16 * 4;
}

[[noreturn]] void fail(const char* what) {
  throw Error(std::string("lab: ") + what + ": " + std::strerror(errno), ExitCode::failed);
}

}  // namespace

Switch::Switch(const Hosts& hosts, SwitchOptions options)
    : hosts_(hosts), options_(std::move(options)), start_(steady_now()) {
  const auto n = static_cast<std::uint32_t>(hosts.n_hosts());
  egress_.assign(n, net::Egress(options_.profile.rate_mbit));
  links_.reserve(std::size_t{n} * n);
  for (std::uint32_t from = 0; from < n; ++from) {
    for (std::uint32_t to = 0; to < n; ++to) {
      links_.emplace_back(options_.profile, options_.seed, from, to);
    }
  }
}

int Switch::run(pid_t child, int signals) {
  events_ = epoll_create1(EPOLL_CLOEXEC);
  timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (events_ < 0 || timer_ < 0) fail("making a timer");
  for (int host = 1; host <= hosts_.n_hosts(); ++host) {
    watch(hosts_.device(Network::jittery, host), static_cast<std::uint32_t>(host));
    watch(hosts_.device(Network::control, host), kControlTag + static_cast<std::uint32_t>(host));
  }
  watch(timer_, kTimerTag);
  watch(signals, kSignalTag);
  if (options_.real_time) {
    const sched_param parameter = {.sched_priority = 10};
    sched_setscheduler(0, SCHED_FIFO, &parameter);
  }
  int status = 0;
  for (bool running = true; running;) {
    arm_timer();
    std::array<epoll_event, 64> ready{};
    const int n_ready = epoll_wait(events_, ready.data(), static_cast<int>(ready.size()), -1);
    for (int i = 0; i < n_ready; ++i) {
      const std::uint32_t tag = ready[static_cast<std::size_t>(i)].data.u32;
      if (tag == kTimerTag) {
        std::uint64_t n_expired = 0;
        if (read(timer_, &n_expired, sizeof n_expired) > 0) armed_ = 0;
      } else if (tag == kSignalTag) {
        running = !take_signals(child, signals, status) && running;
      } else if (tag > kControlTag) {
        ingest(Network::control, static_cast<int>(tag - kControlTag));
      } else {
        ingest(Network::jittery, static_cast<int>(tag));
      }
    }
    deliver_due();
  }
  close(events_);
  close(timer_);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  figures_.cpu_seconds =
      static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
      static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
  return status;
}

void Switch::watch(int fd, std::uint32_t tag) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = tag;
  if (epoll_ctl(events_, EPOLL_CTL_ADD, fd, &event) < 0) fail("watching a device");
}

void Switch::arm_timer() {
  const Nanos wanted = waiting_.empty() ? 0 : std::max<Nanos>(1, waiting_.front().release);
  if (wanted == armed_) return;
  itimerspec setting{};
  setting.it_value.tv_sec = wanted / kSecond;
  setting.it_value.tv_nsec = wanted % kSecond;
  timerfd_settime(timer_, TFD_TIMER_ABSTIME, &setting, nullptr);
  armed_ = wanted;
}

bool Switch::take_signals(pid_t child, int signals, int& status) const {
  signalfd_siginfo info{};
  while (read(signals, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo != SIGCHLD) kill(child, static_cast<int>(info.ssi_signo));
  }
  return waitpid(child, &status, WNOHANG) == child;
}

void Switch::ingest(Network network, int source) {
  for (int i = 0; i < kBurstMax; ++i) {
    Packet packet;
    packet.data = take_buffer();
    const ssize_t n = read(hosts_.device(network, source), packet.data.get(),
                           static_cast<std::size_t>(options_.mtu) + 64);
    if (n <= 0) {
      pool_.push_back(std::move(packet.data));
      return;
    }
    packet.n_bytes = static_cast<std::uint32_t>(n);
    const std::uint32_t address = destination_of(packet.data.get(), packet.n_bytes);
    const auto host = static_cast<int>(address & 0xffU);
    if ((address & 0xffffff00U) != prefix_of(network) || host < 1 || host > hosts_.n_hosts() ||
        host == source) {
      ++figures_.n_foreign;
      pool_.push_back(std::move(packet.data));
      continue;
    }
    const Nanos now = steady_now();
    packet.device = hosts_.device(network, host);
    packet.release = network == Network::control ? now : release_of(source, host, packet, now);
    push(std::move(packet));
  }
}

Nanos Switch::release_of(int source, int destination, const Packet& packet, Nanos now) {
  ++figures_.n_packets;
  figures_.n_bytes += packet.n_bytes;
  const auto from = static_cast<std::size_t>(source - 1);
  const auto to = static_cast<std::size_t>(destination - 1);
  const net::OnWire wire = egress_[from].take(now - start_, packet.n_bytes);
  net::LinkSampler& link = links_[from * egress_.size() + to];
  return start_ +
         link.arrival(wire, packet.n_bytes, has_payload(packet.data.get(), packet.n_bytes));
}

void Switch::deliver_due() {
  while (!waiting_.empty()) {
    const Nanos late = steady_now() - waiting_.front().release;
    if (late < 0) return;
    Packet packet = pop();
    const auto bin = static_cast<std::size_t>(late / kMicrosecond);
    ++figures_.late_us[std::min(bin, figures_.late_us.size() - 1)];
    ssize_t n = 0;
    do {
      n = write(packet.device, packet.data.get(), packet.n_bytes);
    } while (n < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == EINTR));
    if (n < 0) ++figures_.n_refused;
    pool_.push_back(std::move(packet.data));
  }
}

void Switch::push(Packet packet) {
  packet.sequence = n_sequence_++;
  waiting_.push_back(std::move(packet));
  std::push_heap(waiting_.begin(), waiting_.end(), Later{});
}

Switch::Packet Switch::pop() {
  std::pop_heap(waiting_.begin(), waiting_.end(), Later{});
  Packet packet = std::move(waiting_.back());
  waiting_.pop_back();
  return packet;
}

std::unique_ptr<std::uint8_t[]> Switch::take_buffer() {
  if (pool_.empty()) {
    return std::make_unique<std::uint8_t[]>(static_cast<std::size_t>(options_.mtu) + 64);
  }
  auto buffer = std::move(pool_.back());
  pool_.pop_back();
  return buffer;
}

std::string describe(const SwitchFigures& figures) {
  std::uint64_t n_all = 0;
  for (const std::uint32_t n : figures.late_us)
    n_all += n;
  const auto late = [&](double part) {
    std::uint64_t n_seen = 0;
    for (std::size_t us = 0; us < figures.late_us.size(); ++us) {
      n_seen += figures.late_us[us];
      if (static_cast<double>(n_seen) >= part * static_cast<double>(n_all)) return us;
    }
    return figures.late_us.size() - 1;
  };
  return fmt::format(
      "{} packets, {:.1f} MB, {} refused, {} foreign; handed over late by p50/p99/p99.9 = {}/{}/{} "
      "us; switch {:.2f} s of CPU",
      figures.n_packets, static_cast<double>(figures.n_bytes) / 1e6, figures.n_refused,
      figures.n_foreign, late(.5), late(.99), late(.999), figures.cpu_seconds);
}

}  // namespace rubato::tools::lab
