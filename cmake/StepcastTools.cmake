# What makes builds of this project faster where it is installed; a project that contains this one decides for itself.
find_program(STEPCAST_MOLD mold)
mark_as_advanced(STEPCAST_MOLD)
if(STEPCAST_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

find_program(STEPCAST_CCACHE ccache)
mark_as_advanced(STEPCAST_CCACHE)
if(STEPCAST_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${STEPCAST_CCACHE})
endif()
