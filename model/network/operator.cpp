#include "model/network/operator.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <string_view>

#include "model/base/contains.h"

namespace stepcast {
namespace {

/// What backward of a pointwise function reads (docs/design.md, rule 21). `inputs` is a bit mask by position.
struct FunctionRow {
  std::string_view name;
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
    FunctionRow{"multiply", 0b11, false, 0},  FunctionRow{"silu", 0b1, false, 0},
    // times (1 + scale), plus shift
    FunctionRow{"modulate", 0b11, false, 0},
    // what is above a row's mean by so many deviations: x and both moments
    FunctionRow{"cutoff", 0b11, false, 0},
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
    // depthwise, causal, along positions, with an activation behind it: its input and taps
    FunctionRow{"conv", 0b11, false, 0},
    // scores of queries, keys and weights, and the best of each row
    FunctionRow{"index", 0b111, false, 0},    FunctionRow{"join", 0, false, 0},
    // rows that are written behind those of earlier iterations; the likeliest word
    FunctionRow{"append", 0, false, 0},       FunctionRow{"sample", 0, false, 0},
    // rows in place of others; means of neighbours
    FunctionRow{"fill", 0, false, 0},         FunctionRow{"mean", 0, false, 0},
    // rows of a tensor, and tensors as rows of one, where they lie
    FunctionRow{"part", 0, false, 0},         FunctionRow{"parts", 0, false, 0},
    // scores and a bias by how far key and query are apart
    FunctionRow{"distance", 0, false, 0},
    // gated sums of neighbours; coefficients of residual streams, and the streams mixed by them
    FunctionRow{"compress", 0b111, false, 0}, FunctionRow{"sinkhorn", 0b111, false, 0},
    FunctionRow{"merge", 0b11, false, 0},     FunctionRow{"spread", 0b111, false, 0},
    FunctionRow{"sigmoid_gate", 0b11, false, 0}, FunctionRow{"xielu", 0b11, false, 0},
    // a cap by tanh: reads its own output
    FunctionRow{"softcap", 0, true, 0},
};

// In chunks of C positions with value size P, key size N, H heads in G groups.
// ssd: C B' 2CN of a group, (C B' * L) X 2CP, states in 2NP and out 2NP of a head (Dao and Gu 2024, arXiv 2405.21060,
// section 6). gated_delta and kda, per head: K K' and Q K' 4CN, the triangular inverse CC, W and U 2C (N + P), Q K' V
// 2CP, states 6NP (Yang et al. 2024, arXiv 2412.06464, section 3.3; Kimi Linear, arXiv 2510.26692). lightning: half of
// Q K' and of its product with V, states 4NP (arXiv 2401.04658). selective: a state of N per channel, decayed, fed and
// read, 6N (arXiv 2312.00752).
constexpr std::array kScans{
    ScanFunction{"ssd", 2, 2, 0, 0, 4},         ScanFunction{"gated_delta", 0, 4, 6, 1, 6},
    ScanFunction{"kda", 0, 4, 6, 1, 6},         ScanFunction{"lightning", 0, 1, 1, 0, 4},
    ScanFunction{"selective", 0, 0, 0, 0, 6},
};
// clang-format on

const FunctionRow* find_function(const std::string& name) {
  const auto* row = std::ranges::find(kFunctions, std::string_view(name), &FunctionRow::name);
  return row == kFunctions.end() ? nullptr : row;
}

}  // namespace

const ScanFunction* find_scan(const std::string& function) {
  const auto* row = std::ranges::find_if(kScans, [&](const ScanFunction& scan) { return scan.name == function; });
  return row == kScans.end() ? nullptr : row;
}

double scan_flops(const ScanFunction& scan, const ScanExtents& e) {
  const double heads = e.values / e.value_size;
  return e.chunk *
             (scan.keys * e.keys + scan.values * e.values + heads * (scan.heads * e.key_size + scan.square * e.chunk)) +
         scan.states * e.key_size * e.values;
}

double mean_compressed(const CompressedKeys& keys, std::int64_t positions) {
  if (keys.ratio == 0 || positions == 0) return 0;
  // Query m (from 1) sees m / ratio of them, rounded down, until it sees `reach`.
  const std::int64_t rising = std::min(positions, keys.ratio * keys.reach), whole = rising / keys.ratio;
  const std::int64_t sum = keys.ratio * (whole * (whole - 1) / 2) + whole * (rising % keys.ratio + 1);
  return static_cast<double>(sum + (positions - rising) * keys.reach) / static_cast<double>(positions);
}

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const FunctionRow& row : kFunctions) names.emplace_back(row.name);
  for (const ScanFunction& row : kScans) names.emplace_back(row.name);
  return names;
}

