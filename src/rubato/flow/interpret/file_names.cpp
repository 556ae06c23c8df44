#include "rubato/flow/interpret/file_names.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <system_error>
#include <unordered_map>
#include <unordered_set>

#include <unistd.h>

#include "rubato/flow/interpret/environment.hpp"
#include "rubato/flow/interpret/evaluate.hpp"
#include "rubato/flow/tic/walk.hpp"

namespace rubato::flow {
namespace {

struct Holder {
  std::string file;
  NameUse use;
};

// Those that have their home on a core, and who has them first; and inputs that it has found to be
// there. Looked up, never walked through.
struct ClaimedNames {
  std::unordered_map<std::string, Holder> files;
  std::unordered_set<std::string> readable;
};

// "/folder/out/a.txt" of "./out//b/../a.txt" in /folder.
std::string plain(const std::string& name) {
  std::error_code problem;
  const std::filesystem::path whole = std::filesystem::absolute(name, problem);
  if (!problem) return whole.lexically_normal().string();
  throw Error("the name '" + name + "' of a file is relative to the folder of the run, which " +
              (problem == std::errc::no_such_file_or_directory
                   ? "is gone"
                   : "cannot be found: " + problem.message()) +
              "; expected one that is there, or a name that begins with '/'");
}

bool is_device(const std::string& known_as) {
  return known_as.starts_with("/dev/") && !known_as.starts_with("/dev/shm/");
}

// Why the file cannot have the name; "" if it has it now.
std::string claim_here(CoreContext& here, const std::string& known_as, const Holder& asks) {
  const auto [found, is_first] =
      here.local_or_make<ClaimedNames>().files.try_emplace(known_as, asks);
  const Holder& has = found->second;
  if (is_first || (asks.use == NameUse::read && has.use == NameUse::read)) return "";
  if (asks.use == NameUse::read)
    return "which " + has.file + " has, that is written, expected that file in its place";
  return "which " + has.file + (has.use == NameUse::read ? ", an input," : "") +
         " has, expected one of its own";
}

// A claim that is under way; lies on the stack of the task that waits for it.
struct Claim {
  core::Worker* waiter = nullptr;
  bool is_done = false;
  std::string problem;
};

struct EndClaim {
  std::uint64_t claim;  // its address, here
  void apply(CoreContext& here, ByteView problem) const {
    auto& waiting = *std::bit_cast<Claim*>(claim);
    waiting.problem.assign(reinterpret_cast<const char*>(problem.data()), problem.size());
    waiting.is_done = true;
    here.tasks().wake(*waiting.waiter);
  }
};

struct BeginClaim {
  std::uint64_t claim;
  NameUse use;
  void apply(CoreContext& here, ByteView bytes) const {
    Reader in(bytes);
    const std::string known_as = in.get_string();
    const std::string problem = claim_here(here, known_as, {in.get_string(), use});
    here.post(here.source(), EndClaim{claim}, std::as_bytes(std::span(problem)));
  }
};

std::string claim_there(CoreContext& here, CoreId home, const std::string& known_as,
                        const Holder& asks) {
  Writer out;
  out.put_string(known_as);
  out.put_string(asks.file);
  Claim claim;
  claim.waiter = &here.tasks().running();
  here.check_may_block();
  here.post(home, BeginClaim{std::bit_cast<std::uint64_t>(&claim), asks.use}, out.view());
  while (!claim.is_done)
    here.tasks().suspend("the name of a file");
  return claim.problem;
}

// --- before the run

// A file with a name that is known.
struct NamedFile {
  const tic::Declared* declared;
  std::string name;
  bool is_input;
};

// It is the same whenever it is evaluated.
bool is_constant(const tic::Expr& e) {
  if (const auto* unary = e.as<tic::Unary>()) return is_constant(*unary->operand);
  if (const auto* binary = e.as<tic::Binary>())
    return is_constant(*binary->left) && is_constant(*binary->right);
  if (const auto* call = e.as<tic::CallExpr>())
    return std::ranges::all_of(call->arguments, is_constant);
  return e.as<tic::NameRef>() == nullptr && e.as<tic::MemberRef>() == nullptr &&
         e.as<tic::FieldRef>() == nullptr;
}

// Of the blocks of one frame, those around a block before it.
class NamesOfFrame {
 public:
  NamesOfFrame(const Compiled& compiled, const tic::Frame& frame, Flow& flow)
      : compiled_(compiled), frame_(frame), environment_(flow, frame) {
    add(frame.body);
  }

