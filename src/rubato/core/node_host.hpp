#pragma once
// NodeHost: runs one Engine on the real cores of this node: a thread a core, and a fabric to the
// others.
//
// Who does what:
//   core threads   take work from the engine and run it; look for messages between two pieces of
//                  work now and then, and all the time (napping) while idle
//   the caller     of run() serves: it looks for messages while all cores are in long work, so
//                  that no long step stops the network; it watches signals and reports long work
// Nothing spins: poll, yield, nap 20-50 us, longer on a processor that others want; other processes
// on the machine cost their share and no more. Idle cores are woken when work appears.
//
// A run ends when all nodes have finished and no message is on its way, found by counting
// (termination.hpp). It fails on all nodes together, with one message and one exit code, if work or
// an event throws on any node, on SIGINT, SIGTERM or SIGHUP, and at a deadlock. A node that cannot stop
// within `stop_grace` takes the job down through Fabric::abort.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rubato/core/engine.hpp"
#include "rubato/core/figures.hpp"
#include "rubato/core/job_shape.hpp"
#include "rubato/core/observer.hpp"

namespace rubato::core {

enum class Pinning : std::uint8_t {
  automatic,  // each core has a processor of its own, if there are enough for all nodes of the
              // machine, and the job uses more than half of them
  off,
};

// What a run looks like from outside while it is under way.
struct RunGlance {
  Nanos elapsed = 0;         // since the start of the run on this node
  double waiting_share = 0;  // of its cores' time so far, in [0, 1]
};

struct NodeHostOptions {
  std::uint32_t n_cores = 0;  // 0: this node's share of the processors that it may use
  Pinning pinning = Pinning::automatic;
  // False for one of several hosts in a process (tests): no signals, no hook for fatal errors, no
  // pinning, no keep_freed_memory().
  bool owns_process = true;

  Nanos poll_interval = 50 * kMicrosecond;    // between looks for messages by cores that have work
  Nanos serve_interval = 200 * kMicrosecond;  // the same by the service thread, in long work
  Nanos nap_min = 20 * kMicrosecond;
  Nanos nap_max = 50 * kMicrosecond;
  // The same where other threads want the processor: an eighth of the wait so far, since each wake
  // takes the processor, and its cache, from somebody who works.
  Nanos crowded_nap_max = 400 * kMicrosecond;
  Nanos stop_grace =
      1'500 * kMillisecond;         // after a failure, for work that is under way, everywhere
  Nanos busy_after = 10 * kSecond;  // work of that age is reported, on cores and beside them
  // A node that has not finished suspects a deadlock when nothing has happened to it for so long.
  // Only then does it take part in the count that proves one, so that no run pays for the question.
  Nanos suspect_after = 50 * kMillisecond;

  Observer* observer = nullptr;                      // outlives the host
  std::function<void(const std::string&)> report{};  // lines for people; the default is stderr
  // For progress lines: called by the service thread about every glance_interval of a run, without
  // a lock. It must neither block nor throw.
  std::function<void(const RunGlance&)> glance{};
  Nanos glance_interval = 200 * kMillisecond;
};

namespace detail {
class NodeLink;
}

class NodeHost {
 public:
  // Collective: all nodes of the fabric make a host at the same time; it compares their builds,
  // handlers, instruction sets and core counts, and throws Error on all nodes if they differ.
  // Blocks until the nodes have met. `fabric` outlives the host and is used by nobody else.
  // REQUIRES: one host a fabric.
  NodeHost(net::Fabric& fabric, NodeHostOptions options);
  NodeHost(const NodeHost&) = delete;
  NodeHost& operator=(const NodeHost&) = delete;
  ~NodeHost();

  [[nodiscard]] const JobShape& shape() const noexcept;
  // "node 2 (cn-17)", or "" in a job of one node: in front of messages for people.
  [[nodiscard]] std::string place() const;
  // The processor of each core, empty if cores are not pinned.
  [[nodiscard]] const std::vector<std::uint32_t>& processors() const noexcept {
    return processors_;
  }

  // Collective: runs this node's `engine` to the end of the job's run, and blocks until then.
  // Returns this node's figures. Throws the same Error on all nodes if the run fails; then every
  // engine has got on_failed(), and the host serves no other run. May be called again after a run
  // that ended well.
  NodeFigures run(Engine& engine);

  // Collective, blocking, between runs. The bytes of all nodes at node 0, nothing elsewhere.
  [[nodiscard]] std::vector<Bytes> gather(Bytes mine);
  // Collective, blocking, between runs. The bytes of node 0, everywhere.
  [[nodiscard]] Bytes broadcast(Bytes of_node_0);
  // Collective, blocking, between runs. Calls `step` on all nodes; if it throws on any, throws on
  // all of them what the smallest such node threw: for input that every node reads.
  void agree(const std::function<void()>& step);

 private:
  void meet();

  NodeHostOptions options_;
  std::unique_ptr<detail::NodeLink> link_;
  std::vector<std::uint32_t> processors_;
};

}  // namespace rubato::core
