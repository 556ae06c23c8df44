#include "rubato/core/sim_host.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <utility>

#include "rubato/base/random.hpp"

namespace rubato::core {

// One virtual node: its cores, its way out, its timer.
class SimHost::Node {
 public:
  Node(SimHost& host, NodeId id, Engine& engine)
      : host_(host), id_(id), engine_(engine), fabric_(host.network_.fabric(id)) {
    cores_.resize(host.options_.n_cores);
    figures_.node = id;
    figures_.host = fabric_.host(id);
    figures_.cores.resize(host.options_.n_cores);
  }

  void start() {
    event(0, [&](Port& port) { engine_.start(port); });
    dispatch();
  }
  // True if something goes on.
  bool on_quiet() {
    bool goes_on = false;
    event(kNoCore, [&](Port& port) { goes_on = engine_.on_quiet(port); });
    dispatch();
    return goes_on;
  }
  // The fabric has something new: a message, or room.
  void on_change() {
    for (auto next = loaded_.begin(); next != loaded_.end();) {
      const NodeId to = *next++;  // before flush(), which may take it out
      flush(to, lanes_[to]);
    }
    dispatch();
  }

  [[nodiscard]] Engine& engine() const noexcept { return engine_; }
  [[nodiscard]] bool alive() const { return host_.network_.alive(id_); }
  [[nodiscard]] bool finished() const noexcept { return finished_; }
  [[nodiscard]] std::string name() const {
    return "node " + std::to_string(id_) + " (" + figures_.host + ")";
  }
  [[nodiscard]] NodeFigures figures(Nanos wall) const {
    NodeFigures out = figures_;
    out.wall = wall;
    for (auto& core : out.cores) {
      core.wall = wall;
      core.idle = wall - core.busy_total() - core.sending;
    }
    return out;
  }

 private:
  static constexpr std::uint32_t kNoCore = UINT32_MAX;

  struct Core {
    bool busy = false;
    Nanos debt = 0;  // sends of timers, which no core was there to pay for
    Work work;
    net::Arrival arrival;
  };
  // The way to one node. Messages leave in the order of send(), whichever cores pack them.
  struct Lane {
    struct Parcel {
      Nanos ready;
      Bytes bytes;
    };
    std::vector<Parcel> parcels;
    std::size_t n_left = 0;  // that have left, from the front
    Nanos last_ready = 0;

    [[nodiscard]] bool empty() const noexcept { return parcels.empty(); }
    [[nodiscard]] Parcel& front() noexcept { return parcels[n_left]; }
    void pop_front() {
      constexpr std::size_t kMany = 64;
      if (++n_left < parcels.size() && n_left < std::max(kMany, parcels.size() / 2)) return;
      parcels.erase(parcels.begin(), parcels.begin() + static_cast<std::ptrdiff_t>(n_left));
      n_left = 0;
    }
  };
  class SimPort final : public Port {
   public:
    SimPort(Node& node, Nanos came) : node_(node), at_(node.now()), came_(came) {}
    void send(NodeId to, Bytes bytes) override {
      cost_ += node_.scaled(node_.engine_.message_cost(bytes.size()));
      node_.post(to, std::move(bytes), at_ + cost_);
    }
    void wake_at(Nanos when) override { node_.set_timer(when); }
    [[nodiscard]] Nanos now() const noexcept override { return at_; }
    [[nodiscard]] Came came() const noexcept override { return {came_, came_}; }
    [[nodiscard]] Nanos cost() const noexcept { return cost_; }

   private:
    Node& node_;
    Nanos at_;
    Nanos came_;
    Nanos cost_ = 0;
  };

  [[nodiscard]] Nanos now() const noexcept { return host_.network_.now(); }
  [[nodiscard]] Nanos scaled(Nanos cost) const {
    return static_cast<Nanos>(
        std::llround(static_cast<double>(cost) * host_.network_.slowdown(id_)));
  }

  // Whatever the engine throws leaves as an Error with the node's name in front.
  template <class F>
  void guarded(F call) const {
    try {
      call();
    } catch (const Error& error) {
      throw error.in(name());
    } catch (const std::exception& error) {
      throw Error(error.what(), ExitCode::failed).in(name());
    }
  }

  // Calls the engine; the core pays for what it sends, and is busy meanwhile.
  template <class F>
  void event(std::uint32_t core, F call) {
    event(core, now(), std::move(call));
  }
  // Of a message that came then.
  template <class F>
  void event(std::uint32_t core, Nanos came, F call) {
    SimPort port(*this, came);
    guarded([&] { call(port); });
    host_.last_event_ = now();
    note_finished();
    if (port.cost() == 0) return;
    if (core == kNoCore) {
      cores_.front().debt += port.cost();
    } else {
      figures_.cores[core].sending += port.cost();
      occupy(core, port.cost(), [this] {
        host_.last_event_ = now();
        dispatch();
      });
    }
  }

