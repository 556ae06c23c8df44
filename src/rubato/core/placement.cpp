#include "rubato/core/placement.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>

namespace rubato::core {
namespace {

// The place of `processor` among the hardware threads of its physical core: the list reads "0,64"
// or "0-1". 0 if the kernel does not say.
std::uint32_t sibling_index(std::uint32_t processor) {
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(processor) +
                     "/topology/thread_siblings_list");
  std::string list;
  std::getline(file, list);
  std::uint32_t first = 0;
  const auto [end, error] = std::from_chars(list.data(), list.data() + list.size(), first);
  if (error != std::errc{} || first == processor) return 0;
  return processor > first ? processor - first : 1;
}

std::optional<std::uint32_t> number_from_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  std::uint32_t value = 0;
  const char* end = text + std::strlen(text);
  const auto [at, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || at != end) return std::nullopt;
  return value;
}

struct LauncherNames {
  const char* index;
  const char* count;
};
constexpr std::array<LauncherNames, 3> kLaunchers = {
    {{"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
     {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
     {"SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"}}};

}  // namespace

std::vector<std::uint32_t> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<std::uint32_t> processors;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (std::uint32_t p = 0; p < CPU_SETSIZE; ++p) {
      if (CPU_ISSET(p, &set)) processors.push_back(p);
    }
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order;
  order.reserve(processors.size());
  for (const auto p : processors)
    order.emplace_back(sibling_index(p), p);
  std::sort(order.begin(), order.end());
  std::transform(order.begin(), order.end(), processors.begin(),
                 [](const auto& entry) { return entry.second; });
  return processors;
}

NeighbourhoodGuess find_neighbourhood(const net::Fabric& fabric) {
  NeighbourhoodGuess guess;
  if (fabric.n_nodes() == 1) {
    guess.is_certain = true;
    return guess;
  }
  for (const auto& launcher : kLaunchers) {
    const auto index = number_from_environment(launcher.index);
    const auto count = number_from_environment(launcher.count);
    if (index && count && *index < *count) {
      guess.index = *index;
      guess.n_nodes = *count;
      guess.is_certain = true;
      return guess;
    }
  }
  const net::NodeId self = fabric.node();
  const std::string host = fabric.host(self);
  for (net::NodeId node = self; node > 0 && fabric.host(node - 1) == host; --node) {
    ++guess.index;
    ++guess.n_nodes;
  }
  for (net::NodeId node = self + 1; node < fabric.n_nodes() && fabric.host(node) == host; ++node) {
    ++guess.n_nodes;
  }
  return guess;
}

std::uint32_t default_n_cores(const Neighbourhood& neighbourhood) {
  const auto n = static_cast<std::uint32_t>(allowed_processors().size());
  return std::max<std::uint32_t>(1, n / neighbourhood.n_nodes);
}

std::vector<std::uint32_t> place_cores(const std::vector<std::uint32_t>& processors,
                                       const Neighbourhood& neighbourhood, std::uint32_t n_cores) {
  const std::size_t wanted = std::size_t{neighbourhood.n_nodes} * n_cores;
  if (processors.size() < wanted || processors.size() >= 2 * wanted) return {};
  const auto first = processors.begin() + std::ptrdiff_t{neighbourhood.index} * n_cores;
  return {first, first + n_cores};
}

bool pin_thread(std::uint32_t processor) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

void lower_timer_slack() noexcept {
  prctl(PR_SET_TIMERSLACK, 1'000UL, 0UL, 0UL, 0UL);
}

void run_in_batches() noexcept {
  sched_param parameters{};
  if (sched_getscheduler(0) == SCHED_OTHER) sched_setscheduler(0, SCHED_BATCH, &parameters);
}

}  // namespace rubato::core
