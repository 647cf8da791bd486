# kernels/: NAME_cuda.cpp and kernels/cuda/ are the GPU side: kernels in .cu, which nvcc compiles for each architecture,
# the rest in .cpp. It is a module, libstepcast_gpu.so, that the program loads when a GPU is asked for
# (kernels/gpu_module/gpu_side.h): no forecast waits for it, and it is built when somebody names its target. A carried
# program has it inside. cuBLASLt, cuDNN, NCCL and NVML are loaded at run time: nothing of them is linked.
set(folder ${PROJECT_SOURCE_DIR}/kernels)
file(GLOB_RECURSE gpu_sources ${folder}/*_cuda.cpp ${folder}/cuda/*.cpp)
file(GLOB_RECURSE gpu_kernels ${folder}/cuda/*.cu)
file(GLOB_RECURSE without RELATIVE ${folder} ${folder}/*_cuda.cpp ${folder}/cuda/*.cpp)
if(STEPCAST_CARRIED)
  list(APPEND without gpu_module/gpu_side_loaded.cpp)
endif()
# An object of its own: the module defines what is in it, and takes the other objects of the library.
set_source_files_properties(${folder}/gpu_module/gpu_side_loaded.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

# What the program and the module tell each other.
file(GLOB port_headers ${folder}/bench/*.h ${folder}/gpu_module/*.h ${folder}/process/*.h ${PROJECT_SOURCE_DIR}/model/base/*.h
  ${PROJECT_SOURCE_DIR}/model/machine/*.h ${PROJECT_SOURCE_DIR}/model/profile/*.h)
list(JOIN port_headers "," port_list)
set(port ${PROJECT_BINARY_DIR}/generated/kernels/gpu_module/gpu_port.h)
add_custom_command(OUTPUT ${port}
  COMMAND ${CMAKE_COMMAND} -D FILES=${port_list} -D OUTPUT=${port}
          -D COMPILER=${CMAKE_CXX_COMPILER_ID}-${CMAKE_CXX_COMPILER_VERSION}
          -P ${PROJECT_SOURCE_DIR}/cmake/gpu_port.cmake
  DEPENDS ${port_headers} ${PROJECT_SOURCE_DIR}/cmake/gpu_port.cmake
  COMMENT "Marking the port of the GPU side" VERBATIM)

stepcast_library(kernels LINKS model GENERATED ${port} EXCEPT ${without})
target_link_libraries(stepcast_kernels PRIVATE ${CMAKE_DL_LIBS})
if(NOT STEPCAST_HAS_CUDA)
  return()
endif()

# The module has what it uses of these two inside.
foreach(library model model_profile kernels)
  set_target_properties(stepcast_${library} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(stepcast_${library} PRIVATE -fno-semantic-interposition)
endforeach()

# Machine code: of one object for each .cu, all generations in it.
set(gpu_folder ${PROJECT_BINARY_DIR}/gpu)
set(gpu_options ${gpu_folder}/architectures.txt)
add_custom_target(stepcast_gpu_architectures BYPRODUCTS ${gpu_options}
  COMMAND ${CMAKE_COMMAND} -D NVCC=${STEPCAST_NVCC} "-D ARCHITECTURES=${STEPCAST_GPU_ARCHITECTURES}"
          -D OUTPUT=${gpu_options} -P ${PROJECT_SOURCE_DIR}/cmake/gpu_architectures.cmake VERBATIM)
set(nvcc ${STEPCAST_NVCC} -std=c++20 -ccbin ${CMAKE_CXX_COMPILER} -I${PROJECT_SOURCE_DIR} -DNDEBUG)

# stepcast_nvcc(OUTPUT SOURCE NAME OPTION...): a rule that compiles one .cu; it runs again when a header of it changes.
function(stepcast_nvcc output source)
  get_filename_component(parent ${output} DIRECTORY)
  file(MAKE_DIRECTORY ${parent})
  file(RELATIVE_PATH name ${PROJECT_BINARY_DIR} ${output})
  add_custom_command(OUTPUT ${output} COMMAND ${nvcc} ${ARGN} -MD -MF ${output}.d ${source} -o ${output}
    DEPENDS ${source} DEPFILE ${output}.d COMMENT "Compiling ${name}" VERBATIM)
endfunction()

# A folder's kernels are compiled at once: nvcc takes 8 s to read the headers of each source, for each architecture anew.
set(gpu_objects "")
set(gpu_all "")
set(gpu_units "")
foreach(source IN LISTS gpu_kernels)
  file(RELATIVE_PATH name ${folder} ${source})
  get_filename_component(unit ${name} DIRECTORY)
  string(REPLACE "/" "_" unit ${unit})
  list(APPEND gpu_units ${unit})
  string(APPEND gpu_unit_${unit} "#include \"kernels/${name}\"\n")
endforeach()
list(REMOVE_DUPLICATES gpu_units)
foreach(name IN LISTS gpu_units)
  set(source ${gpu_folder}/${name}.cu)
  file(CONFIGURE OUTPUT ${source} CONTENT "${gpu_unit_${name}}" @ONLY)
  set(object ${gpu_folder}/${name}.o)
  stepcast_nvcc(${object} ${source} -c -O3 -Xcompiler -fPIC,-fvisibility=hidden --options-file ${gpu_options})
  set_property(SOURCE ${object} PROPERTY EXTERNAL_OBJECT ON)
  add_custom_command(OUTPUT ${object} DEPENDS ${gpu_options} stepcast_gpu_architectures APPEND)
  list(APPEND gpu_objects ${object})
  string(APPEND gpu_all "${gpu_unit_${name}}")
endforeach()
# `./test --ci` checks them without machine code: the sources ask for 8.0 and 9.0 or later, and each else of theirs is
# one of 7.5 too, so that two architectures see all that they say. ptxas, and the optimisers before it, are most of what
# nvcc takes. All five folders at once read the same headers once: they take 16.8 s, two of them alone took 16.2.
file(CONFIGURE OUTPUT ${gpu_folder}/check.cu CONTENT "${gpu_all}" @ONLY)
stepcast_nvcc(${gpu_folder}/check.o ${gpu_folder}/check.cu -c -Xcicc -O0 -Xcompiler -O0
  -gencode arch=compute_75,code=compute_75 -gencode arch=compute_90,code=compute_90)

add_library(stepcast_gpu_host OBJECT EXCLUDE_FROM_ALL ${gpu_sources} ${port})
set_target_properties(stepcast_gpu_host PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
target_compile_options(stepcast_gpu_host PRIVATE ${STEPCAST_WARNINGS})
target_include_directories(stepcast_gpu_host SYSTEM PRIVATE ${STEPCAST_CUDA_INCLUDE})
target_link_libraries(stepcast_gpu_host PRIVATE stepcast_model)
stepcast_unity(stepcast_gpu_host ${gpu_sources})
set(gpu_links ${STEPCAST_CUDART} Threads::Threads ${CMAKE_DL_LIBS} rt)
if(STEPCAST_CARRIED)
  add_library(stepcast_gpu STATIC EXCLUDE_FROM_ALL ${gpu_objects} $<TARGET_OBJECTS:stepcast_gpu_host>)
  set_target_properties(stepcast_gpu PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(stepcast_kernels INTERFACE $<BUILD_INTERFACE:stepcast_gpu> $<BUILD_INTERFACE:${gpu_links}>)
  target_link_libraries(stepcast_gpu PRIVATE stepcast_kernels ${gpu_links})
else()
  add_library(stepcast_gpu MODULE EXCLUDE_FROM_ALL ${gpu_objects} $<TARGET_OBJECTS:stepcast_gpu_host>)
  set_target_properties(stepcast_gpu PROPERTIES LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_link_libraries(stepcast_gpu PRIVATE stepcast_kernels ${gpu_links})
  target_link_options(stepcast_gpu PRIVATE -Wl,--exclude-libs,ALL)
  install(TARGETS stepcast_gpu LIBRARY DESTINATION lib/stepcast OPTIONAL)
endif()
if(STEPCAST_TESTS AND STEPCAST_TREE_CHECKS)
  add_custom_target(stepcast_gpu_check DEPENDS ${gpu_folder}/check.o)
endif()
