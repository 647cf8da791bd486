// Scripts found in public repositories that were once misread without a word: each is read right, or refused.
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/launch/strangers.h"

namespace stepcast::launch::strangers_test {
namespace {

using testing::HasSubstr;
using testing::Not;

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

TEST_F(StrangersLaunch, AFunctionRunsScriptsOfOtherFunctions) {
  const std::string run = "torchrun --nnodes ${NODES:-2} --nproc_per_node 8 pretrain_gpt.py" + sizes;
  write("train.sh", "size() { TP=4; }\nsize\n" + run + " --tensor-model-parallel-size $TP\n");
  for (const char* caller : {"go() { ./train.sh; }\ngo \"${@:2:$#-2}\"\n", "go() { bash train.sh; }\n",
           "go() {\n  ./train.sh\n  true\n}\nother() { ./train.sh; }\ngo\n"}) {
    const Ran ran = predict("--megatron", caller);
    EXPECT_EQ(ran.code, 0) << caller << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("tp 4,")) << caller;
  }
}

TEST_F(StrangersLaunch, WithoutNodesBaseCommandTakesThoseOfTheJob) {
  const std::string run = "-p 8 -c 'python pretrain_gpt.py" + sizes + "'\n";
  EXPECT_THAT(predict("--megatron", "bcprun " + run).err, HasSubstr("all nodes of the job"));
  EXPECT_EQ(predict("--megatron", "bcprun --nnodes 2 " + run).code, 0);
}

TEST_F(StrangersLaunch, LaunchersHandVariablesOver) {
  const std::string run = " pretrain_gpt.py" + sizes + " --tensor-model-parallel-size 2 --sequence-parallel\n";
  EXPECT_THAT(predict("--megatron", "mpirun -np 16 python" + run).out, HasSubstr("CUDA_DEVICE_MAX_CONNECTIONS"));
  EXPECT_THAT(predict("--megatron", "mpirun -np 16 -x CUDA_DEVICE_MAX_CONNECTIONS=1 python" + run).out,
      Not(HasSubstr("CUDA_DEVICE_MAX_CONNECTIONS")));
}

TEST_F(StrangersLaunch, NegatedSwitchesOfTorchtitanAreOff) {
  write("run.toml", "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\nseq_len = 4096\n"
                    "[compile]\nenable = true\n");
  const std::string run = "torchrun --nproc_per_node 8 -m torchtitan.train --job.config_file run.toml ";
  EXPECT_EQ(predict("--launch", run + "--profiling.no-enable-profiling\n").code, 0);
  EXPECT_NE(predict("--launch", run + "--profiling.no-such-thing\n").code, 0);
}

TEST_F(StrangersLaunch, KeysThatOnlyOthersReferToAreVariables) {
  const std::string recipe = "model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\ntokenizer:\n"
                             "  path: ${root_dir}/tokenizer.model\n  max_seq_len: 2048\ndataset:\n  packed: True\n"
                             "batch_size: 2\ndtype: bf16\ngradient_accumulation_steps: 4\n"
                             "optimizer:\n  _component_: torch.optim.AdamW\n";
  const auto ran = [&](const std::string& more) {
    return run_line(fmt::format("predict --torchtune {} --gpus 8", write("own.yaml", more + recipe)));
  };
  EXPECT_EQ(ran("root_dir: /models\n").code, 0) << ran("root_dir: /models\n").err;
  EXPECT_THAT(ran("root_dir: /models\nrot_dir: 3\n").err, HasSubstr("rot_dir"));
}

TEST_F(StrangersLaunch, SizesOfACheckpointAreAskedFor) {
  const std::string run =
      "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py" + sizes + " --load c --use-checkpoint-args\n";
  const Ran ran = predict("--megatron", run);
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("come from a checkpoint, which is not here"));
  EXPECT_THAT(ran.err, HasSubstr("the network in front"));
  EXPECT_EQ(predict("--megatron", run, "--lenient").code, 0);
}

