#include "rubato/tools/record/run_folder.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <tuple>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rubato/base/time.hpp"
#include "rubato/base/wall_clock.hpp"
#include "rubato/io/output_file.hpp"
#include "rubato/tick/checkpoint/folder.hpp"

namespace rubato::tools {
namespace {

namespace fs = std::filesystem;

std::string lock_path(const std::string& folder) {
  return folder + "/.lock";
}

// "" if there is no such file. Throws Error if it cannot be read.
std::string text_of(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return "";
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("reading " + path + ": " + std::strerror(errno));
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) throw Error("reading " + path + ": the file cannot be read");
  return text;
}

// A file that has been removed meanwhile locks nobody out.
bool is_named(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && info.st_nlink > 0;
}

}  // namespace

std::string run_file_path(const std::string& folder) {
  return folder + "/run.json";
}
std::string figures_path(const std::string& folder) {
  return folder + "/figures.json";
}
std::string report_path(const std::string& folder) {
  return folder + "/report.txt";
}
std::string output_path(const std::string& folder) {
  return folder + "/output";
}
std::string checkpoints_path(const std::string& folder) {
  return folder + "/checkpoints";
}

std::string default_run_folder(const std::string& model, const std::string& id) {
  return std::string(kRunsFolder) + "/" + model + "-" + id;
}

std::string new_run_id() {
  std::array<unsigned char, 3> bytes{};
  // Without entropy the process has to tell two runs of one second apart.
  if (::getentropy(bytes.data(), bytes.size()) != 0) {
    const auto pid = static_cast<unsigned>(::getpid());
    bytes = {static_cast<unsigned char>(pid >> 16), static_cast<unsigned char>(pid >> 8),
             static_cast<unsigned char>(pid)};
  }
  std::string id;
  for (const char c : utc_now()) {
    if (c >= '0' && c <= '9') id += c;
    if (c == 'T') id += '-';
  }
  return fmt::format("{}-{:02x}{:02x}{:02x}", id, bytes[0], bytes[1], bytes[2]);
}

bool RunLock::try_hold(const std::string& folder) {
  path_ = lock_path(folder);
  // Whoever looks at the run holds it for a moment.
  constexpr int kAttempts = 20;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd_ < 0) throw Error("--record: writing " + path_ + ": " + std::strerror(errno));
    if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) {
      if (is_named(fd_)) return true;
    } else if (errno != EWOULDBLOCK && errno != EINTR) {
      return true;
    }
    ::close(fd_);
    fd_ = -1;
    nap(5 * kMillisecond);
  }
  return false;
}

void RunLock::release() noexcept {
  if (fd_ < 0) return;
  ::unlink(path_.c_str());
  ::close(fd_);
  fd_ = -1;
}

bool RunLock::is_held(const std::string& folder) noexcept {
  const int fd = ::open(lock_path(folder).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno != ENOENT;
  const bool is_free = ::flock(fd, LOCK_SH | LOCK_NB) == 0;
  ::close(fd);
  return !is_free;
}

bool is_run_folder(const std::string& folder) {
  std::error_code ignored;
  return fs::exists(run_file_path(folder), ignored);
}

RecordedRun read_run(const std::string& folder) {
  std::error_code ignored;
  if (!is_run_folder(folder)) {
    throw Error(folder + ": expected the folder of a recorded run, with run.json, found " +
                (fs::is_directory(folder, ignored) ? "a folder without it"
                 : fs::exists(folder, ignored)     ? "a file"
                                                   : "nothing of that name"));
  }
  RecordedRun run{folder, {}};
  // First the lock: a run that ends in between has written how.
  const bool is_held = RunLock::is_held(folder);
  run.file = parse_run_file(text_of(run_file_path(folder)), run_file_path(folder));
  RunStart& start = run.file.start;
  if (start.status == RunStatus::running && !is_held) start.status = RunStatus::lost;
  run.figures_json = text_of(figures_path(folder));
  while (run.figures_json.ends_with('\n'))
    run.figures_json.pop_back();
  if (!run.figures_json.empty())
    run.figures = parse_figures(run.figures_json, figures_path(folder));
  run.report = text_of(report_path(folder));
  return run;
}

void write_run_file(const std::string& folder, const RunFile& run) {
  io::write_file(run_file_path(folder), to_json(run) + "\n");
}

std::vector<RecordedRun> list_runs(const std::string& folder, std::vector<std::string>& problems) {
  std::error_code failed;
  if (!fs::is_directory(folder, failed)) {
    throw Error(folder + ": expected a folder with recorded runs, found " +
                (fs::exists(folder, failed) ? "a file" : "nothing of that name") +
                "; run .. --record makes one");
  }
  std::vector<RecordedRun> runs;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (!is_run_folder(entry.path().string())) continue;
    try {
      runs.push_back(read_run(entry.path().string()));
    } catch (const Error& error) {
      problems.emplace_back(error.what());
    }
  }
  if (failed) throw Error("reading " + folder + ": " + failed.message());
  std::ranges::sort(problems);
  std::ranges::sort(runs, [](const RecordedRun& a, const RecordedRun& b) {
    const auto& x = a.file;
    const auto& y = b.file;
    const std::string& began = x.earlier.empty() ? x.start.began : x.earlier.front().began;
    const std::string& other = y.earlier.empty() ? y.start.began : y.earlier.front().began;
    return std::tie(began, a.folder) < std::tie(other, b.folder);
  });
  return runs;
}

std::string last_checkpoint(const RunFile& run) {
  if (run.checkpoints.empty()) return "";
  // Its path is that of the folder in which it was called.
  const std::string folder = (fs::path(run.folder) / run.checkpoints).string();
  std::string last;
  for (const tick::CheckpointEntry& entry : tick::list_checkpoints(folder)) {
    if (entry.whole) last = entry.path;
  }
  return last;
}

void close_run(const std::string& folder, ExitCode code, const std::string& error) noexcept {
  try {
    RunLock lock;
    if (!is_run_folder(folder) || !lock.try_hold(folder)) return;
    RunFile run = parse_run_file(text_of(run_file_path(folder)), run_file_path(folder));
    RunStart& start = run.start;
    const bool is_final =
        start.status == RunStatus::done || start.status == RunStatus::checkpointed;
    if (is_final || (code == ExitCode::ok && start.status != RunStatus::running)) return;
    start.status = code == ExitCode::ok ? RunStatus::lost : status_of(code);
    start.exit_code = static_cast<int>(code);
    if (!error.empty()) start.error = error;
    if (start.status == RunStatus::interrupted)
      start.error = code == ExitCode::interrupted ? "interrupted" : "terminated";
    if (start.ended.empty()) start.ended = utc_now();
    write_run_file(folder, run);
  } catch (const std::exception&) {
    // What is shown as lost is true too.
  }
}

}  // namespace rubato::tools
