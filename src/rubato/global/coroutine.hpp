#pragma once
// Coroutines: tasks without a stack, for very many that wait for delegates.
//
//   Coroutine walk(GlobalPtr<Node> p) {
//     while (p) p = (co_await awaited_read(p)).next;
//   }
//   finish([&] { for (..) start(walk(p)); });
//   forall(0, n, [=](std::uint64_t i) -> Coroutine { co_await awaited_fetch_add(words[i], 1); });
//
// A coroutine takes its frame, some 200 bytes, where a task with a stack takes a page; it waits at
// co_await alone, for a delegate, a future, an event, a cell or a lock (coroutine_sync.hpp): whatever it
// calls must not wait, which ends the job. It runs on the core that started it, in
// the scope of who did, between the messages of that core. Made on that core. Loops and tasks whose body is
// one start it, and keep what it has captured until its end. One may wait for another,
// `co_await walk(p)`, which it starts so, and which throws there what it threw. (GCC 12 loses the whole
// body of a coroutine with `if (co_await ..)`: name the result before.)

#include <coroutine>
#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "rubato/global/body.hpp"
#include "rubato/global/delegate.hpp"
#include "rubato/global/future.hpp"
#include "rubato/global/on_frames.hpp"

namespace rubato::global {

namespace detail {

// A body whose coroutines run on one core. `n_users`: they, and who starts them.
class KeptBody : public OnFrames {
 public:
  KeptBody() = default;
  KeptBody(const KeptBody&) = delete;
  KeptBody& operator=(const KeptBody&) = delete;
  virtual ~KeptBody() = default;
  void use() noexcept { ++n_users_; }
  // Frees it with the last use.
  void let_go() noexcept {
    if (--n_users_ == 0) delete this;
  }

 private:
  std::uint64_t n_users_ = 1;
};

// While a coroutine runs, which waits at co_await alone: not what it calls. A task may wait before, for
// room for what it has sent.
class BetweenWaits {
 public:
  explicit BetweenWaits(CoreContext& here) : inside_((make_way(here), here), kKind) {}

 private:
  static constexpr core::detail::Handler kKind{"a coroutine"};
  static void make_way(CoreContext& here) {
    if (here.may_wait()) here.ready_for_delegate();
  }
  InPlaceAs inside_;
};

}  // namespace detail

// What a coroutine returns to whoever makes it; start() runs it. One that is not started does nothing.
class [[nodiscard]] Coroutine {
 public:
  struct promise_type : detail::OnFrames {  // NOLINT(readability-identifier-naming): the standard's
    core::FinishId scope = 0;
    core::detail::StacklessTasks::OfPlace* of_place = nullptr;  // where it was started
    std::coroutine_handle<promise_type> outer;                  // which waits for its end, or null
    std::exception_ptr error;                                   // for that one
    detail::KeptBody* body = nullptr;                           // whose lambda this is, or null

