# Run as a script at each build: writes OUTPUT with version, commit and build type. The file is touched
# only when a value has changed, so that nothing is compiled in vain.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --match=never
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE bad)
if(bad OR NOT commit)
  set(commit unknown)
endif()
set(text "#pragma once
// Written by cmake/BuildInfo.cmake.
namespace rubato::tools {
inline constexpr const char* kBuildVersion = \"${VERSION}\";
inline constexpr const char* kBuildCommit = \"${commit}\";
inline constexpr const char* kBuildType = \"${BUILD_TYPE}\";
}  // namespace rubato::tools
")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()
