#pragma once
// GlobalBag: values in no order, each on the core where it was put. A worklist:
//
//   const auto next = GlobalBag<Vertex>::make();
//   forall(edges, [=](Edge& e) { if (..) next.put(e.to); });       sends nothing
//   forall(next, [](Vertex& v) { .. });                            where they lie
//   while (auto v = next.take()) ...                               own ones first, then those of others

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "rubato/global/coroutine.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/per_core.hpp"

namespace rubato::global {

namespace detail {

// What is indexed as `list` is, while nothing is added or removed; goes by its bytes.
template <class T>
[[nodiscard]] T* first_of(std::vector<T>& list) {
  return list.data();
}
struct Flags {
  std::deque<bool>* list;
  [[nodiscard]] bool& operator[](std::uint64_t i) const { return (*list)[i]; }
};
[[nodiscard]] inline Flags first_of(std::deque<bool>& list) {
  return {&list};
}

}  // namespace detail

// A handle: copied and sent as it is. Values are plain, strings, or of any type that has a codec.
template <class T>
class GlobalBag {
  static_assert(Encoded<T>,
                "a value of a bag is a string, a plain value, or has a codec (codec.hpp)");

 public:
  // What a core has. Values are handed out in place, and std::vector<bool> has bits: of these a deque.
  using Values = std::conditional_t<std::is_same_v<T, bool>, std::deque<T>, std::vector<T>>;

  GlobalBag() = default;

  // An empty one. Called by a task; waits.
  [[nodiscard]] static GlobalBag make() {
    GlobalBag bag;
    bag.values_ = PerCore<Values>::make();
    return bag;
  }
  // Called by a task when nobody uses it any more; waits.
  void free() const { values_.free(); }

  // Into the part of the calling core; sends nothing.
  void put(const T& value) const { local().push_back(value); }
  template <class Range>
  void put_range(const Range& values) const {
    local().insert(local().end(), std::begin(values), std::end(values));
  }
  // The newest of this core; if it has none, one of another core, which gives half of what it has,
  // at most 4096, or a MiB of them and one. Nothing if none of them had any when it was asked. Called by a task; may wait.
  [[nodiscard]] std::optional<T> take() const;
  // The same for coroutines: co_await bag.awaited_take().
  [[nodiscard]] CoroutineOf<std::optional<T>> awaited_take() const { return take_later(*this); }

  // Called by a task; wait. Exact where nobody puts or takes meanwhile.
  [[nodiscard]] std::uint64_t size() const {
    return values_.reduce([](Values& mine) { return std::uint64_t{mine.size()}; }, std::plus<>{});
  }
  void clear() const {
    on_all_cores([bag = *this] { bag.local().clear(); });
  }
  // The values of the calling core.
  [[nodiscard]] Values& local() const { return values_.here(); }

 private:
  static constexpr std::size_t kGivenMost = 4096;
  static constexpr std::size_t kBytesGivenMost = std::size_t{1} << 20;
  static constexpr std::uint32_t kTakesATurn = 64;

  // Of the values of a core, for one that has none, where a To waits for how many they are.
  template <template <class> class To>
  struct Given {
    GlobalBag bag;
    Place reply;
    void apply(CoreContext& here, ByteView values) const {
      std::uint64_t n = 0;
      for (Reader in(values); !in.at_end(); ++n)
        bag.local().push_back(detail::get_one<T>(in));
      reinterpret_cast<To<std::uint64_t>*>(reply.resolve(here))->take(here, n);
    }
  };
  template <template <class> class To>
  struct Ask {
    GlobalBag bag;
    Place reply;
    void apply(CoreContext& here) const {
      Values& mine = bag.local();
      const std::size_t n = std::min((mine.size() + 1) / 2, kGivenMost);
      const auto begin = mine.end() - static_cast<std::ptrdiff_t>(n);
      auto end = begin;
      Writer given;
      for (; end != mine.end() && given.view().size() < kBytesGivenMost; ++end) {
        detail::check_travels<T>(here, *end);
        detail::put_one<T>(given, *end);
      }
      mine.erase(begin, end);
      here.post(here.source(), Given<To>{bag, reply}, given.view());
    }
  };

