#include "rubato/core/team.hpp"

#include <algorithm>
#include <utility>

#include "rubato/base/random.hpp"

namespace rubato::core {
namespace {

// Messages for teams that this node has not split off yet: each sender has at most
// kOpenCollectivesMax open, and few teams are split at once.
constexpr std::size_t kEarlyMessagesMax = 4096;

constexpr std::uint64_t kJobTeamId = 0;

}  // namespace

// A local core's part in a collective.
struct Team::Call {
  Kind kind = Kind::barrier;
  std::uint64_t root = 0;
  Bytes value;
  Combine combine;
  Done done;
  GatherDone gather_done;
};

// A collective that is under way on this node.
struct Team::Open {
  Kind kind = Kind::barrier;
  std::uint64_t root = 0;
  bool known = false;  // kind and root are, by a local call or by a message
  std::string caller;  // who made them known, for errors
  Nanos since = 0;

  std::uint32_t n_called = 0;
  std::uint32_t n_ups = 0;
  std::vector<std::pair<std::uint64_t, Call>> calls;  // (rank, call) whose done is to come
  Combine combine;                                    // of the first local call
  std::vector<Bytes> waiting_ups;                     // came before the first local call
  std::optional<detail::ReductionTree> reduction;
  std::map<std::uint64_t, Bytes> gathered;  // by rank
  bool has_value = false;                   // broadcast: the value is here
  Bytes value;
};

// The binomial tree over the team's nodes with a given root; a node is its position in nodes().
struct Team::Tree {
  std::uint64_t n = 1;
  std::uint64_t root = 0;
  std::uint64_t self = 0;  // positions are counted from the root: (position - root) mod n

