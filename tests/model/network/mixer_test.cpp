// Mixers: the forms that ship, counts by hand, and what a file of one's own may get wrong.
#include "model/network/mixer.h"

#include <gtest/gtest.h>

#include "model/network/network.h"

namespace stepcast {
namespace {

/// Mamba-2 of Nemotron-H 8B: H 128 heads of P 64, G 8 groups, N 128 states, 4 taps, chunks of 128, h 4096.
TEST(Mixer, MambaTwoByHand) {
  const Mixer mixer = make_mixer(
      "mamba2", {{"heads", 128}, {"head_dim", 64}, {"groups", 8}, {"state", 128}, {"taps", 4}, {"chunk", 128}});
  const std::int64_t h = 4096, H = 128, d = 128 * 64, G = 8, N = 128, w = 4, Q = 128;
  const MixerCounts counts = count_mixer(mixer, h);
  EXPECT_EQ(counts.parameters, h * (2 * d + 2 * G * N + H) + (w + 1) * (d + 2 * G * N) + 3 * H + d + d * h);
  EXPECT_EQ(counts.flops_per_token, 2.0 * h * (2 * d + 2 * G * N + H) + 2.0 * w * (d + 2 * G * N) +
                                        (2.0 * Q * G * N + 2.0 * Q * d + 4.0 * N * d) + 2.0 * d * h);
}

/// Qwen3-Next: 16 key and 32 value heads of 128, h 2048.
TEST(Mixer, GatedDeltaByHand) {
  const Mixer mixer = make_mixer("gated-delta",
      {{"key_heads", 16}, {"value_heads", 32}, {"key_dim", 128}, {"value_dim", 128}, {"taps", 4}, {"chunk", 64}});
  const std::int64_t h = 2048, K = 16 * 128, V = 32 * 128, nv = 32, w = 4;
  const MixerCounts counts = count_mixer(mixer, h);
  EXPECT_EQ(counts.parameters, h * (2 * K + 2 * V + 2 * nv) + w * (2 * K + V) + 2 * nv + 128 + V * h);
  const double C = 64, dk = 128, dv = 128;
  const double head = 4 * C * dk + C * C + 2 * C * (dk + dv) + 6 * dk * dv + 2 * C * dv;
  EXPECT_EQ(
      counts.flops_per_token, 2.0 * h * (2 * K + 2 * V + 2 * nv) + 2.0 * w * (2 * K + V) + nv * head + 2.0 * V * h);
}

TEST(Mixer, FormsOfTheProgramAreRead) {
  EXPECT_GE(mixer_form_ids().size(), 6U);
  for (const std::string& id : mixer_form_ids()) {
    const auto form = find_mixer_form(id, "here");
    ASSERT_TRUE(form) << id;
    EXPECT_FALSE((*form)->source.empty()) << id;
    EXPECT_EQ((*form)->operators.back().output.name, "y") << id;
  }
  const auto none = find_mixer_form("mamba3", "network.json:/mixer/kind");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().hint.find("mamba"), std::string::npos) << none.error().hint;
}

const std::string hybrid = R"({"id": "tiny", "layers": 4, "hidden": 64, "ffn_hidden": 128, "heads": 4, "vocab": 100,
  "sequence": 128, "norm": "rmsnorm", "activation": "swiglu", "positions": "rope", "pattern": "M- M- M- *-",
  "mixer": {"kind": "mamba2", "heads": 8, "head_dim": 16, "groups": 2, "state": 16, "taps": 4, "chunk": 32}})";

std::string error_of(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  const auto read = read_network(text.replace(at, from.size(), to), "n.json");
  return read ? "accepted" : to_text(read.error());
}

TEST(Mixer, ANetworkFileSaysWhichLayersHaveIt) {
  const auto read = read_network(hybrid, "n.json");
  ASSERT_TRUE(read) << to_text(read.error());
  ASSERT_EQ(read->pattern.size(), 4U);
  EXPECT_TRUE(read->pattern[0].mixer);
  EXPECT_FALSE(read->pattern[0].attention);
  EXPECT_TRUE(read->pattern[3].attention);
  EXPECT_EQ(read->mixer.extent("m"), 4);
  const auto again = read_network(write_network(*read), "n.json");
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(write_network(*again), write_network(*read));
}

TEST(Mixer, WrongPatternsAreRefused) {
  const std::string pattern = R"("pattern": "M- M- M- *-")";
  const auto with = [&](const std::string& words) {
    return error_of(hybrid, pattern, "\"pattern\": \"" + words + "\"");
  };
  EXPECT_NE(with("M- Q- M- *-").find("'Q-' is no layer"), std::string::npos) << with("M- Q- M- *-");
  EXPECT_NE(with("-M *-").find("no layer"), std::string::npos) << "sublayers in their order";
  EXPECT_NE(with("MM- *-").find("no layer"), std::string::npos) << "each once";
  EXPECT_NE(with("*-").find("no layer has the mixer"), std::string::npos) << with("*-");
  EXPECT_NE(with("ME *-").find("nothing describes"), std::string::npos) << with("ME *-");
  EXPECT_NE(with("M- w-").find("nothing describes"), std::string::npos) << with("M- w-");
  EXPECT_NE(with("M- d-").find("picked"), std::string::npos) << with("M- d-");
  EXPECT_NE(with("M- M- M- M- *-").find("5 words for 4 layers"), std::string::npos);
}