TEST_F(StrangersLaunch, RecipesOfTorchtuneAreStartedByTuneRun) {
  const std::string recipe = "model:\n  _component_: torchtune.models.llama3_1.llama3_1_8b\ntokenizer:\n"
                             "  max_seq_len: 2048\ndataset:\n  packed: True\nbatch_size: 2\ndtype: bf16\n"
                             "gradient_accumulation_steps: 4\noptimizer:\n  _component_: torch.optim.AdamW\n";
  write("own.yaml", recipe);
  const std::string run = "tune run --nnodes 2 --nproc_per_node 8 full_finetune_distributed --config ";
  const Ran ran = predict("--launch", run + "own.yaml batch_size=1\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("dp 16"));
  EXPECT_THAT(ran.out, HasSubstr("4 x 16 sequences of 2048 per step; micro-batch 1"));
  EXPECT_THAT(predict("--launch", run + "llama3_1/8B_full\n").err, HasSubstr("tune cp llama3_1/8B_full"));
  const std::string model = " model._component_=torchtune.models.llama3_1.llama3_1_8b batch_size=1\n";
  EXPECT_THAT(predict("--launch", run + "llama3_1/8B_full" + model).err, HasSubstr("tune cp llama3_1/8B_full"));
  EXPECT_THAT(predict("--launch", run + "other.yaml" + model).err, HasSubstr("other.yaml is not beside the launch"));
}

TEST_F(StrangersLaunch, AMissingFileOfAccelerateIsAskedFor) {
  const auto said = [&](const std::string& split) {
    return predict("--launch",
        "accelerate launch --config_file zero3.yaml " + split +
            "train.py --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 2 --bf16 true\n",
        "--gpus 8");
  };
  EXPECT_EQ(said("").code, 2);
  EXPECT_THAT(said("").err, HasSubstr("tells accelerate how to split the run"));
  EXPECT_THAT(said("--use_deepspeed --zero_stage 3 ").err, Not(HasSubstr("tells accelerate how to split the run")));
}

TEST_F(StrangersLaunch, WindowsOfALaunchAreForecast) {
  const std::string run = "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py" + sizes;
  const auto seen = [&](const std::string& more) { return predict("--megatron", run + more + "\n"); };
  EXPECT_THAT(seen("").out, Not(HasSubstr("layers sees")));
  EXPECT_THAT(seen(" --window-size 255,0").out, HasSubstr("24 of 24 layers sees the last 256 positions"));
  EXPECT_THAT(seen(" --window-size \"(255, 0)\" --window-attn-skip-freq 6").out, HasSubstr("20 of 24 layers sees"));
  EXPECT_THAT(
      seen(" --window-size 255,0 --window-attn-skip-freq \"([0]*8+[1]*16)\"").out, HasSubstr("16 of 24 layers"));
  EXPECT_THAT(seen(" --window-size 255,0 --window-attn-skip-freq \"([0]*8)\"").err, HasSubstr("8 layers of 24"));
  EXPECT_THAT(
      seen(" --window-size 255,0 --window-attn-skip-freq 0").err, HasSubstr("full attention in every 0th layer"));
  EXPECT_THAT(seen(" --window-size 255,255").err, HasSubstr("the window '255,255' is none of ours"));
}

TEST_F(StrangersLaunch, HybridsOfALaunchAreForecast) {
  const std::string run = "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py" + sizes;
  const auto seen = [&](const std::string& more) { return predict("--megatron", run + more + "\n"); };
  const std::string letters = "MEM*EMEM-MEMEM*EMEMEMEME";  // 24
  const std::string experts = " --num-experts 16 --moe-router-topk 2 --moe-ffn-hidden-size 512 --mamba-num-groups 8";
  const auto plain = seen(" --hybrid-layer-pattern " + letters + experts);
  EXPECT_THAT(plain.out, HasSubstr("Step time")) << plain.err;
  const auto narrow = seen(" --hybrid-layer-pattern " + letters + experts + " --moe-latent-size 256");
  EXPECT_THAT(narrow.out, HasSubstr("Step time")) << narrow.err;
  EXPECT_NE(plain.out, narrow.out);
  EXPECT_THAT(seen(" --hybrid-layer-pattern " + letters + "/*E/*E" + experts).out, HasSubstr("Step time"));
  EXPECT_THAT(seen(" --hybrid-layer-pattern MEM*" + experts).err, HasSubstr("4 letters for 24 layers"));
  EXPECT_THAT(seen(" --hybrid-layer-pattern " + letters + "/*E/-" + experts).err, HasSubstr("different layers"));
  EXPECT_THAT(seen(" --hybrid-layer-pattern " + letters).err, HasSubstr("experts")) << "nobody describes them";
  const std::string bordered =
      " --hybrid-layer-pattern '" + letters.substr(0, 12) + "|" + letters.substr(12) + "'" + experts;
  EXPECT_THAT(seen(bordered).err, HasSubstr("borders of stages stand in the pattern, and there is one stage"));
  EXPECT_THAT(seen(bordered + " --pipeline-model-parallel-size 2").out, HasSubstr("pp 2,"));
}

TEST_F(StrangersLaunch, AFileMadeBySedIsReadWhereItsPatternsAreLetters) {
  const std::string run =
      "deepspeed --num_gpus 8 pretrain_gpt.py" + sizes + " --deepspeed --deepspeed_config made.json\n";
  write("in.json", "{\"train_batch_size\": 512, \"zero_optimization\": {\"stage\": STAGE}}\n");
  const Ran made = predict("--megatron", "sed 's/STAGE/2/g' in.json | sed 's/OTHER/$X/' > made.json\n" + run);
  EXPECT_THAT(made.out, HasSubstr("zero 2,")) << made.err;
  const Ran two = predict("--megatron", "sed 's/OTHER/1/;s/STAGE/3/' in.json > made.json\n" + run);
  EXPECT_THAT(two.err, HasSubstr("line 1 changes made.json")) << "the second change is not lost: " << two.out;
  const Ran pattern = predict("--megatron", "sed 's/ST.*/2/' in.json > made.json\n" + run);
  EXPECT_THAT(pattern.err, HasSubstr("line 1 changes made.json"));
  const Ran hangs = predict("--megatron", "sed \"s/STAGE/$X/\" in.json > made.json\n" + run);
  EXPECT_THAT(hangs.err, HasSubstr("STAGE")) << hangs.out;
  const Ran missing = predict("--megatron", run);
  EXPECT_EQ(missing.code, 2) << missing.out;
  EXPECT_THAT(missing.err, HasSubstr("made.json is not there, and it says the stage of ZeRO"));
  EXPECT_THAT(predict("--megatron", run, "--zero 2").out, HasSubstr("zero 2,"));
}

TEST_F(StrangersLaunch, AMissingFileThatAccelerateNamesIsAskedForItsStage) {
  const std::string run = "accelerate launch --num_processes 8 --use_deepspeed --deepspeed_config_file made.json "
                          "finetune.py --model_name_or_path meta-llama/Llama-2-7b-hf --per_device_train_batch_size 2 "
                          "--gradient_accumulation_steps 4 --packing true --max_seq_length 1024 --bf16 True\n";
  const Ran missing = predict("--accelerate", run);
  EXPECT_EQ(missing.code, 2) << missing.out;
  EXPECT_THAT(missing.err, HasSubstr("made.json is not there, and it says the stage of ZeRO"));
  EXPECT_THAT(predict("--accelerate", run, "--zero 3").out, HasSubstr("zero 3,"));
  // its own default of 2 is for a launch that names no file
  write("acc.yaml",
      "distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: made.json\nnum_processes: 8\n");
  const std::string by_file = "accelerate launch --config_file acc.yaml finetune.py --model_name_or_path "
                              "meta-llama/Llama-2-7b-hf --per_device_train_batch_size 2 --max_seq_length 1024 --bf16 "
                              "True\n";
  EXPECT_THAT(predict("--accelerate", by_file).err, HasSubstr("made.json is not there, and it says the stage of ZeRO"));
}

TEST_F(StrangersLaunch, ProgramsOnTheTrainerAreRead) {
  const std::string run = "torchrun --nproc_per_node 8 train.py --model_name_or_path meta-llama/Llama-2-7b-hf "
                          "--per_device_train_batch_size 2 --gradient_accumulation_steps 4 --bf16 True ";
  struct TrainerRow {
    const char *arguments, *said, *refused;
  };
  const TrainerRow rows[] = {{"--block_size 1024 --fsdp 'full_shard auto_wrap'", "use tp, dp, fsdp", ""},
      {"--packing true --max_seq_length 1024 --fsdp 'auto_wrap shard_grad_op' --gradient_checkpointing",
          "recompute norm", ""},
      {"--block_size 1024 --fsdp 'auto_wrap hybrid_shard_zero2'", "use tp, dp, zero2", ""},
      {"--packing true --model_max_length 1024 --use_lora True --lora_r 8", "\"lora\": 8", ""},
      {"--packing true --model_max_length 1024 --use_lora False --lora_r 8", "\"sequence\": 1024", ""},
      {"--model_max_length 1024 --use_lora True", "", "nothing says of which rank"},
      {"--model_max_length 1_024 --q_lora True", "", "weights of few bits"},
      {"--fsdp 'full_shard auto_wrap'", "", "do not tell the sequence length"},
      {"--block_size 1024 --deepspeed ds.json", "", "it says the stage of ZeRO"}};
  std::string preferences = run + "--block_size 1024\n";
  preferences.replace(preferences.find("train.py"), 8, "dpo_training.py");
  EXPECT_THAT(predict("--trainer", preferences).err, HasSubstr("trains by preferences or rewards"));
  std::string by_name = run + "--block_size 1024 --lora_r 8 --use_lora ";
  by_name.replace(by_name.find("train.py"), 8, "finetune_lora.py");
  EXPECT_THAT(predict("--trainer", by_name + "True\n", "--print-scenario").out, HasSubstr("\"lora\": 8"));
  const Ran without = predict("--trainer", by_name + "False\n", "--print-scenario");
  EXPECT_THAT(without.out, HasSubstr("\"sequence\": 1024")) << without.err;
  EXPECT_THAT(without.out, Not(HasSubstr("\"lora\""))) << "the switch goes before the name";
  for (const TrainerRow& row : rows) {
    const Ran ran = predict("--trainer", run + row.arguments + "\n", "--print-scenario");
    EXPECT_EQ(ran.code, *row.refused == '\0' ? 0 : 2) << row.arguments << ran.err;
    EXPECT_THAT(ran.out, HasSubstr(row.said)) << row.arguments;
    EXPECT_THAT(ran.err, HasSubstr(row.refused)) << row.arguments;
  }
}

TEST_F(StrangersLaunch, AScriptThatIsRunIsReadWithItsArguments) {
  write("train.sh", "#!/bin/bash\n#SBATCH --nodes=4\ntorchrun --nnodes ${NODES:-2} --nproc_per_node 8 pretrain_gpt.py" +
                        sizes + " --tensor-model-parallel-size ${1:-1} --pipeline-model-parallel-size ${PP:-1}\n");
  for (const char* command : {"bash train.sh 4", "srun -N 2 ./train.sh 4", "./train.sh 4", "sbatch train.sh 4",
           "mpirun -np 2 bash -x $PWD/train.sh 4", "ssh node1 \"cd x; bash train.sh 4\""}) {
    const Ran ran = predict("--megatron", fmt::format("#!/bin/bash\nPP=8\n{}\n", command));
    EXPECT_EQ(ran.code, 0) << command << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("tp 4,")) << command;
    EXPECT_THAT(ran.out, Not(HasSubstr("pp 8,"))) << "it is not exported: " << command;
    EXPECT_THAT(ran.out, HasSubstr("dp 4,")) << command;
  }
  for (const char* command : {"export PP=2\nbash train.sh 4", "PP=2 bash train.sh 4",
           "sbatch --export=ALL,PP=2 train.sh 4", "set -a\nPP=2\nset +a\n./train.sh 4"})
    EXPECT_THAT(predict("--megatron", fmt::format("#!/bin/bash\n{}\n", command)).out, HasSubstr("pp 2,")) << command;
}

