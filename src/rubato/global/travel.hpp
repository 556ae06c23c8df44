#pragma once
// What is sent to other nodes must not hold addresses of this one. The compiler refuses references,
// pointers among arguments and what is not trivially copyable; what a lambda has captured it cannot
// see. So checked builds look at each word of what lambdas capture and of values that travel, and end a job of
// several nodes if it is an address in use here. In one of a single node, where it means the same on all cores,
// they warn of it, once for each lambda. GlobalPtrs and arrays hold none (pointer.hpp).

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "rubato/core/message/core_context.hpp"
#include "rubato/global/codec.hpp"

#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
#define RUBATO_CAN_CLEAR_PADDING
#endif
#endif

namespace rubato::global {

namespace detail {

// Ends the job, with the place of the lambda, if a word of it is the address of memory that is in
// use.
void check_addresses(const void* bytes, std::size_t n_bytes, std::string_view type);
// The same of a job of one node: tells people of it. Returns whether it did.
bool warn_of_addresses(const void* bytes, std::size_t n_bytes, std::string_view type);

// A value in a record. Blocks are aligned for 8 bytes, so that what is aligned to more goes as bytes.
template <class T, bool = (alignof(T) > 8)>
class Carried {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): stands for the value
  constexpr Carried(const T& value) noexcept : value_(value) {}
  [[nodiscard]] constexpr const T& get() const noexcept { return value_; }

 private:
  [[no_unique_address]] T value_;
};
template <class T>
class Carried<T, true> {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): stands for the value
  Carried(const T& value) noexcept { std::memcpy(bytes_, &value, sizeof value); }
  [[nodiscard]] T get() const noexcept {
    std::array<std::byte, sizeof(T)> bytes;
    std::memcpy(bytes.data(), bytes_, sizeof bytes_);
    return std::bit_cast<T>(bytes);
  }

 private:
  alignas(8) std::byte bytes_[sizeof(T)];
};

// By its bytes; anything else by those that its codec makes of it.
template <class T>
concept TravelsWhole = std::is_trivially_copyable_v<T> && !PutsItself<T>;

// What a delegate returns to another core.
template <class R>
consteval bool check_result() {
  static_assert(
      !std::is_pointer_v<R> && !std::is_member_pointer_v<R> && !core::detail::IsView<R>::value,
      "the result of a delegate must not be a pointer or a view: an address means nothing "
      "on another node; return the value, or a GlobalPtr");
  static_assert(
      TravelsWhole<R> || Encoded<R>,
      "the result of a delegate travels as its bytes, or as those of its codec (codec.hpp)");
  return true;
}

// While what runs must not wait, being something between two others of its core. What it is, checked
// builds know.
class InPlaceAs {
 public:
  InPlaceAs(core::CoreContext& here, [[maybe_unused]] const core::detail::Handler& kind)
      : here_(here), inside_(here) {
#ifndef NDEBUG
    outer_ = here.swap_applied(&kind);
#endif
  }
  InPlaceAs(const InPlaceAs&) = delete;
  InPlaceAs& operator=(const InPlaceAs&) = delete;
  ~InPlaceAs() {
#ifndef NDEBUG
    static_cast<void>(here_.swap_applied(outer_));
#endif
  }

 private:
  core::CoreContext& here_;
  [[maybe_unused]] const core::detail::Handler* outer_ = nullptr;
  core::CoreContext::InPlace inside_;
};

// While a task runs a delegate of type F in place. May wait before.
template <class F>
class DelegateInPlace {
 public:
  explicit DelegateInPlace(core::CoreContext& here)
      : inside_((here.ready_for_delegate(), here), kKind) {}

 private:
  static constexpr core::detail::Handler kKind{core::detail::type_name<F>()};
  InPlaceAs inside_;
};

// What may have to wait, wherever what it asks for lies today: in checked builds whoever must not wait is
// told of it also where it would not have had to.
inline void check_might_wait([[maybe_unused]] const core::CoreContext& here,
                             [[maybe_unused]] const SourcePlace& at = {}) {
#ifndef NDEBUG
  here.check_may_block(at);
#endif
}

template <class F>
inline void check_travels([[maybe_unused]] const core::CoreContext& here,
                          [[maybe_unused]] const F& f) {
#if !defined(NDEBUG) && defined(RUBATO_CAN_CLEAR_PADDING)
  // A number is no address, whatever it is; and what a codec writes down is values.
  if constexpr (std::is_class_v<F> && !std::is_empty_v<F> && TravelsWhole<F>) {
    static std::atomic<bool> is_told{false};
    const bool alone = here.shape().n_nodes == 1;
    if (alone && (here.shape().n_cores == 1 || is_told.load(std::memory_order_relaxed))) return;
    F copy(f);
    __builtin_clear_padding(&copy);  // which holds what lay there before, addresses too
    if (!alone) return check_addresses(&copy, sizeof copy, core::detail::type_name<F>());
    if (warn_of_addresses(&copy, sizeof copy, core::detail::type_name<F>())) is_told = true;
  }
#endif
}

template <class T>
inline void check_all_travel([[maybe_unused]] std::span<const T> values) {
#ifndef NDEBUG
  for (const T& value : values)
    check_travels(core::CoreContext::here(), value);
#endif
}

}  // namespace detail
}  // namespace rubato::global
