// Images, sound and numbers in networks straight from a config.json: what a run is asked for, and what encoders cost.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::studies {
namespace {

using testing::HasSubstr;
using testing_program::run_line;

/// 4 layers of text 128 wide behind 2 layers of patches 64 wide, of which 4 become one row.
TEST(HfEncoders, ImagesStandInPlaceOfWords) {
  const std::string file = testing_program::own_path("hf-vl.json");
  const auto write = [&](const std::string& more) {
    std::ofstream(file) << R"({"architectures": ["Qwen3VLForConditionalGeneration"], "text_config": {"hidden_size": 128,
      "intermediate_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 32,
      "vocab_size": 1000, "max_position_embeddings": 4096}, "vision_config": {"hidden_size": 64, "depth": 2, "num_heads": 4,
      "intermediate_size": 128, "patch_size": 16, "num_position_embeddings": 64, "out_hidden_size": 128)" +
                               more + "}}";
  };
  write("");
  const auto json = nlohmann::json::parse(run_line("show network " + file + " --json").out);
  const int layer = 4 * (64 * 64 + 64) + 64 * 128 + 128 + 128 * 64 + 64 + 4 * 64;
  EXPECT_EQ(json.at("parameters_by_part").at("vision"), 2 * 3 * 256 * 64 + 64 + 64 * 64 + 2 * layer);
  EXPECT_EQ(json.at("parameters_by_part").at("projector"), 2 * 64 + 256 * 256 + 256 + 256 * 128 + 128);
  const std::string line = "predict " + file + " --machine dgx-h100 --gpus 8 --seq 2048 --tp 2";
  const auto time = [](const std::string& run) {
    const auto answer = run_line(run + " --json");
    EXPECT_EQ(answer.code, 0) << answer.err;
    return nlohmann::json::parse(answer.out).at("step_time_s").get<double>();
  };
  const std::string seeing = line + " --images 4 --encoder-seq 1024";
  EXPECT_THAT(run_line(line).out, HasSubstr("text alone, without the network's encoder"));
  EXPECT_THAT(run_line(seeing).out, HasSubstr("4 images of 1024 patches"));
  EXPECT_LT(time(line), time(seeing + " --freeze encoder"));
  EXPECT_LT(time(seeing + " --freeze encoder"), time(seeing));
  EXPECT_LT(time(seeing + " --freeze encoder,language"), time(seeing + " --freeze encoder"));
  EXPECT_GT(time(line.substr(0, line.size() - 1) + "1 --pp 2 --images 4 --encoder-seq 1024"), 0)
      << "the first stage has the images";
  const std::string again = testing_program::own_path("vl-scenario.json");
  std::ofstream(again) << run_line(seeing + " --freeze encoder,language --print-scenario").out;
  EXPECT_EQ(time("predict " + again), time(seeing + " --freeze encoder,language"));
  const auto refused = [](const std::string& run, const char* why) { EXPECT_THAT(run_line(run).err, HasSubstr(why)); };
  refused(line + " --encoder-seq 64", "how many images");
  // adapters stand on the text unless the run says which parts are frozen
  EXPECT_EQ(time(seeing + " --lora 8"), time(seeing + " --lora 8 --freeze encoder,projector"));
  EXPECT_LT(time(seeing + " --lora 8"), time(seeing + " --lora 8 --freeze none"));
  EXPECT_THAT(run_line(seeing + " --lora 8").out, HasSubstr("frozen: encoder,projector"));
  EXPECT_THAT(run_line(seeing + " --lora 8").out, HasSubstr("adapters stand on the text"));
  refused(line + " --freeze projector", "how many images");
  refused(line + " --images 4", "of how many patches its images are");
  refused(line + " --images 4 --encoder-seq 1022", "of which 4 make one row");
  refused(line + " --images 9 --encoder-seq 1024", "do not fit into a sequence of 2048");
  refused(seeing + " --freeze encoder,projector,language", "nothing of the network is trained");
  refused(seeing + " --freeze eyes", "encoder,projector,language");
  refused(seeing + " --emit megatron", "an encoder of images");
  refused("predict llama3-8b --gpus 8 --images 2", "no encoder of images");
  write(R"(, "num_experts": 8)");
  EXPECT_THAT(run_line("show network " + file).out, HasSubstr("vision_config has num_experts 8"));
  refused(seeing, "is not read: vision_config has num_experts 8");
}

