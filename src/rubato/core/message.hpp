#pragma once
// Messages between cores: a registered function and explicit arguments, run by the core that they
// are for.
//
//   void add_edge(CoreContext& here, std::uint64_t from, std::uint64_t to) {
//     here.local<Graph>().add(from, to);
//   }
//   ...
//   here.send<&add_edge>(owner, from, to);
//
// Handlers are functions with a name (a lambda has none that other builds would know).
// What travels is the handler's id and its arguments' bytes. Arguments are plain values: pointers,
// references and views are refused by the compiler, since an address means nothing on another node.
// A last parameter of type ByteView takes a payload of any size, valid during the call.
//
// A core has a buffer for each node that it sends to, made on demand, so a message costs its bytes
// and not a packet [Grappa 3.3]. A buffer leaves when it is full, when its deadline passes, or when
// its core has nothing left to apply. The receiving node splits it by core; messages of a pair of
// cores are applied in their order. Handlers of one core never overlap.
//
// Bounds: a core may have `window_bytes` on its way to each node, counted until they have been
// applied. try_send() is false above that, and the core's on_room function is called when there is
// room again. send() always takes the message: for answers, whose number the asking side bounds.
//
// MessageEngine is an Engine, so it runs on any host, and beside others in an EngineGroup. The run
// ends when all messages everywhere have been applied, found by the host's counting.
//
// Differs from the paper: no tasks here, and no delegates; see README.md.

#include <any>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

#include "rubato/core/engine.hpp"
#include "rubato/core/handlers.hpp"
#include "rubato/core/job_shape.hpp"

namespace rubato::core {

class MessageEngine;

namespace detail {

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
  static_assert(check(std::make_index_sequence<kPlain>{}));
};

template <class... P>
struct Signature<void (*)(CoreContext&, P...) noexcept> : Signature<void (*)(CoreContext&, P...)> {
};

// The name of a function as the compiler prints it, which is the same in every build of a source.
template <auto F>
constexpr std::string_view function_name() {
  return __PRETTY_FUNCTION__;
}

template <auto F>
struct Registered {
  using Sig = Signature<decltype(F)>;

  static void apply(CoreContext& here, Reader& in) {
    apply_all(here, in, std::make_index_sequence<Sig::kPlain>{});
  }
  template <std::size_t... I>
  static void apply_all(CoreContext& here, Reader& in, std::index_sequence<I...> /*plain*/) {
    // Braces read the arguments from left to right.
    [[maybe_unused]] const std::tuple<std::tuple_element_t<I, typename Sig::Arguments>...> plain{
        in.get<std::tuple_element_t<I, typename Sig::Arguments>>()...};
    if constexpr (Sig::has_payload()) {
      const ByteView payload = in.get_view(in.left());
      F(here, std::get<I>(plain)..., payload);
    } else {
      F(here, std::get<I>(plain)...);
    }
  }

  static inline const std::uint32_t kSlot = register_handler(function_name<F>(), &apply);
};

}  // namespace detail

// One core of a MessageEngine: what its handlers are passed. Used by its own core alone.
class CoreContext {
 public:
  [[nodiscard]] CoreId core() const noexcept { return core_; }
  [[nodiscard]] const JobShape& shape() const noexcept { return shape_; }

  // The core's own object of type T. REQUIRES: set_local<T>() was called.
  template <class T>
  [[nodiscard]] T& local() {
    const auto found = locals_.find(std::type_index(typeid(T)));
    RUBATO_REQUIRE(found != locals_.end(), typeid(T).name(), core_);
    return *static_cast<T*>(found->second);
  }
  // `object` outlives the engine.
  template <class T>
  void set_local(T& object) {
    locals_[std::type_index(typeid(T))] = &object;
  }

  // Queues a call of handler F on core `to`. Never blocks.
  template <auto F, class... A>
  void send(CoreId to, const A&... arguments) {
    append<F>(to, arguments...);
  }
  // The same, unless the window to `to`'s node is full; then on_room is called once when it is not.
  template <auto F, class... A>
  [[nodiscard]] bool try_send(CoreId to, const A&... arguments) {
    if (!has_room(to)) return false;
    append<F>(to, arguments...);
    return true;
  }
  [[nodiscard]] bool has_room(CoreId to);

 private:
  friend class MessageEngine;

  struct Lane {  // to one node
    Bytes bytes;
    std::uint64_t n_on_way = 0;  // sent and not known to be applied, `bytes` included
  };

  CoreContext(CoreId core, const JobShape& shape, std::size_t buffer_bytes,
              std::size_t window_bytes)
      : core_(core), shape_(shape), buffer_bytes_(buffer_bytes), window_bytes_(window_bytes) {}

