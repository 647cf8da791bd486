// Timeloop's own files give Timeloop's own figures (timeloop-model v3.0.3, NVlabs/timeloop 6b41058).
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/dataflow/translate/foreign_chips.h"

namespace stepcast::dataflow {
namespace {

SourceFile timeloop_case(const std::string& name) {
  const std::string path = std::string(STEPCAST_SOURCE_DIR) + "/tests/dataflow/translate/data/" + name + ".yaml";
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << path;
  return {name + ".yaml", text.str()};
}

struct TimeloopFigures {
  const char *level, *tensor;
  std::int64_t tile, reads, updates, fills;  ///< per instance
};

TEST(FromTimeloop, FilesGiveTimeloopsFigures) {
  const std::vector<std::pair<const char*, std::vector<TimeloopFigures>>> cases{
      {"cta_tile_output_stationary",
          {{"RegisterFile", "Inputs", 4, 4096, 0, 1024}, {"RegisterFile", "Weights", 4, 4096, 0, 1024},
              {"RegisterFile", "Outputs", 16, 4064, 4096, 0}, {"GlobalBuffer", "Inputs", 1024, 16384, 0, 16384},
              {"GlobalBuffer", "Weights", 1024, 16384, 0, 16384}, {"DRAM", "Inputs", 16384, 16384, 0, 0},
              {"DRAM", "Weights", 8192, 16384, 0, 0}, {"DRAM", "Outputs", 8192, 0, 8192, 0}}},
      {"split_k_spills",
          {{"RegisterFile", "Inputs", 4, 1179648, 0, 294912}, {"RegisterFile", "Weights", 4, 1179648, 0, 294912},
              {"RegisterFile", "Outputs", 16, 1178112, 1179648, 72192},
              {"GlobalBuffer", "Inputs", 1024, 4718592, 0, 4718592},
              {"GlobalBuffer", "Weights", 1024, 4718592, 0, 2359296},
              {"GlobalBuffer", "Outputs", 4096, 18481152, 18874368, 18481152}, {"DRAM", "Inputs", 98304, 4718592, 0, 0},
              {"DRAM", "Weights", 2359296, 2359296, 0, 0}, {"DRAM", "Outputs", 393216, 18481152, 18874368, 0}}},
      {"weight_stationary",
          {{"RegisterFile", "Weights", 1, 1179648, 0, 9216}, {"GlobalBuffer", "Inputs", 393216, 18874368, 0, 393216},
              {"GlobalBuffer", "Weights", 2359296, 2359296, 0, 2359296},
              {"GlobalBuffer", "Outputs", 98304, 18776064, 18874368, 0}, {"DRAM", "Inputs", 393216, 393216, 0, 0},
              {"DRAM", "Weights", 2359296, 2359296, 0, 0}, {"DRAM", "Outputs", 98304, 0, 98304, 0}}},
      {"output_stationary",
          {{"RegisterFile", "Outputs", 1, 16773120, 16777216, 0},
              {"GlobalBuffer", "Inputs", 1048576, 268435456, 0, 1048576},
              {"GlobalBuffer", "Weights", 16777216, 268435456, 0, 16777216},
              {"GlobalBuffer", "Outputs", 1048576, 0, 1048576, 0}, {"DRAM", "Inputs", 1048576, 1048576, 0, 0},
              {"DRAM", "Weights", 16777216, 16777216, 0, 0}, {"DRAM", "Outputs", 1048576, 0, 1048576, 0}}},
      {"input_stationary_1x1",
          {{"RegisterFile", "Inputs", 1, 114688, 0, 896}, {"GlobalBuffer", "Weights", 32768, 1835008, 0, 32768},
              {"GlobalBuffer", "Inputs", 200704, 200704, 0, 200704},
              {"GlobalBuffer", "Outputs", 100352, 1505280, 1605632, 0}, {"DRAM", "Weights", 32768, 32768, 0, 0},
              {"DRAM", "Inputs", 200704, 200704, 0, 0}, {"DRAM", "Outputs", 100352, 0, 100352, 0}}},
      {"no_local_reuse_1x1",
          {{"GlobalBuffer", "Weights", 32768, 25690112, 0, 32768},
              {"GlobalBuffer", "Inputs", 200704, 1605632, 0, 200704},
              {"GlobalBuffer", "Outputs", 100352, 1505280, 1605632, 0}, {"DRAM", "Weights", 32768, 32768, 0, 0},
              {"DRAM", "Inputs", 200704, 200704, 0, 0}, {"DRAM", "Outputs", 100352, 0, 100352, 0}}},
      {"cluster_n4_k2",
          {{"DeviceHBM", "Inputs", 4194304, 4294967296, 0, 4194304},
              {"DeviceHBM", "Weights", 2097152, 4294967296, 0, 2097152},
              {"DeviceHBM", "Outputs", 2097152, 4292870144, 4294967296, 0},
              {"Fabric", "Inputs", 8388608, 8388608, 0, 0}, {"Fabric", "Weights", 16777216, 16777216, 0, 0},
              {"Fabric", "Outputs", 8388608, 0, 8388608, 0}}},
      {"cluster_m4_n2",
          {{"DeviceHBM", "Inputs", 2097152, 4294967296, 0, 2097152},
              {"DeviceHBM", "Weights", 8388608, 4294967296, 0, 8388608},
              {"DeviceHBM", "Outputs", 1048576, 4293918720, 4294967296, 0},
              {"Fabric", "Inputs", 8388608, 8388608, 0, 0}, {"Fabric", "Weights", 16777216, 16777216, 0, 0},
              {"Fabric", "Outputs", 8388608, 0, 8388608, 0}}}};
  for (const auto& [name, figures] : cases) {
    const CountedChip counted = imported_chip("timeloop", {timeloop_case(name)});
    for (const TimeloopFigures& figure : figures) {
      SCOPED_TRACE(std::string(name) + ": " + figure.level + " " + figure.tensor);
      const TensorCount& count = counted.at(figure.level, figure.tensor);
      EXPECT_EQ(count.tile, figure.tile);
      EXPECT_EQ(count.reads, figure.reads);
      EXPECT_EQ(count.updates, figure.updates);
      EXPECT_EQ(count.fills, figure.fills);
    }
  }
}

const char* const small_architecture = R"(
architecture:
  version: 0.3
  subtree:
  - name: system
    local:
    - {name: DRAM, class: DRAM}
    - {name: Buffer, class: SRAM, attributes: {sizeKB: 1, word-bits: 8, shared_bandwidth: 4, multiple-buffering: 2.0, technology: 45nm}}
    subtree:
    - name: PE[0..5]
      local:
      - {name: MAC, class: intmac, attributes: {meshX: 2}}
)";
const char* const small_problem = R"(
problem:
  shape:
    name: conv-1D
    dimensions: [P, R, C]
    coefficients: [{name: Stride, default: 1}]
    data_spaces:
    - {name: Image, projection: [[[C]], [[P, Stride], [R]]]}
    - {name: Filter, projection: [[[C]], [[R]]]}
    - {name: Result, projection: [[[P]]], read_write: true}
  instance: {P: 7, R: 3, C: 4, Stride: 2}
)";
const char* const small_mapping = R"(
mapping:
- {target: 1, type: temporal, factors: "P=4 C0", permutation: "CP"}
- {target: Buffer, type: temporal, factors: "R3"}
- {target: Buffer, type: spatial, factors: "C=2 P=2,1", permutation: [C, P], split: 1}
- {target: Buffer, type: bypass, bypass: [Filter]}
)";

