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
// body of a coroutine with `if (co_await ..)`: name the result before.) One that has a result for it is a
// CoroutineOf<T>:
//
//   CoroutineOf<int> depth(GlobalPtr<Node> p) { .. co_return 1 + co_await depth(p.next); }
//
// What else coroutines wait for: bulk copies (coroutine_bulk.hpp), times and tasks with a stack
// (coroutine_task.hpp), which wait for coroutines in turn; maps, sets, vectors and bags, by those of
// their calls whose names begin with `awaited_`.

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <new>
#include <optional>
#include <type_traits>
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

namespace detail {

class Promise;

// Who is to go on when the one that runs has been left: a coroutine that it waits for, or the one that has
// waited for it. Lies with whoever runs them (resume_all), so that the stack does not grow with how many go
// on after each other, whatever the compiler makes of it.
struct Transfer {
  Promise* next = nullptr;
};

// What the promises of all coroutines have.
class Promise : public OnFrames {
 public:
  core::FinishId scope = 0;
  core::detail::StacklessTasks::OfPlace* of_place = nullptr;  // where it was started
  std::coroutine_handle<> me;
  Transfer* transfer = nullptr;  // of who runs it
  Promise* outer = nullptr;      // which waits for its end, or null
  std::exception_ptr error;      // for that one
  KeptBody* body = nullptr;      // whose lambda this is, or null

  Promise() = default;
  Promise(const Promise&) = delete;
  Promise& operator=(const Promise&) = delete;
  ~Promise() {
    if (body != nullptr) body->let_go();
  }
  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
  // The frame goes at its end, or at that of who waits for it, who goes on at once.
  struct Final {
    bool is_waited_for;
    [[nodiscard]] bool await_ready() const noexcept { return !is_waited_for; }
    void await_suspend(std::coroutine_handle<> /*me*/) const noexcept {}
    void await_resume() const noexcept {}
  };
  [[nodiscard]] Final final_suspend() const noexcept {
    end();
    if (outer != nullptr) transfer->next = outer;
    return {outer != nullptr};
  }
  // Without one who waits it leaves resume(): the failure is that of whoever runs it. start()
  // throws it; later it ends the run.
  void unhandled_exception() {
    if (outer != nullptr) {
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
    if (outer != nullptr) --of_place->n_nested;
    here.stackless().end(*of_place);
    here.end_in_scope(scope);
  }
};

// One that waits, whatever it returns.
class CoroutineHandle {
 public:
  CoroutineHandle() = default;
  template <std::derived_from<Promise> P>
  // NOLINTNEXTLINE(google-explicit-constructor): what await_suspend() is called with
  CoroutineHandle(std::coroutine_handle<P> of) noexcept : promise_(&of.promise()) {}
  [[nodiscard]] static CoroutineHandle from_address(void* address) noexcept {
    CoroutineHandle handle;
    handle.promise_ = static_cast<Promise*>(address);
    return handle;
  }
  [[nodiscard]] void* address() const noexcept { return promise_; }
  [[nodiscard]] Promise& promise() const noexcept { return *promise_; }
  // It, and those that go on after it, until one waits for something else or nobody waits for the last.
  // What the outermost of them throws comes out.
  void resume_all() const {
    Transfer transfer;
    for (Promise* one = promise_; one != nullptr; one = std::exchange(transfer.next, nullptr)) {
      one->transfer = &transfer;
      one->me.resume();
    }
  }

 private:
  Promise* promise_ = nullptr;
};

// A coroutine that has not been started, or whose end is waited for.
template <class P>
class OwnedCoroutine {
 public:
  explicit OwnedCoroutine(P& promise) noexcept
      : handle_(std::coroutine_handle<P>::from_promise(promise)) {
    promise.me = handle_;
  }
  OwnedCoroutine(OwnedCoroutine&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)) {}
  OwnedCoroutine& operator=(OwnedCoroutine&&) = delete;
  ~OwnedCoroutine() {
    if (handle_) handle_.destroy();
  }
  [[nodiscard]] P& promise() const noexcept { return handle_.promise(); }
  [[nodiscard]] std::coroutine_handle<P> release() {
    check();
    return std::exchange(handle_, nullptr);
  }
  // In the scope and at the place of who waits for it.
  void begin_for(CoroutineHandle outer) {
    check();
    P& inner = promise();
    inner.begin(CoreContext::here(), outer.promise().of_place->at);
    inner.outer = &outer.promise();
    ++inner.of_place->n_nested;
    outer.promise().transfer->next = &inner;
  }
  void rethrow() const {
    if (promise().error) std::rethrow_exception(promise().error);
  }

