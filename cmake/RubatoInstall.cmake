# Install and export: find_package(rubato) works from an install prefix and from a build folder
# (cmake -DCMAKE_PREFIX_PATH=PREFIX_OR_BUILD_FOLDER). Included after all layers.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(layers GLOBAL PROPERTY RUBATO_LAYERS)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/rubato)
# Packages of imported targets that any layer links; a new one is named here.
set(RUBATO_PACKAGES Threads fmt ZLIB PNG CLI11 nlohmann_json)

set_target_properties(rubato_flags PROPERTIES EXPORT_NAME flags)
install(TARGETS rubato_flags ${layers} EXPORT rubatoTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY src/rubato DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp"
        PATTERN "*.h")
install(EXPORT rubatoTargets NAMESPACE rubato:: DESTINATION ${package_folder})
export(EXPORT rubatoTargets NAMESPACE rubato:: FILE ${PROJECT_BINARY_DIR}/rubatoTargets.cmake)

configure_package_config_file(cmake/rubatoConfig.cmake.in ${PROJECT_BINARY_DIR}/rubatoConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/rubatoConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/rubatoConfig.cmake ${PROJECT_BINARY_DIR}/rubatoConfigVersion.cmake
        DESTINATION ${package_folder})

# An example that is a project of its own, built and run against the build folder or an install.
function(rubato_external_example program folder from expect)
  set(name example.${program}_${from})
  add_test(NAME ${name}
           COMMAND ${CMAKE_COMMAND} -DFROM=${from} -DRUBATO_BUILD=${PROJECT_BINARY_DIR}
                   -DEXAMPLE=${PROJECT_SOURCE_DIR}/examples/${folder} -DPROGRAM=${program}
                   "-DWORDS=${ARGN}" "-DEXPECT=${expect}"
                   -P ${PROJECT_SOURCE_DIR}/cmake/ExternalTest.cmake)
  set_tests_properties(${name} PROPERTIES LABELS example TIMEOUT 120)
endfunction()

# Several examples, "FOLDER/PROGRAM WORDS" each, configured together: each says that it is right.
function(rubato_external_examples name from)
  add_test(NAME example.${name}_${from}
           COMMAND ${CMAKE_COMMAND} -DFROM=${from} -DRUBATO_BUILD=${PROJECT_BINARY_DIR}
                   -DEXAMPLE=${PROJECT_SOURCE_DIR}/examples -DPROGRAM=${name} "-DRUNS=${ARGN}"
                   -DEXPECT=right -P ${PROJECT_SOURCE_DIR}/cmake/ExternalTest.cmake)
  set_tests_properties(example.${name}_${from} PROPERTIES LABELS example TIMEOUT 300)
endfunction()

if(RUBATO_TESTS)
  rubato_external_example(external external build "the same bits")
  rubato_external_example(external external install "the same bits")
  rubato_external_example(life 01_life install "life local: 30 ticks .* 4 virtual nodes"
                          --ticks 30 --simulate 4)
  rubato_external_example(gnats 03_gnats build "gnats local: 20 ticks .* 4 virtual nodes"
                          --ticks 20 --simulate 4)
  rubato_external_example(hops 04_hops build "hops local: 5 ticks .* 2 virtual nodes"
                          --ticks 5 --simulate 2 --labels text --from Reykjavik
                          --input ${PROJECT_SOURCE_DIR}/examples/04_hops/flights.txt)
  rubato_external_example(opinions 25_opinions build
                          "opinions asytick-plb .pieces.8..: 60 ticks .* 4 virtual nodes"
                          --ticks 60 --simulate 4 --policy asytick-plb)
  rubato_external_example(letters 05_letters install "e 7.*s 8")
  rubato_external_example(updates 06_updates build "1000000 updates of 4096 words" 12 1)
  rubato_external_example(words 07_words build "the 3.*and 2")
  rubato_external_example(queens 08_queens build "8 queens stand in 92 ways, which is right" 8)
  rubato_external_example(trees 09_trees build "63914 vertices, 51124 leaves, depth 7: right")
  rubato_external_example(sort 10_sort build "65536 keys of 12 bits, sorted" 16 12)
  rubato_external_example(prefix 11_prefix build "1000000 sums, all right")
  rubato_external_example(permutation 12_permutation build
                          "131072 items, seed 1, fingerprint 9014ceb84dcd6499: a permutation")
  rubato_external_example(transpose 13_transpose build "8192 rows, 82440 entries, transposed")
  rubato_external_example(fibonacci 19_fibonacci install "fibonacci.18. is 2584" 18)
  rubato_external_example(programs 21_programs build "sorted and merged by programs" 5 ${PROJECT_BINARY_DIR})
  rubato_external_examples(flows build "14_docking/docking 6 50" 15_knapsack/knapsack
                           "16_sweep/sweep 10"
                           "17_wordcount/wordcount ${PROJECT_SOURCE_DIR}/examples/README.md"
                           "18_wavefront/wavefront 1000" "23_walks/walks 9")
endif()