/// 3 layers of text 64 wide that hear: clips of 10 to 16 positions or more of which two become one row, in pieces of 4.
/// The same text sees, too, and a run says which of the two it has.
TEST(HfEncoders, SoundStandsInPlaceOfWords) {
  const std::string file = testing_program::own_path("hf-omni.json");
  const auto write = [&](const std::string& more) {
    std::ofstream(file) << R"({"architectures": ["Qwen2_5OmniForConditionalGeneration"], "thinker_config": {
    "text_config": {"hidden_size": 128, "intermediate_size": 256, "num_attention_heads": 4, "num_key_value_heads": 4,
      "num_hidden_layers": 4, "vocab_size": 1000, "max_position_embeddings": 4096, "tie_word_embeddings": false,
      "use_sliding_window": false, "model_type": "qwen2_5_omni_text"},
    "audio_config": {"d_model": 64, "encoder_layers": 2, "encoder_attention_heads": 4, "encoder_ffn_dim": 128,
      "num_mel_bins": 16, "n_window": 4, "output_dim": 128, "model_type": "qwen2_5_omni_audio_encoder")" +
                               more + R"(},
    "vision_config": {"depth": 2, "hidden_size": 64, "embed_dim": 64, "intermediate_size": 128, "num_heads": 4,
      "in_channels": 3, "out_hidden_size": 128, "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2,
      "window_size": 112, "fullatt_block_indexes": [1]}}})";
  };
  write("");
  const std::string line = "predict " + file + " --machine dgx-h100 --gpus 8 --seq 1024";
  const auto time = [](const std::string& run) {
    const auto answer = run_line(run + " --json");
    EXPECT_EQ(answer.code, 0) << answer.err;
    return nlohmann::json::parse(answer.out).at("step_time_s").get<double>();
  };
  const std::string hearing = line + " --clips 2 --encoder-seq 512";
  EXPECT_THAT(run_line(hearing).out, HasSubstr("2 clips of 512 positions"));
  EXPECT_THAT(run_line(line + " --images 2 --encoder-seq 256").out, HasSubstr("2 images of 256 patches"));
  EXPECT_LT(time(line), time(hearing + " --freeze encoder"));
  EXPECT_LT(time(hearing + " --freeze encoder"), time(hearing));
  const std::string again = testing_program::own_path("omni-scenario.json");
  std::ofstream(again) << run_line(hearing + " --print-scenario").out;
  EXPECT_EQ(time("predict " + again), time(hearing));
  const auto refused = [](const std::string& run, const char* why) { EXPECT_THAT(run_line(run).err, HasSubstr(why)); };
  refused(line + " --clips 2", "of how many positions its clips are");
  refused(line + " --clips 2 --encoder-seq 511", "of which 2 make one row");
  refused(line + " --clips 5 --encoder-seq 512", "5 clips of 256 rows do not fit");
  refused(hearing + " --images 1", "images and sound in one sequence");
  refused("predict llama3-8b --gpus 8 --clips 2", "no encoder of sound");
  refused(line + " --freeze projector", "--images 4, or --clips 4");
  const auto json = nlohmann::json::parse(run_line("show network " + file + " --json").out);
  const auto& parts = json.at("parameters_by_part");
  EXPECT_EQ(parts.at("audio_projector"), 2 * 64 + 64 * 128 + 128);
  EXPECT_GT(parts.at("vision").get<std::int64_t>(), 0);
  EXPECT_EQ(json.at("audio_layers_by_kind"), nlohmann::json::parse(R"([{"kind": "w-", "layers": 2}])"));
  EXPECT_EQ(json.at("other_encoder").at("heads"), 4);
  EXPECT_EQ(json.at("network").at("encoder").at("heads"), 4);
  // What was shown hears and sees as the file does.
  const std::string shown = testing_program::own_path("omni-shown.json");
  std::ofstream(shown) << json.dump();
  const auto of_shown = [&](std::string run) { return run.replace(run.find(file), file.size(), shown); };
  EXPECT_EQ(time(of_shown(hearing)), time(hearing));
  EXPECT_EQ(time(of_shown(line + " --images 2 --encoder-seq 256")), time(line + " --images 2 --encoder-seq 256"));
  auto broken = json;
  broken["other_encoder"] = json.at("network").at("encoder");
  std::ofstream(shown) << broken.dump();
  refused(of_shown(hearing), "an encoder of sound stands here");
  const auto with_encoder = [&](auto change) {
    auto changed = json;
    change(changed["other_encoder"]);
    std::ofstream(shown) << changed.dump();
    return of_shown(hearing);
  };
  refused(with_encoder([](auto& one) { one["heads"] = 0; }), ":/other_encoder/heads");
  refused(with_encoder([](auto& one) { one["heds"] = 4; }), ":/other_encoder/heds");
  refused(with_encoder([](auto& one) { one = nullptr; }), "null is no encoder");
  write(R"(, "activation_function": "relu")");
  refused(hearing, "is not read: audio_config has activation_function relu");
}

