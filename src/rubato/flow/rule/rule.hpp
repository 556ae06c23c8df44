#pragma once
// Rule: an action and what it waits for [Turbine 5.2, 6.2].
//
// A rule goes to the homes of its inputs, one after the other: at each it waits until the datum is
// closed, takes the value along and gives up its reference. Where the last input is closed it
// becomes a task, which any core may take. So nobody asks for values, none is sent twice, and a
// small value never costs a message of its own. Differs from the paper, whose rules stay at an
// engine that subscribes to all inputs and fetches their values later: two round trips an input.
//
// A rule is owned by one place at a time: the list of a datum, the pool of a core, a message (as
// bytes).

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "rubato/base/source_place.hpp"
#include "rubato/core/message/core_context.hpp"
#include "rubato/flow/pool/workers.hpp"
#include "rubato/flow/store/value.hpp"

namespace rubato::flow {

using core::CoreContext;

// Keys of members in members, the outermost last.
using Keys = std::vector<Value>;

// An argument of an action. What is read may be behind others: a datum whose value is a reference
// stands for what that refers to, and with keys it is a member of a container, or of a container
// that is a member, and so on.
struct Arg {
  enum class Mode : std::uint8_t {
    value,   // is there
    wait,    // the value, when it is closed; of a container, the number of its members
    handle,  // of a container, a reference to it as soon as it is known; else as `wait`
    link,    // the first reference that is met, whatever it refers to
    closed,  // of a container, a reference to it when it is closed; else as `wait`
    reader,  // a reference, as it is
    writer,  // a part of the right to write
    output,  // the right to set a datum, which is nobody else's
  };

  Mode mode = Mode::value;
  Ref ref;
  Value value;
  std::unique_ptr<Keys> keys;  // null: none

  // Of an input that is there: a reference that came as a value is one again.
  [[nodiscard]] Value take_value() noexcept {
    if (mode == Mode::reader) return Value::reference(std::exchange(ref, {}));
    return std::move(value);
  }
  [[nodiscard]] bool is_waited_for() const noexcept {
    return mode == Mode::wait || mode == Mode::handle || mode == Mode::closed || mode == Mode::link;
  }
  [[nodiscard]] bool has_keys() const noexcept { return keys != nullptr && !keys->empty(); }
  [[nodiscard]] std::unique_ptr<Keys> copy_keys() const {
    return has_keys() ? std::make_unique<Keys>(*keys) : nullptr;
  }
  // The member `key` of `container`.
  [[nodiscard]] static Arg member(Ref container, Value key) {
    Arg arg{Mode::wait, container, {}, std::make_unique<Keys>()};
    arg.keys->push_back(std::move(key));
    return arg;
  }
};

class Flow;
struct Rule;

using ActionId = std::uint32_t;
inline constexpr ActionId kNoAction = UINT32_MAX;

// What a rule is to people, who count tasks.
enum class TaskPart : std::uint8_t {
  task,
  before_task,  // becomes one, by making another rule, when it has its inputs
  step,         // of an interpreter, which has many of them
};

// What a rule does. Registered by static objects; its id is the same on all nodes, since they run
// the same executable.
struct Action {
  std::string_view name;  // for people
  // Takes what it needs out of rule.args; what is left there is given back.
  void (*run)(Flow& flow, Rule& rule) = nullptr;
  bool takes_failures = false;  // runs even if an input failed
  bool in_place = false;        // does not wait: runs at once where its last input is closed
  bool is_start = false;        // gives others work: the same if a task has that, which may wait
  // What people call this one; null: its options' name.
  std::string (*describe)(const Rule& rule) = nullptr;
  // What tells those apart that describe() gives different names; null: their options' names.
  std::uint32_t (*number)(const Rule& rule) = nullptr;
  // What people call that argument of it, "" if they have no name for it; null: they never have.
  std::string (*describe_input)(const Rule& rule, std::size_t argument) = nullptr;
  bool counts_itself = false;  // one run is not one task: it makes the spans of its tasks itself
  bool is_loop = false;        // part of a loop, which the throttle may put aside
  TaskPart part = TaskPart::task;
  // What a rule of this action becomes if it cannot run, with the failure as one more argument, the
  // last, and inputs that are not there yet as they are. kNoAction: what it was to write has failed.
  // It takes failures, and is not counted again (counts_itself).
  ActionId when_failed = kNoAction;
};
[[nodiscard]] ActionId register_action(const Action& action);
// Throws Error for an id that is none.
[[nodiscard]] const Action& action_at(ActionId id);

// Of what is thrown and is no std::exception.
inline constexpr const char* kUnknownException = "an exception of unknown type";

inline constexpr CoreId kAnyCore = UINT32_MAX;

struct RuleOptions {
  PortableText name = "";  // for people; a literal
  CoreId core = kAnyCore;  // where it is to run
  // Other than 0: before those of 0, the largest first of those that are ready on a core, and of those
  // that wait for a thread or a program's turn.
  std::int32_t priority = 0;
  bool native = false;    // takes long: a thread beside the cores runs it
  bool may_move = false;  // `core` is a wish: who has nothing to do may take it from there
  WorkType type = {};     // a worker of that type runs it
  // More than 1: that many workers at a time, cores if it has no type. All of them run it, as a
  // team (pool/team_task.hpp), or one of them does and all are of its node.
  std::uint32_t n_cores = 1;
  bool as_team = false;
  // Less: as native, and it has failed if it is not done so long after it began (in_time.hpp).
  Nanos timeout = kNever;

