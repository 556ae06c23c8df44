#pragma once
// Context: where a stack was left, and the way from one stack to another. The only file that knows
// the processor, and the only one that tells ASan and TSan of stacks.
//
// On x86-64 a switch saves the callee-saved registers of the System V ABI that are in use, and
// where to go on [Grappa 3.2, context switching]; elsewhere, and with RUBATO_BOOST_CONTEXT,
// Boost.Context does it. What a switch does not keep: the floating-point control words (rounding
// mode), which a stack that changes them puts back before it is left.
//
// Used by core/task alone. REQUIRES of each switch: `to` was left by a switch, or
// made by new_context() and never entered; both belong to the calling thread.

#include <cstddef>
#include <cstdint>

// Clang says it in its own way.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1  // NOLINT: the name that GCC has
#endif
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1  // NOLINT: the name that GCC has
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif
#if !defined(__x86_64__) && !defined(RUBATO_BOOST_CONTEXT)
#define RUBATO_BOOST_CONTEXT
#endif
#ifdef RUBATO_BOOST_CONTEXT
#include <boost/context/detail/fcontext.hpp>
#endif

namespace rubato::core::detail {

// What a stack is entered with; it never returns.
using ContextEntry = void (*)();

// What the sanitizers want to know of a stack, whoever runs on it.
struct StackMarks {
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
  const void* bottom = nullptr;
  std::size_t n_bytes = 0;
#endif
#if defined(__SANITIZE_THREAD__)
  void* fiber = nullptr;
#endif

  // Of a new stack [low, low + n_bytes).
  void begin([[maybe_unused]] const void* low, [[maybe_unused]] std::size_t n) noexcept {
#if defined(__SANITIZE_ADDRESS__)
    fake_stack = nullptr;
    bottom = low;
    n_bytes = n;
#endif
#if defined(__SANITIZE_THREAD__)
    fiber = __tsan_create_fiber(0);
#endif
  }
  // Of the stack that the scheduler is driven on, which may be another one each time; its bounds
  // are learnt by the first stack that is entered from it.
  void begin_thread() noexcept {
#if defined(__SANITIZE_ADDRESS__)
    bottom = nullptr;
#endif
#if defined(__SANITIZE_THREAD__)
    fiber = __tsan_get_current_fiber();
#endif
  }
  // The stack is never entered again. Not called on it.
  void end() noexcept {
#if defined(__SANITIZE_THREAD__)
    __tsan_destroy_fiber(fiber);
#endif
  }
};

// Stacks are given back to the system. Those who ran on them never returned, so that frames are still
// marked, and whatever is mapped there next would be said to overflow.
inline void forget_stacks([[maybe_unused]] void* begin,
                          [[maybe_unused]] std::size_t n_bytes) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(begin, n_bytes);
#endif
}

// Stacks of tasks that will never go on (of a deadlock, or a node that is lost) are not unwound. Where
// leaks are looked for they stay, and what they hold is no leak; true if they must not be given back.
[[nodiscard]] inline bool keep_stacks([[maybe_unused]] const void* begin,
                                      [[maybe_unused]] std::size_t n_bytes) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  __lsan_register_root_region(begin, n_bytes);
  return true;
#else
  return false;
#endif
}

// While one lives, what this thread allocates is no leak whoever forgets it: what waits in the queues
// of a simulated node that is lost has nobody left who would free it.
class UnwatchedLeaks {
 public:
  explicit UnwatchedLeaks([[maybe_unused]] bool is_on) noexcept {
#if defined(__SANITIZE_ADDRESS__)
    is_on_ = is_on;
    if (is_on_) __lsan_disable();
#endif
  }
  UnwatchedLeaks(const UnwatchedLeaks&) = delete;
  UnwatchedLeaks& operator=(const UnwatchedLeaks&) = delete;
  ~UnwatchedLeaks() {
#if defined(__SANITIZE_ADDRESS__)
    if (is_on_) __lsan_enable();
#endif
  }

 private:
  [[maybe_unused]] bool is_on_ = false;
};

