#include "model/network/operator.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "model/base/contains.h"

namespace stepcast {
namespace {

/// What backward of a pointwise function reads (docs/design.md, rule 21). `inputs` is a bit mask by position.
struct FunctionRow {
  const char* name;
  unsigned inputs;
  bool output;
  double mask_bytes;
};
// clang-format off
constexpr std::array kFunctions{
    FunctionRow{"add", 0, false, 0},          FunctionRow{"bias", 0, false, 0},
    FunctionRow{"rope", 0, false, 0},         FunctionRow{"scale", 0, false, 0},
    FunctionRow{"cast", 0, false, 0},
    // rows to experts: nothing; rows back, weighted by gates: both; the choice itself reads its probabilities
    FunctionRow{"dispatch", 0, false, 0},     FunctionRow{"combine", 0b11, false, 0},
    FunctionRow{"top_k", 0b1, false, 0},
    FunctionRow{"dropout", 0, false, 1},      FunctionRow{"swiglu", 0b11, false, 0},
    FunctionRow{"geglu", 0b11, false, 0},     FunctionRow{"gelu", 0b1, false, 0},
    FunctionRow{"relu", 0b1, false, 0},       FunctionRow{"squared_relu", 0b1, false, 0},
    FunctionRow{"square", 0b1, false, 0},
    FunctionRow{"multiply", 0b11, false, 0},
    // norm: y from (x, q, gamma [, beta]); mean: y from (x, mean)
    FunctionRow{"rmsnorm", 0b111, false, 0},  FunctionRow{"layernorm", 0b111, false, 0},
    // softmax over a whole row: reads its own output
    FunctionRow{"softmax", 0, true, 0},
    // exp(L - M) summed: gradient reads both
    FunctionRow{"shifted_exp", 0b11, false, 0},
    // loss = log Z + M - T: Z is read
    FunctionRow{"cross_entropy", 0b001, false, 0},
    // the maximum of the logits: no gradient, nothing read
    FunctionRow{"identity", 0, false, 0},
};
// clang-format on

const FunctionRow* find_function(const std::string& name) {
  const auto* row = std::ranges::find(kFunctions, name, &FunctionRow::name);
  return row == kFunctions.end() ? nullptr : row;
}

}  // namespace

BackwardReads backward_reads(const Operator& op) {
  BackwardReads reads;
  switch (op.kind) {
    case OperatorKind::einsum:
      // A product of several reads every operand; a plain sum over one operand reads nothing, max reads both sides.
      if (op.inputs.size() > 1)
        for (int i = 0; i < static_cast<int>(op.inputs.size()); ++i) reads.inputs.push_back(i);
      if (op.monoid == Monoid::max || op.monoid == Monoid::min) {
        reads.inputs = {0};
        reads.output = true;
      }
      return reads;
    case OperatorKind::select:
      reads.inputs = {static_cast<int>(op.inputs.size()) - 1};  // the indices
      return reads;
    case OperatorKind::attention:
      for (int i = 0; i < static_cast<int>(op.inputs.size()); ++i) reads.inputs.push_back(i);
      reads.output = true;
      return reads;
    case OperatorKind::linear:
    case OperatorKind::nonlinear:
    case OperatorKind::route:
    case OperatorKind::opaque: {
      const FunctionRow* row = find_function(op.function);
      if (!row) {  // a function written by a user: assume it reads every input
        for (int i = 0; i < static_cast<int>(op.inputs.size()); ++i) reads.inputs.push_back(i);
        return reads;
      }
      for (int i = 0; i < static_cast<int>(op.inputs.size()); ++i)
        if (row->inputs >> i & 1U) reads.inputs.push_back(i);
      reads.output = row->output;
      reads.mask_bytes_per_output = row->mask_bytes;
      return reads;
    }
  }
  return reads;
}

std::vector<int> differentiable_inputs(const Operator& op, const std::vector<Tensor>& tensors) {
  std::vector<int> inputs;
  const bool stabiliser = op.monoid == Monoid::max && op.function == "identity";
  for (int i = 0; i < static_cast<int>(op.inputs.size()); ++i) {
    const Tensor& tensor = tensors[op.inputs[i].tensor];
    if (tensor.role == TensorRole::data || tensor.frozen || stabiliser) continue;
    // loss = log Z + M - T with Z = sum exp(L - M): the contributions to M cancel, software never forms them.
    if ((op.function == "shifted_exp" || op.function == "cross_entropy") && i == 1) continue;
    inputs.push_back(i);
  }
  return inputs;
}

std::vector<int> loops_of(const Operator& op) {
  std::vector<int> loops;
  const auto take = [&](const Access& access) {
    for (int loop : access.loops)
      if (!contains(loops, loop)) loops.push_back(loop);
  };
  take(op.output);
  for (const Access& input : op.inputs) take(input);
  return loops;
}

bool has_tag(const Operator& op, const std::string& tag) { return op.name == tag || contains(op.tags, tag); }

double mean_keys(Domain domain, std::int64_t reach, std::int64_t positions) {
  const auto all = static_cast<double>(positions), near = static_cast<double>(reach);
  if (domain == Domain::all) return all;
  if (domain == Domain::causal || reach >= positions) return (all + 1) / 2;
  if (domain == Domain::window) return near - near * (near - 1) / (2 * all);
  const auto rest = static_cast<double>(positions % reach);  // of the last chunk
  return ((all - rest) * (near + 1) + rest * (rest + 1)) / (2 * all);
}

double forward_flops(const Operator& op, const std::vector<Dim>& dims, bool causal_half) {
  const bool product = op.kind == OperatorKind::einsum && op.inputs.size() > 1;
  if (!product && op.kind != OperatorKind::attention) return 0;
  double points = 1;
  for (int loop : loops_of(op))
    if (op.kind != OperatorKind::attention || !contains(op.whole_loops, loop))
      points *= static_cast<double>(dims[loop].extent);
  if (op.domain != Domain::all && causal_half) {
    const std::int64_t keys = dims[op.key_loop].extent;
    points *= mean_keys(op.domain, op.reach, keys) / static_cast<double>(keys);
  }
  // The attention core is two products over the same points: Q K over the query's head size, P V over the value's.
  if (op.kind == OperatorKind::attention)
    points *= static_cast<double>(dims[op.inputs.front().loops.back()].extent + dims[op.output.loops.back()].extent);
  return 2 * points;
}

}  // namespace stepcast
