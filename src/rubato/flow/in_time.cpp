#include "rubato/flow/in_time.hpp"

#include <charconv>
#include <optional>

#include "rubato/flow/lines.hpp"

namespace rubato::flow {
namespace {

// When people are told that the run waits for work that is late: then, and after twice as long.
constexpr Nanos kSayAfter = kSecond;

void wait_and_say(Flow& flow, core::NativeCall& call, const std::string& who,
                  const std::string& why) {
  std::string line = "rubato: " + who;
  line.append(" ").append(why).append(" and has not ended: the run waits");
  for (Nanos after = kSayAfter; !call.wait_for(after); after *= 2)
    say_line(flow.core(), stderr, line);
}

}  // namespace

EndedIn run_in_time(Flow& flow, const TimeLimit& limit, const std::string& who,
                    const std::function<void()>& f,
                    const std::function<void(const std::string& why)>& fail) {
  std::optional<CoreWatch::Native> seen;
  if (flow.watch() != nullptr) seen.emplace(*flow.watch());
  const auto run = [&] {
    std::optional<CoreWatch::Native::Timed> timed;
    if (seen) timed.emplace(*seen);
    f();
  };
  core::NativeCall call(run, limit.timeout, limit.priority, {});
  if (call.wait_in_time()) {
    call.wait();
    call.rethrow();
    return EndedIn::time;
  }
  if (limit.patience > 0 && call.wait_for(limit.patience)) return EndedIn::patience;
  const std::string why = "took longer than " + seconds_text(limit.timeout);
  fail(why);
  wait_and_say(flow, call, who, why);
  return EndedIn::nothing;
}

bool run_in_time(Flow& flow, Rule& rule, const std::function<void()>& f) {
  const auto fail = [&](const std::string& why) {
    std::string what = rule.text() + ": " + why;
    const Value failure = Value::failed(what);
    flow.note_failed_body(std::move(what));
    flow.give_back(rule, &failure);
  };
  return run_in_time(flow, {rule.options.timeout, 0, rule.options.priority}, rule.text(), f,
                     fail) == EndedIn::time;
}

void check_no_timeout(const RuleOptions& options) {
  if (options.timeout == kNever) return;
  throw Error(
      "a time-out of a task that runs on the cores themselves, as a team does and what returns a "
      "future: expected none");
}

std::string seconds_text(Nanos span) {
  char text[32];
  const auto [end, error] =
      std::to_chars(text, text + sizeof text, static_cast<double>(span) / kSecond);
  return std::string(text, end) + " s";
}

}  // namespace rubato::flow
