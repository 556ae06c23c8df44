// The market of a type of work, or of a kind of units: who has some to give, who wants some, and who is told
// to give them. One for each, at the keeper of one node.

#include <algorithm>

#include "rubato/flow/flow.hpp"

namespace rubato::flow {
namespace {

struct OfferSome {
  WorkType kind;
  NodeId node;
  std::uint64_t n;
  std::uint64_t n_anywhere;
  void apply(CoreContext& /*here*/) const {
    Flow::here().typed_pool().note_offer(kind, {node, n, n_anywhere});
  }
};
struct WantSome {
  WorkType kind;
  std::uint32_t unused = 0;
  TypedPool::Want want;
  void apply(CoreContext& /*here*/) const { Flow::here().typed_pool().note_want(kind, want); }
};
struct OrderSome {
  WorkType kind;
  std::uint32_t unused = 0;
  TypedPool::Want to;
  void apply(CoreContext& /*here*/) const { Flow::here().typed_pool().give_units(kind, to); }
};
// For who has asked at that time, which others have held for a while.
struct BringSome {
  WorkType kind;
  std::uint32_t unused = 0;
  Nanos asked;
  Nanos held;
  void apply(CoreContext& here, ByteView units) const {
    Flow::here().typed_pool().accept_order(kind, asked, here.now() - asked - held, rules_of(units));
  }
};
}  // namespace

// Again when there are twice as many: somebody may be waiting for so many.
void TypedPool::offer(Kept& mine) {
  const NodeQueue::Counts now = ready(mine.type).counts();
  if (now.n_movable == 0 || (mine.n_offered > 0 && now.n_movable < 2 * mine.n_offered)) return;
  mine.n_offered = now.n_movable;
  here_.post(market_of(mine.type),
             OfferSome{mine.type, here_.shape().node, now.n_movable, now.n_anywhere});
}

// When tasks wait; and before, if they would wait for the answer.
void TypedPool::want(Kept& mine) {
  const NodeQueue::Counts now = ready(mine.type).counts();
  const bool is_ahead = now.n_free == 0;
  const std::uint64_t n_left = now.n_waiting;
  const std::uint64_t n_ahead = mine.lifelines.n_ahead();
  if (is_ahead && !is_kind(mine.type)) return;  // of rules neighbours are asked ahead
  if (is_ahead ? n_ahead == 0 || n_left > n_ahead : n_left > 0) return;
  const Asked how = is_ahead ? Asked::ahead : Asked::now;
  if (mine.wanted >= how) return;
  mine.wanted = how;
  mine.wanted_at = std::max(here_.now(), mine.wanted_at + 1);  // which tells it from those before
  const CoreId market = market_of(mine.type);
  if (mine.n_offered > 0) mine.n_offered = now.n_movable;  // this says it as well
  here_.post(
      market,
      WantSome{mine.type, 0, {here_.shape().node, is_ahead ? 1U : 0U, n_left, mine.wanted_at, 0}});
  if (is_kind(mine.type)) here_.hurry(market);  // of rules neighbours come first
}

// In loops whose iterations put the rules a worker is free for as long as the next one needs to put the
// next rule: not before this core has nothing else to do.
void TypedPool::want_later(Kept& mine) {
  if (mine.wanted == Asked::now || std::exchange(mine.wants_later, true)) return;
  const core::FinishId scope = here_.scope();
  here_.begin_in_scope(scope);
  later_.emplace_back(mine.type, scope);
  here_.hold_back(*this);
}

void TypedPool::flush(CoreContext& /*here*/) {
  for (const auto& [type, scope] : std::exchange(later_, {})) {
    Kept& mine = kept(type);
    mine.wants_later = false;
    {
      const CoreContext::RunningScope inside(here_, scope);
      const NodeQueue::Counts now = ready(type).counts();
      if (now.n_free > 0 && now.n_waiting == 0) want(mine);
    }
    here_.end_in_scope(scope);
  }
}

void TypedPool::note_offer(WorkType kind, const Offer& offer) {
  std::deque<Offer>& offers = markets_[kind.number].offers;
  std::erase_if(offers, [&](const Offer& other) { return other.node == offer.node; });
  offers.push_back(offer);
  trade(kind);
}

// What it has offered it has not any more.
void TypedPool::note_want(WorkType kind, Want want) {
  std::deque<Offer>& offers = markets_[kind.number].offers;
  for (Offer& offer : offers) {
    if (offer.node != want.node) continue;
    offer.n = std::min(offer.n, want.n_left);
    offer.n_anywhere = std::min(offer.n_anywhere, want.n_left);
  }
  std::erase_if(offers, [](const Offer& offer) { return offer.n == 0; });
  std::deque<Want>& wants = markets_[kind.number].wants;
  std::erase_if(wants, [&](const Want& before) { return before.node == want.node; });
  want.held = here_.now();
  wants.push_back(want);
  trade(kind);
}

void TypedPool::note_want_over(WorkType kind, NodeId node) {
  std::erase_if(markets_[kind.number].wants, [&](const Want& want) { return want.node == node; });
}

// Both have to say it again. Who waits gets some first; then, who has so many fewer than another one that
// it gets some.
void TypedPool::trade(WorkType kind) {
  Market& market = markets_[kind.number];
  while (!market.offers.empty() && !market.wants.empty()) {
    const auto first = std::ranges::min_element(
        market.wants, {}, [](const Want& want) { return std::pair(want.is_ahead, want.n_left); });
    const bool is_ahead = first->is_ahead != 0;
    const auto most =
        std::ranges::max_element(market.offers, {}, is_ahead ? &Offer::n_anywhere : &Offer::n);
    if (is_ahead && most->n_anywhere < first->n_left + kLeastDifference) return;
    first->held = here_.now() - first->held;
    const CoreId who = keeper_on(kind, most->node);
    here_.post(who, OrderSome{kind, 0, *first});
    here_.hurry(who);
    market.offers.erase(most);
    market.wants.erase(first);
  }
}

void TypedPool::give_units(WorkType kind, const Want& to) {
  const CoreContext::InPlace inside(here_);
  Kept& mine = kept(kind);
  mine.n_offered = 0;
  if (to.node == here_.shape().node) {
    end_asked(mine, to.asked);  // by whom has got some
  } else {
    bring(mine, to);
  }
  pump(mine);
}

// Nothing if others got them first: who still wants some says it again.
void TypedPool::bring(Kept& mine, const Want& to) {
  const bool is_ahead = to.is_ahead != 0;
  const NodeQueue::Counts now = ready(mine.type).counts();
  const std::size_t n = is_ahead ? now.n_anywhere : now.n_movable;
  std::vector<NodeQueue::Waiting> given;
  if (n >= (is_ahead ? to.n_left + kLeastDifference : 1))
    given = take_some(mine, n - std::min(n, to.n_left), is_ahead);
  const CoreId who = keeper_on(mine.type, to.node);
  std::vector<std::unique_ptr<Rule>> units;
  if (is_kind(mine.type)) {
    for (NodeQueue::Waiting& each : given)
      units.push_back(std::move(each.rule));
  } else {
    send_rules(who, given);  // each is open in a scope of its own
  }
  here_.post(who, BringSome{mine.type, 0, to.asked, to.held}, bytes_of(units));
  here_.hurry(who);
}

// What has been asked for since stands at the market.
void TypedPool::end_asked(Kept& mine, Nanos asked) {
  if (asked == mine.wanted_at) mine.wanted = Asked::not_yet;
}

void TypedPool::accept_order(WorkType kind, Nanos asked, Nanos round_trip,
                             std::vector<std::unique_ptr<Rule>> units) {
  const CoreContext::InPlace inside(here_);
  Kept& mine = kept(kind);
  end_asked(mine, asked);
  if (is_kind(kind)) mine.lifelines.round_trip.note(round_trip);  // else that of neighbours counts
  if (!units.empty()) return accept_units(std::move(units));
  pump(mine);
}

}  // namespace rubato::flow
