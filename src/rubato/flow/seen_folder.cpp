#include "rubato/flow/seen_folder.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <unistd.h>

#include "rubato/core/message/core_context.hpp"

namespace rubato::flow {
namespace {

using core::CoreContext;
using core::CoreId;

// Of the core that asks.
struct NodesWithout {
  std::vector<std::string> names;
};

struct FolderIsMissing {
  std::uint64_t unused = 0;
  void apply(CoreContext& here, ByteView name) const {
    here.local_or_make<NodesWithout>().names.emplace_back(
        reinterpret_cast<const char*>(name.data()), name.size());
  }
};

void look(const std::string& folder, CoreId asked_by) {
  CoreContext& here = CoreContext::here();
  const auto is_there = [&] {
    std::error_code ignored;
    return std::filesystem::is_directory(folder, ignored);
  };
  if (here.run_native(is_there, {core::NativeTime::brief})) return;
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const std::string name = "node " + std::to_string(here.shape().node) + " on " + host.data();
  here.post(asked_by, FolderIsMissing{}, std::as_bytes(std::span(name)));
}

struct LookForFolder {
  CoreId asked_by;
  void apply(CoreContext& here, ByteView path) const {
    if (here.core() != here.shape().first_core()) return;
    std::string folder(reinterpret_cast<const char*>(path.data()), path.size());
    here.spawn([folder = std::move(folder), who = asked_by] { look(folder, who); });
  }
};

}  // namespace

std::vector<std::string> nodes_without(const std::string& folder) {
  CoreContext& here = CoreContext::here();
  auto& missing = here.local_or_make<NodesWithout>();
  missing.names.clear();
  const auto n_cores = static_cast<CoreId>(here.shape().n_cores_total());
  here.finish([&] {
    here.multicast(0, n_cores, LookForFolder{here.core()}, std::as_bytes(std::span(folder)));
  });
  std::ranges::sort(missing.names);
  return missing.names;
}

}  // namespace rubato::flow
