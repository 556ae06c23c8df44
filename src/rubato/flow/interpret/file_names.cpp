#include "rubato/flow/interpret/file_names.hpp"

#include <bit>
#include <filesystem>
#include <functional>
#include <unordered_map>

namespace rubato::flow {
namespace {

// Those that have their home on a core, and who has them. Looked up, never walked through.
struct ClaimedNames {
  std::unordered_map<std::string, std::string> files;
};

// "/folder/out/a.txt" of "./out//b/../a.txt" in /folder.
std::string plain(const std::string& name) {
  return std::filesystem::absolute(name).lexically_normal().string();
}

bool is_device(const std::string& known_as) {
  return known_as.starts_with("/dev/") && !known_as.starts_with("/dev/shm/");
}

// Who has the name, if not `file` from now on; "" then.
std::string claim_here(CoreContext& here, const std::string& known_as, const std::string& file) {
  const auto [found, is_first] =
      here.local_or_make<ClaimedNames>().files.try_emplace(known_as, file);
  return is_first ? "" : found->second;
}

// A claim that is under way; lies on the stack of the task that waits for it.
struct Claim {
  core::Worker* waiter = nullptr;
  bool is_done = false;
  std::string holder;
};

struct EndClaim {
  std::uint64_t claim;  // its address, here
  void apply(CoreContext& here, ByteView holder) const {
    auto& waiting = *std::bit_cast<Claim*>(claim);
    waiting.holder.assign(reinterpret_cast<const char*>(holder.data()), holder.size());
    waiting.is_done = true;
    here.tasks().wake(*waiting.waiter);
  }
};

struct BeginClaim {
  std::uint64_t claim;
  void apply(CoreContext& here, ByteView bytes) const {
    Reader in(bytes);
    const std::string known_as = in.get_string();
    const std::string holder = claim_here(here, known_as, in.get_string());
    here.post(here.source(), EndClaim{claim}, std::as_bytes(std::span(holder)));
  }
};

std::string claim_there(CoreContext& here, CoreId home, const std::string& known_as,
                        const std::string& file) {
  Writer out;
  out.put_string(known_as);
  out.put_string(file);
  Claim claim;
  claim.waiter = &here.tasks().running();
  here.check_may_block();
  here.post(home, BeginClaim{std::bit_cast<std::uint64_t>(&claim)}, out.view());
  while (!claim.is_done)
    here.tasks().suspend("the name of a file");
  return claim.holder;
}

}  // namespace

void claim_file_name(const std::string& name, const std::string& file) {
  const std::string known_as = plain(name);
  if (is_device(known_as)) return;
  CoreContext& here = CoreContext::here();
  const auto home =
      static_cast<CoreId>(std::hash<std::string>()(known_as) % here.shape().n_cores_total());
  const std::string holder = home == here.core() ? claim_here(here, known_as, file)
                                                 : claim_there(here, home, known_as, file);
  if (holder.empty()) return;
  std::string what = file;
  what.append(": found the name ").append(name).append(", which ").append(holder);
  what.append(" has, expected one of its own");
  throw Error(what);
}

void forget_file_names(CoreContext& here) {
  here.local_or_make<ClaimedNames>().files.clear();
}

}  // namespace rubato::flow
