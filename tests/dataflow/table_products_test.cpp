// Mappings of single products and MLPs over two- and three-dimensional meshes: SUMMA, Cannon, 2.5-D, and the inference
// layouts of Pope et al. 2022 (arXiv 2211.05102). All are mapping text, none is code.
#include <gtest/gtest.h>

#include "tests/dataflow/ledger.h"

namespace stepcast::dataflow {
namespace {

/// O[m,n] += I[m,k] * W[k,n], all 4096: 2 * 4096 * 4096 = 33,554,432 B per matrix in bf16.
Network one_product() {
  NetworkWriter net{{"m", 4096}, {"n", 4096}, {"k", 4096}};
  const int in = net.tensor("I", "mk"), w = net.tensor("W", "kn", TensorRole::weight), out = net.tensor("O", "mn");
  net.product("product", out, "mn", in, "mk", w, "kn");
  return net.finish(in, out);
}

MovedBytes product_moves(const std::string& mapping, double gradient_bytes) {
  const Network net = one_product();
  PlacingOptions options;
  options.gradient_bytes = gradient_bytes;
  return moved_bytes(net, placed_of(net, mapping, options), "block");
}

TEST(TableProducts, Summa) {
  // Panels of I go along y and of W along x: R(4) * 33,554,432 / 4 = 6,291,456 each, again in backward.
  // dI is Partial on y, dW on x: RS of the same bytes at 2 B per element.
  const double V = 6'291'456;
  EXPECT_EQ(product_moves("mesh y:4 x:4\nuse summa", 2),
      (MovedBytes{{"forward all_gather", V}, {"forward weight all_gather", V}, {"backward all_gather again", V},
          {"backward weight all_gather again", V}, {"backward reduce_scatter", V},
          {"backward gradient reduce_scatter", V}}));
  EXPECT_EQ(product_moves("mesh y:4 x:4\nuse summa", 4).at("backward gradient reduce_scatter"), 12'582'912);
}

TEST(TableProducts, CannonSkewedMovesAsSumma) {
  const MovedBytes moved = product_moves("mesh y:4 x:4\nuse cannon", 2);
  EXPECT_EQ(moved.at("forward ring"), 6'291'456);
  EXPECT_EQ(moved.at("forward weight ring"), 6'291'456);
}

TEST(TableProducts, CannonUnskewedTakesOneMoreHop) {
  // The alignment of each operand: one more transfer of 33,554,432 / 16 = 2,097,152.
  const MovedBytes moved = product_moves(
      "mesh y:4 x:4\npar m on x ; par n on y ; home I: k on y ; home W: k on x ; for k:*\nmove I, W rotate", 2);
  EXPECT_EQ(moved.at("forward ring"), 6'291'456 + 2'097'152);
  EXPECT_EQ(moved.at("forward weight ring"), 6'291'456 + 2'097'152);
  // Two statements say the same as one.
  EXPECT_EQ(product_moves("mesh y:4 x:4\npar m on x ; par n on y ; home I: k on y ; home W: k on x ; for k:*\nmove I "
                          "rotate ; move W rotate",
                2),
      moved);
}

TEST(TableProducts, TwoAndAHalfDimensions) {
  // k split over c = 2 copies: half of each panel, R(4) * 33,554,432 / 8 = 3,145,728; O is summed over c: 2 R(2) *
  // 33,554,432 / 16.
  const MovedBytes moved = product_moves("mesh y:4 x:4 c:2\nuse summa25d", 2);
  EXPECT_EQ(moved.at("forward all_gather"), 3'145'728);
  EXPECT_EQ(moved.at("forward weight all_gather"), 3'145'728);
  EXPECT_EQ(moved.at("forward all_reduce"), 2'097'152);
}

/// X' = X + W2 act(W1 X) or, gated, W3 (act(W1 X) * (W2 X)), over b tokens: B 8, E 8192, F 32768 in bf16.
Network mlp(bool gated, std::int64_t tokens) {
  NetworkWriter net{{"b", tokens}, {"h", 8192}, {"f", 32768}};
  const int x = net.tensor("X", "bh"), a = net.tensor("A", "bf"), up = net.tensor("up", "bf"),
            y = net.tensor("Y", "bh"), out = net.tensor("X2", "bh");
  const int w1 = net.tensor("W1", "hf", TensorRole::weight), w3 = net.tensor("W3", "fh", TensorRole::weight);
  net.product("up", up, "bf", x, "bh", w1, "hf").tags = {"mlp"};
  if (gated) {
    const int gate = net.tensor("gate", "bf"), w2 = net.tensor("W2", "hf", TensorRole::weight);
    net.product("gate", gate, "bf", x, "bh", w2, "hf").tags = {"mlp"};
    net.pointwise("act", OperatorKind::nonlinear, "swiglu", a, {gate, up}).tags = {"mlp"};
  } else {
    net.pointwise("act", OperatorKind::nonlinear, "gelu", a, {up}).tags = {"mlp"};
  }
  net.product("down", y, "bh", a, "bf", w3, "fh").tags = {"mlp"};
  net.pointwise("add", OperatorKind::linear, "add", out, {x, y}).tags = {"residual"};
  return net.finish(x, out);
}

TEST(TableProducts, PopeWeightStationaryInTwoDimensions) {
  // 2 * 2B( R(16) E/4 + R(4) F/16 ) = 32 (1920 + 1536) = 110,592: X gathered and Y scattered over yz, A scattered and
  // gathered over x. No weight moves.
  const Network net = mlp(false, 8);
  const MovedBytes moved = moved_bytes(net, placed_of(net, "mesh yz:16 x:4\nuse ws2d"), "block");
  const double over_yz = 2 * 8 * 15.0 / 16 * 8192 / 4, over_x = 2 * 8 * 0.75 * 32768 / 16;
  EXPECT_EQ(moved.at("forward all_gather"), over_yz + over_x);
  EXPECT_EQ(moved.at("forward reduce_scatter"), over_yz + over_x);
  EXPECT_EQ(moved.at("forward all_gather") + moved.at("forward reduce_scatter"), 110'592);
  EXPECT_EQ(moved.count("forward weight all_gather"), 0u);
}

TEST(TableProducts, PopeWeightGatheredOverX) {
  // Weights in shards on x and yz, gathered over x: 2 EF * 2 R(4) / 16 = 2 * 2 * 8192 * 32768 * 0.75 / 16 = 50,331,648,
  // a gated MLP 1.5 times that. 64 tokens, 16 on each x: X gathered and Y scattered over yz, R(16) * 2 * 16 * 8192
  // each.
  const Network plain = mlp(false, 64), gated = mlp(true, 64);
  const std::string mapping = "mesh yz:16 x:4\nuse wg_x";
  const MovedBytes moved = moved_bytes(plain, placed_of(plain, mapping), "block");
  EXPECT_EQ(moved.at("forward weight all_gather"), 50'331'648);
  EXPECT_EQ(moved.at("forward all_gather"), 15.0 / 16 * 2 * 16 * 8192);
  EXPECT_EQ(moved.at("forward reduce_scatter"), 15.0 / 16 * 2 * 16 * 8192);
  EXPECT_EQ(moved_bytes(gated, placed_of(gated, mapping), "block").at("forward weight all_gather"), 1.5 * 50'331'648);
}

TEST(TableProducts, PopeWeightGatheredOverAll) {
  // Tokens over all 64 ranks, weights in 1/64 shards: gathered R(64) * 2 * 2EF; activations do not move.
  const Network net = mlp(false, 64);
  const MovedBytes moved = moved_bytes(
      net, placed_of(net, "mesh y:4 z:4 x:4\npar b on x*y*z ; at mlp: home weights: h on x, f on y*z"), "block");
  EXPECT_EQ(moved.at("forward weight all_gather"), 63.0 / 64 * 2 * 2 * 8192 * 32768);
  EXPECT_EQ(
      moved.count("forward all_gather") + moved.count("forward reduce_scatter") + moved.count("forward all_reduce"),
      0u);
}

}  // namespace
}  // namespace stepcast::dataflow
