#include "rubato/tools/record/run_diff.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "rubato/tools/record/run_tables.hpp"

namespace rubato::tools {
namespace {

// The facts of `a` in their order, each with that of `b`, then those that `b` has alone.
std::vector<RunDiff::Difference> differences(const RunFile& a, const RunFile& b) {
  std::vector<RunDiff::Difference> all;
  for (RunFact& fact : facts_of(a))
    all.push_back({std::move(fact.what), std::move(fact.value), ""});
  for (RunFact& fact : facts_of(b)) {
    const auto known = std::ranges::find(all, fact.what, &RunDiff::Difference::what);
    if (known == all.end()) {
      all.push_back({std::move(fact.what), "", std::move(fact.value)});
    } else {
      known->b = std::move(fact.value);
    }
  }
  std::erase_if(all, [](const RunDiff::Difference& each) { return each.a == each.b; });
  return all;
}

// A file counts by its content.
bool is_same(const RecordedParameter& a, const RecordedParameter& b) {
  return a.name == b.name && a.file_hash == b.file_hash && (a.file_hash != 0 || a.text == b.text);
}

// Other parameters have had a part in its state. Which is not known, so two branches of one tick need
// not agree either. Checkpoints of older programs do not tell the next start of it.
bool is_branch(const RunFile& run) {
  const auto is_of_branch = [](const RunStart& start) { return start.branch_tick > 0; };
  return is_of_branch(run.start) || std::ranges::any_of(run.earlier, is_of_branch);
}

bool must_agree(const RecordedRun& a, const RecordedRun& b) {
  return a.figures && b.figures && a.figures->ticks == b.figures->ticks &&
         a.file.model == b.file.model && a.file.model_version == b.file.model_version &&
         std::ranges::equal(a.file.parameters, b.file.parameters, is_same) && !is_branch(a.file) &&
         !is_branch(b.file);
}

std::vector<RunDiff::Change> changes(const RunFigures& a, const RunFigures& b) {
  std::vector<RunDiff::Change> all;
  const auto add = [&](const char* figure, auto of) {
    const auto x = static_cast<double>(of(a));
    const auto y = static_cast<double>(of(b));
    all.push_back({figure, x, y, {}});
    if (x != 0) all.back().change = (y - x) / x;
  };
  add("ticks", [](const RunFigures& f) { return f.ticks; });
  add("wall_s", [](const RunFigures& f) { return f.wall_s; });
  add("ticks_per_second", [](const RunFigures& f) { return f.ticks_per_second; });
  add("waiting_share", [](const RunFigures& f) { return f.waiting_share; });
  all.back().change = all.back().b - all.back().a;
  add("messages", [](const RunFigures& f) { return f.n_messages; });
  add("bytes", [](const RunFigures& f) { return f.n_bytes; });
  add("epochs", [](const RunFigures& f) { return f.n_epochs; });
  add("bytes_moved", [](const RunFigures& f) { return f.bytes_moved; });
  return all;
}

// As the tables of a run call the figure, with a number as they show it.
struct Shown {
  const char* name;
  double factor;
  int n_decimals;
  const char* unit;
};
Shown shown_as(const std::string& figure) {
  if (figure == "wall_s") return {"time", 1, 3, " s"};
  if (figure == "ticks_per_second") return {"ticks/s", 1, 1, ""};
  if (figure == "waiting_share") return {"waiting", 100, 1, " %"};
  if (figure == "bytes") return {"MB", 1e-6, 3, ""};
  if (figure == "bytes_moved") return {"MB moved", 1e-6, 3, ""};
  return {figure.c_str(), 1, 0, ""};
}

// Their names, or the folders of two of one name.
std::pair<std::string, std::string> names(const RecordedRun& a, const RecordedRun& b) {
  const std::pair found(name_of_run(a), name_of_run(b));
  return found.first == found.second ? std::pair(a.folder, b.folder) : found;
}

std::string checksum_line(const RecordedRun& a, const RecordedRun& b, const RunDiff& diff) {
  for (const RecordedRun* run : {&a, &b}) {
    if (!run->figures) {
      return fmt::format("checksums: none of {}, it is {}", run->folder,
                         to_string(run->file.start.status));
    }
  }
  if (diff.agree()) return "checksums: the same, " + diff.checksum_a;
  const std::string both = diff.checksum_a + " and " + diff.checksum_b;
  if (!diff.must_agree) return "checksums: " + both + ", of other states";
  return "checksums: " + both +
         ", expected the same: model, parameters, input files and ticks are" +
         (a.file.build.hash != b.file.build.hash ? "; the executables differ" : "");
}

}  // namespace

RunDiff diff_runs(const RecordedRun& a, const RecordedRun& b) {
  RunDiff diff;
  diff.configuration = differences(a.file, b.file);
  if (a.figures && b.figures) diff.figures = changes(*a.figures, *b.figures);
  diff.must_agree = must_agree(a, b);
  if (a.figures) diff.checksum_a = a.figures->checksum;
  if (b.figures) diff.checksum_b = b.figures->checksum;
  return diff;
}

std::string diff_page(const RecordedRun& a, const RecordedRun& b, const RunDiff& diff,
                      const io::TableStyle& style) {
  const auto [name_a, name_b] = names(a, b);
  std::string page;
  if (diff.configuration.empty()) {
    page = "configuration: the same\n";
  } else {
    io::Table table({{"configuration"}, {name_a}, {name_b}});
    for (const auto& each : diff.configuration)
      table.row().text(each.what).text(each.a).text(each.b);
    page = table.to_text(style);
  }
  if (!diff.figures.empty()) {
    io::Table table({{"figure"}, {name_a}, {name_b}, {"change"}});
    for (const auto& each : diff.figures) {
      const Shown as = shown_as(each.figure);
      const auto number = [&](double value) {
        return fmt::format("{:.{}f}{}", as.factor * value, as.n_decimals, as.unit);
      };
      table.row().text(as.name).text(number(each.a)).text(number(each.b));
      if (each.change) table.text(fmt::format("{:+.1f} %", 100 * *each.change));
    }
    page += '\n' + table.to_text(style);
  }
  return page + '\n' + checksum_line(a, b, diff) + '\n';
}

void put_diff(io::JsonWriter& json, const RecordedRun& a, const RecordedRun& b,
              const RunDiff& diff) {
  json.begin_object().field("a", a.folder).field("b", b.folder).key("configuration").begin_array();
  for (const auto& each : diff.configuration) {
    json.begin_object().field("what", each.what).field("a", each.a).field("b", each.b).end_object();
  }
  json.end_array().key("figures").begin_array();
  for (const auto& each : diff.figures) {
    json.begin_object().field("figure", each.figure).field("a", each.a).field("b", each.b);
    if (each.change) {
      json.field("change", *each.change);
    } else {
      json.key("change").null();
    }
    json.end_object();
  }
  json.end_array()
      .field("must_agree", diff.must_agree)
      .field("agree", diff.agree())
      .field("checksum_a", diff.checksum_a)
      .field("checksum_b", diff.checksum_b)
      .end_object();
}

}  // namespace rubato::tools
