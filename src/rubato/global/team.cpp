#include "rubato/global/team.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "rubato/base/random.hpp"

namespace rubato::global {

using detail::Collective;
using detail::CollectiveKind;

namespace {

constexpr std::uint64_t kJoined = UINT64_MAX;  // parent of a team that none was split from
constexpr std::size_t kFreedKept = 64;

const char* name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::barrier:
      return "a barrier";
    case CollectiveKind::broadcast:
      return "a broadcast";
    case CollectiveKind::reduce:
      return "a reduce";
    case CollectiveKind::allreduce:
      return "an allreduce";
    case CollectiveKind::scan:
      return "a scan";
    case CollectiveKind::gather:
      return "a gather";
    case CollectiveKind::all_to_all:
      return "an all-to-all";
    case CollectiveKind::split:
      return "a split";
  }
  return "a collective";
}

const char* waiting_in(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::barrier:
      return "others of its team in a barrier";
    case CollectiveKind::broadcast:
      return "others of its team in a broadcast";
    case CollectiveKind::reduce:
      return "others of its team in a reduce";
    case CollectiveKind::allreduce:
      return "others of its team in an allreduce";
    case CollectiveKind::scan:
      return "others of its team in a scan";
    case CollectiveKind::gather:
      return "others of its team in a gather";
    case CollectiveKind::all_to_all:
      return "others of its team in an all-to-all";
    case CollectiveKind::split:
      return "others of its team in a split";
  }
  return "others of its team";
}

// The teams of a core: who is in them, how many calls it has made, and what has come for calls to
// be made.
struct TeamTable {
  struct Members {
    std::vector<CoreId> cores;  // empty: all of the job
    Rank rank = 0;
    std::uint64_t n_calls = 0;
    std::uint32_t n_splits = 0;
    std::uint64_t parent = 0;  // that it was split from
    std::string abandoned;     // why, if a member cannot go on
  };
  using Key = std::tuple<std::uint64_t, std::uint64_t, CoreId>;  // team, number of the call, from
  struct Arrived {
    Bytes value;
    CollectiveKind kind = CollectiveKind::barrier;
    bool is_there = false;
    core::Worker* waiter = nullptr;
  };

  std::unordered_map<std::uint64_t, Members> teams;
  std::map<Key, Arrived> arrived;
  std::deque<std::uint64_t> freed;  // teams of join(), the last ones: what comes late is dropped
  std::uint64_t n_private = 0;

  // Why the team, or one that it was split from, cannot go on; "" if it can.
  [[nodiscard]] const std::string& abandoned(std::uint64_t team) {
    static const std::string none;
    for (auto found = teams.find(team); found != teams.end();
         found = teams.find(found->second.parent)) {
      if (!found->second.abandoned.empty()) return found->second.abandoned;
      if (found->second.parent == 0) break;
    }
    return none;
  }
  [[nodiscard]] bool is_freed(std::uint64_t team) const {
    return std::ranges::find(freed, team) != freed.end();
  }

  static TeamTable& here() { return CoreContext::here().local_or_make<TeamTable>(); }

  Members& members(std::uint64_t team) {
    const auto [found, is_new] = teams.try_emplace(team);
    if (!is_new) return found->second;
    // Teams of all cores are known as they are; others, whose numbers are odd, come from split().
    RUBATO_REQUIRE((team & 1) == 0 && "a team that this core is not of, or that was freed", team);
    found->second.rank = CoreContext::here().core();
    return found->second;
  }
  [[nodiscard]] static Rank size(const Members& members) {
    return members.cores.empty() ? static_cast<Rank>(CoreContext::here().shape().n_cores_total())
                                 : static_cast<Rank>(members.cores.size());
  }
  [[nodiscard]] static CoreId core(const Members& members, Rank rank) {
    return members.cores.empty() ? rank : members.cores[rank];
  }
};

struct CollectiveRecord {
  std::uint64_t team;
  std::uint64_t number;
  CollectiveKind kind;
  void apply(CoreContext& here, ByteView value) const {
    auto& table = here.local_or_make<TeamTable>();
    if (table.is_freed(team)) return;
    TeamTable::Arrived& place = table.arrived[{team, number, here.source()}];
    place.value.assign(value.begin(), value.end());
    place.kind = kind;
    place.is_there = true;
    if (place.waiter != nullptr) here.tasks().wake(*std::exchange(place.waiter, nullptr));
  }
};

