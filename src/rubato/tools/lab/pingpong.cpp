#include "rubato/tools/lab/pingpong.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rubato::tools::lab {
namespace {

constexpr int kPort = 7777;
constexpr int kWarmUpRounds = 20;

[[noreturn]] void fail(const char* what) {
  throw Error(std::string("lab: ping-pong: ") + what + ": " + std::strerror(errno),
              ExitCode::failed);
}

int make_socket() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (socket < 0) fail("socket");
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

sockaddr_in address_of(std::uint32_t address) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(kPort);
  in.sin_addr.s_addr = htonl(address);
  return in;
}

void send_all(int socket, const std::vector<char>& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = send(socket, bytes.data() + at, bytes.size() - at, 0);
    if (n <= 0) fail("send");
    at += static_cast<std::size_t>(n);
  }
}

void receive_all(int socket, std::vector<char>& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = recv(socket, bytes.data() + at, bytes.size() - at, 0);
    if (n <= 0) fail("recv");
    at += static_cast<std::size_t>(n);
  }
}

// Host 2: gives back what comes, `n_rounds` times. `ready` is written to when it listens.
void echo(int n_rounds, int n_bytes, int ready) {
  const int listener = make_socket();
  const sockaddr_in address = address_of(INADDR_ANY);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0 ||
      listen(listener, 1) < 0) {
    fail("listen");
  }
  if (write(ready, "", 1) != 1) fail("pipe");
  const int socket = accept(listener, nullptr, nullptr);
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::vector<char> bytes(static_cast<std::size_t>(n_bytes));
  for (int i = 0; i < n_rounds; ++i) {
    receive_all(socket, bytes);
    send_all(socket, bytes);
  }
}

}  // namespace

std::vector<Nanos> measure_round_trips(const Hosts& hosts, int n_rounds, int n_bytes) {
  const int n_all = n_rounds + kWarmUpRounds;
  int ready[2];
  if (pipe(ready) < 0) fail("pipe");
  const pid_t server = fork();
  if (server < 0) fail("fork");
  if (server == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      hosts.enter(2);
      echo(n_all, n_bytes, ready[1]);
      _exit(0);
    } catch (const Error&) {
      _exit(1);
    }
  }
  close(ready[1]);
  char byte = 0;
  if (read(ready[0], &byte, 1) != 1) fail("host 2 does not listen");
  hosts.enter(1);
  const int socket = make_socket();
  const sockaddr_in address = address_of(prefix_of(Network::jittery) + 2);
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0) {
    fail("connect");
  }
  std::vector<char> bytes(static_cast<std::size_t>(n_bytes), 'x');
  std::vector<Nanos> round_trips;
  for (int i = 0; i < n_all; ++i) {
    const Nanos begin = steady_now();
    send_all(socket, bytes);
    receive_all(socket, bytes);
    if (i >= kWarmUpRounds) round_trips.push_back(steady_now() - begin);
  }
  close(socket);
  waitpid(server, nullptr, 0);
  return round_trips;
}

}  // namespace rubato::tools::lab
