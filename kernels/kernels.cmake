# kernels/: every GPU source NAME_cuda.cu has an absent twin NAME_absent.cpp; exactly one of the two is built. What lies in
# kernels/cuda/ is theirs alone. cuBLASLt, cuDNN, NCCL and NVML are loaded at run time: nothing of them is linked.
file(GLOB gpu_sources ${PROJECT_SOURCE_DIR}/kernels/*_cuda.cu ${PROJECT_SOURCE_DIR}/kernels/cuda/*.cu)
file(GLOB absent_sources RELATIVE ${PROJECT_SOURCE_DIR}/kernels ${PROJECT_SOURCE_DIR}/kernels/*_absent.cpp)
if(STEPCAST_HAS_CUDA)
  stepcast_library(kernels LINKS model GENERATED ${gpu_sources} EXCEPT ${absent_sources})
  target_link_libraries(stepcast_kernels PRIVATE CUDA::cudart_static ${CMAKE_DL_LIBS})
  target_compile_options(stepcast_kernels PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)
  set_target_properties(stepcast_kernels PROPERTIES CUDA_RUNTIME_LIBRARY Static)
else()
  stepcast_library(kernels LINKS model)
  target_link_libraries(stepcast_kernels PRIVATE ${CMAKE_DL_LIBS})
endif()
