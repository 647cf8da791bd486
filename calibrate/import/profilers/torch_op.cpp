#include "calibrate/import/profilers/torch_op.h"

#include <algorithm>

namespace stepcast::calibrate {
namespace {

using Sizes = std::vector<double>;

struct TorchOp;
using MakeQuery = TorchQuery (*)(const TorchCall& call, const TorchOp& op, ElementType type);

struct TorchOp {
  std::string_view name;
  MakeQuery make;
  std::size_t first = 0;  ///< input that holds x, the first factor or the queries
  int causal = -1;        ///< input that says whether attention is causal
  AttentionPass pass = AttentionPass::forward;
  std::string_view memory_op = {};
};

double product_of(const Sizes& sizes, std::size_t count) {
  double product = 1;
  for (std::size_t i = 0; i < count && i < sizes.size(); ++i) product *= sizes[i];
  return product;
}

bool all_positive(const Sizes& sizes) {
  return !sizes.empty() && std::all_of(sizes.begin(), sizes.end(), [](double size) { return size >= 1; });
}

/// Sizes of an input; empty where the call has none there.
Sizes sizes_at(const TorchCall& call, std::size_t input) {
  return input < call.sizes.size() && all_positive(call.sizes[input]) ? call.sizes[input] : Sizes{};
}

TorchQuery without_shape() { return {std::nullopt, "the sizes of its inputs"}; }

/// x[..., k] with w[n, k] of a linear layer.
TorchQuery linear_call(const TorchCall& call, const TorchOp& op, ElementType type) {
  const Sizes x = sizes_at(call, op.first), w = sizes_at(call, op.first + 1);
  if (x.empty() || w.size() != 2 || x.back() != w[1]) return without_shape();
  return {GemmQuery{product_of(x, x.size() - 1), w[0], w[1], 1, type.precision}, ""};
}

/// a[m, k] b[k, n]; of _scaled_mm with scales per block of a's rows too.
TorchQuery product_call(const TorchCall& call, const TorchOp& op, ElementType type) {
  const Sizes a = sizes_at(call, op.first), b = sizes_at(call, op.first + 1), scale = sizes_at(call, op.first + 2);
  if (a.size() < 2 || b.size() != 2 || a.back() != b[0]) return without_shape();
  const bool blocks = op.name == "aten::_scaled_mm" && scale.size() == 2 && scale[1] > 1;
  return {GemmQuery{product_of(a, a.size() - 1), b[1], b[0], 1, type.precision, blocks}, ""};
}

TorchQuery batched_call(const TorchCall& call, const TorchOp& op, ElementType type) {
  const Sizes a = sizes_at(call, op.first), b = sizes_at(call, op.first + 1);
  if (a.size() != 3 || b.size() != 3 || a[0] != b[0] || a[2] != b[1]) return without_shape();
  return {GemmQuery{a[1], b[2], a[2], a[0], type.precision}, ""};
}

/// Queries and keys as [batch, positions, heads, head size], or with heads before positions.
TorchQuery attention_call(const TorchCall& call, const TorchOp& op, ElementType type) {
  const Sizes q = sizes_at(call, op.first), k = sizes_at(call, op.first + 1);
  if (q.size() != 4 || k.size() != 4 || q[0] != k[0] || q[3] != k[3]) return without_shape();
  const auto at = static_cast<std::size_t>(op.causal);
  const std::string causal = at < call.values.size() ? call.values[at] : "";
  if (causal != "True" && causal != "False")
    return {std::nullopt, "whether it is causal (record_shapes=True records it)"};
  const bool heads_last =
      op.name.find("flash_att") != std::string_view::npos && op.name.find("scaled_dot") == std::string_view::npos;
  const std::size_t positions = heads_last ? 1 : 2, heads = heads_last ? 2 : 1;
  return {AttentionQuery{
              q[0], q[positions], k[positions], q[heads], k[heads], q[3], op.pass, causal == "True", type.precision},
      ""};
}

/// Along the last dimension; the operands of an addition have equal sizes.
TorchQuery memory_call(const TorchCall& call, const TorchOp& op, ElementType) {
  const Sizes x = sizes_at(call, op.first);
  const MemoryOp* known = find_memory_op(op.memory_op);
  if (x.empty() || known == nullptr) return without_shape();
  const bool scalar = known->reads > 1 && sizes_at(call, op.first + 1).empty();
  if (scalar) known = find_memory_op("add-scalar");
  else if (known->reads > 1 && sizes_at(call, op.first + 1) != x) return {std::nullopt, "operands of equal size"};
  const double element = op.first < call.types.size() ? element_bytes_of(call.types[op.first]) : 0;
  if (element == 0) return {std::nullopt, "the type of its elements"};
  return {MemoryQuery{known, product_of(x, x.size() - 1), x.back(), element}, ""};
}

constexpr AttentionPass gradients = AttentionPass::backward;
constexpr TorchOp torch_ops[] = {
    {"aten::linear", linear_call},
    {"aten::mm", product_call},
    {"aten::matmul", product_call},
    {"aten::addmm", product_call, 1},
    {"aten::_scaled_mm", product_call},
    {"aten::bmm", batched_call},
    {"aten::baddbmm", batched_call, 1},
    {"aten::scaled_dot_product_attention", attention_call, 0, 5},
    {"aten::_scaled_dot_product_flash_attention", attention_call, 0, 4},
    {"aten::_scaled_dot_product_efficient_attention", attention_call, 0, 6},
    {"aten::_scaled_dot_product_cudnn_attention", attention_call, 0, 6},
    {"aten::_flash_attention_forward", attention_call, 0, 8},
    {"aten::_scaled_dot_product_flash_attention_backward", attention_call, 1, 11, gradients},
    {"aten::_flash_attention_backward", attention_call, 1, 11, gradients},
    {"aten::_scaled_dot_product_cudnn_attention_backward", attention_call, 1, 14, gradients},
    {"aten::native_layer_norm", memory_call, 0, -1, {}, "norm"},
    {"aten::_fused_rms_norm", memory_call, 0, -1, {}, "norm"},
    {"aten::_softmax", memory_call, 0, -1, {}, "softmax"},
    {"aten::gelu", memory_call, 0, -1, {}, "gelu"},
    {"aten::silu", memory_call, 0, -1, {}, "gelu"},
    {"aten::relu", memory_call, 0, -1, {}, "gelu"},
    {"aten::add", memory_call, 0, -1, {}, "add"},
    {"aten::mul", memory_call, 0, -1, {}, "add"},
};

}  // namespace

TorchQuery query_of(const TorchCall& call, std::optional<ElementType> of_kernel) {
  const auto* op = std::find_if(
      std::begin(torch_ops), std::end(torch_ops), [&](const TorchOp& row) { return row.name == call.name; });
  if (op == std::end(torch_ops)) return {};
  auto type = op->first < call.types.size() ? element_type_of(call.types[op->first]) : std::nullopt;
  // A product in fp32 may run in tf32, which only the kernel's name tells.
  if (!type || (type->precision == Precision::fp32 && of_kernel && of_kernel->precision == Precision::tf32))
    type = of_kernel;
  if (!type && op->make != memory_call) return {std::nullopt, "the type of its elements"};
  return op->make(call, *op, type.value_or(ElementType{}));
}

}  // namespace stepcast::calibrate
