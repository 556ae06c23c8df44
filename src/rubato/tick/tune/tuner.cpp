#include "rubato/tick/tune/tuner.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "rubato/base/error.hpp"
#include "rubato/tick/balance/grains.hpp"

namespace rubato::tick {
namespace {

// Of what was learned of crowds, from one forecast to the next.
constexpr double kCrowdingKept = 0.875;
// Another candidate is taken if it should spare this share of the time.
constexpr double kSwitchGain = 0.03;
// And this share, if work moves for it, or goes back: that takes time, and where the work goes on moving
// it is seldom as even as the forecast has it.
constexpr double kMoveGain = 0.1;
// And pieces of another size this much, beside those of now: of smaller ones borders are longer, of larger
// ones more waits, which no forecast tells.
constexpr double kPiecesGain = 0.2;
// Those that should take at most so much longer than the best are as good.
constexpr double kAlike = 0.01;
// Ticks for which a forecast stands against what was measured.
constexpr double kTrust = 50;
constexpr Tick kMostBackoff = 64;  // epochs
// A first look tells what cannot be the best: what takes kHopeless times as long as the best then.
constexpr Tick kFirstLook = 40;  // ticks
constexpr double kHopeless = 1.3;
// And in pieces of other sizes, those are looked at that take at most so many times as long in those of now.
constexpr double kFarOff = 2;
// Nodes are alike that are so near to each other; sharing anew would gain nothing.
constexpr double kEven = 1.02;
// Of a unit of replicas over one of own work, before some have run: of points, of which 1.4 to 2 was
// measured. Of grids and graphs 1.
constexpr double kReplicaCost = 1.4;
// And at least so much of replicas in a tick, over own work, tells what they cost.
constexpr double kEnoughReplicas = 0.05;
constexpr double kReplicaCostMost = 4;  // times as much as was thought before
// Sharing anew that has not kept what it promised: half of that is forgotten at a forecast so many epochs later.
// By a division: nodes of one job may have other bits of a power.
constexpr double kForgotten = 128;
// Of a forecast's step, as it is measured; ns.
constexpr double kStepCost = 20;
// Of a run's time, what forecasts may take.
constexpr double kThinking = 0.02;

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
    : options_(std::move(options)),
      backoff_(options_.every),
      distance_(options_.every),
      crowding_(kCrowdingKept) {
  RUBATO_REQUIRE(!options_.candidates.empty() && options_.every > 0, options_.every);
  RUBATO_REQUIRE(!options_.grains_of_piece.empty(), options_.n_grains);
  for (const Policy& policy : options_.candidates) {
    policy.validate();
    if (policy.barrier) {
      throw Error("policy auto: bulk is no candidate: it waits for all that local waits for",
                  ExitCode::usage);
    }
  }
  for (const bool balanced : {false, true}) {
    if (balanced && !options_.balances) break;
    for (std::size_t pieces = 0; pieces < options_.grains_of_piece.size(); ++pieces) {
      for (const Policy& policy : options_.candidates)
        candidates_.push_back({policy, balanced, pieces});
    }
  }
}

ShapeLimits Tuner::shape_limits() const {
  ShapeLimits limits;
  for (const Policy& policy : options_.candidates) {
    limits.layers = std::max(limits.layers, policy.replica_layers);
    limits.depth = std::max<Tick>(limits.depth, policy.depth + 1);
  }
  if (options_.grains_of_piece.size() > 1) limits.grains_of_piece = options_.grains_of_piece;
  return limits;
}

// By a forecast of a cut in `pieces_now`. What sharing anew has reached is seen once it is done: it is not even
// while the work moves.
Sharing Tuner::sharing_of(const Candidate& candidate, std::size_t pieces_now) const noexcept {
  Sharing sharing;
  sharing.anew = candidate.balanced && !balanced();
  if (candidate.pieces != pieces_now) sharing.pieces = candidate.pieces;
  return sharing;
}

std::uint32_t Tuner::n_pieces_of(const Candidate& candidate) const noexcept {
  if (options_.cuts_again && candidate.balanced) return 0;
  return tick::n_pieces_of(options_.n_grains, options_.grains_of_piece[candidate.pieces]);
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

// Of a job whose work has been shared anew since, what it was before that, at its pace of now.
std::optional<Forecast> Tuner::first_cut(const ForecastInput& now) const {
  if (!balanced() || first_loads_.empty()) return std::nullopt;
  ForecastInput input;
  input.policy = first_policy_;
  input.loads = first_loads_;
  input.shapes = first_shapes_;
  input.indivisible_of = first_indivisible_of_;
  input.delays = now.delays;
  input.replica_cost = now.replica_cost;
  double pace = 0;
  double before = 0;
  for (std::size_t i = 0; i < now.loads.size(); ++i) {
    pace += now.loads[i].step;
    before += first_loads_[i].step;
  }
  const double faster = pace / std::max(before, 1.0);
  for (TickCosts& load : input.loads) {
    load.step *= faster;
    load.pieces.largest *= faster;
    load.indivisible *= faster;
  }
  for (std::vector<double>& costs : input.indivisible_of) {
    for (double& cost : costs)
      cost *= faster;
  }
  return Forecast(input);
}

// Of few ticks: what cannot be the best is not looked at any longer.
void Tuner::look_first(const Forecast& forecast, const std::optional<Forecast>& first) {
  const bool even = !balanced() && forecast.most_step() < kEven * forecast.mean_step();
  const std::size_t pieces = candidates_[current_].pieces;
  const auto time_of = [&](const Candidate& candidate, Tick ticks) {
    const bool of_first = first && !candidate.balanced;
    const Sharing sharing = sharing_of(candidate, of_first ? first_pieces_ : pieces);
    return (of_first ? *first : forecast).tick_time(candidate.policy, sharing, ticks);
  };
  double least = 0;
  const auto look = [&](Candidate& candidate) {
    // What cannot be told of the cut that runs is no reason to leave it for the other one.
    const bool is_known =
        forecast.can(candidate.policy) && (!first || first->can(candidate.policy));
    if (!is_known || (candidate.balanced && even)) return;
    candidate.forecast = time_of(candidate, kFirstLook);
    if (least == 0 || candidate.forecast < least) least = candidate.forecast;
  };
  for (Candidate& candidate : candidates_) {
    candidate.forecast = 0;
    if (candidate.pieces == pieces) look(candidate);
  }
  // In other pieces, what may be good in those of now; and what the run began with, which people know.
  const double far = kFarOff * least;
  const std::size_t n = options_.candidates.size();
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (candidates_[i].pieces == pieces) continue;
    const Candidate& now = candidates_[i + pieces * n - candidates_[i].pieces * n];
    if (i == 0 || (now.forecast > 0 && now.forecast < far)) look(candidates_[i]);
  }
  // By as many ticks of both.
  for (std::size_t i = n_unbalanced(); i < candidates_.size() && !balanced(); ++i) {
    const double still = candidates_[i - n_unbalanced()].forecast;
    candidates_[i].promise = still > 0 ? candidates_[i].forecast / still : 0;
  }
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    Candidate& candidate = candidates_[i];
    const bool hopes = candidate.forecast > 0 && candidate.forecast < kHopeless * least;
    // What runs, and what it would be without sharing.
    const bool is_now = i == current_ || i + n_unbalanced() == current_;
    if (hopes || (is_now && candidate.forecast > 0))
      candidate.forecast = time_of(candidate, kNoTick);
  }
}

void Tuner::forecast(Tick epoch, const Forecast& forecast, const std::optional<Forecast>& first,
                     std::span<const NodeReport> reports) {
  look_first(forecast, first);
  learn_sharing(epoch);
  learn(candidates_[current_], reports);
  for (Candidate& candidate : candidates_)
    candidate.expected = candidate.forecast * correction_of(candidate);
  // Work has moved so that it cannot be forecast any more: it runs as it does.
  Candidate& now = candidates_[current_];
  if (now.forecast > 0) return;
  for (const NodeReport& report : reports)
    now.expected += report.tick_time / static_cast<double>(reports.size());
}

// Of a balanced candidate. One that was not looked at before work was shared has that of the same pieces, or of
// any, that were.
double Tuner::promise_of(const Candidate& candidate) const noexcept {
  if (candidate.promise > 0) return candidate.promise;
  double of_any = 0;
  for (const Candidate& other : candidates_) {
    if (other.promise == 0) continue;
    if (other.pieces == candidate.pieces) return other.promise;
    if (of_any == 0) of_any = other.promise;
  }
  return of_any;
}

// How much of what a forecast promises of sharing anew has come of it, by forecasts of the cut that it led to
// and of the first one. It hopes for even parts with as short borders as before: crowds in small parts have
// longer ones, and what moves by itself does not stay even.
void Tuner::learn_sharing(Tick epoch) {
  const std::size_t n = n_unbalanced();
  if (!options_.balances) return;
  if (!balanced()) {
    const double epochs = static_cast<double>(epoch - std::exchange(worse_at_, epoch)) /
                          static_cast<double>(options_.every);
    worse_ = 1 + (worse_ - 1) * kForgotten / (kForgotten + epochs);
    for (std::size_t i = n; i < 2 * n; ++i)
      candidates_[i].forecast *= worse_;
    return;
  }
  worse_at_ = epoch;
  const Candidate& shared = candidates_[current_];
  const Candidate& first = candidates_[current_ - n];
  const double promise = promise_of(shared);
  if (promise == 0 || shared.forecast == 0 || first.forecast == 0) return;
  const double worse = shared.forecast / first.forecast / promise;
  worse_ = std::max({1.0, worse, (worse_ + worse) / 2});
}

// Of the candidate that ran, from what was measured of it.
void Tuner::learn(Candidate& now, std::span<const NodeReport> reports) {
  // What ran since the last time, against the forecast of it: by the mean of all nodes.
  double time = 0;
  Tick ticks = reports.empty() ? 0 : kNoTick;
  for (const NodeReport& report : reports) {
    time += report.tick_time / static_cast<double>(reports.size());
    ticks = std::min(ticks, report.ticks);
  }
  if (ticks == 0 || now.forecast == 0) return;
  // Half of what was known before is forgotten: conditions change.
  now.ratio = now.ratio / 2 + static_cast<double>(ticks) * time / now.forecast;
  now.ticks = now.ticks / 2 + static_cast<double>(ticks);
}

// From those that ran, before anything is forecast with it.
void Tuner::learn_replica_cost(Forecast& forecast, std::span<const NodeReport> reports) {
  double replicas = 0;
  for (const NodeReport& report : reports) {
    if (report.ticks == 0) return;
    replicas += report.load.replicas / static_cast<double>(reports.size());
  }
  if (policy().replica_layers == 0 || !forecast.can(policy())) return;
  const double expected = forecast.tick(policy(), {}).replicas;
  if (std::min(replicas, expected) <= kEnoughReplicas * forecast.mean_step()) return;
  replica_cost_ *= std::clamp(replicas / expected, 1 / kReplicaCostMost, kReplicaCostMost);
  forecast.set_replica_cost(replica_cost_);
}

std::size_t Tuner::best() const {
  double least_of[2] = {0, 0};  // as it is cut now, and the other ways
  const auto worth = [this](const Candidate& candidate) {
    const bool same_pieces = candidate.pieces == candidates_[current_].pieces;
    return candidate.expected / (candidate.balanced == balanced() ? 1 : 1 - kMoveGain) /
           (same_pieces ? 1 : 1 - kPiecesGain);
  };
  for (const Candidate& candidate : candidates_) {
    double& least = least_of[has_cut_of_now(candidate) ? 0 : 1];
    if (candidate.expected > 0 && (least == 0 || worth(candidate) < least))
      least = worth(candidate);
  }
  const auto [as_now, other] = least_of;
  const bool moves = other > 0 && (as_now == 0 || other < as_now);
  const double least = moves ? other : as_now;
  const Candidate& now = candidates_[current_];
  if (least == 0 || least > (1 - kSwitchGain) * now.expected) return current_;
  const auto found = std::ranges::find_if(candidates_, [&](const Candidate& candidate) {
    return has_cut_of_now(candidate) != moves && candidate.expected > 0 &&
           worth(candidate) <= (1 + kAlike) * least;
  });
  return static_cast<std::size_t>(found - candidates_.begin());
}

// A forecast shares a piece's cost evenly among its grains.
void Tuner::learn_crowding(std::vector<std::vector<double>>& indivisible_of) {
  if (indivisible_of.empty()) return;
  const std::size_t pieces = candidates_[current_].pieces;
  const double costliest = *std::ranges::max_element(indivisible_of[pieces]);
  crowding_.learn(costliest);
  for (std::size_t i = 0; i < indivisible_of.size(); ++i) {
    if (options_.grains_of_piece[i] >= options_.grains_of_piece[pieces]) continue;
    for (double& cost : indivisible_of[i])
      cost = crowding_.expected(cost, costliest);
  }
}

Tuner::Decision Tuner::decide(Tick epoch, std::vector<NodeReport> reports,
                              std::vector<std::vector<double>> indivisible_of) {
  if (options_.chooses) {
    current_ = options_.chooses(epoch) % candidates_.size();
    return stay(epoch);
  }
  std::ranges::sort(reports, {}, &NodeReport::node);
  ForecastInput input;
  input.policy = policy();
  input.balanced = balanced();
  std::vector<double> costliest_of;  // if all lies evenly
  costliest_of.reserve(indivisible_of.size());
  for (const std::vector<double>& of_nodes : indivisible_of)
    costliest_of.push_back(*std::ranges::max_element(of_nodes));
  learn_crowding(indivisible_of);
  input.indivisible_of = std::move(indivisible_of);
  for (NodeReport& report : reports) {
    input.loads.push_back(report.load);
    input.shapes.push_back(std::move(report.shape));
    for (const auto& [from, delays] : report.delays)
      input.delays.push_back({from, report.node, delays});
  }
  if (replica_cost_ == 0) replica_cost_ = input.shapes.front().is_uneven ? kReplicaCost : 1;
  input.replica_cost = replica_cost_;
  Forecast made(input);
  learn_replica_cost(made, reports);
  input.replica_cost = replica_cost_;
  const std::optional<Forecast> first = first_cut(input);
  forecast(epoch, made, first, reports);
  if (!balanced()) {
    first_policy_ = input.policy;
    first_pieces_ = candidates_[current_].pieces;
    first_loads_ = input.loads;
    first_shapes_ = input.shapes;
    first_indivisible_of_ = input.indivisible_of;
  }
  const std::size_t before = std::exchange(current_, best());
  const bool changed = before != current_;
  const std::size_t pieces = candidates_[current_].pieces;
  if (options_.grains_of_piece[pieces] < options_.grains_of_piece[candidates_[before].pieces])
    crowding_.promise(costliest_of[pieces]);
  if (changed || choices_.empty()) note_choice(epoch, made, before);
  backoff_ = changed ? options_.every : std::min(2 * backoff_, kMostBackoff * options_.every);
  cost_ = static_cast<Nanos>(kStepCost *
                             static_cast<double>(made.n_steps() + (first ? first->n_steps() : 0)));
  set_distance(made, reports.size());
  const double worth =
      static_cast<double>(cost_) / kThinking / std::max(candidates_[current_].expected, 1.0);
  const auto rarely =
      static_cast<Tick>(std::ceil(worth / static_cast<double>(options_.every))) * options_.every;
  next_forecast_ = epoch + std::max({backoff_, distance_, rarely});
  return stay(epoch);
}

Tuner::Decision Tuner::stay(Tick epoch) const {
  const Candidate& now = candidates_[current_];
  Tick next = epoch + distance_;
  if (!now.balanced) next = std::max(next, next_forecast_);
  return {now.policy, now.balanced, options_.grains_of_piece[now.pieces], next};
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
  choice.n_pieces = n_pieces_of(now);
  choice.tick_time = now.expected;
  choice.before = candidates_[before].expected;
  choice.first = candidates_.front().expected;
  choice.step = forecast.mean_step();
  choice.imbalance = forecast.most_step() / std::max(forecast.mean_step(), 1.0) - 1;
  choice.pieces = forecast.pieces();
  choice.late = forecast.delay_quantile(0.99);
  for (const Candidate& candidate : candidates_)
    choice.candidates.push_back(
        {candidate.policy, candidate.balanced, n_pieces_of(candidate), candidate.expected});
  choices_.push_back(std::move(choice));
}

}  // namespace rubato::tick
