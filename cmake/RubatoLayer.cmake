# rubato_layer(base DEPS .. LIBS ..): the library rubato_base, alias rubato::base, from every .cpp of
# the current folder (and its subfolders) that is not a test, and the test program rubato_base_tests
# from every _test.cpp, one ctest entry for each TEST. New files need no edit of a CMakeLists.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)

add_library(rubato_flags INTERFACE)
add_library(rubato::flags ALIAS rubato_flags)
# -ffp-contract=off: a fused multiply-add rounds once where the source rounds twice, and only on some
# machines; bits must be equal everywhere. -fno-trapping-math does not change values, it lets
# comparisons vectorise; -fno-math-errno lets sqrt be one instruction.
target_compile_options(rubato_flags INTERFACE -ffp-contract=off -fno-math-errno -fno-trapping-math)
# A frame of more than a page meets the guard of a task's stack, however large it is.
target_compile_options(rubato_flags INTERFACE -fstack-clash-protection)
if(RUBATO_ARCH)
  target_compile_options(rubato_flags INTERFACE -march=${RUBATO_ARCH})
endif()
# Where there are vectors of 512 bits, compilers still use half of them; stencils in cache then lose a
# third. No flag of a machine without them.
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-mprefer-vector-width=512 RUBATO_HAS_VECTOR_WIDTH)
if(RUBATO_HAS_VECTOR_WIDTH)
  target_compile_options(rubato_flags INTERFACE -mprefer-vector-width=512)
endif()
target_compile_features(rubato_flags INTERFACE cxx_std_20)
if(RUBATO_SANITIZE)
  target_compile_options(rubato_flags INTERFACE -fsanitize=${RUBATO_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(rubato_flags INTERFACE -fsanitize=${RUBATO_SANITIZE})
endif()

add_library(rubato_warnings INTERFACE)
target_compile_options(rubato_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
# With optimisation, GCC 12 warns of memcpy inside its own std::string operator+ (its bug 105329).
# Not in the builds that clang-tidy reads, which does not know the flag.
target_compile_options(rubato_warnings INTERFACE $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-restrict>)
if(RUBATO_WERROR)
  target_compile_options(rubato_warnings INTERFACE -Werror)
endif()

function(rubato_layer name)
  cmake_parse_arguments(L "" "" "DEPS;LIBS;PRIVATE_LIBS;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE all CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  set(tests ${all})
  set(sources ${all})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  foreach(pattern IN LISTS L_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${pattern}")
    list(FILTER tests EXCLUDE REGEX "${pattern}")
  endforeach()
  set(target rubato_${name})
  if(sources)
    add_library(${target} STATIC ${sources})
    set(scope PUBLIC)
    target_link_libraries(${target} PRIVATE ${L_PRIVATE_LIBS})
    # Not linked: the export of a static library would name rubato_warnings to its users.
    target_compile_options(${target}
                           PRIVATE $<TARGET_PROPERTY:rubato_warnings,INTERFACE_COMPILE_OPTIONS>)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(rubato::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(${target} ${scope} $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                             $<INSTALL_INTERFACE:include>)
  target_link_libraries(${target} ${scope} rubato_flags ${L_LIBS})
  foreach(dep IN LISTS L_DEPS)
    target_link_libraries(${target} ${scope} rubato_${dep})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY RUBATO_LAYERS ${target})
  if(RUBATO_TESTS AND tests)
    rubato_test(NAME ${target}_tests FILES ${tests} LIBS ${target})
  endif()
endfunction()
