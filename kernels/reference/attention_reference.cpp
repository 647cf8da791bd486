#include "kernels/reference/attention_reference.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace stepcast::kernels {
namespace {

using Row = std::vector<double>;

Row attention_row(
    const AttentionShape& shape, const AttentionInputs& inputs, AttentionTensor tensor, AttentionRow row) {
  Row into(static_cast<std::size_t>(shape.head_dim));
  inputs(tensor, row, into);
  return into;
}

double product_of(const Row& a, const Row& b) {
  double sum = 0;
  for (std::size_t d = 0; d < a.size(); ++d) sum += a[d] * b[d];
  return sum;
}

void add_scaled(Row& into, double factor, const Row& row) {
  for (std::size_t d = 0; d < into.size(); ++d) into[d] += factor * row[d];
}

std::int64_t seen_keys(const AttentionShape& shape, const AttentionRow& query) {
  return shape.causal ? query.position + 1 : shape.positions;
}

AttentionRow key_row(const AttentionShape& shape, const AttentionRow& query, std::int64_t position) {
  return {query.batch, position, query.head / shape.group()};
}

/// What one query gives to one key and value, and gets from them.
struct SeenPair {
  double probability, score_gradient;
};
SeenPair seen_pair(double score, double value_product, const AttentionStatistics& query) {
  const double probability = std::exp(score - query.lse);
  return {probability, probability * (value_product - query.delta)};
}

}  // namespace

double AttentionShape::scale() const { return 1 / std::sqrt(static_cast<double>(head_dim)); }

AttentionForwardRow attention_forward_row(
    const AttentionShape& shape, const AttentionInputs& inputs, const AttentionRow& query) {
  const Row q = attention_row(shape, inputs, AttentionTensor::queries, query);
  const auto seen = static_cast<std::size_t>(seen_keys(shape, query));
  Row score(seen);
  for (std::size_t j = 0; j < seen; ++j) {
    const AttentionRow at = key_row(shape, query, static_cast<std::int64_t>(j));
    score[j] = shape.scale() * product_of(q, attention_row(shape, inputs, AttentionTensor::keys, at));
  }
  const double largest = *std::max_element(score.begin(), score.end());
  double sum = 0;
  for (double s : score) sum += std::exp(s - largest);
  AttentionForwardRow row{Row(q.size(), 0.0), largest + std::log(sum)};
  for (std::size_t j = 0; j < seen; ++j) {
    const AttentionRow at = key_row(shape, query, static_cast<std::int64_t>(j));
    add_scaled(row.result, std::exp(score[j] - row.lse), attention_row(shape, inputs, AttentionTensor::values, at));
  }
  return row;
}

AttentionStatistics attention_statistics(
    const AttentionShape& shape, const AttentionInputs& inputs, const AttentionRow& query) {
  const AttentionForwardRow forward = attention_forward_row(shape, inputs, query);
  const Row gradient = attention_row(shape, inputs, AttentionTensor::result_gradient, query);
  return {forward.lse, product_of(forward.result, gradient)};
}

std::vector<double> attention_query_gradient(
    const AttentionShape& shape, const AttentionInputs& inputs, const AttentionRow& query) {
  const AttentionStatistics statistics = attention_statistics(shape, inputs, query);
  const Row q = attention_row(shape, inputs, AttentionTensor::queries, query);
  const Row result_gradient = attention_row(shape, inputs, AttentionTensor::result_gradient, query);
  Row gradient(q.size(), 0.0);
  for (std::int64_t j = 0; j < seen_keys(shape, query); ++j) {
    const Row k = attention_row(shape, inputs, AttentionTensor::keys, key_row(shape, query, j));
    const Row v = attention_row(shape, inputs, AttentionTensor::values, key_row(shape, query, j));
    const SeenPair pair = seen_pair(shape.scale() * product_of(q, k), product_of(result_gradient, v), statistics);
    add_scaled(gradient, shape.scale() * pair.score_gradient, k);
  }
  return gradient;
}

std::vector<AttentionKeyGradients> attention_key_gradients(const AttentionShape& shape, const AttentionInputs& inputs,
    std::span<const AttentionRow> keys,
    const std::function<AttentionStatistics(const AttentionRow& query)>& statistics) {
  if (keys.empty()) return {};
  const AttentionRow shared = keys.front();
  std::vector<Row> k, v;
  std::int64_t first = shape.positions;
  for (const AttentionRow& key : keys) {
    assert(key.batch == shared.batch && key.head == shared.head);
    k.push_back(attention_row(shape, inputs, AttentionTensor::keys, key));
    v.push_back(attention_row(shape, inputs, AttentionTensor::values, key));
    first = std::min(first, shape.causal ? key.position : 0);
  }
  const Row nothing(static_cast<std::size_t>(shape.head_dim), 0.0);
  std::vector<AttentionKeyGradients> gradients(keys.size(), {nothing, nothing});
  for (std::int64_t head = shared.head * shape.group(); head < (shared.head + 1) * shape.group(); ++head)
    for (std::int64_t position = first; position < shape.positions; ++position) {
      const AttentionRow query{shared.batch, position, head};
      const AttentionStatistics of_query = statistics(query);
      const Row q = attention_row(shape, inputs, AttentionTensor::queries, query);
      const Row result_gradient = attention_row(shape, inputs, AttentionTensor::result_gradient, query);
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (keys[i].position >= seen_keys(shape, query)) continue;
        const SeenPair pair =
            seen_pair(shape.scale() * product_of(q, k[i]), product_of(result_gradient, v[i]), of_query);
        add_scaled(gradients[i].values, pair.probability, result_gradient);
        add_scaled(gradients[i].keys, shape.scale() * pair.score_gradient, q);
      }
    }
  return gradients;
}

void AttentionRowErrors::add(std::span<const double> got, std::span<const double> expected) {
  assert(got.size() == expected.size());
  Row row{0, 0};
  for (std::size_t d = 0; d < expected.size(); ++d) {
    const double error = std::abs(got[d] - expected[d]);
    if (!(error <= row.error)) row.error = error;  // and what is not a number stays
    if (std::isnan(error)) break;
    row.scale = std::max(row.scale, std::abs(expected[d]));
  }
  rows_.push_back(row);
  compared_ += static_cast<std::int64_t>(expected.size());
}

double AttentionRowErrors::largest() const {
  double scale = 1e-6;  // of a gradient that is nothing but zeros, such as that of a query with one key
  for (const Row& row : rows_) scale = std::max(scale, row.scale);
  double largest = 0;
  for (const Row& row : rows_) {
    const double error = row.error / std::max(row.scale, scale * share_);
    if (!(error <= largest)) largest = error;
    if (std::isnan(largest)) break;
  }
  return largest;
}

}  // namespace stepcast::kernels
