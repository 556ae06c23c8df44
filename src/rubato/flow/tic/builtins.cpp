#include "rubato/flow/tic/builtins.hpp"

#include <algorithm>
#include <array>

#include "rubato/base/error.hpp"

namespace rubato::flow::tic {
namespace {

constexpr std::array<Builtin, 48> kBuiltins{{
    {"int", BuiltinId::to_integer, "i", "integer"},
    {"int", BuiltinId::to_integer, "f", "integer"},
    {"int", BuiltinId::to_integer, "s", "integer"},
    {"int", BuiltinId::to_integer, "b", "integer"},
    {"integer", BuiltinId::to_integer, "x", "integer"},
    {"float", BuiltinId::to_float, "f", "float"},
    {"float", BuiltinId::to_float, "s", "float"},
    {"string", BuiltinId::to_string, "x", "string"},
    {"boolean", BuiltinId::to_boolean, "s", "boolean"},
    {"boolean", BuiltinId::to_boolean, "b", "boolean"},
    {"floor", BuiltinId::floor, "f", "float"},
    {"ceil", BuiltinId::ceil, "f", "float"},
    {"round", BuiltinId::round, "f", "float"},
    {"sqrt", BuiltinId::sqrt, "f", "float"},
    {"exp", BuiltinId::exp, "f", "float"},
    {"log", BuiltinId::log, "f", "float"},
    {"sin", BuiltinId::sin, "f", "float"},
    {"cos", BuiltinId::cos, "f", "float"},
    {"tan", BuiltinId::tan, "f", "float"},
    {"abs", BuiltinId::abs, "i", "integer"},
    {"abs", BuiltinId::abs, "f", "float"},
    {"min", BuiltinId::min, "ii*", "integer"},
    {"min", BuiltinId::min, "ff*", "float"},
    {"max", BuiltinId::max, "ii*", "integer"},
    {"max", BuiltinId::max, "ff*", "float"},
    {"length", BuiltinId::length, "s", "integer"},
    {"substring", BuiltinId::substring, "sii?", "string"},
    {"find", BuiltinId::find, "ss", "integer"},
    {"replace", BuiltinId::replace, "sss", "string"},
    {"split", BuiltinId::split, "ss?", "container<integer, string>"},
    {"join", BuiltinId::join, "Cs", "string"},
    {"trim", BuiltinId::trim, "s", "string"},
    {"upper", BuiltinId::upper, "s", "string"},
    {"lower", BuiltinId::lower, "s", "string"},
    {"size", BuiltinId::size, "C", "integer"},
    {"contains", BuiltinId::contains, "Ck", "boolean"},
    {"filename", BuiltinId::filename, "F", "string"},
    {"read", BuiltinId::read, "F", "string"},
    {"glob", BuiltinId::glob, "s", "container<integer, file>"},
    {"arg", BuiltinId::arg, "ss?", "string"},
    {"n_args", BuiltinId::n_args, "", "integer"},
    {"n_nodes", BuiltinId::n_nodes, "", "integer"},
    {"n_cores", BuiltinId::n_cores, "", "integer"},
    {"closed", BuiltinId::closed, "v*", "void"},
    {"arithmetic", BuiltinId::arithmetic, "sx*", "float"},
    {"print", BuiltinId::print, "v*", "void", true},
    {"trace", BuiltinId::trace, "v*", "void", true},
    {"assert", BuiltinId::assert_that, "bs?", "void", true},
}};

bool fits_letter(char letter, const std::vector<Type>& types, std::size_t at, bool widens) {
  const Type& type = types[at];
  switch (letter) {
    case 'i':
      return type.is(Kind::integer);
    case 'f':
      return type.is(Kind::floating) || (widens && type.is(Kind::integer));
    case 's':
      return type.is(Kind::string);
    case 'b':
      return type.is(Kind::boolean);
    case 'F':
      return type.is(Kind::file);
    case 'x':
      return type.is_scalar();
    case 'C':
      return type.is(Kind::container);
    case 'k':
      return at > 0 && type.is(types[at - 1].key);
    default:
      return true;
  }
}

bool fits(std::string_view parameters, const std::vector<Type>& types, bool widens) {
  std::size_t at = 0;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const char letter = parameters[p];
    const char mark = p + 1 < parameters.size() ? parameters[p + 1] : ' ';
    if (mark == '*') {
      ++p;
      while (at < types.size() && fits_letter(letter, types, at, widens))
        ++at;
    } else if (mark == '?') {
      ++p;
      if (at < types.size() && fits_letter(letter, types, at, widens)) ++at;
    } else {
      if (at >= types.size() || !fits_letter(letter, types, at, widens)) return false;
      ++at;
    }
  }
  return at == types.size();
}

std::string_view letter_text(char letter) {
  switch (letter) {
    case 'i':
      return "integer";
    case 'f':
      return "float";
    case 's':
      return "string";
    case 'b':
      return "boolean";
    case 'F':
      return "file";
    case 'x':
      return "scalar";
    case 'C':
      return "container";
    case 'k':
      return "key";
    default:
      return "value";
  }
}

std::string signature_text(const Builtin& b) {
  std::string text(b.name);
  text += '(';
  for (const char c : b.parameters) {
    if (c == '?') {
      text += " or none";
    } else if (c == '*') {
      text += " ...";
    } else {
      if (!text.ends_with('(')) text += ", ";
      text += letter_text(c);
    }
  }
  return text + ')';
}

}  // namespace

std::span<const Builtin> builtins() noexcept {
  return kBuiltins;
}

Type Builtin::result_type() const {
  for (const Kind kind :
       {Kind::integer, Kind::floating, Kind::string, Kind::boolean, Kind::void_type}) {
    if (result == kind_name(kind)) return type_of(kind);
  }
  if (result == "container<integer, file>") return container_of(Kind::integer, type_of(Kind::file));
  RUBATO_REQUIRE(result == "container<integer, string>", result);
  return container_of(Kind::integer, type_of(Kind::string));
}

int find_builtin(std::string_view name, const std::vector<Type>& arguments) {
  for (const bool widens : {false, true}) {
    for (std::size_t i = 0; i < kBuiltins.size(); ++i) {
      const Builtin& b = kBuiltins.at(i);
      if (b.name == name && fits(b.parameters, arguments, widens)) return static_cast<int>(i);
    }
  }
  return -1;
}

bool is_builtin(std::string_view name) noexcept {
  const auto all = builtins();
  return std::any_of(all.begin(), all.end(), [&](const Builtin& b) { return b.name == name; });
}

std::vector<std::string> builtin_names() {
  std::vector<std::string> names;
  for (const Builtin& b : builtins()) {
    if (names.empty() || names.back() != b.name) names.emplace_back(b.name);
  }
  return names;
}

std::string signatures_text(std::string_view name) {
  std::string text;
  for (const Builtin& b : builtins()) {
    if (b.name != name) continue;
    if (!text.empty()) text += " or ";
    text += signature_text(b);
  }
  return text;
}

}  // namespace rubato::flow::tic
