#include "rubato/flow/store/value.hpp"

#include <array>

#include "rubato/flow/store/codec.hpp"

namespace rubato::flow {

void throw_wrong_size(std::size_t n_bytes, std::size_t n_expected) {
  throw Error("found a blob of " + std::to_string(n_bytes) + " bytes, expected " +
              std::to_string(n_expected));
}

std::string_view name_of(Kind kind) noexcept {
  constexpr std::array<std::string_view, 11> kNames = {"nothing",   "void",    "integer", "float",
                                                       "boolean",   "string",  "blob",    "file",
                                                       "reference", "failure", "failure"};
  const auto at = static_cast<std::size_t>(kind);
  return at < kNames.size() ? kNames[at] : "unknown";
}

void Value::put(Writer& out) const {
  out.put(kind_);
  if (is_word()) {
    out.put(bits_);
  } else if (is_reference()) {
    out.put(as_reference());
  } else {
    out.put_string(*text_);
  }
}

Value Value::get(Reader& in) {
  const auto kind = in.get<Kind>();
  if (kind > Kind::never_set) {
    throw Error("unknown kind of value " + std::to_string(static_cast<int>(kind)) +
                ": expected 0 to " + std::to_string(static_cast<int>(Kind::never_set)));
  }
  if (is_word(kind)) return word(kind, in.get<std::uint64_t>());
  if (kind == Kind::reference) return reference(in.get<Ref>());
  return text(kind, in.get_string());
}

bool Value::operator==(const Value& other) const noexcept {
  if (kind_ != other.kind_) return false;
  return text_ == nullptr ? bits_ == other.bits_ : *text_ == *other.text_;
}

}  // namespace rubato::flow