/// Llama 3.2 Vision: rows of images are in no sequence, and what makes them may be frozen.
TEST(HfEncoders, LayersLookAtImages) {
  const std::string line = "predict llama3.2-11b-vision --machine dgx-h100 --gpus 16 --tp 8 --seq 2048";
  const auto time = [](const std::string& run) {
    const auto answer = run_line(run + " --json");
    EXPECT_EQ(answer.code, 0) << answer.err;
    return nlohmann::json::parse(answer.out).at("step_time_s").get<double>();
  };
  EXPECT_LT(time(line + " --images 1 --freeze encoder"), time(line + " --images 1"));
  EXPECT_LT(time(line + " --images 1"), time(line + " --images 2"));
  EXPECT_THAT(run_line(line).err, HasSubstr("--images 1"));
  EXPECT_THAT(run_line(line + " --images 1 --pp 2").err, HasSubstr("does not go from stage to stage"));
  const auto json = nlohmann::json::parse(run_line("show network llama3.2-11b-vision --json").out);
  EXPECT_EQ(json.at("encoder").at("layers"), 40);
}

/// An encoder and a decoder, part by part; neither says how long its sequences are.
TEST(HfEncoders, EncodersStandInFrontOfDecoders) {
  const std::string file = testing_program::own_path("hf-t5.json");
  std::ofstream(file) << R"({"architectures": ["T5ForConditionalGeneration"], "d_model": 64, "d_ff": 128, "d_kv": 16,
    "num_heads": 4, "num_layers": 2, "num_decoder_layers": 3, "vocab_size": 128, "feed_forward_proj": "gated-gelu",
    "relative_attention_num_buckets": 32, "tie_word_embeddings": false})";
  const auto shown = run_line("show network " + file + " --json");
  ASSERT_EQ(shown.code, 0) << shown.err;
  const auto json = nlohmann::json::parse(shown.out);
  const int attention = 4 * 64 * 64, mlp = 3 * 64 * 128, distances = 32 * 4, tables = 2 * 128 * 64;
  EXPECT_EQ(json.at("parameters_by_part").at("encoder"), 2 * (attention + mlp + 2 * 64) + 64 + distances);
  EXPECT_EQ(json.at("parameters_by_part").at("decoder"), 3 * (2 * attention + mlp + 3 * 64) + 64 + distances + tables);
  const std::string line = "predict " + file + " --machine dgx-h100 --gpus 8";
  EXPECT_THAT(run_line(line).err, HasSubstr("--encoder-seq"));
  EXPECT_THAT(run_line(line + " --encoder-seq 512").err, HasSubstr("does not say how long its sequences are"));
  const std::string told = line + " --encoder-seq 512 --seq 128 --tp 2";
  const auto some = run_line(told + " --json"), twice = run_line(line + " --encoder-seq 1024 --seq 128 --tp 2 --json");
  ASSERT_EQ(some.code, 0) << some.err;
  EXPECT_LT(nlohmann::json::parse(some.out).at("step_time_s").get<double>(),
      nlohmann::json::parse(twice.out).at("step_time_s").get<double>());
  const std::string again = testing_program::own_path("t5-scenario.json");
  std::ofstream(again) << run_line(told + " --print-scenario").out;
  const auto repeated = run_line("predict " + again + " --json");
  ASSERT_EQ(repeated.code, 0) << repeated.err;
  EXPECT_EQ(nlohmann::json::parse(repeated.out).at("step_time_s"), nlohmann::json::parse(some.out).at("step_time_s"));
  EXPECT_THAT(run_line(told).out, HasSubstr("encoder of 512 positions"));
  EXPECT_THAT(run_line("predict t5-v1.1-xxl --gpus 8 --pp 2").err, HasSubstr("does not go from stage to stage"));
  EXPECT_THAT(run_line(line + " --encoder-seq 512 --seq 128 --tp 8").err, HasSubstr("heads"));
  EXPECT_THAT(
      run_line(line + " --encoder-seq 511 --seq 128 --tp 2 --sp on").err, HasSubstr("511 positions of the enc"));
  EXPECT_THAT(run_line("predict llama3-8b --gpus 8 --encoder-seq 5").err, HasSubstr("has no encoder"));
  EXPECT_THAT(run_line("predict whisper-large-v3 --gpus 8 --encoder-seq 3000").err, HasSubstr("at most 1500"));
  EXPECT_THAT(run_line(told + " --emit megatron").err, HasSubstr("an encoder, and layers that look at it"));
}

