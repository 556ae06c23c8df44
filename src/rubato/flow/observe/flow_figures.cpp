#include "rubato/flow/observe/flow_figures.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "rubato/io/colormap.hpp"

namespace rubato::flow {
namespace {

constexpr double kSeconds = 1e-9;
constexpr std::size_t kBinPixels = 3;
constexpr std::size_t kCoresShown = 512;

double seconds(Nanos time) {
  return static_cast<double>(time) * kSeconds;
}

void put_name(Writer& out, const TaskName& name) {
  out.put_string(name.name);
  out.put_string(name.kind);
  out.put_string(name.place);
}
TaskName get_name(Reader& in) {
  TaskName name;
  name.name = in.get_string();
  name.kind = in.get_string();
  name.place = in.get_string();
  return name;
}

// What read what a core has put.
class CoreReader {
 public:
  CoreReader(Reader& in, FlowFigures& all, std::map<TaskName, NameTotals>& names)
      : in_(in), all_(all), names_(names) {}

  void read() {
    CoreUseFigures core;
    core.core = in_.get<CoreId>();
    all_.counts.add(in_.get<TaskCounts>());
    for (auto n = in_.get<std::uint64_t>(); n > 0; --n)
      read_name();
    for (auto n = in_.get<std::uint64_t>(); n > 0; --n)
      read_slow(core.core);
    core.own = observe::UseOverTime::get(in_);
    core.beside = observe::UseOverTime::get(in_);
    all_.cores.push_back(core);
  }

 private:
  void read_name() {
    const TaskName name = get_name(in_);
    NameTotals& totals = names_[name];
    totals.of = name;
    totals.n += in_.get<std::uint64_t>();
    totals.n_failed += in_.get<std::uint64_t>();
    totals.total += in_.get<Nanos>();
    totals.most = std::max(totals.most, in_.get<Nanos>());
  }
  void read_slow(CoreId core) {
    SlowTask task;
    task.of = get_name(in_);
    task.words = in_.get_string();
    task.core = core;
    task.begin = in_.get<Nanos>();
    task.time = in_.get<Nanos>();
    task.has_failed = in_.get<std::uint8_t>() != 0;
    all_.slowest.push_back(std::move(task));
  }

