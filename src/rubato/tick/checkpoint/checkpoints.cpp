#include "rubato/tick/checkpoint/checkpoints.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <utility>

#include <unistd.h>

#include "rubato/tick/checkpoint/checkpoint_engine.hpp"
#include "rubato/tick/checkpoint/folder.hpp"

namespace rubato::tick {
namespace {

constexpr std::size_t kKept = 2;

std::uint64_t new_run_id() {
  std::array<std::byte, 16> bytes{};
  if (::getentropy(bytes.data(), bytes.size()) != 0) bytes = {};  // the process id has to do
  return tuple_hash(static_cast<std::uint64_t>(::getpid()), bytes);
}

// Node 0 has been told of the parts; whether it sees them too. Opened, not looked up: what a network
// file system remembers of a name may be old.
void expect_parts(const std::string& folder, const Manifest& manifest) {
  for (std::uint32_t i = 0; i < manifest.parts.size(); ++i) {
    const std::string path = part_path(folder, i);
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    const auto expected = manifest.parts[i].n_bytes;
    const std::uint64_t found = file ? static_cast<std::uint64_t>(file.tellg()) : 0;
    if (file && found == expected) continue;
    throw Error("writing " + path + ": expected " + std::to_string(expected) + " bytes of node " +
                    std::to_string(i) + ", found " + (file ? std::to_string(found) : "no file") +
                    " (do the nodes share this file system?)",
                ExitCode::failed);
  }
}

void make_folder(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) throw Error("writing " + path + ": " + failed.message(), ExitCode::failed);
}

}  // namespace

namespace detail {

Background::Background(bool has_thread) {
  if (has_thread) thread_ = std::thread([this] { work(); });
}

void Background::end() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    drop_jobs();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Background::post(std::function<void()> job, bool at_any_rate) {
  if (!thread_.joinable()) {
    if (at_any_rate || !error()) run(job);
    return;
  }
  const std::lock_guard lock(mutex_);
  if (error_ && !at_any_rate) return;
  jobs_.push_back({std::move(job), at_any_rate});
  changed_.notify_all();
}

void Background::drop_jobs() {
  std::erase_if(jobs_, [](const Job& job) { return !job.at_any_rate; });
}

void Background::wait_for_room() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return jobs_.empty(); });
}

std::optional<Error> Background::error() const {
  if (!has_failed_.load(std::memory_order_relaxed)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return error_;
}

void Background::run(const std::function<void()>& job) {
  std::optional<Error> failed;
  try {
    job();
  } catch (const Error& error) {
    failed = Error(error.what(), ExitCode::failed);
  } catch (const std::exception& error) {
    failed = Error(std::string("writing a checkpoint: ") + error.what(), ExitCode::failed);
  }
  const std::lock_guard lock(mutex_);
  if (!failed) return;
  if (!error_) error_ = failed;
  has_failed_ = true;
  drop_jobs();
  changed_.notify_all();  // who waits for room has it
}

void Background::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const std::function<void()> job = std::move(jobs_.front().call);
    jobs_.pop_front();
    lock.unlock();
    changed_.notify_all();
    run(job);
    lock.lock();
  }
}

void NodeSaver::follow(NodeRun& run) {
  run.engine().on_own_step(
      [this](Tick t) { return (options_.every > 0 && t % options_.every == 0) || t == armed(); },
      [this, &run](RegionId region, Tick t) { take(run, region, t); });
}

NodeSaver::Saving& NodeSaver::open(const NodeRun& run, Tick t, Bytes& memory, bool& is_new) {
  const std::lock_guard lock(mutex_);
  const auto [at, added] = savings_.try_emplace(t);
  is_new = added;
  if (is_new) {
    at->second.left = run.plan().n_own;
    ++n_open_;
  }
  if (!spare_.empty()) {
    memory = std::move(spare_.back());
    spare_.pop_back();
  }
  return at->second;
}