 private:
  void check() const { RUBATO_REQUIRE(handle_ && "a coroutine is started or awaited twice"); }

  std::coroutine_handle<P> handle_;
};

// What co_await of a coroutine does; keeps it until its end.
template <class P>
class EndAwaiter {
 public:
  explicit EndAwaiter(OwnedCoroutine<P>&& inner) noexcept : inner_(std::move(inner)) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(CoroutineHandle outer) { inner_.begin_for(outer); }
  auto await_resume() {
    inner_.rethrow();
    return inner_.promise().take();
  }

 private:
  OwnedCoroutine<P> inner_;
};

}  // namespace detail

// What a coroutine returns to whoever makes it; start() runs it. One that is not started does nothing.
class [[nodiscard]] Coroutine {
 public:
  struct promise_type : detail::Promise {  // NOLINT(readability-identifier-naming): the standard's
    Coroutine get_return_object() noexcept { return Coroutine(*this); }
    void return_void() const noexcept {}
    void take() const noexcept {}
  };
  [[nodiscard]] auto operator co_await() && noexcept {
    return detail::EndAwaiter<promise_type>(std::move(owned_));
  }

 private:
  friend void start(Coroutine&& coroutine, SourcePlace at);
  template <class Body, class Result>
  friend class detail::Bodies;
  explicit Coroutine(promise_type& promise) noexcept : owned_(promise) {}

  detail::OwnedCoroutine<promise_type> owned_;
};

// The same with a result, for the coroutine that waits for it, or a task (coroutine_task.hpp). T can be
// moved.
template <class T>
class [[nodiscard]] CoroutineOf {
  static_assert(std::is_object_v<T>, "a coroutine without a result is a Coroutine");

 public:
  struct promise_type : detail::Promise {  // NOLINT(readability-identifier-naming): the standard's
    std::optional<T> value;
    CoroutineOf get_return_object() noexcept { return CoroutineOf(*this); }
    template <class U = T>
    requires std::is_constructible_v<T, U&&>
    void return_value(U&& result) { value.emplace(std::forward<U>(result)); }
    [[nodiscard]] T take() {
      RUBATO_REQUIRE(value && "a coroutine has ended without a result: a co_return is missing",
                     of_place->at.text());
      return std::move(*value);
    }
  };
  [[nodiscard]] auto operator co_await() && noexcept {
    return detail::EndAwaiter<promise_type>(std::move(owned_));
  }

 private:
  explicit CoroutineOf(promise_type& promise) noexcept : owned_(promise) {}

  detail::OwnedCoroutine<promise_type> owned_;
};

// Runs it until it waits for the first time, in the scope of the caller. Called by tasks, by
// coroutines and by what delegates run; a task may wait for room before it runs, and others of its core go
// on meanwhile. A run does not end before it has: where nothing wakes it any more, that is a deadlock,
// and told with its place and what it waits for. What it throws before it waits comes out; later it ends the
// run.
inline void start(Coroutine&& coroutine, SourcePlace at = SourcePlace::here()) {
  CoreContext& here = CoreContext::here();
  const auto handle = coroutine.owned_.release();
  handle.promise().begin(here, at);
  const detail::BetweenWaits running(here);
  try {
    detail::CoroutineHandle(handle).resume_all();
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
    void await_suspend(detail::CoroutineHandle waiter) noexcept {
      waiter_ = waiter;
      Awaiter** const end = event_.first_ == nullptr ? &event_.first_ : &event_.last_->next_;
      event_.last_ = *end = this;
    }
    void await_resume() const noexcept {}

   private:
    friend class CoroutineEvent;
    CoroutineEvent& event_;
    Awaiter* next_ = nullptr;
    detail::CoroutineHandle waiter_;
  };

  CoroutineEvent() = default;
  CoroutineEvent(const CoroutineEvent&) = delete;
  CoroutineEvent& operator=(const CoroutineEvent&) = delete;
  ~CoroutineEvent() = default;

  [[nodiscard]] Awaiter operator co_await() noexcept { return Awaiter(*this); }
  [[nodiscard]] bool is_set() const noexcept { return is_set_; }
  // From now on nobody waits. Those who do go on in the order in which they came, when what calls has
  // ended or waits: what they use then outlives it. What they throw ends the run with their place. A
  // task may wait for room to tell them.
  void set();

 private:
  bool is_set_ = false;
  Awaiter* first_ = nullptr;
  Awaiter* last_ = nullptr;  // if there is a first one
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
    coroutine.owned_.promise().body = kept_;
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

}  // namespace detail