/// Numbers in place of words: patches sorted into classes, latents that give numbers, positions that join.
TEST(HfEncoders, NetworksOfNumbersAreAskedForTheirLengths) {
  const std::string flux = testing_program::own_path("hf-flux.json");
  std::ofstream(flux)
      << R"({"_class_name": "FluxTransformer2DModel", "attention_head_dim": 16, "num_attention_heads": 4,
    "num_layers": 1, "num_single_layers": 2, "in_channels": 64, "joint_attention_dim": 32, "pooled_projection_dim": 24,
    "guidance_embeds": true})";
  const std::string line = "predict " + flux + " --machine dgx-h100 --gpus 8";
  EXPECT_THAT(run_line(line).err, HasSubstr("--encoder-seq"));
  EXPECT_THAT(run_line(line + " --encoder-seq 64").err, HasSubstr("of how many patches its samples are"));
  EXPECT_EQ(run_line(line + " --encoder-seq 64 --seq 128 --tp 2 --cp 2").code, 0);
  EXPECT_THAT(run_line(line + " --encoder-seq 64 --seq 128 --flops nvidia").err, HasSubstr("counts no encoders"));
  EXPECT_THAT(run_line(line + " --encoder-seq 64 --seq 128 --emit megatron").err, HasSubstr("in place of words"));
  EXPECT_THAT(run_line("predict dit-xl-2 --gpus 8 --pp 2").err, HasSubstr("look at a sample's vectors"));
  EXPECT_THAT(run_line("predict vit-large --gpus 8 --seq 400").err, HasSubstr("learned positions for 197"));
}

TEST(HfEncoders, AFrozenEncoderHasNoBackwardAndNoOptimizer) {
  const std::string line = "predict whisper-large-v3 --machine dgx-h100 --gpus 8 --micro-batch 8";
  const auto all = nlohmann::json::parse(run_line(line + " --json").out),
             some = nlohmann::json::parse(run_line(line + " --freeze encoder --json").out);
  const auto part = [](const nlohmann::json& json, const char* what) {
    return json.at("memory").at("by_lifetime_bytes").at(what).get<double>();
  };
  // The encoder has 636,968,960 of 1,543,490,560 parameters; with zero 1 an eighth of 12 bytes for each trained one.
  EXPECT_EQ(part(all, "weights"), part(some, "weights"));
  EXPECT_NEAR(part(some, "optimizer") / part(all, "optimizer"), 906521600.0 / 1543490560, 1e-3);
  EXPECT_LT(part(some, "activations"), 0.6 * part(all, "activations"));
  EXPECT_NEAR(some.at("phases_s").at("forward").get<double>() / all.at("phases_s").at("forward").get<double>(), 1, 0.03)
      << "fewer weights are gathered beside it";
  EXPECT_LT(some.at("phases_s").at("backward").get<double>(), 0.6 * all.at("phases_s").at("backward").get<double>());
  EXPECT_LT(some.at("mfu").get<double>(), 1.3 * all.at("mfu").get<double>()) << "its backward is not counted either";
  EXPECT_THAT(run_line(line + " --freeze encoder").out, HasSubstr("frozen encoder of 1500 positions"));
  EXPECT_THAT(run_line("predict llama3-8b --gpus 8 --freeze encoder").err, HasSubstr("has no encoder"));
  EXPECT_THAT(run_line("predict t5-v1.1-xxl --gpus 8 --freeze encoder").err,
      HasSubstr("table of words that its decoder trains"));
  EXPECT_THAT(run_line("predict t5-v1.1-xxl --gpus 8 --freeze encoder,language").err,
      HasSubstr("the encoder of t5-v1.1-xxl is not of images"));
  EXPECT_THAT(run_line(line + " --freeze all").err, HasSubstr("encoder"));
  const std::string again = testing_program::own_path("frozen.json");
  std::ofstream(again) << run_line(line + " --freeze encoder --print-scenario").out;
  EXPECT_EQ(
      nlohmann::json::parse(run_line("predict " + again + " --json").out).at("step_time_s"), some.at("step_time_s"));
}

