#include "rubato/tick/output/outputs.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include <unistd.h>

#include "rubato/tick/store.hpp"

namespace rubato::tick {
namespace {

constexpr Tick kLastState = -1;

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');)
    words.push_back(word);
  return words;
}

detail::FrameFormats parse_formats(const std::string& text) {
  static const std::vector<std::string> known{"csv", "vtk", "png"};
  detail::FrameFormats formats;
  for (const std::string& word : words_of(text)) {
    if (word == known[0]) {
      formats.csv = true;
    } else if (word == known[1]) {
      formats.vtk = true;
    } else if (word == known[2]) {
      formats.png = true;
    } else {
      throw Error("--format: expected some of csv, vtk and png with commas between, found \"" +
                      word + "\"" + did_you_mean(word, known),
                  ExitCode::usage);
    }
  }
  if (!formats.csv && !formats.vtk && !formats.png) {
    throw Error("--format: expected some of csv, vtk and png, found nothing", ExitCode::usage);
  }
  return formats;
}

// Different for each job that writes to a folder: it names temporary files only. A process id alone
// would come again in a container, and meet what a killed job has left.
std::uint64_t new_job_id() {
  std::array<std::byte, 16> bytes{};
  if (::getentropy(bytes.data(), bytes.size()) != 0) bytes = {};  // the process id has to do
  return tuple_hash(static_cast<std::uint64_t>(::getpid()), bytes);
}

}  // namespace

void OutputOptions::declare(Parameters& parameters) {
  parameters.add("output", folder, "folder for the files of the run; none are written without it");
  parameters.add("format", formats, "what to write: some of csv, vtk (ParaView) and png");
  parameters.add("every", every, "write each n-th tick too, not the last state alone; 0: never");
}

void OutputOptions::validate() const {
  (void)parse_formats(formats);
  if (every < 0) {
    throw Error("--every: expected a number of ticks, 0 or more, found " + std::to_string(every),
                ExitCode::usage);
  }
  if (every > 0 && folder.empty()) {
    throw Error("--every: expected --output DIR with it, or nothing is written", ExitCode::usage);
  }
}

Outputs::Outputs(OutputOptions options, Process process)
    : options_(std::move(options)), process_(process) {
  options_.validate();
  formats_ = parse_formats(options_.formats);
  if (!on()) return;
  std::error_code failed;
  std::filesystem::create_directories(options_.folder, failed);
  if (failed || !std::filesystem::is_directory(options_.folder)) {
    throw Error("--output: cannot make the folder " + options_.folder + ": " +
                (failed ? failed.message() : "there is a file of that name"));
  }
}

Outputs::~Outputs() {
  for (auto& [key, entry] : entries_) {
    if (entry.frame) entry.frame->abandon();
  }
}

detail::FrameFormats Outputs::formats_of(const OutputSchema& schema) const {
  const bool placed = schema.has_picture();
  if (placed) return formats_;
  if (formats_.csv) return {true, false, false};
  throw Error("--format " + options_.formats + ": tuples of " + options_.name +
                  " have no place in space, expected csv",
              ExitCode::usage);
}

detail::FrameOptions Outputs::frame_options(Tick t, bool last) const {
  detail::FrameOptions result;
  result.folder = options_.folder;
  result.name = options_.name;
  result.stem = options_.name;
  if (!last) {
    const std::string digits = std::to_string(t);
    result.stem += "-" + std::string(digits.size() < 8 ? 8 - digits.size() : 0, '0') + digits;
  }
  result.tick = t;
  result.formats = formats_;
  result.n_nodes = process_.n_nodes;
  result.job_id = process_.job_id;
  return result;
}

void Outputs::attach(NodeId node, NodeRun& run) {
  if (!on()) return;
  std::unique_ptr<OutputSource> source = run.output_source();
  if (!source) {
    throw Error("--output: the model " + options_.name +
                    " does not say how its tuples are written (tick/output/schema.hpp)",
                ExitCode::usage);
  }
  if (!schema_) schema_ = source->schema();
  formats_ = formats_of(*schema_);
  follow(node, run, std::move(source));
  if (options_.every > 0) take_all(node, 0, 0);
}

// The regions are others than before, but each tick is stepped before the move or after it.
void Outputs::reattach(NodeId node, NodeRun& run) {
  if (on()) follow(node, run, run.output_source());
}

void Outputs::follow(NodeId node, NodeRun& run, std::unique_ptr<OutputSource> source) {
  {
    const std::lock_guard lock(mutex_);
    nodes_[node] = {std::move(source), run.plan().n_own};
  }
  if (options_.every == 0) return;
  run.engine().on_own_step([this, node](RegionId region, Tick t) {
    if (t % options_.every == 0) take_region(node, region, t);
  });
}

Outputs::Entry& Outputs::entry(Tick key, Tick t) {
  Entry& result = entries_[key];
  if (!result.frame) {
    const detail::FrameOptions options = frame_options(t, key == kLastState);
    result.frame = schema_->kind == OutputSchema::Kind::grid
                       ? detail::make_grid_frame(*schema_, options)
                       : detail::make_table_frame(*schema_, options);
    result.nodes_left = process_.n_local;
  }
  return result;
}

