#include "rubato/observe/trace.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "rubato/io/json.hpp"
#include "rubato/io/output_file.hpp"

namespace rubato::observe {
namespace {

// Gaps between two works of a core that are shorter are the runtime's own time, not a wait.
constexpr Nanos kWaitMin = 5 * kMicrosecond;

double micros(Nanos time) {
  return static_cast<double>(time) / 1e3;
}

}  // namespace

// Formats events as they come, so that the text of a large trace is never held as a whole.
class Trace::File {
 public:
  explicit File(const std::string& path) : file_(path) {
    file_.write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  }

  void name_process(net::NodeId node, const std::string& host) {
    const std::string name =
        "node " + std::to_string(node) + (host.empty() ? "" : " (" + host + ")");
    line(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", node,
                     io::json_quoted(name)));
    line(fmt::format(R"({{"ph":"M","name":"process_sort_index","pid":{0},"args":)"
                     R"({{"sort_index":{0}}}}})",
                     node));
  }
  void name_core(net::NodeId node, std::uint32_t core) {
    line(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":)"
                     R"({{"name":"core {}"}}}})",
                     node, core, core));
  }
  void work(const Event& e, const std::vector<TraceKind>& kinds) {
    static const TraceKind unknown{"work", "index", "value"};
    const TraceKind& kind = e.work_kind < kinds.size() ? kinds[e.work_kind] : unknown;
    std::string args;
    if (!kind.index.empty()) args = fmt::format(R"("{}":{})", kind.index, e.what);
    if (!kind.value.empty()) {
      args += fmt::format(R"({}"{}":{})", args.empty() ? "" : ",", kind.value, e.value);
    }
    line(fmt::format(R"({{"ph":"X","name":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":)"
                     R"({{{}}}}})",
                     kind.name, e.node, e.core, micros(e.begin), micros(e.end - e.begin), args));
    if (!kind.is_drawn) return;
    line(fmt::format(
        R"({{"ph":"C","name":"{} of core {}","pid":{},"ts":{:.3f},"args":{{"{}":{}}}}})",
        kind.value, e.core, e.node, micros(e.end), kind.value, e.value));
  }
  void task(const Event& e, const std::string& name) {
    const char* const args = e.value != 0 ? R"("failed":true)" : "";
    if (e.work_kind == 0) {
      return line(fmt::format(
          R"({{"ph":"X","cat":"task","name":{},"pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":)"
          R"({{{}}}}})",
          name, e.node, e.core, micros(e.begin), micros(e.end - e.begin), args));
    }
    const std::string head =
        fmt::format(R"("cat":"task","name":{},"id":"task-{}","pid":{},"tid":{})", name,
                    n_interrupted_++, e.node, e.core);
    line(fmt::format(R"({{"ph":"b",{},"ts":{:.3f},"args":{{{}}}}})", head, micros(e.begin), args));
    line(fmt::format(R"({{"ph":"e",{},"ts":{:.3f}}})", head, micros(e.end)));
  }
  void wait(net::NodeId node, std::uint32_t core, Nanos begin, Nanos end) {
    line(fmt::format(R"({{"ph":"X","name":"wait","cname":"grey","pid":{},"tid":{},"ts":{:.3f},)"
                     R"("dur":{:.3f}}})",
                     node, core, micros(begin), micros(end - begin)));
  }
  // A message on its way, shown at the node that waits for it.
  void message(net::NodeId from, net::NodeId to, std::uint64_t number, const Event& sent,
               const Event& taken) {
    const std::string head =
        fmt::format(R"("cat":"message","name":"from node {}","id":"{}-{}-{}","pid":{},"tid":0)",
                    from, from, to, number, to);
    line(fmt::format(R"({{"ph":"b",{},"ts":{:.3f},"args":{{"bytes":{}}}}})", head,
                     micros(sent.begin), sent.value));
    line(fmt::format(R"({{"ph":"e",{},"ts":{:.3f}}})", head, micros(taken.begin)));
  }
  void finish(const TraceText& text, std::uint64_t n_lost) {
    file_.write(fmt::format("\n],\"otherData\":{{\"run\":{},\"events_left_out\":{}",
                            io::json_quoted(text.title), n_lost));
    for (std::size_t i = 0; i < text.counters.size(); ++i) {
      file_.write(
          fmt::format("{}{{\"node\":{}", i == 0 ? ",\"counters\":[" : ",", text.nodes[i].node));
      for (const auto& [name, n] : text.counters[i])
        file_.write(fmt::format(",{}:{}", io::json_quoted(name), n));
      file_.write("}");
    }
    file_.write(text.counters.empty() ? "}}\n" : "]}}\n");
    file_.commit();
  }

 private:
  void line(const std::string& text) {
    if (any_) file_.write(",\n");
    any_ = true;
    file_.write(text);
  }

  io::OutputFile file_;
  bool any_ = false;
  std::uint64_t n_interrupted_ = 0;
};

