// Attention's reference against figures that a reader can redo, and its gradients against differences of its results.
#include "kernels/reference/attention_reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace stepcast::kernels {
namespace {

/// Inputs held as plain numbers: [tensor][batch][position][head][head_dim], with waves of different lengths in them.
struct HeldAttention {
  AttentionShape shape;
  std::vector<double> tensors[4];

  explicit HeldAttention(const AttentionShape& of) : shape(of) {
    for (int t = 0; t < 4; ++t) {
      const std::int64_t heads = heads_of(static_cast<AttentionTensor>(t));
      tensors[t].resize(static_cast<std::size_t>(of.batch * of.positions * heads * of.head_dim));
      for (std::size_t i = 0; i < tensors[t].size(); ++i)
        tensors[t][i] = std::sin(0.37 * (t + 1) * static_cast<double>(i) + 0.5 * t);
    }
  }
  [[nodiscard]] std::int64_t heads_of(AttentionTensor tensor) const {
    return tensor == AttentionTensor::keys || tensor == AttentionTensor::values ? shape.kv_heads : shape.heads;
  }
  double& at(AttentionTensor tensor, const AttentionRow& row, std::int64_t d) {
    const std::int64_t line = (row.batch * shape.positions + row.position) * heads_of(tensor) + row.head;
    return tensors[static_cast<int>(tensor)][static_cast<std::size_t>(line * shape.head_dim + d)];
  }
  AttentionInputs inputs() {
    return [this](AttentionTensor tensor, const AttentionRow& row, std::span<double> into) {
      for (std::size_t d = 0; d < into.size(); ++d) into[d] = at(tensor, row, static_cast<std::int64_t>(d));
    };
  }
  /// Sum of result x result_gradient over everything: what the gradients are gradients of.
  double loss() {
    double sum = 0;
    for (std::int64_t b = 0; b < shape.batch; ++b)
      for (std::int64_t p = 0; p < shape.positions; ++p)
        for (std::int64_t h = 0; h < shape.heads; ++h) sum += attention_statistics(shape, inputs(), {b, p, h}).delta;
    return sum;
  }
  double slope(AttentionTensor tensor, const AttentionRow& row, std::int64_t d) {
    constexpr double step = 1e-5;
    double& number = at(tensor, row, d);
    const double before = number;
    number = before + step;
    const double above = loss();
    number = before - step;
    const double below = loss();
    number = before;
    return (above - below) / (2 * step);
  }
};

TEST(AttentionReference, EqualScoresAverageTheValuesThatAreSeen) {
  HeldAttention held({.positions = 4, .head_dim = 4});
  for (double& q : held.tensors[0]) q = 0;
  for (std::int64_t p = 0; p < 4; ++p) held.at(AttentionTensor::values, {0, p, 0}, 2) = 10.0 * static_cast<double>(p);
  const AttentionForwardRow causal = attention_forward_row(held.shape, held.inputs(), {0, 2, 0});
  EXPECT_NEAR(causal.result[2], (0 + 10 + 20) / 3.0, 1e-12);
  EXPECT_NEAR(causal.lse, std::log(3.0), 1e-12);
  held.shape.causal = false;
  const AttentionForwardRow full = attention_forward_row(held.shape, held.inputs(), {0, 2, 0});
  EXPECT_NEAR(full.result[2], (0 + 10 + 20 + 30) / 4.0, 1e-12);
  EXPECT_NEAR(full.lse, std::log(4.0), 1e-12);
}

TEST(AttentionReference, ScoresAreProductsOverTheRootOfTheHeadsWidth) {
  HeldAttention held({.positions = 2, .head_dim = 4, .causal = false});
  for (auto& tensor : held.tensors) tensor.assign(tensor.size(), 0.0);
  for (std::int64_t d = 0; d < 4; ++d) {
    held.at(AttentionTensor::queries, {0, 0, 0}, d) = 1;
    held.at(AttentionTensor::keys, {0, 1, 0}, d) = 1;  // product 4, over sqrt(4): score 2 against 0
  }
  held.at(AttentionTensor::values, {0, 1, 0}, 0) = 1;
  const AttentionForwardRow row = attention_forward_row(held.shape, held.inputs(), {0, 0, 0});
  EXPECT_NEAR(row.lse, std::log(1 + std::exp(2.0)), 1e-12);
  EXPECT_NEAR(row.result[0], std::exp(2.0) / (1 + std::exp(2.0)), 1e-12);
}

TEST(AttentionReference, HeadsOfAGroupShareKeysAndValues) {
  HeldAttention held({.positions = 3, .heads = 4, .kv_heads = 2, .head_dim = 4});
  for (std::int64_t d = 0; d < 4; ++d) {
    held.at(AttentionTensor::queries, {0, 2, 3}, d) = held.at(AttentionTensor::queries, {0, 2, 2}, d);
    held.at(AttentionTensor::queries, {0, 2, 1}, d) = held.at(AttentionTensor::queries, {0, 2, 2}, d);
  }
  const auto third = attention_forward_row(held.shape, held.inputs(), {0, 2, 2});
  const auto fourth = attention_forward_row(held.shape, held.inputs(), {0, 2, 3});
  const auto second = attention_forward_row(held.shape, held.inputs(), {0, 2, 1});
  EXPECT_EQ(third.result, fourth.result);
  EXPECT_NE(third.result, second.result);
}

TEST(AttentionReference, GradientsAreTheSlopesOfTheLoss) {
  for (bool causal : {true, false}) {
    HeldAttention held({.batch = 2, .positions = 5, .heads = 4, .kv_heads = 2, .head_dim = 4, .causal = causal});
    const auto exact = [&](const AttentionRow& query) {
      return attention_statistics(held.shape, held.inputs(), query);
    };
    const AttentionRow query{1, 3, 2}, keys[] = {{1, 2, 1}, {1, 4, 1}};
    const std::vector<double> of_query = attention_query_gradient(held.shape, held.inputs(), query);
    const auto of_keys = attention_key_gradients(held.shape, held.inputs(), keys, exact);
    ASSERT_EQ(of_keys.size(), 2u);
    for (std::int64_t d = 0; d < 4; ++d) {
      const auto at = static_cast<std::size_t>(d);
      EXPECT_NEAR(of_query[at], held.slope(AttentionTensor::queries, query, d), 1e-8);
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_NEAR(of_keys[i].keys[at], held.slope(AttentionTensor::keys, keys[i], d), 1e-8);
        EXPECT_NEAR(of_keys[i].values[at], held.slope(AttentionTensor::values, keys[i], d), 1e-8);
      }
    }
  }
}

TEST(AttentionReference, ErrorsAreRelativeToTheirRows) {
  const double large[] = {8, 0}, large_got[] = {8, 0.4}, small[] = {1, 0}, small_got[] = {0.9, 0}, tiny[] = {0.1, 0},
               tiny_got[] = {0.05, 0};
  AttentionRowErrors errors;
  errors.add(large_got, large);
  EXPECT_NEAR(errors.largest(), 0.4 / 8, 1e-12);
  errors.add(small_got, small);
  EXPECT_NEAR(errors.largest(), 0.1 / 1, 1e-12);
  errors.add(tiny_got, tiny);  // over 8/16, not over 0.1
  EXPECT_NEAR(errors.largest(), 0.1, 1e-12);
  EXPECT_EQ(errors.compared(), 6);
}

TEST(AttentionReference, WhatIsNotANumberIsNeverAllowed) {
  const double expected[] = {1, 2, 3}, got[] = {1, NAN, 3};
  AttentionRowErrors errors;
  errors.add(got, expected);
  errors.add(expected, expected);
  EXPECT_FALSE(errors.largest() <= attention_allowed(true));
}

}  // namespace
}  // namespace stepcast::kernels
