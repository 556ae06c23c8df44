#include "rubato/flow/interpret/run_script.hpp"

#include <optional>

#include "rubato/flow/interpret/file_names.hpp"
#include "rubato/flow/interpret/interpreter.hpp"

namespace rubato::flow {
namespace {

// What is wrong with the script; of the core that was asked to run it.
struct ScriptProblem {
  std::optional<Error> error;
};

// The script, for a core. Read where messages are applied, on the stack of the core's own thread:
// parsing goes as deep as the script, for which stacks of tasks are too small.
struct LoadScript {
  std::uint64_t unused = 0;
  void apply(CoreContext& here, ByteView bytes) const {
    Reader in(bytes);
    const std::string text = in.get_string();
    const std::string file_name = in.get_string();
    ScriptArguments arguments;
    arguments.temporary_folder = in.get_string();
    // Of this process: plan_script() has no others.
    arguments.dry_run = std::bit_cast<DryRun*>(in.get<std::uint64_t>());
    arguments.retries = in.get<std::uint32_t>();
    arguments.timeout = in.get<double>();
    while (!in.at_end()) {
      std::string name = in.get_string();
      arguments.named[std::move(name)] = in.get_string();
    }
    try {
      Interpreter::set_script(text, file_name, arguments);
    } catch (const Error& error) {
      here.local_or_make<ScriptProblem>().error = error;
    }
  }
};

Bytes bytes_of(const std::string& text, const std::string& file_name,
               const ScriptArguments& arguments) {
  Writer out;
  out.put_string(text);
  out.put_string(file_name);
  out.put_string(arguments.temporary_folder);
  out.put(std::bit_cast<std::uint64_t>(arguments.dry_run));
  out.put(arguments.retries);
  out.put(arguments.timeout);
  for (const auto& [name, value] : arguments.named) {
    out.put_string(name);
    out.put_string(value);
  }
  return out.take();
}

}  // namespace

FlowResult run_script(const std::string& text, const std::string& file_name,
                      const ScriptArguments& given, const RunOptions& asked) {
  ScriptArguments arguments = given;
  RunOptions options = asked;
  if (!options.journal.folder.empty()) {
    options.journal = Flow::here().take_journal(asked.journal);
    // Files without a name of their own outlive the run, as their tasks do.
    arguments.temporary_folder =
        Journal::temporary_folder(options.journal.folder, options.journal.run);
  }
  CoreContext& here = CoreContext::here();
  const Bytes script = bytes_of(text, file_name, arguments);
  std::optional<Error>& problem = here.local_or_make<ScriptProblem>().error;
  problem.reset();
  here.finish([&] { here.post(here.core(), LoadScript{}, script); });
  if (problem) throw Error(*problem);  // it would be the same on all cores
  Interpreter::here().compiled().check_arguments();
  Interpreter::here().compiled().check_types(options.workers);
  Interpreter::here().compiled().check_leaves();
  check_file_names(Interpreter::here().compiled(), Flow::here());
  here.finish([&] {
    here.multicast(0, here.core(), LoadScript{}, script);
    const auto n_cores = static_cast<CoreId>(here.shape().n_cores_total());
    here.multicast(here.core() + 1, n_cores, LoadScript{}, script);
  });
  return run([] { Interpreter::here().start_main(); }, options);
}

}  // namespace rubato::flow
