#pragma once
// Team: a set of cores whose tasks act together: barrier, broadcast, reductions, scans, all-to-all.
//
//   on_all_cores([=] {
//     const Team team = Team::job();
//     const double norm = team.allreduce(mine, std::plus<>{});
//     const std::uint64_t first = team.exclusive_scan(n_mine, std::plus<>{}, std::uint64_t{0});
//   });
//
// One task of each member makes the calls, in the same order on all of them; each waits until it
// has its result, and the core goes on with other tasks. Calls that disagree end the run with an
// Error that names both.
//
// A value climbs a binomial tree over the ranks, combined in the order of the ranks: the same bits
// for each number of nodes with as many cores in all. For sums of doubles that are the same for any
// number of cores, combine ExactSum (base/exact_sum.hpp), or use reduce() on an array (reduce.hpp).
//
// Tasks wait in these calls. Engines, whose events must not, have core::Team.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rubato/base/bytes.hpp"
#include "rubato/core/message/beside.hpp"
#include "rubato/global/codec.hpp"
#include "rubato/global/loop.hpp"

namespace rubato::global {

using Rank = std::uint32_t;

namespace detail {

enum class CollectiveKind : std::uint8_t {
  barrier,
  broadcast,
  reduce,
  allreduce,
  scan,
  gather,
  all_to_all,
  split,
};

// One call of a collective, by one member: messages to and from others that make the same call.
class Collective {
 public:
  Collective(std::uint64_t team, CollectiveKind kind);
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;
  ~Collective() = default;

  [[nodiscard]] Rank rank() const noexcept { return rank_; }
  [[nodiscard]] Rank size() const noexcept { return size_; }
  void send(Rank to, ByteView value) const;
  // What `from` has sent to this member; waits. Throws Error if it called something else, or if the
  // value has not `n_bytes` bytes (kAnySize: whatever it has).
  [[nodiscard]] Bytes receive(Rank from, std::size_t n_bytes) const;
  static constexpr std::size_t kAnySize = SIZE_MAX;

 private:
  core::Beside::HomeForCall home_;  // first, since its end lets the caller leave
  std::uint64_t team_;
  CollectiveKind kind_;
  std::uint64_t number_;
  Rank rank_;
  Rank size_;
};

template <class T>
[[nodiscard]] T value_of(ByteView bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}
template <class T>
requires std::is_trivially_copyable_v<T>
[[nodiscard]] ByteView bytes_of(const T& value) {
  check_travels(CoreContext::here(), value);
  return std::as_bytes(std::span(&value, 1));
}
template <class T>
[[nodiscard]] ByteView bytes_of(const std::vector<T>& values) {
  check_all_travel(std::span(values));
  return std::as_bytes(std::span(values));
}
template <class T>
[[nodiscard]] std::vector<T> values_of(ByteView bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

// Several values, one behind the other.
template <class T>
[[nodiscard]] Bytes bytes_of_list(std::span<const T> values) {
  Writer out;
  if constexpr (TravelsWhole<T>) {
    check_all_travel(values);
    out.append(values.data(), values.size_bytes());
  } else {
    for (const T& value : values)
      put_one(out, value);
  }
  return out.take();
}
template <class T>
[[nodiscard]] std::vector<T> list_of(ByteView bytes) {
  if constexpr (TravelsWhole<T>) {
    return values_of<T>(bytes);
  } else {
    std::vector<T> values;
    for (Reader in(bytes); !in.at_end();)
      values.push_back(get_one<T>(in));
    return values;
  }
}

// How a value of a collective travels: a plain one, a vector of plain ones, which is combined
// element by element, or any other that has a codec.
template <class T>
struct Wire {
  static_assert(std::is_trivially_copyable_v<T>,
                "a value of a collective is a string, a plain value, or has a codec (codec.hpp)");
  static void send(const Collective& call, Rank to, const T& value) {
    call.send(to, bytes_of(value));
  }
  static T receive(const Collective& call, Rank from, const T& like) {
    return value_of<T>(call.receive(from, n_bytes_like(like)));
  }
  static std::size_t n_bytes_like(const T& /*like*/) noexcept { return sizeof(T); }
  template <class Op>
  static T combine(const T& lower, const T& higher, const Op& op) {
    return op(lower, higher);
  }
};
template <class T>
struct Wire<std::vector<T>> {
  static_assert(std::is_trivially_copyable_v<T>);
  static void send(const Collective& call, Rank to, const std::vector<T>& values) {
    call.send(to, bytes_of(values));
  }
  static std::vector<T> receive(const Collective& call, Rank from, const std::vector<T>& like) {
    return values_of<T>(call.receive(from, n_bytes_like(like)));
  }
  static std::size_t n_bytes_like(const std::vector<T>& like) noexcept {
    return like.size() * sizeof(T);
  }
  template <class Op>
  static std::vector<T> combine(std::vector<T> lower, const std::vector<T>& higher, const Op& op) {
    for (std::size_t i = 0; i < lower.size(); ++i)
      lower[i] = op(std::as_const(lower[i]), higher[i]);
    return lower;
  }
};

template <Encoded T>
requires(!SentAsItIs<T>) struct Wire<T> {
  static void send(const Collective& call, Rank to, const T& value) {
    call.send(to, Codec<T>::bytes(value));
  }
  static T receive(const Collective& call, Rank from, const T& like) {
    return Codec<T>::make(call.receive(from, n_bytes_like(like)));
  }
  static std::size_t n_bytes_like(const T& /*like*/) noexcept { return Collective::kAnySize; }
  template <class Op>
  static T combine(T lower, const T& higher, const Op& op) {
    return op(std::move(lower), higher);
  }
};

// Up the binomial tree over the ranks: `value` becomes the combination of this member's subtree, at
// rank 0 of all.
template <class T, class Op>
void climb(const Collective& call, T& value, const Op& op) {
  for (Rank bit = 1; bit < call.size(); bit <<= 1) {
    if ((call.rank() & bit) != 0) return Wire<T>::send(call, call.rank() - bit, value);
    if (call.rank() + bit < call.size()) {
      const T higher = Wire<T>::receive(call, call.rank() + bit, value);
      value = Wire<T>::combine(std::move(value), higher, op);
    }
  }
}

// The bit by which a rank differs from its parent; above all ranks for rank 0.
[[nodiscard]] constexpr Rank bit_to_parent(Rank rank, Rank size) noexcept {
  Rank bit = 1;
  while (bit < size && (rank & bit) == 0)
    bit <<= 1;
  return bit;
}

// Down the same tree, with ranks counted from `root`.
[[nodiscard]] Bytes descend(const Collective& call, Rank root, ByteView of_root,
                            std::size_t n_bytes);
// The value of the root; `n_bytes` if it is not of a size that its type has.
template <class T>
[[nodiscard]] T descend_value(const Collective& call, Rank root, const T& value,
                              std::size_t n_bytes) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    return value_of<T>(descend(call, root, bytes_of(value), sizeof(T)));
  } else {
    return Codec<T>::make(descend(call, root, Codec<T>::bytes(value), n_bytes));
  }
}

}  // namespace detail

