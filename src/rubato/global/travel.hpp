#pragma once
// What is sent to other nodes must not hold addresses of this one. The compiler refuses references,
// pointers among arguments and what is not trivially copyable; what a lambda has captured it cannot
// see. So checked builds look at each word of what travels in a job of several nodes, and end the
// job if it is an address in use here. GlobalPtrs and arrays hold none (pointer.hpp).

#include <cstddef>
#include <string_view>

#include "rubato/core/message/core_context.hpp"

#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
#define RUBATO_CAN_CLEAR_PADDING
#endif
#endif

namespace rubato::global::detail {

// Ends the job, with the place of the lambda, if a word of it is the address of memory that is in
// use.
void check_addresses(const void* bytes, std::size_t n_bytes, std::string_view type);

// While a task runs a delegate of type F in place. May wait before. What it is, checked builds know.
template <class F>
class DelegateInPlace {
 public:
  explicit DelegateInPlace(core::CoreContext& here)
      : here_((here.ready_for_delegate(), here)), inside_(here) {
#ifndef NDEBUG
    outer_ = here.swap_applied(&kKind);
#endif
  }
  DelegateInPlace(const DelegateInPlace&) = delete;
  DelegateInPlace& operator=(const DelegateInPlace&) = delete;
  ~DelegateInPlace() {
#ifndef NDEBUG
    static_cast<void>(here_.swap_applied(outer_));
#endif
  }

 private:
  static constexpr core::detail::Handler kKind{core::detail::type_name<F>()};
  core::CoreContext& here_;
  [[maybe_unused]] const core::detail::Handler* outer_ = nullptr;
  core::CoreContext::InPlace inside_;
};

template <class F>
inline void check_travels([[maybe_unused]] const core::CoreContext& here,
                          [[maybe_unused]] const F& f) {
#if !defined(NDEBUG) && defined(RUBATO_CAN_CLEAR_PADDING)
  if constexpr (!std::is_empty_v<F>) {
    if (here.shape().n_nodes == 1) return;
    F copy(f);
    __builtin_clear_padding(&copy);  // which holds what lay there before, addresses too
    check_addresses(&copy, sizeof copy, core::detail::type_name<F>());
  }
#endif
}

}  // namespace rubato::global::detail
