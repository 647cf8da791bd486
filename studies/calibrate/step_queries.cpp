#include "studies/calibrate/step_queries.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "calibrate/measure/plan/expected_time.h"
#include "sim/cost.h"

namespace stepcast::calibration {
namespace {

bool narrow_type(Precision precision) {
  return precision == Precision::fp8 || precision == Precision::mxfp8 || precision == Precision::nvfp4;
}

/// fp32 operands (routers) go through tf32; under a narrow type what keeps its width stays in bf16.
Precision precision_of_product(const KernelWork& work, Precision plan) {
  if (work.element_bytes >= 4) return Precision::tf32;
  return narrow_type(plan) && work.keeps_width ? Precision::bf16 : plan;
}

/// Rows per expert are a mean; products that are no batch of heads are timed one by one.
GemmQuery timed_product(const KernelWork& work, Precision plan) {
  GemmQuery query = product_query(work, precision_of_product(work, plan));
  for (double* size : {&query.m, &query.n, &query.k}) *size = std::max(1.0, std::round(*size));
  if (work.head_dim <= 0) query.batch = 1;
  return query;
}

/// The largest number up to `most` that divides the heads: what a core reads beside queries, keys and values, such as a
/// choice of keys, is less than a head.
double heads_of_keys(double heads, double most) {
  auto shared = static_cast<std::int64_t>(std::clamp(most, 1.0, heads));
  while (static_cast<std::int64_t>(heads) % shared != 0) --shared;
  return static_cast<double>(shared);
}

/// Heads by what the work computes, shared keys and values by what it reads: so that any split of heads comes out
/// right. Kernels with windows are timed without, as the law is one of kernels that see all keys.
AttentionQuery attention_query(const KernelWork& work, const StepSizes& sizes) {
  const LatentAttention& latent = sizes.network.latent;
  const double key = work.head_dim, value = latent.kv_rank > 0 ? static_cast<double>(latent.value_dim) : key;
  const auto batch = static_cast<double>(sizes.micro_batch);
  const double pairs = work.sequence * (work.walked > 0 ? work.walked : (work.sequence + 1) / 2);
  const double products = work.backward ? 3 * key + 2 * value : key + value;
  const double heads = std::round(work.flops.value() / (2 * products * pairs * batch));
  // Forward moves queries, results, keys and values once; backward all four and their gradients.
  const double elements = work.bytes.value() / work.element_bytes / (work.backward ? 2 : 1);
  const double shared = std::round(elements / (batch * work.sequence * (key + value)) - heads);
  const bool own_keys = latent.kv_rank > 0;  // latent attention expands keys and values for every head
  return {.batch = batch,
      .queries = work.sequence,
      .keys = work.sequence,
      .heads = heads,
      .kv_heads = own_keys ? heads : heads_of_keys(heads, shared),
      .head_dim = key,
      .pass = work.backward ? AttentionPass::backward : AttentionPass::forward,
      .precision = narrow_type(sizes.precision) ? Precision::bf16 : sizes.precision};
}

/// What lies along the columns of a memory-bound operator, and where its rows come from.
enum class Along : std::uint8_t {
  next_k,       ///< what the next product sums over; rows by bytes
  next_input,   ///< the next product's whole left operand
  last_result,  ///< the result of the product before
  heads,        ///< all heads of a position
  hidden,
  keys,
};
struct Pointwise {
  std::string_view label;              ///< of the launch in a Program
  std::string_view forward, backward;  ///< ids of model/profile/query.h; backward "" = none of that kind
  Along along;
};
constexpr std::array pointwise_rows{Pointwise{"norm", "norm", "norm-backward", Along::next_k},
    Pointwise{"swiglu", "swiglu", "swiglu-backward", Along::next_input},
    Pointwise{"bias_gelu", "gelu", "gelu-backward", Along::next_input},
    Pointwise{"bias_dropout_add", "add", "", Along::hidden}, Pointwise{"rope", "rope", "rope", Along::heads},
    Pointwise{"softmax", "softmax", "softmax-backward", Along::keys},
    Pointwise{"embedding", "embedding", "embedding-backward", Along::hidden},
    Pointwise{"loss", "cross-entropy", "", Along::last_result}};

class BlockQueries {
 public:
  BlockQueries(const ProgramBlock& block, const StepSizes& sizes, const Gpu& gpu, double count)
      : block_(block), sizes_(sizes), gpu_(gpu), count_(count) {}

