#pragma once
// TeamPool: tasks that take several workers at a time [Turbine 3; ADLB's parallel tasks].
//
// For each type of work, and for cores as such, one core brings teams together, one after the other,
// the largest priority first: it reserves workers on as few nodes as it takes, which their keepers
// (typed_pool.hpp) give as they become free, before single tasks. So no two teams wait for each
// other's workers, and none waits for ever beside single ones. Teams that are together run side by
// side.

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "rubato/flow/pool/throttle.hpp"
#include "rubato/flow/pool/typed_pool.hpp"

namespace rubato::flow {

// The part of one core; used by its tasks and by what messages apply.
class TeamPool {
 public:
  explicit TeamPool(TypedPool& workers) : here_(CoreContext::here()), workers_(workers) {}

  void begin() { kept_.clear(); }
  // A rule that is ready. Throws Error, and leaves the rule, if there are not enough workers.
  void put(std::unique_ptr<Rule>& rule);

  // --- of messages
  void accept(std::unique_ptr<Rule> rule);
  void note_reserved(WorkType type, const std::vector<CoreId>& cores);
  void note_ended(WorkType type);

  // Where teams of that type wait.
  [[nodiscard]] QueueId queue_of(WorkType type) const {
    return {gatherer(type), queue_of_teams(type)};
  }

 private:
  struct Waiting {
    std::unique_ptr<Rule> rule;
    core::FinishId scope = 0;  // open
  };
  struct Gathering {
    Waiting team;
    std::vector<CoreId> cores;  // that are its own already
    std::size_t n_missing = 0;  // nodes that have not answered
  };
  struct Kept {
    std::map<std::pair<std::int64_t, std::uint64_t>, Waiting> waiting;
    std::optional<Gathering> gathering;
    std::size_t next_node = 0;
    std::uint32_t n_running = 0;
  };

  [[nodiscard]] std::uint32_t most_on(const RuleOptions& options, NodeId node) const;
  [[nodiscard]] CoreId gatherer(WorkType type) const;
  void gather_next(WorkType type, Kept& kept);
  void set_running(WorkType type, Kept& kept, std::uint32_t n);

  CoreContext& here_;
  TypedPool& workers_;
  std::map<std::uint32_t, Kept> kept_;  // by WorkType::number
  std::uint64_t n_put_ = 0;
  std::uint64_t n_teams_ = 0;
};

}  // namespace rubato::flow