Trace::Trace(std::uint32_t n_shares, std::uint64_t events_max)
    : limit_(events_max / n_shares),
      events_(std::make_unique_for_overwrite<Event[]>(static_cast<std::size_t>(limit_))) {
  RUBATO_REQUIRE(n_shares > 0);
}

void Trace::add(const Event& event) noexcept {
  const std::uint64_t at = n_events_.fetch_add(1, std::memory_order_relaxed);
  if (at < limit_) events_[at] = event;
}

void Trace::on_work(net::NodeId node, std::uint32_t core, const core::Work& work, Nanos begin,
                    Nanos end) noexcept {
  add({begin, end, work.tick, node, work.index, static_cast<std::uint16_t>(core),
       static_cast<std::uint8_t>(work.kind), Kind::work, 0});
}

void Trace::on_sent(net::NodeId node, net::NodeId peer, std::size_t n_bytes, Nanos when) noexcept {
  add({when, when, static_cast<std::int64_t>(n_bytes), node, peer, 0, 0, Kind::sent, 0});
}

void Trace::on_taken(net::NodeId node, net::NodeId peer, std::size_t n_bytes, Nanos when) noexcept {
  add({when, when, static_cast<std::int64_t>(n_bytes), node, peer, 0, 0, Kind::taken, 0});
}

std::uint32_t Trace::name_of(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return names_.try_emplace(name, static_cast<std::uint32_t>(names_.size())).first->second;
}

void Trace::on_task(const TraceTask& task) noexcept {
  add({task.begin, task.end, task.has_failed ? 1 : 0, task.node, task.name,
       static_cast<std::uint16_t>(task.core), static_cast<std::uint8_t>(task.is_whole ? 0 : 1),
       Kind::task, 0});
}

Bytes Trace::pack() const {
  const std::uint64_t n_seen = n_events_;
  const auto first = events_.get();
  Writer out;
  out.put(n_seen);
  out.put_vector(std::vector<Event>(first, first + std::min(n_seen, limit_)));
  std::vector<const std::string*> names(names_.size());
  for (const auto& [name, index] : names_)
    names[index] = &name;
  out.put(static_cast<std::uint64_t>(names.size()));
  for (const std::string* name : names)
    out.put_string(*name);
  return out.take();
}

Trace::Merged Trace::merge(const std::vector<Bytes>& parts) {
  Merged all;
  std::vector<Event>& events = all.events;
  for (const Bytes& bytes : parts) {
    Reader in(bytes);
    const auto n_seen = in.get<std::uint64_t>();
    auto kept = in.get_vector<Event>();
    all.n_lost += n_seen - kept.size();
    const auto first_name = static_cast<std::uint32_t>(all.names.size());
    for (auto n = in.get<std::uint64_t>(); n > 0; --n)
      all.names.push_back(in.get_string());
    for (Event& event : kept) {
      if (event.kind == Kind::task) event.what += first_name;
    }
    events.insert(events.end(), kept.begin(), kept.end());
  }
  if (parts.size() > 1) align(events);
  const auto by_begin = [](const Event& event) { return event.begin; };
  std::ranges::stable_sort(events, {}, by_begin);
  const Nanos first = events.empty() ? 0 : events.front().begin;
  for (Event& event : events) {
    event.begin -= first;
    event.end -= first;
  }
  return all;
}

