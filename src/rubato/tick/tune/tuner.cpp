#include "rubato/tick/tune/tuner.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "rubato/base/error.hpp"

namespace rubato::tick {
namespace {

// Another candidate is taken if it should spare this share of the time.
constexpr double kSwitchGain = 0.03;
// Those that should take at most so much longer than the best are as good.
constexpr double kAlike = 0.01;
// Ticks for which a forecast stands against what was measured.
constexpr double kTrust = 200;
constexpr Tick kMostBackoff = 64;  // epochs

}  // namespace

std::vector<Policy> tuned_policies() {
  std::vector<Policy> list;
  for (const char* text : {"local", "schedule(10)", "k1m1d10", "k2m3d10", "k3m5d10", "k5m11d10",
                           "k8m23d10", "pieces(8)"}) {
    list.push_back(Policy::parse(text));
  }
  return list;
}

Tuner::Tuner(TunerOptions options)
    : options_(std::move(options)), backoff_(options_.every), distance_(options_.every) {
  RUBATO_REQUIRE(!options_.candidates.empty() && options_.every > 0, options_.every);
  for (const Policy& policy : options_.candidates) {
    policy.validate();
    if (policy.barrier) {
      throw Error("policy auto: bulk is no candidate: it waits for all that local waits for",
                  ExitCode::usage);
    }
  }
  for (const bool balanced : {false, true}) {
    if (balanced && !options_.balances) break;
    for (const Policy& policy : options_.candidates)
      candidates_.push_back({policy, balanced});
  }
}

int Tuner::layers_most() const noexcept {
  int most = 0;
  for (const Candidate& candidate : candidates_)
    most = std::max(most, candidate.policy.replica_layers);
  return most;
}

Tick Tuner::depth_most() const noexcept {
  Tick most = 0;
  for (const Candidate& candidate : candidates_)
    most = std::max<Tick>(most, candidate.policy.depth + 1);
  return most;
}

// What has not run is trusted as those are that have; once pieces have moved, as those with which
// they did, or did not.
double Tuner::correction_of(const Candidate& candidate) const noexcept {
  const bool known = std::ranges::any_of(candidates_, [&](const Candidate& other) {
    return other.balanced == candidate.balanced && other.ticks > 0;
  });
  double others = 0;
  double ticks = 0;
  for (const Candidate& other : candidates_) {
    if (known && other.balanced != candidate.balanced) continue;
    others += other.ratio;
    ticks += other.ticks;
  }
  const double of_all = (others + kTrust) / (ticks + kTrust);
  return (candidate.ratio + kTrust * of_all) / (candidate.ticks + kTrust);
}

void Tuner::forecast(const Forecast& forecast, std::span<const NodeReport> reports) {
  for (Candidate& candidate : candidates_) {
    candidate.forecast = forecast.can(candidate.policy)
                             ? forecast.tick_time(candidate.policy, candidate.balanced)
                             : 0;
  }
  // What ran since the last time, against the forecast of it: by the mean of all nodes.
  double time = 0;
  Tick ticks = 0;
  for (const NodeReport& report : reports) {
    time += report.tick_time / static_cast<double>(reports.size());
    ticks = ticks == 0 ? report.ticks : std::min(ticks, report.ticks);
  }
  Candidate& now = candidates_[current_];
  if (ticks > 0 && now.forecast > 0) {
    // Half of what was known before is forgotten: conditions change.
    now.ratio = now.ratio / 2 + static_cast<double>(ticks) * time / now.forecast;
    now.ticks = now.ticks / 2 + static_cast<double>(ticks);
  }
  for (Candidate& candidate : candidates_)
    candidate.expected = candidate.forecast * correction_of(candidate);
}

std::size_t Tuner::best() const {
  double least = 0;
  for (const Candidate& candidate : candidates_) {
    if (candidate.expected > 0 && (least == 0 || candidate.expected < least))
      least = candidate.expected;
  }
  const Candidate& now = candidates_[current_];
  if (least == 0 || least > (1 - kSwitchGain) * now.expected) return current_;
  const auto found = std::ranges::find_if(candidates_, [&](const Candidate& candidate) {
    return candidate.expected > 0 && candidate.expected <= (1 + kAlike) * least;
  });
  return static_cast<std::size_t>(found - candidates_.begin());
}

Tuner::Decision Tuner::decide(Tick epoch, std::vector<NodeReport> reports) {
  if (options_.chooses) {
    current_ = options_.chooses(epoch) % candidates_.size();
    return stay(epoch);
  }
  std::ranges::sort(reports, {}, &NodeReport::node);
  ForecastInput input;
  input.policy = policy();
  for (NodeReport& report : reports) {
    input.loads.push_back(report.load);
    input.shapes.push_back(std::move(report.shape));
    for (const auto& [from, delays] : report.delays)
      input.delays.push_back({from, report.node, delays});
  }
  const Forecast made(input);
  forecast(made, reports);
  const std::size_t before = std::exchange(current_, best());
  const bool changed = before != current_;
  if (changed || choices_.empty()) note_choice(epoch, made, before);
  backoff_ = changed ? options_.every : std::min(2 * backoff_, kMostBackoff * options_.every);
  set_distance(made, reports.size());
  next_forecast_ = epoch + std::max(backoff_, distance_);
  std::size_t n_links = 0;
  for (const NodeShape& shape : input.shapes)
    n_links += shape.links.size();
  // As it is measured here: 10 ns for a draw and for a round of a candidate.
  cost_ = static_cast<Nanos>(10 * n_links * static_cast<std::size_t>(made.ticks()) *
                             (1 + candidates_.size()));
  return stay(epoch);
}

Tuner::Decision Tuner::stay(Tick epoch) const {
  const Candidate& now = candidates_[current_];
  Tick next = epoch + distance_;
  if (!now.balanced) next = std::max(next, next_forecast_);
  return {now.policy, now.balanced, next};
}

// A report climbs and a decision comes down a tree while half of an epoch is stepped, at the pace
// that is expected; one late message on the way should not be noticed.
void Tuner::set_distance(const Forecast& forecast, std::size_t n_nodes) {
  const double levels = 2.0 * static_cast<double>(std::bit_width(n_nodes));
  const double travel = levels * forecast.delay_quantile(0.5) + forecast.delay_quantile(0.999) +
                        static_cast<double>(cost_);
  const double ticks = 2 * travel / std::max(candidates_[current_].expected, 1.0);
  const double epochs = std::ceil(ticks / static_cast<double>(options_.every));
  distance_ = options_.every * static_cast<Tick>(std::clamp(epochs, 1.0, 1e6));
}

void Tuner::note_choice(Tick epoch, const Forecast& forecast, std::size_t before) {
  const Candidate& now = candidates_[current_];
  Choice choice;
  choice.tick = epoch;
  choice.policy = now.policy;
  choice.balanced = now.balanced;
  choice.tick_time = now.expected;
  choice.before = candidates_[before].expected;
  choice.first = candidates_.front().expected;
  choice.step = forecast.mean_step();
  choice.imbalance = forecast.most_step() / std::max(forecast.mean_step(), 1.0) - 1;
  choice.late = forecast.delay_quantile(0.99);
  for (const Candidate& candidate : candidates_)
    choice.candidates.push_back({candidate.policy, candidate.balanced, candidate.expected});
  choices_.push_back(std::move(choice));
}

}  // namespace rubato::tick
