// The operators that device memory bounds, by their name in model/profile/query.cpp's table, and what each of them
// accepts.
#include <cmath>
#include <limits>

#include "kernels/cuda/memory/memory_operation.cuh"
#include "kernels/bench/work.h"

namespace stepcast::gpu {
namespace {

using Make = MadeMemoryOperation (*)(GpuContext&, const MemoryShape&);

/// Columns of which a kernel can make 16-byte vectors.
enum class Columns : std::uint8_t { any, whole_rows, whole_halves, whole_array };

/// What makes it for elements of 4 and of 2 bytes, on chips without bf16 (before 8.0) and with; null: there is no
/// kernel.
struct MemoryOperator {
  std::string_view op;
  Make four[2], two[2];
  Columns columns = Columns::any;
};

#define STEPCAST_TWO_BYTES(make) \
  { make<Fp16>, make<Bf16> }
#define STEPCAST_ALL_ELEMENTS(make) {make<float>, make<float>}, STEPCAST_TWO_BYTES(make)
const MemoryOperator operators[] = {
    {"read", STEPCAST_ALL_ELEMENTS(make_read), Columns::whole_array},
    {"write", STEPCAST_ALL_ELEMENTS(make_write), Columns::whole_array},
    {"copy", STEPCAST_ALL_ELEMENTS(make_copy), Columns::whole_array},
    {"triad", STEPCAST_ALL_ELEMENTS(make_triad)},
    {"add", STEPCAST_ALL_ELEMENTS(make_add)},
    {"add-scalar", STEPCAST_ALL_ELEMENTS(make_add_scalar)},
    {"norm", STEPCAST_ALL_ELEMENTS(make_norm), Columns::whole_rows},
    {"norm-backward", STEPCAST_ALL_ELEMENTS(make_norm_backward), Columns::whole_rows},
    {"softmax", STEPCAST_ALL_ELEMENTS(make_softmax)},
    {"softmax-backward", STEPCAST_ALL_ELEMENTS(make_softmax_backward)},
    {"gelu", STEPCAST_ALL_ELEMENTS(make_gelu)},
    {"gelu-backward", STEPCAST_ALL_ELEMENTS(make_gelu_backward)},
    {"swiglu", STEPCAST_ALL_ELEMENTS(make_swiglu)},
    {"swiglu-backward", STEPCAST_ALL_ELEMENTS(make_swiglu_backward)},
    {"rope", STEPCAST_ALL_ELEMENTS(make_rope), Columns::whole_halves},
    {"embedding", STEPCAST_ALL_ELEMENTS(make_embedding), Columns::whole_rows},
    // Counted for gradients of 2 bytes: of 4, the table in fp32 would weigh less beside them.
    {"embedding-backward", {}, STEPCAST_TWO_BYTES(make_embedding_backward), Columns::whole_rows},
    {"cross-entropy", STEPCAST_ALL_ELEMENTS(make_cross_entropy)},
    {"quantize", {}, STEPCAST_TWO_BYTES(make_quantize), Columns::whole_array},  // half of 2 bytes is fp8
    // Counted in elements of 4 bytes; the 16-bit type is that of the copy which products read.
    {"adam", STEPCAST_TWO_BYTES(make_adam), {}, Columns::whole_array},
};

const MemoryOperator* find_operator(std::string_view op) {
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

Expected<Make> make_of(const MemoryOperator& row, const MemoryQuery& query, bool bf16) {
  const Make make = query.element_bytes == 4 ? row.four[bf16] : query.element_bytes == 2 ? row.two[bf16] : nullptr;
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
  if (row == nullptr) return fail(work_name(query), "no kernel of ours does this");
  TRY(const auto make, make_of(*row, query, context.at_least(8, 0)));
  TRY(check_shape(*row, query));
  TRY(const auto shape, shape_of(context, query));
  return make(context, shape);
}

}  // namespace stepcast::gpu
