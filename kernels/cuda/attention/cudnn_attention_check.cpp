#include "kernels/cuda/attention/cudnn_attention_check.h"

#ifdef STEPCAST_HAS_CUDNN

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/reference/attention_reference.h"
#include "kernels/reference/number.h"

namespace stepcast::kernels::gpu {
namespace {

/// Positions of some heads that stand next to each other, of one batch: what a [batch, positions, heads, head_dim]
/// tensor holds of them, row by row.
struct HeadSlice {
  std::vector<std::uint16_t> numbers;
  std::int64_t heads = 0, head_dim = 0;
  [[nodiscard]] const std::uint16_t* row(std::int64_t position, std::int64_t head) const {
    return numbers.data() + (position * heads + head) * head_dim;
  }
};

/// Which part of the tensors is looked at: a batch and a head of keys.
struct Part {
  std::int64_t batch = 0, kv_head = 0;
};

class AttentionPart {
 public:
  AttentionPart(GpuContext& context, const CudnnAttentionShape& shape, Part part)
      : context_(context), shape_(shape), part_(part), group_(shape.heads / shape.kv_heads),
        format_(shape.type == CUDNN_DATA_HALF ? NumberFormat::fp16 : NumberFormat::bf16) {}

  Expected<void> download(const AttentionSet& set) {
    const std::int64_t first = part_.kv_head * group_;
    Expected<void> good;
    using Count = std::int64_t;
    const auto take = [&](HeadSlice& into, const void* tensor, Count positions, Count all, Count from, Count heads) {
      if (good && tensor != nullptr) good = slice(into, tensor, positions, all, from, heads);
    };
    const auto of_queries = [&](HeadSlice& into, const void* tensor) {
      take(into, tensor, shape_.queries, shape_.heads, first, group_);
    };
    const auto of_keys = [&](HeadSlice& into, const void* tensor) {
      take(into, tensor, shape_.keys, shape_.kv_heads, part_.kv_head, 1);
    };
    of_queries(q, set.q), of_queries(o, set.o), of_queries(d_o, set.d_o), of_queries(d_q, set.d_q);
    of_keys(k, set.k), of_keys(v, set.v), of_keys(d_k, set.d_k), of_keys(d_v, set.d_v);
    if (!good) return good;
    lse_.resize(static_cast<std::size_t>(group_ * shape_.queries));
    const auto* statistics =
        static_cast<const float*>(set.statistics) + (part_.batch * shape_.heads + first) * shape_.queries;
    good = checked(
        cudaMemcpyAsync(lse_.data(), statistics, lse_.size() * sizeof(float), cudaMemcpyDeviceToHost, context_.stream),
        "cudaMemcpyAsync");
    return good ? context_.wait("cudaMemcpyAsync") : good;
  }

  /// As if the part were all there is: batch 0, one head of keys.
  [[nodiscard]] AttentionShape shape() const { return {1, shape_.keys, group_, 1, shape_.head_dim, shape_.causal}; }
  [[nodiscard]] AttentionInputs inputs() const {
    return [this](AttentionTensor tensor, const AttentionRow& row, std::span<double> into) {
      const HeadSlice* const slices[] = {&q, &k, &v, &d_o};
      values(*slices[static_cast<int>(tensor)], row.position, row.head, into);
    };
  }
  void values(const HeadSlice& from, std::int64_t position, std::int64_t head, std::span<double> into) const {
    for (std::size_t d = 0; d < into.size(); ++d)
      into[d] = number_at(format_, from.row(position, head), static_cast<std::int64_t>(d));
  }
  [[nodiscard]] double lse(std::int64_t position, std::int64_t head) const {
    return static_cast<double>(lse_[static_cast<std::size_t>(head * shape_.queries + position)]);
  }
  /// The kernel's own lse and result, which the forward rows are the check of.
  [[nodiscard]] AttentionStatistics statistics(const AttentionRow& query) const {
    std::vector<double> result(static_cast<std::size_t>(shape_.head_dim)), gradient(result.size());
    values(o, query.position, query.head, result);
    values(d_o, query.position, query.head, gradient);
    double delta = 0;
    for (std::size_t d = 0; d < result.size(); ++d) delta += result[d] * gradient[d];
    return {lse(query.position, query.head), delta};
  }

  HeadSlice q, k, v, o, d_o, d_q, d_k, d_v;

