#include "kernels/cuda/attention/attention_check.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "kernels/reference/number.h"

namespace stepcast::kernels::gpu {
namespace {

/// Consecutive heads of one batch entry on the host: [positions][heads][head_dim].
struct HeldHeads {
  std::int64_t first = 0, heads = 1, head_dim = 64;
  bool bf16 = true;
  std::vector<std::uint16_t> bits;

  void row(std::int64_t position, std::int64_t head, std::span<double> into) const {
    const std::uint16_t* from = bits.data() + (position * heads + head - first) * head_dim;
    for (std::size_t d = 0; d < into.size(); ++d)
      into[d] = static_cast<double>(bf16 ? from_bf16(from[d]) : from_fp16(from[d]));
  }
  [[nodiscard]] std::vector<double> row(std::int64_t position, std::int64_t head) const {
    std::vector<double> values(static_cast<std::size_t>(head_dim));
    row(position, head, values);
    return values;
  }
};

/// What is compared: one batch entry, one head of keys and values and the heads of queries that share it.
struct Sampled {
  const AttentionShape& shape;
  bool bf16;
  std::int64_t batch, kv_head;

  [[nodiscard]] std::int64_t first_head() const { return kv_head * shape.group(); }

  /// One copy for each tensor: rows of a few heads out of rows of all.
  Expected<void> fetch(HeldHeads& into, const std::uint16_t* tensor, bool of_keys) const {
    const std::int64_t all = of_keys ? shape.kv_heads : shape.heads;
    into = {of_keys ? kv_head : first_head(), of_keys ? 1 : shape.group(), shape.head_dim, bf16, {}};
    into.bits.resize(static_cast<std::size_t>(shape.positions * into.heads * shape.head_dim));
    const auto width = static_cast<std::size_t>(into.heads * shape.head_dim) * sizeof(std::uint16_t);
    const auto pitch = static_cast<std::size_t>(all * shape.head_dim) * sizeof(std::uint16_t);
    const std::uint16_t* from = tensor + (batch * shape.positions * all + into.first) * shape.head_dim;
    return checked(cudaMemcpy2D(into.bits.data(), width, from, pitch, width, static_cast<std::size_t>(shape.positions),
                       cudaMemcpyDeviceToHost),
        "cudaMemcpy2D");
  }
  /// [heads of the group][positions]
  Expected<void> fetch_lse(std::vector<float>& into, const float* lse) const {
    into.resize(static_cast<std::size_t>(shape.group() * shape.positions));
    return checked(cudaMemcpy(into.data(), lse + (batch * shape.heads + first_head()) * shape.positions,
                       into.size() * sizeof(float), cudaMemcpyDeviceToHost),
        "cudaMemcpy");
  }
  [[nodiscard]] std::size_t lse_at(const AttentionRow& query) const {
    return static_cast<std::size_t>((query.head - first_head()) * shape.positions + query.position);
  }
};

struct HeldTensors {
  HeldHeads queries, keys, values, result_gradient, result, query_gradient, key_gradient, value_gradient;
  std::vector<float> lse;
};

Expected<void> fetch_all(
    HeldTensors& held, const Sampled& sampled, const AttentionTensors& tensors, bool with_gradients) {
  TRY(sampled.fetch(held.queries, tensors.queries, false));
  TRY(sampled.fetch(held.keys, tensors.keys, true));
  TRY(sampled.fetch(held.values, tensors.values, true));
  TRY(sampled.fetch(held.result, tensors.result, false));
  TRY(sampled.fetch_lse(held.lse, tensors.lse));
  if (!with_gradients) return {};
  TRY(sampled.fetch(held.result_gradient, tensors.result_gradient, false));
  TRY(sampled.fetch(held.query_gradient, tensors.query_gradient, false));
  TRY(sampled.fetch(held.key_gradient, tensors.key_gradient, true));
  return sampled.fetch(held.value_gradient, tensors.value_gradient, true);
}

/// First, last, both sides of a block's edge, and others at random; fewer where each costs more. Of causal problems the
/// first few queries are left to the tests: their score gradients are differences of nearly equal numbers.
std::vector<std::int64_t> sampled_positions(const AttentionShape& shape, std::mt19937_64& random, std::size_t most) {
  const std::int64_t last = shape.positions - 1, first = std::min<std::int64_t>(shape.causal ? 16 : 0, last);
  std::vector<std::int64_t> positions{last, first, 127, 128};
  std::uniform_int_distribution<std::int64_t> any(first, last);
  while (positions.size() < most) positions.push_back(any(random));
  positions.resize(most);
  for (std::int64_t& position : positions) position = std::clamp(position, first, last);
  return positions;
}

}  // namespace

Expected<Check> check_attention(
    GpuContext& context, const AttentionShape& shape, bool bf16, const AttentionTensors& tensors, bool with_gradients) {
  TRY(context.wait("attention"));
  std::mt19937_64 random(context.seed);
  const auto below = [&](std::int64_t count) {
    return std::uniform_int_distribution<std::int64_t>(0, count - 1)(random);
  };
  const Sampled sampled{shape, bf16, below(shape.batch), below(shape.kv_heads)};
  HeldTensors held;
  TRY(fetch_all(held, sampled, tensors, with_gradients));
  const HeldHeads* inputs[] = {&held.queries, &held.keys, &held.values, &held.result_gradient};  // by AttentionTensor
  const AttentionInputs accessor = [&](AttentionTensor tensor, const AttentionRow& row, std::span<double> into) {
    inputs[static_cast<int>(tensor)]->row(row.position, row.head, into);
  };

  AttentionRowErrors results, query_gradients, key_gradients, value_gradients;
  double lse_error = 0;  // of a logarithm: absolute, and so relative to the probabilities
  for (const std::int64_t position : sampled_positions(shape, random, shape.positions > 4096 ? 4 : 8)) {
    const AttentionRow query{sampled.batch, position, sampled.first_head() + below(shape.group())};
    const AttentionForwardRow forward = attention_forward_row(shape, accessor, query);
    results.add(held.result.row(position, query.head), forward.result);
    const double error = std::abs(static_cast<double>(held.lse[sampled.lse_at(query)]) - forward.lse);
    if (!(error <= lse_error)) lse_error = error;
    if (with_gradients)
      query_gradients.add(
          held.query_gradient.row(position, query.head), attention_query_gradient(shape, accessor, query));
  }
  if (with_gradients) {
    std::vector<AttentionRow> keys;
    for (const std::int64_t position : {std::int64_t{0}, below(shape.positions), shape.positions - 1})
      keys.push_back({sampled.batch, position, sampled.kv_head});
    // lse and result of all queries as the kernel left them; the rows above checked them.
    const auto statistics = [&](const AttentionRow& query) {
      const auto result = held.result.row(query.position, query.head);
      const auto gradient = held.result_gradient.row(query.position, query.head);
      double delta = 0;
      for (std::size_t d = 0; d < result.size(); ++d) delta += result[d] * gradient[d];
      return AttentionStatistics{static_cast<double>(held.lse[sampled.lse_at(query)]), delta};
    };
    const auto expected = attention_key_gradients(shape, accessor, keys, statistics);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      key_gradients.add(held.key_gradient.row(keys[i].position, sampled.kv_head), expected[i].keys);
      value_gradients.add(held.value_gradient.row(keys[i].position, sampled.kv_head), expected[i].values);
    }
  }
  Check check{lse_error, attention_allowed(bf16), 0};
  for (const AttentionRowErrors* errors : {&results, &query_gradients, &key_gradients, &value_gradients}) {
    if (!(errors->largest() <= check.error) && !std::isnan(check.error)) check.error = errors->largest();
    check.compared += errors->compared();
  }
  return check;
}

}  // namespace stepcast::kernels::gpu
