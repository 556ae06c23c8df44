#include "rubato/flow/program/leaf.hpp"

#include "rubato/base/error.hpp"

namespace rubato::flow {
namespace {

constexpr int kUnusable = 126;
constexpr int kBadOutputs = 1;

ProgramEnd run_once(Launcher& launcher, const Leaf& leaf) {
  ProgramEnd end;
  try {
    OutputNames names(leaf.outputs, leaf.options);
    ProgramCall call = leaf.call(names);
    if (call.folder.empty()) call.folder = leaf.options.folder;
    end = launcher.run(call);
    if (!end.well()) return end;
    names.commit();
  } catch (const Error& error) {
    end.code = end.started ? kBadOutputs : kUnusable;
    end.problem = error.what();
    // A program that ended well has its reasons for a missing output perhaps in what it said.
    if (!end.last_errors.empty()) {
      end.problem += "; the last lines of its errors:\n" + end.last_errors;
    }
  }
  return end;
}

}  // namespace

ProgramEnd run_leaf(Launcher& launcher, const Leaf& leaf) {
  RUBATO_REQUIRE(leaf.call != nullptr);
  return with_retries(launcher, leaf.retry,
                      [&](std::uint32_t) { return run_once(launcher, leaf); });
}

}  // namespace rubato::flow
