// Launches that train another network, on other chips or in other copies than a first look tells.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/launch/strangers.h"

namespace stepcast::launch::strangers_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class StrangeNetworks : public StrangersLaunch {
 protected:
  Ran of_file(const std::string& flag, const std::string& name, const std::string& text, const std::string& more = "") {
    return run_line(fmt::format("predict {} {} {}", flag, write(name, text), more));
  }
};

/// DeepSeek-V3 has 671,026,419,200 parameters without its one layer that predicts a further token.
TEST_F(StrangeNetworks, PredictionLayersAreTrainedOnlyWhereTold) {
  const std::string swift = "NPROC_PER_NODE=8 NNODES=32 megatron sft --model deepseek-ai/DeepSeek-V3 --max_length 4096 "
                            "--expert_model_parallel_size 32 --global_batch_size 256 --tuner_type full --packing true";
  const Ran none = predict("--ms-swift", swift + "\n");
  EXPECT_EQ(none.code, 0) << none.err;
  EXPECT_THAT(none.out, AllOf(HasSubstr("DeepSeek-V3 without prediction layers"), HasSubstr("671,026,419,200"),
                            HasSubstr("Megatron-SWIFT trains no layers that predict further tokens unless told")));
  const Ran one = predict("--ms-swift", swift + " --mtp_num_layers 1\n", "--print-scenario");
  EXPECT_THAT(one.out, HasSubstr("\"network\": \"deepseek-v3\""));
  const std::string trainer =
      "torchrun --nproc_per_node 8 run_clm.py --model_name_or_path zai-org/GLM-4.5-Air "
      "--per_device_train_batch_size 1 --bf16 --packing --max_seq_length 4096 --fsdp full_shard\n";
  EXPECT_THAT(predict("--trainer", trainer).out, HasSubstr("GLM-4.5-Air without prediction layers"));
  const Ran config = run_line(
      "predict deepseek-v3 --gpus 2048 --seq 4096 --deepspeed " +
      write("ds.json", R"({"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}, "train_batch_size": 2048})"));
  EXPECT_EQ(config.code, 0) << config.err;
  EXPECT_THAT(config.out, AllOf(HasSubstr("DeepSeek-V3 without prediction layers"), HasSubstr("671,026,419,200")));
  const Ran mesh =
      run_line("predict deepseek-v3 --gpus 2048 --seq 4096 --micro-batch 1 --global-batch 2048 --accelerate " +
               write("mesh.yaml", "distributed_type: FSDP\nmixed_precision: bf16\nfsdp_config:\n  fsdp_version: 2\n"));
  EXPECT_EQ(mesh.code, 0) << mesh.err;
  EXPECT_THAT(mesh.out, HasSubstr("671,026,419,200"));
}

/// The catalogue knows google/gemma-3-27b-pt and microsoft/Phi-3-mini-4k-instruct; another size or release is another.
TEST_F(StrangeNetworks, FoldersAndTunedModelsAreOfTheirNetworks) {
  const auto of = [&](const std::string& model) {
    return of_file("--llama-factory", "run.yaml",
        "model_name_or_path: " + model +
            "\nstage: sft\nfinetuning_type: full\npacking: true\ncutoff_len: 2048\n"
            "per_device_train_batch_size: 1\nbf16: true\n",
        "--gpus 8 --zero 3");
  };
  for (const auto& [model, name] : {std::pair{"google/gemma-3-27b-it", "Gemma 3 27B"},
           std::pair{"checkpoints/microsoft/Phi-3-mini-4k-instruct", "Phi-3 mini"},
           std::pair{"Qwen/Qwen3-30B-A3B-Instruct-2507-FP8", "Qwen3 30B-A3B"},
           std::pair{"google/gemma-2-9b-it", "Gemma 2 9B"}}) {
    const Ran ran = of(model);
    EXPECT_EQ(ran.code, 0) << model << ran.err;
    EXPECT_THAT(ran.out, HasSubstr(std::string(name) + " on 8 x")) << model;
  }
  for (const char* other : {"mistralai/Mistral-7B-v0.2", "microsoft/Phi-3-mini-128k-instruct", "google/gemma-3-14b-it"})
    EXPECT_THAT(of(other).err, HasSubstr("is no network of the catalogue")) << other;
}

