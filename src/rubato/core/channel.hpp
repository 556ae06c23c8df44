#pragma once
// Channels: several conversations over one fabric or one Port.
//
// A message carries its channel as its last 4 bytes. At the end and not in front, so that taking it
// off neither moves nor copies the payload; a sender that reserves kTagBytes more spares a copy as
// well.

#include <cstdint>
#include <cstring>

#include "rubato/core/engine.hpp"

namespace rubato::core {

inline constexpr std::size_t kTagBytes = sizeof(std::uint32_t);

inline void add_tag(Bytes& bytes, std::uint32_t tag) {
  const std::size_t old = bytes.size();
  bytes.resize(old + kTagBytes);
  std::memcpy(bytes.data() + old, &tag, kTagBytes);
}

// Takes the tag off. Throws Error if there is none.
[[nodiscard]] inline std::uint32_t take_tag(Bytes& bytes) {
  if (bytes.size() < kTagBytes) {
    throw Error("message without a channel: expected at least 4 bytes, found " +
                    std::to_string(bytes.size()),
                ExitCode::failed);
  }
  std::uint32_t tag = 0;
  std::memcpy(&tag, bytes.data() + bytes.size() - kTagBytes, kTagBytes);
  bytes.resize(bytes.size() - kTagBytes);
  return tag;
}

// Sends on one channel of another port, which must outlive it.
class TaggedPort final : public Port {
 public:
  TaggedPort(Port& under, std::uint32_t tag) noexcept : under_(under), tag_(tag) {}

  void send(NodeId to, Bytes bytes) override {
    add_tag(bytes, tag_);
    under_.send(to, std::move(bytes));
  }
  void wake_at(Nanos when) override { under_.wake_at(when); }
  [[nodiscard]] Nanos now() const noexcept override { return under_.now(); }
  [[nodiscard]] Came came() const noexcept override { return under_.came(); }

 private:
  Port& under_;
  std::uint32_t tag_;
};

}  // namespace rubato::core
