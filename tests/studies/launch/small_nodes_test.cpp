// Nodes that are smaller than those of the machine, whoever tells the number of GPUs; arguments whose meaning hangs on
// the release; and what messages propose.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/launch/meant_launch.h"
#include "tests/studies/launch/strangers.h"

namespace stepcast::launch::strangers_test {
namespace {

using meant_launches::meaning_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string gpt = "pretrain_gpt.py --tensor-model-parallel-size 8 --num-layers 32 --hidden-size 4096 "
                        "--num-attention-heads 32 --micro-batch-size 1 --global-batch-size 64 --seq-length 4096 "
                        "--max-position-embeddings 4096 --bf16 --vocab-size 32000\n";

/// torchrun, mpirun, a job's header and a launch with all counts: a node has four.
TEST_F(StrangersLaunch, SmallNodesAreSaidWhoeverTellsTheGpus) {
  const std::string launches[] = {"torchrun --nproc_per_node 4 --nnodes $NNODES " + gpt,
      "mpirun -np $WORLD -npernode 4 python " + gpt,
      "#!/bin/bash\n#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-node=4\nsrun python " + gpt,
      "torchrun --nproc_per_node 4 --nnodes 8 " + gpt};
  for (const std::string& launch : launches)
    for (const char* more :
        {"--machine dgx-h100 --gpus 32", "--machine dgx-h100 --gpus 64", "--machine dgx-h100 --gpus 32 --tp 4"}) {
      const Ran ran = predict("--launch", launch, more);
      EXPECT_EQ(ran.code, 2) << launch << more;
      EXPECT_THAT(ran.err, HasSubstr("4 GPUs on each node, and DGX H100 has 8")) << launch << more;
      EXPECT_THAT(ran.err, HasSubstr("gb200-nvl72")) << "a rack takes nodes of any size";
      const Ran lenient = predict("--launch", launch, std::string(more) + " --lenient");
      EXPECT_EQ(lenient.code, 0) << lenient.err;
      EXPECT_THAT(lenient.out + lenient.err, HasSubstr("4 GPUs on each node, and DGX H100 has 8")) << launch;
    }
  EXPECT_EQ(predict("--launch", launches[0], "--machine perlmutter-a100 --gpus 32").code, 0);
  EXPECT_EQ(predict("--launch", launches[0], "--machine dgx-h100 --gpus 4 --tp 4").code, 0) << "within one node";
}

/// So do a configuration's nodes, with their GPUs or with those of the job.
TEST_F(StrangersLaunch, SmallNodesOfAConfigurationAreSaid) {
  const std::string nemo =
      "trainer: {devices: DEVICES, num_nodes: 2, precision: bf16}\n"
      "model: {micro_batch_size: 1, global_batch_size: 64, tensor_model_parallel_size: 2, encoder_seq_length: 2048, "
      "max_position_embeddings: 2048, num_layers: 24, hidden_size: 2048, ffn_hidden_size: 8192, num_attention_heads: "
      "16, vocab_size: 32000}\n";
  const std::string accelerate =
      "accelerate launch --num_machines MACHINES --num_processes 8 --mixed_precision bf16 --use_fsdp run_clm.py "
      "--model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 1 --block_size 2048 --bf16\n";
  const auto with = [](std::string text, const std::string& word, const std::string& number) {
    return text.replace(text.find(word), word.size(), number);
  };
  const char* small = "4 GPUs on each node, and DGX H100 has 8";
  EXPECT_THAT(predict("--nemo", with(nemo, "DEVICES", "4"), "--machine dgx-h100").err, HasSubstr(small));
  EXPECT_EQ(predict("--nemo", with(nemo, "DEVICES", "8"), "--machine dgx-h100").code, 0);
  EXPECT_THAT(predict("--launch", with(accelerate, "MACHINES", "2"), "--machine dgx-h100").err, HasSubstr(small));
  const Ran one = predict("--launch", with(accelerate, "MACHINES", "1"), "--machine dgx-h100");
  EXPECT_EQ(one.code, 0) << one.err;
  const Ran lenient = predict("--launch", with(accelerate, "MACHINES", "2"), "--machine dgx-h100 --lenient");
  EXPECT_EQ(lenient.code, 0) << lenient.err;
  EXPECT_THAT(lenient.out + lenient.err, HasSubstr(small));
}

const std::string neox = "\"pipe_parallel_size\": 1, \"model_parallel_size\": 2, \"num_layers\": 24, "
                         "\"hidden_size\": 2048, \"num_attention_heads\": 16, \"seq_length\": 2048, "
                         "\"max_position_embeddings\": 2048, \"pos_emb\": \"rotary\", \"no_weight_tying\": true, "
                         "\"padded_vocab_size\": 50304, \"train_micro_batch_size_per_gpu\": 8, "
                         "\"zero_optimization\": {\"stage\": 1}, ";

/// megatron/neox_arguments/arguments.py at v1.0, v2.0 and today.
TEST_F(StrangersLaunch, TheTypeOfFp16HangsOnTheRelease) {
  const std::string typed = "{" + neox + "\"fp16\": {\"enabled\": true, \"type\": \"bfloat16\"}}";
  const auto run = [&](const std::string& text, const std::string& more) {
    const Ran ran = predict("--gpt-neox", text, "--gpus 64 " + more);
    return ran.out + ran.err;
  };
  EXPECT_THAT(run(typed, ""), HasSubstr("--release 2.0 or --release main"));
  EXPECT_THAT(run(typed, "--release 1.0"), HasSubstr("micro-batch 8; bf16"));
  EXPECT_THAT(run(typed, "--release 2.0"), HasSubstr("micro-batch 8; bf16"));
  EXPECT_THAT(run(typed, "--release main"), HasSubstr("micro-batch 8; fp16"));
  EXPECT_THAT(run("{" + neox + "\"fp16\": {\"enabled\": true}}", ""), HasSubstr("micro-batch 8; fp16"));
}

/// megatron/model/transformer.py of May 2023 to September 2024: 6.74 B of Llama 2 7B.
TEST_F(StrangersLaunch, LlamasMlpOfNeox) {
  const std::string text = "{\"num_layers\": 32, \"hidden_size\": 4096, \"num_attention_heads\": 32, "
                           "\"seq_length\": 4096, \"max_position_embeddings\": 4096, \"pos_emb\": \"rotary\", "
                           "\"rotary_pct\": 1, \"no_weight_tying\": true, \"norm\": \"rmsnorm\", "
                           "\"activation\": \"silu\", \"use_bias_in_attn_linear\": false, "
                           "\"padded_vocab_size\": 32000, \"train_micro_batch_size_per_gpu\": 1, "
                           "\"fp16\": {\"enabled\": true}, \"mlp_type\": ";
  const Ran llama = predict("--gpt-neox", text + "\"llama\"}", "--gpus 64");
  EXPECT_EQ(llama.code, 0) << llama.err;
  EXPECT_THAT(llama.out, AllOf(HasSubstr("Llama 2 7B"), HasSubstr("11008 wide")));
  EXPECT_THAT(predict("--gpt-neox", text + "\"other\"}", "--gpus 64").err, HasSubstr("an MLP that is not known"));
}

/// llmfoundry/models/layers/ffn.py: 2.6875 times 4096 is 11008.
TEST_F(StrangersLaunch, RatiosWhoseProductIsWhole) {
  const auto run = [&](const char* ratio) {
    return predict("--llm-foundry",
        std::string("max_seq_len: 2048\nmodel:\n  name: mpt_causal_lm\n  d_model: 4096\n  n_heads: 32\n"
                    "  n_layers: 32\n  vocab_size: 32000\n  expansion_ratio: ") +
            ratio + "\nglobal_train_batch_size: 256\ndevice_train_microbatch_size: 4\nprecision: amp_bf16\n",
        "--gpus 64 --print-scenario");
  };
  EXPECT_THAT(run("2.6875").out, HasSubstr("11008"));
  EXPECT_THAT(run("2.6876").err, HasSubstr("is no whole number"));
}

const std::string verl = "torchrun --nproc_per_node=4 -m verl.trainer.fsdp_sft_trainer data.train_files=x "
                         "model.partial_pretrain=Qwen/Qwen2.5-3B data.max_length=2048 data.train_batch_size=256 ";

/// verl/trainer/fsdp_sft_trainer.py at v0.1 and v0.2: of all ranks, or nothing.
TEST_F(StrangersLaunch, VerlsOlderMicroBatchIsAskedFor) {
  const auto run = [&](const std::string& more, const std::string& flags) {
    const Ran ran = predict("--launch", verl + more + "\n", flags + " --seq 2048 --machine perlmutter-a100-80gb");
    return ran.out + ran.err;
  };
  EXPECT_THAT(run("data.micro_batch_size=8", ""), HasSubstr("--release 0.1 or --release main"));
  EXPECT_THAT(run("data.micro_batch_size=8", "--release 0.1"), HasSubstr("micro-batch 2"));
  EXPECT_THAT(run("data.micro_batch_size=8", "--release main"), HasSubstr("micro-batch 4"));
  EXPECT_THAT(run("data.micro_batch_size=9", "--release 0.1"), HasSubstr("do not divide over 4 ranks"));
  EXPECT_THAT(run("data.micro_batch_size=8 data.micro_batch_size_per_gpu=1", ""), HasSubstr("micro-batch 1"));
}

/// openrlhf/cli/train_sft.py: ranks of a ring share a sequence.
TEST_F(StrangersLaunch, RingsOfOpenrlhfAreContextRanks) {
  const std::string text = "deepspeed --num_gpus 8 --module openrlhf.cli.train_sft --pretrain Qwen/Qwen2.5-1.5B --bf16 "
                           "--zero_stage 2 --train_batch_size 8 --micro_train_batch_size 1 --max_len 32768 "
                           "--packing_samples ";
  EXPECT_THAT(predict("--launch", text + "--ring_attn_size 4 --ring_head_stride 2\n").out, HasSubstr("cp 4"));
  EXPECT_THAT(predict("--launch", text + "\n").out, HasSubstr("cp 1"));
}

const std::string tokenized = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 28 --hidden-size 1024 "
                              "--num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 "
                              "--micro-batch-size 4 --global-batch-size 32 --bf16 ";

/// megatron/training/tokenizer/tokenizer.py: a tokenizer of Hugging Face has its tokens, whatever a network pads to.
TEST_F(StrangersLaunch, VocabulariesOfTokenizersAreTheirs) {
  const auto run = [&](const std::string& more, const std::string& flags = "") {
    return predict("--launch", tokenized + more + "\n", flags).out;
  };
  const std::string kind = "--tokenizer-type HuggingFaceTokenizer --tokenizer-model ";
  EXPECT_THAT(run(kind + "EleutherAI/gpt-neox-20b"), HasSubstr("vocabulary 50277 padded to 50304"));
  EXPECT_THAT(run(kind + "Qwen/Qwen2.5-3B"), HasSubstr("of the network Qwen2.5-3B: Megatron-LM counts the tokens"));
  EXPECT_THAT(run(kind + "/x/y --vocab-size 32000"), HasSubstr("vocabulary 32000 as told"));
  const std::string null = "--tokenizer-type NullTokenizer --vocab-size 50304";
  EXPECT_THAT(run(null), HasSubstr("NullTokenizer adds a token, which makes it 50432"));
  EXPECT_THAT(
      run(null, "--release \"core 0.13.0\""), HasSubstr("vocabulary 50432: NullTokenizer adds a token to 50304"));
}

/// What a message proposes is accepted, and names the whole of what it speaks of.
TEST_F(StrangersLaunch, ProposalsAreAccepted) {
  const std::string pods = "accelerate launch --multi_gpu --num_machines ${PET_NNODES} --num_processes $(( "
                           "${PET_NNODES} * ${PET_NPROC_PER_NODE} )) --mixed_precision bf16 trl/scripts/sft.py "
                           "--model_name_or_path Qwen/Qwen2.5-3B --max_length 4096 --packing "
                           "--gradient_checkpointing true --per_device_train_batch_size 4 --zero_stage 3\n";
  EXPECT_THAT(predict("--launch", pods).err, HasSubstr("--gpus N"));
  EXPECT_THAT(predict("--launch", pods, "--gpus 16 --zero 3").err, Not(HasSubstr("PET_NNODES")));
  const std::string counted = "gpu_count=$(nvidia-smi -L | wc -l)\ntorchrun --nproc_per_node=8 run_clm.py "
                              "--model_name_or_path Qwen/Qwen2.5-1.5B --block_size 2048 --bf16 "
                              "--per_device_train_batch_size 1 --gradient_accumulation_steps $((16/gpu_count))\n";
  EXPECT_THAT(predict("--launch", counted).err,
      AllOf(HasSubstr("-- --gradient_accumulation_steps VALUE"), Not(HasSubstr("--define of"))));
  EXPECT_EQ(predict("--launch", counted, "-- --gradient_accumulation_steps 2").code, 0);
  const Ran chat = predict("--launch",
      "deepspeed --num_gpus 8 main.py --deepspeed --data_path x --data_split 10,0,0 --zero_stage 3 "
      "--model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 4 --max_seq_len 2048\n");
  EXPECT_THAT(chat.out, HasSubstr("fp16: as DeepSpeed-Chat has it unless told")) << chat.err;
  const std::string folder(70, 'x'), named = folder + "/" + folder + "/config.yaml";
  EXPECT_THAT(predict("--launch", "tune run --nproc_per_node 8 full_finetune_distributed --config " + named + "\n").err,
      HasSubstr(named));
}

/// A variable of a script that the launch runs is one of the launch.
TEST_F(StrangersLaunch, DefinedInAScriptThatItRuns) {
  write("train.sh", "torchrun --nproc_per_node 8 --nnodes $NHOSTS pretrain_gpt.py " + sizes + "\n");
  EXPECT_EQ(predict("--launch", "bash train.sh\n", "--define NHOSTS=2").code, 0);
  EXPECT_THAT(predict("--launch", "bash train.sh\n", "--define HOSTS_OF_IT=2").err, HasSubstr("does not occur"));
}

}  // namespace
}  // namespace stepcast::launch::strangers_test
