# The gates: rules of the house that a machine can check, as tests of label tidy, each with a canary
# that must be found. All are scripts in tools/, which can be called by hand too.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# rubato_gate(name [ARGS ..] [TIMEOUT 60]): the tests tidy.name (tools/check_name.py ARGS) and
# tidy.name_canary.
function(rubato_gate name)
  cmake_parse_arguments(G "" "TIMEOUT" "ARGS" ${ARGN})
  if(NOT G_TIMEOUT)
    set(G_TIMEOUT 60)
  endif()
  set(tools ${PROJECT_SOURCE_DIR}/tools)
  add_test(NAME tidy.${name} COMMAND Python3::Interpreter ${tools}/check_${name}.py ${G_ARGS})
  add_test(NAME tidy.${name}_canary
           COMMAND Python3::Interpreter ${tools}/canary.py ${name} ${PROJECT_BINARY_DIR})
  set_tests_properties(tidy.${name} tidy.${name}_canary PROPERTIES LABELS tidy TIMEOUT ${G_TIMEOUT})
  # It runs two jobs of its own.
  set_tests_properties(tidy.${name} PROPERTIES PROCESSORS 2)
endfunction()

rubato_gate(layers)
rubato_gate(sizes)
rubato_gate(calls)
rubato_gate(promises)
rubato_gate(format)
rubato_gate(headers ARGS ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR} TIMEOUT 300)
# clang-tidy on all files takes longer than CI may: see docs/decisions/0002.
rubato_gate(tidy ARGS ${PROJECT_BINARY_DIR} --budget 100 TIMEOUT 400)
add_test(NAME tidy.tidy_all COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/check_tidy.py
                                    ${PROJECT_BINARY_DIR})
set_tests_properties(tidy.tidy_all PROPERTIES LABELS "tidy;slow" TIMEOUT 7200 PROCESSORS 2)

# What README.md says and shows is so.
add_test(NAME readme.is_true COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/check_readme.py
                                     $<TARGET_FILE:rubato> $<TARGET_FILE:waves>)
add_test(NAME readme.canary COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/check_readme.py
                                    $<TARGET_FILE:rubato> $<TARGET_FILE:waves> --canary)
set_tests_properties(readme.is_true readme.canary PROPERTIES LABELS unit TIMEOUT 180)

# What ./rubato installs, builds and calls, on machines that are made up.
add_test(NAME wrapper.works COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/test_wrapper.py)
set_tests_properties(wrapper.works PROPERTIES LABELS unit TIMEOUT 60)
