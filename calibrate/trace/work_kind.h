// What kind of work a GPU kernel does.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "model/base/namespaces.h"

namespace stepcast::calibrate {

enum class WorkKind : std::uint8_t {
  gemm,
  grouped_gemm,
  conv,
  attention,
  norm,
  elementwise,
  copy_layout,
  embedding,
  routing,
  scan,
  optimizer,
  unplaced,
  communication,
  memcpy,
  memset
};
inline constexpr int work_kinds = 15;

/// "gemm", "grouped gemm", ..., "unplaced".
const char* to_text(WorkKind kind);

/// Kernels of products; kernels whose time is the memory's.
constexpr bool is_product(WorkKind kind) { return kind <= WorkKind::conv; }
constexpr bool is_memory_bound(WorkKind kind) { return kind >= WorkKind::norm && kind <= WorkKind::optimizer; }
/// A kernel that computes, in difference to those that communicate or copy.
constexpr bool is_compute(WorkKind kind) { return kind <= WorkKind::unplaced; }

/// "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv", "broadcast", "reduce", "barrier" of the
/// names that NCCL, RCCL, PyTorch and engines' own kernels use; "collective" where the name does not say.
std::string_view collective_kind_in(std::string_view name);

}  // namespace stepcast::calibrate