void NodeSaver::take(const NodeRun& run, RegionId region, Tick t) {
  Bytes memory;
  bool is_new = false;
  Saving& saving = open(run, t, memory, is_new);
  if (is_new) background_.wait_for_room();
  Writer out(std::move(memory));
  run.save(region, t, out);
  CheckpointPiece piece;
  piece.bytes = out.take();
  piece.hash = piece_hash(piece.bytes);
  auto whole = std::make_shared<Saving>();
  {
    const std::lock_guard lock(mutex_);
    saving.pieces.push_back(std::move(piece));
    if (--saving.left != 0) return;
    *whole = std::move(saving);
    savings_.erase(t);
  }
  background_.post([this, t, whole] { write(t, *whole); });
}

void NodeSaver::write(Tick t, Saving& saving) {
  const std::string folder = checkpoint_path(options_.folder, t);
  make_folder(folder);
  PartName name = name_;
  name.tick = t;
  const CheckpointPart part = write_part(part_path(folder, name.part), name, saving.pieces);
  const std::lock_guard lock(mutex_);
  for (CheckpointPiece& piece : saving.pieces)
    spare_.push_back(std::move(piece.bytes));
  done_.push_back({t, part});
  has_news_.store(true);
}

std::vector<NodeSaver::Done> NodeSaver::take_done() {
  if (!has_news_.load()) return {};
  const std::lock_guard lock(mutex_);
  has_news_.store(false);
  n_open_ -= static_cast<int>(done_.size());
  return std::exchange(done_, {});
}

}  // namespace detail

Checkpoints::Checkpoints(CheckpointOptions options, Process process,
                         std::unique_ptr<FolderLock> lock)
    : options_(std::move(options)),
      process_(process),
      lock_(std::move(lock)),
      background_(process.has_threads) {}

Checkpoints::~Checkpoints() {
  background_.end();
  if (process_.first) remove_unfinished_checkpoints(options_.folder);
}

detail::NodeSaver& Checkpoints::saver(NodeId node) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<detail::NodeSaver>& saver = savers_[node];
  if (!saver) {
    saver = std::make_unique<detail::NodeSaver>(
        options_, PartName{process_.run_id, 0, node, process_.n_nodes}, background_);
  }
  return *saver;
}

void Checkpoints::follow(NodeId node, NodeRun& run) {
  stop_interval_ = run.store().stop_interval();
  stop_lag_ = run.store().stop_lag();
  saver(node).follow(run);
}

std::unique_ptr<core::Engine> Checkpoints::wrap(NodeId node, TickEngine& engine) {
  return std::make_unique<CheckpointEngine>(*this, node, engine);
}

void Checkpoints::add_part(NodeId node, Tick tick, const CheckpointPart& part) {
  gatherings_[tick].parts[node] = part;
}

void Checkpoints::add_failure(NodeId node, const std::string& text) {
  if (failed_.empty()) first_failure_ = text;
  failed_.push_back(node);
}

// What the nodes that failed had saved before may still be missing parts of others. Later ticks cannot become
// whole before that one.
void Checkpoints::throw_if_failed() {
  if (failed_.empty()) return;
  const auto next = gatherings_.find(next_tick(saver(0).armed()));
  if (next != gatherings_.end() && std::ranges::all_of(failed_, [&](NodeId node) {
        return next->second.parts.contains(node);
      })) {
    return;
  }
  throw Error(first_failure_, ExitCode::failed);
}

// The first tick after `posted_` that is being saved or will be, as far as node 0 knows.
Tick Checkpoints::next_tick(Tick armed) const {
  Tick next = options_.every > 0 ? (posted_ / options_.every + 1) * options_.every : kNoTick;
  if (armed > posted_) next = std::min(next, armed);
  const auto known = gatherings_.upper_bound(posted_);
  return known == gatherings_.end() ? next : std::min(next, known->first);
}

