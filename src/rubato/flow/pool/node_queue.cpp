#include "rubato/flow/pool/node_queue.hpp"

#include <algorithm>

namespace rubato::flow {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

// --- what waits

void NodeQueue::Line::push(Waiting waiting) {
  const std::int64_t order = -std::int64_t{waiting.rule->options.priority};
  auto at = of_priority_.find(order);
  if (at == of_priority_.end() && spare_) {
    spare_.key() = order;
    at = of_priority_.insert(std::move(spare_)).position;
  } else if (at == of_priority_.end()) {
    at = of_priority_.try_emplace(order).first;
  }
  at->second.push_back(std::move(waiting));
  ++n_;
}

NodeQueue::Waiting NodeQueue::Line::pop() {
  Alike& best = of_priority_.begin()->second;
  Waiting first = std::move(best.front());
  best.pop_front();
  --n_;
  if (best.empty()) spare_ = of_priority_.extract(of_priority_.begin());
  return first;
}

template <class F>
std::vector<NodeQueue::Waiting> NodeQueue::Line::take(std::size_t n_most, std::size_t n_all,
                                                      F may_go) {
  std::vector<Waiting> taken;
  bool is_taken = true;
  for (auto at = of_priority_.begin(); at != of_priority_.end();) {
    Alike& alike = at->second;
    std::vector<Waiting> left;
    while (!alike.empty() && taken.size() < n_most && n_all > 0) {
      const bool may = may_go(alike.front());
      n_all -= may ? 1U : 0U;
      const bool goes = may && std::exchange(is_taken, !is_taken);
      (goes ? taken : left).push_back(std::move(alike.front()));
      alike.pop_front();
    }
    for (auto each = left.rbegin(); each != left.rend(); ++each)
      alike.push_front(std::move(*each));
    at = alike.empty() ? of_priority_.erase(at) : std::next(at);
    if (taken.size() == n_most || n_all == 0) break;
  }
  n_ -= taken.size();
  return taken;
}

NodeQueue::NodeQueue(CoreId first_core, std::uint32_t n_cores, std::uint32_t n_workers)
    : first_core_(first_core), n_free_(n_workers), n_on_core_(n_cores), told_(n_cores) {
  show();
}

NodeQueue::NodeQueue(CoreId first_core, std::uint32_t n_cores) : NodeQueue(first_core, n_cores, 0) {
  is_of_units_ = true;
}

void NodeQueue::add(Waiting waiting, bool is_full) {
  const std::scoped_lock lock(mutex_);
  const RuleOrigin of = waiting.rule->origin();
  // Of few loops at a time.
  std::vector<News::Came>& came = news_.came;
  const auto last =
      came.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(came.size(), 16));
  auto same = std::ranges::find(last, came.end(), of, &News::Came::of);
  if (same == came.end()) same = came.insert(came.end(), News::Came{of});
  ++same->n;
  same->is_full |= is_full;
  add_one(std::move(waiting));
  news_.n_most = std::max(news_.n_most, waiting_.size());
  show();
}

void NodeQueue::add(std::vector<Waiting> units) {
  const std::scoped_lock lock(mutex_);
  for (Waiting& each : units)
    add_one(std::move(each));
  show();
}

void NodeQueue::add_one(Waiting waiting) {
  n_movable_ += waiting.is_bound() ? 0U : 1U;
  n_anywhere_ += waiting.is_placed() ? 0U : 1U;
  waiting.number = n_added_++;
  (waiting.only == kAnyCore ? waiting_ : of_core_[waiting.only]).push(std::move(waiting));
}

void NodeQueue::note_gone(const Waiting& taken) {
  n_movable_ -= taken.is_bound() ? 0U : 1U;
  n_anywhere_ -= taken.is_placed() ? 0U : 1U;
}

NodeQueue::Waiting NodeQueue::take_first(Line& line) {
  Waiting first = line.pop();
  note_gone(first);
  ++news_.n_begun;
  return first;
}

// At the end of each change, so that nobody sees half of one.
void NodeQueue::show() {
  shown_.n_waiting.store(waiting_.size(), kRelaxed);
  shown_.n_movable.store(n_movable_, kRelaxed);
  shown_.n_anywhere.store(n_anywhere_, kRelaxed);
  shown_.n_free.store(n_free_ + getters_.size(), kRelaxed);
  shown_.n_reserved.store(reserved_.size(), kRelaxed);
  shown_.is_reserving.store(n_asked_ > 0, kRelaxed);
  shown_.has_news.store(!news_.came.empty() || news_.n_begun + news_.n_given > 0, kRelaxed);
}

NodeQueue::Counts NodeQueue::counts() const noexcept {
  return {shown_.n_waiting.load(kRelaxed),  shown_.n_movable.load(kRelaxed),
          shown_.n_anywhere.load(kRelaxed), shown_.n_free.load(kRelaxed),
          shown_.n_reserved.load(kRelaxed), shown_.is_reserving.load(kRelaxed)};
}

std::vector<NodeQueue::Waiting> NodeQueue::give(std::size_t n_most, bool is_ahead) {
  const std::scoped_lock lock(mutex_);
  std::vector<Waiting> given = waiting_.take(
      std::max<std::size_t>(n_most, 1), is_ahead ? n_anywhere_ : n_movable_,
      [&](const Waiting& each) { return !(is_ahead ? each.is_placed() : each.is_bound()); });
  for (const Waiting& each : given)
    note_gone(each);
  news_.n_given += given.size();
  show();
  return given;
}

