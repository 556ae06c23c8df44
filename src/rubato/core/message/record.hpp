#pragma once
// Records: what a message between cores is made of.
//
// A record is a plain struct whose bytes travel, and which is applied by the core that it is for:
//
//   struct AddEdge {
//     std::uint64_t from, to;
//     void apply(CoreContext& here) const { here.local<Graph>().add(from, to); }
//   };
//   here.post(owner, AddEdge{from, to});
//
// apply() never blocks, and records that are applied on one core never overlap. With
// apply(CoreContext&, ByteView payload) a record takes a payload of any size, valid during the
// call. Of a record that says with touches(CoreContext&) where in memory it will read or write, that
// line is asked for some records ahead.
//
// What lies behind that one, a record with a payload says with touches_then(CoreContext&), which may
// read the first line: that is asked for half as far ahead. Null: none.
//
// A function and explicit arguments make a record, too: here.send<&add_edge>(owner, from, to).
// Pointers, references and views among the arguments are refused by the compiler, since an address
// means nothing on another node.

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "rubato/base/bytes.hpp"
#include "rubato/base/prefetch.hpp"
#include "rubato/base/stream_store.hpp"
#include "rubato/core/message/handlers.hpp"

namespace rubato::core {

template <class R>
concept Record = std::is_trivially_copyable_v<R> && alignof(R) <= 8;

namespace detail {

template <class R>
concept HasPayload = requires(const R& record, CoreContext& here, ByteView payload) {
  record.apply(here, payload);
};
template <class R>
concept SaysTouched = requires(const R& record, CoreContext& here) {
  record.touches(here);
};
template <class R>
concept SaysTouchedThen = requires(const R& record, CoreContext& here) {
  record.touches_then(here);
};

[[noreturn]] void throw_cut_record(std::size_t n_bytes);

constexpr std::size_t round_up_8(std::size_t n) noexcept {
  return (n + 7) / 8 * 8;
}

// The name of a type as the compiler prints it, which says "[with R = NAME; ..]" or "[R = NAME]".
template <class R>
constexpr std::string_view type_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  constexpr std::string_view kBefore = "R = ";
  text.remove_prefix(text.find(kBefore) + kBefore.size());
  return text.substr(0, std::min(text.rfind("; std::string_view"), text.rfind(']')));
}
static_assert(type_name<std::byte>() == "std::byte");

// Into a block.
template <Record R>
[[gnu::always_inline]] inline void put_record(std::byte* at, const R& record, bool streams) {
  if constexpr (kHasStreamStores && sizeof(R) % 8 == 0) {
    if (streams) return stream_store(at, record);
  }
  // Not memcpy, which would go by way of the stack: narrow stores, then wide loads that wait for
  // them.
  ::new (static_cast<void*>(at)) R(record);
}

template <Record R>
struct Registered {
  static constexpr std::size_t kStride = round_up_8(sizeof(R));
  // Far enough that a line from memory has come.
  static constexpr std::size_t kAhead = 96 * kStride;

  // Where a record lies, in place: blocks are aligned for all of them.
  [[gnu::always_inline]] static const R& read(const std::byte* at) noexcept {
    return *std::launder(reinterpret_cast<const R*>(at));
  }
  static void apply(CoreContext& here, const std::byte* at, std::size_t n_bytes) {
    const std::byte* const end = at + n_bytes;
    if constexpr (HasPayload<R>) {
      apply_with_payloads(here, at, end);
    } else if constexpr (SaysTouched<R>) {
      const std::byte* ahead = at;
      const std::byte* const first = n_bytes < kAhead ? end : at + kAhead;
      for (; ahead != first; ahead += kStride)
        prefetch_from_memory(read(ahead).touches(here));
      for (; ahead != end; ahead += kStride, at += kStride) {
        prefetch_from_memory(read(ahead).touches(here));
        read(at).apply(here);
      }
      for (; at != end; at += kStride)
        read(at).apply(here);
    } else {
      for (; at != end; at += kStride)
        read(at).apply(here);
    }
  }

  // Records of different sizes: each behind its own, which says how far it is to the next.
  static void apply_with_payloads(CoreContext& here, const std::byte* at, const std::byte* end) {
    [[maybe_unused]] Ahead ahead{at, at};
    while (at != end) {
      if constexpr (SaysTouched<R>) ahead.ask(here, end);
      const std::byte* const next = behind(at, end);
      const std::byte* const record = at + kSizeBytes;
      read(record).apply(here, ByteView(record + kStride, size_at(at) - kStride));
      at = next;
    }
  }
  // What has been asked for ahead of the record that is applied next, and what has been asked for
  // again.
  struct Ahead {
    const std::byte* first;
    const std::byte* second;
    std::uint32_t n = 0;

