#pragma once
// A run that is killed at random moments, and gone on with: each life of it goes on from the newest
// checkpoint that the one before has left whole on the disk, on other numbers of nodes, with another
// policy, which may be auto, other pieces, epochs and balance, on another network, until one gets to
// the end. That must be the reference's, to the bit.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "rubato/tick/checkpoint/checkpoints.hpp"
#include "rubato/tick/checkpoint/folder.hpp"
#include "rubato/tick/testing/late_run.hpp"
#include "rubato/tick/testing/mortal_engine.hpp"
#include "rubato/tick/testing/property.hpp"
#include "rubato/tick/testing/random_sharing.hpp"

namespace rubato::tick::testing {

// Of all runs so far.
struct KillCounts {
  std::int64_t runs = 0;
  std::int64_t kills = 0;
  std::int64_t while_moving = 0;  // tuples were on their way between two segments
  std::int64_t of_all_nodes = 0;
  std::int64_t before_any_checkpoint = 0;  // the next life begins at tick 0
  std::int64_t of_resumed = 0;             // of a life that was itself gone on with
  std::int64_t torn = 0;                   // checkpoints that were not whole
  std::int64_t of_auto = 0;                // of lives under policy auto
  // In lives that have got to the end:
  std::int64_t pieces_moved = 0;
  std::int64_t n_epochs = 0;        // at which something moved
  std::int64_t epochs_of_auto = 0;  // at which its policy or who owns what changed
  std::int64_t resized = 0;         // which ended with another number of pieces
  std::int64_t steps_lent = 0;

  [[nodiscard]] std::string text() const {
    return std::to_string(kills) + " kills in " + std::to_string(runs) + " runs; " +
           std::to_string(kills > 0 ? 100 * while_moving / kills : 0) + " % (" +
           std::to_string(while_moving) + ") while tuples moved, " + std::to_string(of_all_nodes) +
           " of all nodes at once, " + std::to_string(before_any_checkpoint) +
           " before a checkpoint was whole, " + std::to_string(of_resumed) +
           " of runs that had gone on from one, " + std::to_string(torn) +
           " checkpoints left half written, " + std::to_string(of_auto) +
           " under policy auto; in last lives " + std::to_string(pieces_moved) + " pieces moved, " +
           std::to_string(n_epochs) + " epochs, " + std::to_string(epochs_of_auto) +
           " of them of auto, " + std::to_string(resized) + " with other pieces at the end, " +
           std::to_string(steps_lent) + " steps lent";
  }
};

// Of a life, unless that is auto.
inline Policy random_policy(RandomStream& random) {
  const Policy policy = random_run(random).policy;
  return random.between(0, 2) == 0 ? random_pieces(random) : policy;
}

// `P` is a ProblemOf, `folder` where its checkpoints go, `policy` gives those of its lives.
template <class P>
class KilledRun {
 public:
  using State = typename P::State;

  KilledRun(const P& problem, Tick ticks, std::string folder, RandomStream& random,
            KillCounts& counts, Policy (*policy)(RandomStream&) = random_policy)
      : problem_(problem),
        ticks_(ticks),
        folder_(std::move(folder)),
        random_(random),
        counts_(counts),
        policy_(policy) {
    std::filesystem::remove_all(folder_);
  }
  KilledRun(const KilledRun&) = delete;
  KilledRun& operator=(const KilledRun&) = delete;
  ~KilledRun() { std::filesystem::remove_all(folder_); }

  void expect_equal(const ReferenceRun<State>& reference) {
    ++counts_.runs;
    const std::int64_t kills_most = random_.between(1, 4);
    for (std::int64_t n_kills = 0; !::testing::Test::HasFailure(); ++n_kills) {
      const Life life = random_life(n_kills < kills_most);
      SCOPED_TRACE("life " + std::to_string(n_kills + 1) + ": " + describe(life));
      if (!live(life)) continue;
      EXPECT_EQ(end_, reference.ticks);
      EXPECT_TRUE(state_ == reference.state);
      return;
    }
  }

 private:
  struct Life {
    RunCase run;
    SharingOptions sharing;
    CheckpointOptions checkpoint;
    std::string profile;
    Death death;
    CheckpointEntry begin;  // of no path: tick 0
  };

  static std::string describe(const Life& life) {
    return testing::describe(life.run) + ", " + testing::describe(life.sharing) +
           ", checkpoints each " + std::to_string(life.checkpoint.every) + " ticks or " +
           std::to_string(life.checkpoint.interval) + " ns, from tick " +
           std::to_string(life.begin.tick) + ", " + life.profile + ", " +
           (life.death.after == kNoTick ? "lives"
                                        : "dies " + std::to_string(life.death.delay) +
                                              " ns after tick " + std::to_string(life.death.after));
  }

  // What people find when they come back.
  [[nodiscard]] CheckpointEntry newest() const {
    CheckpointEntry found;
    for (const CheckpointEntry& entry : list_checkpoints(folder_)) {
      if (entry.whole) found = entry;
    }
    return found;
  }

