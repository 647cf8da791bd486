// Reads PyTorch's operators as queries, by what the shapes of their inputs mean
// (aten/src/ATen/native/native_functions.yaml). Traces and NVTX ranges both record an operator's name with the sizes of
// its inputs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/tables/plain_words.h"
#include "model/profile/query.h"

namespace stepcast::calibrate {

/// One call as it was recorded. Inputs that are no tensors have no sizes.
struct TorchCall {
  std::string name;                        ///< "aten::mm"
  std::vector<std::vector<double>> sizes;  ///< of each input
  std::vector<std::string> types;          ///< "c10::BFloat16"; empty where they were not recorded
  std::vector<std::string> values;         ///< of inputs that are no tensors: "True"; empty where not recorded
};

struct TorchQuery {
  std::optional<Query> query;
  /// why there is none, of an operator that is known: "whether it is causal"
  std::string lacks;
};

/// `of_kernel`: the element type that the kernel's name says, for calls recorded without types.
TorchQuery query_of(const TorchCall& call, std::optional<ElementType> of_kernel = std::nullopt);

}  // namespace stepcast::calibrate
