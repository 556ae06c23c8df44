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

# rubato_compile_cases(NAME n SOURCE wrong.cc PATTERNS p1 p2 ..): tests n_0, n_1, .. of one source. With
# CASE=0 it must compile without a word, with CASE=i it must be refused with what matches the i-th pattern.
# (.cc: no layer globs the file.) Label unit.
function(rubato_compile_cases)
  cmake_parse_arguments(C "" "NAME;SOURCE" "PATTERNS" ${ARGN})
  list(LENGTH C_PATTERNS last)
  foreach(case RANGE ${last})
    add_test(NAME ${C_NAME}_${case}
             COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only -DCASE=${case}
                     -I${PROJECT_SOURCE_DIR}/src ${C_SOURCE})
    set_tests_properties(${C_NAME}_${case} PROPERTIES LABELS unit TIMEOUT 60)
    if(case GREATER 0)
      math(EXPR i "${case} - 1")
      list(GET C_PATTERNS ${i} pattern)
      set_tests_properties(${C_NAME}_${case} PROPERTIES PASS_REGULAR_EXPRESSION "${pattern}")
    endif()
  endforeach()
endfunction()