// Before and after a switch; after it `from` is who was left before this stack was entered again.
inline void leave_stack([[maybe_unused]] StackMarks& from,
                        [[maybe_unused]] const StackMarks& to) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.n_bytes);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(to.fiber, 0);
#endif
}
// `here` goes on; `thread`, if not null, is the stack of the thread, whose bounds are learnt here.
inline void enter_stack([[maybe_unused]] StackMarks& here,
                        [[maybe_unused]] StackMarks* thread) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  const void* bottom = nullptr;
  std::size_t n_bytes = 0;
  __sanitizer_finish_switch_fiber(here.fake_stack, &bottom, &n_bytes);
  if (thread != nullptr && thread->bottom == nullptr) {
    thread->bottom = bottom;
    thread->n_bytes = n_bytes;
  }
#endif
}

// Whether a thread-local is read anew after a switch, which may be one to another thread. Elsewhere, and
// where reads are watched, the compiler may keep the thread's address in a register, or on the stack.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
inline constexpr bool kReadsThreadAnew = true;
#else
inline constexpr bool kReadsThreadAnew = false;
#endif

#ifndef RUBATO_BOOST_CONTEXT

// How a stack was left: where to go on, and the registers that an assembler statement cannot name
// as changed; all others are the compiler's business, who saves what it needs of them. It lies below the
// frame that left, so that where a stack was left is the lower end of what it needs when it goes on.
struct LeftStack {
  void* resume;
  void* rbx;
  void* rbp;
};

// Never called. A function with a call in it keeps nothing below its stack pointer, where others may keep
// 128 bytes (System V ABI 3.2.2, the red zone).
[[noreturn, gnu::noinline, gnu::cold]] inline void no_stack() noexcept {
  __builtin_trap();
}

// Leaves this stack, with where it was in *save, for the one that was left at `to`.
[[gnu::always_inline]] inline void switch_stacks(void** save, void* to) noexcept {
  asm volatile("" : "+r"(to));  // whatever is known of it, the call stays
  if (to == nullptr) [[unlikely]]
    no_stack();
  asm volatile(
      "leaq 1f(%%rip), %%rax\n\t"
      "pushq %%rbp\n\t"
      "pushq %%rbx\n\t"
      "pushq %%rax\n\t"
      "movq %%rsp, (%[save])\n\t"
      "movq %[to], %%rsp\n\t"
      "popq %%rax\n\t"
      "popq %%rbx\n\t"
      "popq %%rbp\n\t"
      "jmpq *%%rax\n"
      "1:"
      : [save] "+D"(save), [to] "+S"(to)
      :
      : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc",
        "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)",
        "st(5)", "st(6)", "st(7)"
#ifdef __AVX512F__
        ,
        "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",
        "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5",
        "k6", "k7"
#endif
  );
}

// A stack that ends at `top` and runs Entry, which never returns, when it is first switched to.
template <ContextEntry Entry>
[[nodiscard]] void* new_context(char* top, std::size_t /*n_bytes*/) noexcept {
  const auto over = reinterpret_cast<std::uintptr_t>(top) % 64;
  // As after a call that nobody made: a return address of 0 ends every backtrace, and a function
  // begins with its stack pointer 8 below a multiple of 16.
  auto* stack = reinterpret_cast<void**>(top - over) - 1;
  *stack = nullptr;
  auto* left = reinterpret_cast<LeftStack*>(stack) - 1;
  *left = {reinterpret_cast<void*>(Entry), nullptr, nullptr};
  return left;
}

#else

[[gnu::always_inline]] inline void switch_stacks(void** save, void* to) noexcept {
  const boost::context::detail::transfer_t from = boost::context::detail::jump_fcontext(to, save);
  *static_cast<void**>(from.data) = from.fctx;
}

template <ContextEntry Entry>
[[nodiscard]] void* new_context(char* top, std::size_t n_bytes) noexcept {
  struct Trampoline {
    static void run(boost::context::detail::transfer_t from) {
      *static_cast<void**>(from.data) = from.fctx;
      Entry();
    }
  };
  return boost::context::detail::make_fcontext(top, n_bytes, &Trampoline::run);
}

#endif

}  // namespace rubato::core::detail