  void add_to(std::vector<TimedQuery>& out, std::vector<std::string>* left_out = nullptr) {
    for (std::size_t i = 0; i < block_.works.size(); ++i) {
      const KernelWork& work = block_.works[i];
      if (work.pass == Pass::recompute || work.pass == Pass::step) continue;
      const std::size_t before = out.size();
      if (work.kernel == KernelClass::gemm)
        add(out, timed_product(work, sizes_.precision), work.head_dim > 0 ? 1 : work.batch);
      else if (work.kernel == KernelClass::attention) add(out, attention_query(work, sizes_), 1);
      else add_pointwise(out, i);
      const bool with_twin = work.kernel == KernelClass::pointwise && work.pass != Pass::forward;
      if (left_out != nullptr && out.size() == before && !with_twin) left_out->push_back(work.label);
    }
  }

 private:
  void add(std::vector<TimedQuery>& out, const Query& query, double calls) {
    out.push_back({query, expected_time(gpu_, query) * (calls * count_), calls});
  }

  void add_pointwise(std::vector<TimedQuery>& out, std::size_t i) {
    const KernelWork& work = block_.works[i];
    if (work.label.ends_with(" sum")) return add_memory(out, "add", by_bytes(work, "add", hidden()));
    if (work.pass != Pass::forward) return;  // backward goes with its forward twin
    for (const Pointwise& row : pointwise_rows) {
      if (work.label != row.label) continue;
      // An embedding's own launch is the look-up; what else is in it adds positions.
      if (row.forward == "embedding" && work.kernel != KernelClass::lookup) return;
      const auto matrix = matrix_of(row, i);
      if (!matrix) return;
      add_memory(out, row.forward, *matrix);
      if (!row.backward.empty()) add_memory(out, row.backward, *matrix);
    }
  }

  struct Matrix {
    double rows = 1, columns = 1;
  };

  void add_memory(std::vector<TimedQuery>& out, std::string_view op, const Matrix& matrix) {
    const MemoryOp* row = find_memory_op(op);
    assert(row != nullptr);
    add(out, MemoryQuery{row, matrix.rows, matrix.columns, 2}, 1);
  }

  std::optional<Matrix> matrix_of(const Pointwise& row, std::size_t i) const {
    const KernelWork& work = block_.works[i];
    switch (row.along) {
      case Along::next_k: {
        // A norm of heads stands before the rotation of the same heads.
        if (i + 1 < block_.works.size() && block_.works[i + 1].label == "rope")
          return by_bytes(work, row.forward, head_size());
        const KernelWork* next = product_after(i);
        return by_bytes(work, row.forward, next != nullptr ? next->k : hidden());
      }
      case Along::next_input: {
        const KernelWork* next = product_after(i);
        if (next == nullptr) return std::nullopt;
        return Matrix{std::max(1.0, std::round(next->m * next->batch)), next->k};
      }
      case Along::last_result: {
        const KernelWork* last = product_before(i);
        if (last == nullptr) return std::nullopt;
        return Matrix{last->m, last->n};
      }
      case Along::hidden: return by_bytes(work, row.forward, hidden());
      case Along::heads: {
        const double heads = elements_of(work, row.forward) / (sizes_.tokens() * head_size());
        return Matrix{sizes_.tokens(), head_size() * std::max(1.0, std::round(heads))};
      }
      case Along::keys: return by_bytes(work, row.forward, static_cast<double>(sizes_.sequence));
    }
    return std::nullopt;
  }

