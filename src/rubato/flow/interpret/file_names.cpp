#include "rubato/flow/interpret/file_names.hpp"

#include <filesystem>
#include <functional>
#include <unordered_map>

namespace rubato::flow {
namespace {

// Those that have their home on a core, and who has them. Looked up, never walked through.
struct ClaimedNames {
  std::unordered_map<std::string, std::string> files;
};

// "out/a.txt" of "./out//b/../a.txt".
std::string plain(const std::string& name) {
  return std::filesystem::path(name).lexically_normal().string();
}

void claim_here(Flow& flow, Ref writer, const std::string& name, const std::string& file,
                PortablePlace at) {
  auto& files = flow.core().local_or_make<ClaimedNames>().files;
  const auto [found, is_first] = files.try_emplace(plain(name), file);
  if (is_first) return flow.set(writer, Value::text(Kind::file, name), at);
  std::string what = file;
  what.append(": found the name ").append(name).append(", which ").append(found->second);
  what.append(" has, expected one of its own");
  const Value failure = Value::failed(what);
  flow.note_failed_body(std::move(what));
  flow.give_back_writer(writer, &failure);
}

struct ClaimName {
  Ref writer;
  PortablePlace at;
  void apply(CoreContext& /*here*/, ByteView bytes) const {
    Reader in(bytes);
    const std::string name = in.get_string();
    claim_here(Flow::here(), writer, name, in.get_string(), at);
  }
};

}  // namespace

void claim_file_name(Flow& flow, Ref writer, const std::string& name, const std::string& file,
                     PortablePlace at) {
  const std::string known_as = plain(name);
  if (known_as.starts_with("/dev/")) return flow.set(writer, Value::text(Kind::file, name), at);
  const std::uint64_t n_cores = flow.core().shape().n_cores_total();
  const auto home = static_cast<CoreId>(std::hash<std::string>()(known_as) % n_cores);
  if (home == flow.core().core()) return claim_here(flow, writer, name, file, at);
  Writer out;
  out.put_string(name);
  out.put_string(file);
  flow.core().post(home, ClaimName{writer, at}, out.view());
}

void forget_file_names(CoreContext& here) {
  here.local_or_make<ClaimedNames>().files.clear();
}

}  // namespace rubato::flow
