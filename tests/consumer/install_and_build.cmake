# Installs BUILD into a fresh folder, builds EXAMPLE against it where SQLite, yaml-cpp and zlib are not to be found, and
# looks in what it prints for the figures of the installed program.
file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix}
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -S ${EXAMPLE} -B ${WORK}/build -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${CXX}
  -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_DISABLE_FIND_PACKAGE_SQLite3=ON -D CMAKE_DISABLE_FIND_PACKAGE_yaml-cpp=ON
  -D CMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/build --verbose OUTPUT_VARIABLE commands COMMAND_ERROR_IS_FATAL ANY)
if(NOT commands MATCHES "libstepcast_run")
  message(FATAL_ERROR "no link of stepcast::run was seen in: ${commands}")
endif()
string(TOLOWER "${commands}" commands)
if(commands MATCHES "sqlite|yaml|libz|cli11|libstepcast_(studies|translate|calibrate|kernels)")
  message(FATAL_ERROR "the example links more than stepcast::run: ${CMAKE_MATCH_0}")
endif()
execute_process(COMMAND ${WORK}/build/forecast OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
if(NOT said MATCHES "512 GPUs .stepcast ${VERSION}.\nstep time ([0-9.]+ s), .*\n(MFU [0-9.]+ %)\nmemory [0-9.]+ of [0-9.]+ GB\n")
  message(FATAL_ERROR "the example printed '${said}'")
endif()
set(step_time ${CMAKE_MATCH_1})
set(mfu ${CMAKE_MATCH_2})
execute_process(COMMAND ${prefix}/bin/stepcast predict llama3-70b --machine dgx-h100 --gpus 512 --tp 8 --pp 4 --global-batch 1024
  OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
foreach(figure "${step_time}" "${mfu}")
  string(FIND "${said}" "${figure}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "the example says '${figure}', the installed program: ${said}")
  endif()
endforeach()
execute_process(COMMAND ${prefix}/bin/stepcast --version OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
if(NOT said MATCHES "${VERSION}")
  message(FATAL_ERROR "the installed program printed '${said}' for --version")
endif()
