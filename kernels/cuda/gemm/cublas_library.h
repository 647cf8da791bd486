// GPU side only. cuBLASLt, loaded when first needed: the functions of its C interface that products are timed with.
#pragma once

#include <cublasLt.h>

#include <string>

#include "kernels/library/shared_library.h"
#include "model/base/error.h"

namespace stepcast::kernels::gpu {

struct CublasLibrary {
  FunctionReader read;
  decltype(&cublasLtCreate) create = read("cublasLtCreate");
  decltype(&cublasLtGetVersion) version = read("cublasLtGetVersion");
  decltype(&cublasLtGetStatusString) status_text = read("cublasLtGetStatusString");
  decltype(&cublasLtMatmulDescCreate) product_create = read("cublasLtMatmulDescCreate");
  decltype(&cublasLtMatmulDescDestroy) product_destroy = read("cublasLtMatmulDescDestroy");
  decltype(&cublasLtMatmulDescSetAttribute) product_set = read("cublasLtMatmulDescSetAttribute");
  decltype(&cublasLtMatrixLayoutCreate) matrix_create = read("cublasLtMatrixLayoutCreate");
  decltype(&cublasLtMatrixLayoutDestroy) matrix_destroy = read("cublasLtMatrixLayoutDestroy");
  decltype(&cublasLtMatrixLayoutSetAttribute) matrix_set = read("cublasLtMatrixLayoutSetAttribute");
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = read("cublasLtMatmulPreferenceCreate");
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = read("cublasLtMatmulPreferenceDestroy");
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = read("cublasLtMatmulPreferenceSetAttribute");
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = read("cublasLtMatmulAlgoGetHeuristic");
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) algorithm_get = read("cublasLtMatmulAlgoConfigGetAttribute");
  decltype(&cublasLtMatmul) multiply = read("cublasLtMatmul");

  /// "cublasLtMatmul: an unsupported value or parameter was passed to the function", with a hint where there is one.
  [[nodiscard]] Expected<void> checked(cublasStatus_t status, const char* call,
      const char* hint = "nvidia-smi shows whether the GPU still answers") const;
};

/// Loaded once per process; the failure is remembered as well.
Expected<const CublasLibrary*> cublas_library();

/// A handle of this device, made once and kept until the process ends. The device must be the current one.
Expected<cublasLtHandle_t> cublas_handle(int device);

}  // namespace stepcast::kernels::gpu