TEST_F(StrangersLaunch, AScriptThatIsNotThereIsNamed) {
  const Ran ran = predict("--megatron", "#!/bin/bash\nexport TP=8\nsrun ./elsewhere.sh 4\n");
  EXPECT_EQ(ran.code, 2) << ran.out;
  EXPECT_THAT(ran.err, HasSubstr("run.sh:3: it runs elsewhere.sh, which is not beside it"));
  EXPECT_THAT(ran.err, HasSubstr("--files-from"));
  const Ran beside =
      predict("--megatron", "bash download.sh\ntorchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py" + sizes + "\n");
  EXPECT_EQ(beside.code, 0) << beside.err;
  EXPECT_THAT(beside.out, HasSubstr("not read: download.sh in line 1"));
}

TEST_F(StrangersLaunch, WhatIsExportedEndsWhereTheScriptEndsIt) {
  write("inner.sh",
      "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py" + sizes + " --tensor-model-parallel-size ${TP:-2}\n");
  for (const char* kept : {"export TP=8\nbash inner.sh\n", "set -a\nTP=8\nset +a\nbash inner.sh\n"})
    EXPECT_THAT(predict("--megatron", kept).out, HasSubstr("tp 8,")) << kept;
  for (const char* ended : {"set -a; X=1; set +a; TP=8; bash inner.sh\n", "export TP=8\nunset TP\nbash inner.sh\n",
           "export TP=8\nexport -n TP\nbash inner.sh\n", "export TP=8\nsrun --export=NONE bash inner.sh\n"})
    EXPECT_THAT(predict("--megatron", ended).out, HasSubstr("tp 2,")) << ended;
}

