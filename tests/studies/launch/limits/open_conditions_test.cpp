// Conditions of a script that hang on variables which nobody gives: they are an error where they decide what is
// trained.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/launch/strangers.h"

namespace stepcast::launch::strangers_test {
namespace {

using testing::HasSubstr;
using testing::Not;

class OpenConditions : public StrangersLaunch {};

/// A script whose first argument chooses the network, and whose second the number type.
const std::string chosen =
    "#!/bin/bash\nSIZE=$1\nTYPE=$2\n"
    "if [ $SIZE = 1b ]; then\n  L=16\n  H=2048\n  MORE=\"\"\n"
    "elif [ $SIZE = 8b ]; then\n  L=32\n  H=4096\n  MORE=\"--swiglu\"\nfi\n"
    "if [ $TYPE = bf16 ]; then\n  NUMBERS=\"--bf16\"\nelif [ $TYPE = fp16 ]; then\n  NUMBERS=\"--fp16\"\nfi\n"
    "if [ \"$3\" = loud ]; then\n  LOG=1\nelse\n  LOG=100\nfi\n"
    "ALL=\" --num-layers $L --hidden-size $H --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 "
    "--micro-batch-size 1 --global-batch-size 512 --vocab-size 32000 --log-interval $LOG $NUMBERS $MORE\"\n"
    "run=\"torchrun --nproc_per_node 8 pretrain_gpt.py $ALL\"\neval $run\n";

TEST_F(OpenConditions, ThatDecideTheNetworkAreAskedForTogether) {
  const Ran ran = predict("--megatron", chosen);
  EXPECT_EQ(ran.code, 2);
  for (const char* part :
      {"$1 (line 4)", "$2 (line 13)", "--num-layers", "--hidden-size", "--define 1=VALUE --define 2=VALUE"})
    EXPECT_THAT(ran.err, HasSubstr(part));
  EXPECT_THAT(ran.err, Not(HasSubstr("$3")));  // how often a line is logged changes no step
}

TEST_F(OpenConditions, AreFollowedOnceTheyAreTold) {
  const Ran ran = predict("--megatron", chosen, "--define 1=8b --define 2=fp16 --print-scenario");
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* part : {"\"layers\": 32", "\"hidden\": 4096", "\"swiglu\"", "\"fp16\""})
    EXPECT_THAT(ran.out, HasSubstr(part));
  EXPECT_THAT(
      predict("--megatron", chosen, "--define 1=1b --define 2=bf16 --print-scenario").out, HasSubstr("\"layers\": 16"));
}

TEST_F(OpenConditions, OfACaseAndOfVariablesFromOutsideAreAskedForToo) {
  const std::string run = "torchrun --nproc_per_node 8 pretrain_gpt.py" + sizes;
  const std::string by_case =
      "case $MODE in\nfast) TP=1;;\nbig) TP=8;;\nesac\n" + run + " --tensor-model-parallel-size ${TP:-2}\n";
  const Ran asked = predict("--megatron", by_case);
  EXPECT_EQ(asked.code, 2);
  EXPECT_THAT(asked.err, HasSubstr("$MODE (line 1), which nothing sets, and decide --tensor-model-parallel-size"));
  EXPECT_THAT(predict("--megatron", by_case, "--define MODE=big --print-scenario").out, HasSubstr("mesh tp:8"));
  EXPECT_THAT(predict("--megatron", by_case, "--define MODE= --print-scenario").out, HasSubstr("mesh tp:2"));
}

TEST_F(OpenConditions, ThatDecideNothingOfTheStepStayNotes) {
  const std::string run = "torchrun --nproc_per_node 8 pretrain_gpt.py" + sizes;
  const std::string saves =
      "if [ \"$DEBUG\" = 1 ]; then\n  EVERY=1\nelse\n  EVERY=500\nfi\n" + run + " --save-interval $EVERY\n";
  EXPECT_EQ(predict("--megatron", saves).code, 0);
  // without the branch nothing is launched: the branch is what is asked about
  const std::string launches = "if [ \"$MODE\" = train ]; then\n" + run + "\nfi\n";
  EXPECT_EQ(predict("--megatron", launches).code, 0);
}

TEST_F(OpenConditions, AroundTheLaunchHideNoOthers) {
  const std::string text = "if [ $SIZE = big ]; then\n  MB=4\nelse\n  MB=1\nfi\nif [ $MODE = train ]; then\n"
                           "torchrun --nproc_per_node 8 pretrain_gpt.py" +
                           sizes + " --global-batch-size $((MB * 64))\nfi\n";
  const Ran ran = predict("--megatron", text);
  EXPECT_EQ(ran.code, 0) << ran.err;  // the last counts, and so it does where SIZE is empty
  const std::string chosen_first = "if [ $SIZE = big ]; then\n  MB=4\nfi\nif [ $MODE = train ]; then\n"
                                   "torchrun --nproc_per_node 8 pretrain_gpt.py" +
                                   sizes + " --global-batch-size $((${MB:-1} * 64))\nfi\n";
  EXPECT_THAT(predict("--megatron", chosen_first).err, HasSubstr("$SIZE (line 1), which nothing sets, and decide"));
}

TEST_F(OpenConditions, ThatChooseAFileAreAskedFor) {
  const std::string text = "if [ \"$STAGE\" = 3 ]; then\n  FILE=zero3.json\nelse\n  FILE=zero1.json\nfi\n"
                           "if [ \"$STAGE\" = 2 ]; then\n  FILE=zero2.json\nfi\n"
                           "deepspeed --num_gpus 8 pretrain_gpt.py" +
                           sizes + " --zero-stage 1 --deepspeed --deepspeed_config $FILE\n";
  EXPECT_THAT(predict("--megatron", text).err, HasSubstr("$STAGE (line 1), which nothing sets, and decide"));
}

TEST_F(OpenConditions, WhatWasDoubtedIsSaidBehindEvalToo) {
  const std::string text =
      "if grep -q x y; then\n  MB=2\nelse\n  MB=1\nfi\nrun=\"torchrun --nproc_per_node 8 pretrain_gpt.py" + sizes +
      " --micro-batch-size $MB\"\neval $run\n";
  EXPECT_THAT(predict("--megatron", text).out, HasSubstr("MB is set in line 2"));
}

TEST_F(OpenConditions, AllThatNothingSetsIsAskedForAtOnce) {
  const std::string text = "torchrun --nproc_per_node 8 pretrain_gpt.py" + sizes +
                           " --seq-length $SEQ --tensor-model-parallel-size $TP --save-interval $EVERY\n";
  const Ran ran = predict("--megatron", text);
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--define SEQ=VALUE --define TP=VALUE, or the values in the launch"));
}

}  // namespace
}  // namespace stepcast::launch::strangers_test