 private:
  void add(const tic::Block& block) {
    const std::size_t n_around = around_.size();
    for (const tic::Statement& statement : block.statements) {
      if (const auto* declaration = std::get_if<tic::Declaration>(&statement.form))
        add(*declaration);
    }
    for (const tic::Statement& statement : block.statements)
      tic::for_each_block(statement, [&](const tic::Block& inner) { add(inner); });
    around_.resize(n_around);
  }
  void add(const tic::Declaration& declaration) {
    for (const tic::Declared& declared : declaration.names) {
      if (!declared.mapped || !is_constant(*declared.mapped)) continue;
      NamedFile file{&declared, {}, !compiled_.is_written(frame_, declared.variable)};
      try {
        file.name = evaluate(*declared.mapped, compiled_, environment_).as_text();
      } catch (const Error&) {
        continue;  // the run says it
      }
      if (file.name.empty()) continue;  // as well
      for (const NamedFile& other : around_) {
        if (other.is_input != file.is_input && plain(other.name) == plain(file.name) &&
            !is_device(plain(file.name)))
          throw_same(file.is_input ? file : other, file.is_input ? other : file);
      }
      around_.push_back(std::move(file));
    }
  }
  [[noreturn]] void throw_same(const NamedFile& input, const NamedFile& output) const {
    throw Error(place_text(compiled_, input.declared->place) + ": found the name " + input.name +
                    " for '" + input.declared->name + "', which nothing here writes, and for '" +
                    output.declared->name + "' of " +
                    place_text(compiled_, output.declared->place) +
                    ", which is written; expected '" + output.declared->name + "' in place of '" +
                    input.declared->name + "', or another name for one of them",
                ExitCode::bad_input);
  }

  const Compiled& compiled_;
  const tic::Frame& frame_;
  Environment environment_;
  std::vector<NamedFile> around_;
};

}  // namespace

void check_file_names(const Compiled& compiled, Flow& flow) {
  for (const tic::Callable& callable : compiled.program().callables) {
    if (callable.kind == tic::CallableKind::function)
      static_cast<void>(NamesOfFrame(compiled, callable.frame, flow));
  }
  static_cast<void>(NamesOfFrame(compiled, compiled.program().main, flow));
}

void claim_file_name(const std::string& name, const std::string& file, NameUse use) {
  const std::string known_as = plain(name);
  if (is_device(known_as)) return;
  CoreContext& here = CoreContext::here();
  const auto home =
      static_cast<CoreId>(std::hash<std::string>()(known_as) % here.shape().n_cores_total());
  const Holder asks{file, use};
  const std::string problem = home == here.core() ? claim_here(here, known_as, asks)
                                                  : claim_there(here, home, known_as, asks);
  if (!problem.empty()) throw Error(file + ": found the name " + name + ", " + problem);
}

std::string problem_of_input(Flow& flow, const std::string& name) {
  std::string problem;
  if (flow.core().local_or_make<ClaimedNames>().readable.contains(name)) return problem;
  flow.run_beside(
      [&] {
        if (::access(name.c_str(), R_OK) != 0) problem = std::generic_category().message(errno);
      },
      {core::NativeTime::brief});
  if (problem.empty()) flow.core().local_or_make<ClaimedNames>().readable.insert(name);
  return problem;
}

void forget_file_names(CoreContext& here) {
  here.local_or_make<ClaimedNames>() = {};
}

}  // namespace rubato::flow