// A handle: copied and sent as it is; means the same on all cores.
class Team {
 public:
  // All cores of the job; ranks are their numbers.
  [[nodiscard]] static Team job() noexcept { return Team(0); }

  [[nodiscard]] Rank size() const;
  // Of the calling core. REQUIRES: it is a member.
  [[nodiscard]] Rank rank() const;
  [[nodiscard]] CoreId core(Rank rank) const;

  // Waits until all members have called.
  void barrier() const;

  // The value of rank `root`; that of the others does not count (a vector of any size).
  template <class T>
  [[nodiscard]] T broadcast(const T& value, Rank root = 0) const;

  // op(value of rank 0, value of rank 1, ..), op being associative. A vector is combined element by
  // element, and as long on all members; a string, or what else has a codec (codec.hpp), as a whole.
  template <class T, class Op>
  [[nodiscard]] T allreduce(const T& value, const Op& op) const;
  // The same, at rank `root`; its own value at the others.
  template <class T, class Op>
  [[nodiscard]] T reduce(const T& value, const Op& op, Rank root = 0) const;

  // op over the ranks up to this one.
  template <class T, class Op>
  [[nodiscard]] T inclusive_scan(const T& value, const Op& op) const;
  // op over the ranks below this one; `first` at rank 0, which counts nowhere else.
  template <class T, class Op>
  [[nodiscard]] T exclusive_scan(const T& value, const Op& op, const T& first) const;

  // The values of all members by rank, at rank `root`, nothing at the others. The root holds them
  // all.
  template <class T>
  [[nodiscard]] std::vector<T> gather(const T& value, Rank root = 0) const;
  // The same, at all members, each of which holds them all.
  template <class T>
  [[nodiscard]] std::vector<T> allgather(const T& value) const;

  // of_rank[r] goes to rank r; returns what each rank has sent here, by rank. REQUIRES:
  // of_rank.size() == size().
  template <class T>
  [[nodiscard]] std::vector<std::vector<T>> all_to_all(
      const std::vector<std::vector<T>>& of_rank) const;

  // A task of f on each member, made by one of them: f is what on_all_cores() of loop.hpp takes. Waits
  // for the end of all of them, and of what they start.
  template <class F>
  void on_all_cores(const F& f, SourcePlace at = SourcePlace::here()) const;
  // The same; the surrounding finish() waits.
  template <class F>
  void async_on_all_cores(const F& f, SourcePlace at = SourcePlace::here()) const;

