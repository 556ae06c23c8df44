#include "rubato/flow/homeward.hpp"

#include "rubato/flow/flow.hpp"

namespace rubato::flow {
namespace {

struct SumForHome {
  DataId id;
  std::uint64_t amount;
  CoreId n_cores;
  Homeward::What what;
  void apply(core::CoreContext& /*here*/) const {
    Flow::here().say_home(id, what, amount, n_cores);
  }
};

}  // namespace

Homeward::Place Homeward::place_of(CoreId core, CoreId home, CoreId n_cores_total) noexcept {
  const CoreId distance = (core + n_cores_total - home) % n_cores_total;
  std::uint64_t step = 1;  // of the lowest digit that is not 0
  while (distance % (step * kFanIn) == 0)
    step *= kFanIn;
  const std::uint64_t parent = distance - distance % (step * kFanIn);
  return {static_cast<CoreId>((home + parent) % n_cores_total),
          static_cast<CoreId>(std::min<std::uint64_t>(step, n_cores_total - distance))};
}

void Homeward::add(DataId id, What what, std::uint64_t amount, CoreId n_cores) {
  const bool is_weight = what == What::readers || what == What::writers;
  Sums& sums = is_weight ? weights_ : answers_;
  const core::FinishId scope = here_.scope();
  const auto [at, is_new] = sums.try_emplace({scope, id.word, what});
  if (is_new) here_.begin_in_scope(scope);
  at->second.amount += amount;
  at->second.n_cores += n_cores;
  if (is_weight) return here_.hold_back(*this);
  const auto n_cores_total = static_cast<CoreId>(here_.shape().n_cores_total());
  if (at->second.n_cores < place_of(here_.core(), id.home(), n_cores_total).n_cores) return;
  const auto whole = sums.extract(at);
  send(whole.key(), whole.mapped());
}

void Homeward::flush(core::CoreContext& /*here*/) {
  for (const auto& [key, sum] : std::exchange(weights_, {}))
    send(key, sum);
}

void Homeward::send(const Key& key, const Sum& sum) {
  const auto [scope, word, what] = key;
  const DataId id{word};
  const core::CoreContext::InPlace in_place(here_);
  {
    const core::CoreContext::RunningScope inside(here_, scope);
    const auto n_cores_total = static_cast<CoreId>(here_.shape().n_cores_total());
    here_.post(place_of(here_.core(), id.home(), n_cores_total).parent,
               SumForHome{id, sum.amount, sum.n_cores, what});
  }
  here_.end_in_scope(scope);
}

}  // namespace rubato::flow
