# kernels/: every NAME_cuda.cpp has an absent twin NAME_absent.cpp; exactly one of the two is built. What lies in
# kernels/cuda/ is theirs alone: kernels in .cu, which nvcc compiles for each architecture, the rest in .cpp.
# cuBLASLt, cuDNN, NCCL and NVML are loaded at run time: nothing of them is linked.
set(folder ${PROJECT_SOURCE_DIR}/kernels)
file(GLOB_RECURSE cuda_sources RELATIVE ${folder} ${folder}/*_cuda.cpp ${folder}/cuda/*.cpp)
file(GLOB_RECURSE absent_sources RELATIVE ${folder} ${folder}/*_absent.cpp)
file(GLOB_RECURSE STEPCAST_GPU_SOURCES ${folder}/cuda/*.cu)
if(STEPCAST_HAS_CUDA)
  stepcast_library(kernels LINKS model GENERATED ${STEPCAST_GPU_SOURCES} EXCEPT ${absent_sources})
  target_link_libraries(stepcast_kernels PRIVATE CUDA::cudart_static)
  target_compile_options(stepcast_kernels PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)
  set_target_properties(stepcast_kernels PROPERTIES CUDA_RUNTIME_LIBRARY Static)
  # CUDA's headers are wide, and names in these files are as short as if each were alone.
  list(TRANSFORM cuda_sources PREPEND ${folder}/)
  set_source_files_properties(${cuda_sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
else()
  stepcast_library(kernels LINKS model EXCEPT ${cuda_sources})
endif()
target_link_libraries(stepcast_kernels PRIVATE ${CMAKE_DL_LIBS})
