#include "rubato/tick/checkpoint/part_file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "rubato/io/output_file.hpp"
#include "rubato/tick/checkpoint/folder.hpp"

namespace rubato::tick {
namespace {

constexpr std::string_view kMagic = "rubatoCP";
constexpr std::uint32_t kVersion = 1;  // of the format

struct PieceHead {
  std::uint64_t n_bytes = 0;
  std::uint64_t hash = 0;
};

Bytes head_of(const PartName& name) {
  Writer out;
  out.append(kMagic.data(), kMagic.size());
  out.put(kVersion);
  out.put(name.part);
  out.put(name.n_parts);
  out.put(std::uint32_t{0});
  out.put(name.tick);
  out.put(name.run_id);
  return out.take();
}

std::string_view text_of(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string digits(std::uint64_t checksum) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(checksum));
  return text.data();
}

// Reads a part from its beginning; every read is within the bytes that the file must have.
class PartReader {
 public:
  PartReader(std::string path, std::uint64_t n_bytes)
      : path_(std::move(path)), file_(path_, std::ios::binary), left_(n_bytes) {
    if (!file_) throw Error("reading " + path_ + ": " + std::strerror(errno));
    file_.seekg(0, std::ios::end);
    const auto found = static_cast<std::uint64_t>(file_.tellg());
    if (found != n_bytes) {
      fail("expected " + std::to_string(n_bytes) + " bytes, found " + std::to_string(found));
    }
    file_.seekg(0);
  }

  void read(Bytes& into, std::uint64_t n_bytes) {
    if (n_bytes > left_) {
      fail("expected a piece of at most " + std::to_string(left_) + " bytes at offset " +
           std::to_string(offset_) + ", found one of " + std::to_string(n_bytes));
    }
    into.resize(n_bytes);
    file_.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(n_bytes));
    if (!file_) fail("cannot be read beyond offset " + std::to_string(offset_));
    offset_ += n_bytes;
    left_ -= n_bytes;
  }
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  [[nodiscard]] std::uint64_t left() const noexcept { return left_; }
  [[noreturn]] void fail(const std::string& what) const { throw Error(path_ + ": " + what); }
  [[noreturn]] void fail_changed(const std::string& what, std::uint64_t expected,
                                 std::uint64_t found) const {
    fail(what + ": expected the checksum " + digits(expected) + ", found " + digits(found) +
         ": the file was changed");
  }

 private:
  std::string path_;
  std::ifstream file_;
  std::uint64_t offset_ = 0;
  std::uint64_t left_;
};

}  // namespace

std::uint64_t piece_hash(ByteView bytes) noexcept {
  return tuple_hash(bytes.size(), bytes);
}

CheckpointPart write_part(const std::string& path, const PartName& name,
                          std::span<const CheckpointPiece> pieces) {
  io::OutputFile file(path, io::Durable::yes, io::Cached::no);
  file.write(text_of(head_of(name)));
  Writer hashes;
  for (const CheckpointPiece& piece : pieces) {
    Writer head;
    head.put(PieceHead{piece.bytes.size(), piece.hash});
    file.write(text_of(head.view()));
    file.write(text_of(piece.bytes));
    hashes.put(piece.hash);
  }
  file.commit();
  return {file.n_bytes(), pieces.size(), tuple_hash(pieces.size(), hashes.view())};
}

void CheckpointSource::for_each(const std::function<void(ByteView piece)>& f) const {
  bool is_in_f = false;
  const auto take = [&](ByteView piece) {
    is_in_f = true;
    f(piece);
    is_in_f = false;
  };
  try {
    for (std::uint32_t part = 0; part < manifest_.parts.size(); ++part)
      read_part(part, take);
  } catch (const Error& error) {
    if (is_in_f) throw;
    throw with_older_checkpoint(error, folder_);
  }
}

std::string CheckpointSource::damage() const {
  try {
    for (std::uint32_t part = 0; part < manifest_.parts.size(); ++part)
      read_part(part, [](ByteView /*piece*/) {});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void CheckpointSource::read_part(std::uint32_t part, const std::function<void(ByteView)>& f) const {
  const CheckpointPart& expected = manifest_.parts[part];
  const std::string path = part_path(folder_, part);
  PartReader file(path, expected.n_bytes);
  const Bytes head = head_of(
      {manifest_.run_id, manifest_.tick, part, static_cast<std::uint32_t>(manifest_.parts.size())});
  Bytes bytes;
  file.read(bytes, std::min<std::uint64_t>(head.size(), file.left()));
  if (bytes != head) {
    file.fail("expected part " + std::to_string(part) + " of the checkpoint of tick " +
              std::to_string(manifest_.tick) + " that the manifest beside it is of; found another");
  }
  Writer hashes;
  for (std::uint64_t i = 0; i < expected.n_pieces; ++i) {
    file.read(bytes, std::min<std::uint64_t>(sizeof(PieceHead), file.left()));
    Reader in(bytes);
    const auto piece = in.get<PieceHead>();
    const std::uint64_t at = file.offset();
    file.read(bytes, piece.n_bytes);
    const std::uint64_t found = piece_hash(bytes);
    if (found != piece.hash)
      file.fail_changed("the piece at offset " + std::to_string(at), piece.hash, found);
    hashes.put(piece.hash);
    try {
      f(bytes);
    } catch (const Error& error) {
      throw error.in(path);
    }
  }
  const std::uint64_t found = tuple_hash(expected.n_pieces, hashes.view());
  if (found != expected.hash)
    file.fail_changed("the pieces are not those of the manifest", expected.hash, found);
  if (file.left() != 0) {
    file.fail("expected no bytes after offset " + std::to_string(file.offset()) + ", found " +
              std::to_string(file.left()) + ": the file was changed");
  }
}

}  // namespace rubato::tick