 private:
  Expected<void> slice(HeadSlice& into, const void* tensor, std::int64_t positions, std::int64_t all, std::int64_t from,
      std::int64_t heads) {
    into.heads = heads;
    into.head_dim = shape_.head_dim;
    into.numbers.resize(static_cast<std::size_t>(positions * heads * shape_.head_dim));
    const auto* first =
        static_cast<const std::uint16_t*>(tensor) + (part_.batch * positions * all + from) * shape_.head_dim;
    const auto bytes = [&](std::int64_t of) { return static_cast<std::size_t>(of * shape_.head_dim) * 2; };
    const auto rows = static_cast<std::size_t>(positions);
    return checked(cudaMemcpy2DAsync(into.numbers.data(), bytes(heads), first, bytes(all), bytes(heads), rows,
                       cudaMemcpyDeviceToHost, context_.stream),
        "cudaMemcpy2DAsync");
  }

  GpuContext& context_;
  CudnnAttentionShape shape_;
  Part part_;
  std::int64_t group_;
  NumberFormat format_;
  std::vector<float> lse_;
};

/// Largest distance over the root of the mean square of the reference row.
void compare(Check& check, const std::vector<double>& got, const std::vector<double>& reference) {
  double squares = 0, farthest = 0;
  for (std::size_t d = 0; d < got.size(); ++d) {
    squares += reference[d] * reference[d];
    const double distance = std::abs(got[d] - reference[d]);
    farthest = distance <= farthest ? farthest : distance;  // not a number stays
  }
  const double error = farthest / std::sqrt(squares / static_cast<double>(got.size()));
  check.error = error >= 0 ? std::max(check.error, error) : std::numeric_limits<double>::infinity();
  check.compared += static_cast<std::int64_t>(got.size());
}

void check_forward(Check& check, const AttentionPart& part, std::span<const AttentionRow> rows) {
  std::vector<double> got(static_cast<std::size_t>(part.shape().head_dim));
  for (const AttentionRow& row : rows) {
    const AttentionForwardRow reference = attention_forward_row(part.shape(), part.inputs(), row);
    part.values(part.o, row.position, row.head, got);
    compare(check, got, reference.result);
    // One more, since a sum near 1 has a logarithm near 0.
    compare(check, {1 + part.lse(row.position, row.head)}, {1 + reference.lse});
  }
}

void check_backward(Check& check, const AttentionPart& part, std::span<const AttentionRow> queries,
    std::span<const AttentionRow> keys) {
  std::vector<double> got(static_cast<std::size_t>(part.shape().head_dim));
  for (const AttentionRow& row : queries) {
    part.values(part.d_q, row.position, row.head, got);
    compare(check, got, attention_query_gradient(part.shape(), part.inputs(), row));
  }
  const auto gradients = attention_key_gradients(
      part.shape(), part.inputs(), keys, [&](const AttentionRow& query) { return part.statistics(query); });
  for (std::size_t at = 0; at < keys.size(); ++at) {
    part.values(part.d_k, keys[at].position, 0, got);
    compare(check, got, gradients[at].keys);
    part.values(part.d_v, keys[at].position, 0, got);
    compare(check, got, gradients[at].values);
  }
}

}  // namespace

// Half a unit in the last place of 16-bit numbers, u, enters with the probabilities and the stored row: entries are
// at most about 4 deviations, errors of probabilities random, 5 u together; 8 are allowed. Gradients round
// probabilities, their gradients, the result behind delta and heads before they are summed: twice that.
Expected<Check> check_cudnn_attention(GpuContext& context, const CudnnAttentionShape& shape, const AttentionSet& set) {
  std::mt19937_64 random(context.seed);
  const auto below = [&](std::int64_t end) { return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random); };
  AttentionPart part(context, shape, {below(shape.batch), below(shape.kv_heads)});
  TRY(part.download(set));

  // Gradients that cancel out are left out: of the first query, which sees one key, and of the last key, which one
  // query sees.
  const std::int64_t last = shape.queries - 1, group = shape.heads / shape.kv_heads;
  std::vector<AttentionRow> queries{{0, last, below(group)}, {0, shape.queries / 2, below(group)}};
  std::vector<AttentionRow> keys{{0, 0, 0}, {0, shape.keys / 2, 0}};
  for (int more = 0; more < 4; ++more) {
    queries.push_back({0, last > 0 ? 1 + below(last) : 0, below(group)});
    keys.push_back({0, below(shape.keys - 1), 0});
  }
  Check check;
  const double u = shape.type == CUDNN_DATA_HALF ? 0x1p-11 : 0x1p-8;
  check.allowed = (set.d_o != nullptr ? 16 : 8) * u;
  check_forward(check, part, queries);
  if (set.d_o != nullptr) check_backward(check, part, queries, keys);
  return check;
}

}  // namespace stepcast::kernels::gpu

#endif
