#pragma once
// GlobalPtr: an address in the memory of the whole job [Grappa 3.1.1, global addressing]: a core,
// and where on that core.
//
// Where is either an offset into the symmetric memory of the core (heap.hpp), or the address of any
// local object that its core has exported, one on a task's stack too. Addresses are kept inverted,
// so that no word of a GlobalPtr looks like a local address, which must not travel otherwise.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "rubato/core/message/core_context.hpp"

namespace rubato::global {

using core::CoreContext;
using core::CoreId;

// Where an object is on its core; means something there alone.
class Place {
 public:
  constexpr Place() = default;

  [[nodiscard]] static constexpr Place at_offset(std::uint64_t offset) noexcept {
    return Place(static_cast<std::int64_t>(offset));
  }
  [[nodiscard]] static Place at_address(const void* address) noexcept {
    return Place(static_cast<std::int64_t>(~reinterpret_cast<std::uintptr_t>(address)));
  }

  [[nodiscard]] bool is_offset() const noexcept { return word_ >= 0; }
  // REQUIRES: is_offset().
  [[nodiscard]] std::uint64_t offset() const noexcept { return static_cast<std::uint64_t>(word_); }
  // On the core that it is of, which is the calling one.
  [[nodiscard]] std::byte* resolve(CoreContext& here) const noexcept {
    // Without a branch: the compiler makes a conditional move of it.
    // NOLINTNEXTLINE(performance-no-int-to-ptr): it was one
    auto* const address = reinterpret_cast<std::byte*>(~static_cast<std::uintptr_t>(word_));
    return word_ >= 0 ? here.memory() + word_ : address;
  }
  // For hashing.
  [[nodiscard]] constexpr std::uint64_t word() const noexcept {
    return static_cast<std::uint64_t>(word_);
  }
  // `n` bytes further on.
  [[nodiscard]] constexpr Place moved(std::int64_t n) const noexcept {
    return Place(word_ >= 0 ? word_ + n : word_ - n);
  }
  // By how many bytes it is behind `other`, on the same core and of the same kind.
  [[nodiscard]] constexpr std::int64_t behind(const Place& other) const noexcept {
    return word_ >= 0 ? word_ - other.word_ : other.word_ - word_;
  }
  bool operator==(const Place&) const = default;

 private:
  constexpr explicit Place(std::int64_t word) noexcept : word_(word) {}

  std::int64_t word_ = -1;  // null: the address 0
};

template <class T>
class GlobalPtr {
 public:
  constexpr GlobalPtr() = default;
  constexpr GlobalPtr(CoreId core, Place place) noexcept : place_(place), core_(core) {}
  // Of the same object, which is only read.
  template <class U>
  requires std::is_same_v<const U, T>
  constexpr GlobalPtr(GlobalPtr<U> p) noexcept  // NOLINT(google-explicit-constructor)
      : place_(p.place()), core_(p.core()) {}

  [[nodiscard]] CoreId core() const noexcept { return core_; }
  [[nodiscard]] Place place() const noexcept { return place_; }
  [[nodiscard]] explicit operator bool() const noexcept { return place_ != Place{}; }

  [[nodiscard]] bool is_local() const noexcept { return core_ == CoreContext::here().core(); }
  // REQUIRES: is_local(); where that is checked, `at` is said.
  [[nodiscard]] T& local([[maybe_unused]] SourcePlace at = SourcePlace::here()) const noexcept {
    CoreContext& here = CoreContext::here();
#ifndef NDEBUG
    if (core_ != here.core()) here.refuse_memory_of(core_, at);
#endif
    return *reinterpret_cast<T*>(place_.resolve(here));
  }

  // Elements of an array on one core.
  [[nodiscard]] GlobalPtr operator+(std::ptrdiff_t n) const noexcept {
    return {core_, place_.moved(n * static_cast<std::ptrdiff_t>(sizeof(T)))};
  }
  [[nodiscard]] GlobalPtr operator-(std::ptrdiff_t n) const noexcept {
    return *this + -n;
  }
  [[nodiscard]] GlobalPtr operator[](std::ptrdiff_t n) const noexcept {
    return *this + n;
  }
  GlobalPtr& operator+=(std::ptrdiff_t n) noexcept {
    return *this = *this + n;
  }
  GlobalPtr& operator-=(std::ptrdiff_t n) noexcept {
    return *this = *this - n;
  }
  GlobalPtr& operator++() noexcept {
    return *this += 1;
  }
  GlobalPtr& operator--() noexcept {
    return *this -= 1;
  }
  // REQUIRES: both are of one array on one core. (Across cores: ArrayPtr, array.hpp.)
  friend std::ptrdiff_t operator-(const GlobalPtr& a, const GlobalPtr& b) noexcept {
    RUBATO_DASSERT(a.core_ == b.core_ && "addresses on two cores have no difference", a.core_,
                   b.core_);
    return a.place_.behind(b.place_) / static_cast<std::ptrdiff_t>(sizeof(T));
  }
  // A member of what this points to: p.member(&Vertex::degree).
  template <class M, class U>
  [[nodiscard]] auto member(M U::*which) const noexcept {
    static_assert(std::is_same_v<std::remove_const_t<T>, U>);
    // Of a standard-layout type, where the compiler knows the distance.
    alignas(U) static constexpr std::byte kNowhere[sizeof(U)]{};
    const auto* whole = reinterpret_cast<const U*>(kNowhere);
    const auto* part = reinterpret_cast<const std::byte*>(&(whole->*which));
    using Member = std::conditional_t<std::is_const_v<T>, const M, M>;
    return GlobalPtr<Member>(core_, place_.moved(part - kNowhere));
  }
  bool operator==(const GlobalPtr&) const = default;

 private:
  Place place_;
  CoreId core_ = 0;
};

// A local object of the calling core, for others. It outlives their use of it.
template <class T>
[[nodiscard]] GlobalPtr<T> make_global(T& object) noexcept {
  return {CoreContext::here().core(), Place::at_address(&object)};
}

}  // namespace rubato::global
