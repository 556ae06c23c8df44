#pragma once
// A trace of a run that chrome://tracing and ui.perfetto.dev open: what each core did and when, what
// it waited, and the messages on their way.
//
// Nodes have clocks of their own, which are brought together by the messages between them: of two
// nodes, the fastest message took as long in the one direction as in the other.
//
// Bounded: a trace holds the first kEventsMax events (40 bytes each in memory, some 120 in the
// file), which all nodes of a job share equally; later ones are counted, and the count stands in
// the file.
//   process    a node             thread           a core; below them the messages to that node
//   name       of the kind of work, wait   args   what the kind's index and value are called
// Tasks of an engine that has such stand within the works of their core. One that was interrupted,
// so that others ran meanwhile, has a line of its own below the cores of its node.
// The value of a kind that says so is also drawn over time, by core.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rubato/base/bytes.hpp"
#include "rubato/core/figures.hpp"
#include "rubato/core/observer.hpp"

namespace rubato::observe {

// What an engine's works of one kind (core::Work) look like in a trace.
struct TraceKind {
  std::string name;
  std::string index;      // what Work::index is, "" for nothing to be shown
  std::string value;      // the same of Work::tick
  bool is_drawn = false;  // the value, as a line over time
};

// What a node has done in all: how often, by name. A name lives for ever.
using TraceCounters = std::vector<std::pair<const char*, std::uint64_t>>;

// What is written beside the events.
struct TraceText {
  std::string title;
  std::vector<core::NodeFigures> nodes;   // whose hosts and numbers of cores are shown
  std::vector<TraceKind> kinds;           // [Work::kind]
  std::vector<TraceCounters> counters{};  // of `nodes`, or none
};

// A task that has ended.
struct TraceTask {
  net::NodeId node;
  std::uint32_t core;
  std::uint32_t name;  // Trace::name_of()
  Nanos begin;
  Nanos end;
  bool is_whole;  // it ran at a stretch, on its core
  bool has_failed;
};

class Trace final : public core::Observer {
 public:
  static constexpr std::uint64_t kEventsMax = 1'000'000;

  // `n_shares`: processes that share the limit; 1 in a simulation. REQUIRES: n_shares > 0.
  explicit Trace(std::uint32_t n_shares = 1, std::uint64_t events_max = kEventsMax);

  void on_work(net::NodeId node, std::uint32_t core, const core::Work& work, Nanos begin,
               Nanos end) noexcept override;
  void on_sent(net::NodeId node, net::NodeId peer, std::size_t n_bytes,
               Nanos when) noexcept override;
  void on_taken(net::NodeId node, net::NodeId peer, std::size_t n_bytes,
                Nanos when) noexcept override;

  // A name of tasks, for on_task(): once for each, by any thread.
  [[nodiscard]] std::uint32_t name_of(const std::string& name);
  void on_task(const TraceTask& task) noexcept;

  // What this process saw, for the node that writes the file. Called after the run.
  [[nodiscard]] Bytes pack() const;

  // Writes the packed traces of all processes as one file, which appears whole. Throws Error if it
  // cannot be written.
  static void write(const std::string& path, const std::vector<Bytes>& parts,
                    const TraceText& text);

 private:
  enum class Kind : std::uint8_t { work, sent, taken, task };
  struct Event {
    // No initial values: room for a million of them is not to be touched before it is used.
    Nanos begin;
    Nanos end;           // of works and tasks
    std::int64_t value;  // of a work; bytes of a message; 1 for a task that failed
    net::NodeId node;
    std::uint32_t what;  // index of a work; peer of a message; name of a task
    std::uint16_t core;
    std::uint8_t work_kind;  // of a task: 1 if others ran meanwhile
    Kind kind;
    std::uint32_t unused;  // 0: no byte that travels is anybody's
  };
  class File;

  // The events of all processes on one clock, by time.
  struct Merged {
    std::vector<Event> events;
    std::vector<std::string> names;  // [Event::what] of tasks
    std::uint64_t n_lost = 0;
  };

  void add(const Event& event) noexcept;
  [[nodiscard]] static Merged merge(const std::vector<Bytes>& parts);
  static void align(std::vector<Event>& events);

  std::uint64_t limit_;
  std::atomic<std::uint64_t> n_events_{0};  // seen, kept or not
  // Room for all, so that cores only take a number; pages that nobody writes cost nothing.
  std::unique_ptr<Event[]> events_;
  std::mutex mutex_;  // of the names
  std::map<std::string, std::uint32_t> names_;
};

}  // namespace rubato::observe
