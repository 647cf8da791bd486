// Which versions of the libraries that are loaded when needed are there, and what those numbers mean.
#pragma once

#include <string>

#include "kernels/bench/device.h"

namespace stepcast::kernels {

/// Parts of a version written as one number: 130100 is 13.1.0 where the major is worth 10000.
std::string version_text(long long number, long long major_worth);

/// NCCL's number: 22703 is 2.27.3; up to 2.8 the major was worth 1000: 2804 is 2.8.4 (nccl.h, NCCL_VERSION).
std::string nccl_version_text(long long number);
/// cuDNN's number: 91002 is 9.10.2; up to 8.9 the major was worth 1000: 8907 is 8.9.7 (cudnn_version.h, CUDNN_VERSION).
std::string cudnn_version_text(long long number);

/// Each loads the library and asks it.
LibraryState cublas_state(int cuda_major);  ///< cuBLASLt of the CUDA that the program was compiled with
LibraryState cudnn_state();
LibraryState nccl_state();
LibraryState nvml_state();  ///< its version is the driver's

}  // namespace stepcast::kernels
