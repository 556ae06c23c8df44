#include "rubato/tools/record/run_record.hpp"

#include <chrono>
#include <filesystem>
#include <utility>

#include "rubato/base/wall_clock.hpp"
#include "rubato/core/signals.hpp"
#include "rubato/io/output_file.hpp"
#include "rubato/net/mpi.hpp"
#include "rubato/tools/record/machine.hpp"

namespace rubato::tools {
namespace {

namespace fs = std::filesystem;

// How soon after a signal the file says so; well below what a run is given to end.
constexpr std::chrono::milliseconds kWatchInterval(50);

// "MPICH Version:      4.0.2" with one blank.
std::string one_blank_each(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool is_blank = c == ' ' || c == '\t';
    if (!is_blank) out += c;
    if (is_blank && !out.empty() && out.back() != ' ') out += ' ';
  }
  return out;
}

}  // namespace

RunRecord::RunRecord(RunFile file, RecordPlace place)
    : file_(std::move(file)), place_(std::move(place)) {}

RunRecord::~RunRecord() {
  try {
    end(ExitCode::failed, "");
  } catch (const std::exception&) {
    // Without an end in the file the run is shown as lost.
  }
  stop_watching();
}

void RunRecord::begin(core::NodeHost* host, tick::OutputOptions& output,
                      tick::CheckpointOptions& checkpoint) {
  std::vector<RecordedHost> machines;
  if (host != nullptr) {
    Writer name;
    name.put_string(place_.folder);
    const Bytes common = host->broadcast(name.take());
    place_.folder = Reader(common).get_string();
    Writer mine;
    put(mine, this_machine());
    const std::vector<Bytes> all = host->gather(mine.take());
    for (const Bytes& each : all) {
      Reader in(each);
      machines.push_back(get_host(in));
    }
    file_.hosts = hosts_of_nodes(machines);
    file_.n_nodes = host->shape().n_nodes;
    file_.n_cores = host->shape().n_cores;
    file_.mpi = one_blank_each(net::joined_mpi());
  } else {
    file_.hosts = {this_machine()};
  }
  if (place_.has_output) output.folder = output_path(place_.folder);
  if (place_.has_checkpoints) checkpoint.folder = checkpoints_path(place_.folder);
  file_.output = output.folder;
  file_.checkpoints = checkpoint.folder;
  if (host == nullptr) return open();
  host->agree([&] {
    if (host->shape().node == 0) open();
  });
}

void RunRecord::open() {
  const std::string& folder = place_.folder;
  n_new_folders_ = tick::Outputs::n_new_folders(folder);
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed || !fs::is_directory(folder)) {
    throw Error("--record: cannot make the folder " + folder + ": " +
                (failed ? failed.message() : "there is a file of that name"));
  }
  if (!lock_.try_hold(folder)) {
    throw Error("--record: " + folder + ": a run that is under way is recorded there",
                ExitCode::usage);
  }
  if (is_run_folder(folder)) {
    RecordedRun before = read_run(folder);
    const bool is_of_job =
        place_.is_started_again && !file_.job.empty() && before.file.job == file_.job;
    if (!place_.may_go_on && !is_of_job) {
      lock_.release();
      throw Error("--record: " + folder + " holds a run of " + before.file.model +
                      ": expected a new folder, or --resume " + folder + " to go on with it",
                  ExitCode::usage);
    }
    if (before.file.start.status == RunStatus::running) before.file.start.status = RunStatus::lost;
    file_.earlier = std::move(before.file.earlier);
    file_.earlier.push_back(std::move(before.file.start));
  }
  file_.start.began = utc_now();
  file_.start.status = RunStatus::running;
  try {
    write_run_file(folder, file_);
  } catch (const Error&) {
    remove();
    throw;
  }
  is_open_ = true;
  watches_ = true;
  watcher_ = std::thread([this] { watch(); });
  // Of the start before.
  fs::remove(figures_path(folder), failed);
  fs::remove(report_path(folder), failed);
}

void RunRecord::watch() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kWatchInterval, [this] { return !watches_; })) {
    const int number = core::SignalScope::received();
    if (number == 0) continue;
    const Error error = core::error_of_signal(number);
    RunFile file = file_;
    file.start.status = status_of(error.code());
    file.start.exit_code = static_cast<int>(error.code());
    file.start.error = error.what();
    file.start.ended = utc_now();
    try {
      write_run_file(place_.folder, file);
    } catch (const std::exception&) {
      // Whoever ends the run tries again, and says what is wrong.
    }
    return;
  }
}

void RunRecord::stop_watching() {
  {
    const std::lock_guard lock(mutex_);
    watches_ = false;
  }
  changed_.notify_all();
  if (watcher_.joinable()) watcher_.join();
}

void RunRecord::close(RunStatus status, ExitCode code, const std::string& error) {
  stop_watching();
  is_open_ = false;
  file_.start.status = status;
  file_.start.exit_code = static_cast<int>(code);
  file_.start.error = error;
  file_.start.ended = utc_now();
  write_run_file(place_.folder, file_);
  lock_.release();
}

void RunRecord::finish(const std::string& figures, const std::string& report) {
  if (!is_open()) return;
  io::write_file(figures_path(place_.folder), figures);
  io::write_file(report_path(place_.folder), report);
  close(RunStatus::done, ExitCode::ok, "");
}

void RunRecord::end(ExitCode code, const std::string& error) {
  if (!is_open()) return;
  if (code == ExitCode::usage && n_new_folders_ > 0) return remove();
  close(status_of(code), code, error);
}

// Folders that are not empty stay: somebody has put something there.
void RunRecord::remove() {
  stop_watching();
  is_open_ = false;
  std::error_code ignored;
  fs::path folder = fs::absolute(place_.folder);
  fs::remove(run_file_path(folder.string()), ignored);
  lock_.release();
  fs::remove(output_path(folder.string()), ignored);
  fs::remove(checkpoints_path(folder.string()), ignored);
  for (; n_new_folders_ > 0 && fs::remove(folder, ignored); --n_new_folders_)
    folder = folder.parent_path();
}

}  // namespace rubato::tools
