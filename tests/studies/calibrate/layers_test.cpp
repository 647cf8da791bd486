// stepcast calibrate layers: what it times on a GPU of arithmetic, its file, and forecasts held beside it.
#include "studies/calibrate/layers.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/base/json_reader.h"
#include "studies/calibrate/layer_file.h"
#include "studies/calibrate/own_shapes.h"
#include "model/catalog.h"
#include "tests/calibrate/measure/fake_gpu.h"
#include "tests/studies/run_program.h"

namespace stepcast::calibration {
namespace {

using testing::HasSubstr;

MeasureDoors fake_doors(FakeGpuOptions options) {
  MeasureDoors doors;
  doors.devices = [options]() -> Expected<std::vector<DeviceInfo>> { return std::vector<DeviceInfo>{options.device}; };
  doors.open_gpu = [options](int) -> Expected<std::unique_ptr<GpuBench>> { return std::make_unique<FakeGpu>(options); };
  doors.interrupted = [] { return false; };
  doors.date = "2026-11-21";
  return doors;
}

std::string layers_out(const Arguments& arguments, const MeasureDoors& doors, std::string* failed = nullptr) {
  std::ostringstream out, err;
  Console console{out, err};
  const auto done = layers(arguments, doors, console);
  if (!done && failed) *failed = to_text(done.error());
  EXPECT_TRUE(done || failed) << (done ? "" : to_text(done.error()));
  return out.str();
}

Arguments asked_for(std::vector<std::string> words, std::map<std::string, std::string> flags) {
  Arguments arguments;
  arguments.words = std::move(words);
  for (auto& [flag, value] : flags) arguments.flags[flag] = value;
  return arguments;
}

const NetworkSpec& network_of(const char* id) { return **find_row(built_in().networks, id, "network"); }

// Llama 3 8B at 4096 positions: q, k, v, out, gate, up, down forward, each with its input and weight gradient, 21
// products; attention forward and backward; two norms, rotation, activation and their gradients, residuals.
TEST(LayerShapes, every_call_of_a_llama_layer) {
  OwnShapesRequest request;
  request.gpu = **find_row(built_in().gpus, "h100-sxm", "gpu");
  request.stack = **find_row(built_in().stacks, "megatron-core", "stack");
  request.sequence = 4096;
  const auto layer = layer_shapes(network_of("llama3-8b"), request);
  ASSERT_TRUE(layer) << to_text(layer.error());
  EXPECT_TRUE(layer->left_out.empty());
  std::vector<std::string> names;
  double flops = 0;
  for (const Query& query : layer->calls) {
    names.push_back(work_name(query));
    if (const auto* gemm = std::get_if<GemmQuery>(&query)) flops += flops_of(*gemm).value();
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"attention forward bf16 1x4096x32x128 kv 8 causal",
                         "attention backward bf16 1x4096x32x128 kv 8 causal", "gemm bf16 nn 4096x14336x4096",
                         "swiglu 4096x14336 of 2 B", "swiglu-backward 4096x14336 of 2 B"}));
  // 218.1 M parameters in products (4096 x (4096 + 2 x 1024 + 4096 + 3 x 14336)), 6 FLOPs each and token.
  EXPECT_NEAR(flops / (6.0 * 4096 * 4096 * (4096 + 2 * 1024 + 4096 + 3 * 14336)), 1, 1e-9);
  // Forward comes first.
  const auto backward = std::find_if(names.begin(), names.end(), [](const std::string& name) {
    return name.find(" nn ") != std::string::npos || name.find("backward") != std::string::npos;
  });
  EXPECT_TRUE(std::none_of(
      backward, names.end(), [](const std::string& name) { return name.find(" tn ") != std::string::npos; }));
}