std::vector<SourceFile> small_files(const std::string& mapping = small_mapping) {
  return {{"map.yaml", mapping}, {"arch.yaml", small_architecture}, {"prob.yaml", small_problem}};
}

/// MAC: 6 instances, 2 wide, under one Buffer. C0 is what the 2 in space leave of 4. P runs 4 times over 2 rows, the
/// last time over 1: 7. 1 kB of 8-bit words; targets go by number from the inside too.
TEST(FromTimeloop, SizesMeshesRestsAndShortRoundsAreRead) {
  const auto imported = from_timeloop(small_files());
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(print(imported->program), R"(arch DRAM { Buffer cap:1 KiB bw:4 B/cycle word:8 bit buffers:2 { MAC[2x3] } }
dim P:7
dim R:3
dim C:4
conv_1D: Result[P] += Image[C,2*P+R] * Filter[C,R]
DRAM: for P:4 for C:2 [Image Filter Result]
Buffer: for R:3 [Image Result]
MAC: par P:2? on y par C:2 on x []
)");
  EXPECT_EQ(imported->windows, Windows::timeloop);
  const CountedChip counted = imported_chip("timeloop", small_files());
  EXPECT_EQ(counted.counts.macs, 7 * 3 * 4);
}

TEST(FromTimeloop, WhatIsLeftOutIsNamed) {
  const auto imported = from_timeloop(std::vector<SourceFile>{{"all.yaml",
      std::string(small_architecture) + small_problem + small_mapping + "mapper: {algorithm: exhaustive}\n"}});
  ASSERT_TRUE(imported) << to_text(imported.error());
  ASSERT_EQ(imported->notes.size(), 3u);
  EXPECT_EQ(imported->notes[0], "all.yaml:30:9: mapper left out: the mapping says all that is counted");
  EXPECT_EQ(imported->notes[1], "all.yaml:8:7: Buffer: technology left out, no bearing on counts");
  EXPECT_EQ(imported->notes[2], "all.yaml:15:3: 'conv-1D' is called conv_1D here: names are letters, digits and '_'");
}

