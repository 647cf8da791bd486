# One static library per folder, and data files compiled into it.

# -Wrestrict of g++ 12 warns of "text" + std::string (GCC PR 105651).
set(STEPCAST_WARNINGS -Wall -Wextra -Wno-restrict)

# stepcast_watch(FOLDER...): configure again when a file comes to, or leaves, one of these folders or those below them.
# The folders themselves are inputs of the build: their time changes with their list of files. file(GLOB
# CONFIGURE_DEPENDS) would start CMake before every build instead, and that is half of what ./stepcast may take.
function(stepcast_watch)
  foreach(folder IN LISTS ARGN)
    file(GLOB_RECURSE watched LIST_DIRECTORIES ON ${PROJECT_SOURCE_DIR}/${folder}/*)
    list(FILTER watched EXCLUDE REGEX "\\.[a-z]+$")
    list(APPEND watched ${PROJECT_SOURCE_DIR}/${folder})
    foreach(entry IN LISTS watched)
      if(IS_DIRECTORY ${entry})
        set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${entry})
      endif()
    endforeach()
  endforeach()
endfunction()

# stepcast_unity(TARGET SOURCE...): in unity builds the sources of a target are compiled in equal parts of at most
# STEPCAST_UNITY_BYTES, in the order of their folders: an edited source compiles its part anew, and larger parts read
# the same headers less often. A name is its own in the namespace of its folder.
set(STEPCAST_UNITY_BYTES 85000 CACHE STRING "Bytes of sources that are compiled at once")
function(stepcast_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  list(SORT ARGN)
  set(all 0)
  foreach(source IN LISTS ARGN)
    file(SIZE ${source} size)
    math(EXPR all "${all} + ${size}")
  endforeach()
  math(EXPR parts "(${all} + ${STEPCAST_UNITY_BYTES} - 1) / ${STEPCAST_UNITY_BYTES}")
  set(before 0)
  foreach(source IN LISTS ARGN)
    file(SIZE ${source} size)
    math(EXPR part "(2 * ${before} + ${size}) * ${parts} / (2 * ${all} + 1)")
    math(EXPR before "${before} + ${size}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${part})
  endforeach()
endfunction()

# stepcast_leave_out(SOURCES ROOT NAME...): takes files and folders of ROOT out of a list.
function(stepcast_leave_out list_var root)
  set(sources ${${list_var}})
  foreach(except IN LISTS ARGN)
    string(REPLACE "." "\\." except ${root}/${except})
    list(FILTER sources EXCLUDE REGEX "^${except}(/|$)")
  endforeach()
  set(${list_var} ${sources} PARENT_SCOPE)
endfunction()

# stepcast_library(model FOLDER ... LINKS ... INSIDE ... HEADER_ONLY ... GENERATED ... EXCEPT ...): every .cpp of the
# folder, by default the one of that name; its headers are installed. LINKS are public: the arrows between folders.
# INSIDE are compiled libraries that only the .cpp files use: whoever links this one links them too, without their
# headers. HEADER_ONLY libraries are used by the .cpp files and are no business of whoever links the library. EXCEPT
# names files and folders that are not part of it.
function(stepcast_library name)
  cmake_parse_arguments(ARG "" "FOLDER" "LINKS;INSIDE;HEADER_ONLY;GENERATED;EXCEPT" ${ARGN})
  if(NOT ARG_FOLDER)
    set(ARG_FOLDER ${name})
  endif()
  set(root ${PROJECT_SOURCE_DIR}/${ARG_FOLDER})
  file(GLOB_RECURSE sources ${root}/*.cpp)
  stepcast_leave_out(sources ${root} ${ARG_EXCEPT})
  add_library(stepcast_${name} STATIC ${sources} ${ARG_GENERATED})
  stepcast_unity(stepcast_${name} ${sources})
  add_library(stepcast::${name} ALIAS stepcast_${name})
  set_target_properties(stepcast_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(stepcast_${name} PUBLIC cxx_std_20)
  target_compile_options(stepcast_${name} PRIVATE ${STEPCAST_WARNINGS})
  target_include_directories(stepcast_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>
    $<INSTALL_INTERFACE:include/stepcast>)
  list(TRANSFORM ARG_LINKS PREPEND stepcast_)
  target_link_libraries(stepcast_${name} PUBLIC ${STEPCAST_FMT} tl::expected ${ARG_LINKS} PRIVATE ${ARG_INSIDE})
  foreach(header_only IN LISTS ARG_HEADER_ONLY)
    target_link_libraries(stepcast_${name} PRIVATE $<BUILD_INTERFACE:${header_only}>)
  endforeach()
  install(TARGETS stepcast_${name} EXPORT stepcast)
endfunction()

# stepcast_objects(NAME LIBRARY FOLDER ... EXCEPT ...): the sources of a folder as part of a library, with compile
# options of their own.
function(stepcast_objects name library)
  cmake_parse_arguments(ARG "" "FOLDER" "EXCEPT" ${ARGN})
  set(root ${PROJECT_SOURCE_DIR}/${ARG_FOLDER})
  file(GLOB_RECURSE sources ${root}/*.cpp)
  stepcast_leave_out(sources ${root} ${ARG_EXCEPT})
  add_library(stepcast_${name} OBJECT ${sources})
  stepcast_unity(stepcast_${name} ${sources})
  target_compile_features(stepcast_${name} PRIVATE cxx_std_20)
  target_compile_options(stepcast_${name} PRIVATE ${STEPCAST_WARNINGS})
  target_include_directories(stepcast_${name} PRIVATE $<TARGET_PROPERTY:stepcast_${library},INCLUDE_DIRECTORIES>)
  target_compile_definitions(stepcast_${name} PRIVATE $<TARGET_PROPERTY:stepcast_${library},COMPILE_DEFINITIONS>)
  target_sources(stepcast_${library} PRIVATE $<TARGET_OBJECTS:stepcast_${name}>)
endfunction()

# stepcast_embed(SOURCE_VAR FUNCTION FOLDER PATTERN): a generated .cpp that defines FUNCTION, named as seen from
# the namespace stepcast, with every file of FOLDER that matches PATTERN; its path goes to SOURCE_VAR. Made anew when a
# file is added, removed or edited.
function(stepcast_embed source_var function folder pattern)
  set(root ${PROJECT_SOURCE_DIR}/${folder})
  file(GLOB_RECURSE names RELATIVE ${root} ${root}/${pattern})
  list(SORT names)
  set(files ${names})
  list(TRANSFORM files PREPEND ${root}/)
  string(REGEX REPLACE ".*::" "" stem ${function})
  set(source ${PROJECT_BINARY_DIR}/generated/${stem}.cpp)
  set(list ${PROJECT_BINARY_DIR}/generated/${stem}.txt)
  list(JOIN names "\n" lines)
  file(CONFIGURE OUTPUT ${list} CONTENT "${lines}\n" @ONLY)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -D ROOT=${root} -D LIST=${list} -D FUNCTION=${function} -D OUTPUT=${source}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${files} ${list} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    COMMENT "Embedding ${folder}" VERBATIM)
  # On its own in unity builds: an edited data file then compiles nothing else.
  set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(${source_var} ${source} PARENT_SCOPE)
endfunction()
