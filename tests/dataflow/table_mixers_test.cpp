// Mixers under tensor, sequence and context parallelism, to the byte, as the layers' own formulas say.
//
// Nemotron-H's Mamba-2 (arXiv 2504.03624): h 4096, H 128 heads of P 64 (d 8192), G 8 groups, N 128, one sequence of
// 4096 positions; every element has two bytes. Gated DeltaNet of Qwen3-Next: 16 key and 32 value heads of 128.
#include <gtest/gtest.h>

#include "tests/dataflow/ledger.h"
#include "tests/dataflow/networks.h"

namespace stepcast::dataflow::table_mixers_test {
namespace {

constexpr double s = 4096, h = 4096, d = 8192, GN = 8 * 128, H = 128, token = 2 * s;

NetworkSpec mamba_spec() {
  NetworkSpec spec = section_c_spec();
  spec.hidden = 4096;
  spec.layers = 2;
  spec.mixer = make_mixer(
      "mamba2", {{"heads", 128}, {"head_dim", 64}, {"groups", 8}, {"state", 128}, {"taps", 4}, {"chunk", 128}});
  spec.pattern = {*layer_of_word("M")};
  return spec;
}
Network mamba() { return section_c_network(1, mamba_spec()); }

/// Statistics of norms aside, which are fp32 numbers per position and group.
double saved(const Network& net, const std::string& mapping) {
  double total = 0;
  for (const auto& [tensor, bytes] : saved_bytes(net, placed_of(net, mapping), "mixer"))
    if (!tensor.ends_with(".q")) total += bytes;
  return total;
}

TEST(TableMixers, MambaTwoKeepsWhatItsKernelKeeps) {
  // norm's input and in_proj's, zxBCdt, the scan's result, the gated norm's input, out_proj's input; the convolution is
  // run again in backward. All but the first two are split over tp; under sp those as well.
  const double inner = (2 * d + 2 * GN + H) + d + d + d;
  const std::string again = "\nrecompute mixer.conv";
  EXPECT_EQ(saved(mamba(), "mesh tp:1" + again), token * (2 * h + inner));
  for (const int tp : {2, 4, 8}) {
    const std::string mesh = "mesh tp:" + std::to_string(tp) + "\nuse tp";
    EXPECT_EQ(saved(mamba(), mesh + again), token * (2 * h + inner / tp)) << tp;
    EXPECT_EQ(saved(mamba(), mesh + ", sp" + again), token * (2 * h + inner) / tp) << tp;
  }
}

TEST(TableMixers, MambaTwoUnderTensorAndSequenceParallelismMovesTheStream) {
  // As an MLP: AG(X1) and RS(Y1) forward; AG(dY1), X1 again and RS(dX1) backward. Nothing inside the mixer.
  const double stream = 7.0 / 8 * token * h;
  const MovedBytes moved = moved_bytes(mamba(), placed_of(mamba(), "mesh tp:8\nuse tp, sp"), "mixer");
  EXPECT_EQ(moved.at("forward all_gather"), stream);
  EXPECT_EQ(moved.at("forward reduce_scatter"), stream);
  EXPECT_EQ(moved.at("backward all_gather"), stream);
  EXPECT_EQ(moved.at("backward all_gather again"), stream);
  EXPECT_EQ(moved.at("backward reduce_scatter"), stream);
  EXPECT_EQ(moved.count("forward all_reduce"), 0U);
  EXPECT_EQ(moved.count("forward all_to_all"), 0U);
}

TEST(TableMixers, MambaTwoUnderContextParallelismExchangesPositionsForHeads) {
  // x, B, C and dt go from positions to heads before the convolution, the result comes back behind the scan; Megatron
  // sends z, too, since its gate runs beside the heads. (p - 1) / p of a rank's part each.
  const std::string along = "\nat mixer.conv: par u*m on cp\nat mixer.scan: par u*m on cp\n";
  for (const int cp : {2, 4, 8}) {
    const MovedBytes moved =
        moved_bytes(mamba(), placed_of(mamba(), "mesh cp:" + std::to_string(cp) + along + "use ulysses"), "mixer");
    const double part = (cp - 1.0) / cp * token / cp;
    EXPECT_EQ(moved.at("forward all_to_all"), part * (d + 2 * GN + H + d)) << cp;
    EXPECT_EQ(moved.at("backward all_to_all"), part * (d + d + 2 * GN + H)) << cp;
  }
}

TEST(TableMixers, GroupsThatDoNotDivideAreRefused) {
  const auto placed = place_text(mamba(), "mesh tp:16\nuse tp");
  ASSERT_FALSE(placed);
  EXPECT_NE(placed.error().what.find("extent 8"), std::string::npos) << placed.error().what;
}

TEST(TableMixers, GatedDeltaUnderTensorParallelism) {
  NetworkSpec spec = mamba_spec();
  spec.hidden = 2048;
  spec.mixer = make_mixer("gated-delta",
      {{"key_heads", 16}, {"value_heads", 32}, {"key_dim", 128}, {"value_dim", 128}, {"taps", 4}, {"chunk", 64}});
  const Network net = section_c_network(1, spec);
  const double K = 16 * 128, V = 32 * 128, nv = 32, wide = 2048;
  // norm's input and the projections', what goes into the convolution and comes out of it, gates and decays, the scan's
  // result before and behind its norm, and what the output projection reads.
  const double inner = 2 * (2 * K + V) + V + 2 * nv + 3 * V;
  EXPECT_EQ(saved(net, "mesh tp:1"), token * (2 * wide + inner));
  EXPECT_EQ(saved(net, "mesh tp:8\nuse tp, sp"), token * (2 * wide + inner) / 8);
  const MovedBytes moved = moved_bytes(net, placed_of(net, "mesh tp:8\nuse tp, sp"), "mixer");
  EXPECT_EQ(moved.at("forward all_gather"), 7.0 / 8 * token * wide);
  EXPECT_EQ(moved.count("forward all_reduce"), 0U);
}

TEST(TableMixers, LatentExpertsSendNarrowRows) {
  // Nemotron 3 Super: rows of 1024 in place of 4096 go to the experts, forward and backward.
  NetworkSpec spec = section_c_spec();
  spec.hidden = 4096;
  spec.experts = {.count = 16, .top_k = 2, .ffn_hidden = 512};
  spec.experts.latent = 1024;
  const Network net = section_c_network(8, spec);
  const MovedBytes narrow = moved_bytes(net, placed_of(net, "mesh dp:8\nmesh ep:8 edp:1\nuse dp, ep"), "expert_layer");
  spec.experts.latent = 0;
  const Network whole = section_c_network(8, spec);
  const MovedBytes wide =
      moved_bytes(whole, placed_of(whole, "mesh dp:8\nmesh ep:8 edp:1\nuse dp, ep"), "expert_layer");
  EXPECT_EQ(narrow.at("forward all_to_all") * 4, wide.at("forward all_to_all"));
  EXPECT_EQ(narrow.at("backward all_to_all") * 4, wide.at("backward all_to_all"));
}

}  // namespace
}  // namespace stepcast::dataflow::table_mixers_test