  // Members of one colour become a team, in the order of their ranks. Each core holds the numbers
  // of its members.
  [[nodiscard]] Team split(std::uint32_t colour) const;
  // Called once by each member of a team that split() made, when it is not used any more. Does not
  // wait.
  void free() const;

  // A team of all cores of its own, for a library: its calls do not mix with those of Team::job().
  // Called by one task; the others get it from there.
  [[nodiscard]] static Team private_job();

  // A team of these cores, each of which joins once, by one task: `number` is no other team's, and
  // the list is the same everywhere. Freed as those of split().
  [[nodiscard]] static Team join(std::uint64_t number, std::vector<CoreId> cores);
  // A member cannot go on: calls that others are in, or come to, throw Error with `why`. Of a team
  // of join(); does not wait.
  void abandon(const std::string& why) const;

  // f() for what a member computes for long: beside its core, which goes on with messages and tasks.
  // f may make the calls of this team, which come home for themselves; with the first call of
  // anything else of the runtime, arrays, loops and messages, the task comes back to its core and
  // stays there (core/message/beside.hpp). `told` hears when it was away. Returns what f returns.
  template <class F>
  auto run_beside(F&& f, core::Beside::Told told = {}, SourcePlace at = SourcePlace::here()) const
      -> std::invoke_result_t<F&>;

  bool operator==(const Team&) const = default;

 private:
  // What a member that is away knows of its team.
  struct Known {
    std::uint64_t id;
    Rank rank;
    Rank size;
    const std::vector<CoreId>* cores;  // empty: all of the job
  };
  [[nodiscard]] Known known() const;
  // Null: it has to be looked up.
  [[nodiscard]] const Known* known_away() const noexcept;
  constexpr explicit Team(std::uint64_t id) noexcept : id_(id) {}

  // By rank; none for all of the job.
  [[nodiscard]] const std::vector<CoreId>& listed() const;
  template <class T, class Op>
  [[nodiscard]] std::pair<T, bool> prefix(const detail::Collective& call, T& mine,
                                          const Op& op) const;

  std::uint64_t id_;
};

namespace detail {

// A task on each of the cores that its payload lists: it goes to the first, which hands on the upper
// half of them, and so on. Cores need not know of a team for that.
template <class F>
struct SpawnOnEach {
  SpawnRecord<F> spawn;
  void apply(CoreContext& here, ByteView cores) const {
    while (cores.size() > sizeof(CoreId)) {
      const std::size_t n = cores.size() / sizeof(CoreId);
      const ByteView upper = cores.subspan((n - n / 2) * sizeof(CoreId));
      cores = cores.first(cores.size() - upper.size());
      here.post(value_of<CoreId>(upper), *this, upper);
    }
    spawn.apply(here);
  }
};

}  // namespace detail

template <class F>
auto Team::run_beside(F&& f, core::Beside::Told told, SourcePlace at) const
    -> std::invoke_result_t<F&> {
  const Known mine = known();
  core::Beside beside(&mine, std::move(told), at);
  if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
    beside.run(std::ref(f));
  } else {
    std::optional<std::invoke_result_t<F&>> result;
    beside.run([&] { result.emplace(f()); });
    return std::move(*result);
  }
}

template <class F>
void Team::async_on_all_cores(const F& f, SourcePlace at) const {
  const std::vector<CoreId>& cores = listed();
  if (cores.empty()) return global::async_on_all_cores(f, at);
  static_assert(
      std::is_trivially_copyable_v<F>,
      "what runs on all cores is copied there by its bytes: it must capture plain values");
  CoreContext& here = CoreContext::here();
  detail::check_travels(here, f);
  here.post(cores.front(), detail::SpawnOnEach<F>{{PortablePlace(at), f}}, detail::bytes_of(cores));
}
template <class F>
void Team::on_all_cores(const F& f, SourcePlace at) const {
  CoreContext::here().finish([&] { async_on_all_cores(f, at); });
}

template <class T>
T Team::broadcast(const T& value, Rank root) const {
  const detail::Collective call(id_, detail::CollectiveKind::broadcast);
  return detail::descend_value(call, root, value, detail::Collective::kAnySize);
}

template <class T, class Op>
T Team::allreduce(const T& value, const Op& op) const {
  const detail::Collective call(id_, detail::CollectiveKind::allreduce);
  T all = value;
  detail::climb(call, all, op);
  return detail::descend_value(call, 0, all, detail::Wire<T>::n_bytes_like(value));
}

