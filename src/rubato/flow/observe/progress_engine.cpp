#include "rubato/flow/observe/progress_engine.hpp"

#include <cstdio>

#include "rubato/core/channel.hpp"

namespace rubato::flow {
namespace {

enum Channel : std::uint32_t { of_engine, of_progress };

constexpr Nanos kRateTime = 10 * kSecond;
constexpr Nanos kRateStep = kSecond / 2;

}  // namespace

ProgressEngine::ProgressEngine(core::Engine& engine, const core::JobShape& shape,
                               std::function<TaskCounts()> counts)
    : WrappedEngine(engine),
      shape_(shape),
      mine_(std::move(counts)),
      others_(shape.node == 0 ? shape.n_nodes : 0) {}

TaskCounts ProgressEngine::counts() const {
  TaskCounts all = mine_();
  for (const LiveTaskCounts& told : others_)
    all.add(told.read());
  return all;
}

void ProgressEngine::start(core::Port& port) {
  core::TaggedPort inner(port, of_engine);
  WrappedEngine::start(inner);
}

void ProgressEngine::on_message(core::Port& port, core::NodeId from, Bytes bytes) {
  if (core::take_tag(bytes) == of_engine) {
    core::TaggedPort inner(port, of_engine);
    return WrappedEngine::on_message(inner, from, std::move(bytes));
  }
  Reader in(bytes);
  others_.at(from).write(in.get<TaskCounts>());
}

void ProgressEngine::on_finished(core::Port& port, const core::Work& work) {
  core::TaggedPort inner(port, of_engine);
  WrappedEngine::on_finished(inner, work);
  if (port.now() >= next_ || timer_ == kNever) tell(port);
}

void ProgressEngine::on_time(core::Port& port) {
  core::TaggedPort inner(port, of_engine);
  WrappedEngine::on_time(inner);
  if (timer_ != kNever && port.now() >= timer_) {
    timer_ = kNever;
  } else if (timer_ != kNever) {
    port.wake_at(timer_);  // others' timers may have come first
  }
  tell(port);
}

// Now, or when it is time.
void ProgressEngine::tell(core::Port& port) {
  if (shape_.node == 0) return;
  const TaskCounts mine = mine_();
  if (mine == told_) return;
  if (port.now() < next_) {
    if (timer_ == kNever && !finished()) {
      timer_ = next_;
      port.wake_at(timer_);
    }
    return;
  }
  told_ = mine;
  next_ = port.now() + kInterval;
  Writer out;
  out.put(mine);
  core::TaggedPort(port, of_progress).send(0, out.take());
}

double ProgressText::rate(Nanos elapsed, std::uint64_t n_ended) {
  if (ended_.empty()) ended_.push_back({0, 0});
  const Ended now{elapsed, n_ended};
  if (elapsed - ended_.back().when >= kRateStep) ended_.push_back(now);
  while (ended_.size() > 1 && elapsed - ended_[1].when >= kRateTime)
    ended_.pop_front();
  const Ended& then = ended_.front();
  if (now.when <= then.when || now.n <= then.n) return 0;
  return static_cast<double>(now.n - then.n) * kSecond / static_cast<double>(now.when - then.when);
}

ProgressText::Line ProgressText::look(Nanos elapsed, const TaskCounts& counts) {
  const std::uint64_t n_open = counts.waiting() + counts.running();
  const std::uint64_t n_known = n_open + counts.ended;
  if (n_known > n_known_) {
    n_known_ = n_known;
    grew_at_ = elapsed;
  }
  const double tasks_a_second = rate(elapsed, counts.ended);
  Line line;
  line.text = std::to_string(counts.running()) + " running, " + std::to_string(counts.waiting()) +
              " waiting, " + std::to_string(counts.done()) + " done, " +
              std::to_string(counts.failed) + " failed, ";
  char number[40];
  std::snprintf(number, sizeof number, "%.*f", tasks_a_second < 10 ? 1 : 0, tasks_a_second);
  line.text.append(number).append(" tasks/s");
  // While tasks make tasks, nobody knows how many there will be.
  const bool is_known = elapsed - grew_at_ >= std::max<Nanos>(2 * kSecond, elapsed / 5);
  if (!is_known || n_known == 0 || tasks_a_second <= 0) return line;
  line.part = static_cast<double>(counts.ended) / static_cast<double>(n_known);
  line.left = static_cast<Nanos>(static_cast<double>(n_open) / tasks_a_second * kSecond);
  return line;
}

}  // namespace rubato::flow
