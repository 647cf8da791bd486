// SCALE-Sim's config and topology give its cycles and SRAM counts (SCALE-Sim v3, scalesim-project/SCALE-Sim 1d62b68).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/dataflow/translate/foreign_chips.h"

namespace stepcast::dataflow {
namespace {

SourceFile scalesim_config(int rows, int cols, const std::string& dataflow, const std::string& more = "") {
  return {"run.cfg",
      fmt::format("[general]\nrun_name = test\n\n[architecture_presets]\nArrayHeight:    {}\nArrayWidth : {}\n"
                  "Dataflow : {}\n{}\n[run_presets]\nInterfaceBandwidth: CALC\n",
          rows, cols, dataflow, more)};
}
SourceFile scalesim_layers(const std::string& lines) { return {"net.csv", "Layer name, sizes,\n" + lines + "\n"}; }

struct ScalesimRun {
  const char* layer;  ///< M, N, K; or image, filter, channels, filters, stride
  int rows, cols;
  const char* dataflow;
  std::int64_t cycles, ifmap_reads, filter_reads, ofmap_writes;
};

/// Cycles are one more than SCALE-Sim prints, its own figure for the sum of the folds. The output-stationary array's
/// writes are M N: the tool adds rows + columns per fold by mistake (its issue 166).
TEST(Scalesim, RunsOfTheToolToTheInteger) {
  const std::vector<ScalesimRun> runs{{"gpt2s_attnV_1head_s128, 128, 64, 128,", 32, 32, "ws", 1776, 32768, 8192, 32768},
      {"llama_decode_qproj_b8, 8, 1024, 1024,", 32, 32, "is", 35776, 8192, 1048576, 262144},
      {"tiny, 8, 8, 8,", 32, 32, "is", 102, 64, 64, 64},
      {"skinny_k, 64, 64, 512,", 32, 32, "ws", 5056, 65536, 32768, 65536},
      {"scores_s512_d128, 512, 512, 128,", 32, 32, "is", 38784, 65536, 1048576, 1048576},
      {"alexnet_conv3_like, 15, 15, 3, 3, 64, 96, 1,", 32, 32, "os", 11484, 292032, 331776, 16224},
      {"resnet_1x1, 14, 14, 1, 1, 128, 64, 1,", 32, 32, "ws", 2320, 50176, 8192, 50176},
      {"gpt2s_qkv_s128, 128, 2304, 768,", 128, 128, "is", 16116, 98304, 1769472, 1769472},
      {"gpt2s_scores_1head_s128, 128, 128, 64,", 128, 128, "ws", 510, 8192, 8192, 16384},
      {"gpt2s_proj_s128, 128, 768, 768,", 128, 128, "os", 6132, 589824, 589824, 98304},
      {"gpt2s_mlp_up_s128, 128, 3072, 768,", 128, 128, "os", 24528, 2359296, 2359296, 393216},
      {"gpt2s_scores_1head_s128, 128, 128, 64,", 16, 8, "os", 11008, 131072, 65536, 16384},
      {"gpt2s_scores_1head_s128, 128, 128, 64,", 16, 8, "is", 10624, 8192, 131072, 65536},
      {"resnet_3x3_s2, 16, 16, 3, 3, 32, 64, 2,", 16, 8, "ws", 14688, 147456, 18432, 73728},
      {"resnet_3x3_s2, 16, 16, 3, 3, 32, 64, 2,", 16, 8, "os", 9920, 147456, 73728, 4096},
      {"resnet_1x1, 14, 14, 1, 1, 128, 64, 1,", 16, 8, "os", 15600, 200704, 106496, 12544},
      {"resnet_1x1, 14, 14, 1, 1, 128, 64, 1,", 16, 8, "is", 20400, 25088, 204800, 100352}};
  for (const ScalesimRun& run : runs) {
    SCOPED_TRACE(fmt::format("{} {} on {}x{}", run.layer, run.dataflow, run.rows, run.cols));
    const CountedChip counted =
        imported_chip("scalesim", {scalesim_config(run.rows, run.cols, run.dataflow), scalesim_layers(run.layer)});
    EXPECT_EQ(counted.cycles, run.cycles);
    EXPECT_EQ(counted.at("sram", "ifmap").reads, run.ifmap_reads);
    EXPECT_EQ(counted.at("sram", "filter").reads, run.filter_reads);
    EXPECT_EQ(counted.at("sram", "ofmap").updates, run.ofmap_writes);
    const CountedChip again = counted_chip(there_and_back("scalesim", to_scalesim, counted.chip));
    EXPECT_EQ(again.cycles, run.cycles);
    EXPECT_EQ(again.at("sram", "filter").reads, run.filter_reads);
  }
}

/// 5 x 5 under 3 x 3 in steps of 2: (5-3)/2 + 1 = 2 rows; 6 x 6: (6-3)/2 rounds up to 2, hence 3.
TEST(Scalesim, ConvolutionsBecomeTheProductOfTheirWindows) {
  const auto imported = from_scalesim(
      std::vector<SourceFile>{scalesim_config(4, 4, "ws"), scalesim_layers("a, 5, 6, 3, 3, 8, 16, 2,\nb, 3, 4, 5,\n")});
  ASSERT_TRUE(imported) << to_text(imported.error());
  const auto a = chip_program(imported->program, "a"), b = chip_program(imported->program, "b");
  ASSERT_TRUE(a) << to_text(a.error());
  ASSERT_TRUE(b) << to_text(b.error());
  EXPECT_EQ(a->dims[0].extent, 2 * 3);
  EXPECT_EQ(a->dims[1].extent, 16);
  EXPECT_EQ(a->dims[2].extent, 3 * 3 * 8);
  EXPECT_EQ(b->dims[2].extent, 5);
  EXPECT_EQ(b->levels[2].space[0].trips, 4);  // k on the rows
  EXPECT_TRUE(b->levels[2].space[0].ragged);  // 5 = 4 + 1
}

TEST(Scalesim, WrongFilesAreRefusedWithTheirPlace) {
  const auto config_error = [](const SourceFile& config) {
    return import_error("scalesim", {config, scalesim_layers("a, 4, 4, 4,")});
  };
  EXPECT_EQ(
      config_error(scalesim_config(0, 4, "ws")), "run.cfg:5:1: arrayheight is '0' (a whole number of at least 1)");
  EXPECT_EQ(config_error(scalesim_config(4, 4, "rs")), "run.cfg:7:1: unknown dataflow 'rs' (ws, os or is)");
  EXPECT_EQ(config_error(scalesim_config(4, 4, "ws", "SparsitySupport : true\n")),
      "run.cfg:8:1: sparsitysupport is true (counts are of dense tensors in plain layouts: switch it off)");
  EXPECT_EQ(config_error(scalesim_config(4, 4, "ws", "ArrayHight: 3\n")),
      "run.cfg:8:1: unknown key 'arrayhight' (did you mean 'arrayheight'?)");
  EXPECT_EQ(config_error({"run.cfg", "ArrayHeight\n"}),
      "run.cfg:1:1: 'ArrayHeight' is no 'key: value' line (ArrayHeight: 32)");
  EXPECT_EQ(config_error({"run.cfg", "ArrayHeight: 4\nArrayWidth: 4\n"}),
      "run.cfg: no Dataflow in the config (Dataflow: ws, os or is)");

  const auto layer_error = [](const std::string& text) {
    return import_error("scalesim", {scalesim_config(4, 4, "ws"), {"net.csv", text}});
  };
  EXPECT_EQ(layer_error("a, 4, 4, 4,\n"),
      "net.csv:1:1: the first line is a layer (SCALE-Sim passes the first line over: put a header there, such as "
      "'Layer, M, N, K,')");
  EXPECT_EQ(
      layer_error("Layer, M, N, K,\n"), "net.csv: no layer in the topology (a header line, then one line per layer)");
  EXPECT_EQ(layer_error("Layer, M, N, K,\na, 4, x, 4,\n"),
      "net.csv:2:1: layer a has 'x' for a size (whole numbers of at least 1)");
  EXPECT_EQ(layer_error("Layer, M, N, K,\na, 4, 4, 4, 2:4,\n"),
      "net.csv:2:1: layer a is sparse (2:4) (counts are of dense tensors: 1:1)");
  EXPECT_EQ(layer_error("Layer\nc, 3, 3, 5, 5, 1, 1, 1,\n"),
      "net.csv:2:1: layer c: the filter is larger than the image (a filter that fits into the image)");
  EXPECT_EQ(import_error("scalesim", {scalesim_config(4, 4, "ws")}),
      "scalesim: 1 files (the config (.cfg), then the topology (.csv))");
}

TEST(Scalesim, OtherMappingsHaveNoNameThere) {
  const auto refused = [](const std::string& arch, const std::string& lines) {
    const auto program = parse(arch + "\ndim m:8 n:8 k:8\nop: O[m,n] += I[m,k] * W[k,n]\n" + lines, "t.flow");
    const auto out = export_foreign("scalesim", *program, "");
    return out ? "" : out.error().where + ": " + out.error().what;
  };
  EXPECT_EQ(refused("arch glb { pe[4x4]@systolic }",
                "glb: for n:2 for k:2 for m:8 [I W O]\npe: par k:4 on x par n:4 on y [W]"),
      "");
  EXPECT_EQ(refused("arch glb { pe[4x4]@systolic }",
                "glb: for n:2 for m:8 for k:2 [I W O]\npe: par k:4 on x par n:4 on y [W]"),
      "pe: what stays in the units, what the axes hold and the order of folds are no dataflow of it");
  EXPECT_EQ(refused("arch glb { pe[4x4]@systolic }",
                "glb: for n:2 for k:2 for m:8 [I W O]\npe: par k:4 on x par n:4 on y [W O]"),
      "pe: what stays in the units, what the axes hold and the order of folds are no dataflow of it");
  EXPECT_EQ(refused("arch glb { pe[4x4]@systolic }",
                "glb: for n:2 for k:4 for m:8 [I W O]\npe: par k:2 on x par n:4 on y [W]"),
      "pe: 2 of 4 units in use");
  EXPECT_EQ(refused("arch glb { pe[16] }", "glb: for n:8 for k:8 for m:1 [I W O]\npe: par m:8 on pe [W]"),
      "pe: 1 axes of units");
}

}  // namespace
}  // namespace stepcast::dataflow
