#include "rubato/tick/checkpoint/folder.hpp"

#include <algorithm>
#include <filesystem>

#include "rubato/io/number.hpp"

namespace rubato::tick {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "tick-";

// First the manifest, so that nobody takes for whole what is half removed.
void remove_checkpoint(const CheckpointEntry& entry) {
  std::error_code failed;
  fs::remove(manifest_path(entry.path), failed);
  if (!failed) fs::remove_all(entry.path, failed);
  if (failed) {
    throw Error("removing the old checkpoint " + entry.path + ": " + failed.message(),
                ExitCode::failed);
  }
}

}  // namespace

std::vector<CheckpointEntry> list_checkpoints(const std::string& folder) {
  std::vector<CheckpointEntry> entries;
  std::error_code ignored;
  for (const auto& each : fs::directory_iterator(folder, ignored)) {
    const std::string name = each.path().filename().string();
    if (!name.starts_with(kPrefix) || !each.is_directory(ignored)) continue;
    const auto tick = io::parse_number<Tick>(name.substr(kPrefix.size()));
    if (!tick) continue;
    const std::string path = checkpoint_path(folder, *tick);
    entries.push_back({*tick, path, fs::exists(manifest_path(path), ignored)});
  }
  std::ranges::sort(entries, {}, &CheckpointEntry::tick);
  return entries;
}

std::string checkpoint_path(const std::string& folder, Tick tick) {
  const std::string digits = std::to_string(tick);
  return folder + "/" + std::string(kPrefix) +
         std::string(digits.size() < 8 ? 8 - digits.size() : 0, '0') + digits;
}

CheckpointEntry find_checkpoint(const std::string& path) {
  std::error_code ignored;
  if (fs::exists(manifest_path(path), ignored)) {
    return {read_manifest(manifest_path(path)).tick, path, true};
  }
  const std::vector<CheckpointEntry> all = list_checkpoints(path);
  const auto newest = std::find_if(all.rbegin(), all.rend(),
                                   [](const CheckpointEntry& entry) { return entry.whole; });
  if (newest != all.rend()) return *newest;
  if (!fs::is_directory(path, ignored)) {
    throw Error(path + ": expected a folder with checkpoints, found " +
                (fs::exists(path, ignored) ? "a file" : "nothing of that name"));
  }
  throw Error(path + ": expected a whole checkpoint, found " +
              (all.empty() ? "none" : std::to_string(all.size()) + " without a manifest"));
}

void prepare_checkpoints(const std::string& folder, const std::string& resumed) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed || !fs::is_directory(folder)) {
    throw Error("--checkpoint: cannot make the folder " + folder + ": " +
                (failed ? failed.message() : "there is a file of that name"));
  }
  // Whether the run goes on in this folder, and from where.
  Tick begin = -1;
  const std::vector<CheckpointEntry> all = list_checkpoints(folder);
  for (const CheckpointEntry& entry : all) {
    if (!resumed.empty() && entry.whole && fs::equivalent(entry.path, resumed, failed))
      begin = entry.tick;
  }
  for (auto entry = all.rbegin(); entry != all.rend(); ++entry) {
    if (!entry->whole) {
      remove_checkpoint(*entry);
    } else if (entry->tick > begin) {
      throw Error("--checkpoint: " + folder + " has a checkpoint of tick " +
                      std::to_string(entry->tick) + ": expected --resume " + folder +
                      " to go on from it, or another folder",
                  ExitCode::usage);
    }
  }
}

void remove_old_checkpoints(const std::string& folder, std::size_t n_kept) {
  const std::vector<CheckpointEntry> all = list_checkpoints(folder);
  std::size_t n_whole = 0;
  for (std::size_t i = all.size(); i-- > 0;) {
    const bool kept = all[i].whole ? ++n_whole <= n_kept : n_whole == 0;
    if (!kept) remove_checkpoint(all[i]);
  }
}

}  // namespace rubato::tick
