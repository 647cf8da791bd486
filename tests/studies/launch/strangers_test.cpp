// Forms of launches found in public repositories that were once misread without a word: each is read right, or refused.
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/run_program.h"

namespace stepcast::launch::strangers_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_program::Ran;
using testing_program::run_line;

const std::string sizes =
    " --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 "
    "--micro-batch-size 1 --global-batch-size 512 --vocab-size 32000 --bf16";

class StrangersLaunch : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) / (std::string("strangers_") + test->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  Ran predict(const std::string& flag, const std::string& text, const std::string& more = "") {
    const char* ending = flag == "--nemo" ? "run.yaml" : flag == "--torchtitan" ? "run.toml" : "run.sh";
    return run_line(fmt::format("predict {} {} {}", flag, write(ending, text), more));
  }

  std::filesystem::path folder_;
};

TEST_F(StrangersLaunch, ASourcedScriptBesideIsRead) {
  write("sizes.sh", "TP=4\nLAYERS=12\n");
  const std::string text =
      "#!/bin/bash\nTP=2\nsource ./sizes.sh\ntorchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py" + sizes +
      " --num-layers $LAYERS --tensor-model-parallel-size $TP\n";
  const Ran ran = predict("--megatron", text);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("tp 4,"));
  const Ran missing = predict("--megatron", "source ./missing.sh\n" + text);
  EXPECT_EQ(missing.code, 0) << missing.err;
  EXPECT_THAT(missing.out + missing.err, HasSubstr("missing.sh is named in"));
  const Ran prepared = predict("--megatron", "source ~/.bashrc\nsource venv/bin/activate\n" + text);
  EXPECT_THAT(prepared.out + prepared.err, Not(HasSubstr("is named in")));
}

TEST_F(StrangersLaunch, ASourcedScriptIsReadWhateverItsName) {
  write("llama_profile.sh", "TP=4\nsource ./llama_profile.sh\nsource llama_profile.sh\n");
  const Ran ran =
      predict("--megatron", "source ./llama_profile.sh\ntorchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py" +
                                sizes + " --tensor-model-parallel-size $TP\n");
  EXPECT_EQ(ran.code, 0) << "it reads itself, and that ends: " << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("tp 4,"));
}

TEST_F(StrangersLaunch, ShiftAndSetMoveTheScriptsArguments) {
  const std::string run = "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py" + sizes;
  const std::string shifted = "#!/bin/bash\nMODEL=$1\nshift\nTP=$1\n" + run + " --tensor-model-parallel-size $TP\n";
  EXPECT_THAT(predict("--megatron", shifted, "--define 1=2 --define 2=8").out, HasSubstr("tp 8,"));
  const std::string set = "#!/bin/bash\nset -- 4 2\n" + run + " --tensor-model-parallel-size $1\n";
  EXPECT_THAT(predict("--megatron", set).out, HasSubstr("tp 4,"));
  const std::string all = "#!/bin/bash\nshift\n" + run + " \"$@\"\n";
  EXPECT_THAT(
      predict("--megatron", all, "--define 1=x --define 2=--tensor-model-parallel-size=8").out, HasSubstr("tp 8,"));
}

TEST_F(StrangersLaunch, ALoopOverTheScriptsArgumentsIsRefusedWhereSomeAreLeft) {
  const std::string text = "#!/bin/bash\nTP=8\nwhile [[ $# -gt 0 ]]; do\n  case $1 in\n    --tp) TP=$2; shift; "
                           "shift;;\n    --micro) MICRO=$2; "
                           "shift; shift;;\n  esac\ndone\ntorchrun --nproc_per_node 8 pretrain_gpt.py" +
                           sizes + " --tensor-model-parallel-size $TP\n";
  const Ran one = predict("--megatron", text, "--define 1=--tp --define 2=2");
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("tp 2,"));
  const Ran more = predict("--megatron", text, "--define 1=--tp --define 2=2 --define 3=--micro --define 4=4");
  EXPECT_EQ(more.code, 2) << more.out;
  EXPECT_THAT(more.err, HasSubstr("shifts the script's arguments in a loop"));
}

const std::string nemo = "trainer:\n  devices: 8\n  num_nodes: 4\n  precision: bf16\nmodel:\n  num_layers: 24\n  "
                         "hidden_size: 2048\n  ffn_hidden_size: 8192\n  num_attention_heads: 16\n  encoder_seq_length: "
                         "2048\n  vocab_size: 32000\n  tensor_model_parallel_size: 4\n  micro_batch_size: 1\n  "
                         "global_batch_size: 128\n";

TEST_F(StrangersLaunch, OtherDataThanTheTrainingsSaysNothing) {
  const Ran ran =
      predict("--nemo", nemo + "  data:\n    validation_ds:\n      micro_batch_size: 4\n      global_batch_size: "
                               "32\ninference:\n  tensor_model_parallel_size: 1\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("tp 4,"));
  EXPECT_THAT(ran.out, HasSubstr("micro-batch 1"));
}

TEST_F(StrangersLaunch, MisspelledSectionsAreRefused) {
  std::string modle = nemo;
  modle.replace(modle.find("model:"), 6, "modle:");
  const Ran ran = predict("--nemo", modle);
  EXPECT_EQ(ran.code, 2) << ran.out;
  EXPECT_THAT(ran.err, HasSubstr("did you mean 'model'?"));
}

const std::string titan =
    "[training]\nlocal_batch_size = 1\nseq_len = 4096\n[parallelism]\ndata_parallel_shard_degree = "
    "8\n";

TEST_F(StrangersLaunch, TorchtitansSectionsStandAsTheyAre) {
  const std::string model = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n";
  EXPECT_EQ(predict("--torchtitan", model + titan).code, 0);
  const Ran nested = predict("--torchtitan", model + titan + "[foo.training]\nlocal_batch_size = 8\n");
  EXPECT_EQ(nested.code, 2) << nested.out;
  EXPECT_THAT(nested.err, HasSubstr("there is only training.local_batch_size"));
}

TEST_F(StrangersLaunch, AFlavorThatNobodyKnowsIsNotItsFamilysLargest) {
  for (const char* flavor : {"flavor = \"debugmodel\"\n", "flavor = \"99B\"\n", ""}) {
    const Ran ran = predict("--torchtitan", fmt::format("[model]\nname = \"deepseek_v3\"\n{}", flavor) + titan);
    EXPECT_EQ(ran.code, 2) << ran.out;
  }
}

TEST_F(StrangersLaunch, AWordForRecomputationThatNobodyKnowsIsRefused) {
  const Ran ran = predict("--torchtitan",
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n" + titan + "[activation_checkpoint]\nmode = \"ful\"\n");
  EXPECT_EQ(ran.code, 2) << ran.out;
  EXPECT_THAT(ran.err, HasSubstr("recomputation 'ful' is not known"));
}

}  // namespace
}  // namespace stepcast::launch::strangers_test
