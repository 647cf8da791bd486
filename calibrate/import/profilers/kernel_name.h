// Reads what the name of a GPU kernel tells. Libraries write the kind of work, the element type and the transposes into
// it, but only the sizes of the tile, never those of the problem.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/tables/plain_words.h"
#include "model/profile/query.h"

namespace stepcast::calibrate {

/// "gemm", "attention", "collective", "norm", "softmax", "copy", or "other".
std::string_view kernel_class(std::string_view kernel);
/// "sm90_xmma_gemm_bf16bf16_..." -> bf16, "ampere_sgemm_128x64_tn" -> fp32, "s1688gemm" of tf32 -> tf32.
std::optional<ElementType> element_type_of_kernel(std::string_view kernel);
/// cuBLAS and CUTLASS: "..._tn_n_..." and "..._tn"; nothing where the name has none.
std::optional<GemmLayout> layout_of_kernel(std::string_view kernel);
/// "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(...)".
std::optional<CollectiveKind> collective_of_kernel(std::string_view kernel);

/// Kernels that became no measurement, for the notes: their share of all the time and which they are.
class ShapelessKernels {
 public:
  void add_total(double seconds) { total_ += seconds; }
  void leave_out(std::string_view kernel, const std::string& why, double seconds);
  /// One line for each reason with its share and the longest kernels of it.
  [[nodiscard]] std::vector<std::string> notes(const std::string& file) const;

 private:
  // clang-format off
  struct Left { double seconds = 0; std::size_t kernels = 0; std::map<std::string, double> by_name; };
  // clang-format on
  double total_ = 0;
  std::map<std::string, Left> by_reason_;
};

}  // namespace stepcast::calibrate