TEST_F(StrangeNetworks, TheProgramOfAnExperimentCounts) {
  const auto experiment = [](const std::string& program) {
    return "experiment:\n  exp_name: small\n  task:\n    type: train\n    backend: megatron\n    entrypoint: " +
           program +
           "\n  runner:\n    nnodes: 1\n    nproc_per_node: 8\ntrain:\n  system:\n    precision:\n      bf16: true\n"
           "  model:\n    num_layers: 24\n    hidden_size: 2048\n    num_attention_heads: 16\n    seq_length: 2048\n"
           "    max_position_embeddings: 2048\n    micro_batch_size: 1\n    global_batch_size: 512\n"
           "  data:\n    tokenizer:\n      vocab_size: 32000\n";
  };
  const Ran gpt = of_file("--flagscale", "run.yaml", experiment("flagscale/train/train_gpt.py"));
  EXPECT_EQ(gpt.code, 0) << gpt.err;
  EXPECT_THAT(gpt.out, Not(HasSubstr("no program is named")));
  for (const char* other : {"./flagscale/train/train_rwkv.py", "flagscale/train/train_qwen2_5_vl.py"}) {
    const Ran ran = of_file("--flagscale", "run.yaml", experiment(other));
    EXPECT_EQ(ran.code, 2) << other;
    EXPECT_THAT(ran.err, HasSubstr("trains another kind of network")) << other;
  }
}

TEST_F(StrangeNetworks, CopiesThatNobodyAskedForAreSaid) {
  const std::string text = "model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: full\ncutoff_len: 2048\n"
                           "packing: true\nper_device_train_batch_size: 1\nbf16: true\n";
  const char* note = "each GPU holds the whole network";
  EXPECT_THAT(of_file("--llama-factory", "run.yaml", text, "--gpus 8").out, HasSubstr(note));
  EXPECT_THAT(of_file("--llama-factory", "run.yaml", text, "--gpus 1").out, Not(HasSubstr(note)));
  EXPECT_THAT(of_file("--llama-factory", "run.yaml", text, "--gpus 8 --zero 3").out, Not(HasSubstr(note)));
  const std::string told = text + "deepspeed: examples/deepspeed/ds_z2_config.json\n";
  EXPECT_THAT(of_file("--llama-factory", "run.yaml", told, "--gpus 8").out, Not(HasSubstr(note)));
}

TEST_F(StrangeNetworks, WhatGoesToTheHostIsRefusedOrSaid) {
  const std::string fsdp = "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: bf16\n"
                           "num_machines: 1\nnum_processes: 8\nfsdp_config:\n  fsdp_version: 2\n"
                           "  fsdp_reshard_after_forward: true\n  fsdp_offload_params: ";
  const char* note = "is forecast as if it stayed on the GPU";
  const auto of = [&](const std::string& text) {
    return run_line("predict llama3-8b --lenient --accelerate " + write("run.yaml", text) + " --micro-batch 1").out;
  };
  const std::string kept = "predict llama3-8b --micro-batch 1 --accelerate " + write("run.yaml", fsdp + "true\n");
  EXPECT_THAT(run_line(kept).err, HasSubstr("what is kept in host memory is not forecast"));
  EXPECT_THAT(of(fsdp + "true\n"), HasSubstr(note));
  EXPECT_THAT(of(fsdp + "false\n"), AllOf(HasSubstr("zero 3"), Not(HasSubstr(note))));
  const std::string deepspeed = "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, "
                                "\"zero_optimization\": {\"stage\": 3, \"offload_param\": {\"device\": \"";
  for (const char* device : {"cpu", "none"})
    EXPECT_EQ(
        run_line("predict llama3-8b --lenient --gpus 8 --deepspeed " + write("ds.json", deepspeed + device + "\"}}}"))
                .out.find(note) != std::string::npos,
        device == std::string("cpu"));
}

