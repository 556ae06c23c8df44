# rubato_test(NAME n FILES a_test.cpp LIBS rubato_core [NODES 1 2 3] [LABELS slow] [TIMEOUT 20])
# One GoogleTest program. Without NODES it has one ctest entry for each TEST (label unit). With NODES it
# has one entry for each node count and installed MPI, run under `rubato launch` (label mpi).
find_package(GTest REQUIRED)
include(GoogleTest)

function(rubato_test)
  cmake_parse_arguments(T "" "NAME;TIMEOUT" "FILES;LIBS;NODES;LABELS" ${ARGN})
  add_executable(${T_NAME} ${T_FILES})
  target_link_libraries(${T_NAME} PRIVATE ${T_LIBS} rubato_warnings GTest::gtest)
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 20)
  endif()
  if(NOT T_NODES)
    target_link_libraries(${T_NAME} PRIVATE GTest::gtest_main)
    gtest_discover_tests(${T_NAME} DISCOVERY_MODE PRE_TEST
                         PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS "unit;${T_LABELS}")
  endif()
endfunction()
