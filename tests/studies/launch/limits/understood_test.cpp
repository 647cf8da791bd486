#include "studies/launch/limits/understood.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/launch/rules/explain.h"
#include "tests/studies/launch/given_launch.h"

namespace stepcast::launch {
namespace {

using given_launches::given_launch;
using given_launches::GivenValues;
using given_launches::megatron_reading;
using given_launches::said;
using given_launches::trained;
using given_launches::with_gpt;
using testing::HasSubstr;

TEST(UnderstoodLaunch, EveryUnknownArgumentIsNamedAtOnce) {
  const auto refused =
      megatron_reading({{"wibble", "3"}, {"tensor_modl_parallel_size", "8"}, {"pipeline_model_parallel_size", "2"}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "run.sh");
  EXPECT_THAT(refused.error().what, HasSubstr("2 arguments may change the run and are not known"));
  EXPECT_THAT(refused.error().what, HasSubstr("run.sh:10 --wibble ("));
  EXPECT_THAT(refused.error().what, HasSubstr("--tensor_modl_parallel_size (not known of any release of Megatron-LM; "
                                              "near it: --tensor-model-parallel-size)"));
  EXPECT_THAT(refused.error().hint, HasSubstr("--lenient"));
}

std::size_t times(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// A look for a near name goes through the whole table, so that of 2000 unknown arguments, each near a known one, 10
/// have theirs; 40 are listed, and all are counted. explain lists all of them, with as many looks.
TEST(UnderstoodLaunch, OfVeryManyUnknownArgumentsFewAreLookedUp) {
  GivenValues many;
  std::vector<std::string> names(2000);
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = "micro_batch_size" + std::to_string(i);
  for (const std::string& name : names) many.emplace_back(name.c_str(), "3");
  const auto refused = megatron_reading(many);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("2000 arguments may change the run and are not known"));
  EXPECT_THAT(refused.error().what, HasSubstr("; and 1960 more"));
  EXPECT_EQ(times(refused.error().what, "near it:"), 10U);
  EXPECT_EQ(times(refused.error().what, "--micro_batch_size"), 40U);
  const Launch launch = given_launch("megatron-lm", with_gpt(many), 64);
  const ExplainedLaunch explained = explain_launch(launch, {}, {});
  std::size_t unknown = 0, near = 0;
  for (const ExplainedArgument& argument : explained.arguments)
    for (const std::string& said : argument.said)
      unknown += times(said, "not known of any release"), near += times(said, "near it:");
  EXPECT_EQ(unknown, 2000U);
  EXPECT_EQ(near, 10U);
}

TEST(UnderstoodLaunch, LenientIsAWarning) {
  LaunchHints hints;
  hints.lenient = true;
  const auto reading = read_meaning(given_launch("megatron-lm", with_gpt({{"wibble", "3"}}), 64), hints);
  ASSERT_TRUE(reading) << to_text(reading.error());
  EXPECT_THAT(reading->request.warnings, testing::ElementsAre(HasSubstr("--wibble")));
}

TEST(UnderstoodLaunch, NetworksThatAreNotForecastAreRefusedAndTheirAbsenceIsNot) {
  const struct {
    const char *name, *value, *plain, *because;
  } rows[] = {{"hybrid_override_pattern", "M-G-M*-", "none", "in one pattern"},
      {"hybrid_layer_pattern", "M*|Q", "null", "none of our forms"},
      {"hybrid_layer_pattern", "M*+-", "null", "several"},
      {"hybrid_layer_pattern", "M-+-", "null", "whose sizes are not told"},
      {"hybrid_attention_ratio", "0.08", "0.0", "Mamba"},
      {"experimental_attention_variant", "dsa", "none", "whose indexer is not told"},
      {"experimental_attention_variant", "gdn2", "none", "is not read"},
      {"decoder_num_layers", "24", "none", "no length"}, {"decoder_seq_length", "128", "none", "no decoder"},
      {"experimental_attention_variant", "gated_delta_net", "none", "which layers"},
      {"spec", "megatron.core.models.mamba.mamba_layer_specs mamba_stack_spec", "local", "a module builds"},
      {"encoder_tensor_model_parallel_size", "2", "0", "encoder"}};
  for (const auto& row : rows) {
    const auto refused = megatron_reading({{row.name, row.value}});
    ASSERT_FALSE(refused) << row.name;
    EXPECT_THAT(refused.error().what, HasSubstr(row.because)) << row.name;
    EXPECT_TRUE(megatron_reading({{row.name, row.plain}})) << row.name;
    LaunchHints lenient;
    lenient.lenient = true;
    EXPECT_FALSE(read_meaning(given_launch("megatron-lm", with_gpt({{row.name, row.value}}), 64), lenient)) << row.name;
  }
}

/// Three stages of three, two and four layers.
TEST(UnderstoodLaunch, BordersInAPatternAreThoseOfStages) {
  const GivenValues hybrid{{"num_layers", "9"}, {"disable_bias_linear", "true"}, {"mamba_num_heads", "64"},
      {"pipeline_model_parallel_size", "3"}};
  const auto with = [&](const char* pattern) {
    GivenValues more = hybrid;
    more.emplace_back("hybrid_layer_pattern", pattern);
    return megatron_reading(more, 48);
  };
  const auto reading = with("M-M|*-|M-M-");
  ASSERT_TRUE(reading) << to_text(reading.error());
  EXPECT_EQ(trained(*reading).layers, 9);
  EXPECT_EQ(said(*reading, "layout"), "3,2,4");
  for (const char* pattern : {"M-M-M|*-M-", "M-M|*-M-M-|"}) {
    const auto refused = with(pattern);
    ASSERT_FALSE(refused) << pattern;
    EXPECT_THAT(refused.error().what, HasSubstr("parts between borders for 3 stages"));
  }
}

/// Attention in every fourth layer, Gated DeltaNet in the others.
TEST(UnderstoodLaunch, GatedDeltaNetStandsInAllButEveryFourthLayer) {
  const auto reading =
      megatron_reading({{"experimental_attention_variant", "gated_delta_net"}, {"linear_attention_freq", "4"},
          {"num_layers", "8"}, {"attention_output_gate", "true"}, {"disable_bias_linear", "true"}});
  ASSERT_TRUE(reading) << to_text(reading.error());
  const NetworkSpec& network = trained(*reading);
  EXPECT_TRUE(network.attention_gate);
  EXPECT_EQ(network.mixer.size("value_heads"), 32);
  ASSERT_EQ(network.pattern.size(), 8U);
  for (std::size_t layer = 0; layer < 8; ++layer) EXPECT_EQ(network.pattern[layer].mixer, layer % 4 != 3) << layer;
}

/// Letters for it, and for attention over keys that an indexer picks.
TEST(UnderstoodLaunch, LettersOfAPatternNameMixersAndAttention) {
  const auto delta =
      megatron_reading({{"hybrid_layer_pattern", "G-G-*-G-"}, {"num_layers", "8"}, {"disable_bias_linear", "true"}});
  ASSERT_TRUE(delta) << to_text(delta.error());
  EXPECT_EQ(trained(*delta).mixer.size("key_dim"), 128);
  EXPECT_EQ(trained(*delta).layers, 8);
  const GivenValues latent{{"num_layers", "4"}, {"multi_latent_attention", "true"}, {"q_lora_rank", "1536"},
      {"dsa_indexer_topk", "512"}, {"dsa_indexer_n_heads", "64"}, {"dsa_indexer_head_dim", "128"},
      {"disable_bias_linear", "true"}};
  for (const auto& [name, value] :
      {std::pair{"hybrid_layer_pattern", "M-D-"}, {"experimental_attention_variant", "dsa"}}) {
    GivenValues more = latent;
    more.emplace_back(name, value);
    const auto picked = megatron_reading(more);
    ASSERT_TRUE(picked) << to_text(picked.error());
    EXPECT_EQ(trained(*picked).sparse.top_k, 512) << value;
    more.emplace_back("dsa_indexer_topk_freq", "4");
    EXPECT_FALSE(megatron_reading(more)) << value;
  }
}

/// Megatron drops rows beyond the capacity and pads none unless told: of balanced experts twice the mean changes
/// nothing, half of it halves their rows, and padded ones have all places filled.
TEST(UnderstoodLaunch, CapacityIsNoWorkUnlessItIsPadded) {
  const GivenValues experts{{"num_experts", "8"}, {"moe_router_topk", "2"}};
  const auto factor = [&](const char* capacity, const char* pad) {
    GivenValues more = experts;
    more.emplace_back("moe_expert_capacity_factor", capacity);
    more.emplace_back("moe_pad_expert_input_to_capacity", pad);
    const auto reading = megatron_reading(more);
    EXPECT_TRUE(reading) << to_text(reading.error());
    return reading ? trained(*reading).experts.capacity_factor : -1;
  };
  EXPECT_EQ(factor("2", "false"), 0);
  EXPECT_EQ(factor("0.5", "false"), 0.5);
  EXPECT_EQ(factor("2", "true"), 2);
}

/// T5 of examples/t5: 220 M parameters, 12 layers of either kind, one table of words, a bias of the logits.
TEST(UnderstoodLaunch, AnEncoderAndADecoderAreOneNetwork) {
  const GivenValues t5{{"num_layers", "12"}, {"decoder_num_layers", "12"}, {"hidden_size", "768"},
      {"num_attention_heads", "12"}, {"kv_channels", "64"}, {"ffn_hidden_size", "3072"}, {"seq_length", "512"},
      {"decoder_seq_length", "128"}, {"max_position_embeddings", "512"}, {"vocab_size", "29184"}};
  Launch program = given_launch("megatron-lm", with_gpt(t5), 64);
  program.program = "pretrain_t5.py";
  EXPECT_TRUE(understood(program, false));
  const auto reading = megatron_reading(t5);
  ASSERT_TRUE(reading) << to_text(reading.error());
  const NetworkSpec& network = trained(*reading);
  EXPECT_EQ(network.sequence, 128);
  EXPECT_EQ(network.encoders.front().sequence, 512);
  // 12 and 12 layers of 4 h x h and 2 h x 4h with their biases and two norms; 12 times attention over the encoder and a
  // norm; a norm behind either; words, positions, a bias of the logits.
  const std::int64_t h = 768, attention = 4 * h * h + 4 * h, layer = attention + 8 * h * h + 5 * h + 4 * h;
  EXPECT_EQ(parameter_count(network), 24 * layer + 12 * (attention + 2 * h) + 2 * 2 * h + (29184 + 512) * h + 29184);
  GivenValues shorter = t5;
  shorter[1].second = "6";
  EXPECT_FALSE(megatron_reading(shorter)) << "a decoder of six layers behind twelve";
  // Megatron-LM's logs print both names of a pair, alike; a launch that says two things is refused.
  const auto beside = [&](const char* name, const char* value) {
    GivenValues more = t5;
    more.emplace_back(name, value);
    return megatron_reading(more);
  };
  EXPECT_TRUE(beside("encoder_num_layers", "12"));
  EXPECT_TRUE(beside("encoder_seq_length", "512"));
  const auto layers = beside("encoder_num_layers", "24"), length = beside("encoder_seq_length", "1024");
  ASSERT_FALSE(layers || length);
  EXPECT_THAT(layers.error().where, HasSubstr("--encoder_num_layers"));
  EXPECT_THAT(layers.error().what, HasSubstr("24 beside --num_layers 12"));
  EXPECT_THAT(length.error().what, HasSubstr("1024 beside --seq_length 512"));
  // pretrain_t5.py gives the decoder as many layers as the encoder has
  GivenValues alone = t5;
  alone.erase(alone.begin() + 1);
  EXPECT_FALSE(megatron_reading(alone)) << "another program's decoder";
  program = given_launch("megatron-lm", with_gpt(alone), 64);
  program.program = "pretrain_t5.py";
  const auto as_many = read_meaning(program, {});
  ASSERT_TRUE(as_many) << to_text(as_many.error());
  EXPECT_EQ(parameter_count(trained(*as_many)), parameter_count(network));
}

/// 15.5 B parameters, as its authors count them (BigCode, 2305.06161).
TEST(UnderstoodLaunch, StarCoderHasOneKeyAndValueHead) {
  const auto reading = megatron_reading({{"num_layers", "40"}, {"hidden_size", "6144"}, {"num_attention_heads", "48"},
      {"attention_head_type", "multiquery"}, {"seq_length", "8192"}, {"max_position_embeddings", "8192"},
      {"vocab_size", "49152"}});
  ASSERT_TRUE(reading) << to_text(reading.error());
  EXPECT_EQ(trained(*reading).kv_heads, 1);
  EXPECT_NEAR(1e-9 * static_cast<double>(parameter_count(trained(*reading))), 15.5, 0.05);
  EXPECT_EQ(trained(*megatron_reading({{"attention_head_type", "multihead"}})).kv_heads, 32);
}

TEST(UnderstoodLaunch, ProgramsThatTrainSomethingElseAreRefused) {
  for (const char* program : {"pretrain_bert.py", "pretrain_t5.py", "pretrain_vision_dino.py", "pretrain_retro.py",
           "pretrain_mamba.py", "pretrain_ict.py"}) {
    Launch launch = given_launch("megatron-lm", with_gpt({}), 64);
    launch.program = program;
    const auto refused = understood(launch, false);
    ASSERT_FALSE(refused) << program;
    EXPECT_THAT(refused.error().what, HasSubstr(program));
    if (std::string_view(program) == "pretrain_t5.py") {
      EXPECT_THAT(refused.error().what, HasSubstr("--decoder-seq-length N"));
    }
    EXPECT_EQ(understood(launch, true)->size(), 1U);
  }
  Launch launch = given_launch("megatron-lm", with_gpt({}), 64);
  launch.program = "pretrain_gpt.py";
  EXPECT_TRUE(understood(launch, false)->empty());
  for (const char* other : {"dpo.py", "train_dpo.py", "dpo_vlm.py", "kto.py", "ppo/ppo_tldr.py", "rloo.py", "gkd.py",
           "train_distill.py", "swift kto", "simpo2.py", "mpo_vlm.py", "prm.py", "sft_video_llm.py"}) {
    launch.program = other;
    EXPECT_FALSE(understood(launch, false)) << other;
  }
  for (const char* plain : {"tempo_train.py", "compo_run.py", "distillery.py", "train_endpoint.py", "hydrocpo.py"}) {
    launch.program = plain;
    EXPECT_TRUE(understood(launch, false)) << plain;
  }
}

TEST(UnderstoodLaunch, AFileThatIsNotThereIsAWarning) {
  Launch launch = given_launch("megatron-lm", with_gpt({}), 64);
  launch.unread = {"conf/run.yaml"};
  EXPECT_THAT(*understood(launch, false), testing::ElementsAre(HasSubstr("conf/run.yaml is named in run.sh")));
}

}  // namespace
}  // namespace stepcast::launch
