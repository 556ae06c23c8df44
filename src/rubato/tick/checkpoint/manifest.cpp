#include "rubato/tick/checkpoint/manifest.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include <xxhash.h>

#include "rubato/io/output_file.hpp"
#include "rubato/tick/store.hpp"

namespace rubato::tick {
namespace {

constexpr std::string_view kMagic = "rubatoCM";
constexpr std::uint32_t kVersion = 4;  // of the format
constexpr std::uint32_t kVersionWithoutBranch = 3;
constexpr std::uint32_t kVersionWithoutSettings = 2;
constexpr std::uint32_t kVersionWithoutJob = 1;

void put(Writer& out, const Manifest& m) {
  for (const Tick tick : {m.tick, m.ticks, m.ends_at, m.stop_interval, m.stop_lag})
    out.put(tick);
  for (const std::uint64_t number : {m.run_id, m.build, m.instructions, m.seed})
    out.put(number);
  out.put_string(m.model);
  out.put(m.model_version);
  out.put_string(m.program);
  out.put(static_cast<std::uint64_t>(m.parameters.size()));
  for (const CheckpointParameter& parameter : m.parameters) {
    out.put_string(parameter.name);
    out.put_string(parameter.text);
    out.put(parameter.file_hash);
  }
  out.put_vector(m.parts);
  out.put_string(m.job);
  out.put(static_cast<std::uint64_t>(m.settings.size()));
  for (const CheckpointSetting& setting : m.settings) {
    out.put_string(setting.name);
    out.put_string(setting.text);
  }
  out.put(m.branch_tick);
}

// A checkpoint is later than the tick that its run began with, so a branch began before all of its own.
Tick get_branch_tick(Reader& in, Tick tick) {
  const auto branch_tick = in.get<Tick>();
  if (branch_tick != 0 && (branch_tick < 0 || branch_tick >= tick)) {
    throw Error("branch tick: expected 0, for none, or a tick before " + std::to_string(tick) +
                ", that of the checkpoint; found " + std::to_string(branch_tick));
  }
  return branch_tick;
}

Manifest get_manifest(Reader& in, std::uint32_t version) {
  Manifest m;
  for (Tick* tick : {&m.tick, &m.ticks, &m.ends_at, &m.stop_interval, &m.stop_lag})
    *tick = in.get<Tick>();
  for (std::uint64_t* number : {&m.run_id, &m.build, &m.instructions, &m.seed})
    *number = in.get<std::uint64_t>();
  m.model = in.get_string();
  m.model_version = in.get<std::uint32_t>();
  m.program = in.get_string();
  const auto n_parameters = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < n_parameters; ++i) {
    CheckpointParameter& parameter = m.parameters.emplace_back();
    parameter.name = in.get_string();
    parameter.text = in.get_string();
    parameter.file_hash = in.get<std::uint64_t>();
  }
  m.parts = in.get_vector<CheckpointPart>();
  if (version > kVersionWithoutJob) m.job = in.get_string();
  if (version <= kVersionWithoutSettings) return m;
  const auto n_settings = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < n_settings; ++i) {
    CheckpointSetting& setting = m.settings.emplace_back();
    setting.name = in.get_string();
    setting.text = in.get_string();
  }
  if (version > kVersionWithoutBranch) m.branch_tick = get_branch_tick(in, m.tick);
  return m;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("reading " + path + ": " + std::strerror(errno));
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) throw Error("reading " + path + ": the file cannot be read");
  return bytes;
}

}  // namespace

void write_manifest(const std::string& path, const Manifest& manifest) {
  Writer body;
  put(body, manifest);
  Writer all;
  all.append(kMagic.data(), kMagic.size());
  all.put(kVersion);
  all.put(std::uint32_t{0});
  all.put(tuple_hash(kVersion, body.view()));
  all.append(body.view().data(), body.size());
  const ByteView bytes = all.view();
  io::write_file(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Manifest read_manifest(const std::string& path) {
  const std::string bytes = read_file(path);
  Reader in(std::as_bytes(std::span(bytes)));
  if (!bytes.starts_with(kMagic)) {
    throw Error(path + ": expected a manifest of a checkpoint, which begins with \"" +
                std::string(kMagic) + "\"; found other bytes");
  }
  try {
    (void)in.get_view(kMagic.size());
    const auto version = in.get<std::uint32_t>();
    if (version < kVersionWithoutJob || version > kVersion) {
      throw Error("expected version " + std::to_string(kVersionWithoutJob) + " to " +
                  std::to_string(kVersion) + " of the format, found " + std::to_string(version));
    }
    if (in.get<std::uint32_t>() != 0) throw Error("expected 0 at offset 12: the file was changed");
    const auto hash = in.get<std::uint64_t>();
    const ByteView body = in.get_view(in.left());
    if (tuple_hash(version, body) != hash) {
      throw Error("the checksum does not fit: the file is cut or was changed");
    }
    Reader fields(body);
    return get_manifest(fields, version);
  } catch (const Error& error) {
    throw error.in(path);
  }
}

std::uint64_t hash_of_file(const std::string& path) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  std::error_code failed;
  if (path.empty() || !std::filesystem::is_regular_file(path, failed)) return 0;
  std::ifstream file(path, std::ios::binary);
  // The seed is the size, as of a piece.
  const std::uint64_t n_bytes = std::filesystem::file_size(path, failed);
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> hash(XXH3_createState(),
                                                                      &XXH3_freeState);
  if (failed || hash == nullptr) return 0;
  XXH3_64bits_reset_withSeed(hash.get(), n_bytes);
  std::string block(kBlock, '\0');
  while (file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    XXH3_64bits_update(hash.get(), block.data(), static_cast<std::size_t>(file.gcount()));
  }
  return XXH3_64bits_digest(hash.get());
}

std::string manifest_path(const std::string& folder) {
  return folder + "/manifest";
}

std::string part_path(const std::string& folder, std::uint32_t part) {
  const std::string digits = std::to_string(part);
  return folder + "/part-" + std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
}

}  // namespace rubato::tick
