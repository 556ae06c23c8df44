#include "rubato/tools/lab/hosts.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

namespace rubato::tools::lab {
namespace {

// Namespaces of host i are held open at these descriptors + i, where enter_host_of() finds them.
constexpr int kNetFdBase = 200;
constexpr int kUtsFdBase = 300;

[[noreturn]] void fail(const std::string& what) {
  const std::string hint =
      errno == EPERM || errno == EACCES || errno == ENOENT
          ? " (the lab needs root, namespaces and /dev/net/tun: see 'rubato doctor')"
          : "";
  throw Error("lab: " + what + ": " + std::strerror(errno) + hint, ExitCode::failed);
}

// A descriptor that is closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

void configure(const Descriptor& socket, unsigned long request, ifreq& settings, const char* what) {
  if (ioctl(socket.get(), request, &settings) < 0) fail(what);
}

ifreq settings_of(const char* device) {
  ifreq settings{};
  std::strncpy(settings.ifr_name, device, IFNAMSIZ - 1);
  return settings;
}

void set_up(const Descriptor& socket, const char* device) {
  ifreq settings = settings_of(device);
  configure(socket, SIOCGIFFLAGS, settings, "reading device flags");
  settings.ifr_flags = static_cast<short>(settings.ifr_flags | IFF_UP | IFF_RUNNING);
  configure(socket, SIOCSIFFLAGS, settings, "starting a device");
}

void set_address(const Descriptor& socket, const char* device, unsigned long request,
                 std::uint32_t address) {
  ifreq settings = settings_of(device);
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_addr.s_addr = htonl(address);
  std::memcpy(&settings.ifr_addr, &in, sizeof in);
  configure(socket, request, settings, "setting an address");
}

// A TUN device in the current namespace; returns the switch's end of it.
int make_device(const Descriptor& socket, const char* device, std::uint32_t address, int mtu) {
  Descriptor end(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (end.get() < 0) fail("/dev/net/tun");
  ifreq settings = settings_of(device);
  settings.ifr_flags = IFF_TUN | IFF_NO_PI;
  configure(end, TUNSETIFF, settings, "making a TUN device");
  set_address(socket, device, SIOCSIFADDR, address);
  set_address(socket, device, SIOCSIFNETMASK, 0xffffff00U);
  settings = settings_of(device);
  settings.ifr_mtu = mtu;
  configure(socket, SIOCSIFMTU, settings, "setting the MTU");
  settings = settings_of(device);
  settings.ifr_qlen = 100'000;  // the lab must never lose a packet
  configure(socket, SIOCSIFTXQLEN, settings, "setting the queue length");
  set_up(socket, device);
  return end.release();
}

// Best effort: some kernels have no IPv6.
void write_setting(const char* path, std::string_view value) {
  const Descriptor file(open(path, O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) return;
  [[maybe_unused]] const ssize_t n = write(file.get(), value.data(), value.size());
}

void hold_namespace(const char* path, int at) {
  const Descriptor own(open(path, O_RDONLY | O_CLOEXEC));
  if (own.get() < 0 || dup3(own.get(), at, O_CLOEXEC) < 0) fail(path);
}

void join(int net, int uts, const std::string& where) {
  if (setns(net, CLONE_NEWNET) < 0 || setns(uts, CLONE_NEWUTS) < 0) fail("entering " + where);
}

// What a /proc link points to, e.g. "net:[4026531840]"; "" if it is gone.
std::string target_of(const std::string& link) {
  char buffer[128];
  const ssize_t n = readlink(link.c_str(), buffer, sizeof buffer);
  return n > 0 ? std::string(buffer, static_cast<std::size_t>(n)) : "";
}

}  // namespace

Hosts::Hosts(int n_hosts, int mtu) : n_hosts_(n_hosts), mtu_(mtu) {
  RUBATO_REQUIRE(n_hosts >= 2 && n_hosts <= kHostsMax, n_hosts);
  const Descriptor own_net(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  const Descriptor own_uts(open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC));
  for (int host = 1; host <= n_hosts; ++host)
    make_host(host);
  join(own_net.get(), own_uts.get(), "the lab's own namespaces");
}

Hosts::~Hosts() {
  end_leftovers();
  for (const auto& devices : devices_) {
    for (const int device : devices)
      close(device);
  }
  for (int host = 1; host <= n_hosts_; ++host) {
    close(kNetFdBase + host);
    close(kUtsFdBase + host);
  }
}

int Hosts::device(Network network, int host) const {
  RUBATO_REQUIRE(host >= 1 && host <= n_hosts_, host);
  return devices_[static_cast<int>(network)][static_cast<std::size_t>(host - 1)];
}

void Hosts::enter(int host) const {
  RUBATO_REQUIRE(host >= 1 && host <= n_hosts_, host);
  join(kNetFdBase + host, kUtsFdBase + host, "host " + std::to_string(host));
}

void Hosts::make_host(int host) {
  if (unshare(CLONE_NEWNET | CLONE_NEWUTS) < 0) fail("making namespaces");
  const std::string name = "host-" + std::to_string(host);
  if (sethostname(name.c_str(), name.size()) < 0) fail("setting the host's name");
  hold_namespace("/proc/thread-self/ns/net", kNetFdBase + host);
  hold_namespace("/proc/thread-self/ns/uts", kUtsFdBase + host);
  write_setting("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
  write_setting("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) fail("opening a socket");
  for (const Network network : {Network::jittery, Network::control}) {
    const char* device = network == Network::jittery ? "jl0" : "jl1";
    const std::uint32_t address = prefix_of(network) + static_cast<std::uint32_t>(host);
    devices_[static_cast<int>(network)].push_back(make_device(socket, device, address, mtu_));
  }
  set_up(socket, "lo");
}

void Hosts::end_leftovers() const {
  std::vector<std::string> ours;
  for (int host = 1; host <= n_hosts_; ++host) {
    ours.push_back(target_of("/proc/self/fd/" + std::to_string(kNetFdBase + host)));
  }
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return;
  while (const dirent* entry = readdir(processes)) {
    const int pid = std::atoi(entry->d_name);
    if (pid <= 1 || pid == getpid()) continue;
    const std::string place = target_of("/proc/" + std::to_string(pid) + "/ns/net");
    if (!place.empty() && std::find(ours.begin(), ours.end(), place) != ours.end()) {
      kill(pid, SIGKILL);
    }
  }
  closedir(processes);
}

void enter_host_of(int lab_pid, int host) {
  const std::string folder = "/proc/" + std::to_string(lab_pid) + "/fd/";
  const Descriptor net(
      open((folder + std::to_string(kNetFdBase + host)).c_str(), O_RDONLY | O_CLOEXEC));
  const Descriptor uts(
      open((folder + std::to_string(kUtsFdBase + host)).c_str(), O_RDONLY | O_CLOEXEC));
  const std::string name = "host " + std::to_string(host);
  if (net.get() < 0 || uts.get() < 0) fail("finding " + name);
  join(net.get(), uts.get(), name);
}

void refresh_sysfs() noexcept {
  if (unshare(CLONE_NEWNS) < 0) return;
  mount("", "/", nullptr, MS_REC | MS_SLAVE, nullptr);
  umount2("/sys", MNT_DETACH);
  mount("rubato-lab", "/sys", "sysfs", 0, nullptr);
}

}  // namespace rubato::tools::lab