TEST_F(StrangersLaunch, FilesThatAScriptChangesAreRefused) {
  const std::string run = "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py" + sizes;
  write("train.sh", run + "\n");
  const Ran changed = predict("--megatron", "sed -i \"s/nnodes 2/nnodes 4/\" train.sh\nbash train.sh\n");
  EXPECT_EQ(changed.code, 2) << changed.out;
  EXPECT_THAT(changed.err, HasSubstr("line 1 changes train.sh before it is read"));
  const Ran evaluated = predict("--megatron", "eval \"$(python settings.py)\"\n" + run + "\n");
  EXPECT_EQ(evaluated.code, 2) << evaluated.out;
  EXPECT_THAT(evaluated.err, HasSubstr("line 1 evaluates $(python settings.py)"));
  EXPECT_EQ(predict("--megatron", "eval \"$(conda shell.bash hook)\"\n" + run + "\n").code, 0);
  const Ran written =
      predict("--megatron", "cat > gen.sh <<EOM\ntorchrun --nproc_per_node 8 pretrain_gpt.py" + sizes +
                                " --tensor-model-parallel-size 2\nEOM\nsed -i 's/size 2/size 8/' gen.sh\n"
                                "bash gen.sh\n");
  EXPECT_EQ(written.code, 2) << written.out;
}