  template <auto F, class... A>
  void append(CoreId to, const A&... arguments) {
    using Sig = typename detail::Registered<F>::Sig;
    static_assert(sizeof...(A) == Sig::kArguments,
                  "this handler takes another number of arguments");
    append_to<F, typename Sig::Arguments>(to, std::make_index_sequence<sizeof...(A)>{},
                                          arguments...);
  }
  template <auto F, class P, std::size_t... I, class... A>
  void append_to(CoreId to, std::index_sequence<I...> /*all*/, const A&... arguments) {
    static_assert((std::is_convertible_v<const A&, std::tuple_element_t<I, P>> && ...),
                  "an argument does not convert to what the handler takes");
    begin_record(to, detail::handler_id(detail::Registered<F>::kSlot));
    (put(static_cast<std::tuple_element_t<I, P>>(arguments)), ...);
    end_record();
  }
  template <Plain T>
  void put(const T& value) {
    put_bytes(&value, sizeof value);
  }
  void put(ByteView payload) { put_bytes(payload.data(), payload.size()); }

  void begin_record(CoreId to, HandlerId handler);
  void put_bytes(const void* data, std::size_t n_bytes);
  void end_record();

  CoreId core_;
  JobShape shape_;
  std::size_t buffer_bytes_;
  std::size_t window_bytes_;
  std::map<std::type_index, void*> locals_;
  std::map<NodeId, Lane> lanes_;
  std::vector<std::pair<NodeId, Bytes>> full_;  // buffers that wait for the end of the work
  bool wants_room_ = false;
  Lane* writing_ = nullptr;
  NodeId writing_to_ = 0;
  std::size_t record_at_ = 0;
};

struct MessageOptions {
  std::size_t buffer_bytes = std::size_t{64} << 10;  // a buffer leaves when it holds so much
  std::size_t window_bytes = std::size_t{1} << 20;   // of a core, to each node
  Nanos deadline = 100 * kMicrosecond;               // a buffer leaves at that age at the latest
  // Virtual costs: of a message that is applied, of a buffer that is sent, taken or split.
  Nanos apply_cost = 20;
  Nanos buffer_cost = 2 * kMicrosecond;
};

class MessageEngine final : public Engine {
 public:
  MessageEngine(const JobShape& shape, MessageOptions options);
  ~MessageEngine() override;

  // Before the run: core `local` of this node, to give it its objects.
  [[nodiscard]] CoreContext& core(std::uint32_t local) { return cores_[local]->here; }
  // Runs on every core of this node at the start.
  void set_on_start(std::function<void(CoreContext&)> f) { on_start_ = std::move(f); }
  // Runs on a core whose try_send() has failed, when there is room again.
  void set_on_room(std::function<void(CoreContext&)> f) { on_room_ = std::move(f); }

  void start(Port& port) override;
  void on_message(Port& port, NodeId from, Bytes bytes) override;
  void on_finished(Port& port, const Work& work) override;
  void on_time(Port& port) override;
  [[nodiscard]] bool next_work(std::uint32_t core, Work& work) override;
  [[nodiscard]] bool more_work() const override;
  void run(const Work& work, std::uint32_t core) override;
  [[nodiscard]] Nanos cost(const Work& work) const override;
  [[nodiscard]] Nanos message_cost(std::size_t n_bytes) const override;
  [[nodiscard]] bool finished() const override;
  [[nodiscard]] std::string waiting_for() const override;
  [[nodiscard]] std::string work_name(const Work& work) const override;

  // Messages applied, and buffers sent, by this node.
  [[nodiscard]] std::uint64_t n_applied() const noexcept { return n_applied_; }
  [[nodiscard]] std::uint64_t n_buffers_sent() const noexcept { return n_buffers_; }

 private:
  // Kinds of work; its index is the core.
  static constexpr std::uint32_t kStart = 0;
  static constexpr std::uint32_t kApply = 1;
  static constexpr std::uint32_t kRoom = 2;
  static constexpr std::uint32_t kSplit = 3;

  // Records for one core, of one buffer.
  struct Piece {
    CoreId from = 0;
    Bytes records;
  };
  struct Core {
    explicit Core(CoreContext context) : here(std::move(context)) {}
    CoreContext here;
    std::deque<Piece> inbox;      // under the lock
    std::vector<Piece> applying;  // of the running work
    std::uint64_t n_applied = 0;  // by the running work
    bool running = false;
    bool must_start = true;
    bool has_new_room = false;
    Nanos flush_at = kNever;
    std::map<NodeId, std::uint64_t> acknowledged;  // came while the core ran
  };

  void apply(Core& core);
  void split();
  void take_acknowledgements(Core& core);
  void note_applied(const Piece& piece);
  void acknowledge(Port& port, bool all);
  void flush(Port& port, Core& core, bool all);
  void post(Port& port, CoreId from, NodeId to, Bytes bytes);

  JobShape shape_;
  MessageOptions options_;
  std::function<void(CoreContext&)> on_start_;
  std::function<void(CoreContext&)> on_room_;
  std::vector<std::unique_ptr<Core>> cores_;
  std::deque<Bytes> unsplit_;  // buffers in the order of arrival
  Bytes splitting_;
  std::vector<Piece> split_;  // [n_cores] what the buffer held for each core
  bool is_splitting_ = false;
  std::map<CoreId, std::uint64_t> owed_;  // bytes applied and not acknowledged, by sending core
  std::uint64_t n_applied_ = 0;
  std::uint64_t n_buffers_ = 0;
};

}  // namespace rubato::core
