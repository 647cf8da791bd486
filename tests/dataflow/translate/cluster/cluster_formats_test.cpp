// Formats of placements and names, through the one table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataflow/translate/foreign.h"

namespace stepcast::dataflow {
namespace {

using testing::HasSubstr;

MappingProgram program_of(const std::string& text) {
  auto program = parse(text, "test.flow");
  EXPECT_TRUE(program) << to_text(program.error());
  return program ? std::move(*program) : MappingProgram{};
}

std::string translated(const std::string& text, const std::string& format, const std::string& op = "") {
  const auto out = export_foreign(format, program_of(text), op);
  return out ? out->text : "error: " + to_text(out.error());
}

const std::string mesh_gemm =
    "mesh x:4 y:4\ndim m:64 n:64 k:64\nO: O[m,n] += I[m,k] * W[k,n]\npar k on x\npar n on y\n";
const std::string chip_gemm =
    "arch glb { pe[16x16] }\ndim m:128 n:128 k:64\nO: O[m,n] += I[m,k] * W[k,n]\nglb: for n:8 for k:4 for m:128 [I W "
    "O]\n"
    "pe: par k:16 on x par n:16 on y [W]\n";

TEST(ClusterFormats, OneProgramInEveryLanguage) {
  EXPECT_THAT(translated(mesh_gemm, "dtensor"), HasSubstr("W = [Shard(0), Shard(1)]"));
  EXPECT_THAT(translated(mesh_gemm, "jax"), HasSubstr("W = P('x', 'y')"));
  EXPECT_THAT(translated(mesh_gemm, "shardy"), HasSubstr("W = #sdy.sharding<@mesh, [{\"x\"}, {\"y\"}]>"));
  EXPECT_THAT(translated(mesh_gemm, "megatron"), HasSubstr("ColumnParallelLinear"));
  EXPECT_THAT(translated(mesh_gemm, "pope"), HasSubstr("2-D weight-stationary"));
  EXPECT_THAT(translated(mesh_gemm, "notation"), HasSubstr("par k on x\n"));
}

TEST(ClusterFormats, AnArrayHasThePlacementsOfAMesh) {
  EXPECT_THAT(translated(chip_gemm, "eyeriss"), HasSubstr("weight-stationary"));
  const std::string dtensor = translated(chip_gemm, "dtensor");
  EXPECT_THAT(dtensor, HasSubstr("mesh pe_y:16 pe_x:16\n"));
  EXPECT_THAT(dtensor, HasSubstr("I = [Replicate(), Shard(1)]"));
  EXPECT_THAT(dtensor, HasSubstr("O = [Shard(1), Partial()]"));
  EXPECT_THAT(translated(chip_gemm, "pope"), HasSubstr("2-D weight-stationary"));
}

TEST(ClusterFormats, OneOperatorOfSeveral) {
  const std::string two = mesh_gemm + "P: P[m,k] += O[m,n] * Wb[n,k]\n";
  EXPECT_THAT(translated(two, "dtensor", "P"), testing::Not(HasSubstr("O: O[m,n]")));
  EXPECT_THAT(translated(two, "dtensor", "Q"), HasSubstr("unknown operator 'Q'"));
  EXPECT_THAT(translated(two, "notation", "P"), HasSubstr("printed whole"));
}

TEST(ClusterFormats, ReadersTakeOneFileAndSomeAreOnlyWritten) {
  const std::vector<SourceFile> two{{"a", ""}, {"b", ""}};
  EXPECT_THAT(to_text(import_foreign("dtensor", two).error()), HasSubstr("found 2 files"));
  EXPECT_THAT(to_text(import_foreign("pope", two).error()), HasSubstr("only written"));
  const std::vector<SourceFile> layer{{"layer.txt", "RowParallelLinear m:8 n:8 k:8 tp:2\n"}};
  const auto read = import_foreign("megatron", layer);
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_THAT(print(read->program), HasSubstr("par k on tp\n"));
}

TEST(ClusterFormats, NothingToNameIsAnError) {
  EXPECT_THAT(translated("mesh x:4\ndim m:8\nO: O[m] = gelu I[m]\npar m on x\n", "pope"), HasSubstr("nothing to name"));
  EXPECT_THAT(translated(mesh_gemm, "eyeriss"), HasSubstr("error:"));
}

}  // namespace
}  // namespace stepcast::dataflow