  void note_finished() {
    const bool is = engine_.finished();
    host_.note_finished(std::exchange(finished_, is), is);
  }

  template <class F>
  void occupy(std::uint32_t core, Nanos time, F then) {
    cores_[core].busy = true;
    ++host_.n_cores_busy_;
    host_.network_.at(now() + time, [this, core, then] {
      if (!alive()) return;
      cores_[core].busy = false;
      --host_.n_cores_busy_;
      then();
    });
  }
  void post(NodeId to, Bytes bytes, Nanos ready) {
    ++figures_.n_sent;
    ++host_.n_in_flight_;
    figures_.bytes_sent += bytes.size();
    if (Observer* o = host_.options_.observer) o->on_sent(id_, to, bytes.size(), ready);
    Lane& lane = lanes_[to];
    lane.last_ready = std::max(lane.last_ready, ready);
    if (lane.empty()) loaded_.insert(to);
    lane.parcels.push_back({lane.last_ready, std::move(bytes)});
    if (lane.last_ready == now()) {
      flush(to, lane);
    } else {
      host_.network_.at(lane.last_ready, [this, to] {
        if (alive()) flush(to, lanes_[to]);
      });
    }
  }
  void flush(NodeId to, Lane& lane) {
    while (!lane.empty() && lane.front().ready <= now()) {
      if (!fabric_.try_send(to, lane.front().bytes)) return;  // on_change() comes again
      lane.pop_front();
      if (lane.empty()) loaded_.erase(to);
    }
  }

  void set_timer(Nanos when) {
    if (when >= timer_at_) return;
    timer_at_ = std::max(when, now());
    host_.network_.at(timer_at_, [this, when = timer_at_] {
      if (!alive() || timer_at_ != when) return;  // an earlier request took its place
      timer_at_ = kNever;
      event(kNoCore, [&](Port& port) { engine_.on_time(port); });
      dispatch();
    });
  }

  // Gives events and work to idle cores until none is left of the one or the other.
  void dispatch() {
    while (take_message() || take_work()) {
    }
  }

  [[nodiscard]] std::uint32_t idle_core(std::uint32_t first) const {
    const auto n = static_cast<std::uint32_t>(cores_.size());
    for (std::uint32_t i = 0; i < n; ++i) {
      if (!cores_[(first + i) % n].busy) return (first + i) % n;
    }
    return kNoCore;
  }
  [[nodiscard]] std::uint32_t first_choice() {
    if (!host_.options_.shuffle) return 0;
    return static_cast<std::uint32_t>(host_.random_.between(0, std::ssize(cores_) - 1));
  }

  bool take_message() {
    if (receiving_) return false;
    const std::uint32_t core = idle_core(first_choice());
    if (core == kNoCore) return false;
    net::Arrival arrival;
    if (!fabric_.poll(arrival)) return false;
    const Nanos cost = scaled(engine_.message_cost(arrival.bytes.size()));
    figures_.cores[core].sending += cost;
    cores_[core].arrival = std::move(arrival);
    if (cost == 0) {
      hand_over(core);
    } else {
      receiving_ = true;
      occupy(core, cost, [this, core] {
        receiving_ = false;
        hand_over(core);
        dispatch();
      });
    }
    return true;
  }
  void hand_over(std::uint32_t core) {
    net::Arrival arrival = std::move(cores_[core].arrival);
    ++figures_.n_received;
    --host_.n_in_flight_;
    figures_.bytes_received += arrival.bytes.size();
    if (Observer* o = host_.options_.observer) {
      o->on_taken(id_, arrival.from, arrival.bytes.size(), now());
    }
    event(core, arrival.came,
          [&](Port& port) { engine_.on_message(port, arrival.from, std::move(arrival.bytes)); });
  }

  bool take_work() {
    const std::uint32_t first = first_choice();
    const auto n = static_cast<std::uint32_t>(cores_.size());
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::uint32_t core = (first + i) % n;
      if (!cores_[core].busy && engine_.next_work(core, cores_[core].work)) {
        run_work(core);
        return true;
      }
    }
    // An engine may find while looking for work that there is none left.
    note_finished();
    return false;
  }
  void run_work(std::uint32_t core) {
    const Work work = cores_[core].work;
    guarded([&] { engine_.run(work, core); });
    Nanos cost = scaled(engine_.cost(work));
    if (host_.options_.shuffle && host_.options_.extra_delay_max > 0) {
      cost += host_.random_.between(0, host_.options_.extra_delay_max);
    }
    const Nanos debt = std::exchange(cores_[core].debt, 0);
    figures_.cores[core].add_busy(work.kind, cost);
    figures_.cores[core].sending += debt;
    cores_[core].work.took = cost;
    if (Observer* o = host_.options_.observer) {
      o->on_work(id_, core, work, now() + debt, now() + debt + cost);
    }
    occupy(core, debt + cost, [this, core] {
      event(core, [&](Port& port) { engine_.on_finished(port, cores_[core].work); });
      dispatch();
    });
  }

