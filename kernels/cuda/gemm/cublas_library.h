// GPU side only. cuBLASLt, loaded when first needed: the functions of its C interface that products are timed with.
#pragma once

#include <cublasLt.h>

#include <string>

#include "model/base/error.h"

namespace stepcast::gpu {

struct CublasLibrary {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtGetVersion) version = nullptr;
  decltype(&cublasLtGetStatusString) status_text = nullptr;
  decltype(&cublasLtMatmulDescCreate) product_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) product_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) product_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) matrix_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) matrix_destroy = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) matrix_set = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) algorithm_get = nullptr;
  decltype(&cublasLtMatmul) multiply = nullptr;

  /// "cublasLtMatmul: an unsupported value or parameter was passed to the function", with a hint where there is one.
  [[nodiscard]] Expected<void> checked(cublasStatus_t status, const char* call, const char* hint = "") const;
};

/// Loaded once per process; the failure is remembered as well.
Expected<const CublasLibrary*> cublas_library();

/// A handle of this device, made once and kept until the process ends. The device must be the current one.
Expected<cublasLtHandle_t> cublas_handle(int device);

}  // namespace stepcast::gpu
