# rubato_compile_fail(NAME n SOURCE wrong.cpp): tests that wrong use is refused with a readable message.
# The source is compiled twice: as it is it must fail, with each of its lines
#   // expect-error: TEXT
# somewhere in the compiler's output; with RUBATO_RIGHT defined it must compile without a word, so that
# it fails for the reason that it names and for no other. Label unit.
function(rubato_compile_fail)
  cmake_parse_arguments(C "" "NAME;SOURCE" "" ${ARGN})
  add_test(NAME ${C_NAME}
           COMMAND ${CMAKE_COMMAND} -DCXX=${CMAKE_CXX_COMPILER} -DINCLUDE=${PROJECT_SOURCE_DIR}/src
                   -DSOURCE=${C_SOURCE} -P ${PROJECT_SOURCE_DIR}/cmake/CompileFail.cmake)
  set_tests_properties(${C_NAME} PROPERTIES LABELS unit TIMEOUT 60)
endfunction()
