# Which MPIs are installed: RUBATO_MPIS (of openmpi, mpich), and for each of them
# RUBATO_MPI_<mpi>_COMPILE, _LINK (flags for C) and _RUN (the command that starts N processes, without
# N). Asks the wrappers of each MPI: FindMPI picks one, and we build a plugin for every one.

# Keeps the words of `text` that are worth handing on; what -show prints has a compiler in front.
function(_rubato_mpi_words text regex out)
  separate_arguments(words UNIX_COMMAND "${text}")
  list(FILTER words INCLUDE REGEX "${regex}")
  set(${out} "${words}" PARENT_SCOPE)
endfunction()

function(_rubato_find_mpi mpi marker version_flag compile_flag link_flag)
  find_program(RUBATO_MPICC_${mpi} NAMES mpicc.${mpi} mpicc)
  find_program(RUBATO_MPIRUN_${mpi} NAMES mpirun.${mpi} mpirun)
  mark_as_advanced(RUBATO_MPICC_${mpi} RUBATO_MPIRUN_${mpi})
  if(NOT RUBATO_MPICC_${mpi} OR NOT RUBATO_MPIRUN_${mpi})
    return()
  endif()
  # A bare mpicc may belong to the other MPI.
  execute_process(COMMAND ${RUBATO_MPICC_${mpi}} ${version_flag} OUTPUT_VARIABLE version
                  ERROR_VARIABLE version RESULT_VARIABLE failed)
  if(failed OR NOT version MATCHES "${marker}")
    return()
  endif()
  execute_process(COMMAND ${RUBATO_MPICC_${mpi}} ${compile_flag} OUTPUT_VARIABLE compile
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND ${RUBATO_MPICC_${mpi}} ${link_flag} OUTPUT_VARIABLE link
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  _rubato_mpi_words("${compile}" "^-[ID]" compile)
  _rubato_mpi_words("${link}" "^-[Ll]|^-Wl,-rpath" link)
  set(RUBATO_MPI_${mpi}_COMPILE "${compile}" PARENT_SCOPE)
  set(RUBATO_MPI_${mpi}_LINK "${link}" PARENT_SCOPE)
  set(RUBATO_MPIS ${RUBATO_MPIS} ${mpi} PARENT_SCOPE)
endfunction()

set(RUBATO_MPIS "")
_rubato_find_mpi(openmpi "Open MPI" --showme:version --showme:compile --showme:link)
_rubato_find_mpi(mpich "MPICH" -v -compile-info -link-info)

# Tests run more ranks than this machine has cores, maybe as root: without these Open MPI refuses, and
# with eight ranks on two cores that do not yield a barrier takes milliseconds.
set(RUBATO_MPI_openmpi_RUN ${RUBATO_MPIRUN_openmpi} --oversubscribe --allow-run-as-root --bind-to none
    --mca mpi_yield_when_idle 1 -np)
set(RUBATO_MPI_mpich_RUN ${RUBATO_MPIRUN_mpich} -np)