/// Where all layers have experts, --ffn-hidden-size is the width of nothing.
TEST_F(StrangeNetworks, AnUnusedWidthMakesNoOtherNetwork) {
  const std::string run =
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 48 --hidden-size 2048 --ffn-hidden-size 6144 "
      "--num-attention-heads 32 --kv-channels 128 --group-query-attention --num-query-groups 4 --seq-length 4096 "
      "--max-position-embeddings 4096 --normalization RMSNorm --position-embedding-type rope --swiglu "
      "--disable-bias-linear --untie-embeddings-and-output-weights --qk-layernorm --attention-dropout 0 "
      "--hidden-dropout 0 --vocab-size 151936 --num-experts 128 --moe-router-topk 8 --moe-ffn-hidden-size 768 "
      "--expert-model-parallel-size 8 --micro-batch-size 1 --global-batch-size 8 --bf16";
  EXPECT_THAT(predict("--megatron", run + "\n").out, HasSubstr("Qwen3 30B-A3B on 8"));
  EXPECT_THAT(predict("--megatron", run + " --moe-layer-freq '[0]*1+[1]*47'\n").out,
      AllOf(HasSubstr("Own network"), Not(HasSubstr("Qwen3 30B-A3B on"))));
}

TEST_F(StrangeNetworks, ProgramsOfOthersAreCalledByTheirNames) {
  const std::string core = "#!/bin/bash\npython src/train/OLMo-sft.py train run cluster --trainer.max_duration.value=2 "
                           "--train_module.optim.lr=8e-5 --seq_len=32768 --num_nodes=8\n";
  EXPECT_THAT(predict("--trainer", core).err, HasSubstr("a launch of OLMo-core"));
  const std::string rl = "defaults: ../sft.yaml\nsft:\n  max_num_steps: 250\npolicy:\n  model_name: "
                         "meta-llama/Llama-3.1-8B\n  train_micro_batch_size: 2\ncluster:\n  num_nodes: 1\n";
  EXPECT_THAT(of_file("--nemo", "run.yaml", rl).err, HasSubstr("a configuration of NeMo RL"));
  const std::string tuner = "from mmengine.runner import LogLevel\nbatch_size = 1\nmodel = dict(\n    llm='x')\n";
  EXPECT_THAT(of_file("--trainer", "run.py", tuner).err, HasSubstr("a configuration of XTuner"));
}

TEST_F(StrangeNetworks, OtherChipsAndLargerNodesAreSaid) {
  const std::string run = "torchrun --nnodes 1 --nproc_per_node 16 pretrain_gpt.py" + sizes + "\n";
  const Ran plain = predict("--megatron", run);
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_THAT(plain.out, AllOf(HasSubstr("16 GPUs on each node, and DGX H100 has 8"), Not(HasSubstr("Ascend"))));
  EXPECT_THAT(predict("--megatron", "export HCCL_CONNECT_TIMEOUT=1800\n" + run).out,
      HasSubstr("its environment is for Ascend NPUs, and the forecast is for DGX H100"));
  const std::string rocm = "export HSA_FORCE_FINE_GRAIN_PCIE=1\n" + run;
  EXPECT_THAT(predict("--megatron", rocm).out, HasSubstr("its environment is for AMD's GPUs"));
  EXPECT_THAT(predict("--megatron", rocm, "--machine mi300x-server").out, Not(HasSubstr("its environment is for")));
  const std::string eight = "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py" + sizes + "\n";
  EXPECT_THAT(predict("--megatron", eight).out, Not(HasSubstr("GPUs on each node")));
}

TEST_F(StrangeNetworks, ACaseOfMegatronsTestsNamesNoProgram) {
  const std::string text =
      "ENV_VARS:\n  CUDA_DEVICE_MAX_CONNECTIONS: 1\nMODEL_ARGS:\n  --num-layers: 24\n  --hidden-size: 2048\n"
      "  --num-attention-heads: 16\n  --seq-length: 2048\n  --max-position-embeddings: 2048\n"
      "  --micro-batch-size: 1\n  --global-batch-size: 512\n  --tensor-model-parallel-size: 2\n  --bf16: true\n"
      "  --vocab-size: 32000\nTEST_TYPE: regular\nMETRICS:\n  - lm loss\n";
  const Ran strict = of_file("--megatron", "model_config.yaml", text, "--gpus 8");
  EXPECT_EQ(strict.code, 2);
  EXPECT_THAT(strict.err,
      AllOf(HasSubstr("a case of Megatron-LM's tests, whose program"), Not(HasSubstr("did you mean 'model_args'"))));
  const Ran lenient = of_file("--megatron", "model_config.yaml", text, "--gpus 8 --lenient --print-scenario");
  EXPECT_EQ(lenient.code, 0) << lenient.err;
  EXPECT_THAT(lenient.out, AllOf(HasSubstr("\"layers\": 24"), HasSubstr("mesh tp:2 cp:1 dp:4")));
}