template <class T, class Op>
T Team::reduce(const T& value, const Op& op, Rank root) const {
  const detail::Collective call(id_, detail::CollectiveKind::reduce);
  T all = value;
  detail::climb(call, all, op);
  RUBATO_REQUIRE(root < call.size(), root, call.size());
  if (root == 0) return call.rank() == 0 ? all : value;
  if (call.rank() == 0) detail::Wire<T>::send(call, root, all);
  return call.rank() == root ? detail::Wire<T>::receive(call, 0, value) : value;
}

// What the ranks below this one come to, and whether there are any. `mine` becomes that of the
// subtree.
template <class T, class Op>
std::pair<T, bool> Team::prefix(const detail::Collective& call, T& mine, const Op& op) const {
  const Rank to_parent = detail::bit_to_parent(call.rank(), call.size());
  std::vector<T> before;  // of this subtree, before each child of it
  for (Rank bit = 1; bit < to_parent && call.rank() + bit < call.size(); bit <<= 1) {
    before.push_back(mine);
    mine =
        detail::Wire<T>::combine(mine, detail::Wire<T>::receive(call, call.rank() + bit, mine), op);
  }
  const bool has_lower = call.rank() != 0;
  T lower = mine;
  if (has_lower) {
    detail::Wire<T>::send(call, call.rank() - to_parent, mine);
    lower = detail::Wire<T>::receive(call, call.rank() - to_parent, mine);
  }
  for (std::size_t i = before.size(); i-- > 0;) {
    const T to_child = has_lower ? detail::Wire<T>::combine(lower, before[i], op) : before[i];
    detail::Wire<T>::send(call, call.rank() + (Rank{1} << i), to_child);
  }
  return {lower, has_lower};
}

template <class T, class Op>
T Team::inclusive_scan(const T& value, const Op& op) const {
  const detail::Collective call(id_, detail::CollectiveKind::scan);
  T mine = value;
  const auto [lower, is_there] = prefix(call, mine, op);
  return is_there ? detail::Wire<T>::combine(lower, value, op) : value;
}

template <class T, class Op>
T Team::exclusive_scan(const T& value, const Op& op, const T& first) const {
  const detail::Collective call(id_, detail::CollectiveKind::scan);
  T mine = value;
  const auto [lower, is_there] = prefix(call, mine, op);
  return is_there ? lower : first;
}

namespace detail {

// The values of a subtree, which are of consecutive ranks, end to end: of `n_bytes` each, or
// Collective::kAnySize.
[[nodiscard]] Bytes climb_joined(const Collective& call, ByteView mine, std::size_t n_bytes);
// Of each value of a collective that brings together those of all members.
template <class T>
[[nodiscard]] constexpr std::size_t n_bytes_joined(Rank n_values) noexcept {
  return TravelsWhole<T> ? sizeof(T) * n_values : Collective::kAnySize;
}

}  // namespace detail

template <class T>
std::vector<T> Team::gather(const T& value, Rank root) const {
  const detail::Collective call(id_, detail::CollectiveKind::gather);
  Bytes joined = detail::climb_joined(call, detail::bytes_of_list(std::span(&value, 1)),
                                      detail::n_bytes_joined<T>(1));
  RUBATO_REQUIRE(root < call.size(), root, call.size());
  if (root != 0) {
    if (call.rank() == 0) call.send(root, joined);
    if (call.rank() == root) joined = call.receive(0, detail::n_bytes_joined<T>(call.size()));
  }
  if (call.rank() != root) return {};
  return detail::list_of<T>(joined);
}

template <class T>
std::vector<T> Team::allgather(const T& value) const {
  const detail::Collective call(id_, detail::CollectiveKind::gather);
  const Bytes joined = detail::climb_joined(call, detail::bytes_of_list(std::span(&value, 1)),
                                            detail::n_bytes_joined<T>(1));
  return detail::list_of<T>(
      detail::descend(call, 0, joined, detail::n_bytes_joined<T>(call.size())));
}

template <class T>
std::vector<std::vector<T>> Team::all_to_all(const std::vector<std::vector<T>>& of_rank) const {
  const detail::Collective call(id_, detail::CollectiveKind::all_to_all);
  RUBATO_REQUIRE(of_rank.size() == call.size(), of_rank.size(), call.size());
  // Each begins with its neighbour, so that nobody gets everything at once.
  for (Rank i = 1; i < call.size(); ++i) {
    const Rank to = (call.rank() + i) % call.size();
    call.send(to, detail::bytes_of_list(std::span(of_rank[to])));
  }
  std::vector<std::vector<T>> here(call.size());
  here[call.rank()] = of_rank[call.rank()];
  for (Rank i = 1; i < call.size(); ++i) {
    const Rank from = (call.rank() + call.size() - i) % call.size();
    here[from] = detail::list_of<T>(call.receive(from, detail::Collective::kAnySize));
  }
  return here;
}

}  // namespace rubato::global
