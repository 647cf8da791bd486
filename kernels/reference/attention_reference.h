// Attention in double precision on the host, row by row: what GPU kernels are compared with. Rows are chosen, so that a
// sequence of 16k is checked in milliseconds. Formulas: arXiv 2205.14135, sections 2.2 and B.2.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace stepcast::kernels {

/// Tensors [batch, positions, heads, head_dim]; keys and values have kv_heads, and query head h uses number
/// h / (heads / kv_heads) of them.
struct AttentionShape {
  std::int64_t batch = 1, positions = 1, heads = 1, kv_heads = 1, head_dim = 64;
  bool causal = true;  ///< a query sees keys at its own position and before
  [[nodiscard]] std::int64_t group() const { return heads / kv_heads; }
  [[nodiscard]] double scale() const;  ///< 1 / sqrt(head_dim), of the products of queries and keys
};

enum class AttentionTensor : std::uint8_t { queries, keys, values, result_gradient };

/// Which row of a tensor; `head` counts kv_heads for keys and values.
struct AttentionRow {
  std::int64_t batch = 0, position = 0, head = 0;
  friend bool operator==(const AttentionRow&, const AttentionRow&) = default;
};

/// Writes one row (head_dim numbers) of an input.
using AttentionInputs = std::function<void(AttentionTensor, const AttentionRow&, std::span<double>)>;

struct AttentionForwardRow {
  std::vector<double> result;  ///< of head_dim numbers
  double lse = 0;              ///< natural logarithm of the sum of exp(scale q k) over the keys that are seen
};
AttentionForwardRow attention_forward_row(
    const AttentionShape& shape, const AttentionInputs& inputs, const AttentionRow& query);

/// What a row of queries puts into the gradients of keys and values: its lse, and delta = result . result_gradient.
struct AttentionStatistics {
  double lse = 0, delta = 0;
};
AttentionStatistics attention_statistics(
    const AttentionShape& shape, const AttentionInputs& inputs, const AttentionRow& query);

/// Gradient of a row of queries.
std::vector<double> attention_query_gradient(
    const AttentionShape& shape, const AttentionInputs& inputs, const AttentionRow& query);

struct AttentionKeyGradients {
  std::vector<double> keys, values;
};

/// Gradients of rows of keys and values that share batch and head. Each sums over all queries of its group of heads
/// that see it, and those need their statistics: `statistics` gives them. attention_statistics costs positions x
/// head_dim per query; for long sequences the caller passes what the kernel itself stored (lse, result), checked on its
/// own by sampled forward rows.
std::vector<AttentionKeyGradients> attention_key_gradients(const AttentionShape& shape, const AttentionInputs& inputs,
    std::span<const AttentionRow> keys,
    const std::function<AttentionStatistics(const AttentionRow& query)>& statistics);

/// How far rows are from a reference, each relative to its own largest number, or to a share of the largest of all rows
/// where that is more: late rows of a causal problem are small, and their errors shall not hide behind the first rows'.
class AttentionRowErrors {
 public:
  explicit AttentionRowErrors(double share = 1.0 / 16) : share_(share) {}
  void add(std::span<const double> got, std::span<const double> expected);
  [[nodiscard]] double largest() const;  ///< not a number where a row holds one that is none
  [[nodiscard]] std::int64_t compared() const { return compared_; }

 private:
  struct Row {
    double error, scale;
  };
  double share_;
  std::vector<Row> rows_;
  std::int64_t compared_ = 0;
};

/// What rounding does to a row, as `u` of the type (half a unit in the last place of 1: 2^-8 for bf16, 2^-11 for fp16).
/// Rounded are probabilities (u each), the result (u), for gradients also score gradients (u), through the rounded
/// result delta (u), and the gradient (u); sums are in fp32. Rounding errors of a sum's terms have random signs, as the
/// terms of random inputs do, so that one of u per term leaves less than u of the sum's own size, but a row's largest
/// error is two or three times its usual one. Twice the four: 8 u.
constexpr double attention_allowed(bool bf16) { return 8 * (bf16 ? 1.0 / 256 : 1.0 / 2048); }

}  // namespace stepcast::kernels
