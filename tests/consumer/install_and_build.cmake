# Installs BUILD into a fresh folder, builds CONSUMER against it, runs it and looks for VERSION in what it prints.
file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix}
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/build -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${CXX}
  -D CMAKE_PREFIX_PATH=${prefix} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/build COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${WORK}/build/consumer OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
if(NOT said MATCHES "^${VERSION} 1 s ")
  message(FATAL_ERROR "the consumer printed '${said}'")
endif()
if(EXISTS ${prefix}/bin/stepcast)
  execute_process(COMMAND ${prefix}/bin/stepcast --version OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
  if(NOT said MATCHES "${VERSION}")
    message(FATAL_ERROR "the installed program printed '${said}' for --version")
  endif()
endif()