  SimHost& host_;
  NodeId id_;
  Engine& engine_;
  net::Fabric& fabric_;
  std::vector<Core> cores_;
  std::unordered_map<NodeId, Lane> lanes_;  // to those that were written to
  // Lanes with parcels; ordered: lanes share a wire, so the order of flushing is visible.
  std::set<NodeId> loaded_;
  NodeFigures figures_;
  Nanos timer_at_ = kNever;
  bool receiving_ = false;
  bool finished_ = false;
};

SimHost::SimHost(net::SimNetwork& network, SimHostOptions options)
    : network_(network), options_(options), random_(options.seed, 0x51) {
  RUBATO_REQUIRE(options_.n_cores > 0, options_.n_cores);
}

SimHost::~SimHost() {
  for (NodeId node = 0; node < nodes_.size(); ++node)
    network_.on_change(node, nullptr);
}

void SimHost::kill(NodeId node, Nanos when) {
  network_.kill(node, when);
  network_.at(when, [this, node] {
    if (nodes_.empty()) return;  // before the run: it will find the node dead
    throw lost(node);
  });
}

void SimHost::note_finished(bool was, bool is) noexcept {
  if (was != is) n_unfinished_ += was ? 1 : -1U;
}

SimReport SimHost::run(std::span<Engine* const> engines) {
  RUBATO_REQUIRE(nodes_.empty(), nodes_.size());
  RUBATO_REQUIRE(engines.size() == network_.n_nodes(), engines.size(), network_.n_nodes());
  start_ = last_event_ = network_.now();
  n_unfinished_ = network_.n_nodes();
  for (NodeId id = 0; id < engines.size(); ++id) {
    Node& node = nodes_.emplace_back(*this, id, *engines[id]);
    network_.on_change(id, [&node] { node.on_change(); });
    network_.at(start_, [this, &node, id] {
      if (network_.alive(id)) node.start();
    });
  }
  try {
    // A node counts as unfinished until an event of its own says otherwise, so all have started.
    while (n_unfinished_ > 0 || n_in_flight_ > 0 || n_cores_busy_ > 0) {
      const Nanos next = network_.next_event();
      if (next == kNever && let_go()) continue;
      if (next == kNever) throw stuck();
      if (next - start_ > options_.time_max) throw overlong();
      network_.step();
    }
  } catch (const Error& error) {
    for (auto& node : nodes_) {
      if (node.alive()) node.engine().on_failed(error);
    }
    throw;
  }
  return report();
}

SimReport SimHost::report() const {
  SimReport out;
  out.wall = last_event_ - start_;
  for (const auto& node : nodes_)
    out.nodes.push_back(node.figures(out.wall));
  return out;
}

std::string SimHost::clock() const {
  return "at " + std::to_string(static_cast<double>(network_.now() - start_) / kSecond) +
         " s of virtual time";
}

std::string SimHost::waiting() const {
  std::string out;
  std::size_t n_waiting = 0;
  for (const auto& node : nodes_) {
    if (node.finished() || !node.alive()) continue;
    ++n_waiting;
    const std::string reason = node.engine().waiting_for();
    out += "\n  " + node.name() + " waits for " + (reason.empty() ? "nothing it names" : reason);
  }
  return std::to_string(n_waiting) + " of " + std::to_string(nodes_.size()) + " nodes wait:" + out;
}

// Nothing is left to happen. True if a node has held something back, and it goes on.
bool SimHost::let_go() {
  if (!std::ranges::all_of(nodes_, [](const Node& node) { return node.alive(); })) return false;
  bool goes_on = false;
  for (Node& node : nodes_)
    goes_on = node.on_quiet() || goes_on;
  return goes_on;
}

Error SimHost::stuck() const {
  for (NodeId node = 0; node < nodes_.size(); ++node) {
    if (!nodes_[node].alive()) return lost(node);
  }
  return Error("deadlock " + clock() + ": nothing is left to happen, and " + waiting(),
               ExitCode::failed);
}

Error SimHost::lost(NodeId node) const {
  return Error(nodes_[node].name() + " was lost " + clock(), ExitCode::node_lost);
}

Error SimHost::overlong() const {
  return Error("the run is longer than the " +
                   std::to_string(static_cast<double>(options_.time_max) / kSecond) +
                   " s of virtual time that it may take; " + waiting(),
               ExitCode::failed);
}

}  // namespace rubato::core
