#pragma once
// Value: what a datum of a flow holds once it is closed [Turbine 6.3].
//
// Numbers, truth values and "it is done" (void) are one word. Text (strings, names of files, blobs)
// is shared by all that hold it and never changes. A value may also say that there will never be
// one: `failed`, with the reason, so that what depends on it is told why it cannot run.
//
// Copies are cheap; a value may be handed to another core of the node. The reference in a value is
// owned by one of its copies: who takes it out, or shares it (Flow), knows which.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "rubato/base/bytes.hpp"
#include "rubato/flow/store/ref.hpp"

namespace rubato::flow {

enum class Kind : std::uint8_t {
  none,  // there is no value yet
  unit,  // "it is done"
  integer,
  floating,
  boolean,
  string,
  blob,
  file,       // the name of one
  reference,  // another datum or container, with a part of the right to read it
  failed,     // there will be none: the text says why
  never_set,  // the same, since nobody can set it any more, and nobody has said so yet
};

// For people: "integer", "float", ..
[[nodiscard]] std::string_view name_of(Kind kind) noexcept;

class Value {
 public:
  Value() = default;  // none
  [[nodiscard]] static Value done() noexcept { return word(Kind::unit, 0); }
  [[nodiscard]] static Value integer(std::int64_t i) noexcept {
    return word(Kind::integer, static_cast<std::uint64_t>(i));
  }
  [[nodiscard]] static Value floating(double x) noexcept {
    return word(Kind::floating, std::bit_cast<std::uint64_t>(x));
  }
  [[nodiscard]] static Value boolean(bool b) noexcept { return word(Kind::boolean, b ? 1 : 0); }
  // A value of one word. REQUIRES: is_word(kind).
  [[nodiscard]] static Value word(Kind kind, std::uint64_t bits) noexcept {
    Value value;
    value.kind_ = kind;
    value.bits_ = bits;
    return value;
  }
  // string, blob, file, failed or never_set.
  [[nodiscard]] static Value text(Kind kind, std::string text) {
    Value value;
    value.kind_ = kind;
    value.text_ = std::make_shared<const std::string>(std::move(text));
    return value;
  }
  [[nodiscard]] static Value reference(Ref ref) noexcept {
    Value value;
    value.kind_ = Kind::reference;
    value.bits_ = ref.id.word;
    value.weight_ = ref.weight;
    return value;
  }
  [[nodiscard]] static Value failed(std::string why) { return text(Kind::failed, std::move(why)); }
  [[nodiscard]] static Value never_set(std::string what) {
    return text(Kind::never_set, std::move(what) + " was never set");
  }

  [[nodiscard]] static constexpr bool is_word(Kind kind) noexcept { return kind < Kind::string; }

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] bool is_failed() const noexcept { return kind_ >= Kind::failed; }
  // Who does not run since it needs this says so (Flow::told).
  [[nodiscard]] bool is_never_set() const noexcept { return kind_ == Kind::never_set; }
  [[nodiscard]] bool is_reference() const noexcept { return kind_ == Kind::reference; }
  [[nodiscard]] bool is_word() const noexcept { return is_word(kind_); }
  [[nodiscard]] std::uint64_t bits() const noexcept { return bits_; }
  // REQUIRES: of that kind.
  [[nodiscard]] std::int64_t as_integer() const {
    return static_cast<std::int64_t>(bits_of(Kind::integer));
  }
  [[nodiscard]] double as_floating() const {
    return std::bit_cast<double>(bits_of(Kind::floating));
  }
  [[nodiscard]] bool as_boolean() const { return bits_of(Kind::boolean) != 0; }
  [[nodiscard]] Ref as_reference() const { return {{bits_of(Kind::reference)}, weight_}; }
  // REQUIRES: string, blob, file, failed or never_set.
  [[nodiscard]] const std::string& as_text() const {
    RUBATO_REQUIRE(text_ != nullptr, name_of(kind_));
    return *text_;
  }

  // As bytes for other nodes: the kind (8 bits), then a word, a reference's two, or a length (64 bits)
  // and the text.
  void put(Writer& out) const;
  // Throws Error for bytes that are none.
  [[nodiscard]] static Value get(Reader& in);

  // Of equal kind and content.
  [[nodiscard]] bool operator==(const Value& other) const noexcept;

 private:
  [[nodiscard]] std::uint64_t bits_of(Kind kind) const {
    RUBATO_REQUIRE(kind_ == kind, name_of(kind_), name_of(kind));
    return bits_;
  }

  Kind kind_ = Kind::none;
  std::uint64_t bits_ = 0;
  std::uint64_t weight_ = 0;  // of a reference
  std::shared_ptr<const std::string> text_;
};

}  // namespace rubato::flow