TEST(Mixer, WrongSizesAreRefused) {
  EXPECT_NE(error_of(hybrid, "\"groups\": 2", "\"groups\": 3").find("does not come out even"), std::string::npos);
  EXPECT_NE(error_of(hybrid, "\"state\": 16", "\"state\": 0").find("/mixer/state"), std::string::npos);
  EXPECT_NE(error_of(hybrid, ", \"taps\": 4", "").find("taps"), std::string::npos);
  EXPECT_NE(error_of(hybrid, "\"taps\": 4", "\"taps\": 4, \"tips\": 4").find("tips"), std::string::npos);
  EXPECT_NE(error_of(hybrid, "\"mamba2\"", "\"mamba4\"").find("mamba4"), std::string::npos);
}

const std::string own_form =
    R"({"id": "tiny", "layers": 2, "hidden": 64, "ffn_hidden": 128, "vocab": 100, "sequence": 128,
  "norm": "rmsnorm", "activation": "swiglu", "positions": "none", "pattern": "M-", "mixer": {"heads": 4, "size": 16, "form": {
    "id": "mine", "sizes": ["heads", "size"], "dims": {"u": "heads", "p": "size", "n": "size"}, "operators": [
      {"make": "Q b s u n", "by": "product", "from": ["x", "W.q h u n"], "part": "in"},
      {"make": "K b s u n", "by": "product", "from": ["x", "W.k h u n"], "part": "in"},
      {"make": "V b s u p", "by": "product", "from": ["x", "W.v h u p"], "part": "in"},
      {"make": "O b s u p", "by": "lightning", "from": ["V", "K", "Q"], "whole": ["s", "p", "n"], "part": "scan"},
      {"make": "y", "by": "product", "from": ["O", "W.out u p h"], "part": "out"}]}}})";

TEST(Mixer, AFormOfOnesOwnStandsInTheFile) {
  const auto read = read_network(own_form, "n.json");
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(count_mixer(read->mixer, 64).parameters, 4 * 64 * 64);
  const auto again = read_network(write_network(*read), "n.json");
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(write_network(*again), write_network(*read));
}

TEST(Mixer, WrongFormsAreRefused) {
  const auto broken = [&](const std::string& from, const std::string& to) { return error_of(own_form, from, to); };
  EXPECT_NE(broken("\"lightning\"", "\"lightnin\"").find("did you mean"), std::string::npos)
      << broken("\"lightning\"", "\"lightnin\"");
  EXPECT_NE(broken("\"n\": \"size\"", "\"n\": \"sizes\"").find("none of the sizes"), std::string::npos);
  EXPECT_NE(broken("\"u\": \"heads\"", "\"g\": \"heads\"").find("is the network's"), std::string::npos);
  EXPECT_NE(broken("W.q h u n", "W.q h u q").find("nobody states"), std::string::npos);
  EXPECT_NE(broken("[\"V\", \"K\", \"Q\"]", "[\"V\", \"K\", \"R\"]").find("not made before"), std::string::npos);
  EXPECT_NE(broken("\"make\": \"y\"", "\"make\": \"z b s h\"").find("nobody reads z"), std::string::npos);
  EXPECT_NE(broken("K b s u n", "Q b s u n").find("made twice"), std::string::npos);
  EXPECT_NE(broken("[\"V\", \"K\", \"Q\"]", "[\"V\"]").find("a scan of 1 operands"), std::string::npos);
  EXPECT_NE(broken("[\"V\", \"K\", \"Q\"]", "[\"V\", \"K\", \"D u p\"]").find("is a weight"), std::string::npos);
  EXPECT_NE(broken("[\"V\", \"K\", \"Q\"]", "[\"V\", \"K\"]").find("operands"), std::string::npos);
  EXPECT_NE(broken("W.k h u n", "W.q h n u").find("two shapes"), std::string::npos);
  EXPECT_NE(broken("W.k h u n", "W.k s u n").find("sequences or positions"), std::string::npos);
  EXPECT_NE(broken("W.out u p h", "W.out u p").find("has a dim 'h' that no operand has"), std::string::npos);
  EXPECT_NE(broken("\"make\": \"y\"", "\"make\": \"y b s u\"").find("y has dims b s h"), std::string::npos);
  EXPECT_NE(broken("\"lightning\"", "\"softmax\"").find("has no place in a mixer"), std::string::npos);
  EXPECT_NE(broken("O b s u p\", \"by\"", "O b s p\", \"by\"").find("shaped like its values"), std::string::npos);
  EXPECT_NE(broken("\"n\": \"size\"", "\"n\": \"size heads\"").find("no product or quotient"), std::string::npos);
}

}  // namespace
}  // namespace stepcast
