# rubato_test(NAME n FILES a_test.cpp LIBS rubato_core [NODES 1 2 3] [LABELS slow] [TIMEOUT 20])
# One GoogleTest program. Without NODES it has one ctest entry for each TEST (label unit). With NODES it
# has one entry for each node count and installed MPI, named n.<mpi>.<nodes> (label mpi): every process
# runs all tests, its main is net/testing/nodes_main.cpp, which says what the tests may expect.
# rubato_test_job(NAME n COMMAND a b NODES 1 2 [EXIT 0] [LABELS ..] [TIMEOUT 20]) has the same entries for
# any program of the build, e.g. an example under MPI; the launcher must return EXIT.
# rubato_many_seeds(PROGRAM rubato_core_tests SUITES Finish Messages SEEDS 1000 [TIMEOUT 3600]) has an
# entry for each suite, Finish.1000_seeds (labels unit, slow): its properties with that many seeds in
# place of the number that they say (base/seeds_test.hpp).
find_package(GTest REQUIRED)
include(GoogleTest)

function(rubato_test_job)
  cmake_parse_arguments(J "" "NAME;TIMEOUT;EXIT" "COMMAND;NODES;LABELS" ${ARGN})
  if(NOT J_TIMEOUT)
    set(J_TIMEOUT 20)
  endif()
  set(check "")
  foreach(mpi IN LISTS RUBATO_MPIS)
    foreach(n IN LISTS J_NODES)
      set(entry ${J_NAME}.${mpi}.${n})
      if(J_EXIT)
        set(check sh -c "\"$0\" \"$@\" && exit 1 || test $? -eq ${J_EXIT}")
      endif()
      add_test(NAME ${entry} COMMAND ${check} ${RUBATO_MPI_${mpi}_RUN} ${n} ${J_COMMAND})
      # PROCESSORS: jobs beside each other on few cores only make each other late.
      set_tests_properties(${entry} PROPERTIES
        TIMEOUT ${J_TIMEOUT} LABELS "mpi;${J_LABELS}" PROCESSORS 2
        ENVIRONMENT "RUBATO_PLUGIN_DIR=${CMAKE_BINARY_DIR}/lib/rubato")
    endforeach()
  endforeach()
endfunction()

function(rubato_test)
  cmake_parse_arguments(T "" "NAME;TIMEOUT" "FILES;LIBS;NODES;LABELS" ${ARGN})
  add_executable(${T_NAME} ${T_FILES})
  target_link_libraries(${T_NAME} PRIVATE ${T_LIBS} rubato_warnings GTest::gtest)
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 60)
  endif()
  if(NOT T_NODES)
    target_link_libraries(${T_NAME} PRIVATE GTest::gtest_main)
    gtest_discover_tests(${T_NAME} DISCOVERY_MODE PRE_TEST
                         PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS "unit;${T_LABELS}")
    return()
  endif()
  target_link_libraries(${T_NAME} PRIVATE rubato_nodes_main)
  foreach(mpi IN LISTS RUBATO_MPIS)
    add_dependencies(${T_NAME} rubato_mpi_${mpi})
  endforeach()
  rubato_test_job(NAME ${T_NAME} COMMAND $<TARGET_FILE:${T_NAME}> NODES ${T_NODES}
                  TIMEOUT ${T_TIMEOUT} LABELS ${T_LABELS})
endfunction()

function(rubato_many_seeds)
  cmake_parse_arguments(M "" "PROGRAM;SEEDS;TIMEOUT" "SUITES" ${ARGN})
  if(NOT M_TIMEOUT)
    set(M_TIMEOUT 3600)
  endif()
  foreach(suite IN LISTS M_SUITES)
    # A suite with parameters has the name of its set before its own.
    add_test(NAME ${suite}.${M_SEEDS}_seeds
             COMMAND ${M_PROGRAM} --gtest_filter=${suite}.*:*/${suite}.*)
    set_tests_properties(${suite}.${M_SEEDS}_seeds PROPERTIES
      ENVIRONMENT RUBATO_SEEDS=${M_SEEDS} LABELS "unit;slow" TIMEOUT ${M_TIMEOUT}
      FAIL_REGULAR_EXPRESSION "Running 0 tests")
  endforeach()
endfunction()