TEST(Layers, what_is_measured_is_the_sum_of_its_kernels) {
  FakeGpuOptions options;
  const std::string file = testing_program::own_path("layers.json");
  std::filesystem::remove(file);
  const std::string text =
      layers_out(asked_for({"llama3-8b"}, {{"--output", file}, {"--seq", "2048"}}), fake_doors(options));
  EXPECT_THAT(text, HasSubstr("llama3-8b"));
  EXPECT_THAT(text, HasSubstr("4 x 2048"));
  const auto read = read_layers(*read_text_file(file), file);
  ASSERT_TRUE(read) << to_text(read.error());
  ASSERT_EQ(read->layers.size(), 9U) << "2048, 4096 and 8192 tokens in three forms";
  EXPECT_EQ(read->context.gpu, "h100-sxm");

  const TimedLayer& layer = read->layers.front();
  OwnShapesRequest request;
  request.gpu = **find_row(built_in().gpus, "h100-sxm", "gpu");
  request.stack = **find_row(built_in().stacks, "megatron-core", "stack");
  request.sequence = layer.sequence;
  const auto shapes = layer_shapes(network_of("llama3-8b"), request);
  FakeGpu gpu(options);
  Seconds sum;
  for (const Query& query : shapes->calls) sum += gpu.true_time(fake_work(query));
  EXPECT_NEAR(layer.time / sum, 1, 0.02);
  // Launched by the host each takes a microsecond more.
  EXPECT_NEAR((read->layers[1].time - layer.time).value() / (1e-6 * static_cast<double>(layer.calls)), 1, 0.1);
  EXPECT_EQ(write_layers(*read), *read_text_file(file)) << "reads back";
}

TEST(Layers, learned_positions_bound_sequences) {
  const std::string file = testing_program::own_path("layers_gpt.json");
  std::filesystem::remove(file);
  const std::string text = layers_out(asked_for({"gpt3-13b"}, {{"--output", file}}), fake_doors({}));
  EXPECT_THAT(text, HasSubstr("1 x 2048"));
  EXPECT_THAT(text, HasSubstr("4 x 2048"));
  EXPECT_THAT(text, testing::Not(HasSubstr("x 4096")));
}

TEST(Layers, a_work_that_cannot_run_is_a_note) {
  FakeGpuOptions options;
  options.cannot = [](const Work& work) { return work.source == KernelSource::cudnn ? "no cuDNN" : ""; };
  const std::string file = testing_program::own_path("layers_cannot.json");
  std::filesystem::remove(file);
  const std::string text =
      layers_out(asked_for({"llama3-8b"}, {{"--output", file}, {"--seq", "2048"}}), fake_doors(options));
  EXPECT_THAT(text, HasSubstr("no cuDNN"));
  EXPECT_EQ(read_layers(*read_text_file(file), file)->layers.size(), 3U);
}

TEST(Layers, an_interruption_and_what_it_leaves_out_are_notes) {
  const std::string file = testing_program::own_path("layers_stopped.json");
  std::filesystem::remove(file);
  MeasureDoors doors = fake_doors({});
  int asked = 0;
  doors.interrupted = [&asked] { return ++asked > 40; };
  layers_out(asked_for({"llama3-8b"}, {{"--output", file}, {"--seq", "2048"}}), doors);
  const auto read = read_layers(*read_text_file(file), file);
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_LT(read->layers.size(), 9U);
  const auto interrupted = std::count_if(read->notes.begin(), read->notes.end(),
      [](const std::string& note) { return note.find("interrupted") != std::string::npos; });
  EXPECT_GE(read->layers.size() + static_cast<std::size_t>(interrupted), 9U) << "every form has a row or a note";
}

std::string refusal(const Arguments& arguments) {
  std::string failed;
  layers_out(arguments, fake_doors({}), &failed);
  return failed;
}

TEST(Layers, arguments_that_say_nothing_or_cannot_be_are_refused) {
  const std::string out = testing_program::own_path("none.json");
  EXPECT_THAT(refusal(asked_for({"one.json"}, {})), HasSubstr("one file of layers and one profile"));
  EXPECT_THAT(refusal(asked_for({"llama3-8b", "no-such-net"}, {{"--output", out}})), HasSubstr("no-such-net"));
  EXPECT_THAT(refusal(asked_for({"llama3-8b"}, {{"--output", out}, {"--seq", "5000"}})), HasSubstr("do not divide"));
  EXPECT_THAT(refusal(asked_for({"llama3-8b"}, {{"--output", out}, {"--seq", "16384"}})), HasSubstr("do not divide"));
  EXPECT_THAT(refusal(asked_for({"bert-large"}, {{"--output", out}, {"--seq", "1024"}})), HasSubstr("512"));
  EXPECT_THAT(refusal(asked_for({"llama3-8b"}, {{"--output", out}, {"--gpu", "h1000"}})), HasSubstr("h100"));
  EXPECT_THAT(refusal(asked_for({"llama3-8b"}, {{"--output", out}, {"--gpu-index", "3"}})), HasSubstr("--gpu-index"));
  EXPECT_FALSE(std::filesystem::exists(out)) << "nothing was measured";
  for (const char* flag : {"--seq", "--gpu", "--gpu-index", "--force"})
    EXPECT_THAT(refusal(asked_for({"a.json", "h100-sxm"}, {{flag, "1"}})), HasSubstr("-o LAYERS.json")) << flag;
}

