#include "rubato/net/mpi.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <dlfcn.h>

#include "rubato/base/error.hpp"
#include "rubato/net/detail/mpi_fabric.hpp"

namespace rubato::net {
namespace {

// What belongs to each MPI, in the order of Mpi.
struct MpiFacts {
  const char* name;
  const char* word;  // in RUBATO_MPI and in the plugin's file name
  const char* packages;
};
constexpr std::array<MpiFacts, 2> kMpis = {
    MpiFacts{"Open MPI", "openmpi", "openmpi-bin libopenmpi-dev"},
    MpiFacts{"MPICH", "mpich", "mpich libmpich-dev"},
};

std::string joined_library;  // joined_mpi()

const MpiFacts& facts(Mpi mpi) {
  return kMpis.at(static_cast<std::size_t>(mpi));
}

// The value of a variable as a count; 0 if it is unset or none.
std::uint32_t count_of(const char* text) {
  std::uint32_t value = 0;
  if (text == nullptr) return 0;
  std::from_chars(text, text + std::strlen(text), value);
  return value;
}

std::vector<std::string> plugin_folders() {
  std::vector<std::string> folders;
  if (const char* dir = std::getenv("RUBATO_PLUGIN_DIR"); dir != nullptr && *dir != '\0') {
    folders.emplace_back(dir);
  }
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  if (!program.empty()) {
    folders.push_back(program.parent_path().string());
    folders.push_back((program.parent_path().parent_path() / "lib" / "rubato").string());
  }
#ifdef RUBATO_PLUGIN_FOLDERS  // a program that links to us may lie anywhere
  for (const char* folder : {RUBATO_PLUGIN_FOLDERS})
    folders.emplace_back(folder);
#endif
  return folders;
}

std::string missing_plugin(const Launch& launch) {
  const MpiFacts& mpi = facts(launch.candidates.front());
  std::vector<std::string> searched;
  (void)find_mpi_plugin(launch.candidates.front(), &searched);
  std::string where;
  for (const auto& folder : searched)
    where += (where.empty() ? "" : ", ") + folder;
  return "this job was started by the launcher of " + std::string(mpi.name) + " (" +
         launch.evidence + "), but librubato_mpi_" + mpi.word + ".so is in none of " + where +
         "; install it (apt-get install " + mpi.packages +
         ") and build Rubato again, or say RUBATO_MPI=none to run each process alone";
}

const RubatoMpiApi& load_plugin(const std::string& path) {
  // Global: the components that Open MPI loads itself expect its symbols there.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) throw Error(path + ": cannot be loaded: " + dlerror());
  const auto entry = reinterpret_cast<const RubatoMpiApi* (*)()>(dlsym(library, "rubato_mpi_api"));
  if (entry == nullptr)
    throw Error(path + ": expected an MPI plugin of Rubato, found another file");
  const RubatoMpiApi* api = entry();
  if (api->version != RUBATO_MPI_API_VERSION || api->n_bytes != sizeof(RubatoMpiApi)) {
    throw Error(path + ": expected plugin interface " + std::to_string(RUBATO_MPI_API_VERSION) +
                ", found " + std::to_string(api->version) + ": it belongs to another build");
  }
  return *api;
}

}  // namespace

const char* name_of(Mpi mpi) noexcept {
  return kMpis[static_cast<std::size_t>(mpi)].name;
}

Launch detect_launch(const GetEnvironment& get) {
  Launch launch;
  const auto value = [&](const char* key) { return count_of(get(key)); };
  const auto has = [&](const char* key) { return get(key) != nullptr; };
  const auto found = [&](const char* key, std::vector<Mpi> candidates, std::uint32_t n) {
    launch = {true, std::move(candidates), n, std::string(key) + "=" + get(key)};
  };
  // Innermost first: mpirun within an allocation of Slurm sees the variables of both.
  if (has("OMPI_COMM_WORLD_SIZE")) {
    found("OMPI_COMM_WORLD_SIZE", {Mpi::openmpi}, value("OMPI_COMM_WORLD_SIZE"));
  } else if (has("PMIX_RANK")) {
    found("PMIX_RANK", {Mpi::openmpi, Mpi::mpich}, value("SLURM_STEP_NUM_TASKS"));
  } else if (has("PMI_SIZE")) {
    found("PMI_SIZE", {Mpi::mpich}, value("PMI_SIZE"));
  } else if (has("PMI_RANK")) {
    found("PMI_RANK", {Mpi::mpich, Mpi::openmpi}, value("SLURM_STEP_NUM_TASKS"));
  } else if (value("SLURM_STEP_NUM_TASKS") > 1) {
    // srun without a way to find each other: joining will show it.
    found("SLURM_STEP_NUM_TASKS", {Mpi::openmpi, Mpi::mpich}, value("SLURM_STEP_NUM_TASKS"));
  }
  const char* wanted = get("RUBATO_MPI");
  if (wanted == nullptr || *wanted == '\0') return launch;
  const std::string word = wanted;
  if (word == "none") return {};
  for (std::size_t i = 0; i < kMpis.size(); ++i) {
    if (word != kMpis[i].word) continue;
    launch.candidates = {static_cast<Mpi>(i)};
    if (!launch.by_launcher) launch.evidence = "RUBATO_MPI=" + word;
    launch.by_launcher = true;
    return launch;
  }
  throw Error("RUBATO_MPI: expected openmpi, mpich or none, found \"" + word + "\"" +
                  did_you_mean(word, {"openmpi", "mpich", "none"}),
              ExitCode::usage);
}

Launch detect_launch() {
  return detect_launch([](const char* key) { return std::getenv(key); });
}

std::string joined_mpi() {
  return joined_library;
}

std::string find_mpi_plugin(Mpi mpi, std::vector<std::string>* searched) {
  const std::string file = std::string("librubato_mpi_") + facts(mpi).word + ".so";
  std::string found;
  for (const auto& folder : plugin_folders()) {
    if (searched != nullptr) searched->push_back(folder);
    std::error_code ignored;
    const auto path = std::filesystem::path(folder) / file;
    if (found.empty() && std::filesystem::exists(path, ignored)) found = path.string();
  }
  return found;
}

std::unique_ptr<Fabric> load_mpi_fabric(const Launch& launch, std::size_t pair_bytes_max) {
  RUBATO_REQUIRE(launch.by_launcher && !launch.candidates.empty());
  using detail::MpiFabric;
  std::string path;
  for (const Mpi mpi : launch.candidates) {
    if (path.empty()) path = find_mpi_plugin(mpi);
  }
  if (path.empty()) throw Error(missing_plugin(launch), ExitCode::failed);
  const RubatoMpiApi& api = load_plugin(path);
  RubatoMpiInfo info{};
  if (api.start(MpiFabric::kSlots, MpiFabric::kSlotBytes, MpiFabric::kSendsMax, &info) != 0) {
    throw Error(path + ": MPI did not start: " + api.error_text(), ExitCode::failed);
  }
  if (launch.n_processes > 1 && info.n_ranks == 1) {
    (void)api.finish();
    throw Error(
        "the launcher started " + std::to_string(launch.n_processes) + " processes (" +
            launch.evidence + "), but " + info.library +
            " finds itself alone in each of them: the launcher and the MPI do not know each "
            "other; start the job with the mpirun of that MPI, or try srun --mpi=pmix",
        ExitCode::failed);
  }
  joined_library = info.library;
  return std::make_unique<MpiFabric>(api, info, pair_bytes_max);
}

}  // namespace rubato::net