    promise_type() = default;
    promise_type(const promise_type&) = delete;
    promise_type& operator=(const promise_type&) = delete;
    ~promise_type() {
      if (body != nullptr) body->let_go();
    }
    Coroutine get_return_object() noexcept {
      return Coroutine(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
    // The frame goes at its end, or at that of who waits for it, who goes on at once.
    struct Final {
      std::coroutine_handle<promise_type> outer;
      [[nodiscard]] bool await_ready() const noexcept { return !outer; }
      [[nodiscard]] std::coroutine_handle<> await_suspend(
          std::coroutine_handle<> /*me*/) const noexcept {
        return outer;
      }
      void await_resume() const noexcept {}
    };
    [[nodiscard]] Final final_suspend() const noexcept {
      end();
      return {outer};
    }
    void return_void() const noexcept {}
    // Without one who waits it leaves resume(): the failure is that of whoever runs it. start()
    // throws it; later it ends the run.
    void unhandled_exception() {
      if (outer) {
        error = std::current_exception();
        return;
      }
      end();
      throw;
    }
    void begin(CoreContext& here, SourcePlace at) {
      scope = here.scope();
      here.begin_in_scope(scope);
      of_place = &here.stackless().begin(at);
    }
    void end() const {
      CoreContext& here = CoreContext::here();
      if (outer) --of_place->n_nested;
      here.stackless().end(*of_place);
      here.end_in_scope(scope);
    }
  };

  Coroutine(Coroutine&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Coroutine& operator=(Coroutine&&) = delete;
  ~Coroutine() {
    if (handle_) handle_.destroy();
  }

  // What co_await of one does; keeps it until its end.
  class Awaiter;
  [[nodiscard]] Awaiter operator co_await() && noexcept;

 private:
  friend void start(Coroutine&& coroutine, SourcePlace at);
  template <class Body, class Result>
  friend class detail::Bodies;
  explicit Coroutine(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}

  std::coroutine_handle<promise_type> handle_;
};

class Coroutine::Awaiter {
 public:
  explicit Awaiter(Coroutine&& inner) noexcept : inner_(std::move(inner)) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> outer) {
    promise_type& promise = inner_.handle_.promise();
    promise.begin(CoreContext::here(), outer.promise().of_place->at);
    promise.outer = outer;
    ++promise.of_place->n_nested;
    return inner_.handle_;
  }
  void await_resume() const {
    if (const std::exception_ptr& error = inner_.handle_.promise().error) {
      std::rethrow_exception(error);
    }
  }

 private:
  Coroutine inner_;
};
inline Coroutine::Awaiter Coroutine::operator co_await() && noexcept {
  return Awaiter(std::move(*this));
}

// Runs it until it waits for the first time, in the scope of the caller. Called by tasks, by
// coroutines and by what delegates run; a task may wait for room before it runs, and others of its core go
// on meanwhile. A run does not end before it has: where nothing wakes it any more, that is a deadlock,
// and told with its place and what it waits for.
inline void start(Coroutine&& coroutine, SourcePlace at = SourcePlace::here()) {
  CoreContext& here = CoreContext::here();
  const auto handle = std::exchange(coroutine.handle_, nullptr);
  handle.promise().begin(here, at);
  const detail::BetweenWaits running(here);
  try {
    handle.resume();
  } catch (...) {
    handle.destroy();
    throw;
  }
}

// What coroutines of one core wait for together: co_await event. It outlives those who wait.
class CoroutineEvent {
 public:
  class Awaiter {
   public:
    explicit Awaiter(CoroutineEvent& event) noexcept : event_(event) {}
    [[nodiscard]] bool await_ready() const noexcept { return event_.is_set_; }
    void await_suspend(std::coroutine_handle<Coroutine::promise_type> waiter) noexcept {
      waiter_ = waiter;
      next_ = std::exchange(event_.first_, this);
    }
    void await_resume() const noexcept {}

   private:
    friend class CoroutineEvent;
    CoroutineEvent& event_;
    Awaiter* next_ = nullptr;
    std::coroutine_handle<Coroutine::promise_type> waiter_;
  };

  CoroutineEvent() = default;
  CoroutineEvent(const CoroutineEvent&) = delete;
  CoroutineEvent& operator=(const CoroutineEvent&) = delete;
  ~CoroutineEvent() = default;

  [[nodiscard]] Awaiter operator co_await() noexcept { return Awaiter(*this); }
  [[nodiscard]] bool is_set() const noexcept { return is_set_; }
  // From now on nobody waits; those who do go on, within this call, until they wait for something
  // else. A task may wait for room between them.
  void set();

 private:
  bool is_set_ = false;
  Awaiter* first_ = nullptr;
};

namespace detail {

template <class Body>
class Bodies<Body, Coroutine> {
 public:
  template <class... Args>
  static constexpr bool kTakes = std::is_invocable_v<const Body&, Args...>;

  Bodies(Body body, SourcePlace at) : kept_(new Kept(std::move(body))), at_(at) {}
  Bodies(const Bodies&) = delete;
  Bodies& operator=(const Bodies&) = delete;
  ~Bodies() { kept_->let_go(); }
  template <class... Args>
  void operator()(Args&&... args) const {
    Coroutine coroutine = kept_->body(std::forward<Args>(args)...);
    kept_->use();
    coroutine.handle_.promise().body = kept_;
    start(std::move(coroutine), at_);
  }