struct AbandonTeam {
  std::uint64_t team;
  void apply(CoreContext& here, ByteView why) const {
    auto& table = here.local_or_make<TeamTable>();
    if (table.is_freed(team)) return;
    std::string& abandoned = table.teams[team].abandoned;  // which may be joined later
    if (!abandoned.empty()) return;
    abandoned.assign(reinterpret_cast<const char*>(why.data()), why.size());
    for (auto& [key, place] : table.arrived) {
      if (place.waiter != nullptr && !table.abandoned(std::get<0>(key)).empty())
        here.tasks().wake(*std::exchange(place.waiter, nullptr));
    }
  }
};

}  // namespace

Collective::Collective(std::uint64_t team, CollectiveKind kind) : team_(team), kind_(kind) {
  TeamTable::Members& members = TeamTable::here().members(team);
  number_ = members.n_calls++;
  rank_ = members.rank;
  size_ = TeamTable::size(members);
}

void Collective::send(Rank to, ByteView value) const {
  CoreContext& here = CoreContext::here();
  const CoreId core = TeamTable::core(TeamTable::here().members(team_), to);
  here.post(core, CollectiveRecord{team_, number_, kind_}, value);
}

Bytes Collective::receive(Rank from, std::size_t n_bytes) const {
  CoreContext& here = CoreContext::here();
  here.check_may_block();
  TeamTable& table = TeamTable::here();
  const CoreId core = TeamTable::core(table.members(team_), from);
  const TeamTable::Key key{team_, number_, core};
  TeamTable::Arrived& place = table.arrived[key];
  while (!place.is_there) {
    const std::string& abandoned = table.abandoned(team_);
    if (!abandoned.empty()) {
      const Error error(abandoned, ExitCode::failed);
      table.arrived.erase(key);
      throw error;
    }
    place.waiter = &here.tasks().running();
    here.tasks().suspend(waiting_in(kind_));
  }
  const TeamTable::Arrived came = std::move(place);
  table.arrived.erase(key);
  const std::string calls = "call " + std::to_string(number_ + 1) + " of a team: ";
  if (came.kind != kind_) {
    throw Error(calls + "core " + std::to_string(here.core()) + " is in " + name_of(kind_) +
                    ", and core " + std::to_string(core) + " in " + name_of(came.kind) +
                    ": all members make the same calls in the same order",
                ExitCode::failed);
  }
  if (n_bytes != kAnySize && came.value.size() != n_bytes) {
    throw Error(calls + "in " + name_of(kind_) + ", core " + std::to_string(core) + " has sent " +
                    std::to_string(came.value.size()) + " bytes where core " +
                    std::to_string(here.core()) + " has values of " + std::to_string(n_bytes),
                ExitCode::failed);
  }
  return came.value;
}

Bytes detail::descend(const Collective& call, Rank root, ByteView of_root, std::size_t n_bytes) {
  RUBATO_REQUIRE(root < call.size(), root, call.size());
  const Rank size = call.size();
  const Rank mine = (call.rank() + size - root) % size;
  const Rank to_parent = bit_to_parent(mine, size);
  Bytes value;
  if (mine == 0) {
    value.assign(of_root.begin(), of_root.end());
  } else {
    value = call.receive((mine - to_parent + root) % size, n_bytes);
  }
  for (Rank bit = to_parent >> 1; bit > 0; bit >>= 1) {
    if (mine + bit < size) call.send((mine + bit + root) % size, value);
  }
  return value;
}

Bytes detail::climb_joined(const Collective& call, ByteView mine, std::size_t n_bytes) {
  Bytes joined(mine.begin(), mine.end());
  for (Rank bit = 1; bit < call.size(); bit <<= 1) {
    if ((call.rank() & bit) != 0) {
      call.send(call.rank() - bit, joined);
      return {};
    }
    if (call.rank() + bit >= call.size()) continue;
    const Rank n_there = std::min(bit, call.size() - call.rank() - bit);
    const Bytes theirs =
        call.receive(call.rank() + bit,
                     n_bytes == Collective::kAnySize ? Collective::kAnySize : n_bytes * n_there);
    joined.insert(joined.end(), theirs.begin(), theirs.end());
  }
  return joined;
}

Team::Known Team::known() const {
  const TeamTable::Members& members = TeamTable::here().members(id_);
  return {id_, members.rank, TeamTable::size(members), &members.cores};
}