/// What a function that makes the optimizer takes of the rest says nothing of the run; its name tells the rule.
TEST_F(StrangeNetworks, TorchtitansOptimizerIsKnownByItsMaker) {
  const auto registry = [](const std::string& optimizer, const std::string& more = "") {
    return "def llama3_8b() -> Trainer.Config:\n    model_spec = model_registry(\"8B\")\n"
           "    parallelism = ParallelismConfig(tensor_parallel_degree=2)\n    return Trainer.Config(\n" +
           more + "        model_spec=model_spec,\n        optimizer=" + optimizer +
           ",\n        training=TrainingConfig(num_tokens_per_microbatch_per_dp_rank=2 * 8192, "
           "max_context_length=8192),\n        parallelism=parallelism,\n    )\n";
  };
  const Ran adam = of_file("--torchtitan", "run.py", registry("default_adamw(lr=3e-4)"), "--gpus 8");
  EXPECT_EQ(adam.code, 0) << adam.err;
  EXPECT_THAT(adam.out, AllOf(HasSubstr("micro-batch 2"), Not(HasSubstr("no release takes both"))));
  const Ran muon = of_file(
      "--torchtitan", "run.py", registry("_dist_muon(model_spec, lr=3e-4, parallelism=parallelism)"), "--gpus 8");
  EXPECT_EQ(muon.code, 0) << muon.err;
  EXPECT_THAT(muon.out, HasSubstr("optimizer muon: 4 bytes of states per parameter"));
  EXPECT_THAT(of_file("--torchtitan", "run.py", registry("my_rule(lr=3e-4)"), "--gpus 8").err,
      HasSubstr("the optimizer 'my_rule' is not known"));
  EXPECT_EQ(of_file("--torchtitan", "run.py",
                registry("default_adamw(lr=3e-4)", "        tokenizer=PlainTokenizer.Config(eos=\"e\"),\n"), "--gpus 8")
                .code,
      0);
  EXPECT_THAT(
      of_file("--torchtitan", "run.py",
          registry("default_adamw(lr=3e-4)", "        tokenizer=MultiModalTokenizer.Config(**WORDS),\n"), "--gpus 8")
          .err,
      HasSubstr("networks that see images are not forecast"));
}

/// A file of FSDP says what is in shards; ms-swift shards all where it does not.
TEST_F(StrangersLaunch, FilesOfFsdpSayWhatIsInShards) {
  const std::string swift =
      "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-7B-Instruct --tuner_type full "
      "--torch_dtype bfloat16 --per_device_train_batch_size 1 --packing true --max_length 2048 --fsdp ";
  const std::string trainer = "torchrun --nproc_per_node 8 sft.py --model_name_or_path Qwen/Qwen2.5-7B --bf16 "
                              "--per_device_train_batch_size 1 --gradient_checkpointing true --max_length 2048 --fsdp ";
  write("none.json", R"({"fsdp_config": {"fsdp_version": 2}})");
  write("kind.yaml", "fsdp: shard_grad_op auto_wrap\nfsdp_config:\n  fsdp_version: 2\n");
  EXPECT_EQ(predict("--ms-swift", swift + "kind.yaml\n").code, 0);
  EXPECT_THAT(predict("--trainer", trainer + "none.json\n").err, HasSubstr("does not say what is in shards"));
  EXPECT_THAT(predict("--trainer", trainer + "other.yaml\n").err, HasSubstr("other.yaml is not beside the launch"));
}

}  // namespace
}  // namespace stepcast::launch::strangers_test
