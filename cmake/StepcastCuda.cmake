# STEPCAST_CUDA=AUTO|ON|OFF decides whether the GPU side of kernels/ can be built here. CMake's CUDA language is not
# enabled: a forecast needs none of it, and looking for it costs each first configuration seconds. nvcc is started by
# the rules of kernels/kernels.cmake, when somebody asks for what it makes.
set(STEPCAST_CUDA AUTO CACHE STRING "Offer the GPU side of kernels/: AUTO (when nvcc is found), ON or OFF")
set_property(CACHE STEPCAST_CUDA PROPERTY STRINGS AUTO ON OFF)
# "here": of the cards in this machine, of every generation where there are none; else numbers such as 80;90.
set(STEPCAST_GPU_ARCHITECTURES here CACHE STRING "GPU generations that machine code is made for")
set(STEPCAST_HAS_CUDA OFF)
if(NOT STEPCAST_CUDA STREQUAL "OFF")
  # NVIDIA's own installers leave nvcc off PATH.
  get_filename_component(folder "$ENV{CUDACXX}" DIRECTORY)
  find_program(STEPCAST_NVCC nvcc HINTS ${folder} PATHS /usr/local/cuda/bin)
  # nvcc may be a link into its toolkit, or a script that starts it.
  get_filename_component(toolkit "${STEPCAST_NVCC}" REALPATH)
  get_filename_component(toolkit "${toolkit}" DIRECTORY)
  get_filename_component(toolkit "${toolkit}" DIRECTORY)
  set(toolkits ${toolkit} $ENV{CUDA_HOME} $ENV{CUDA_PATH} /usr/local/cuda)
  set(places ${toolkits})
  list(TRANSFORM places APPEND /targets/${CMAKE_SYSTEM_PROCESSOR}-linux)
  find_path(STEPCAST_CUDA_INCLUDE cuda_runtime_api.h PATHS ${toolkits} ${places} PATH_SUFFIXES include)
  find_library(STEPCAST_CUDART cudart_static PATHS ${toolkits} ${places} PATH_SUFFIXES lib64 lib)
  mark_as_advanced(STEPCAST_NVCC STEPCAST_CUDA_INCLUDE STEPCAST_CUDART)
  if(STEPCAST_NVCC AND STEPCAST_CUDA_INCLUDE AND STEPCAST_CUDART)
    set(STEPCAST_HAS_CUDA ON)
  elseif(STEPCAST_CUDA STREQUAL "ON")
    message(FATAL_ERROR "STEPCAST_CUDA=ON, but no CUDA toolkit was found: put nvcc on PATH, set CUDACXX to it, "
                        "or set STEPCAST_CUDA=OFF")
  endif()
endif()
# Read by cmake/setup.sh: a toolkit that is installed later is looked for again.
file(CONFIGURE OUTPUT has_cuda CONTENT "${STEPCAST_HAS_CUDA}\n" @ONLY)