  [[nodiscard]] bool is_root() const noexcept { return self == 0; }
  [[nodiscard]] std::uint64_t parent() const noexcept { return absolute(self & (self - 1)); }
  [[nodiscard]] std::vector<std::uint64_t> children() const {
    std::vector<std::uint64_t> out;
    for (std::uint64_t bit = 1; (self & bit) == 0 && (self | bit) < n; bit <<= 1) {
      out.push_back(absolute(self | bit));
    }
    return out;
  }
  [[nodiscard]] std::uint64_t absolute(std::uint64_t relative) const noexcept {
    return (relative + root) % n;
  }
};

Team::Team(Teams& teams, IndexSet cores, std::uint64_t id, std::string name)
    : teams_(teams), cores_(std::move(cores)), id_(id), name_(std::move(name)) {
  const JobShape& shape = teams_.shape();
  nodes_ = cores_.divided_by(shape.n_cores);
  first_local_rank_ = cores_.n_below(shape.first_core());
  n_local_ = static_cast<std::uint32_t>(
      cores_.n_below(std::uint64_t{shape.first_core()} + shape.n_cores) - first_local_rank_);
  next_seq_.assign(n_local_, 0);
}

Team::~Team() = default;

const char* Team::name_of(Kind kind) noexcept {
  static constexpr std::array<const char*, 5> kNames = {"barrier", "broadcast", "reduce",
                                                        "allreduce", "gather"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::uint64_t Team::position() const {
  return *nodes_.rank_of(teams_.shape().node);
}

Team::Tree Team::tree_of(std::uint64_t root_rank) const {
  const std::uint64_t n = nodes_.size();
  const NodeId root_node = teams_.shape().node_of(static_cast<CoreId>(cores_.at(root_rank)));
  const std::uint64_t root = *nodes_.rank_of(root_node);
  return {n, root, (position() + n - root) % n};
}

Writer Team::header(Phase phase, std::uint64_t seq, Kind kind, std::uint64_t root) const {
  Writer out;
  out.put(id_);
  out.put(phase);
  out.put(seq);
  out.put(kind);
  out.put(root);
  return out;
}

void Team::send(Port& port, std::uint64_t position, Bytes bytes) {
  ++figures_.n_messages;
  figures_.n_bytes += bytes.size();
  port.send(static_cast<NodeId>(nodes_.at(position)), std::move(bytes));
}

// --- calls
// -------------------------------------------------------------------------------------------

void Team::async_barrier(Port& port, std::uint64_t rank, Done done) {
  Call c;
  c.kind = Kind::barrier;
  c.done = std::move(done);
  call(port, rank, std::move(c));
}

void Team::async_broadcast(Port& port, std::uint64_t rank, std::uint64_t root, Bytes value,
                           Done done) {
  Call c;
  c.kind = Kind::broadcast;
  c.root = root;
  if (rank == root) c.value = std::move(value);
  c.done = std::move(done);
  call(port, rank, std::move(c));
}

void Team::async_allreduce(Port& port, std::uint64_t rank, Bytes value, Combine combine,
                           Done done) {
  Call c;
  c.kind = Kind::allreduce;
  c.value = std::move(value);
  c.combine = std::move(combine);
  c.done = std::move(done);
  call(port, rank, std::move(c));
}

void Team::async_reduce(Port& port, std::uint64_t rank, std::uint64_t root, Bytes value,
                        Combine combine, Done done) {
  Call c;
  c.kind = Kind::reduce;
  c.root = root;
  c.value = std::move(value);
  c.combine = std::move(combine);
  c.done = std::move(done);
  call(port, rank, std::move(c));
}

void Team::async_gather(Port& port, std::uint64_t rank, std::uint64_t root, Bytes value,
                        GatherDone done) {
  Call c;
  c.kind = Kind::gather;
  c.root = root;
  c.value = std::move(value);
  c.gather_done = std::move(done);
  call(port, rank, std::move(c));
}

void Team::call(Port& port, std::uint64_t rank, Call c) {
  RUBATO_REQUIRE(rank - first_local_rank_ < n_local_, rank, first_local_rank_, n_local_);
  RUBATO_REQUIRE(c.root < size(), c.root, size());
  teams_.deliver_early(port);
  if (failure_) return;
  const std::uint64_t seq = next_seq_[rank - first_local_rank_]++;
  Open& open = open_at(seq);
  check_same_call(seq, open, c.kind, c.root, "core " + std::to_string(cores_.at(rank)));
  if (open.n_called++ == 0) {
    open.since = port.now();
    open.combine = c.combine;
  }
  if (c.kind == Kind::reduce || c.kind == Kind::allreduce) {
    if (!open.reduction) open.reduction.emplace(size());
    open.reduction->add_rank(rank, std::move(c.value), open.combine);
  } else if (c.kind == Kind::gather) {
    open.gathered.emplace(rank, std::move(c.value));
  } else if (c.kind == Kind::broadcast && rank == c.root) {
    open.value = std::move(c.value);
  }
  open.calls.emplace_back(rank, std::move(c));
  merge_ups(open);
  progress(port, seq);
}

Team::Open& Team::open_at(std::uint64_t seq) {
  Open& open = open_[seq];
  // Twice: children may be one bound ahead of this node.
  RUBATO_REQUIRE(open_.size() <= 2 * kOpenCollectivesMax, open_.size(), name_);
  return open;
}

void Team::check_same_call(std::uint64_t seq, Open& open, Kind kind, std::uint64_t root,
                           const std::string& caller) {
  if (!open.known) {
    open.known = true;
    open.kind = kind;
    open.root = root;
    open.caller = caller;
    return;
  }
  if (open.kind == kind && open.root == root) return;
  const auto shown = [](Kind k, std::uint64_t r) {
    return std::string(name_of(k)) + " (root " + std::to_string(r) + ")";
  };
  throw Error("team " + name_ + ", collective " + std::to_string(seq) + ": " + caller + " calls " +
                  shown(kind, root) + ", expected " + shown(open.kind, open.root) +
                  " as called by " + open.caller,
              ExitCode::failed);
}

// --- progress
// ----------------------------------------------------------------------------------------

void Team::merge_ups(Open& open) {
  if (open.n_called == 0) return;  // the operation is not known yet
  for (const Bytes& bytes : std::exchange(open.waiting_ups, {})) {
    Reader in(bytes);
    if (open.kind == Kind::gather) {
      const auto n = in.get<std::uint64_t>();
      for (std::uint64_t i = 0; i < n; ++i) {
        const auto rank = in.get<std::uint64_t>();
        const ByteView value = in.get_view(in.get<std::uint64_t>());
        open.gathered.emplace(rank, Bytes(value.begin(), value.end()));
      }
    } else if (open.kind == Kind::reduce || open.kind == Kind::allreduce) {
      open.reduction->add(in, open.combine);
    }
  }
}

void Team::progress(Port& port, std::uint64_t seq) {
  const auto found = open_.find(seq);
  if (found == open_.end()) return;
  Open& open = found->second;
  const Tree tree = tree_of(open.root);
  if (open.kind == Kind::broadcast) {
    progress_broadcast(port, seq, open, tree);
    return;
  }
  if (open.n_called != n_local_ || open.n_ups != tree.children().size()) return;
  if (tree.is_root()) {
    const bool reduces = open.kind == Kind::reduce || open.kind == Kind::allreduce;
    finish(port, seq, tree, reduces ? open.reduction->take() : Bytes{});
    return;
  }
  Writer out = header(Phase::up, seq, open.kind, open.root);
  if (open.reduction) open.reduction->put(out);
  if (open.kind == Kind::gather) {
    out.put(static_cast<std::uint64_t>(open.gathered.size()));
    for (const auto& [rank, value] : open.gathered) {
      out.put(rank);
      out.put(static_cast<std::uint64_t>(value.size()));
      out.append(value.data(), value.size());
    }
    open.gathered.clear();
  }
  open.n_ups = UINT32_MAX;  // sent up; what is left to come is the way down
  send(port, tree.parent(), out.take());
}

// Down first, with the value; then up, as the receipt that lets the node above go on. Nobody is done
// before those below it are: whoever is done may leave, and would take their receipts along.
void Team::progress_broadcast(Port& port, std::uint64_t seq, Open& open, const Tree& tree) {
  const auto is_root_rank = [&](const auto& waiting) { return waiting.first == open.root; };
  if (!open.has_value && std::any_of(open.calls.begin(), open.calls.end(), is_root_rank)) {
    open.has_value = true;
    for (const std::uint64_t child : tree.children()) {
      Writer out = header(Phase::down, seq, open.kind, open.root);
      out.append(open.value.data(), open.value.size());
      send(port, child, out.take());
    }
  }
  const bool all_called = open.n_called == n_local_;
  if (!open.has_value || !all_called || open.n_ups != tree.children().size()) return;
  if (!tree.is_root()) {
    send(port, tree.parent(), header(Phase::up, seq, open.kind, open.root).take());
  }
  figures_.open += port.now() - open.since;
  ++figures_.n_collectives;
  // Taken out first: the calls below may start the next collective.
  const Open ended = std::move(open_.extract(seq).mapped());
  for (const auto& [rank, waiting] : ended.calls)
    waiting.done(port, ended.value);
}

void Team::finish(Port& port, std::uint64_t seq, const Tree& tree, Bytes result) {
  // Taken out first: the calls below may start the next collective.
  Open open = std::move(open_.extract(seq).mapped());
  const bool travels = open.kind == Kind::allreduce;
  for (const std::uint64_t child : tree.children()) {
    Writer out = header(Phase::down, seq, open.kind, open.root);
    if (travels) out.append(result.data(), result.size());
    send(port, child, out.take());
  }
  figures_.open += port.now() - open.since;
  ++figures_.n_collectives;
  for (auto& [rank, waiting] : open.calls) {
    const bool gets_result = travels || rank == open.root;
    if (open.kind == Kind::gather) {
      std::vector<Bytes> parts;
      if (rank == open.root) {
        for (auto& [from, value] : open.gathered)
          parts.push_back(std::move(value));
      }
      waiting.gather_done(port, std::move(parts));
    } else {
      waiting.done(port, gets_result ? result : Bytes{});
    }
  }
}

// --- messages
// ----------------------------------------------------------------------------------------

void Team::on_message(Port& port, NodeId from, Reader& in) {
  const auto phase = in.get<Phase>();
  if (phase == Phase::fail) {
    on_failure_message(port, in);
    return;
  }
  if (failure_) return;
  const auto seq = in.get<std::uint64_t>();
  const auto kind = in.get<Kind>();
  const auto root = in.get<std::uint64_t>();
  if (phase > Phase::fail || kind > Kind::gather || root >= size()) {
    throw Error(
        "team " + name_ + ": no collective in the message from node " + std::to_string(from),
        ExitCode::failed);
  }
  Open& open = open_at(seq);
  check_same_call(seq, open, kind, root, "node " + std::to_string(from));
  if (phase == Phase::up) {
    on_up(port, seq, open, in);
  } else if (kind == Kind::broadcast) {
    const Tree tree = tree_of(root);
    const ByteView rest = in.get_view(in.left());
    open.value.assign(rest.begin(), rest.end());
    open.has_value = true;
    for (const std::uint64_t child : tree.children()) {
      Writer out = header(Phase::down, seq, kind, root);
      out.append(rest.data(), rest.size());
      send(port, child, out.take());
    }
    progress(port, seq);
  } else {
    const ByteView rest = in.get_view(in.left());
    finish(port, seq, tree_of(root), Bytes(rest.begin(), rest.end()));
  }
}

void Team::on_up(Port& port, std::uint64_t seq, Open& open, Reader& in) {
  ++open.n_ups;
  const ByteView rest = in.get_view(in.left());
  if (!rest.empty()) open.waiting_ups.emplace_back(rest.begin(), rest.end());
  merge_ups(open);
  progress(port, seq);
}

// --- failure
// -----------------------------------------------------------------------------------------

void Team::set_on_failure(std::function<void(Port&, const Error&)> handler) {
  on_failure_ = std::move(handler);
}

void Team::async_fail(Port& port, const Error& error) {
  if (failure_) return;
  spread_failure(port, position(), error);
}

void Team::on_failure_message(Port& port, Reader& in) {
  const auto origin = in.get<std::uint64_t>();
  const auto code = in.get<std::int32_t>();
  const std::string text = in.get_string();
  if (origin >= nodes_.size()) {
    throw Error("team " + name_ + ": a failure of no member", ExitCode::failed);
  }
  spread_failure(port, origin, Error(text, static_cast<ExitCode>(code)));
}

// Each origin has a tree of its own, and a node passes on every failure once: two failures at a
// time cut neither's way.
void Team::spread_failure(Port& port, std::uint64_t origin, const Error& error) {
  const std::uint64_t n = nodes_.size();
  const Tree tree{n, origin, (position() + n - origin) % n};
  for (const std::uint64_t child : tree.children()) {
    Writer out;
    out.put(id_);
    out.put(Phase::fail);
    out.put(origin);
    out.put(static_cast<std::int32_t>(error.code()));
    out.put_string(error.what());
    send(port, child, out.take());
  }
  if (failure_) return;
  failure_ = error;
  open_.clear();
  if (on_failure_) on_failure_(port, error);
}

// --- parts
// -------------------------------------------------------------------------------------------

std::map<std::uint32_t, Team*> Team::split(
    const std::function<std::uint32_t(std::uint64_t rank)>& colour_of) {
  const std::uint32_t split = n_splits_++;
  std::map<std::uint32_t, IndexSet> parts;
  for (std::uint32_t i = 0; i < n_local_; ++i)
    parts[colour_of(first_local_rank_ + i)];
  for (std::uint64_t rank = 0; rank < size(); ++rank) {
    const auto part = parts.find(colour_of(rank));
    if (part != parts.end()) part->second.append(cores_.at(rank));
  }
  std::map<std::uint32_t, Team*> teams;
  for (auto& [colour, cores] : parts) {
    teams[colour] = &teams_.add(std::move(cores), hash_words(id_, split + 1, colour),
                                name_ + "/" + std::to_string(split) + "." + std::to_string(colour));
  }
  return teams;
}

Teams::Teams(const JobShape& shape) : shape_(shape) {
  RUBATO_REQUIRE(shape.node < shape.n_nodes, shape.node, shape.n_nodes);
  RUBATO_REQUIRE(shape.n_cores > 0, shape.n_cores);
  job_ = &add(IndexSet::range(shape.n_cores_total()), kJobTeamId, "job");
}

Teams::~Teams() = default;

Team& Teams::add(IndexSet cores, std::uint64_t id, std::string name) {
  auto team = std::unique_ptr<Team>(new Team(*this, std::move(cores), id, std::move(name)));
  const auto [at, is_new] = teams_.emplace(id, std::move(team));
  RUBATO_ASSERT(is_new, id);
  return *at->second;
}

// A split cannot do it, having no port; a message for a new team matters when the team is used.
void Teams::deliver_early(Port& port) {
  if (early_.empty()) return;
  std::vector<Early> early = std::exchange(early_, {});
  for (const Early& message : early)
    on_message(port, message.from, message.bytes);
}

void Teams::on_message(Port& port, NodeId from, ByteView bytes) {
  Reader in(bytes);
  const auto id = in.get<std::uint64_t>();
  const auto team = teams_.find(id);
  if (team != teams_.end()) {
    team->second->on_message(port, from, in);
    return;
  }
  RUBATO_ASSERT(early_.size() < kEarlyMessagesMax, early_.size(), from);
  early_.push_back({from, Bytes(bytes.begin(), bytes.end())});
}

}  // namespace rubato::core