void Trace::align(std::vector<Event>& events) {
  using Pair = std::pair<net::NodeId, net::NodeId>;
  std::map<Pair, std::vector<Nanos>> sent;
  std::map<net::NodeId, Nanos> first;  // event of each node
  for (const Event& e : events) {
    if (e.kind == Kind::sent) sent[{e.node, e.what}].push_back(e.begin);
    const auto [at, is_new] = first.try_emplace(e.node, e.begin);
    if (!is_new) at->second = std::min(at->second, e.begin);
  }
  std::map<Pair, std::uint64_t> n_taken;
  std::map<Pair, Nanos> fastest;  // as the two clocks show it, so it may be negative
  for (const Event& e : events) {
    if (e.kind != Kind::taken) continue;
    const Pair pair{e.what, e.node};
    const std::uint64_t number = n_taken[pair]++;
    const auto& of_pair = sent[pair];
    if (number >= of_pair.size()) continue;
    const Nanos took = e.begin - of_pair[number];
    const auto [at, is_new] = fastest.try_emplace(pair, took);
    if (!is_new) at->second = std::min(at->second, took);
  }
  if (first.empty()) return;
  // Outwards from the first node; one that no pair of messages reaches starts with it.
  std::map<net::NodeId, Nanos> ahead{{first.begin()->first, 0}};
  std::vector<net::NodeId> reached{first.begin()->first};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const auto& [pair, there] : fastest) {
      const auto back = fastest.find({pair.second, pair.first});
      if (pair.first != reached[i] || back == fastest.end() || ahead.contains(pair.second))
        continue;
      ahead[pair.second] = ahead[pair.first] + (there - back->second) / 2;
      reached.push_back(pair.second);
    }
  }
  for (Event& e : events) {
    const auto known = ahead.find(e.node);
    const Nanos by = known != ahead.end() ? known->second : first[e.node] - first.begin()->second;
    e.begin -= by;
    e.end -= by;
  }
}

void Trace::write(const std::string& path, const std::vector<Bytes>& parts, const TraceText& text) {
  const Merged all = merge(parts);
  const std::vector<Event>& events = all.events;
  std::vector<std::string> names;
  for (const std::string& name : all.names)
    names.push_back(io::json_quoted(name));
  File file(path);
  for (const auto& node : text.nodes) {
    file.name_process(node.node, node.host);
    for (std::uint32_t core = 0; core < node.cores.size(); ++core)
      file.name_core(node.node, core);
  }
  std::map<std::pair<net::NodeId, std::uint32_t>, Nanos> core_free;
  // Messages of a pair arrive in the order in which they were sent, so the n-th of the one kind
  // belongs to the n-th of the other.
  std::map<std::pair<net::NodeId, net::NodeId>, std::vector<const Event*>> sent;
  for (const auto& e : events) {
    if (e.kind == Kind::sent) sent[{e.node, e.what}].push_back(&e);
  }
  std::map<std::pair<net::NodeId, net::NodeId>, std::uint64_t> n_taken;
  for (const auto& e : events) {
    if (e.kind == Kind::work) {
      const auto [at, is_first] = core_free.try_emplace({e.node, e.core}, e.begin);
      if (e.begin - at->second >= kWaitMin) file.wait(e.node, e.core, at->second, e.begin);
      at->second = e.end;
      file.work(e, text.kinds);
    } else if (e.kind == Kind::task) {
      file.task(e, names.at(e.what));
    } else if (e.kind == Kind::taken) {
      const std::uint64_t number = n_taken[{e.what, e.node}]++;
      const auto& of_pair = sent[{e.what, e.node}];
      if (number < of_pair.size()) file.message(e.what, e.node, number, *of_pair[number], e);
    }
  }
  file.finish(text, all.n_lost);
}

}  // namespace rubato::observe
