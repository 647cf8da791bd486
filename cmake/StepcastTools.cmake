# What makes builds of this project faster where it is installed; a project that contains this one decides for itself.
find_program(STEPCAST_MOLD mold)
mark_as_advanced(STEPCAST_MOLD)
if(STEPCAST_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# A unit of tests compiles in 7.4 instead of 10.1 s with sanitizers and precompiled headers; at -O1 and -O2 nothing is
# gained, for libraries little (17.6 instead of 17.1 s, 12.4 instead of 13.5 s).
option(STEPCAST_PRECOMPILED "Precompile the headers that tests share" OFF)

find_program(STEPCAST_CCACHE ccache)
mark_as_advanced(STEPCAST_CCACHE)
if(STEPCAST_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${STEPCAST_CCACHE})
  if(STEPCAST_PRECOMPILED)
    # ccache then takes a precompiled header for what it was made from.
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${STEPCAST_CCACHE})
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endif()