  [[nodiscard]] Life random_life(bool dies) {
    Life life;
    life.begin = newest();
    life.run = random_run(random_);
    life.run.policy = policy_(random_);
    life.run.ticks = ticks_;
    life.sharing = random_sharing(problem_, life.run, random_);
    while (life.run.n_nodes > 1 && !can_be_cut(problem_, life.run, life.sharing))
      --life.run.n_nodes;
    life.profile = random_profile(random_);
    CheckpointOptions& checkpoint = life.checkpoint;
    checkpoint.folder = folder_;
    checkpoint.resumed = life.begin.path;
    checkpoint.about.model = "test";
    checkpoint.about.ticks = ticks_;
    if (random_.between(0, 2) != 0) checkpoint.every = random_.between(1, 6);
    if (checkpoint.every == 0) {
      checkpoint.interval = random_.between(2, 100) * kMicrosecond;
      checkpoint.answer = random_.between(0, 30) * kMicrosecond;
    }
    if (dies) life.death = random_death(life);
    return life;
  }

  [[nodiscard]] Death random_death(const Life& life) {
    Death death;
    death.after = random_.between(life.begin.tick, std::max(life.begin.tick, ticks_ - 1));
    const bool in_a_move = life.sharing.moves() && random_.between(0, 2) != 0;
    if (in_a_move) death.at_latest = ticks_ - 1;
    // Up to 65 us, in which such runs take some ticks.
    death.delay = random_.between(0, Nanos{1} << random_.between(0, in_a_move ? 10 : 16));
    death.all = random_.between(0, 1) != 0;
    death.node = static_cast<NodeId>(random_.between(0, life.run.n_nodes - 1));
    if (random_.between(0, 2) != 0) death.noticed = random_.between(1, kMillisecond);
    return death;
  }

  // Whether it gets to the end: then that is in state_ and end_.
  bool live(const Life& life) {
    std::optional<CheckpointSource> source;
    SimulationOptions options;
    options.n_nodes = life.run.n_nodes;
    options.n_cores = life.run.n_cores;
    options.profile = net::parse_profile(life.profile);
    options.seed = random_();
    options.sharing = life.sharing;
    for (NodeId node = 0; node < life.run.n_nodes; ++node)
      options.slowdowns.push_back(1 + 3 * random_.unit());
    state_ = {};
    options.at_end = [&](NodeId, NodeRun& node) {
      auto& typed = dynamic_cast<typename P::Node&>(node);
      problem_.model().merge(state_, typed.store().own_state(typed.engine().end()));
    };
    Fate fate{life.death, {}, kNever, false, false};
    std::unique_ptr<Checkpoints> checkpoints;
    try {
      if (!life.begin.path.empty()) {
        source.emplace(life.begin.path, read_manifest(manifest_path(life.begin.path)));
        options.start = &*source;
      }
      checkpoints = add_checkpoints(options, life.checkpoint);
      options.wrap = [&, before = options.wrap](NodeId node, TickEngine& engine) {
        return std::make_unique<MortalEngine>(node, engine, before(node, engine), fate);
      };
      const RunResult result = simulate(problem_, life.run.policy, ticks_, options);
      end_ = result.ticks;
      counts_.pieces_moved += result.pieces_moved();
      counts_.n_epochs += result.n_epochs();
      counts_.epochs_of_auto += result.tuned ? result.n_epochs() : 0;
      // None at the end: cut again.
      counts_.resized += result.n_pieces_end > 0 && result.n_pieces_end != result.n_pieces ? 1 : 0;
      for (const NodeResult& node : result.nodes)
        counts_.steps_lent += node.work.steps_lent;
      return true;
    } catch (const Error& error) {
      if (!fate.dead || error.code() != ExitCode::node_lost) {
        ADD_FAILURE() << "was not killed: " << error.what();
        return false;
      }
    }
    count(life, fate);
    bury(life, std::move(checkpoints));
    return false;
  }

  void count(const Life& life, const Fate& fate) {
    ++counts_.kills;
    counts_.while_moving += fate.was_moving ? 1 : 0;
    counts_.of_all_nodes += life.death.all ? 1 : 0;
    counts_.of_auto += life.sharing.tune ? 1 : 0;
    counts_.of_resumed += life.begin.path.empty() ? 0 : 1;
    counts_.before_any_checkpoint += newest().path.empty() ? 1 : 0;
  }

  // Leaves the folder as the dead have: node 0 takes back what is not whole if it still can.
  void bury(const Life& life, std::unique_ptr<Checkpoints> checkpoints) {
    const std::string last = checkpoints->last();
    EXPECT_EQ(newest().path, last.empty() ? life.begin.path : last);
    const bool is_dead = life.death.all || life.death.node == 0;
    const std::string aside = folder_ + ".dead";
    if (is_dead) std::filesystem::rename(folder_, aside);
    checkpoints.reset();
    if (is_dead) std::filesystem::rename(aside, folder_);
    for (const CheckpointEntry& entry : list_checkpoints(folder_)) {
      if (entry.whole) continue;
      EXPECT_TRUE(is_dead) << entry.path;
      ++counts_.torn;
      tear(entry.path);
    }
  }

  // What was written last may not have got to the disk.
  void tear(const std::string& path) {
    for (const auto& file : std::filesystem::directory_iterator(path)) {
      const auto n = static_cast<std::int64_t>(file.file_size());
      if (random_.between(0, 1) != 0)
        std::filesystem::resize_file(file.path(),
                                     static_cast<std::uintmax_t>(random_.between(0, n)));
    }
  }

  const P& problem_;
  const Tick ticks_;
  const std::string folder_;
  RandomStream& random_;
  KillCounts& counts_;
  Policy (*const policy_)(RandomStream&);
  State state_;
  Tick end_ = 0;
};

}  // namespace rubato::tick::testing
