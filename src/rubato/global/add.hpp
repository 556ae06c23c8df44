#pragma once
// async_add: increments that are combined where they are made [Grappa 3.1.2; Holt et al., "Flat
// combining synchronized global data structures", PGAS 2013].
//
//   forall(words, [=](Word& w) { async_add(counts[w.kind], 1); });      few kinds, many words
//
// A core holds back its increments of an address and adds to them, until another address wants the
// place, the core has nothing else to do, or they are old. For addresses that are seldom the same,
// async_call is faster.

#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "rubato/global/delegate.hpp"

namespace rubato::global {

namespace detail {

// Of one scope at a time.
template <class T>
class HeldIncrements final : public core::Combiner {
 public:
  void add(CoreContext& here, GlobalPtr<T> p, T increment) {
    std::vector<Slot> old;
    const core::FinishId old_scope = scope_;
    if (here.scope() != scope_) {
      old = take();
      scope_ = here.scope();
    }
    Slot& slot = slots_[place_of(p)];
    if (slot.p == p) {
      slot.sum = static_cast<T>(slot.sum + increment);
      here.note_combined();
      return send_all(here, old, old_scope);
    }
    const Slot evicted = std::exchange(slot, {p, increment});
    if (!evicted.p && n_held_++ == 0) {
      here.begin_in_scope(scope_);
      here.hold_back(*this);
    }
    // Last: posting may wait, and others come here meanwhile.
    if (evicted.p) send(evicted);
    send_all(here, old, old_scope);
  }
  void flush(CoreContext& here) override {
    const std::vector<Slot> old = take();
    send_all(here, old, scope_);
  }

 private:
  struct Slot {
    GlobalPtr<T> p;  // null: nothing is held here
    T sum{};
  };
  static constexpr std::size_t kSlots = 2048;

  static std::size_t place_of(GlobalPtr<T> p) noexcept {
    const std::uint64_t word = p.place().word() / alignof(T) * 0x9e37'79b9'7f4a'7c15 + p.core();
    return (word * 0x9e37'79b9'7f4a'7c15) >> 53;
  }
  static_assert(kSlots == std::size_t{1} << 11);

  static void send(const Slot& slot) {
    async_call(slot.p, [more = slot.sum](T& x) { x = static_cast<T>(x + more); });
  }
  std::vector<Slot> take() {
    std::vector<Slot> held;
    if (n_held_ == 0) return held;
    held.reserve(n_held_);
    for (Slot& slot : slots_) {
      if (slot.p) held.push_back(std::exchange(slot, {}));
    }
    n_held_ = 0;
    return held;
  }
  static void send_all(CoreContext& here, const std::vector<Slot>& old, core::FinishId scope) {
    if (old.empty()) return;
    {
      const CoreContext::RunningScope inside(here, scope);
      for (const Slot& slot : old)
        send(slot);
    }
    here.end_in_scope(scope);
  }

  std::array<Slot, kSlots> slots_{};
  std::size_t n_held_ = 0;
  core::FinishId scope_ = 0;
};

}  // namespace detail

// *p += increment on the core that owns it, some time before the surrounding finish() ends,
// together with other increments of this core. Called by tasks, and by what delegates run.
template <class T>
void async_add(GlobalPtr<T> p, const std::type_identity_t<T>& increment) {
  static_assert(std::is_arithmetic_v<T>);
  CoreContext& here = CoreContext::here();
  here.local_or_make<detail::HeldIncrements<T>>().add(here, p, increment);
}

}  // namespace rubato::global