BackwardReads backward_reads(const Operator& op) {
  BackwardReads reads;
  reads.inputs.reserve(op.inputs.size());
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
  inputs.reserve(op.inputs.size());
  const bool stabiliser = op.monoid == Monoid::max && op.function == "identity";
  for (int i = 0; i < static_cast<int>(op.inputs.size()); ++i) {
    const Tensor& tensor = tensors[op.inputs[i].tensor];
    if (tensor.role == TensorRole::data || tensor.role == TensorRole::cache || tensor.frozen || stabiliser) continue;
    // loss = log Z + M - T with Z = sum exp(L - M): the contributions to M cancel, software never forms them.
    if ((op.function == "shifted_exp" || op.function == "cross_entropy") && i == 1) continue;
    inputs.push_back(i);
  }
  return inputs;
}

std::vector<int> loops_of(const Operator& op) {
  std::vector<int> loops;
  loops.reserve(op.output.loops.size() + 4);
  const auto take = [&](const Access& access) {
    for (int loop : access.loops)
      if (!contains(loops, loop)) loops.push_back(loop);
  };
  take(op.output);
  for (const Access& input : op.inputs) take(input);
  return loops;
}

bool has_tag(const Operator& op, std::string_view tag) { return op.name == tag || contains(op.tags, tag); }

double mean_keys(Domain domain, std::int64_t reach, std::int64_t positions) {
  const auto all = static_cast<double>(positions), near = static_cast<double>(reach);
  if (domain == Domain::all) return all;
  if (domain == Domain::tile) return std::min(static_cast<double>(reach), all);
  if (domain == Domain::band) return 2 * mean_keys(Domain::window, reach, positions) - 1;
  if (domain == Domain::causal || reach >= positions) return (all + 1) / 2;
  if (domain == Domain::window || domain == Domain::chosen) return near - near * (near - 1) / (2 * all);
  const auto rest = static_cast<double>(positions % reach);  // of the last chunk
  return ((all - rest) * (near + 1) + rest * (rest + 1)) / (2 * all);
}

double forward_flops(const Operator& op, const std::vector<Dim>& dims, bool causal_half) {
  const auto elements = [&](const Access& access) {
    double all = 1;
    for (int loop : access.loops) all *= static_cast<double>(dims[loop].extent);
    return all;
  };
  const auto last = [&](const Access& access) { return static_cast<double>(dims[access.loops.back()].extent); };
  if (const ScanFunction* scan = op.function.empty() ? nullptr : find_scan(op.function))
    return scan_flops(*scan, {elements(op.inputs[0]), elements(op.inputs[1]), last(op.inputs[0]), last(op.inputs[1]),
                                 static_cast<double>(op.chunk)});
  const bool product =
      (op.kind == OperatorKind::einsum || op.function == "conv" || op.function == "index") && op.inputs.size() > 1;
  if (!product && op.kind != OperatorKind::attention) return 0;
  double points = 1;
  // An index multiplies queries and keys; what it picks of each row is no product.
  const auto walked = [&](int loop) {
    if (op.function == "index") return contains(op.inputs[0].loops, loop) || loop == op.key_loop;
    return op.kind != OperatorKind::attention || !contains(op.whole_loops, loop);
  };
  for (int loop : loops_of(op))
    if (walked(loop)) points *= static_cast<double>(dims[loop].extent);
  if (op.domain != Domain::all && causal_half) {
    const std::int64_t keys = dims[op.key_loop].extent;
    points *= (mean_keys(op.domain, op.reach, keys) + mean_compressed(op.beside, keys)) / static_cast<double>(keys);
  }
  // The attention core is two products over the same points: Q K over the query's head size, P V over the value's.
  if (op.kind == OperatorKind::attention)
    points *= static_cast<double>(dims[op.inputs.front().loops.back()].extent + dims[op.output.loops.back()].extent);
  return 2 * points;
}

}  // namespace stepcast