  [[nodiscard]] core::NativeTurn turn() const noexcept { return {core::NativeTime::any, priority}; }
  [[nodiscard]] bool is_native() const noexcept { return native || timeout != kNever; }
  [[nodiscard]] bool needs_several() const noexcept { return n_cores != 1 || as_team; }
  // `core` is to run it, and has no workers to do that.
  [[nodiscard]] bool is_bound() const noexcept {
    return core != kAnyCore && !may_move && !type && !needs_several();
  }
};
struct TeamTask;

// For the throttle: the outermost loop around a rule, 0 for none, and where it was made.
struct RuleOrigin {
  std::uint32_t loop = 0;
  core::NodeId made_on = 0;
  bool operator==(const RuleOrigin&) const = default;
};

struct Rule {
  ActionId action = 0;
  RuleOptions options;
  PortablePlace at;
  Rule* next = nullptr;      // of those that wait for the same
  std::uint32_t at_arg = 0;  // those before it are there
  TeamTask* team = nullptr;  // while a team runs it
  std::uint32_t loop = 0;    // RuleOrigin
  core::NodeId made_on = 0;

  Rule(ActionId does, std::uint32_t n_args, const RuleOptions& how, PortablePlace where);

  [[nodiscard]] std::span<Arg> args() noexcept {
    return {n_args_ > kFew ? more_.get() : few_, n_args_};
  }
  [[nodiscard]] std::span<const Arg> args() const noexcept {
    return {n_args_ > kFew ? more_.get() : few_, n_args_};
  }
  [[nodiscard]] RuleOrigin origin() const noexcept { return {loop, made_on}; }
  // Plain bytes that the action knows: what its function captured.
  [[nodiscard]] ByteView closure() const noexcept { return {closure_at(), n_closure_}; }
  void set_closure(const void* bytes, std::size_t n_bytes);

  // For another core: all of it. The references travel with it, so that it must be deleted and not
  // given back.
  [[nodiscard]] Bytes to_bytes() const;
  [[nodiscard]] static std::unique_ptr<Rule> from_bytes(ByteView bytes);
  // "task NAME of FILE:LINE"
  [[nodiscard]] std::string text() const;

 private:
  static constexpr std::uint32_t kFew = 3;
  static constexpr std::size_t kSmall = 32;

  [[nodiscard]] const std::byte* closure_at() const noexcept {
    return n_closure_ > kSmall ? large_.get() : small_;
  }

  std::uint32_t n_args_ = 0;
  std::uint32_t n_closure_ = 0;
  Arg few_[kFew];
  std::unique_ptr<Arg[]> more_;  // NOLINT(modernize-avoid-c-arrays)
  alignas(8) std::byte small_[kSmall];
  std::unique_ptr<std::byte[]> large_;  // NOLINT(modernize-avoid-c-arrays)
};

// Several rules, as Rule::to_bytes() has each.
[[nodiscard]] Bytes bytes_of(std::span<const std::unique_ptr<Rule>> rules);
[[nodiscard]] std::vector<std::unique_ptr<Rule>> rules_of(ByteView bytes);

// Rules that wait for the same, the first first. Owns them.
class RuleList {
 public:
  RuleList() = default;
  RuleList(const RuleList&) = delete;
  RuleList& operator=(const RuleList&) = delete;
  RuleList(RuleList&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), last_(std::exchange(other.last_, nullptr)) {}
  RuleList& operator=(RuleList&& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
    return *this;
  }
  ~RuleList();

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] const Rule* first() const noexcept { return first_; }
  [[nodiscard]] Rule* first() noexcept { return first_; }
  void push(std::unique_ptr<Rule> rule) noexcept {
    Rule* const last = rule.release();
    last->next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = last;
    last_ = last;
  }
  [[nodiscard]] std::unique_ptr<Rule> pop() noexcept {
    return std::unique_ptr<Rule>(std::exchange(first_, first_->next));
  }

 private:
  Rule* first_ = nullptr;
  Rule* last_ = nullptr;
};

}  // namespace rubato::flow
