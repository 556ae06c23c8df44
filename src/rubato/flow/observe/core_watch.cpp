#include "rubato/flow/observe/core_watch.hpp"

#include <algorithm>

#include "rubato/base/random.hpp"

namespace rubato::flow {
namespace {

std::string text_of(const Value& value) {
  switch (value.kind()) {
    case Kind::integer:
      return std::to_string(value.as_integer());
    case Kind::floating:
      return std::to_string(value.as_floating());
    case Kind::boolean:
      return value.as_boolean() ? "true" : "false";
    case Kind::string:
      return "\"" + value.as_text().substr(0, kWordBytesMost) + "\"";
    case Kind::blob:
      return std::to_string(value.as_text().size()) + " bytes";
    case Kind::file:
      return value.as_text();
    default:
      return "";
  }
}

bool is_shown(const Arg& arg) {
  const Kind kind = arg.value.kind();
  return arg.mode == Arg::Mode::value && kind != Kind::none && kind != Kind::unit &&
         kind < Kind::reference;
}

constexpr auto kByTime = [](const SlowTask& a, const SlowTask& b) { return a.time > b.time; };

}  // namespace

std::string shortened(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  if (text.size() <= kWordBytesMost) return text;
  std::size_t n = kWordBytesMost;
  // Not in the middle of a character of UTF-8.
  while (n > 0 && (static_cast<unsigned char>(text[n]) & 0xC0U) == 0x80)
    --n;
  return text.substr(0, n) + " ..";
}

std::size_t CoreWatch::HashKey::operator()(const Key& key) const noexcept {
  const auto mixed = [](std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
    return hash ^ (hash >> 32);
  };
  std::uint64_t hash = mixed(key.action, key.number);
  hash = mixed(hash, reinterpret_cast<std::uintptr_t>(key.name));
  hash = mixed(hash, reinterpret_cast<std::uintptr_t>(key.file));
  return static_cast<std::size_t>(mixed(hash, static_cast<std::uint64_t>(key.line)));
}

CoreWatch::CoreWatch(CoreContext& core, const Nanos& origin, observe::Trace* trace,
                     WatchDepth depth)
    : core_(core), origin_(origin), trace_(trace), depth_(depth) {}

CoreWatch::Span* CoreWatch::of_running() noexcept {
  const core::Worker* const worker = core_.tasks().running_or_null();
  Span* span = open_;
  while (span != nullptr && span->worker_ != worker)
    span = span->older_;
  return span;
}

void CoreWatch::note_failed() noexcept {
  if (Span* const span = of_running()) span->has_failed_ = true;
}

std::uint32_t CoreWatch::index_of(const Rule& rule) {
  const Action& action = action_at(rule.action);
  const SourcePlace at = rule.at.place();
  const Key key{rule.action,
                action.number != nullptr ? action.number(rule) : 0,
                rule.options.name.c_str(),
                at.file,
                at.line,
                at.column};
  const auto known = by_key_.find(key);
  if (known != by_key_.end()) return known->second;
  const std::string kind(action.part == TaskPart::task ? action.name : "rule");
  TaskName name{rule.options.name.c_str(), kind, at.text()};
  if (action.describe != nullptr) name.name = action.describe(rule);
  const std::uint32_t index = index_of(std::move(name));
  if (by_key_.size() < kNamesMost) by_key_.emplace(key, index);
  return index;
}

std::uint32_t CoreWatch::index_of(TaskName name) {
  const auto known = by_name_.find(name);
  if (known != by_name_.end()) return known->second;
  if (names_.size() >= kNamesMost) name = {"others", "", ""};
  const auto [at, is_new] = by_name_.emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (!is_new) return at->second;
  if (trace_ != nullptr)
    trace_names_.push_back(trace_->name_of(name.name.empty() ? name.kind : name.name));
  names_.push_back({std::move(name)});
  return at->second;
}

CoreWatch::Span::Span(CoreWatch& watch, const Rule& rule)
    : watch_(watch),
      worker_(watch.core_.tasks().running_or_null()),
      older_(watch.open_),
      part_(action_at(rule.action).part) {
  if (older_ != nullptr) older_->newer_ = this;
  watch_.open_ = this;
  if (part_ == TaskPart::task) LiveTaskCounts::count(watch_.live_.begun);
  if (part_ == TaskPart::before_task) LiveTaskCounts::count(watch_.live_.gone);
  if (watch_.depth_ == WatchDepth::counts) return;
  name_ = watch_.index_of(rule);
  turns_ = watch_.core_.tasks().n_turns();
  std::size_t n = 0;
  for (const Arg& arg : rule.args()) {
    if (n == values_.size()) break;
    if (is_shown(arg)) values_[n++] = arg.value;
  }
  begin_ = watch_.core_.clock();
}

CoreWatch::Span::~Span() {
  if (older_ != nullptr) older_->newer_ = newer_;
  (newer_ != nullptr ? newer_->older_ : watch_.open_) = older_;
  watch_.end(*this);
}

void CoreWatch::Span::set_program(const std::string& program, std::string command) {
  if (watch_.depth_ == WatchDepth::counts) return;
  TaskName name = watch_.names_[name_].of;
  if (name.name.empty()) name.name = program;
  name_ = watch_.index_of(std::move(name));
  words_ = std::move(command);
}

void CoreWatch::end(const Span& span) {
  if (span.part_ != TaskPart::task && span.has_failed_) {
    // What has failed counts, whatever it is.
    LiveTaskCounts::count(live_.made);
    LiveTaskCounts::count(live_.begun);
  }
  if (span.part_ == TaskPart::task || span.has_failed_) LiveTaskCounts::count(live_.ended);
  if (span.has_failed_) LiveTaskCounts::count(live_.failed);
  if (depth_ == WatchDepth::counts) return;
  const Nanos end = core_.clock();
  const bool is_native = span.native_time_ >= 0;
  const Nanos begin = is_native ? span.native_begin_ : span.begin_;
  const Nanos time = is_native ? span.native_time_ : end - begin;
  NameTotals& totals = names_[span.name_];
  ++totals.n;
  if (span.has_failed_) ++totals.n_failed;
  totals.total += time;
  totals.most = std::max(totals.most, time);
  if (trace_ != nullptr) {
    const core::JobShape& shape = core_.shape();
    trace_->on_task({.node = shape.node,
                     .core = shape.local_of(core_.core()),
                     .name = trace_names_[span.name_],
                     .begin = begin,
                     .end = begin + time,
                     .is_whole = !is_native && core_.tasks().n_turns() == span.turns_,
                     .has_failed = span.has_failed_});
  }
  if (slowest_.size() == kSlowestKept) {
    if (time <= slowest_.front().time) return;
    std::ranges::pop_heap(slowest_, kByTime);
    slowest_.pop_back();
  }
  std::string words = span.words_;
  for (std::size_t i = 0; i < span.values_.size() && span.words_.empty(); ++i) {
    const std::string text = text_of(span.values_[i]);
    // A file's name stands beside its value.
    const bool is_again = i > 0 && span.values_[i] == span.values_[i - 1];
    if (!text.empty() && !is_again) words += (words.empty() ? "" : " ") + text;
  }
  slowest_.push_back({totals.of, shortened(std::move(words)), core_.core(), begin - origin_, time,
                      span.has_failed_});
  std::ranges::push_heap(slowest_, kByTime);
}

CoreWatch::Native::Native(CoreWatch& watch) noexcept
    : watch_(watch),
      span_(watch.of_running()),
      waits_(span_ != nullptr && span_->part_ == TaskPart::task) {
  if (waits_) LiveTaskCounts::count(watch_.live_.asked);
}

CoreWatch::Native::~Native() {
  note_thread();
  if (end_ == 0) return;  // it never ran
  watch_.beside_.add(begin_ - watch_.origin_, end_ - watch_.origin_);
  if (span_ == nullptr) return;
  if (span_->native_time_ < 0) {
    span_->native_begin_ = begin_;
    span_->native_time_ = 0;
  }
  span_->native_time_ += end_ - begin_;
}

}  // namespace rubato::flow