/// A file of one layer, with a part of it replaced.
std::string file_with(const std::string& from, const std::string& to) {
  std::string text = R"({"stepcast_layers": 1, "context": {"gpu": "h100-sxm", "device": "NVIDIA H100 80GB HBM3"},
    "layers": [{"network": "llama3-8b", "sequence": 4096, "micro_batch": 1, "attention": "cudnn", "in_graph": true,
    "calls": 26, "time_s": 0.0086, "low_s": 0.0086, "high_s": 0.0086, "replays": 10}], "notes": []})";
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  const std::string file = testing_program::own_path("layers_edited.json");
  std::ofstream(file) << text;
  return file;
}

TEST(Layers, files_are_read_strictly) {
  const auto said = [](const std::string& from, const std::string& to, const char* profile = "measured-h100-sxm") {
    return refusal(asked_for({file_with(from, to), profile}, {}));
  };
  EXPECT_EQ(said("4096", "4096"), "") << "as it is";
  EXPECT_THAT(said("\"cudnn\"", "\"cudn\""), HasSubstr("/layers/0/attention"));
  EXPECT_THAT(said("\"calls\": 26", "\"calls\": 7"), HasSubstr("/layers/0/calls"));
  EXPECT_THAT(said("llama3-8b", "llama3-9b"), HasSubstr("/layers/0/network"));
  EXPECT_THAT(said("0.0086", "\"fast\""), HasSubstr("/layers/0/time_s"));
  EXPECT_THAT(said("\"gpu\": \"h100-sxm\"", "\"gpu\": \"\""), HasSubstr("/context/gpu"));
  EXPECT_THAT(said("4096", "4096", "measured-h200-sxm"), HasSubstr("h200-sxm"));
  const std::string file = testing_program::own_path("layers_empty.json");
  std::ofstream(file) << R"({"stepcast_layers": 1, "context": {"gpu": "h100-sxm"}, "layers": [], "notes": []})";
  EXPECT_THAT(refusal(asked_for({file, "measured-h100-sxm"}, {})), HasSubstr("/layers"));
}

TEST(Layers, a_kernel_without_a_law_is_named_once) {
  const std::string text = layers_out(asked_for({file_with("4096", "4096"), "h100-sxm"}, {}), fake_doors({}));
  EXPECT_THAT(text, HasSubstr("the profile has no law for attention"));
  EXPECT_THAT(text, testing::Not(HasSubstr("off by")));
}

// Measured on an H100 and forecast from kernels alone (docs/measured.md): layers of dense networks within 5 % in a
// graph and 8 % eager, by a profile of three cards that saw no layer.
TEST(Layers, measured_layers_of_dense_networks_are_forecast) {
  for (const auto& [layers, profile] :
      {std::pair{"h100-sxm/layers.json", "measured-h100-sxm"}, {"h200-sxm/layers.json", "measured-h200-sxm"}}) {
    const std::string file = std::string(STEPCAST_SOURCE_DIR) + "/docs/measured/" + layers;
    const std::string text = layers_out(asked_for({file, profile}, {{"--json", ""}}), fake_doors({}));
    const auto json = nlohmann::json::parse(text);
    int dense = 0;
    for (const auto& row : json["layers"]) {
      if (row["network"] == "mixtral-8x7b") continue;
      ++dense;
      EXPECT_LT(std::abs(row["error"].get<double>()), row["in_graph"].get<bool>() ? 0.05 : 0.08) << row;
    }
    EXPECT_GE(dense, 7);
  }
}

}  // namespace
}  // namespace stepcast::calibration
