# STEPCAST_CARRIED: a program that needs nothing but the C library where it runs, for machines on which only a driver
# and CUDA's libraries are installed. carry makes a folder of it.
option(STEPCAST_CARRIED "Link everything but the C library into the program" OFF)
set(STEPCAST_FMT fmt::fmt)
set(STEPCAST_YAML yaml-cpp)
set(STEPCAST_SQLITE SQLite::SQLite3)
set(STEPCAST_ZLIB ZLIB::ZLIB)
# stepcast_carried(VAR TARGET ARCHIVE PACKAGE): the archive instead of the shared library behind TARGET, as a target in
# VAR.
function(stepcast_carried var target archive package)
  find_library(${var}_ARCHIVE ${archive})
  if(NOT ${var}_ARCHIVE)
    message(FATAL_ERROR "STEPCAST_CARRIED needs ${archive} (Debian: ${package})")
  endif()
  string(TOLOWER ${var}_archive name)
  add_library(${name} INTERFACE)
  target_link_libraries(${name} INTERFACE $<BUILD_INTERFACE:${${var}_ARCHIVE}>)
  target_include_directories(${name} INTERFACE
    $<BUILD_INTERFACE:$<TARGET_PROPERTY:${target},INTERFACE_INCLUDE_DIRECTORIES>>)
  set(${var} $<BUILD_INTERFACE:${name}> PARENT_SCOPE)
endfunction()
if(STEPCAST_CARRIED)
  set(STEPCAST_FMT fmt::fmt-header-only)  # Debian has no libfmt.a
  stepcast_carried(STEPCAST_YAML yaml-cpp libyaml-cpp.a libyaml-cpp-dev)
  stepcast_carried(STEPCAST_SQLITE SQLite::SQLite3 libsqlite3.a libsqlite3-dev)
  stepcast_carried(STEPCAST_ZLIB ZLIB::ZLIB libz.a zlib1g-dev)
  add_link_options(-static-libstdc++ -static-libgcc)
endif()