  Reader& in_;
  FlowFigures& all_;
  std::map<TaskName, NameTotals>& names_;
};

Nanos width_of(const FlowFigures& figures) {
  return figures.cores.empty() ? 1 : figures.cores.front().own.width();
}

// Bins that the run has reached.
std::size_t bins_of(const FlowFigures& figures) {
  const auto n = static_cast<std::size_t>(figures.end / width_of(figures)) + 1;
  return std::min(n, observe::UseOverTime::kBins);
}

// In the last bin, of the part that the run has reached.
double share(const FlowFigures& figures, const observe::UseOverTime& use, std::size_t bin) {
  const Nanos begin = static_cast<Nanos>(bin) * use.width();
  const Nanos length = std::min(use.width(), std::max<Nanos>(figures.end - begin, 1));
  return static_cast<double>(use.in_bin(bin)) / static_cast<double>(length);
}

std::string shown_name(const TaskName& name) {
  return name.name.empty() ? name.kind : name.name;
}

void put_shares(io::JsonWriter& json, const char* name, const FlowFigures& figures,
                const observe::UseOverTime& use) {
  json.key(name).begin_array();
  for (std::size_t bin = 0; bin < bins_of(figures); ++bin)
    json.value(std::round(share(figures, use, bin) * 1e4) / 1e4);
  json.end_array();
}

void put_name(io::JsonWriter& json, const TaskName& name) {
  json.field("name", shown_name(name)).field("kind", name.kind).field("place", name.place);
}

// Rows are cores, from left to right goes the time.
template <class Use>
void add_picture(io::HtmlReport& report, const FlowFigures& figures, double most, const Use& use,
                 const std::string& caption) {
  const std::size_t n_bins = bins_of(figures);
  const std::size_t n_cores = std::min(figures.cores.size(), kCoresShown);
  const std::size_t height = n_cores <= 32 ? 12 : n_cores <= 128 ? 6 : 2;
  io::RgbImage image{n_bins * kBinPixels, n_cores * height, {}};
  image.pixels.resize(image.width * image.height);
  for (std::size_t y = 0; y < image.height; ++y) {
    for (std::size_t x = 0; x < image.width; ++x) {
      const double part = share(figures, use(figures.cores[y / height]), x / kBinPixels);
      const bool is_line = height > 2 && y % height == 0;
      image.at(x, y) = is_line ? io::Rgb{255, 255, 255} : io::ColorMap::sequential()(part / most);
    }
  }
  report.image(image, caption);
}

std::string number(double x, const char* form) {
  char text[40];
  std::snprintf(text, sizeof text, form, x);
  return text;
}

}  // namespace

void put_core(Writer& out, CoreId core, const CoreWatch& watch, const observe::UseOverTime& own) {
  out.put(core);
  out.put(watch.counts());
  out.put(static_cast<std::uint64_t>(watch.names().size()));
  for (const NameTotals& totals : watch.names()) {
    put_name(out, totals.of);
    out.put(totals.n);
    out.put(totals.n_failed);
    out.put(totals.total);
    out.put(totals.most);
  }
  out.put(static_cast<std::uint64_t>(watch.slowest().size()));
  for (const SlowTask& task : watch.slowest()) {
    put_name(out, task.of);
    out.put_string(task.words);
    out.put(task.begin);
    out.put(task.time);
    out.put(static_cast<std::uint8_t>(task.has_failed ? 1 : 0));
  }
  own.put(out);
  watch.beside().put(out);
}

FlowFigures FlowFigures::of(const std::vector<Bytes>& parts) {
  FlowFigures all;
  std::map<TaskName, NameTotals> names;
  for (const Bytes& bytes : parts) {
    Reader in(bytes);
    CoreReader core(in, all, names);
    while (!in.at_end())
      core.read();
  }
  for (auto& [name, totals] : names) {
    // A program is named when its words are known.
    if (totals.n > 0) all.names.push_back(std::move(totals));
  }
  std::ranges::stable_sort(all.names, std::ranges::greater{}, &NameTotals::total);
  std::ranges::stable_sort(all.slowest, std::ranges::greater{}, &SlowTask::time);
  if (all.slowest.size() > kSlowestKept) all.slowest.resize(kSlowestKept);
  Nanos width = 1;
  for (const CoreUseFigures& core : all.cores)
    width = std::max({width, core.own.width(), core.beside.width()});
  for (CoreUseFigures& core : all.cores) {
    core.own.widen(width);
    core.beside.widen(width);
    for (std::size_t bin = 0; bin < observe::UseOverTime::kBins; ++bin) {
      const bool is_used = core.own.in_bin(bin) > 0 || core.beside.in_bin(bin) > 0;
      if (is_used) all.end = std::max(all.end, static_cast<Nanos>(bin + 1) * width);
    }
  }
  return all;
}

io::Table names_table(const FlowFigures& figures) {
  io::Table table({{"task"},
                   {"kind"},
                   {"of"},
                   {"number"},
                   {"failed"},
                   {"mean", 3, " ms"},
                   {"most", 3, " ms"},
                   {"all", 3, " s"}});
  for (std::size_t i = 0; i < std::min(figures.names.size(), kNamesShown); ++i) {
    const NameTotals& totals = figures.names[i];
    table.row()
        .text(shown_name(totals.of))
        .text(totals.of.kind)
        .text(totals.of.place)
        .integer(static_cast<std::int64_t>(totals.n))
        .integer(static_cast<std::int64_t>(totals.n_failed))
        .number(seconds(totals.total) * 1e3 /
                static_cast<double>(std::max<std::uint64_t>(totals.n, 1)))
        .number(seconds(totals.most) * 1e3)
        .number(seconds(totals.total));
    if (totals.n_failed > 0) table.highlight();
  }
  return table;
}

io::Table slowest_table(const FlowFigures& figures) {
  io::Table table({{"task"}, {"of"}, {"with"}, {"core"}, {"began", 3, " s"}, {"took", 3, " ms"}});
  for (const SlowTask& task : figures.slowest) {
    table.row()
        .text(shown_name(task.of) + (task.has_failed ? " (failed)" : ""))
        .text(task.of.place)
        .text(task.words)
        .integer(task.core)
        .number(seconds(task.begin))
        .number(seconds(task.time) * 1e3);
  }
  return table;
}

void put_figures(io::JsonWriter& json, const FlowFigures& figures) {
  json.key("names").begin_array();
  for (const NameTotals& totals : figures.names) {
    json.begin_object();
    put_name(json, totals.of);
    json.field("number", totals.n).field("failed", totals.n_failed);
    json.field("seconds", seconds(totals.total)).field("most_s", seconds(totals.most));
    json.end_object();
  }
  json.end_array().key("slowest").begin_array();
  for (const SlowTask& task : figures.slowest) {
    json.begin_object();
    put_name(json, task.of);
    json.field("with", task.words).field("core", task.core);
    json.field("began_s", seconds(task.begin)).field("seconds", seconds(task.time));
    json.field("failed", task.has_failed).end_object();
  }
  json.end_array().key("use").begin_object();
  json.field("bin_s", seconds(width_of(figures))).key("cores").begin_array();
  for (const CoreUseFigures& core : figures.cores) {
    json.begin_object().field("core", core.core);
    put_shares(json, "busy", figures, core.own);
    put_shares(json, "beside", figures, core.beside);
    json.end_object();
  }
  json.end_array().end_object();
}

void add_figures(io::HtmlReport& report, const FlowFigures& figures) {
  if (!figures.names.empty()) {
    report.heading("Tasks");
    report.table(names_table(figures));
    if (figures.names.size() > kNamesShown) {
      report.paragraph("and " + std::to_string(figures.names.size() - kNamesShown) +
                       " more names, which took less.");
    }
    report.heading("The slowest tasks");
    report.table(slowest_table(figures),
                 "A task's time is that from its begin to its end, with what it waited meanwhile; "
                 "that of programs and native work is their own.");
  }
  if (figures.cores.empty()) return;
  report.heading("The cores over time");
  const std::string ticks = number(seconds(figures.end), "%.3g") + " s from left to right";
  add_picture(
      report, figures, 1, [](const CoreUseFigures& core) -> const auto& { return core.own; },
      "Each row is a core, the first on top; " + ticks +
          ". Dark: it had nothing to do; light: it worked.");
  double most = 0;
  for (const CoreUseFigures& core : figures.cores) {
    for (std::size_t bin = 0; bin < bins_of(figures); ++bin)
      most = std::max(most, share(figures, core.beside, bin));
  }
  if (most == 0) return;
  add_picture(
      report, figures, most, [](const CoreUseFigures& core) -> const auto& { return core.beside; },
      "Programs and native work that a core has started and that run beside the cores, " + ticks +
          ". Dark: none; light: " + number(most, "%.3g") + " at a time, the most there were.");
}

}  // namespace rubato::flow