// The same of what f() returns: a lambda, with what it has captured, is kept until its coroutine has ended.
template <class F>
requires std::same_as<std::invoke_result_t<F&>, Coroutine>
void start(F f, SourcePlace at = SourcePlace::here()) {
  detail::Bodies<F, Coroutine>(std::move(f), at)();
}

namespace detail {

// What is thrown, with the place where the coroutine that throws it was started. Called where it is caught.
[[noreturn, gnu::cold]] void throw_on(const core::detail::StacklessTasks::OfPlace& started);

// One that has waited, in its scope; what it throws then, or who waits for it, is told with its place.
inline void go_on(CoreContext& here, CoroutineHandle waiter) {
  const auto& of_place = *waiter.promise().of_place;
  const CoreContext::RunningScope inside(here, waiter.promise().scope);
  const auto* const outer = here.swap_applied(&of_place.handler);
  try {
    waiter.resume_all();
  } catch (...) {
    here.swap_applied(outer);
    throw_on(of_place);
  }
  here.swap_applied(outer);
}

// When what it has asked for is here.
inline void go_on_after_asking(CoreContext& here, CoroutineHandle waiter) {
  --waiter.promise().of_place->n_asking;
  go_on(here, waiter);
}

// One goes on between two others of its core.
struct GoOn {
  void* coroutine;
  void apply(CoreContext& here) const { go_on(here, CoroutineHandle::from_address(coroutine)); }
};

// The result of a delegate for a coroutine; lies in its frame.
template <class R>
struct CoroutineReply {
  static constexpr std::ptrdiff_t kLinesBelow = 2;  // of its frame
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

// One who waits for an answer that is not the result of a delegate; lies in the frame of the coroutine.
template <class R>
class AnswerAwaiter {
 public:
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  R await_resume() {
    --*n_waiting_;
    return std::move(*reply_.value);
  }

 protected:
  // `waits_for`, a literal, is for people.
  CoroutineReply<R>& expect(CoroutineHandle waiter, const char* waits_for) {
    reply_.expect(waiter);
    n_waiting_ = &waiter.promise().of_place->answers[waits_for];
    ++*n_waiting_;
    return reply_;
  }

 private:
  CoroutineReply<R> reply_{};
  std::uint64_t* n_waiting_ = nullptr;
};

// Lets what else its core has to do go first.
class TurnAwaiter {
 public:
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(CoroutineHandle waiter) {
    reply_.expect(waiter);
    CoreContext& here = CoreContext::here();
    post_reply<CoroutineReply>(here, here.core(), Place::at_address(&reply_), Unit{});
  }
  void await_resume() const noexcept {}

 private:
  CoroutineReply<Unit> reply_{};
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
  explicit FutureAwaiter(Future<R>& future) noexcept : reply_(future.reply_.get()) {}
  [[nodiscard]] bool await_ready() const noexcept { return reply_->value.has_value(); }
  void await_suspend(CoroutineHandle waiter) {
    auto& reply = *reply_;
    RUBATO_REQUIRE(!reply.is_waited_for() && "another one waits for this future");
    ++waiter.promise().of_place->n_asking;
    reply.coroutine = waiter.address();
    reply.resume = [](CoreContext& here, void* coroutine) {
      go_on_after_asking(here, CoroutineHandle::from_address(coroutine));
    };
  }
  R await_resume() {
    if constexpr (!std::is_void_v<R>) return *reply_->value;
  }

 private:
  typename Future<R>::Reply* reply_;  // stays, wherever the future is moved
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