 private:
  struct Kept final : KeptBody {
    explicit Kept(Body&& of) : body(std::move(of)) {}
    [[no_unique_address]] Body body;
  };
  Kept* kept_;
  SourcePlace at_;
};

using CoroutineHandle = std::coroutine_handle<Coroutine::promise_type>;

// When what it has asked for is here.
inline void go_on_after_asking(CoreContext& here, CoroutineHandle waiter) {
  --waiter.promise().of_place->n_asking;
  const CoreContext::RunningScope inside(here, waiter.promise().scope);
  waiter.resume();
}

// The result of a delegate for a coroutine; lies in its frame.
template <class R>
struct CoroutineReply {
  CoroutineHandle waiter;
  std::optional<R> value;

  // Of who asks now.
  void expect(CoroutineHandle me) noexcept {
    waiter = me;
    ++me.promise().of_place->n_asking;
  }
  void take(CoreContext& here, R result) {
    value.emplace(std::move(result));
    go_on_after_asking(here, waiter);
  }
};

template <class T, class F>
struct CallAwaiter {
  using R = ResultOf<F, T>;
  GlobalPtr<T> p;
  [[no_unique_address]] F f;
  CoroutineReply<R> reply{};

  // Also where the object is on this core: coroutines of one core take turns at each co_await.
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(CoroutineHandle waiter) {
    reply.expect(waiter);
    CoreContext& here = CoreContext::here();
    check_travels(here, f);
    here.post(p.core(), CallRecord<T, F, CoroutineReply>{p.place(), Place::at_address(&reply), f});
  }
  auto await_resume() {
    if constexpr (!std::is_void_v<std::invoke_result_t<const F&, T&>>) {
      return std::move(*reply.value);
    }
  }
};

template <class R>
class FutureAwaiter {
 public:
  explicit FutureAwaiter(Future<R>& future) noexcept : future_(future) {}
  [[nodiscard]] bool await_ready() const noexcept { return future_.is_ready(); }
  void await_suspend(CoroutineHandle waiter) {
    auto& reply = *future_.reply_;
    RUBATO_REQUIRE(!reply.is_waited_for() && "another one waits for this future");
    ++waiter.promise().of_place->n_asking;
    reply.coroutine = waiter.address();
    reply.resume = [](CoreContext& here, void* coroutine) {
      go_on_after_asking(here, CoroutineHandle::from_address(coroutine));
    };
  }
  R await_resume() { return future_.get(); }

 private:
  Future<R>& future_;
};

}  // namespace detail

// A future may lie in the frame of the coroutine: one that it has not waited for at its end, or where it
// throws, leaves its result to nobody. One that is waited for at once is awaited_call(p, f).
template <class R>
[[nodiscard]] detail::FutureAwaiter<R> operator co_await(Future<R>& future) noexcept {
  return detail::FutureAwaiter<R>(future);
}

// For coroutines: co_await awaited_call(p, f) is f(object) on the core that owns it.
template <class T, class F>
[[nodiscard]] detail::CallAwaiter<T, F> awaited_call(GlobalPtr<T> p, const F& f) {
  static_assert(detail::Travels<F>, "a delegate must be trivially copyable: its bytes travel");
  static_assert(detail::check_result<detail::ResultOf<F, T>>());
  RUBATO_DASSERT(p && "a GlobalPtr that points to nothing");
  return {p, f};
}
// What the calls of the same names without `awaited_` do, which wait (delegate.hpp).
template <class T>
[[nodiscard]] auto awaited_read(GlobalPtr<T> p) {
  return awaited_call(p, detail::Read<T>{});
}
template <class T>
[[nodiscard]] auto awaited_write(GlobalPtr<T> p, const std::type_identity_t<T>& value) {
  return awaited_call(p, detail::Write<T>{value});
}
template <class T>
[[nodiscard]] auto awaited_fetch_add(GlobalPtr<T> p, const std::type_identity_t<T>& increment) {
  return awaited_call(p, detail::FetchAdd<T>{increment});
}
template <class T>
[[nodiscard]] auto awaited_compare_exchange(GlobalPtr<T> p, const std::type_identity_t<T>& expected,
                                            const std::type_identity_t<T>& desired) {
  return awaited_call(p, detail::CompareExchange<T>{expected, desired});
}

}  // namespace rubato::global