  /// In two bytes each, as often as the operator reads and writes them.
  static double elements_of(const KernelWork& work, std::string_view op) {
    const MemoryOp* row = find_memory_op(op);
    assert(row != nullptr);
    return work.bytes.value() / (2 * (row->reads + row->writes));
  }
  /// A launch moves statistics, weights and masks besides: rows are the nearest multiple of the positions of a rank.
  Matrix by_bytes(const KernelWork& work, std::string_view op, double columns) const {
    const double rows = elements_of(work, op) / columns;
    const double ways = static_cast<double>(sizes_.tensor_ways);
    const double unit = std::fmod(sizes_.tokens(), ways) == 0 ? sizes_.tokens() / ways : sizes_.tokens();
    return {unit * std::max(1.0, std::round(rows / unit)), columns};
  }

  static bool is_forward_product(const KernelWork& work) {
    return work.kernel == KernelClass::gemm && work.pass == Pass::forward;
  }
  const KernelWork* product_after(std::size_t i) const {
    const auto found =
        std::find_if(block_.works.begin() + static_cast<std::ptrdiff_t>(i), block_.works.end(), is_forward_product);
    return found == block_.works.end() ? nullptr : &*found;
  }
  const KernelWork* product_before(std::size_t i) const {
    for (; i > 0; --i)
      if (is_forward_product(block_.works[i - 1])) return &block_.works[i - 1];
    return nullptr;
  }
  double hidden() const { return static_cast<double>(sizes_.network.hidden); }
  double head_size() const {
    const LatentAttention& latent = sizes_.network.latent;
    return static_cast<double>(latent.kv_rank > 0 ? latent.nope_dim + latent.rope_dim : sizes_.network.head_dim);
  }

  const ProgramBlock& block_;
  const StepSizes& sizes_;
  const Gpu& gpu_;
  double count_;
};

}  // namespace

std::vector<TimedQuery> queries_of(const Program& program, const StepSizes& sizes, const Gpu& gpu) {
  std::vector<double> counts(program.blocks.size(), 0);
  for (const Chunk& chunk : program.chunks)
    for (const BlockRun& run : chunk.runs)
      counts[static_cast<std::size_t>(run.block)] += static_cast<double>(run.count);
  std::vector<TimedQuery> out;
  for (std::size_t b = 0; b < program.blocks.size(); ++b)
    BlockQueries(program.blocks[b], sizes, gpu, counts[b]).add_to(out);
  return out;
}

namespace {

struct IsBackward {
  bool operator()(const GemmQuery& g) const { return g.layout != GemmLayout::tn; }
  bool operator()(const AttentionQuery& a) const { return a.pass == AttentionPass::backward; }
  bool operator()(const MemoryQuery& m) const { return m.op->id.ends_with("-backward"); }
  template <typename Other> bool operator()(const Other&) const { return false; }
};

}  // namespace

LayerQueries layer_queries(const Program& program, const StepSizes& sizes, const Gpu& gpu) {
  std::vector<std::int64_t> counts(program.blocks.size(), 0);
  for (const Chunk& chunk : program.chunks)
    for (const BlockRun& run : chunk.runs)
      if (program.blocks[static_cast<std::size_t>(run.block)].is_layer)
        counts[static_cast<std::size_t>(run.block)] += run.count;
  const auto most = std::max_element(counts.begin(), counts.end()) - counts.begin();
  LayerQueries out;
  BlockQueries(program.blocks[static_cast<std::size_t>(most)], sizes, gpu, 1).add_to(out.queries, &out.left_out);
  std::stable_partition(out.queries.begin(), out.queries.end(),
      [](const TimedQuery& one) { return !std::visit(IsBackward{}, one.query); });
  return out;
}

}  // namespace stepcast::calibration