  class AskAwaiter : public detail::AnswerAwaiter<std::uint64_t> {
   public:
    AskAwaiter(const GlobalBag& bag, CoreId core) noexcept : bag_(bag), core_(core) {}
    void await_suspend(detail::CoroutineHandle waiter) {
      auto& reply = this->expect(waiter, "values of another core's bag");
      CoreContext::here().post(core_, Ask<detail::CoroutineReply>{bag_, Place::at_address(&reply)});
    }

   private:
    GlobalBag bag_;
    CoreId core_;
  };
  // Whether who takes one after the other is to let others of this core go first: messages, by which other
  // cores ask for some, among them.
  [[nodiscard]] static bool is_turn_over(CoreContext& here) {
    struct Takes {
      std::uint32_t n = 0;
    };
    return ++here.local_or_make<Takes>().n % kTakesATurn == 0;
  }
  [[nodiscard]] std::optional<T> take_here() const {
    if (local().empty()) return std::nullopt;
    std::optional<T> value(std::move(local().back()));
    local().pop_back();
    return value;
  }
  static CoroutineOf<std::optional<T>> take_later(GlobalBag bag) {
    const CoreId me = CoreContext::here().core();
    const auto n_cores = static_cast<CoreId>(CoreContext::here().shape().n_cores_total());
    const bool is_over = is_turn_over(CoreContext::here());
    if (is_over) co_await detail::TurnAwaiter();
    for (CoreId i = 0; i < n_cores; ++i) {
      if (i > 0) co_await AskAwaiter(bag, (me + i) % n_cores);
      std::optional<T> value = bag.take_here();
      if (value) co_return value;
    }
    co_return std::nullopt;
  }

  PerCore<Values> values_;
};

template <class T>
std::optional<T> GlobalBag<T>::take() const {
  CoreContext& here = CoreContext::here();
  const auto n_cores = static_cast<CoreId>(here.shape().n_cores_total());
  detail::check_might_wait(here);
  if (is_turn_over(here) && here.may_wait()) here.tasks().yield_to_any();
  for (CoreId i = 0; i < n_cores; ++i) {
    if (i > 0) {
      detail::Reply<std::uint64_t> reply;
      here.check_may_block();
      here.post((here.core() + i) % n_cores, Ask<detail::Reply>{*this, Place::at_address(&reply)});
      static_cast<void>(reply.wait(here));
    }
    // Meanwhile other tasks of this core may have put something, or taken what came.
    if (std::optional<T> value = take_here()) return value;
  }
  return std::nullopt;
}

// Calls body(value) for each, on the core that has it, while nobody puts or takes. The surrounding
// finish() waits.
template <class T, class Body>
void async_forall(const GlobalBag<T>& bag, const Body& body, LoopOptions options = {},
                  SourcePlace at = SourcePlace::here()) {
  static_assert(
      std::is_trivially_copyable_v<Body>,
      "the body of a loop is copied to all cores by its bytes: it must capture plain values");
  async_on_all_cores(
      [bag, body, options, place = PortablePlace(at)] {
        const auto one = [values = detail::first_of(bag.local()),
                          body](std::uint64_t i) -> decltype(auto) { return body(values[i]); };
        detail::start_range<true>(CoreContext::here(), 0, bag.local().size(), one, options, place);
      },
      at);
}
// The same, and waits.
template <class T, class Body>
void forall(const GlobalBag<T>& bag, const Body& body, LoopOptions options = {},
            SourcePlace at = SourcePlace::here()) {
  CoreContext::here().finish([&] { async_forall(bag, body, options, at); });
}

}  // namespace rubato::global
