// What is computed: tensors over named dims, and operators as einsums, pointwise functions, look-ups.
// No parallelism here. Shapes are those of one micro-batch summed over all ranks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

/// A named index range. Loops and tensor dims share one table: a loop is a dim that an operator walks.
/// Two loops may run over one tensor dim (queries `s`, keys `t`): the access says which.
struct Dim {
  std::string name;
  std::int64_t extent = 1;
  bool expected = false;  ///< an expectation (rows per expert): parts need not divide it
};

enum class TensorRole : std::uint8_t {
  activation,  ///< has a gradient
  weight,      ///< trained, persistent
  data,        ///< token ids, labels, masks: no gradient
  cache,       ///< outlives an iteration: keys and values of positions that were seen
};

struct Tensor {
  std::string name;
  std::vector<int> dims;  ///< index into the dim table, one per tensor dim; [] is a scalar
  double bytes_per_element = 2;
  TensorRole role = TensorRole::activation;
  bool frozen = false;  ///< a weight that is not trained: no gradient, no optimizer state
  bool shared = false;  ///< a weight that all repeats of a block have in common
};

/// One use of a tensor by an operator: the loop that walks each of its dims, in the tensor's order.
struct Access {
  int tensor = -1;
  std::vector<int> loops;
  /// Routed rows: dim `row_dim` of the tensor holds tokens in another order, so it is sharded wherever one of
  /// `row_loops` (the token loops) is split. -1: none.
  int row_dim = -1;
  std::vector<int> row_loops = {};
};

enum class OperatorKind : std::uint8_t {
  einsum,     ///< sum of products over the loops that the output lacks
  linear,     ///< pointwise and linear in every operand: add, scale, cast, bias, dropout mask
  nonlinear,  ///< pointwise, not linear
  select,     ///< look-up; placement and gradient of an einsum with a one-hot operand, no FLOPs
  attention,  ///< fused attention core: O softmax= Q, K, V over keys t (one kernel forward, one backward)
  route,      ///< moves token rows to the experts that chose them, or back (docs/design.md, section A5)
  opaque,     ///< linear over named loops that may not be split (rotary embedding over d, sort)
};

/// How partial results over a reduced loop join.
enum class Monoid : std::uint8_t { none, sum, max, min, softmax };

/// Restriction of the loop space; it changes who does how much work, never bytes of whole tensors.
enum class Domain : std::uint8_t {
  all,
  causal,  ///< key <= query
  window,  ///< query - reach < key <= query
  band,    ///< query - reach < key < query + reach
  chunk,   ///< key <= query, both in the same chunk of `reach` positions
  tile,    ///< both in the same chunk of `reach` positions, whichever comes first
  chosen,  ///< `reach` keys <= query that an indexer picks for each query
};

/// Keys that stand for `ratio` positions each, which attention sees beside those of its domain: those before the query,
/// at most `reach`. ratio 0: none.
struct CompressedKeys {
  std::int64_t ratio = 0, reach = 0;
};
/// The mean over the queries of a sequence.
double mean_compressed(const CompressedKeys& keys, std::int64_t positions);

struct Operator {
  std::string name;               ///< unique in its block: "attn.qkv.q"
  std::vector<std::string> tags;  ///< "attn", "attn.qkv": scopes for `at` and `recompute`
  OperatorKind kind = OperatorKind::einsum;
  Monoid monoid = Monoid::none;  ///< of the loops that the output lacks
  std::string function;          ///< for pointwise and opaque: key of the function table ("swiglu", "add", ...)
  Access output;
  std::vector<Access> inputs;
  std::vector<int> whole_loops;  ///< loops that may not be split (opaque kinds)
  Domain domain = Domain::all;
  std::int64_t reach = 0;              ///< of a window or a chunk, in positions
  CompressedKeys beside{};             ///< of attention: seen with those of the domain
  std::int64_t dense = 0;              ///< in an iteration: sequences up to so long see all keys, and nothing is picked
  std::int64_t chunk = 0;              ///< of a scan: positions that it takes at a time; 0 = one by one
  int query_loop = -1, key_loop = -1;  ///< the loops that `domain` relates
  std::string kernel;  ///< operators in a row with the same non-empty name run as one kernel, if the software joins it
  bool always_joined = false;   ///< it does, whichever software
  bool joined_forward = false;  ///< it does forward, whichever software; backward they are kernels of their own
  bool adapts = false;          ///< a product of a low-rank adapter, beside a frozen one
};

