// MAESTRO's hardware and mapping files (maestro-project/maestro 4eb08d1), and what it counted for them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/dataflow/translate/foreign_chips.h"

namespace stepcast::dataflow {
namespace {

SourceFile maestro_hardware_file(int pes) {
  return {"hw.m",
      fmt::format("num_pes: {}  // all of them\nl1_size_cstr: 2048\nnoc_bw_cstr: 64\noffchip_bw_cstr: 64\n", pes)};
}

SourceFile maestro_layer_file(
    const std::string& type, const std::string& dims, const std::string& dataflow, int stride = 1) {
  return {"map.m", fmt::format("Network Test {{\n  Layer L1 {{\n    Type: {}\n    Stride {{ X: {}, Y: {} }}\n    "
                               "Dimensions {{ {} }}\n    Dataflow {{\n{}\n    }}\n  }}\n}}\n",
                       type, stride, stride, dims, dataflow)};
}

// K in space inside a cluster of 16, whose sums leave it; M or N innermost in time.
const char* const weight_stationary =
    "SpatialMap(1,1) N; TemporalMap(16,16) K; TemporalMap(1,1) M; Cluster(16,P); SpatialMap(1,1) K; TemporalMap(1,1) "
    "N; TemporalMap(1,1) M;";
const char* const input_stationary =
    "SpatialMap(1,1) M; TemporalMap(16,16) K; TemporalMap(1,1) N; Cluster(16,P); SpatialMap(1,1) K; TemporalMap(1,1) "
    "M; TemporalMap(1,1) N;";

struct MaestroRun {
  const char* dataflow;
  int m, n, k;
  double input_reads, filter_reads, output_writes;  ///< of L2
};

/// MAESTRO leaves out some transitions between steady states, hence the tolerance.
TEST(Maestro, TrafficOfStationaryProductsWithinHalfAPercent) {
  const std::vector<MaestroRun> runs{{weight_stationary, 128, 2304, 768, 14153488, 1769472, 14155776},
      {weight_stationary, 128, 128, 64, 65424, 8192, 65536}, {weight_stationary, 128, 64, 128, 65488, 8192, 65536},
      {weight_stationary, 128, 768, 768, 4717840, 589824, 4718592},
      {input_stationary, 128, 768, 768, 98304, 4718480, 4718592}};
  for (const MaestroRun& run : runs) {
    SCOPED_TRACE(fmt::format("{} {} {}", run.m, run.n, run.k));
    const std::string dims = fmt::format("K: {}, M: {}, N: {}", run.k, run.m, run.n);
    const CountedChip counted =
        imported_chip("maestro", {maestro_hardware_file(256), maestro_layer_file("GEMM", dims, run.dataflow)});
    EXPECT_NEAR(counted.at("l2", "input").reads, run.input_reads, 0.005 * run.input_reads);
    EXPECT_NEAR(counted.at("l2", "filter").reads, run.filter_reads, 0.005 * run.filter_reads);
    EXPECT_NEAR(counted.at("l2", "output").updates, run.output_writes, 0.005 * run.output_writes);
    EXPECT_EQ(counted.counts.macs, static_cast<std::int64_t>(run.m) * run.n * run.k);
    EXPECT_EQ(counted.counts.units, 256);
    const CountedChip again = counted_chip(there_and_back("maestro", to_maestro, counted.chip));
    for (const char* tensor : {"input", "filter", "output"}) {
      EXPECT_EQ(again.at("l2", tensor).reads, counted.at("l2", tensor).reads) << tensor;
      EXPECT_EQ(again.at("l2", tensor).updates, counted.at("l2", tensor).updates) << tensor;
    }
  }
}

/// Row-stationary, as MAESTRO's VGG-16 example: clusters of as many PEs as the filter has rows, each with a row of the
/// filter and the row of the image under it. 12 x 12 results; K in pairs, C in threes (3 + 2).
TEST(Maestro, WindowsBecomeLoopsOverResults) {
  const auto imported = from_maestro(std::vector<SourceFile>{maestro_hardware_file(64),
      maestro_layer_file("CONV", "K: 4, C: 5, R: 3, S: 3, Y: 14, X: 14",
          "TemporalMap(2,2) K; TemporalMap(3,3) C; TemporalMap(Sz(R),Sz(R)) R; SpatialMap(Sz(R),1) Y; "
          "TemporalMap(Sz(S),1) X; "
          "Cluster(Sz(R),P); SpatialMap(1,1) Y; SpatialMap(1,1) R; TemporalMap(Sz(S),Sz(S)) S;")});
  ASSERT_TRUE(imported) << to_text(imported.error());
  EXPECT_EQ(print(imported->program),
      R"(arch dram word:8 bit bw:64 B/cycle { l2 word:8 bit bw:64 B/cycle { cluster[21] word:8 bit { l1[3] word:8 bit buffers:2 cap:2 KiB } } }
dim K:4
dim C:5
dim R:3
dim S:3
dim Y_out:12
dim X_out:12
L1: output[K,Y_out,X_out] += input[C,Y_out+R,X_out+S] * filter[K,C,R,S]
dram: [input filter output]
l2: for K:2 for C:2? for X_out:12 [input filter output]
cluster: par Y_out:12 on cluster [input filter output]
l1: par R:3 on l1 for K:2 for C:3 for S:3 [input filter output]
)");
  ASSERT_EQ(imported->notes.size(), 1u);
  EXPECT_EQ(imported->notes[0], "map.m:2:9: layer L1: 1 of 64 PEs are in no cluster");
}

/// A piece of 10 columns under 3 makes 8 results and advances by 8; in steps of 2 a piece of 5 makes 2.
TEST(Maestro, SizesMayBeSums) {
  const auto chip_of_map = [](const std::string& map, int stride) {
    const auto imported = from_maestro(std::vector<SourceFile>{
        maestro_hardware_file(16), maestro_layer_file("CONV", "K: 1, C: 1, R: 3, S: 3, Y: 33, X: 33", map, stride)});
    EXPECT_TRUE(imported) << to_text(imported.error());
    const auto chip = chip_program(imported->program, "");
    EXPECT_TRUE(chip) << to_text(chip.error());
    return *chip;
  };
  const ChipProgram one = chip_of_map("TemporalMap(8+Sz(S)-1,8) X; SpatialMap(Sz(R),1) Y;", 1);
  EXPECT_EQ(one.levels[1].time[0].trips, 4);  // 31 columns of results in pieces of 8
  EXPECT_EQ(one.levels[1].time[1].trips, 2);  // 31 rows on 16 PEs
  EXPECT_EQ(one.levels[2].space[0].trips, 16);
  const ChipProgram two = chip_of_map("TemporalMap(5,2) X; TemporalMap(3,1) Y;", 2);
  EXPECT_EQ(two.dims[4].extent, 16);
  EXPECT_EQ(two.levels[1].time[0].trips, 8);
}

TEST(Maestro, WrongFilesAreRefusedWithTheirPlace) {
  const auto refused = [](const std::string& dataflow, const std::string& type = "GEMM",
                           const std::string& dims = "M: 8, N: 8, K: 8") {
    return import_error("maestro", {maestro_hardware_file(16), maestro_layer_file(type, dims, dataflow)});
  };
  EXPECT_EQ(refused("TemporalMap(4,2) K;"),
      "map.m:7:1: pieces of 4 (4 results) advance by 2 along K (they would overlap and work twice: the offset "
      "must be the "
      "results of a piece)");
  EXPECT_EQ(refused("TemporalMap(2,4) K;"),
      "map.m:7:1: pieces of 2 (2 results) advance by 4 along K (they would leave gaps: the offset must be the "
      "results of a "
      "piece)");
  EXPECT_EQ(refused("SpatialMap(1,1) K; SpatialMap(1,1) M;"),
      "map.m:7:20: K and M in space at one level of clusters (open another level with Cluster(n, P))");
  EXPECT_EQ(refused("TemporalMap(1,1) C;"), "map.m:7:1: a GEMM layer has no dimension 'C' (MNK)");
  EXPECT_EQ(refused("TemporalMap(Sz(R),1) K;"),
      "map.m:7:1: Sz(R): layer L1 has no such dimension (a dimension of the layer)");
  EXPECT_EQ(refused("TemporalMap(1,1) K; TemporalMap(2,2) K;"),
      "map.m:7:21: K is mapped twice at one level of clusters (one directive for each dimension and level)");
  EXPECT_EQ(refused("TempralMap(1,1) K;"), "map.m:7:1: unknown directive 'TempralMap' (did you mean 'TemporalMap'?)");
  EXPECT_EQ(refused("TemporalMap(1,1) K"), "map.m:8:5: found '}', expected ';' (Network NAME { Layer NAME { ... } })");
  EXPECT_EQ(refused("Cluster(32,P);"), "map.m:2:9: clusters of 32 PEs on 16 PEs (make the clusters smaller)");
  EXPECT_EQ(refused("Cluster(4,Q);"), "map.m:7:11: a cluster of kind 'Q' (P or L)");
  EXPECT_EQ(refused("", "LSTM"), "map.m:2:9: layer L1 is of type 'LSTM' (CONV, DSCONV or GEMM)");
  EXPECT_EQ(refused("", "GEMM", "M: 8, N: 8"), "map.m:2:9: layer L1 has no dimension K (a GEMM has MNK)");
  EXPECT_EQ(refused("", "GEMM", "M: 8, N: 8, K: 0"),
      "map.m:5:33: found '0', expected a whole number of at least 1 (1 or more)");

  const auto hardware_error = [](const std::string& text) {
    return import_error("maestro", {{"hw.m", text}, maestro_layer_file("GEMM", "M: 8, N: 8, K: 8", "")});
  };
  EXPECT_EQ(hardware_error("num_pe: 4\n"), "hw.m:1:1: unknown key 'num_pe' (did you mean 'num_pes'?)");
  EXPECT_EQ(hardware_error("num_pes: 0\n"), "hw.m:1:1: num_pes is '0' (a number above 0)");
  EXPECT_EQ(hardware_error("l1_size_cstr: 10\n"), "hw.m: no num_pes in the hardware file (num_pes: 256)");
}

TEST(Maestro, OtherMappingsHaveNoNameThere) {
  const auto refused = [](const std::string& op, const std::string& lines) {
    const auto program = parse("arch dram { glb { pe[4x4] } }\ndim m:8 n:8 k:8\n" + op + "\n" + lines, "t.flow");
    const auto out = export_foreign("maestro", *program, "");
    return out ? "" : out.error().where + ": " + out.error().what;
  };
  EXPECT_EQ(refused("op: O[m,n] += I[m] * W[n]", "dram: for m:8 for n:8 [I W O]\nglb: [I W O]\npe: [I W O]"),
      "op: an operator that is neither a matrix product nor a convolution over two windows");
  EXPECT_EQ(refused("op: O[m,n] += I[m,k] * W[k,n]",
                "dram: for m:2 for n:8 [I W O]\nglb: for k:8 for m:4 [I W O]\npe: [I W O]"),
      "glb: two loops over m outside one level of units");
}

}  // namespace
}  // namespace stepcast::dataflow
