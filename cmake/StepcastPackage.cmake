# What `cmake --install` adds for find_package(stepcast).
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/stepcast)
foreach(folder model dataflow sim kernels calibrate studies)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION include/stepcast
    FILES_MATCHING PATTERN *.h PATTERN catalog EXCLUDE PATTERN aliases EXCLUDE PATTERN cuda EXCLUDE)
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/generated/model/version.h DESTINATION include/stepcast/model)
install(EXPORT stepcast NAMESPACE stepcast:: FILE stepcast-targets.cmake DESTINATION ${package_dir})
configure_package_config_file(cmake/stepcast-config.cmake.in ${PROJECT_BINARY_DIR}/stepcast-config.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/stepcast-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/stepcast-config.cmake ${PROJECT_BINARY_DIR}/stepcast-config-version.cmake
  DESTINATION ${package_dir})
