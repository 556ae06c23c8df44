#include "rubato/global/main.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "rubato/core/job.hpp"
#include "rubato/global/report.hpp"
#include "rubato/io/output_file.hpp"
#include "rubato/net/fabric_factory.hpp"

namespace rubato::global {
namespace {

std::string environment(const char* name) {
  const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): no threads yet
  return text == nullptr ? "" : text;
}

std::uint32_t cores_of_environment() {
  const std::string text = environment("RUBATO_CORES");
  if (text.empty()) return 0;
  std::uint32_t n = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, n);
  if (error != std::errc() || stopped != end || n == 0) {
    throw Error("RUBATO_CORES is \"" + text + "\": expected a number of cores, 1 or more",
                ExitCode::usage);
  }
  return n;
}

// What is to be said of the run, and where.
struct Wanted {
  bool table = false;
  std::string page;
  std::string json;
  std::string trace;

  static Wanted of_environment() {
    const std::string report = environment("RUBATO_REPORT");
    const bool is_page = report.ends_with(".html");
    return {!report.empty() && report != "0" && !is_page, is_page ? report : "",
            environment("RUBATO_JSON"), environment("RUBATO_TRACE")};
  }
  [[nodiscard]] bool anything() const {
    return table || !page.empty() || !json.empty() || !trace.empty();
  }

  // Collective: what node 0 wants, since launchers need not hand on the environment.
  [[nodiscard]] Wanted of_node_0(core::NodeHost& host) const {
    Writer out;
    out.put(static_cast<std::uint8_t>(table ? 1 : 0));
    out.put_string(page);
    out.put_string(json);
    out.put_string(trace);
    const Bytes bytes = host.broadcast(out.take());
    Reader in(bytes);
    Wanted wanted;
    wanted.table = in.get<std::uint8_t>() != 0;
    wanted.page = in.get_string();
    wanted.json = in.get_string();
    wanted.trace = in.get_string();
    return wanted;
  }
};

// Before the run, of what is written after it. Devices and pipes are not opened twice.
void check_can_be_written(const Wanted& wanted) {
  for (const std::string& path : {wanted.page, wanted.json, wanted.trace}) {
    std::error_code none;
    if (path.empty() || path == "-" || std::filesystem::is_other(path, none)) continue;
    const io::OutputFile file(path);  // throws
  }
}

using ReportParts = std::vector<std::unique_ptr<ReportPart>>;

void write_json(const std::string& path, const ProgramFigures& figures, const ReportParts& parts) {
  io::JsonWriter json;
  json.begin_object();
  put_figures(json, figures);
  for (const auto& part : parts)
    part->put(json);
  json.end_object();
  if (path == "-") {
    std::printf("%s\n", json.text().c_str());
    return;
  }
  io::OutputFile file(path);
  file.write(json.text() + "\n");
  file.commit();
}

// Collective.
void report(core::Job& job, const Wanted& wanted, const observe::Trace& trace,
            const core::NodeFigures& mine, const core::CoreCounters& counters,
            const ReportParts& parts) {
  const ProgramFigures figures = gather_figures(job.host(), mine, counters);
  for (const auto& part : parts) {
    const std::vector<Bytes> seen = job.host().gather(part->pack());
    if (job.speaks()) part->take(seen);
  }
  const std::vector<Bytes> events =
      wanted.trace.empty() ? std::vector<Bytes>() : job.host().gather(trace.pack());
  job.host().agree([&] {
    if (!job.speaks()) return;
    if (wanted.table) {
      const io::TableStyle style = io::style_of_terminal(2);
      std::string table =
          figures_table(figures).to_text(style) + traffic_table(figures).to_text(style);
      for (const auto& part : parts)
        table += part->text(style);
      std::fputs(table.c_str(), stderr);
    }
    if (!wanted.page.empty()) {
      io::HtmlReport page = figures_page(program_invocation_short_name, figures);
      for (const auto& part : parts)
        part->add(page);
      page.write(wanted.page);
    }
    if (!wanted.json.empty()) write_json(wanted.json, figures, parts);
    if (!wanted.trace.empty()) observe::Trace::write(wanted.trace, events, trace_text(figures));
  });
}

}  // namespace

int run_main(const std::function<void()>& main, const ProgramOptions& options, SourcePlace at) {
  ReportParts parts;                      // they outlive the host
  std::unique_ptr<observe::Trace> trace;  // outlives the host
  std::optional<core::Job> job;
  try {
    Wanted wanted = Wanted::of_environment();
    core::JobConfig config;
    config.host.n_cores = cores_of_environment();
    auto fabric = net::make_fabric();
    // Room that nobody uses costs nothing; a node that was not told of a trace has no events.
    trace = std::make_unique<observe::Trace>(fabric->n_nodes());
    observe::Trace* const seen = wanted.trace.empty() ? nullptr : trace.get();
    config.host.observer = seen;
    // Whether node 0 wants a report is not known before the host is made.
    if (wanted.anything() || fabric->n_nodes() > 1) parts = make_report_parts();
    for (const auto& part : parts)
      config.host.observer = part->observer(config.host.observer, seen);
    job.emplace(std::move(fabric), config);
    wanted = wanted.of_node_0(job->host());
    if (wanted.anything()) {
      job->host().agree([&] {
        if (job->speaks()) check_can_be_written(wanted);
      });
    }
    Program program(job->shape(), options);
    program.set_main(main, at);
    if (!wanted.anything()) {
      static_cast<void>(job->host().run(program.engine()));
      return static_cast<int>(ExitCode::ok);
    }
    for (const auto& part : parts)
      part->attach(program.engine(), job->shape());
    const core::NodeFigures mine = job->host().run(program.engine());
    report(*job, wanted, *trace, mine, program.engine().counters(), parts);
    job->host().agree([&] {
      for (const auto& part : parts) {
        if (job->speaks()) part->check();
      }
    });
    return static_cast<int>(ExitCode::ok);
  } catch (const Error& error) {
    // All nodes throw the same.
    if (!job || job->speaks()) std::fprintf(stderr, "rubato: %s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rubato: %s\n", error.what());
    return static_cast<int>(ExitCode::failed);
  }
}

}  // namespace rubato::global