TEST(FromTimeloop, WhatCannotBeSaidIsRefusedWithItsPlace) {
  const auto mapped = [](const std::string& directive) {
    return import_error("timeloop", small_files("mapping:\n- " + directive + "\n"));
  };
  EXPECT_EQ(mapped("{target: Bufer, type: temporal, factors: R3}"),
      "map.yaml:2:12: the architecture has no storage level 'Bufer' (did you mean 'Buffer'?)");
  EXPECT_EQ(mapped("{target: Buffer, type: temporal, factors: Z3}"),
      "map.yaml:2:45: the problem has no dimension 'Z' (in 'Z3') (one of: P, R, C)");
  EXPECT_EQ(mapped("{target: Buffer, type: temporal, factors: R}"),
      "map.yaml:2:45: factors 'R' lack a whole number at character 2 (M4 N8 K1, or M=4,N=8,K=1)");
  EXPECT_EQ(mapped("{target: Buffer, type: temporal, factors: R3 R1}"),
      "map.yaml:2:45: factors 'R3 R1' have R twice (each dimension once)");
  EXPECT_EQ(mapped("{target: Buffer, type: temporal, permutation: PRP}"),
      "map.yaml:2:49: permutation 'PRP' has P twice (each dimension once)");
  EXPECT_EQ(mapped("{target: Buffer, type: bypass, keep: [Images]}"),
      "map.yaml:2:40: the problem has no data space 'Images' (did you mean 'Image'?)");
  EXPECT_EQ(mapped("{target: Buffer, type: skew}"),
      "map.yaml:2:26: directives of type 'skew' have no word in the notation (temporal, spatial, datatype or bypass)");
  EXPECT_EQ(mapped("{target: Buffer, type: spatial, no_link_transfer: [Image]}"),
      "map.yaml:2:53: 'no_link_transfer' of a directive has no word in the notation (one of: target, type, factors, "
      "permutation, split, keep, bypass)");
  EXPECT_EQ(mapped("{target: DRAM, type: spatial, factors: P7, permutation: PRC, split: 1}"),
      "map.yaml:2:3: P7 in space on X, where Buffer has one unit (look at split, and at meshX and instances of the "
      "level inside)");
  EXPECT_EQ(mapped("{target: DRAM, type: temporal, factors: P0 C0}\n- {target: Buffer, type: temporal, factors: P2}"),
      "map.yaml:2:1: P0: 7 is left 1 times beside a product of 2 (one factor of 0 per dimension, the others "
      "dividing it)");
  EXPECT_EQ(
      mapped("{target: DRAM, type: temporal, factors: 'P4'}\n- {target: Buffer, type: temporal, factors: 'P=2,3'}"),
      "prob.yaml:3:3: P2,3: the last rounds exceed the others (last rounds of at most the others)");
}

