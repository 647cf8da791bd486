# STEPCAST_CUDA=AUTO|ON|OFF decides whether kernels/ times real GPUs or is built from its absent twins.
# check_language decides, not find_package(CUDAToolkit): the latter finds a toolkit whose compiler is out of reach.
set(STEPCAST_CUDA AUTO CACHE STRING "Build the GPU side of kernels/: AUTO (when nvcc is found), ON or OFF")
set_property(CACHE STEPCAST_CUDA PROPERTY STRINGS AUTO ON OFF)
set(STEPCAST_HAS_CUDA OFF)
if(STEPCAST_CUDA STREQUAL "OFF")
  return()
endif()

# NVIDIA's own installers leave nvcc off PATH.
find_program(STEPCAST_NVCC nvcc PATHS /usr/local/cuda/bin)
mark_as_advanced(STEPCAST_NVCC)
if(STEPCAST_NVCC AND NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  set(ENV{CUDACXX} ${STEPCAST_NVCC})
endif()
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  if(STEPCAST_CUDA STREQUAL "ON")
    message(FATAL_ERROR "STEPCAST_CUDA=ON, but no working nvcc was found: put it on PATH, set CUDACXX to it, "
                        "or set STEPCAST_CUDA=OFF")
  endif()
  return()
endif()

# Before enable_language: CMake would take nvcc's own default (75), whatever the card. Machine code of one architecture
# runs on the later ones of its generation: these five cover 7.5 to 12.1. tests/ compile for the others that cards for training
# have (8.9, 10.3); 8.6 has what 8.0 and 8.9 share; 8.7, 8.8 and 11.0 are of embedded modules.
execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
string(REGEX MATCHALL "compute_[0-9]+" known "${known}")
list(TRANSFORM known REPLACE "compute_" "")
set(STEPCAST_GENERATIONS 75 80 90 100 120)
set(STEPCAST_KNOWN_ARCHITECTURES ${known})
list(FILTER STEPCAST_KNOWN_ARCHITECTURES INCLUDE REGEX "^(75|80|89|90|100|103|120)$")
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(architectures)
  foreach(generation IN LISTS STEPCAST_GENERATIONS)
    if(generation IN_LIST known)
      list(APPEND architectures ${generation}-real)
    endif()
  endforeach()
  set(CMAKE_CUDA_ARCHITECTURES "${architectures}" CACHE STRING "GPU architectures compiled for")
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
# CMake before 3.25.2 knows no C++20 for nvcc; nvcc itself does.
if(CMAKE_VERSION VERSION_LESS 3.25.2)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(STEPCAST_HAS_CUDA ON)
