// Megatron's names follow from the part a loop plays and from the homes, whatever loops and tensors are called.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataflow/translate/cluster/names.h"

namespace stepcast::dataflow {
namespace {

using testing::HasSubstr;

std::vector<NameRow> megatron_rows(const std::string& text) {
  const auto program = parse(text, "test.flow");
  EXPECT_TRUE(program) << to_text(program.error());
  const auto view = placement_view(*program);
  EXPECT_TRUE(view) << to_text(view.error());
  return megatron_names(*view);
}

std::string linear_name(const std::string& statements) {
  // Named so that no letter can give the answer: rows n, columns k, reduced m.
  const auto rows = megatron_rows("mesh t:4\ndim n:8 k:16 m:32\nfc: Y[n,k] += X[n,m] * W[m,k]\n" + statements);
  return rows.size() == 1 ? rows.front().name : "";
}

TEST(MegatronNames, ClassesByLoopAndHome) {
  EXPECT_THAT(linear_name("par k on t\n"),
      HasSubstr("ColumnParallelLinear(gather_output=False), --tensor-model-parallel-size 4"));
  EXPECT_THAT(linear_name("par k on t\nhome Y: full on t\n"), HasSubstr("ColumnParallelLinear(gather_output=True)"));
  EXPECT_THAT(linear_name("par k on t\nhome X: n on t\n"),
      HasSubstr("sequence_parallel=True), --tensor-model-parallel-size 4 --sequence-parallel"));
  EXPECT_THAT(linear_name("par m on t\n"), HasSubstr("RowParallelLinear(input_is_parallel=True), "));
  EXPECT_THAT(linear_name("par m on t\nhome Y: n on t\n"),
      HasSubstr("RowParallelLinear(input_is_parallel=True, sequence_parallel=True)"));
  EXPECT_THAT(linear_name("par m on t\nhome X: full on t\n"), HasSubstr("RowParallelLinear(input_is_parallel=False)"));
  EXPECT_THAT(linear_name("par n on t\n"), HasSubstr("data parallelism"));
  EXPECT_THAT(linear_name("par n on t\nhome weights: * on t\n"),
      HasSubstr("fully sharded data parallelism, --use-megatron-fsdp"));
  EXPECT_THAT(linear_name("par n on t\nhome optimizer: * on t\n"), HasSubstr("ZeRO-1: --use-distributed-optimizer"));
  EXPECT_THAT(linear_name("par n on t\nhome optimizer: * on t\nhome grads: * on t\n"), HasSubstr("ZeRO-2"));
}

TEST(MegatronNames, NoNameSaysWhy) {
  const auto rows =
      megatron_rows("mesh t:4\ndim m:8 n:16 k:32\nfc: O[m,n] += I[m,k] * W[k,n]\npar k on t\nhome O: n on t\n");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.front().name, "");
  EXPECT_EQ(rows.front().why,
      "no class splits k where I is kept in pieces of k, W is kept in pieces of k and O is kept in pieces of n");
  const auto idle = megatron_rows("mesh t:4\ndim m:8 n:16 k:32\nfc: O[m,n] += I[m,k] * W[k,n]\n");
  EXPECT_THAT(idle.front().why, HasSubstr("the same work on all 4 ranks"));
}

TEST(MegatronNames, ExpertsAndEmbeddings) {
  const auto experts =
      megatron_rows("mesh ep:4\ndim e:8 c:16 h:32 j:64\nup: U[e,c,j] += X[e,c,h] * W[e,h,j]\npar e on ep\n");
  EXPECT_THAT(experts.front().name, HasSubstr("expert parallelism, --expert-model-parallel-size 4"));
  const auto table =
      megatron_rows("mesh tp:4\ndim s:8 v:16 h:32\nembed: X[s,h] += select Wv[v,h], T[s]\npar v on tp\n");
  EXPECT_THAT(table.front().name, HasSubstr("VocabParallelEmbedding"));
}

TEST(MegatronNames, ProductsOfActivations) {
  const std::string scores = "mesh cp:4\ndim a:8 s:16 t:16 d:32\nscores: S[a,s,t] += Q[a,s,d] * K[a,t,d]\n";
  EXPECT_THAT(megatron_rows(scores + "par s on cp\nhome K: t on cp\n").front().name,
      HasSubstr("context parallelism, --context-parallel-size 4"));
  EXPECT_THAT(megatron_rows(scores + "par a on cp\n").front().name, HasSubstr("inside attention"));
  EXPECT_THAT(
      megatron_rows(scores + "par a on cp\nhome Q: s on cp\nhome K: t on cp\n").front().name, HasSubstr("Ulysses"));
}

TEST(MegatronNames, PointwiseOperatorsHaveNoClass) {
  const NameRow row =
      megatron_rows("mesh tp:4\ndim m:8 f:16\nact: A[m,f] = swiglu G[m,f], U[m,f]\npar f on tp\n").front();
  EXPECT_EQ(row.name, "");
  EXPECT_THAT(row.why, HasSubstr("no product"));
}

TEST(MegatronNames, ALineOfMegatronIsAProgram) {
  const auto program = read_megatron("ColumnParallelLinear m:64 n:128 k:32 tp:8 sequence_parallel=True\n", "layer.txt");
  ASSERT_TRUE(program) << to_text(program.error());
  EXPECT_THAT(print(*program), HasSubstr("par n on tp\nhome I: m on tp\n"));
  const auto view = placement_view(*program);
  ASSERT_TRUE(view);
  EXPECT_THAT(megatron_names(*view).front().name,
      HasSubstr("ColumnParallelLinear(gather_output=False, sequence_parallel=True)"));
}

TEST(MegatronNames, WrongLinesAreNamed) {
  const auto wrong = [](const std::string& text) {
    const auto program = read_megatron(text, "layer.txt");
    EXPECT_FALSE(program) << text;
    return program ? std::string{} : to_text(program.error());
  };
  EXPECT_THAT(wrong("ColumnParalelLinear m:8 n:8 k:8 tp:2\n"), HasSubstr("did you mean 'ColumnParallelLinear'"));
  EXPECT_THAT(wrong("RowParallelLinear m:8 n:8 k:8 tp:2 gather_output\n"), HasSubstr("has no option 'gather_output'"));
  EXPECT_THAT(wrong("RowParallelLinear m:8 n:8 k:8\n"), HasSubstr("no axis"));
  EXPECT_THAT(wrong("RowParallelLinear tp:8\n"), HasSubstr("no extents"));
  EXPECT_THAT(wrong("RowParallelLinear m:8 n:8 k:9 tp:2\n"), HasSubstr("does not divide"));
  EXPECT_THAT(wrong("\n"), HasSubstr("names no layer"));
}

}  // namespace
}  // namespace stepcast::dataflow
