# uPlot (MIT), the chart library of pages whose curves can be zoomed: embedded where cmake/setup.sh has fetched it
# before the configuration, and nothing where it has not, for pages do without. stepcast_uplot(SOURCE_VAR): a generated
# .cpp that defines embedded_uplot() (studies/timeline/page.h) with script, style sheet and licence, or with no file.
set(STEPCAST_NPM ${CMAKE_CURRENT_LIST_DIR}/../build/npm
  CACHE PATH "Folder with node_modules/uplot, from studies/print/page/npm")
mark_as_advanced(STEPCAST_NPM)

function(stepcast_uplot source_var)
  set(root ${STEPCAST_NPM}/node_modules/uplot)
  set(names LICENSE dist/uPlot.iife.min.js dist/uPlot.min.css)
  set(files ${names})
  list(TRANSFORM files PREPEND ${root}/)
  foreach(file IN LISTS files)
    if(NOT EXISTS ${file})
      set(names "")
      set(files "")
      break()
    endif()
  endforeach()
  # What comes later is noticed: the folder changes then, and setup.sh makes it before it configures.
  if(PROJECT_IS_TOP_LEVEL AND IS_DIRECTORY ${STEPCAST_NPM})
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${STEPCAST_NPM})
  endif()
  set(source ${PROJECT_BINARY_DIR}/generated/embedded_uplot.cpp)
  set(list ${PROJECT_BINARY_DIR}/generated/embedded_uplot.txt)
  list(JOIN names "\n" lines)
  file(CONFIGURE OUTPUT ${list} CONTENT "${lines}\n" @ONLY)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -D ROOT=${root} -D LIST=${list} -D FUNCTION=timeline::embedded_uplot
            -D OUTPUT=${source} -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${files} ${list} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    COMMENT "Embedding uPlot" VERBATIM)
  set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(${source_var} ${source} PARENT_SCOPE)
endfunction()
