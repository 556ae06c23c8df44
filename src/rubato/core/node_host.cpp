#include "rubato/core/node_host.hpp"

#include <atomic>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <unistd.h>

#include "rubato/base/memory.hpp"
#include "rubato/core/detail/node_run.hpp"
#include "rubato/core/identity.hpp"
#include "rubato/core/placement.hpp"
#include "rubato/core/signals.hpp"

namespace rubato::core {
namespace {

// While a run is on, a fatal error of this process takes the other nodes down too.
class FatalHookScope {
 public:
  explicit FatalHookScope(net::Fabric& fabric) {
    set_fatal_hook([&fabric](const std::string& message) {
      fabric.abort(static_cast<int>(ExitCode::failed), message);
    });
  }
  FatalHookScope(const FatalHookScope&) = delete;
  FatalHookScope& operator=(const FatalHookScope&) = delete;
  ~FatalHookScope() { set_fatal_hook(nullptr); }
};

// Who calls exit() in a job leaves nodes behind that wait for this one, and whoever ends them cannot
// say why. Of the run that is on in this process, for its end; null: none, or a job of one node.
std::atomic<const std::string*> text_of_exit = nullptr;

void on_exit_of_process(int status, void* /*unused*/) {
  const std::string* const text = text_of_exit.load();
  if (text == nullptr || !detail::NodeRun::is_in_work()) return;
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, text->data(), text->size());
  // The job has not ended well.
  if (status == 0) ::_exit(static_cast<int>(ExitCode::failed));
}

class ExitScope {
 public:
  explicit ExitScope(const net::Fabric& fabric) {
    if (fabric.n_nodes() == 1) return;
    static const bool is_installed = ::on_exit(on_exit_of_process, nullptr) == 0;
    static_cast<void>(is_installed);
    text_ =
        "\nrubato: node " + std::to_string(fabric.node()) + " (" + fabric.host(fabric.node()) +
        ") has called exit() in a task: expected that it returns or throws; the job ends here\n";
    text_of_exit.store(&text_);
  }
  ExitScope(const ExitScope&) = delete;
  ExitScope& operator=(const ExitScope&) = delete;
  ~ExitScope() { text_of_exit.store(nullptr); }

 private:
  std::string text_;
};

// The run of nodes [first, last] with equal identities, or the first two that differ.
struct Meeting {
  Identity identity;  // of node `first`
  Identity other;     // of node `differs`, if any
  NodeId first = 0;
  NodeId differs = 0;  // a node that differs from `first`, if greater
};

Meeting meet_two(const Meeting& a, const Meeting& b) {
  if (a.differs > a.first) return a;
  if (a.identity != b.identity) return {a.identity, b.identity, a.first, b.first};
  // b's members equal a's first one, until the one that differs.
  if (b.differs > b.first) return {a.identity, b.other, a.first, b.differs};
  return a;
}

}  // namespace

NodeHost::NodeHost(net::Fabric& fabric, NodeHostOptions options) : options_(std::move(options)) {
  if (options_.owns_process) keep_freed_memory();
  const NeighbourhoodGuess neighbourhood = find_neighbourhood(fabric);
  const std::uint32_t n_cores =
      options_.n_cores > 0 ? options_.n_cores : default_n_cores(neighbourhood);
  link_ = std::make_unique<detail::NodeLink>(fabric, n_cores, options_.stop_grace);
  if (options_.owns_process && options_.pinning == Pinning::automatic && neighbourhood.is_certain) {
    processors_ = place_cores(allowed_processors(), neighbourhood, n_cores);
  }
  meet();
}

NodeHost::~NodeHost() = default;

const JobShape& NodeHost::shape() const noexcept {
  return link_->shape();
}

std::string NodeHost::place() const {
  if (shape().n_nodes == 1) return "";
  return "node " + std::to_string(shape().node) + " (" + link_->fabric().host(shape().node) + ")";
}

void NodeHost::meet() {
  Meeting mine;
  mine.identity = identity_of_this_process(shape().n_cores);
  mine.first = mine.differs = shape().node;
  std::optional<Meeting> all;
  link_->complete(
      [&] {
        link_->nodes().async_allreduce<Meeting>(link_->control_port(), shape().node, mine, meet_two,
                                                [&](Port&, const Meeting& m) { all = m; });
      },
      [&] { return all.has_value(); });
  if (all->differs > all->first) {
    throw Error("nodes " + std::to_string(all->first) + " (" + link_->fabric().host(all->first) +
                    ") and " + std::to_string(all->differs) + " (" +
                    link_->fabric().host(all->differs) + ") are of " +
                    difference(all->identity, all->other) +
                    ": expected the same program, options and kind of processor on all nodes",
                ExitCode::failed);
  }
}

NodeFigures NodeHost::run(Engine& engine) {
  std::optional<SignalScope> signals;
  std::optional<FatalHookScope> hook;
  std::optional<ExitScope> exit;
  if (options_.owns_process) {
    signals.emplace();
    hook.emplace(link_->fabric());
    exit.emplace(link_->fabric());
  }
  detail::NodeRun run(*link_, options_, processors_, engine);
  return run.run();
}

std::vector<Bytes> NodeHost::gather(Bytes mine) {
  std::optional<std::vector<Bytes>> all;
  link_->complete(
      [&] {
        link_->nodes().async_gather(
            link_->control_port(), shape().node, 0, std::move(mine),
            [&](Port&, std::vector<Bytes> parts) { all = std::move(parts); });
      },
      [&] { return all.has_value(); });
  return std::move(*all);
}

Bytes NodeHost::broadcast(Bytes of_node_0) {
  std::optional<Bytes> value;
  link_->complete(
      [&] {
        link_->nodes().async_broadcast(link_->control_port(), shape().node, 0, std::move(of_node_0),
                                       [&](Port&, Bytes bytes) { value = std::move(bytes); });
      },
      [&] { return value.has_value(); });
  return std::move(*value);
}

void NodeHost::agree(const std::function<void()>& step) {
  Writer mine;
  try {
    step();
  } catch (const Error& error) {
    mine.put(static_cast<std::int32_t>(error.code()));
    mine.put_string(error.what());
  } catch (const std::bad_alloc&) {
    mine.put(static_cast<std::int32_t>(ExitCode::failed));
    mine.put_string("not enough memory: a smaller instance, or more nodes, would need less");
  } catch (const std::exception& error) {
    mine.put(static_cast<std::int32_t>(ExitCode::failed));
    mine.put_string(error.what());
  }
  std::optional<Bytes> first;
  link_->complete(
      [&] {
        link_->nodes().async_allreduce(
            link_->control_port(), shape().node, mine.take(),
            [](Bytes& into, ByteView later) {
              if (into.empty()) into.assign(later.begin(), later.end());
            },
            [&](Port&, Bytes bytes) { first = std::move(bytes); });
      },
      [&] { return first.has_value(); });
  if (first->empty()) return;
  Reader in(*first);
  const auto code = static_cast<ExitCode>(in.get<std::int32_t>());
  throw Error(in.get_string(), code);
}

}  // namespace rubato::core
