#pragma once
// Handlers: what a message can name, and the table of them.
//
// A kind of record (record.hpp) becomes a handler by being posted somewhere in the program: a
// static object registers it before main. Its id is its place in the order of registration, which
// is the same on all nodes, since they run the same executable: identity.hpp compares the builds,
// and a hash of this table, at the start. So lambdas, which have no name that other builds would
// know, travel as well.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rubato::core {

class CoreContext;  // core_context.hpp
using HandlerId = std::uint32_t;

namespace detail {

struct Handler {
  // Applies records of a run: all that lie in `n_bytes`.
  using Apply = void (*)(CoreContext& here, const std::byte* records, std::size_t n_bytes);

  std::string_view name;  // lives for ever
  Apply apply = nullptr;
  std::uint32_t stride = 0;  // bytes from one record to the next, a multiple of 8
  bool has_payload = false;  // records of different sizes, each behind its own
};

// What a core applies, or did last; its core swaps it, and anybody reads it.
class AppliedHandler {
 public:
  const Handler* swap(const Handler* applied) noexcept {
    const Handler* const before = get();
    handler_.store(applied, std::memory_order_release);  // its name is whole
    return before;
  }
  [[nodiscard]] const Handler* get() const noexcept {
    return handler_.load(std::memory_order_acquire);
  }

 private:
  std::atomic<const Handler*> handler_{nullptr};
};

// Called by static objects alone.
[[nodiscard]] HandlerId register_handler(const Handler& handler);

// Throws Error for an id that the table does not have.
[[nodiscard]] const Handler& handler_at(HandlerId id);

}  // namespace detail

[[nodiscard]] std::uint32_t n_handlers();
// For people: the type of its records.
[[nodiscard]] std::string handler_name(HandlerId id);

// Equal on two nodes if and only if their ids mean the same names (but for chance).
[[nodiscard]] std::uint64_t handler_table_hash();

}  // namespace rubato::core
