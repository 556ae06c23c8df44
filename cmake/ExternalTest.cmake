# Run as a script: configures, builds and runs EXAMPLE, a project of its own, against the rubato in the
# build folder RUBATO_BUILD (FROM=build) or an install of it (FROM=install): its program PROGRAM with
# WORDS must print what matches EXPECT. Any failure is fatal.
set(work ${RUBATO_BUILD}/external-${PROGRAM}-${FROM})
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "failed (${code}): ${ARGN}\n${out}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

set(prefix ${RUBATO_BUILD})
if(FROM STREQUAL install)
  set(prefix ${work}/prefix)
  run(${CMAKE_COMMAND} --install ${RUBATO_BUILD} --prefix ${prefix})
endif()
run(${CMAKE_COMMAND} -S ${EXAMPLE} -B ${work}/build -G Ninja -DCMAKE_PREFIX_PATH=${prefix}
    -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF -DCMAKE_BUILD_TYPE=Debug)
run(${CMAKE_COMMAND} --build ${work}/build)
separate_arguments(WORDS)
run(${work}/build/${PROGRAM} ${WORDS})
if(NOT out MATCHES "${EXPECT}")
  message(FATAL_ERROR "expected the example to print \"${EXPECT}\", found: ${out}")
endif()
