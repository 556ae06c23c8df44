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
  if (text.empty()) return {true, false, true};
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
  return formats;
}

// Different for each job that writes to a folder: it names temporary files only. A process id alone
// would come again in a container, and meet what a killed job has left.
std::uint64_t new_job_id() {
  std::array<std::byte, 16> bytes{};
  if (::getentropy(bytes.data(), bytes.size()) != 0) bytes = {};  // the process id has to do
  return tuple_hash(static_cast<std::uint64_t>(::getpid()), bytes);
}

// "out/" as "out", so that its parent is not itself.
std::filesystem::path without_end(const std::string& path) {
  const std::filesystem::path folder(path);
  return folder.has_filename() ? folder : folder.parent_path();
}

}  // namespace

void OutputOptions::declare(Parameters& parameters) {
  parameters.add("output", folder, "folder for the files of the run; none are written without it");
  parameters.add(
      "format", formats,
      "what to write: some of csv, vtk (ParaView) and png; default: csv, and png of what "
      "has a place in space");
  parameters.add("every", every, "write each n-th tick too, not the last state alone; 0: never");
}

void OutputOptions::validate() const {
  (void)parse_formats(formats);
  if (every < 0) {
    throw Error("--every: expected a number of ticks, 0 or more, found " + std::to_string(every),
                ExitCode::usage);
  }
  for (const auto& [option, is_set] :
       {std::pair{"--every", every > 0}, {"--format", !formats.empty()}}) {
    if (!is_set || !folder.empty()) continue;
    throw Error(std::string(option) + ": expected --output DIR with it, or nothing is written",
                ExitCode::usage);
  }
}

Outputs::Outputs(OutputOptions options, Process process)
    : options_(std::move(options)), process_(process) {
  options_.validate();
  formats_ = parse_formats(options_.formats);
  if (!on()) return;
  new_folders_.path = options_.folder;
  new_folders_.n = process_.n_new_folders;
  std::error_code failed;
  std::filesystem::create_directories(options_.folder, failed);
  if (failed || !std::filesystem::is_directory(options_.folder)) {
    throw Error("--output: cannot make the folder " + options_.folder + ": " +
                (failed ? failed.message() : "there is a file of that name"));
  }
  if (process_.first) remove_dead(options_.folder);
  work_ = std::make_unique<detail::WorkFolder>(
      detail::WorkFolder::Options{options_.folder, options_.name, process_.job_id,
                                  is_alone() ? 1 : process_.n_nodes / process_.n_local});
}

Outputs::~Outputs() = default;

void Outputs::remove_dead(const std::string& folder) noexcept {
  detail::WorkFolder::remove_dead(folder);
}

std::uint32_t Outputs::n_new_folders(const std::string& path) {
  std::uint32_t n = 0;
  std::error_code ignored;
  for (auto folder = without_end(path);
       !folder.empty() && !std::filesystem::exists(folder, ignored);
       folder = folder.parent_path()) {
    ++n;
  }
  return n;
}

// Of the processes of a job the last one out finds them empty; a folder with files stays.
Outputs::NewFolders::~NewFolders() {
  auto folder = without_end(path);
  for (; n > 0 && ::rmdir(folder.c_str()) == 0; --n)
    folder = folder.parent_path();
}

detail::FrameFormats Outputs::formats_of(const OutputSchema& schema) const {
  if (schema.has_picture()) return formats_;
  const detail::FrameFormats possible{true, false, false};
  if (options_.formats.empty() || (!formats_.vtk && !formats_.png)) return possible;
  throw Error("--format: expected csv alone, found \"" + options_.formats + "\": tuples of " +
                  options_.name + " have no place in space",
              ExitCode::usage);
}

std::string Outputs::stem(Tick key) const {
  if (key == kLastState) return options_.name;
  const std::string digits = std::to_string(key);
  return options_.name + "-" + std::string(digits.size() < 8 ? 8 - digits.size() : 0, '0') + digits;
}

detail::FrameOptions Outputs::frame_options(Tick key, Tick t) const {
  detail::FrameOptions result;
  result.folder = work_->open(key);
  result.name = options_.name;
  result.stem = stem(key);
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
  const bool is_first = !schema_;
  if (is_first) schema_ = source->schema();
  formats_ = formats_of(*schema_);
  if (is_first && formats_.png) schema_->sample_kinds = detail::sample_kinds(*source);
  follow(node, run, std::move(source));
  // Where it begins with a checkpoint, the run before may not have written that tick.
  const Tick begin = run.engine().own_tick();
  if (is_first) find_earlier(begin);
  if (options_.every > 0 && begin % options_.every == 0) take_all(node, begin, begin);
}

// The regions are others than before, but each tick is stepped by one of the two NodeRuns.
void Outputs::reattach(NodeId node, NodeRun& run) {
  if (on()) follow(node, run, run.output_source());
}

void Outputs::follow(NodeId node, NodeRun& run, std::unique_ptr<OutputSource> source) {
  const auto mine = std::make_shared<const Node>(Node{std::move(source), run.plan().n_own});
  {
    const std::lock_guard lock(mutex_);
    nodes_[node] = mine;
  }
  if (options_.every == 0) return;
  run.engine().on_own_step(
      [every = options_.every](Tick t) { return t % every == 0; },
      [this, node, mine](RegionId region, Tick t) { take_region(node, *mine, region, t); });
}

Outputs::Entry& Outputs::entry(Tick key, Tick t) {
  Entry& result = entries_[key];
  if (!result.frame) {
    const detail::FrameOptions options = frame_options(key, t);
    result.folder = options.folder;
    result.frame = schema_->kind == OutputSchema::Kind::grid
                       ? detail::make_grid_frame(*schema_, options)
                       : detail::make_table_frame(*schema_, options);
    result.nodes_left = process_.n_local;
    vtk_extension_ = result.frame->vtk_extension();
  }
  return result;
}

