#include "rubato/tools/build_info.hpp"

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

std::string describe_build() {
  return std::string("rubato ") + kBuildVersion + " (" + kBuildCommit + ", " + kBuildType +
         ", g++ " + __VERSION__ + ")";
}

}  // namespace rubato::tools
