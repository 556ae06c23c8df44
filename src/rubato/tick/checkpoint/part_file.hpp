#pragma once
// The parts of a checkpoint: written by one node each, read by all that go on.

#include <functional>
#include <span>
#include <string>
#include <utility>

#include "rubato/tick/checkpoint/manifest.hpp"
#include "rubato/tick/store.hpp"

namespace rubato::tick {

// One region's version, as NodeRun::save() gives it.
struct CheckpointPiece {
  std::uint64_t hash = 0;  // piece_hash(bytes)
  Bytes bytes;
};
[[nodiscard]] std::uint64_t piece_hash(ByteView bytes) noexcept;

// Which part of which checkpoint a file is; in front of its pieces.
struct PartName {
  std::uint64_t run_id = 0;
  Tick tick = 0;
  std::uint32_t part = 0;
  std::uint32_t n_parts = 0;
};

// Writes the file durably; it appears whole. Throws Error that names it if it cannot be written.
[[nodiscard]] CheckpointPart write_part(const std::string& path, const PartName& name,
                                        std::span<const CheckpointPiece> pieces);

// A whole checkpoint as the first state of a run.
class CheckpointSource final : public StateSource {
 public:
  // `folder` is that of the checkpoint, `manifest` its own.
  CheckpointSource(std::string folder, Manifest manifest)
      : folder_(std::move(folder)), manifest_(std::move(manifest)) {}

  [[nodiscard]] const Manifest& manifest() const noexcept { return manifest_; }
  [[nodiscard]] Tick tick() const override { return manifest_.tick; }
  [[nodiscard]] Tick ends_at() const override { return manifest_.ends_at; }
  // Reads part after part, and holds one piece at a time. Throws Error that names the file: it is
  // not there, cut, changed, or of another run; and an older checkpoint beside it that is whole.
  void for_each(const std::function<void(ByteView piece)>& f) const override;
  // What is wrong with the parts, as for_each() would find it; "" if nothing is. Reads all of them.
  [[nodiscard]] std::string damage() const;

 private:
  void read_part(std::uint32_t part, const std::function<void(ByteView)>& f) const;

  std::string folder_;
  Manifest manifest_;
};

}  // namespace rubato::tick