void Outputs::take_region(NodeId node, RegionId region, Tick t) {
  detail::Frame* frame = nullptr;
  const OutputSource* source = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const Node& mine = nodes_.at(node);
    source = mine.source.get();
    Entry& tick = entry(t, t);
    tick.regions_left.try_emplace(node, mine.n_own);
    frame = tick.frame.get();
  }
  source->read(region, t, frame->reader(node));
  {
    const std::lock_guard lock(mutex_);
    if (--entries_.at(t).regions_left.at(node) != 0) return;
  }
  frame->node_done(node);
  node_done(node, t);
}

void Outputs::take_all(NodeId node, Tick key, Tick t) {
  detail::Frame* frame = nullptr;
  const OutputSource* source = nullptr;
  {
    const std::lock_guard lock(mutex_);
    source = nodes_.at(node).source.get();
    frame = entry(key, t).frame.get();
  }
  source->read_all(t, frame->reader(node));
  frame->node_done(node);
  node_done(node, key);
}

// The last node of this process closes the files, and if there is no other process they appear.
void Outputs::node_done(NodeId /*node*/, Tick key) {
  detail::Frame* frame = nullptr;
  {
    const std::lock_guard lock(mutex_);
    Entry& tick = entries_.at(key);
    if (--tick.nodes_left != 0) return;
    frame = tick.frame.get();
  }
  frame->finish();
  if (process_.n_local == process_.n_nodes) commit(key);
}

void Outputs::commit(Tick key) {
  detail::Frame* frame = nullptr;
  {
    const std::lock_guard lock(mutex_);
    frame = entries_.at(key).frame.get();
  }
  frame->commit();
  const std::lock_guard lock(mutex_);
  const Tick t = key == kLastState ? last_ : key;
  const detail::FrameOptions options = frame_options(t, key == kLastState);
  if (formats_.csv) files_.push_back(options.path(".csv"));
  if (formats_.vtk) files_.push_back(frame->vtk_file());
  if (formats_.png) files_.push_back(options.path(".png"));
  if (formats_.vtk) series_.try_emplace(t, frame->vtk_file());
  entries_.erase(key);
  // After each tick, so that a run can be watched, and what an interrupted one leaves be opened.
  if (formats_.vtk && options_.every > 0) write_series();
}

void Outputs::write_series() {
  const std::string path = options_.folder + "/" + options_.name + ".pvd";
  io::PvdSeries series(path);
  for (const auto& [t, file] : series_)
    series.add(static_cast<double>(t), file);
  series.write();
  if (std::ranges::find(files_, path) == files_.end()) files_.push_back(path);
}

void Outputs::finish(NodeId node, NodeRun& run) {
  if (!on()) return;
  {
    const std::lock_guard lock(mutex_);
    last_ = run.engine().end();
  }
  take_all(node, kLastState, run.engine().end());
}

void Outputs::close() {
  if (!on()) return;
  std::vector<Tick> waiting;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [key, entry] : entries_) {
      RUBATO_ASSERT(entry.nodes_left == 0, key, entry.nodes_left);
      waiting.push_back(key);
    }
    // The last state is the last file.
    if (!waiting.empty() && waiting.front() == kLastState) {
      std::rotate(waiting.begin(), waiting.begin() + 1, waiting.end());
    }
    if (!process_.first) entries_.clear();
  }
  if (!process_.first) return;
  for (const Tick key : waiting)
    commit(key);
}

std::vector<std::string> Outputs::files() const {
  const std::lock_guard lock(mutex_);
  return files_;
}

std::unique_ptr<Outputs> add_outputs(SimulationOptions& options, const OutputOptions& output) {
  auto outputs = std::make_unique<Outputs>(
      output, Outputs::Process{options.n_nodes, options.n_nodes, true, new_job_id()});
  Outputs* mine = outputs.get();
  options.at_start = [mine, before = options.at_start](NodeId node, NodeRun& run) {
    if (before) before(node, run);
    mine->attach(node, run);
  };
  options.at_epoch = [mine, before = options.at_epoch](NodeId node, NodeRun& run) {
    if (before) before(node, run);
    mine->reattach(node, run);
  };
  options.at_end = [mine, before = options.at_end](NodeId node, NodeRun& run) {
    if (before) before(node, run);
    mine->finish(node, run);
  };
  return outputs;
}

std::unique_ptr<Outputs> add_outputs(ExecutionOptions& options, const OutputOptions& output,
                                     core::NodeHost& host) {
  Writer out;
  out.put(new_job_id());
  const Bytes shared = host.broadcast(out.take());
  std::unique_ptr<Outputs> outputs;
  host.agree([&] {
    outputs = std::make_unique<Outputs>(
        output, Outputs::Process{host.shape().n_nodes, 1, host.shape().node == 0,
                                 Reader(shared).get<std::uint64_t>()});
  });
  Outputs* mine = outputs.get();
  const NodeId node = host.shape().node;
  options.at_start = [mine, node, before = options.at_start](NodeRun& run) {
    if (before) before(run);
    mine->attach(node, run);
  };
  options.at_epoch = [mine, node, before = options.at_epoch](NodeRun& run) {
    if (before) before(run);
    mine->reattach(node, run);
  };
  options.at_end = [mine, node, before = options.at_end](NodeRun& run) {
    if (before) before(run);
    mine->finish(node, run);
  };
  options.at_close = [mine, before = options.at_close] {
    if (before) before();
    mine->close();
  };
  return outputs;
}

}  // namespace rubato::tick