void Outputs::take_region(NodeId node, const Node& mine, RegionId region, Tick t) {
  detail::Frame* frame = nullptr;
  {
    const std::lock_guard lock(mutex_);
    Entry& tick = entry(t, t);
    tick.regions_left.try_emplace(node, mine.n_own);
    frame = tick.frame.get();
  }
  mine.source->read(region, t, frame->reader(node));
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
    source = nodes_.at(node)->source.get();
    frame = entry(key, t).frame.get();
  }
  source->read_all(t, frame->reader(node));
  frame->node_done(node);
  node_done(node, key);
}

// The last node of this process closes the files; the last process of all makes them appear.
void Outputs::node_done(NodeId node, Tick key) {
  Entry done;
  {
    const std::lock_guard lock(mutex_);
    Entry& tick = entries_.at(key);
    if (--tick.nodes_left != 0) return;
    done = std::move(tick);
    entries_.erase(key);
  }
  done.frame->finish();
  if (work_->mark(key, node)) commit(done, key);
  const std::lock_guard lock(mutex_);
  keys_.push_back(key);
}

void Outputs::commit(const Entry& tick, Tick key) {
  // All of them first, so that a disk that is full leaves all or none.
  tick.frame->commit();
  for (const std::string& extension : tick.frame->extensions()) {
    const std::string file = "/" + stem(key) + extension;
    io::move_file(tick.folder + file, options_.folder + file);
  }
  work_->set_whole(key);
  const std::lock_guard lock(mutex_);
  // After each tick, so that a run can be watched, and what an interrupted one leaves be opened.
  if (formats_.vtk && options_.every > 0) write_series();
}

// What a run that this one resumes has listed, before any process lists anew: no tick is whole until
// all have come here. Its last state is not where this one's will be.
void Outputs::find_earlier(Tick begin) {
  if (begin == 0 || !formats_.vtk || options_.every == 0) return;
  const bool writes_begin = begin % options_.every == 0;
  earlier_ = io::PvdSeries::read_entries(
      options_.folder + "/" + options_.name + ".pvd", [&](double time, const std::string& file) {
        const bool before =
            writes_begin ? time < static_cast<double>(begin) : time <= static_cast<double>(begin);
        return before && file.starts_with(options_.name + "-") &&
               std::filesystem::exists(options_.folder + "/" + file);
      });
}

// Several processes may do this at once, and the last rename counts: so it is done again if a tick
// has become whole meanwhile.
void Outputs::write_series() {
  const std::string name = options_.name + ".pvd";
  const std::string made = work_->scratch(std::to_string(nodes_.begin()->first) + ".pvd");
  for (std::vector<Tick> ticks; ticks != work_->whole();) {
    ticks = work_->whole();
    io::PvdSeries series(made);
    series.add_entries(earlier_);
    const auto add = [&](Tick key, Tick t) {
      series.add(static_cast<double>(t), work_->scratch(stem(key) + vtk_extension_));
    };
    for (const Tick key : ticks) {
      if (key != kLastState) add(key, key);
    }
    // The last state has the smallest key, and the name of its tick if that was written too.
    if (ticks.front() == kLastState && ticks.back() != last_) add(kLastState, last_);
    series.write();
    io::move_file(made, options_.folder + "/" + name);
  }
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
  if (!process_.first || is_alone()) return;
  RUBATO_ASSERT(entries_.empty(), entries_.size());
  const std::vector<Tick> whole = work_->whole();
  for (const Tick key : keys_) {
    if (std::ranges::binary_search(whole, key) || !work_->try_claim(key)) continue;
    // Opened again, as a process that was told in time would have it.
    Entry& tick = entry(key, key == kLastState ? last_ : key);
    tick.frame->finish();
    commit(tick, key);
    entries_.erase(key);
  }
  const std::lock_guard lock(mutex_);
  if (formats_.vtk && options_.every > 0) write_series();
  work_->close();
}

std::vector<std::string> Outputs::files() const {
  const std::lock_guard lock(mutex_);
  std::vector<Tick> keys = keys_;
  // The last state is the last file.
  std::ranges::sort(keys, {}, [](Tick key) { return key == kLastState ? kNoTick : key; });
  std::vector<std::string> files;
  const auto add = [&](const std::string& name) { files.push_back(options_.folder + "/" + name); };
  for (const Tick key : keys) {
    if (formats_.csv) add(stem(key) + ".csv");
    if (formats_.vtk) add(stem(key) + vtk_extension_);
    if (formats_.png) add(stem(key) + ".png");
  }
  if (formats_.vtk && options_.every > 0 && !keys.empty()) add(options_.name + ".pvd");
  return files;
}

std::unique_ptr<Outputs> add_outputs(SimulationOptions& options, const OutputOptions& output) {
  auto outputs = std::make_unique<Outputs>(
      output, Outputs::Process{options.n_nodes, options.n_nodes, true, new_job_id(),
                               Outputs::n_new_folders(output.folder)});
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
  out.put(Outputs::n_new_folders(output.folder));
  const Bytes shared = host.broadcast(out.take());
  std::unique_ptr<Outputs> outputs;
  host.agree([&] {
    Reader in(shared);
    Outputs::Process process{host.shape().n_nodes, 1, host.shape().node == 0};
    process.job_id = in.get<std::uint64_t>();
    process.n_new_folders = in.get<std::uint32_t>();
    outputs = std::make_unique<Outputs>(output, process);
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
