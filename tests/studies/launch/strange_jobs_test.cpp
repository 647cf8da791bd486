// How jobs of strangers are started: headers of schedulers, ranks that nobody counts, wrappers, and other programs.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/launch/strangers.h"

namespace stepcast::launch::strangers_test {
namespace {

using testing::HasSubstr;
using testing::Not;

class StrangeJobs : public StrangersLaunch {
 protected:
  const std::string run_ = " pretrain_gpt.py" + sizes + "\n";
};

TEST_F(StrangeJobs, RanksThatNothingCountsAreNoSingleNode) {
  // 8 on each node, and nobody says of how many nodes
  const std::string text = "N=$(sort -u $NODEFILE | wc -l)\nmpirun -np $((N * 8)) --npernode 8 python" + run_;
  EXPECT_EQ(predict("--megatron", text).code, 2);
  EXPECT_THAT(predict("--megatron", text).err, HasSubstr("--gpus N"));
  EXPECT_THAT(predict("--megatron", text, "--gpus 16 --print-scenario").out, HasSubstr("\"gpus\": 16"));
}

TEST_F(StrangeJobs, HeadersOfPbsAndLsfTellTheNodes) {
  const std::string ranks = "N=$(cat $NODEFILE | wc -l)\nmpirun -np $((N * 8)) --npernode 8 python" + run_;
  EXPECT_THAT(predict("--megatron", "#!/bin/bash\n#PBS -l select=4:ncpus=96:ngpus=8\n" + ranks, "--print-scenario").out,
      HasSubstr("\"gpus\": 32"));
  EXPECT_THAT(predict("--megatron", "#!/bin/bash\n#BSUB -nnodes 2\n" + ranks, "--print-scenario").out,
      HasSubstr("\"gpus\": 16"));
  for (const char* chunks : {"select=1:ngpus=8+2:ngpus=4", "select=32:ngpus=1"})  // of two kinds; less than a node each
    EXPECT_EQ(predict("--megatron", std::string("#!/bin/bash\n#PBS -l ") + chunks + "\n" + ranks).code, 2) << chunks;
}

TEST_F(StrangeJobs, GpusOfAnotherKindAreSaid) {
  const std::string text = "srun --ntasks-per-node 8 python" + run_;
  const auto asks = [&](const std::string& option, const std::string& more = "") {
    return predict("--megatron", "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH " + option + "\n" + text, more);
  };
  for (const char* option : {"--gpus-per-node=mi250:8", "--gres=gpu:a100:8"})
    EXPECT_THAT(asks(option).out + asks(option).err, HasSubstr("the forecast is for DGX H100")) << option;
  for (const char* option : {"--gpus-per-node=h100:8", "--gres=gpu:8", "--gpus-per-node=8", "--gres=gpu:nvidia:8"})
    EXPECT_THAT(asks(option).out + asks(option).err, Not(HasSubstr("the job asks for GPUs"))) << option;
  EXPECT_THAT(asks("--gres=gpu:a100:8", "--machine dgx-a100").out, Not(HasSubstr("the job asks for GPUs")));
}

TEST_F(StrangeJobs, ALauncherThatNothingNamesIsPassedOver) {
  const Ran ran =
      predict("--megatron", "CMD=\"python" + run_.substr(0, run_.size() - 1) + "\"\n$BIND $LOCAL_RANK $CMD\n");
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--gpus N"));
}

TEST_F(StrangeJobs, AScriptInBracketsIsRead) {
  const std::string outer = "(TP=4; export TP; ./inner.sh)\n";
  EXPECT_THAT(predict("--megatron", outer).err, HasSubstr("it runs inner.sh"));
  write("inner.sh",
      "torchrun --nproc_per_node 8" + run_.substr(0, run_.size() - 1) + " --tensor-model-parallel-size $TP\n");
  EXPECT_THAT(predict("--megatron", outer, "--print-scenario").out, HasSubstr("mesh tp:4"));
  // what is set in brackets ends with them
  EXPECT_EQ(predict("--megatron", "export TP=2\n(TP=4; export TP)\n./inner.sh\n", "--print-scenario").code, 0);
  EXPECT_THAT(predict("--megatron", "export TP=2\n(TP=4; export TP)\n./inner.sh\n", "--print-scenario").out,
      HasSubstr("mesh tp:2"));
}

TEST_F(StrangeJobs, FilesBelowTheScriptAreFoundBehindAFolderThatNobodyKnows) {
  std::filesystem::create_directories(folder_ / "sizes");
  const std::string text = "HERE=$(dirname $(scontrol show job | cut -f 1))\nsource ${HERE}/sizes/$1.sh\n"
                           "torchrun --nproc_per_node 8 pretrain_gpt.py --bf16 ${MODEL[@]}\n";
  const Ran none = predict("--megatron", text, "--define 1=small");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("do not tell the layers, and what it reads is not there"));
  EXPECT_THAT(none.err, HasSubstr("/sizes/small.sh"));
  write("sizes/small.sh", "MODEL=(" + sizes + ")\n");
  EXPECT_THAT(predict("--megatron", text, "--define 1=small --print-scenario").out, HasSubstr("\"layers\": 24"));
}

TEST_F(StrangeJobs, TasksAndRolloutsAreNoPretraining) {
  const std::string tasks = "torchrun --nproc_per_node 8 tasks/main.py --task MNLI" + sizes + "\n";
  for (const char* lenient : {"", "--lenient"})
    EXPECT_THAT(predict("--megatron", tasks, lenient).err, HasSubstr("a BERT with another head"));
  const std::string rollouts = "ray job submit --address=\"http://127.0.0.1:8265\" -- python3 train.py "
                               "--actor-num-nodes 1 --rollout-batch-size 32" +
                               sizes + "\n";
  EXPECT_THAT(predict("--megatron", rollouts).err, HasSubstr("a launch of slime"));
  const std::string tuning = "torchrun --nproc_per_node 8 -m verl.trainer.sft_trainer data.train_files=a "
                             "data.max_token_len_per_gpu=1024 model.path=b engine=megatron\n";
  EXPECT_THAT(predict("--megatron", tuning).err, HasSubstr("a launch of verl"));
  EXPECT_THAT(
      predict("--nemo", "#!/bin/bash\npython main.py stages=[training] training=gpt3/5b training.trainer.num_nodes=2\n")
          .err,
      HasSubstr("NeMo-Framework-Launcher"));
}

TEST_F(StrangeJobs, OneGroupOfExpertsIsNoChoiceAmongGroups) {
  const std::string experts = " --num-experts 8 --moe-router-topk 2 --moe-router-num-groups 1";
  const Ran ran = predict("--megatron", "torchrun --nproc_per_node 8 pretrain_gpt.py" + sizes + experts + "\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST_F(StrangeJobs, NodesThatAConfigurationDoesNotTellAreOneWithAWarning) {
  const std::string text =
      "trainer:\n  devices: 8\n  precision: bf16\nexp_manager:\n  create_dllogger_logger: true\nmodel:\n"
      "  micro_batch_size: 1\n  global_batch_size: 64\n  num_layers: 24\n  hidden_size: 2048\n  ffn_hidden_size: 8192\n"
      "  num_attention_heads: 16\n  encoder_seq_length: 2048\n  max_position_embeddings: 2048\n"
      "  tokenizer:\n    library: megatron\n    type: GPT2BPETokenizer\n";
  const Ran ran = predict("--nemo", text);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out + ran.err, HasSubstr("one node of 8 GPUs"));
  EXPECT_THAT(predict("--nemo", text, "--gpus 16").out, Not(HasSubstr("one node of")));
}

TEST_F(StrangeJobs, SrunTellsItsScriptHowManyNodesItAskedFor) {
  write("train.sh", "torchrun --nnodes ${SLURM_NNODES:-1} --nproc_per_node 8 pretrain_gpt.py" + sizes + "\n");
  for (const char* command : {"srun -N 2 ./train.sh", "srun -N2 bash train.sh", "srun --nodes=2 --ntasks 2 ./train.sh"})
    EXPECT_THAT(predict("--megatron", std::string(command) + "\n").out, HasSubstr("dp 16,")) << command;
  EXPECT_THAT(predict("--megatron", "#!/bin/bash\n#SBATCH -N 4\nsrun -N 2 ./train.sh\n").out, HasSubstr("dp 32,"))
      << "the job's";
}

/// explain says of other GPUs than the machine's what predict warns of.
TEST_F(StrangeJobs, ExplainNamesGpusOfAnotherKind) {
  const auto said = [&](const std::string& front) {
    return run_line(
        "explain --megatron " +
        write("run.sh", "#!/bin/bash\n" + front + "torchrun --nproc_per_node 8 pretrain_gpt.py" + sizes + "\n"))
        .out;
  };
  EXPECT_THAT(said("#SBATCH --gpus-per-node=mi250:8\n"), HasSubstr("the job asks for GPUs 'mi250'"));
  EXPECT_THAT(said("export HCCL_CONNECT_TIMEOUT=600\n"), HasSubstr("its environment is for"));
  const std::string plain = said("#SBATCH --gpus-per-node=h100:8\n");
  EXPECT_THAT(plain, testing::Not(testing::AnyOf(HasSubstr("asks for GPUs"), HasSubstr("environment is for"))));
}

TEST_F(StrangeJobs, TorchtunesOwnConfigurationsAreAskedFor) {
  EXPECT_THAT(run_line("predict --torchtune -- --config llama3_2/1B_full batch_size=2").err,
      HasSubstr("torchtune's own configuration llama3_2/1B_full is not read"));
}

/// A TOML whose first line is a setting is no script.
TEST_F(StrangeJobs, ATomlThatBeginsWithASettingIsOne) {
  const Ran ran = predict("--torchtitan", "max_steps = 10\n[model]\nname = \"Qwen/Qwen3-8B\"\n[data]\nseq_len = 4096\n"
                                          "[optim]\nlr = 1e-5\n");
  EXPECT_THAT(ran.err, HasSubstr("a configuration of prime-rl"));
}

/// 2 nodes of 8: the program hands on what stands behind the dashes; programs that prepare its data are passed over.
TEST_F(StrangeJobs, AProgramMayStartItsLauncherItself) {
  write("config.yaml", "base_model: Qwen/Qwen3-8B\nsequence_len: 4096\nmicro_batch_size: 1\nbf16: true\n"
                       "gradient_accumulation_steps: 2\nsample_packing: true\n");
  const std::string nodes = "--nnodes=2 --nproc-per-node=8 ";
  for (const std::string& run : {"axolotl train config.yaml --launcher torchrun -- " + nodes + "\n",
           "F=config.yaml\naxolotl preprocess $F\npython3 move_output.py $F\ntorchrun " + nodes +
               "-m axolotl.cli.train $F\n"}) {
    const Ran ran = predict("--axolotl", run, "--print-scenario");
    EXPECT_THAT(ran.out, testing::AllOf(HasSubstr("\"gpus\": 16"), HasSubstr("\"global_batch\": 32")))
        << run << ran.err;
  }
  write("stage.yaml", "model:\n  model_config:\n    hidden_size: 256\n    intermediate_size: 512\n"
                      "    num_attention_heads: 4\n    num_hidden_layers: 2\n    num_key_value_heads: 4\n"
                      "    vocab_size: 512\nparallelism:\n  dp: 8\n  pp: 1\n  tp: 1\ntokens:\n"
                      "  batch_accumulation_per_replica: 1\n  micro_batch_size: 1\n  sequence_length: 64\n");
  const Ran nanotron = predict("--nanotron", "torchrun --nproc_per_node=8 run_train.py --config-file stage.yaml\n");
  EXPECT_EQ(nanotron.code, 0) << nanotron.err;
}

TEST_F(StrangeJobs, HostsOfAFileCountBesideTheGpusOfEach) {
  const std::string run = "deepspeed --hostfile hosts --num_gpus 4 pretrain_gpt.py" + sizes + " --zero-stage 1\n";
  const Ran missing = predict("--megatron", run);
  EXPECT_EQ(missing.code, 2) << missing.out;
  EXPECT_THAT(missing.err, HasSubstr("hangs on hosts, which is not there"));
  write("hosts", "a slots=8\nb slots=8\n");
  std::string eight = run;
  eight.replace(eight.find("gpus 4"), 6, "gpus 8");
  EXPECT_THAT(predict("--megatron", eight).out, HasSubstr("dp 16,"));
}

TEST_F(StrangeJobs, SbatchsOwnOptionsGoOverTheHeaderOfItsScript) {
  write("job.slurm",
      "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=8\nsrun python pretrain_gpt.py" + sizes + "\n");
  EXPECT_THAT(predict("--megatron", "sbatch job.slurm\n").out, HasSubstr("dp 32,"));
  EXPECT_THAT(predict("--megatron", "sbatch --nodes=2 job.slurm\n").out, HasSubstr("dp 16,"));
  write("plain.sh", "torchrun --nproc_per_node 8 --nnodes $SLURM_NNODES \\\n pretrain_gpt.py" + sizes + "\n");
  EXPECT_THAT(predict("--megatron", "sbatch -N 2 plain.sh\n").out, HasSubstr("dp 16,"));
}

/// A header is that of its own job, whoever hands the jobs over.
TEST_F(StrangeJobs, EachJobOfAScriptHasItsOwnHeader) {
  const std::string run = "srun python pretrain_gpt.py" + sizes + "\n", other = "srun python convert.py\n",
                    large = "#!/bin/bash\n#SBATCH --nodes=8\n#SBATCH --ntasks-per-node=4\n",
                    small = "#!/bin/bash\n#SBATCH --nodes=2\n";
  write("convert.slurm", large + other);
  write("whole.slurm", "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\n" + run);
  EXPECT_THAT(predict("--megatron", "sbatch convert.slurm\nsbatch whole.slurm\n").out, HasSubstr("dp 16,"));
  // it counts no tasks itself, and the first job's are not its own
  write("untold.slurm", small + run);
  const Ran ran = predict("--megatron", "sbatch convert.slurm\nsbatch untold.slurm\n");
  EXPECT_EQ(ran.code, 2) << ran.out;
  EXPECT_THAT(ran.err, HasSubstr("--gpus N"));
  const Ran heredocs =
      predict("--megatron", "sbatch <<'A'\n" + large + other + "A\nsbatch <<'B'\n" + small + run + "B\n");
  EXPECT_EQ(heredocs.code, 2) << heredocs.out;
  const Ran inside = predict("--megatron", large + "sbatch untold.slurm\n");
  EXPECT_EQ(inside.code, 2) << inside.out;
  // nor are the outer job's sizes, however the inner one is handed over
  const std::string sized = "#!/bin/bash\n#SBATCH --nodes=2\ntorchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py" +
                            sizes + " --tensor-model-parallel-size ${SLURM_NTASKS_PER_NODE:-1}\n";
  write("sized.slurm", sized);
  for (const std::string& handed : {std::string("sbatch sized.slurm\n"), "sbatch <<'A'\n" + sized + "A\n"}) {
    const Ran inner = predict("--megatron", large + handed);
    EXPECT_THAT(inner.out, HasSubstr("tp 1,")) << handed << inner.err;
  }
  // a step of the job is none of its own
  write("step.sh", "python pretrain_gpt.py" + sizes + "\n");
  EXPECT_THAT(
      predict("--megatron", "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\nsrun ./step.sh\n").out,
      HasSubstr("dp 16,"));
}

TEST_F(StrangeJobs, WhatAScriptSetsIsHeldAgainstItsJob) {
  const std::string head = "#!/bin/bash\n#SBATCH --nodes=4\n", program = " pretrain_gpt.py" + sizes + "\n",
                    eight = "#SBATCH --ntasks-per-node=8\n", torchrun = "torchrun --nproc_per_node 8 --nnodes ";
  const std::pair<std::string, const char*> contradict[] = {
      {eight + "export NNODES=2\nsrun python", "the script sets NNODES=2, and its job has 4 nodes"},
      {"export NNODES=2\nsrun -N 4 " + torchrun + "4", "the script sets NNODES=2, and its step has 4 nodes"},
      {eight + "export SLURM_NTASKS_PER_NODE=4\nsrun python", "SLURM_NTASKS_PER_NODE=4, and its job has 8"},
      {eight + "export WORLD_SIZE=16\nsrun python", "WORLD_SIZE=16, and 32 ranks are started"},
      {eight + "WORLD_SIZE=16 srun python", "WORLD_SIZE=16, and 32 ranks are started"},
      {"srun --ntasks=4 " + torchrun + "2", "srun starts torchrun 4 times, and it is told 2 nodes"},
      {"srun -N 4 --ntasks=4 " + torchrun + "2", "srun starts torchrun 4 times, and it is told 2 nodes"},
      {"srun -N 2 --ntasks-per-node=8 " + torchrun + "2", "srun starts torchrun 16 times, and it is told 2 nodes"},
      {"#SBATCH --ntasks=4\nsrun " + torchrun + "2", "srun starts torchrun 4 times, and it is told 2 nodes"}};
  for (const auto& [job, why] : contradict) {
    const Ran ran = predict("--megatron", head + job + program);
    EXPECT_EQ(ran.code, 2) << job << ran.out;
    EXPECT_THAT(ran.err, HasSubstr(why)) << job;
    EXPECT_EQ(predict("--megatron", head + job + program, "--gpus 32").code, 0) << job;
  }
  for (const std::string& job : {eight + "export WORLD_SIZE=32\nsrun python", eight + "export NNODES=4\nsrun python",
           "export WORLD_SIZE=4\nsrun --ntasks-per-node=1 " + torchrun + "$WORLD_SIZE",
           "srun --ntasks=4 " + torchrun + "4",
           // the fifth node runs something else
           "#SBATCH --nodes=5\nexport NNODES=4\nsrun -N 4 " + torchrun + "4"})
    EXPECT_THAT(predict("--megatron", head + job + program).out, HasSubstr("dp 32,")) << job;
  EXPECT_THAT(predict("--megatron", head + torchrun + "2" + program).out,
      testing::AllOf(HasSubstr("dp 16,"), HasSubstr("torchrun is told 2 nodes in a job of 4")));
  // torchrun passes over the variable
  EXPECT_THAT(predict("--megatron", "export NNODES=4\n" + torchrun + "2" + program).out,
      testing::AllOf(HasSubstr("dp 16,"), HasSubstr("the script sets NNODES=4, and torchrun is told 2 nodes")));
  EXPECT_THAT(predict("--megatron", "export NNODES=2\n" + torchrun + "$NNODES" + program).out,
      testing::AllOf(HasSubstr("dp 16,"), testing::Not(HasSubstr("sets NNODES"))));
  EXPECT_THAT(predict("--megatron", head + eight + "srun " + torchrun + "4" + program).out,
      testing::AllOf(HasSubstr("dp 32,"), HasSubstr("srun starts torchrun 8 times a node")));
  const std::string loop = "for NODE in a b; do\nsrun -N 1 -n 1 " + torchrun + "4" + program + "done\n";
  EXPECT_THAT(predict("--megatron", head + loop).out, HasSubstr("dp 32,"));
}

TEST_F(StrangeJobs, HeadersOfOtherBatchSystemsTellTheNodes) {
  const std::string ranks = "mpirun --npernode 8 python" + run_;
  for (const char* header : {"#COBALT -n 4 -t 60 -q prod", "#COBALT --nodecount=4", "#flux: -N 4", "# flux: --nodes=4",
           "#PBS -l nodes=4:ppn=8:gpus=8", "#BSUB -nnodes 4"})
    EXPECT_THAT(predict("--megatron", std::string("#!/bin/bash\n") + header + "\n" + ranks, "--print-scenario").out,
        HasSubstr("\"gpus\": 32"))
        << header;
  EXPECT_THAT(predict("--megatron", "flux run -N4 -n32 python" + run_).out, HasSubstr("dp 32,"));
  EXPECT_THAT(predict("--megatron", "aprun -n 32 -N 8 python" + run_).out, HasSubstr("dp 32,"));
}

TEST_F(StrangeJobs, AnOptionOfOneLetterMayHoldItsValue) {
  const std::string run = "python pretrain_gpt.py" + sizes + "\n";
  EXPECT_THAT(predict("--megatron", "srun -N4 --ntasks-per-node=8 " + run).out, HasSubstr("32 x")) << "4 nodes of 8";
  write("job.slurm", "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\nsrun " + run);
  EXPECT_THAT(predict("--megatron", "sbatch -N4 job.slurm\n").out, HasSubstr("32 x")) << "over the header";
  EXPECT_THAT(predict("--megatron", "jsrun -n4 -r1 -a8 " + run).out, HasSubstr("32 x"));
}

TEST_F(StrangeJobs, JsrunWithoutItsNumberOfSetsIsRefused) {
  const Ran ran = predict("--megatron", "jsrun -r 8 -a 1 python pretrain_gpt.py" + sizes + "\n");
  EXPECT_THAT(ran.out + ran.err, HasSubstr("-n of jsrun"));
}

TEST_F(StrangeJobs, ResourceSetsOfJsrunAreRanks) {
  const auto with = [&](const std::string& sets) {
    return predict("--megatron", "jsrun " + sets + " -c 42 -d packed python pretrain_gpt.py" + sizes + "\n");
  };
  EXPECT_THAT(with("-n 4 -r 1 -g 8 -a 8").out, HasSubstr("dp 32,"));
  EXPECT_THAT(with("--nrs=32 --rs_per_host=8 --tasks_per_rs=1 --gpu_per_rs=1").out, HasSubstr("dp 32,"));
  const Ran unknown = with("-n $SETS -r 8 -a 1");
  EXPECT_EQ(unknown.code, 2) << unknown.out;
}

}  // namespace
}  // namespace stepcast::launch::strangers_test
