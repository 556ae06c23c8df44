#include "rubato/tick/epoch/epoch_engine.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

namespace rubato::tick {

using detail::MessageHeader;
using detail::MessageType;
using detail::Report;

namespace {

// Of MessageType::epoch, in the header's `detail`.
enum class Way : std::uint32_t { up, down };

Meter::MessageCost cost_of(const core::Engine& engine, std::size_t n_bytes) {
  const Nanos empty = engine.message_cost(sizeof(MessageHeader));
  return {empty, engine.message_cost(n_bytes) - empty};
}

// Counts what is sent.
class MeteredPort final : public core::Port {
 public:
  MeteredPort(core::Port& port, const core::Engine& engine, Meter& meter)
      : port_(port), engine_(engine), meter_(meter) {}

  void send(NodeId to, Bytes bytes) override {
    meter_.count_sent(cost_of(engine_, bytes.size()));
    port_.send(to, std::move(bytes));
  }
  void wake_at(Nanos when) override { port_.wake_at(when); }
  [[nodiscard]] Nanos now() const noexcept override { return port_.now(); }
  [[nodiscard]] Came came() const noexcept override { return port_.came(); }

 private:
  core::Port& port_;
  const core::Engine& engine_;
  Meter& meter_;
};

}  // namespace

// Calls it with the port that all messages of the run leave by.
template <class F>
void EpochEngine::event(core::Port& port, F call) {
  if (!meter_) {
    call(port);
    return;
  }
  MeteredPort metered(port, *this, *meter_);
  call(metered);
}

EpochEngine::EpochEngine(std::shared_ptr<const Partition> partition, std::unique_ptr<NodeRun> first,
                         const EpochOptions& options, const Dataflow::Options& flow,
                         std::function<void(NodeRun&)> at_epoch)
    : options_(options),
      flow_options_(flow),
      at_epoch_(std::move(at_epoch)),
      self_(first->plan().self),
      n_nodes_(first->plan().n_nodes),
      run_begin_(flow.begin),
      agreements_(first->engine().agreements()),
      watched_tick_(flow.begin),
      told_tick_(flow.begin) {
  RUBATO_REQUIRE(options.every > 0 && (options.tuner || options.balance != Balance::none),
                 options.every);
  RUBATO_REQUIRE(partition->n_nodes() == n_nodes_, partition->n_nodes(), n_nodes_);
  auto leg = std::make_unique<Leg>();
  if (options.tuner) first_cut_ = partition;
  leg->partition = std::move(partition);
  leg->node = std::move(first);
  follow(*leg);
  if (options.tuner) {
    TunerOptions tuner = *options.tuner;
    tuner.n_grains = leg->partition->n_grains();
    tuner.cuts_again = options.balance == Balance::repartition;
    tuner_ = std::make_unique<Tuner>(std::move(tuner));
    meter_ = std::make_unique<Meter>(self_, flow.n_cores);
    leg->shape = leg->partition->shape(self_, tuner_->shape_limits());
  } else if (options.balance == Balance::persistence && options.grains_of_piece.size() > 1) {
    piece_size_ = std::make_unique<PieceSize>(
        PieceSize::Options{options.grains_of_piece, n_nodes_, flow.n_cores, options.persistence});
  }
  legs_.push_back(std::move(leg));
}

EpochEngine::~EpochEngine() = default;

std::vector<NodeId> EpochEngine::children() const {
  std::vector<NodeId> list;
  for (std::uint64_t child = 2 * std::uint64_t{self_} + 1;
       child < n_nodes_ && child <= 2 * std::uint64_t{self_} + 2; ++child) {
    list.push_back(static_cast<NodeId>(child));
  }
  return list;
}

// The first epoch after tick t; none if the run ends there or before.
Tick EpochEngine::epoch_after(Tick t) const {
  const Tick next = (t / options_.every + 1) * options_.every;
  return next < agreements_->stop.end() ? next : kNoTick;
}

// The newest of those that begin before tick t; null if there is none (any more).
EpochEngine::Leg* EpochEngine::leg_of(Tick t) const {
  const std::lock_guard lock(legs_mutex_);
  for (auto leg = legs_.rbegin(); leg != legs_.rend(); ++leg) {
    if ((*leg)->flow().begin() < t) return leg->get();
  }
  return nullptr;
}

EpochEngine::Leg& EpochEngine::leg_of(const core::Work& work) const {
  const bool steps = work.kind == step_own || work.kind == step_replica ||
                     work.kind == interact_own || work.kind == step_lent || work.kind == take_back;
  Leg* leg = leg_of(steps ? work.tick + 1 : work.tick);
  RUBATO_ASSERT(leg != nullptr, work.kind, work.index, work.tick);
  return *leg;
}

// Has the leg's steps give samples when they are wanted.
void EpochEngine::follow(Leg& leg) {
  leg.costs.resize(leg.node->plan().n_own);
  if (options_.balance != Balance::repartition) return;
  const auto wants = [this](Tick t) { return t == sample_tick_.load(std::memory_order_relaxed); };
  leg.flow().on_own_step(wants, [this, &leg](RegionId region, Tick t) {
    const Bytes samples = leg.node->sample(region, t);
    if (samples.empty()) return;
    const std::lock_guard lock(samples_mutex_);
    own_samples_.emplace_back(region, samples);
  });
}

void EpochEngine::start(core::Port& port) {
  started_ = told_at_ = port.now();
  if (meter_) meter_->follow(newest().flow(), newest().node->plan().n_own, started_);
  event(port, [&](core::Port& out) {
    newest().flow().start(out);
    set_epoch(epoch_after(run_begin_));
    look(out);
  });
}

// From one to the next.
Tick EpochEngine::epoch_length() const {
  return tuner_ ? tuner_->distance() : options_.every;
}

// The epoch to come is at tick t.
void EpochEngine::set_epoch(Tick t) {
  epoch_ = t;
  reported_ = decided_ = false;
  missing_ = 1 + children().size();
  samples_.clear();
  all_ = {};
  // At least one tick of this segment is to be told of.
  report_tick_ =
      t == kNoTick ? kNoTick : std::max(t - epoch_length() / 2, newest().flow().begin() + 1);
  {
    const std::lock_guard lock(samples_mutex_);
    own_samples_.clear();
  }
  sample_tick_.store(report_tick_, std::memory_order_relaxed);
  newest().flow().gate(t);
}

// After each event.
void EpochEngine::look(core::Port& port) {
  for (const auto& leg : legs_)
    leg->flow().note_end(port);
  if (meter_) meter_->look(port.now());
  if (!reported_ && epoch_ != kNoTick && newest().flow().own_tick() >= report_tick_) report(port);
  retire();
  watched_tick_.store(own_tick(), std::memory_order_relaxed);
}

std::vector<PersistentCost::Mean> EpochEngine::Leg::take_costs() {
  std::vector<PersistentCost::Mean> taken(costs.size());
  std::ranges::transform(costs, taken.begin(), &PersistentCost::take);
  return taken;
}

void EpochEngine::report(core::Port& port) {
  reported_ = true;
  Leg& leg = newest();
  const std::vector<PersistentCost::Mean> costs = leg.take_costs();
  Report told;
  Bytes load;
  for (const PersistentCost::Mean& cost : costs)
    told.passes += cost.passes;
  if (options_.balance == Balance::persistence) {
    // In the middle of the ticks that are to be shared.
    const Tick middle = epoch_ + epoch_length() / 2;
    const auto ahead = static_cast<double>(middle - leg.flow().own_tick());
    for (std::size_t i = 0; i < leg.node->pieces().size(); ++i)
      told.costs.emplace_back(leg.node->pieces()[i], costs[i].after(ahead));
  } else {
    double busy = 0;
    for (const PersistentCost::Mean& cost : costs)
      busy += (cost.stays + cost.passes) / flow_options_.n_cores;
    const auto n_ticks = static_cast<double>(leg.flow().own_tick() - told_tick_);
    const double passed = static_cast<double>(port.now() - told_at_) / n_ticks;
    // A tuner knows whether a cut is worth it, under a policy that waits less than this one.
    load = leg.node->sample_load(busy, tuner_ ? busy : passed);
  }
  told_tick_ = leg.flow().own_tick();
  told_at_ = port.now();
  if (tuner_ && tuner_->forecasts_at(epoch_)) {
    PieceSpread pieces;
    for (const PersistentCost::Mean& cost : costs)
      pieces.add(cost.stays);
    told.loads.push_back(meter_->report(port.now(), pieces));
    double& indivisible = told.loads.back().load.indivisible;
    for (const auto& [piece, cost] : told.costs)
      indivisible = std::max(indivisible, cost);
    told.loads.back().shape = leg.shape;
  }
  take_samples(load, leg, costs);
  told.samples = load;
  Writer out;
  detail::write_report(out, told);
  add_report(port, out.take());
}

// Adds those of its own regions, by what these cost. On a node where nothing costs anything they count
// as they are.
void EpochEngine::take_samples(Bytes& into, const Leg& leg,
                               std::span<const PersistentCost::Mean> costs) {
  std::vector<std::pair<RegionId, Bytes>> taken;
  {
    const std::lock_guard lock(samples_mutex_);
    taken.swap(own_samples_);
  }
  if (taken.empty()) return;
  // Cores came in any order; sums of weights depend on it.
  std::ranges::sort(taken, {}, [](const auto& each) { return each.first; });
  const bool known = std::ranges::any_of(costs, [](const auto& cost) { return cost.stays > 0; });
  std::vector<WeighedSamples> all;
  all.reserve(taken.size());
  for (const auto& [region, samples] : taken)
    all.push_back({samples, known ? std::max(costs[region].stays, 1.0) : 0});
  leg.partition->merge_samples(into, all);
}

// One's own, or a child's for its part of the tree.
void EpochEngine::add_report(core::Port& port, ByteView bytes) {
  const Report more = detail::read_report(bytes);
  if (!more.samples.empty()) {
    const WeighedSamples theirs{more.samples, 0};
    newest().partition->merge_samples(samples_, std::span(&theirs, 1));
  }
  all_.costs.insert(all_.costs.end(), more.costs.begin(), more.costs.end());
  all_.passes += more.passes;
  all_.loads.insert(all_.loads.end(), more.loads.begin(), more.loads.end());
  if (--missing_ != 0) return;
  all_.samples = samples_;
  Writer out;
  if (self_ == 0) {
    detail::write_report(out, all_);
    decided(port, out.take());
    return;
  }
  out.put(MessageHeader{MessageType::epoch, static_cast<std::uint32_t>(Way::up), epoch_});
  detail::write_report(out, all_);
  port.send((self_ - 1) / 2, out.take());
}

// All reports are here: hands them down, and plans.
void EpochEngine::decided(core::Port& port, Bytes reports) {
  for (const NodeId child : children()) {
    Writer out;
    out.put(MessageHeader{MessageType::epoch, static_cast<std::uint32_t>(Way::down), epoch_});
    out.append(reports.data(), reports.size());
    port.send(child, out.take());
  }
  decided_ = true;
  plan_ = &new_job(Step::plan, newest());
  plan_->bytes = std::move(reports);
}

EpochEngine::Job& EpochEngine::new_job(Step step, Leg& leg) {
  jobs_.emplace_back();
  Job& job = jobs_.back();
  job.step = step;
  job.leg = &leg;
  job.at = std::prev(jobs_.end());
  return job;
}

// What came for an epoch or a segment that was not known yet.
void EpochEngine::deliver_early(core::Port& port) {
  std::deque<Message> early;
  early.swap(early_);
  for (Message& message : early)
    handle(port, std::move(message));
}

void EpochEngine::on_message(core::Port& port, NodeId from, Bytes bytes) {
  MessageHeader header;
  RUBATO_ASSERT(bytes.size() >= sizeof header, bytes.size());
  std::memcpy(&header, bytes.data(), sizeof header);
  if (meter_) {
    const bool neighbour = header.type == MessageType::round ||
                           header.type == MessageType::pieces || header.type == MessageType::taken;
    if (neighbour)
      meter_->count_message(from, port.now() - header.sent, cost_of(*this, bytes.size()));
  }
  event(port, [&](core::Port& out) {
    handle(out, {from, std::move(bytes), port.came()});
    look(out);
  });
}

void EpochEngine::handle(core::Port& port, Message message) {
  MessageHeader header;
  std::memcpy(&header, message.bytes.data(), sizeof header);
  switch (header.type) {
    case MessageType::epoch:
      if (header.tick > epoch_ || (header.tick == epoch_ && decided_)) {
        early_.push_back(std::move(message));
      } else if (header.tick == epoch_) {
        const ByteView payload = ByteView(message.bytes).subspan(sizeof header);
        if (static_cast<Way>(header.detail) == Way::up) {
          add_report(port, payload);
        } else {
          decided(port, Bytes(payload.begin(), payload.end()));
        }
      }
      break;
    case MessageType::moved:
      if (header.tick >= epoch_) {
        early_.push_back(std::move(message));
      } else {
        take_moved(message.from, std::move(message.bytes));
      }
      break;
    case MessageType::barrier:
    case MessageType::measure:
    case MessageType::decision:
      newest().flow().on_message(port, message.from, std::move(message.bytes));
      break;
    default:
      if (header.tick > epoch_) {
        early_.push_back(std::move(message));
      } else if (Leg* leg = leg_of(header.tick); leg != nullptr) {
        leg->flow().take_message(port, message.from, std::move(message.bytes), message.came);
      }
      break;
  }
}

// Plans and new regions go first, since others wait for them; and packs that are due. What is not
// due is for cores that would be idle.
bool EpochEngine::take_job(bool idle, core::Work& work) {
  if (!idle && plan_ != nullptr) {
    work = {move_state, static_cast<std::uint32_t>(plan_->step), epoch_, plan_};
    plan_ = nullptr;
    return true;
  }
  for (const auto& leg : legs_) {
    if (!idle && !leg->complete.empty()) {
      Job& job = new_job(Step::begin, *leg);
      job.regions.push_back(leg->complete.back());
      leg->complete.pop_back();
      work = {move_state, static_cast<std::uint32_t>(job.step), leg->flow().begin(), &job};
      return true;
    }
    if (take_pack(*leg, idle, work)) return true;
  }
  return false;
}

bool EpochEngine::next_work(std::uint32_t core, core::Work& work) {
  bool found = take_job(false, work);
  for (std::size_t i = 0; !found && i < legs_.size(); ++i)
    found = legs_[i]->flow().find_work(core, work);
  found = found || take_job(true, work);
  for (std::size_t i = 0; !found && i < legs_.size(); ++i)
    found = legs_[i]->flow().take_offer(work);
  return found;
}

bool EpochEngine::more_work() const {
  if (plan_ != nullptr) return true;
  return std::ranges::any_of(legs_, [](const auto& leg) {
    const auto packs = [](const Outgoing& out) { return !out.ready.empty() && !out.packing; };
    return !leg->complete.empty() || std::ranges::any_of(leg->outgoing, packs) ||
           leg->flow().more_work();
  });
}

void EpochEngine::run(const core::Work& work, std::uint32_t core) {
  if (work.kind != move_state) {
    leg_of(work).flow().run(work, core);
    return;
  }
  Job& job = *static_cast<Job*>(work.detail);
  switch (job.step) {
    case Step::plan:
      plan(job);
      break;
    case Step::pack:
      pack(job);
      break;
    case Step::begin:
      begin_region(job);
      break;
  }
}

// What own regions cost, as it is measured.
void EpochEngine::count(const core::Work& work) {
  if (work.kind == move_state) {
    moved_.time += work.took;
    return;
  }
  if (meter_ && &leg_of(work) == &newest()) meter_->count(work);
  if (work.kind == take_back) {
    leg_of(work).costs[work.index].add_step(static_cast<double>(Dataflow::time_elsewhere(work)));
    return;
  }
  if (work.kind != step_own && work.kind != interact_own) return;
  Leg& leg = leg_of(work);
  if (work.kind == interact_own) {
    leg.costs[work.index].add(static_cast<double>(work.took));
    return;
  }
  // Those of a wavefront are of about the same size.
  const std::span<const RegionId> regions = Dataflow::stepped_by(work);
  for (const RegionId region : regions)
    leg.costs[region].add_step(static_cast<double>(work.took) /
                               static_cast<double>(regions.size()));
}

void EpochEngine::on_finished(core::Port& port, const core::Work& work) {
  count(work);
  event(port, [&](core::Port& out) {
    if (work.kind == move_state) {
      finish_move(out, work);
    } else {
      leg_of(work).flow().on_finished(out, work);
    }
    look(out);
  });
}

void EpochEngine::finish_move(core::Port& port, const core::Work& work) {
  Job& job = *static_cast<Job*>(work.detail);
  switch (job.step) {
    case Step::plan:
      planned(port, job);
      break;
    case Step::pack:
      packed(port, job);
      break;
    case Step::begin:
      job.leg->incoming[job.regions.front()].fragments = {};
      job.leg->flow().arrive(job.regions.front());
      --job.leg->incoming_left;
      break;
  }
  jobs_.erase(job.at);
}

// Segments that are done, and have handed all over, go; the last one of the run stays.
void EpochEngine::retire() {
  while (legs_.size() > 1) {
    Leg& front = *legs_.front();
    const Dataflow& flow = front.flow();
    // A replica may still be about to begin. A test under way may find that the run ends here.
    if (!flow.is_done() || front.incoming_left != 0 || legs_[1]->outgoing_left != 0 ||
        flow.end() >= agreements_->stop.limit()) {
      return;
    }
    if (!flow.drained()) {
      if (!front.is_dropped) front.node->store().drop_versions();
      front.is_dropped = true;
      return;
    }
    ended_.push_back({flow.begin(), flow.figures(), flow.started()});
    ++moved_.n_epochs;
    moved_.n_pieces += legs_[1]->n_moved;
    std::unique_ptr<Leg> old;
    const std::lock_guard lock(legs_mutex_);
    old = std::move(legs_.front());
    legs_.pop_front();
  }
}

Nanos EpochEngine::cost(const core::Work& work) const {
  if (work.kind != move_state) return leg_of(work).flow().cost(work);
  const Job& job = *static_cast<const Job*>(work.detail);
  return job.thought + job.leg->node->store().copy_cost(job.n_bytes);
}

Nanos EpochEngine::message_cost(std::size_t n_bytes) const {
  const std::lock_guard lock(legs_mutex_);
  return legs_.front()->flow().message_cost(n_bytes);
}

bool EpochEngine::finished() const {
  const Dataflow& flow = legs_.front()->flow();
  return jobs_.empty() && flow.end() >= run_end() && flow.finished();
}

Tick EpochEngine::own_tick() const {
  for (const auto& leg : legs_) {
    if (leg->flow().own_tick() < leg->flow().end()) return leg->flow().own_tick();
  }
  return newest().flow().own_tick();
}

Tick EpochEngine::reach() const {
  return newest().flow().reach();
}

Tick EpochEngine::run_end() const {
  return agreements_->stop.end();
}

bool EpochEngine::has_decided(Tick t) const {
  return agreements_->stop.has_decided(t);
}

void EpochEngine::hold(Tick t) {
  hold_ = t;
  for (const auto& leg : legs_)
    leg->flow().hold(t);
}

NodeRun& EpochEngine::node() {
  RUBATO_REQUIRE(legs_.front()->flow().end() >= run_end(), legs_.front()->flow().end(), run_end());
  return *legs_.front()->node;
}

std::string EpochEngine::waiting_for() const {
  if (finished()) return "";
  std::string text = legs_.front()->flow().waiting_for();
  for (std::size_t i = 1; i < legs_.size(); ++i) {
    const Leg& leg = *legs_[i];
    const auto begun = [](const Incoming& incoming) { return incoming.missing == 0; };
    const auto n = std::ranges::count_if(leg.incoming, std::not_fn(begun));
    if (n == 0) continue;
    text += (text.empty() ? "" : "; ") + std::string("waits for what ") + std::to_string(n) +
            " of " + std::to_string(leg.incoming.size()) +
            " regions are made of at the epoch of tick " + std::to_string(leg.flow().begin());
  }
  if (epoch_ != kNoTick && newest().flow().own_tick() >= epoch_)
    text += (text.empty() ? "" : "; ") +
            std::string(decided_ ? "plans the epoch" : "waits for the reports for the epoch") +
            " of tick " + std::to_string(epoch_);
  return text;
}

std::string EpochEngine::work_name(const core::Work& work) const {
  if (work.kind != move_state) return leg_of(work).flow().work_name(work);
  const Job& job = *static_cast<const Job*>(work.detail);
  const std::string at = " at the epoch of tick " + std::to_string(work.tick);
  switch (job.step) {
    case Step::plan:
      return "planning what moves" + at;
    case Step::pack:
      return "packing " + std::to_string(job.regions.size()) + " regions for node " +
             std::to_string(job.leg->handover->sends()[job.i].to) + at;
    default:
      return "beginning region " + std::to_string(job.regions.front()) + at;
  }
}

}  // namespace rubato::tick