TEST(FromTimeloop, FilesThatAreNoRunAreRefused) {
  EXPECT_EQ(import_error("timeloop", {{"a.yaml", "arch: [\n"}}).substr(0, 20), "a.yaml:2:1: not YAML");
  EXPECT_EQ(import_error("timeloop", {{"a.yaml", ",a: 1\n"}}),
      "a.yaml:1: not YAML: no name or value begins here (name: value)");
  EXPECT_EQ(import_error("timeloop", {{"a.yaml", "architectur: {}\n"}}),
      "a.yaml:1:14: unknown top-level key 'architectur' (did you mean 'architecture'?)");
  EXPECT_EQ(import_error("timeloop", {{"a.yaml", small_architecture}, {"p.yaml", small_problem}}),
      "p.yaml: no mapping in these files (Timeloop's mapper writes one: timeloop-mapper.map.yaml)");
  EXPECT_EQ(import_error("timeloop", {{"a.yaml", "problem: {a: 1, a: 2}\n"}}),
      "a.yaml:1:17: key 'a' stands twice (keep one)");
  EXPECT_EQ(import_error("timeloop", {{"a.yaml", "mapping: &m [*m]\n"}}),
      "a.yaml:1:10: more than 64 levels (an alias may stand inside its own value)");
  EXPECT_EQ(import_error("timeloop", {{"a.yaml", "architecture: {version: 0.4, nodes: []}\n"},
                                         {"p.yaml", small_problem}, {"m.yaml", small_mapping}}),
      "a.yaml:1:37: an architecture of version 0.4 (nodes) (write it as version 0.3: subtree and local)");
}

TEST(FromTimeloop, ArchitecturesAndProblemsAreReadStrictly) {
  const auto with = [](std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const auto arch_error = [&](const std::string& from, const std::string& to) {
    return import_error("timeloop",
        {{"a.yaml", with(small_architecture, from, to)}, {"p.yaml", small_problem}, {"m.yaml", small_mapping}});
  };
  EXPECT_EQ(arch_error("meshX: 2", "meshX: 4"),
      "a.yaml:12:9: MAC has 6 instances on a mesh of 4 x 1 (meshX times meshY must give the instances)");
  EXPECT_EQ(arch_error("meshX: 2", "mehsX: 2"), "a.yaml:12:56: MAC: unknown attribute 'mehsX' (did you mean 'meshX'?)");
  EXPECT_EQ(arch_error("sizeKB: 1", "sizeKB: 1, entries: 4"),
      "a.yaml:8:7: Buffer says its size in several ways (keep one of entries, depth and sizeKB)");
  EXPECT_EQ(arch_error("sizeKB: 1", "sizeKB: much"), "a.yaml:8:56: sizeKB is 'much' (a number of at least 0)");
  EXPECT_EQ(
      arch_error("PE[0..5]", "PE[5..0]"), "a.yaml:10:13: 'PE[5..0]' is no range of components (write name[0..15])");
  EXPECT_EQ(arch_error("intmac", "adder"),
      "a.yaml:3:3: an architecture without arithmetic (add a component of class intmac or fpmac)");
  EXPECT_EQ(arch_error("multiple-buffering: 2.0", "multiple-buffering: 1.5"),
      "a.yaml:8:114: multiple-buffering of 1.5 (buffers are counted whole here)");

  const auto problem_error = [&](const std::string& from, const std::string& to) {
    return import_error("timeloop",
        {{"a.yaml", small_architecture}, {"p.yaml", with(small_problem, from, to)}, {"m.yaml", small_mapping}});
  };
  EXPECT_EQ(problem_error("R: 3, ", ""), "p.yaml:11:13: dimension R has no extent (add 'R: 1' to the instance)");
  EXPECT_EQ(problem_error("Stride: 2", "Strid: 2"), "p.yaml:11:39: unknown key 'Strid' (did you mean 'Stride'?)");
  EXPECT_EQ(problem_error("[P, Stride]", "[P, Strid]"),
      "p.yaml:8:42: unknown coefficient 'Strid' (declare it under coefficients)");
  EXPECT_EQ(problem_error("[[[P]]]", "[[[Q]]]"), "p.yaml:10:36: unknown dimension 'Q' (one of: P, R, C)");
  EXPECT_EQ(problem_error(", read_write: true", ""),
      "p.yaml:4:5: 3 data spaces, 0 of them read-write (one result (read-write: true) and at least one operand)");
  EXPECT_EQ(
      import_error("timeloop", {{"a.yaml", small_architecture}, {"p.yaml", "problem: {shape: cnn-layers, P: 1}\n"},
                                   {"m.yaml", small_mapping}}),
      "p.yaml:1:18: unknown shape 'cnn-layers' (did you mean 'cnn_layer'?, or write the shape out)");
}

}  // namespace
}  // namespace stepcast::dataflow