    void ask(CoreContext& here, const std::byte* end) {
      for (; n < kPayloadsAhead && first != end; ++n) {
        const std::byte* const next = behind(first, end);
        prefetch_from_memory(read(std::exchange(first, next) + kSizeBytes).touches(here));
        if (n >= kPayloadsAhead / 2) ask_again(here, end);
      }
      --n;
    }
    void ask_again([[maybe_unused]] CoreContext& here, [[maybe_unused]] const std::byte* end) {
      if constexpr (SaysTouchedThen<R>) {
        const std::byte* const next = behind(second, end);
        prefetch_from_memory(read(std::exchange(second, next) + kSizeBytes).touches_then(here));
      }
    }
  };
  static constexpr std::size_t kSizeBytes = sizeof(std::uint64_t);
  static constexpr std::uint32_t kPayloadsAhead = 16;
  [[nodiscard]] static std::uint64_t size_at(const std::byte* at) noexcept {
    std::uint64_t n_bytes = 0;
    std::memcpy(&n_bytes, at, sizeof n_bytes);
    return n_bytes;
  }
  [[nodiscard]] static const std::byte* behind(const std::byte* at, const std::byte* end) {
    const auto left = static_cast<std::size_t>(end - at);
    if (left < kSizeBytes + kStride) throw_cut_record(left);
    const std::uint64_t n_bytes = size_at(at);
    if (n_bytes < kStride || n_bytes > left - kSizeBytes) throw_cut_record(left);
    return at + std::min(left, kSizeBytes + round_up_8(n_bytes));
  }

  // NOLINTNEXTLINE(readability-identifier-naming): set before main, then constant
  static inline const HandlerId kId =
      register_handler({type_name<R>(), &apply, kStride, HasPayload<R>});
};

template <class T>
struct IsView : std::false_type {};
template <class T, std::size_t N>
struct IsView<std::span<T, N>> : std::true_type {};
template <class C>
struct IsView<std::basic_string_view<C>> : std::true_type {};

template <class T>
consteval void check_argument() {
  static_assert(!std::is_reference_v<T>,
                "a message handler takes its arguments by value: a reference means nothing on "
                "another node");
  static_assert(!std::is_pointer_v<std::remove_reference_t<T>> &&
                    !std::is_member_pointer_v<std::remove_reference_t<T>>,
                "a message argument must not be a pointer: an address means nothing on another "
                "node; send the value");
  static_assert(!IsView<std::remove_cvref_t<T>>::value,
                "a message argument must not be a view: it holds a pointer; send the bytes as "
                "the last parameter, of type ByteView");
  static_assert(std::is_trivially_copyable_v<std::remove_reference_t<T>>,
                "a message argument must be trivially copyable: its bytes are what travels");
}

// The signature of a handler: void(CoreContext&, Plain arguments .. [, ByteView]).
template <class F>
struct Signature {
  static_assert(sizeof(F) == 0, "a message handler is a function void(CoreContext&, arguments..)");
};
template <class... P>
struct Signature<void (*)(CoreContext&, P...)> {
  static constexpr std::size_t kArguments = sizeof...(P);
  using Arguments = std::tuple<P...>;

  static constexpr bool has_payload() {
    if constexpr (kArguments == 0) {
      return false;
    } else {
      return std::is_same_v<std::tuple_element_t<kArguments - 1, Arguments>, ByteView>;
    }
  }
  static constexpr std::size_t kPlain = kArguments - (has_payload() ? 1 : 0);

  template <std::size_t... I>
  static consteval bool check(std::index_sequence<I...> /*plain*/) {
    (check_argument<std::tuple_element_t<I, Arguments>>(), ...);
    return true;
  }
  template <std::size_t... I>
  static consteval std::size_t sum(std::index_sequence<I...> /*plain*/) {
    return (std::size_t{0} + ... + sizeof(std::tuple_element_t<I, Arguments>));
  }
  static_assert(check(std::make_index_sequence<kPlain>{}));
  static constexpr std::size_t kBytes = sum(std::make_index_sequence<kPlain>{});
};

template <class... P>
struct Signature<void (*)(CoreContext&, P...) noexcept> : Signature<void (*)(CoreContext&, P...)> {
};

// The arguments of a call of F, end to end.
template <auto F>
struct CallRecord {
  using Sig = Signature<decltype(F)>;
  using Plain = std::make_index_sequence<Sig::kPlain>;

  std::array<std::byte, Sig::kBytes == 0 ? 1 : Sig::kBytes> bytes;

  template <class... A>
  static CallRecord of(const A&... arguments) {
    CallRecord record{};
    [[maybe_unused]] std::size_t at = 0;
    (record.put(at, arguments), ...);
    return record;
  }
  template <class T>
  void put(std::size_t& at, const T& value) noexcept {
    std::memcpy(bytes.data() + at, &value, sizeof value);
    at += sizeof value;
  }

  template <std::size_t... I>
  [[nodiscard]] auto arguments(std::index_sequence<I...> /*plain*/) const {
    Reader in(bytes);
    // Braces read from left to right.
    return std::tuple<std::tuple_element_t<I, typename Sig::Arguments>...>{
        in.get<std::tuple_element_t<I, typename Sig::Arguments>>()...};
  }
  void apply(CoreContext& here) const requires(!Sig::has_payload()) {
    std::apply([&](const auto&... plain) { F(here, plain...); }, arguments(Plain{}));
  }
  void apply(CoreContext& here, ByteView payload) const requires(Sig::has_payload()) {
    std::apply([&](const auto&... plain) { F(here, plain..., payload); }, arguments(Plain{}));
  }
};

}  // namespace detail
}  // namespace rubato::core
