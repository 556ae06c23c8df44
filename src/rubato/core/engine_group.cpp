#include "rubato/core/engine_group.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace rubato::core {

// Tags what an engine sends, and keeps its timer apart from those of the others.
class EngineGroup::MemberPort final : public Port {
 public:
  MemberPort(EngineGroup& group, Port& under, std::size_t i)
      : group_(group), under_(under), i_(i) {}
  void send(NodeId to, Bytes bytes) override {
    add_tag(bytes, static_cast<std::uint32_t>(i_));
    under_.send(to, std::move(bytes));
  }
  void wake_at(Nanos when) override {
    group_.timers_[i_] = std::min(group_.timers_[i_], when);
    under_.wake_at(when);
  }
  [[nodiscard]] Nanos now() const noexcept override { return under_.now(); }
  [[nodiscard]] Came came() const noexcept override { return under_.came(); }

 private:
  EngineGroup& group_;
  Port& under_;
  std::size_t i_;
};

EngineGroup::EngineGroup(std::vector<Engine*> engines)
    : engines_(std::move(engines)), timers_(engines_.size(), kNever) {
  RUBATO_REQUIRE(!engines_.empty());
}

void EngineGroup::start(Port& port) {
  for (std::size_t i = 0; i < engines_.size(); ++i) {
    MemberPort member(*this, port, i);
    engines_[i]->start(member);
  }
}

void EngineGroup::on_message(Port& port, NodeId from, Bytes bytes) {
  const std::uint32_t i = take_tag(bytes);
  if (i >= engines_.size()) {
    throw Error(
        "message for engine " + std::to_string(i) + " of " + std::to_string(engines_.size()),
        ExitCode::failed);
  }
  MemberPort member(*this, port, i);
  engines_[i]->on_message(member, from, std::move(bytes));
}

void EngineGroup::on_finished(Port& port, const Work& work) {
  MemberPort member(*this, port, index_of(work));
  engine_of(work).on_finished(member, inner(work));
}

void EngineGroup::on_time(Port& port) {
  for (std::size_t i = 0; i < engines_.size(); ++i) {
    if (timers_[i] > port.now()) continue;
    timers_[i] = kNever;
    MemberPort member(*this, port, i);
    engines_[i]->on_time(member);
  }
  // The host has forgotten the others with the one that was due.
  const Nanos next = *std::min_element(timers_.begin(), timers_.end());
  if (next != kNever) port.wake_at(next);
}

bool EngineGroup::next_work(std::uint32_t core, Work& work) {
  for (std::size_t i = 0; i < engines_.size(); ++i) {
    if (!engines_[i]->next_work(core, work)) continue;
    work.kind = kind_of(i, work.kind);
    return true;
  }
  return false;
}

bool EngineGroup::work_is_of_cores() const {
  return std::ranges::any_of(engines_, [](const Engine* e) { return e->work_is_of_cores(); });
}

bool EngineGroup::more_work() const {
  return std::any_of(engines_.begin(), engines_.end(), [](Engine* e) { return e->more_work(); });
}

void EngineGroup::prefetch(const Work& work, std::uint32_t core) const {
  engine_of(work).prefetch(inner(work), core);
}

void EngineGroup::run(const Work& work, std::uint32_t core) {
  engine_of(work).run(inner(work), core);
}

Nanos EngineGroup::cost(const Work& work) const {
  return engine_of(work).cost(inner(work));
}

Nanos EngineGroup::message_cost(std::size_t n_bytes) const {
  Nanos cost = 0;
  for (const Engine* engine : engines_)
    cost = std::max(cost, engine->message_cost(n_bytes));
  return cost;
}

bool EngineGroup::finished() const {
  return std::all_of(engines_.begin(), engines_.end(), [](Engine* e) { return e->finished(); });
}

bool EngineGroup::on_quiet(Port& port) {
  bool goes_on = false;
  for (std::size_t i = 0; i < engines_.size(); ++i) {
    MemberPort member(*this, port, i);
    goes_on = engines_[i]->on_quiet(member) || goes_on;
  }
  return goes_on;
}

std::string EngineGroup::waiting_for() const {
  std::string all;
  for (const Engine* engine : engines_) {
    const std::string one = engine->waiting_for();
    if (!one.empty()) all += (all.empty() ? "" : ", and ") + one;
  }
  return all;
}

std::string EngineGroup::work_name(const Work& work) const {
  return engine_of(work).work_name(inner(work));
}

std::vector<WorkBeside> EngineGroup::work_beside(Nanos begun_by) const {
  std::vector<WorkBeside> all;
  for (const Engine* engine : engines_) {
    std::vector<WorkBeside> some = engine->work_beside(begun_by);
    std::ranges::move(some, std::back_inserter(all));
  }
  return all;
}

void EngineGroup::on_failed(const Error& error) {
  for (Engine* engine : engines_)
    engine->on_failed(error);
}

}  // namespace rubato::core