// About tasks that are away, this layer is the only one that says something.
const Team::Known* Team::known_away() const noexcept {
  const core::Beside* const away = core::Beside::away();
  if (away == nullptr) return nullptr;
  const auto* const mine = static_cast<const Known*>(away->about());
  return mine != nullptr && mine->id == id_ ? mine : nullptr;
}

Rank Team::size() const {
  if (const Known* const mine = known_away()) return mine->size;
  return TeamTable::size(TeamTable::here().members(id_));
}

Rank Team::rank() const {
  if (const Known* const mine = known_away()) return mine->rank;
  return TeamTable::here().members(id_).rank;
}

const std::vector<CoreId>& Team::listed() const {
  return TeamTable::here().members(id_).cores;
}

CoreId Team::core(Rank rank) const {
  RUBATO_REQUIRE(rank < size(), rank, size());
  if (const Known* const mine = known_away())
    return mine->cores->empty() ? rank : (*mine->cores)[rank];
  return TeamTable::core(TeamTable::here().members(id_), rank);
}

void Team::barrier() const {
  const Collective call(id_, CollectiveKind::barrier);
  std::uint8_t nothing = 0;
  detail::climb(call, nothing, [](std::uint8_t a, std::uint8_t /*b*/) { return a; });
  static_cast<void>(detail::descend(call, 0, detail::bytes_of(nothing), sizeof nothing));
}

Team Team::split(std::uint32_t colour) const {
  const Collective call(id_, CollectiveKind::split);
  const auto colours = detail::values_of<std::uint32_t>(
      detail::descend(call, 0, detail::climb_joined(call, detail::bytes_of(colour), sizeof colour),
                      sizeof colour * call.size()));
  TeamTable& table = TeamTable::here();
  TeamTable::Members& parent = table.members(id_);
  // The same on all members, and no other team's: a hash of where it comes from.
  const std::uint64_t id = hash_words(id_, ++parent.n_splits, colour) | 1;
  TeamTable::Members team;
  team.parent = id_;
  for (Rank rank = 0; rank < call.size(); ++rank) {
    if (colours[rank] != colour) continue;
    if (rank == call.rank()) team.rank = static_cast<Rank>(team.cores.size());
    team.cores.push_back(TeamTable::core(parent, rank));
  }
  const bool is_new = table.teams.emplace(id, std::move(team)).second;
  RUBATO_ASSERT(is_new, id);
  return Team(id);
}

void Team::free() const {
  RUBATO_REQUIRE(id_ != 0 && "the team of the job is not freed");
  TeamTable& table = TeamTable::here();
  const auto found = table.teams.find(id_);
  const bool was_joined = found != table.teams.end() && found->second.parent == kJoined;
  if (found != table.teams.end()) table.teams.erase(found);
  if (was_joined) {
    table.freed.push_back(id_);
    // What was split from one that was abandoned, nobody frees.
    std::erase_if(table.teams, [&](const auto& team) { return team.second.parent == id_; });
    if (table.freed.size() > kFreedKept) table.freed.pop_front();
  }
  // Of calls that were abandoned.
  const auto first = table.arrived.lower_bound({id_, 0, 0});
  table.arrived.erase(first, table.arrived.lower_bound({id_ + 1, 0, 0}));
}

Team Team::join(std::uint64_t number, std::vector<CoreId> cores) {
  const std::uint64_t id = hash_words(std::uint64_t{0}, number, cores.size()) | 1;
  TeamTable::Members& team = TeamTable::here().teams[id];
  RUBATO_REQUIRE(team.cores.empty() && "a core joins a team once", number);
  const auto me = std::ranges::find(cores, CoreContext::here().core());
  RUBATO_REQUIRE(me != cores.end(), number);
  team.rank = static_cast<Rank>(me - cores.begin());
  team.cores = std::move(cores);
  team.parent = kJoined;
  return Team(id);
}

void Team::abandon(const std::string& why) const {
  CoreContext& here = CoreContext::here();
  if (!TeamTable::here().members(id_).abandoned.empty()) return;  // all are told
  const std::string text = why.empty() ? "a member of the team has failed" : why;
  const std::vector<CoreId> cores = TeamTable::here().members(id_).cores;
  for (const CoreId core : cores)
    here.post(core, AbandonTeam{id_}, std::as_bytes(std::span(text)));
}

Team Team::private_job() {
  // Even, as no team of split() is.
  const std::uint64_t number = ++TeamTable::here().n_private;
  return Team((number << 32 | CoreContext::here().core()) << 1 | (std::uint64_t{1} << 63));
}

}  // namespace rubato::global
