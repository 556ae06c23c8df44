#include "rubato/flow/tic/type.hpp"

namespace rubato::flow::tic {

std::string_view kind_name(Kind kind) noexcept {
  switch (kind) {
    case Kind::integer:
      return "integer";
    case Kind::floating:
      return "float";
    case Kind::string:
      return "string";
    case Kind::boolean:
      return "boolean";
    case Kind::void_type:
      return "void";
    case Kind::blob:
      return "blob";
    case Kind::file:
      return "file";
    case Kind::container:
      return "container";
    case Kind::structure:
      break;
  }
  return "struct";
}

std::string type_text(const Type& type) {
  if (type.is(Kind::structure)) return type.struct_name;
  std::string text(kind_name(type.kind));
  if (!type.is(Kind::container)) return text;
  text.append("<").append(kind_name(type.key)).append(", ");
  return text.append(type_text(type.element.at(0))).append(">");
}

}  // namespace rubato::flow::tic