// Those whose parts are all there, once it is known which stop tests before them end the run: one
// after the other. Of two ticks with an epoch between them a node may have its part of the later one
// first, and a later checkpoint that is whole takes an earlier one away that is not.
void Checkpoints::write_manifests(const TickEngine& engine) {
  const Tick armed = saver(0).armed();
  posted_ = std::max(posted_, engine.run_begin());
  for (auto& [tick, gathering] : gatherings_) {
    if (tick <= posted_) continue;
    if (tick > next_tick(armed) || gathering.parts.size() < process_.n_nodes ||
        !engine.has_decided(tick)) {
      return;
    }
    posted_ = tick;
    Manifest manifest = options_.about;
    manifest.tick = tick;
    manifest.run_id = process_.run_id;
    const Tick end = engine.run_end();
    manifest.ends_at = end < manifest.ticks ? end : kNoTick;
    manifest.stop_interval = stop_interval_;
    manifest.stop_lag = stop_lag_;
    manifest.parts.clear();
    for (const auto& [node, part] : gathering.parts)
      manifest.parts.push_back(part);
    // Its parts are there, so that it is to be whole even if a later one cannot be written.
    const auto write = [this, manifest] {
      const std::string folder = checkpoint_path(options_.folder, manifest.tick);
      expect_parts(folder, manifest);
      write_manifest(manifest_path(folder), manifest);
      remove_old_checkpoints(options_.folder, kKept);
      const std::lock_guard lock(mutex_);
      ++n_whole_;
      last_ = manifest.tick;
    };
    background_.post(write, true);
  }
}

// Under way: a part is missing, or the manifest is being written.
bool Checkpoints::is_gathering() {
  if (gatherings_.empty()) return false;
  const Tick last = last_tick();
  std::erase_if(gatherings_, [&](const auto& each) { return each.first <= last; });
  return !gatherings_.empty();
}

Tick Checkpoints::last_tick() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

std::uint64_t Checkpoints::n_whole() const {
  const std::lock_guard lock(mutex_);
  return n_whole_;
}

std::string Checkpoints::last() const {
  const Tick tick = last_tick();
  return tick < 0 ? "" : checkpoint_path(options_.folder, tick);
}

std::unique_ptr<Checkpoints> add_checkpoints(SimulationOptions& simulation,
                                             const CheckpointOptions& options) {
  if (options.folder.empty()) return nullptr;
  auto lock = prepare_checkpoints(options.folder, options.resumed);
  auto checkpoints = std::make_unique<Checkpoints>(
      options, Checkpoints::Process{simulation.n_nodes, true, false, new_run_id()},
      std::move(lock));
  Checkpoints* mine = checkpoints.get();
  for (auto* at : {&simulation.at_start, &simulation.at_epoch}) {
    *at = [mine, before = *at](NodeId node, NodeRun& run) {
      if (before) before(node, run);
      mine->follow(node, run);
    };
  }
  simulation.wrap = [mine](NodeId node, TickEngine& engine) { return mine->wrap(node, engine); };
  return checkpoints;
}

std::unique_ptr<Checkpoints> add_checkpoints(ExecutionOptions& execution,
                                             const CheckpointOptions& options,
                                             core::NodeHost& host) {
  if (options.folder.empty()) return nullptr;
  const NodeId node = host.shape().node;
  std::unique_ptr<FolderLock> lock;
  host.agree([&] {
    if (node == 0) lock = prepare_checkpoints(options.folder, options.resumed);
  });
  Writer out;
  out.put(new_run_id());
  const Bytes shared = host.broadcast(out.take());
  Reader in(shared);
  auto checkpoints = std::make_unique<Checkpoints>(
      options, Checkpoints::Process{host.shape().n_nodes, node == 0, true, in.get<std::uint64_t>()},
      std::move(lock));
  Checkpoints* mine = checkpoints.get();
  for (auto* at : {&execution.at_start, &execution.at_epoch}) {
    *at = [mine, node, before = *at](NodeRun& run) {
      if (before) before(run);
      mine->follow(node, run);
    };
  }
  execution.wrap = [mine, node](TickEngine& engine) { return mine->wrap(node, engine); };
  return checkpoints;
}

}  // namespace rubato::tick
