// Finds the GPU of the catalogue that a file means by the name that a driver, a benchmark or a collection gives it.
#pragma once

#include <string>
#include <string_view>

#include "calibrate/rows/measurement.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

/// "NVIDIA A100-PCIE-40GB" -> "a100-pcie-40gb", "A100-80GB-SXM4" -> "a100-80gb"; "" where none is evident.
std::string gpu_of_device(std::string_view device);
/// Refuses a device whose name is of another model than the GPU of the catalogue, whoever named the GPU. A name without
/// a model ("NVIDIA Graphics Device") may be any, and so may one that only says more of the same model.
Expected<void> check_device(const std::string& device, const std::string& gpu, const std::string& where);
/// With the device and its GPU.
MeasurementContext context_of_device(std::string_view device);

/// A collection names its GPU first: "h100_sxm_trtllm_1.3.0rc20" is h100-sxm and "trtllm 1.3.0rc20".
struct CollectionName {
  std::string gpu, software;
};
CollectionName split_collection(std::string_view collection);

/// What joins the GPUs of one node of the machines in the catalogue: "nvswitch", "pcie", ...; "" where they differ or
/// there is none.
std::string fabric_of_gpu(std::string_view gpu);

}  // namespace stepcast::calibrate
