// Programs of fine-tuning and pretraining in words of their own: what they do where they are told nothing, what starts
// them, and files that they ship.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/launch/read/launch_request.h"
#include "tests/studies/launch/meant_launch.h"

namespace stepcast::launch {
namespace {

using meant_launches::meaning_of;
using meant_launches::read_in;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// Files that a program ships are known by name; another is asked for.
TEST(SettledPrograms, ShippedFilesOfDeepSpeedAreKnownByName) {
  const std::string factory = "model_name_or_path: Qwen/Qwen3-8B\nfinetuning_type: full\ncutoff_len: 2048\n"
                              "per_device_train_batch_size: 1\nbf16: true\ndeepspeed: ";
  EXPECT_THAT(meaning_of(factory + "examples/deepspeed/ds_z3_config.json\n"), HasSubstr("zero=3"));
  EXPECT_THAT(meaning_of(factory + "examples/deepspeed/ds_z0_config.json\n"), HasSubstr("zero=0"));
  EXPECT_THAT(meaning_of(factory + "examples/deepspeed/ds_z3_offload_config.json\n"), HasSubstr("in host memory"));
  EXPECT_THAT(meaning_of(factory + "my/ds_z3_config.json\n"), HasSubstr("says the stage of ZeRO"));
  const auto launch = read_in(factory + "examples/deepspeed/ds_z2_config.json\n");
  ASSERT_TRUE(launch) << to_text(launch.error());
  EXPECT_THAT(launch->notes, testing::Contains(HasSubstr("the one that LLaMA-Factory ships: stage 2")));
  EXPECT_THAT(launch->notes, testing::Contains(HasSubstr("gradient_checkpointing true: as LLaMA-Factory has it")));
}

/// What LLaMA-Factory ships does not lie beside another program, and a file of that path there is not known.
TEST(SettledPrograms, ShippedFilesAreThoseOfTheirOwnProgram) {
  const std::string tail = "micro_batch_size: 1\nsequence_len: 2048\nbf16: true\ndeepspeed: ";
  const std::string axolotl = "base_model: Qwen/Qwen3-8B\n" + tail;
  EXPECT_THAT(meaning_of(axolotl + "deepspeed_configs/zero3_bf16.json\n"), HasSubstr("zero=3"));
  EXPECT_THAT(meaning_of(axolotl + "examples/deepspeed/ds_z3_config.json\n"), HasSubstr("says the stage of ZeRO"));
}

/// MosaicML's job is known by its keys: 8 GPUs, whatever the line ends, comments and order of its sections.
TEST(SettledPrograms, JobsOfMosaicAreKnownByTheirKeys) {
  const std::string parameters = "  max_seq_len: 2048\n  global_train_batch_size: 16\n"
                                 "  device_train_microbatch_size: 1\n  model:\n    name: hf_causal_lm\n"
                                 "    pretrained_model_name_or_path: Qwen/Qwen3-8B\n";
  const std::string rest = "command: |\n  composer train/train.py /mnt/config/parameters.yaml\ncompute:\n  gpus: 8\n";
  const auto note = testing::Contains(HasSubstr("a job of MosaicML's"));
  std::string windows;
  for (const char c : "name: job\n" + rest + "parameters:\n" + parameters)
    windows += c == '\n' ? "\r\n" : std::string(1, c);
  for (const std::string& text : {"name: job\n" + rest + "parameters:  # of the run\n" + parameters,
           "parameters:\n" + parameters + rest, windows}) {
    const auto launch = read_in(text);
    ASSERT_TRUE(launch) << to_text(launch.error()) << text;
    EXPECT_EQ(launch->gpus, 8) << text;
    EXPECT_THAT(launch->notes, note) << text;
  }
}

/// llm-foundry puts the words of the command in before it resolves references.
TEST(SettledPrograms, WordsOfAMosaicCommandCount) {
  const auto job = [](const std::string& command) {
    return "name: job\ncompute:\n  gpus: 8\ncommand: |\n  cd scripts\n  composer train/train.py " + command +
           "\nparameters:\n  max_seq_len: 2048\n  global_train_batch_size: 16\n"
           "  device_train_microbatch_size: 1\n  precision: amp_bf16\n  model:\n    name: mpt_causal_lm\n"
           "    d_model: 4096\n    n_heads: 32\n    n_layers: 32\n    expansion_ratio: 4\n"
           "    max_seq_len: ${max_seq_len}\n    vocab_size: 50368\n";
  };
  const auto said = [](const Expected<Launch>& launch, const char* name) {
    const GivenArgument* given = launch ? launch->find(name) : nullptr;
    return given != nullptr ? given->value : launch ? "(nothing)" : to_text(launch.error());
  };
  const auto told = read_in(job("/mnt/config/parameters.yaml max_seq_len=4096 --model.n_layers=16"));
  EXPECT_EQ(said(told, "max_seq_len"), "4096");
  EXPECT_EQ(said(told, "model.max_seq_len"), "4096");
  EXPECT_EQ(said(told, "model.n_layers"), "16");
  EXPECT_EQ(said(read_in(job("parameters.yaml")), "model.max_seq_len"), "2048");
  EXPECT_THAT(said(read_in(job("yamls/mpt-30b.yaml")), "max_seq_len"), HasSubstr("not the parameters of the job"));
  EXPECT_THAT(said(read_in(job("parameters.yaml max_seq_len=$LENGTH")), "max_seq_len"), HasSubstr("the shell"));
}

/// What LitGPT's programs do where they are told nothing: litgpt/pretrain.py, litgpt/finetune/*.py.
TEST(SettledPrograms, LitgptDoesWhatItsProgramsDo) {
  const std::string tail = "out_dir: out\nprecision: bf16-true\ndevices: 4\ntrain:\n  micro_batch_size: 1\n"
                           "  max_seq_length: 512\n  global_batch_size: 8\n";
  const std::string full = "checkpoint_dir: checkpoints/mistralai/Mistral-7B-v0.1\n" + tail;
  EXPECT_THAT(meaning_of("lora_r: 32\n" + full),
      testing::AllOf(HasSubstr("litgpt mistral-7b "), HasSubstr("lora=32"), HasSubstr("lora_on=q,v")));
  EXPECT_THAT(meaning_of(full), testing::AllOf(HasSubstr("zero=3"), HasSubstr("recompute=full")));
  EXPECT_THAT(meaning_of("quantize: bnb.nf4\n" + full), HasSubstr("weights of few bits"));
  EXPECT_THAT(meaning_of("made_up: 2\n" + full), HasSubstr("made_up"));
  const std::string pretrain = "model_name: Llama-2-7b-hf\ntokenizer_dir: t\nnum_nodes: 2\n" + tail;
  EXPECT_THAT(meaning_of(pretrain), testing::AllOf(HasSubstr("dp_replicate=2"), HasSubstr("recompute=none")));
  EXPECT_THAT(meaning_of("checkpoint_dir: c/Llama-2-7b-hf\nout_dir: out\ntrain:\n  micro_batch_size: 1\n"),
      HasSubstr("as long as the longest of the data"));
  const auto bytes = [&](const std::string& text) {
    LaunchHints hints;
    hints.told.insert(FieldId::sequence);
    const auto reading = read_meaning(*read_in(text), hints);
    EXPECT_TRUE(reading) << to_text(reading.error());
    return reading ? reading->request.stack->row.master_bytes : -1;
  };
  const auto with = [&](const std::string& type) {
    std::string text = full;
    return text.replace(text.find("bf16-true"), 9, type);
  };
  EXPECT_EQ(bytes(full), 0);
  EXPECT_EQ(bytes(with("16-true")), 0);
  EXPECT_GT(bytes(with("bf16-mixed")), 0) << "weights in 32 bits beside those that compute";
  EXPECT_GT(bytes(with("16-mixed")), 0);
  EXPECT_THAT(
      meaning_of("checkpoint_dir: checkpoints/mistralai/Mistral-7B-v0.1/\n" + tail), HasSubstr("litgpt mistral-7b "));
}

/// What a recipe that is not known here sets itself, no argument of the command says.
TEST(SettledPrograms, WhatARecipeSetsItselfIsAskedFor) {
  const std::string run = "nemo llm pretrain --factory llama3_8b trainer.num_nodes=1 trainer.devices=8 "
                          "data.seq_length=8192 data.global_batch_size=128 data.micro_batch_size=1";
  std::string other = run;
  other.replace(other.find("llama3_8b"), 9, "llama31_405b");
  EXPECT_THAT(meaning_of(other + "\n", "run.sh"),
      HasSubstr("does not tell tensor_model_parallel_size, pipeline_model_parallel_size, context_parallel_size"));
  const std::string split =
      " trainer.strategy.tensor_model_parallel_size=1 "
      "trainer.strategy.pipeline_model_parallel_size=1 trainer.strategy.context_parallel_size=2\n";
  EXPECT_THAT(meaning_of(run + split, "run.sh"), testing::AllOf(HasSubstr("nemo llama3-8b "), HasSubstr(" cp=2")));
  std::string tuned = run + split;
  tuned.replace(tuned.find("pretrain"), 8, "finetune");
  EXPECT_THAT(meaning_of(tuned, "run.sh"), HasSubstr("may tune adapters"));
  std::string longer = other + split;
  longer.erase(longer.find("data.seq_length=8192 "), 21);
  EXPECT_THAT(meaning_of(longer, "run.sh"), HasSubstr("does not tell seq_length"));
}

/// olmo/config.py: widths of both halves of a gate, norms behind only as in OLMo 2.
TEST(SettledPrograms, OlmosSizesAreItsOwn) {
  const std::string head = "global_train_batch_size: 1024\nprecision: amp_bf16\nmax_duration: 1ep\n";
  const auto olmo = [&](const std::string& sizes, const std::string& more = "") {
    return meaning_of(head + more + "model: {n_layers: 32, n_heads: 32, d_model: 4096, weight_tying: false, " + sizes +
                      "max_sequence_length: 2048, vocab_size: 50280}\n");
  };
  const std::string second =
      "rope: true, norm_after: true, attention_layer_norm: true, include_bias: false, "
      "layer_norm_type: rms, attention_dropout: 0, residual_dropout: 0, embedding_size: 100352, ";
  EXPECT_THAT(olmo(second + "mlp_hidden_size: 22016, "), HasSubstr("olmo olmo2-7b "));
  EXPECT_THAT(olmo(second + "mlp_hidden_size: 22018, "), HasSubstr("norms behind attention and MLP are read of"));
  EXPECT_THAT(olmo("rope: false, alibi: true, "), HasSubstr("positions by distance"));
  EXPECT_THAT(olmo("mlp_hidden_size: 8192, "), HasSubstr("positions without rotation"));
  EXPECT_THAT(olmo("rope: true, ", "activation_checkpointing: whole_layer\n"), HasSubstr("recompute=full"));
  EXPECT_THAT(olmo("rope: true, ", "activation_checkpointing: one_in_two\n"), HasSubstr("some layers or parts"));
  EXPECT_THAT(olmo("rope: true, made_up: 1, "), HasSubstr("made_up"));
}

/// ModelConfig in olmo/config.py has 50304 rows unless told and those of the vocabulary where told null; norms have
/// biases where linear layers have them.
TEST(SettledPrograms, OlmosDefaultsAreItsOwn) {
  const auto reading_of = [](const std::string& sizes) {
    const auto launch =
        read_in("global_train_batch_size: 1024\nprecision: amp_bf16\nmax_duration: 1ep\ncompile: null\n"
                "optimizer: {name: lionw}\n"
                "model: {n_layers: 2, n_heads: 2, d_model: 128, mlp_hidden_size: 256, rope: true, weight_tying: false, "
                "max_sequence_length: 2048, " +
                sizes + "}\n");
    EXPECT_TRUE(launch) << to_text(launch.error());
    LaunchHints hints;
    hints.gpus = 8;
    return read_meaning(*launch, hints);
  };
  const struct {
    const char* sizes;
    std::int64_t rows;
    Norm norm;
    bool biases;
  } rows[] = {{"vocab_size: 50280, include_bias: false", 50304, Norm::layernorm_scale, false},
      {"vocab_size: 50280, embedding_size: null, include_bias: true", 50280, Norm::layernorm, true},
      {"embedding_size: null", 50257, Norm::layernorm, true},
      {"embedding_size: 51200, include_bias: false, bias_for_layer_norm: true", 51200, Norm::layernorm, false}};
  for (const auto& row : rows) {
    const auto reading = reading_of(row.sizes);
    ASSERT_TRUE(reading) << to_text(reading.error());
    const NetworkSpec& network = reading->request.network->row;
    EXPECT_EQ(network.vocab, row.rows) << row.sizes;
    EXPECT_EQ(network.norm, row.norm) << row.sizes;
    EXPECT_EQ(network.linear_bias, row.biases) << row.sizes;
    EXPECT_EQ(network.positions, Positions::rope);
    EXPECT_EQ(reading->request.stack->row.optimizer_bytes, 4) << "one fp32 moment of Lion";
    EXPECT_THAT(reading->notes, Not(Contains(AnyOf(HasSubstr("given again"), HasSubstr("RMS norm"))))) << row.sizes;
  }
}

TEST(SettledPrograms, OpenrlhfsFineTuningHasNamesOfTwoAges) {
  const std::string run = "deepspeed --module openrlhf.cli.train_sft --";
  EXPECT_THAT(meaning_of(run + "pretrain meta-llama/Meta-Llama-3-8B --train_batch_size 256 --micro_train_batch_size 4 "
                               "--max_len 2048 --zero_stage 3 --bf16 --gradient_checkpointing\n",
                  "run.sh"),
      testing::AllOf(HasSubstr("openrlhf-sft llama3-8b "), HasSubstr("zero=3"), HasSubstr("global_batch=256"),
          HasSubstr("micro_batch=4"), HasSubstr("sequence=2048"), HasSubstr("recompute=full")));
  EXPECT_THAT(meaning_of(run + "model.model_name_or_path Qwen/Qwen3-8B --ds.adam_offload\n", "run.sh"),
      HasSubstr("in host memory"));
  EXPECT_THAT(meaning_of("deepspeed --module openrlhf.cli.train_dpo --train_batch_size 256 --zero_stage 3\n", "run.sh"),
      HasSubstr("by preferences"));
  EXPECT_THAT(meaning_of("torchrun --nproc_per_node 8 multimodal_train_sft.py --model_name_or_path Qwen/Qwen3-8B "
                         "--per_device_train_batch_size 1 --bf16 --max_seq_length 2048\n",
                  "run.sh"),
      HasSubstr("multimodal_train_sft.py trains another kind of network"));
}

/// A program that starts a launch may start it on several nodes; without a launcher the GPUs that it sees count.
TEST(SettledPrograms, GpusOfALaunchThatAnotherProgramStarts) {
  const std::string trainer = "--model_name_or_path Qwen/Qwen3-8B --per_device_train_batch_size 1 --bf16 "
                              "--max_seq_length 2048 --gradient_checkpointing\n";
  const auto gpus = [&](const std::string& text) {
    const auto launch = read_in(text, "run.sh");
    return launch ? launch->gpus : -1;
  };
  EXPECT_EQ(gpus("accelerate launch --num_processes 8 train.py " + trainer), 8);
  EXPECT_EQ(gpus("python mason.py --num_nodes 4 -- accelerate launch --num_processes 8 train.py " + trainer), 0);
  EXPECT_EQ(gpus("python -m accelerate.commands.launch --num_processes 2 train.py " + trainer), 2);
  EXPECT_EQ(gpus("CUDA_VISIBLE_DEVICES=3 python train.py " + trainer), 1);
  EXPECT_EQ(gpus("CUDA_VISIBLE_DEVICES=0,1 python train.py " + trainer), 0) << "copies, stages or one: nobody knows";
  EXPECT_EQ(gpus("CUDA_VISIBLE_DEVICES=0,1,2,3 llamafactory-cli train " + trainer), 4);
  EXPECT_EQ(gpus("CUDA_VISIBLE_DEVICES=$IDS llamafactory-cli train " + trainer), 0);
  EXPECT_EQ(gpus("CUDA_VISIBLE_DEVICES=0,1,2,3, llamafactory-cli train " + trainer), 4) << "a comma behind the last";
  EXPECT_EQ(gpus("CUDA_VISIBLE_DEVICES=0,,1 llamafactory-cli train " + trainer), 0);
  EXPECT_EQ(gpus("CUDA_VISIBLE_DEVICES=, llamafactory-cli train " + trainer), 0);
}

/// What such a launch says of its processes holds for a node, so that --gpus alone tells their number.
TEST(SettledPrograms, ProcessesOfAWrappedLaunchAreNotThoseOfTheJob) {
  const auto launch = read_in(
      "python mason.py --num_nodes 4 --gpus 8 -- accelerate launch --num_processes 8 train.py --model_name_or_path "
      "Qwen/Qwen3-8B --per_device_train_batch_size 1 --bf16 --packing --max_seq_length 2048\n",
      "run.sh");
  ASSERT_TRUE(launch) << to_text(launch.error());
  EXPECT_THAT(launch->notes, Contains(HasSubstr("mason.py, which may start it on several nodes")));
  const auto untold = read_meaning(*launch, {});
  ASSERT_FALSE(untold);
  EXPECT_THAT(untold.error().what, HasSubstr("mason.py, which may start it on several nodes"));
  LaunchHints hints;
  hints.gpus = 32;
  const auto told = read_meaning(*launch, hints);
  ASSERT_TRUE(told) << to_text(told.error());
  EXPECT_EQ(told->request.said().at("gpus").text, "32");
  EXPECT_THAT(told->notes, Not(Contains(HasSubstr("mason.py"))));
}

/// What runs a launch of accelerate is the engine that it names.
TEST(SettledPrograms, AccelerateIsPricedAsItsEngine) {
  const auto stack = [](const std::string& text) {
    const auto launch = read_in("compute_environment: LOCAL_MACHINE\nnum_processes: 8\nmixed_precision: bf16\n" + text);
    EXPECT_TRUE(launch) << to_text(launch.error());
    LaunchHints hints;
    hints.network = *choose_network("llama3-8b", ""), hints.micro_batch = 1;
    const auto reading = read_meaning(*launch, hints);
    return reading ? reading->request.stack->id : to_text(reading.error());
  };
  EXPECT_EQ(stack("distributed_type: FSDP\n"), "pytorch-fsdp-eager");
  EXPECT_EQ(stack("distributed_type: FSDP\ndynamo_config:\n  dynamo_backend: INDUCTOR\n"), "pytorch-fsdp");
  EXPECT_EQ(stack("distributed_type: FSDP\ndynamo_config:\n  dynamo_backend: EAGER\n"), "pytorch-fsdp-eager");
  EXPECT_EQ(stack("distributed_type: FSDP\ndynamo_config:\n  dynamo_backend: AOT_EAGER\n"), "pytorch-fsdp-eager");
  EXPECT_EQ(stack("distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\n"), "deepspeed-transformers");
  EXPECT_EQ(stack("distributed_type: MEGATRON_LM\nmegatron_lm_config:\n  megatron_lm_tp_degree: 2\n"), "megatron-core");
}

/// Four GPUs for two ranks: the layers of a rank lie over two.
TEST(SettledPrograms, RanksOfSwiftThatSeeSeveralGpusAreRefused) {
  const auto of = [](const std::string& front) {
    return meaning_of(front + " swift sft --model Qwen/Qwen2.5-7B-Instruct --tuner_type lora --torch_dtype bfloat16 "
                              "--per_device_train_batch_size 1 --max_length 2048\n",
        "run.sh");
  };
  EXPECT_THAT(of("CUDA_VISIBLE_DEVICES=0,1,2,3 NPROC_PER_NODE=2"), HasSubstr("4 GPUs for 2 ranks of a node"));
  EXPECT_THAT(of("CUDA_VISIBLE_DEVICES=0,1"), HasSubstr("2 GPUs for 1 rank of a node"));
  EXPECT_THAT(of("CUDA_VISIBLE_DEVICES=0,1 NPROC_PER_NODE=2"), HasSubstr("micro_batch=1"));
}

/// Variables of a YAML are as those of the shell, whose own come first.
TEST(SettledPrograms, VariablesOfSwiftsYamlCount) {
  const auto of = [](const std::string& variables, const std::string& front = "") {
    const std::string run = "model: Qwen/Qwen2.5-7B-Instruct\ntuner_type: lora\ntorch_dtype: bfloat16\n"
                            "per_device_train_batch_size: 1\nmax_length: 2048\nENV:\n" +
                            variables;
    const bool shell = !front.empty();
    const auto launch = meant_launches::read_in(
        shell ? "cat > run.yaml <<'EOF'\n" + run + "EOF\n" + front + " swift sft run.yaml\n" : run,
        shell ? "run.sh" : "run.yaml");
    LaunchHints hints;  // which tell no GPUs
    hints.told.insert(FieldId::sequence);
    const auto reading = launch ? read_meaning(*launch, hints) : tl::unexpected(launch.error());
    return reading ? "gpus=" + reading->request.said().at("gpus").text : to_text(reading.error());
  };
  EXPECT_THAT(of("  CUDA_VISIBLE_DEVICES: '0,1'\n"), HasSubstr("2 GPUs for 1 rank of a node"));
  EXPECT_THAT(of("  CUDA_VISIBLE_DEVICES: '0,1'\n  NPROC_PER_NODE: 2\n"), HasSubstr("gpus=2"));
  EXPECT_THAT(of("  CUDA_VISIBLE_DEVICES: '0'\n"), HasSubstr("gpus=1"));
  EXPECT_THAT(of("  NPROC_PER_NODE: 2\n", "NPROC_PER_NODE=4"), HasSubstr("gpus=4"));
  EXPECT_THAT(of("  CUDA_VISIBLE_DEVICES: '0,1'\n", "CUDA_VISIBLE_DEVICES=0"), HasSubstr("gpus=1"));
}

}  // namespace
}  // namespace stepcast::launch
