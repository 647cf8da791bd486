// The operators that device memory bounds, and what each of them accepts.
#include <cmath>
#include <limits>

#include "kernels/cuda/memory/memory_operation.cuh"
#include "kernels/bench/work.h"

namespace stepcast::kernels::gpu {
namespace {

MemoryOperators all_operators() {
  MemoryOperators all;
  for (const auto operators :
      {stream_operators, elementwise_operators, norm_operators, softmax_operators, gather_operators, update_operators})
    for (const MemoryOperator& row : operators()) all.push_back(row);
  return all;
}

const MemoryOperator* find_operator(std::string_view op) {
  static const MemoryOperators operators = all_operators();
  for (const MemoryOperator& row : operators)
    if (row.op == op) return &row;
  return nullptr;
}

/// Elements that must be whole 16-byte vectors, and what they are.
struct Grain {
  double elements;
  const char* name;
};
Grain grain_of(const MemoryOperator& row, const MemoryQuery& query) {
  constexpr double kLongestHead = 256;
  switch (row.columns) {
    case Columns::whole_rows: return {query.columns, "a row"};
    case Columns::whole_halves: return {query.columns <= kLongestHead ? query.columns / 2 : 32, "half a head"};
    case Columns::whole_array: return {query.rows * query.columns, "an array"};
    case Columns::any: break;
  }
  return {16, "nothing"};
}

bool whole_number(double value, double most) { return value >= 1 && value <= most && value == std::floor(value); }

Expected<void> check_shape(const MemoryOperator& row, const MemoryQuery& query) {
  const auto refuse = [&](std::string what, std::string hint) {
    return fail(work_name(query), std::move(what), std::move(hint));
  };
  constexpr double kMost = std::numeric_limits<int>::max();
  constexpr double kLongestRow = 1 << 28;  // its last bytes are counted in 32 bits
  if (!whole_number(query.rows, kMost) || !whole_number(query.columns, kLongestRow))
    return refuse("rows or columns are no whole number that a kernel counts to", "rows to 2^31 - 1, columns to 2^28");
  const Grain grain = grain_of(row, query);
  const double vector = 16 / query.element_bytes;
  if (std::fmod(grain.elements, vector) != 0)
    return refuse(std::string(grain.name) + " is not whole 16-byte vectors",
        "give a multiple of " + std::to_string(static_cast<int>(vector)) + " elements");
  if (row.columns == Columns::whole_halves && query.columns > 256 && std::fmod(query.columns, 64) != 0)
    return refuse("longer rows than 256 are taken for heads of 128 or 64", "give a multiple of 64 columns");
  return {};
}

Expected<MemoryOperator::Make> make_of(const MemoryOperator& row, const MemoryQuery& query, bool bf16) {
  const auto make = query.element_bytes == 4 ? row.four[bf16] : query.element_bytes == 2 ? row.two[bf16] : nullptr;
  if (make != nullptr) return make;
  return fail(work_name(query), "no kernel for elements of this size",
      row.four[bf16] == nullptr  ? "2 bytes"
      : row.two[bf16] == nullptr ? "4 bytes"
                                 : "2 or 4 bytes");
}

Expected<MemoryShape> shape_of(const GpuContext& context, const MemoryQuery& query) {
  int shared = 0;
  const auto status = cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, context.index);
  TRY(checked(status, "cudaDeviceGetAttribute"));
  MemoryShape shape;
  shape.rows = static_cast<std::int64_t>(query.rows);
  shape.columns = static_cast<int>(query.columns);
  shape.element_bytes = static_cast<int>(query.element_bytes);
  shape.sm_count = std::max(context.device.sm_count, 1);
  shape.shared_limit = static_cast<std::size_t>(shared);
  return shape;
}

}  // namespace

MadeOperation make_memory_op(GpuContext& context, const MemoryQuery& query) {
  const MemoryOperator* row = find_operator(query.op->id);
  if (row == nullptr) return fail(work_name(query), "no kernel of ours does this", "an operator of the catalogue");
  TRY(const auto make, make_of(*row, query, context.at_least(8, 0)));
  TRY(check_shape(*row, query));
  TRY(const auto shape, shape_of(context, query));
  return make(context, shape);
}

}  // namespace stepcast::kernels::gpu
