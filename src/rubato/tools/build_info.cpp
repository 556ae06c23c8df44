#include "rubato/tools/build_info.hpp"

#include "rubato/io/json.hpp"
#include "rubato_build_values.hpp"

namespace rubato::tools {

const char* version() noexcept {
  return kBuildVersion;
}
const char* commit() noexcept {
  return kBuildCommit;
}
const char* build_type() noexcept {
  return kBuildType;
}

std::string compiler() {
  return std::string("g++ ") + __VERSION__;
}

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
#ifdef __FMA__
  names.emplace_back("fma");
#endif
#ifdef __AVX__
  names.emplace_back("avx");
#endif
#ifdef __AVX2__
  names.emplace_back("avx2");
#endif
#ifdef __AVX512F__
  names.emplace_back("avx512f");
#endif
#ifdef __AVX512DQ__
  names.emplace_back("avx512dq");
#endif
  return names;
}

std::string describe_build() {
  return std::string("rubato ") + kBuildVersion + " (" + kBuildCommit + ", " + kBuildType + ", " +
         compiler() + ")";
}

std::string describe_build_as_json() {
  io::JsonWriter json;
  json.begin_object()
      .field("program", "rubato")
      .field("version", version())
      .field("commit", commit())
      .field("build_type", build_type())
      .field("compiler", compiler())
      .key("instruction_sets")
      .begin_array();
  for (const std::string& name : instruction_sets())
    json.value(name);
  json.end_array().end_object();
  return json.text();
}

}  // namespace rubato::tools