/// 2 nodes of 8 ranks: what starts a script that was written before counts, whichever way it was written.
TEST_F(StrangersLaunch, ScriptsThatAScriptWritesRunWhereTheyAreNamed) {
  const std::string program = "python pretrain_gpt.py" + sizes;
  const std::string starts = "torchrun --nnodes 2 --nproc-per-node 8 --no-python bash worker.sh\n";
  for (const std::string& written :
      {"echo \"" + program + "\" > worker.sh\n", "cat > worker.sh <<EOM\n" + program + "\nEOM\n",
          "echo 'set -e' > worker.sh\necho '" + program + "' >> worker.sh\n",
          "CMD=$(cat <<EOM\n" + program + "\nEOM\n)\necho \"$CMD\" > worker.sh\n",
          "tee -a worker.sh <<EOM\n" + program + "\nEOM\n",
          "echo 'set -e' > worker.sh\ntee --append worker.sh <<EOM\n" + program + "\nEOM\n"}) {
    const Ran ran = predict("--megatron", written + starts);
    EXPECT_EQ(ran.code, 0) << written << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("16 x NVIDIA")) << written;
  }
  // what no line runs is read all the same, and a file that is written anew is nobody's guess
  EXPECT_EQ(predict("--megatron", "cat > job.slurm <<EOM\n#SBATCH --nodes=2\ntorchrun --nproc-per-node 8 "
                                  "pretrain_gpt.py" +
                                      sizes + "\nEOM\n")
                .code,
      0);
  const std::string file = "echo '{\"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 2}}' > ds.json\n";
  const Ran anew = predict("--megatron", file + "echo '{}' > ds.json\ndeepspeed --num_gpus 8 pretrain_gpt.py" + sizes +
                                             " --deepspeed --deepspeed_config ds.json\n");
  EXPECT_EQ(anew.code, 2) << anew.out;
  EXPECT_THAT(anew.err, HasSubstr("line 2 changes ds.json"));
  // so is a script with a text for each branch; what a line sources is read there
  const std::string tp = " --tensor-model-parallel-size ";
  const Ran branches =
      predict("--megatron", "if nvidia-smi | grep -q H100; then\necho '" + program + tp +
                                "8' > worker.sh\nelse\necho '" + program + tp + "2' > worker.sh\nfi\n" + starts);
  EXPECT_EQ(branches.code, 2) << branches.out;
  const Ran sourced = predict("--megatron",
      "TP=1\ncat > env.sh <<EOM\nexport TP=8\nEOM\nsource env.sh\ntorchrun "
      "--nproc-per-node 8 pretrain_gpt.py" +
          sizes + tp + "$TP\n",
      "--print-scenario");
  EXPECT_THAT(sourced.out, HasSubstr("mesh tp:8")) << sourced.err;
}

}  // namespace
}  // namespace stepcast::launch::strangers_test