// --- the keeper

// The keeper, who takes back what is told, sees whatever was changed before. One message a core: that of another
// one may wait until what that runs has ended.
bool NodeQueue::has_to_tell(CoreId core, core::FinishId scope) {
  const std::uint64_t told =
      told_[core - first_core_].exchange(scope + 1, std::memory_order_acq_rel);
  any_told_.exchange(true, std::memory_order_acq_rel);
  const bool is_under_way = told == scope + 1 || (!is_of_units_ && told > 1);
  return !is_under_way;
}

NodeQueue::News NodeQueue::take_news() {
  if (any_told_.exchange(false, std::memory_order_acq_rel)) {
    for (std::atomic<std::uint64_t>& told : told_)
      told.exchange(0, std::memory_order_acq_rel);
  }
  if (!shown_.has_news.load(kRelaxed)) return {};
  const std::scoped_lock lock(mutex_);
  shown_.has_news.store(false, kRelaxed);
  return std::exchange(news_, {});
}

// --- workers

// Of a team each core is one member, if there are as many.
CoreId NodeQueue::idlest(CoreId rather) const {
  const auto load = [&](CoreId core) {
    return std::pair(std::ranges::count(reserved_, core), n_on_core_[core - first_core_]);
  };
  CoreId best = rather;
  for (CoreId core = first_core_; core < first_core_ + n_on_core_.size(); ++core) {
    if (load(core) < load(best)) best = core;
  }
  return best;
}

CoreId NodeQueue::take_worker(CoreId wanted, CoreId rather) {
  const bool is_here = wanted >= first_core_ && wanted < first_core_ + n_on_core_.size();
  const CoreId core = is_here ? wanted : idlest(rather);
  --n_free_;
  ++n_on_core_[core - first_core_];
  return core;
}

// Teams first: what single rules leave them they would never get.
void NodeQueue::reserve_free() {
  while (n_asked_ > reserved_.size() && n_free_ > 0)
    reserved_.push_back(take_worker(kAnyCore, first_core_));
}

std::optional<NodeQueue::Begun> NodeQueue::begin(CoreId rather) {
  reserve_free();
  std::optional<Begun> begun;
  if (n_free_ > 0 && !waiting_.empty()) {
    Waiting next = take_first(waiting_);
    const CoreId core = take_worker(next.rule->options.core, rather);
    begun = Begun{std::move(next), core};
  }
  show();
  return begun;
}

// What this core has added or ended itself it sees without the lock, and so what was before that.
std::optional<NodeQueue::Begun> NodeQueue::begin_next(CoreId rather) {
  const Counts seen = counts();
  if (seen.n_free == 0 || (seen.n_waiting == 0 && !seen.is_reserving)) return {};
  const std::scoped_lock lock(mutex_);
  return begin(rather);
}

std::optional<NodeQueue::Begun> NodeQueue::end_on(CoreId core) {
  const std::scoped_lock lock(mutex_);
  ++n_free_;
  --n_on_core_[core - first_core_];
  return begin(core);
}

void NodeQueue::reserve(std::uint32_t n) {
  const std::scoped_lock lock(mutex_);
  RUBATO_REQUIRE(n_asked_ == 0, n);
  n_asked_ = n;
  reserve_free();
  show();
}

std::optional<std::vector<CoreId>> NodeQueue::take_reserved() {
  if (!counts().is_reserving) return {};
  const std::scoped_lock lock(mutex_);
  if (reserved_.size() < n_asked_) return {};
  n_asked_ = 0;
  std::vector<CoreId> reserved = std::exchange(reserved_, {});
  show();
  return reserved;
}

// --- units

void NodeQueue::add_getter(Getter getter) {
  const std::scoped_lock lock(mutex_);
  getters_.push_back(getter);
  show();
}

void NodeQueue::close() {
  const std::scoped_lock lock(mutex_);
  getters_.clear();
  show();
}

std::optional<NodeQueue::Handed> NodeQueue::hand_next() {
  if (counts().n_free == 0) return {};
  const std::scoped_lock lock(mutex_);
  const bool is_shared = !waiting_.empty();
  auto to = getters_.end();
  if (is_shared) {
    to = std::ranges::find(getters_, waiting_.first().rule->options.core, &Getter::core);
    if (to == getters_.end()) to = getters_.begin();
  } else if (!of_core_.empty()) {
    to = std::ranges::find_if(getters_,
                              [&](const Getter& getter) { return of_core_.contains(getter.core); });
  }
  if (to == getters_.end()) return {};
  // The best of what that task may have.
  const Getter getter = *to;
  getters_.erase(to);
  const auto own = of_core_.find(getter.core);
  const auto order = [](const Line& line) {
    const Waiting& first = line.first();
    return std::pair(-std::int64_t{first.rule->options.priority}, first.number);
  };
  const bool is_own = own != of_core_.end() && (!is_shared || order(own->second) < order(waiting_));
  Handed handed{take_first(is_own ? own->second : waiting_), getter};
  if (is_own && own->second.empty()) of_core_.erase(own);
  show();
  return handed;
}

}  // namespace rubato::flow
