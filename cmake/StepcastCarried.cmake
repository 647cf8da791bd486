# STEPCAST_CARRIED: a program that needs nothing but the C library where it runs, for machines on which only a driver and
# CUDA's libraries are installed. carry makes a folder of it.
option(STEPCAST_CARRIED "Link everything but the C library into the program" OFF)
set(STEPCAST_FMT fmt::fmt)
set(STEPCAST_YAML yaml-cpp)
if(STEPCAST_CARRIED)
  set(STEPCAST_FMT fmt::fmt-header-only)  # Debian has no libfmt.a
  find_library(STEPCAST_YAML_ARCHIVE libyaml-cpp.a)
  if(NOT STEPCAST_YAML_ARCHIVE)
    message(FATAL_ERROR "STEPCAST_CARRIED needs libyaml-cpp.a (Debian: libyaml-cpp-dev)")
  endif()
  add_library(stepcast_yaml INTERFACE)
  target_link_libraries(stepcast_yaml INTERFACE $<BUILD_INTERFACE:${STEPCAST_YAML_ARCHIVE}>)
  target_include_directories(stepcast_yaml INTERFACE
    $<BUILD_INTERFACE:$<TARGET_PROPERTY:yaml-cpp,INTERFACE_INCLUDE_DIRECTORIES>>)
  set(STEPCAST_YAML $<BUILD_INTERFACE:stepcast_yaml>)
  add_link_options(-static-libstdc++ -static-libgcc)
endif()