/// What backward of an operator reads besides the output gradient, and the bytes it makes on the side.
/// Inputs are given by position. From docs/design.md, rule 21: einsum reads the other operand of each product,
/// norm reads x and q, SwiGLU both inputs, GeLU its input, softmax its output, fused attention Q, K, V, O and lse,
/// add nothing, dropout a one-byte mask.
struct BackwardReads {
  std::vector<int> inputs;           ///< positions of inputs read by input-grad
  bool output = false;               ///< reads its own output
  double mask_bytes_per_output = 0;  ///< side product saved per output element (dropout mask 1)
};

/// From the operator's kind and function. For an einsum of several operands all are listed; the gradient of one reads
/// only the others (dA reads B, dB reads A).
BackwardReads backward_reads(const Operator& op);

/// Positions of the inputs that have a gradient: not data, not frozen weights, and not the maximum that a softmax
/// subtracts (it cancels).
std::vector<int> differentiable_inputs(const Operator& op, const std::vector<Tensor>& tensors);

/// All loops of an operator, outputs' first, each once.
std::vector<int> loops_of(const Operator& op);

bool has_tag(const Operator& op, std::string_view tag);

/// A scan along positions that carries a state from one to the next: a function of values, keys and queries, in this
/// order, and of what decays the state. It walks the sequence in chunks of C positions, inside which it multiplies as
/// attention does; between them it hands on a state of key size N x value size P per head. FLOPs, a multiply-add as
/// two, per position: `keys` C N of each group of keys, and for each head `values` C P + `heads` C N + `square` C C +
/// `states` N P.
struct ScanFunction {
  const char* name;
  double keys, values, heads, square, states;
};
/// nullptr: no scan.
const ScanFunction* find_scan(const std::string& function);

/// Elements of values and of keys, the last extents of both, and the chunk.
struct ScanExtents {
  double values = 0, keys = 0, value_size = 0, key_size = 0, chunk = 0;
};
double scan_flops(const ScanFunction& scan, const ScanExtents& extents);

/// What a scan's time depends on: `heads` states of value_size x key_size in each of `sequences`, whose positions it
/// takes `chunk` at a time.
struct ScanShape {
  const ScanFunction* function = nullptr;
  double sequences = 0, positions = 0, heads = 0, groups = 0, value_size = 0, key_size = 0, chunk = 0;
};

/// Of one sequence: fp32, as the kernels of fla and Mamba-2 hand them on, and as serving engines keep them where a
/// network's file does not say otherwise (mamba_ssm_dtype and mamba_ssm_cache_dtype, "float32", in those of Qwen3-Next
/// and Nemotron 3).
inline double scan_state_bytes(const ScanShape& scan) { return 4 * scan.heads * scan.value_size * scan.key_size; }

/// All functions that pointwise and opaque operators may have.
std::vector<std::string> function_names();

/// Keys that a query sees, the mean over `positions` queries: all of them, (s + 1) / 2 of s, W - W (W - 1) / (2 s) in a
/// window of W < s or of W chosen ones, as many on either side of a band, (C + 1) / 2 in chunks of C that divide s, C
/// in tiles.
double mean_keys(Domain domain, std::int64_t reach, std::int64_t positions);

/// FLOPs of the whole operator in one direction (forward), counting a multiply-add as two;
/// a restricted domain counts the pairs of query and key that it holds when `causal_half`, else all.
double forward_flops(const Operator& op, const std::vector<Dim>& dims, bool causal_half);

}  // namespace stepcast