/// Every framework's file says what it does not hold.
TEST(HfEncoders, NetworksOfNumbersAreWrittenWithWhatTheFilesLack) {
  for (const char* network : {"flux.1-dev", "t5-v1.1-xxl", "vit-large", "dit-xl-2", "wan2.1-14b", "whisper-large-v3"})
    for (const char* target : {"megatron", "nemo", "deepspeed", "torchtitan", "accelerate", "llm-foundry"}) {
      const auto run = run_line(std::string("predict ") + network + " --gpus 8 --emit " + target);
      EXPECT_EQ(run.err.find("fault of stepcast"), std::string::npos) << network << " " << target << run.err;
    }
}

/// A double block's positions have weights of their own: a sample of 256 and 256 positions is 20.4 TFLOP of training
/// (MLPerf v5.1 counts 20.3).
TEST(HfEncoders, FluxCountsBothKindsOfPositions) {
  const auto run = run_line("predict flux.1-dev --gpus 8 --seq 256 --encoder-seq 256 --json");
  ASSERT_EQ(run.code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  const double samples = json.at("run").at("global_batch").get<double>();
  const double flops = json.at("model_flops_per_s_per_gpu").get<double>() * 8 * json.at("step_time_s").get<double>();
  EXPECT_NEAR(flops / samples, 20.4e12, 0.05e12);
}

/// An encoder is asked of how many positions it makes logits; other networks are not.
TEST(HfEncoders, AnEncoderIsAskedForItsMaskedShare) {
  const std::string line = "predict bert-large --machine dgx-h100 --gpus 8 --micro-batch 4 --global-batch 256";
  EXPECT_THAT(run_line(line).err, HasSubstr("does not say of how many positions it makes logits"));
  for (const char* wrong : {"0", "1.5", "15%", "-1", "x", "nan"})
    EXPECT_THAT(run_line(line + " --masked-share " + wrong).err, HasSubstr("is no share of the positions")) << wrong;
  EXPECT_THAT(run_line("predict llama3-8b --gpus 8 --masked-share 0.5").err, HasSubstr("predicts no masked tokens"));
  const auto few = run_line(line + " --masked-share 0.15 --json"), all = run_line(line + " --masked-share 1 --json");
  ASSERT_EQ(few.code, 0) << few.err;
  const auto time = [](const auto& ran) {
    return nlohmann::json::parse(ran.out).at("step_time_s").template get<double>();
  };
  EXPECT_LT(time(few), time(all));
  EXPECT_THAT(run_line(line + " --masked-share 0.15").out, HasSubstr("attention counted full"));
  const std::string again = testing_program::own_path("masked.json");
  std::ofstream(again) << run_line(line + " --masked-share 0.15 --print-scenario").out;
  EXPECT_EQ(nlohmann::json::parse(run_line("predict " + again + " --json").out).at("step_time_s"), time(few));
  const auto written = run_line(line + " --masked-share 0.15 --emit deepspeed");
  EXPECT_THAT(written.out + written.err, HasSubstr("--masked-share 0.15"));
  for (const char* split :
      {"--tp 4", "--tp 2 --cp 2", "--tp 2 --cp 2 --cp-kind gather", "--pp 4 --tp 2", "--tp 2 --sp off"})
    EXPECT_EQ(run_line(line + " --masked-share 0.15 " + split).code, 0) << split;
}

TEST(HfEncoders, ANetworkWithoutALengthIsAskedForOne) {
  const std::string file = testing_program::own_path("hf-mamba2.json");
  std::ofstream(file) << R"({"architectures": ["Mamba2ForCausalLM"], "hidden_size": 256, "num_hidden_layers": 4,
    "num_heads": 8, "head_dim": 64, "state_size": 64, "n_groups": 1, "vocab_size": 1000, "tie_word_embeddings": true})";
  EXPECT_THAT(run_line("predict " + file + " --gpus 8").err, HasSubstr("does not say how long its sequences are"));
  EXPECT_EQ(run_line("predict " + file + " --gpus 8 --seq 2048").code, 0);
}

}  // namespace
}  // namespace stepcast::studies
