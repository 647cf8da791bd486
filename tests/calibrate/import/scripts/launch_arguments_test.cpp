#include "calibrate/import/scripts/launch_arguments.h"

#include <gtest/gtest.h>

#include "calibrate/import/shell/words.h"
#include "tests/calibrate/import/sample_logs.h"

namespace stepcast::calibrate {
namespace {

LaunchLine launch(const std::string& text) {
  const auto found = find_launches(text, "run.sh");
  EXPECT_TRUE(found) << (found ? "" : to_text(found.error()));
  EXPECT_EQ(found ? found->size() : 0, 1u) << text;
  return found && !found->empty() ? found->front() : LaunchLine{};
}

TEST(LaunchArguments, AScriptWithArraysAndVariables) {
  const LaunchLine line = launch(sample_log::megatron_script);
  EXPECT_EQ(line.program, "pretrain_gpt.py");
  EXPECT_EQ(line.nodes, 2);  // of #SBATCH, through SLURM_NNODES
  EXPECT_EQ(line.gpus(), 16);
  EXPECT_EQ(line.arguments.at("num_layers"), "32");
  EXPECT_EQ(line.arguments.at("tensor_model_parallel_size"), "2");
  EXPECT_EQ(line.arguments.at("group_query_attention"), "true");
  EXPECT_EQ(line.arguments.at("split"), "949,50,1");
  EXPECT_EQ(line.arguments.at("lr"), "1.5e-4");
  EXPECT_EQ(line.arguments.count("data_path"), 0u);
  EXPECT_EQ(line.unknown, std::vector<std::string>{"data_path=$1"});
}

TEST(LaunchArguments, WhatLaunchersAreTold) {
  struct Case {
    const char* text;
    std::int64_t gpus;
  };
  const Case cases[] = {
      {"torchrun --nproc-per-node 4 train.py --a 1", 4}, {"torchrun --nproc_per_node=8 --nnodes=3 train.py --a 1", 24},
      {"python -m torch.distributed.launch --nproc_per_node 8 train.py --a 1", 8},
      {"deepspeed --num_nodes 2 --num_gpus=4 train.py --deepspeed_config ds.json", 8},
      {"srun -N 2 --ntasks-per-node=8 python train.py --a 1", 16},
      {"srun --nodes 4 --ntasks-per-node 1 torchrun --nproc_per_node 8 --nnodes 4 train.py --a 1", 32},
      {"mpirun -np 16 -x PATH python3 train.py --a 1", 16}, {"accelerate launch --num_processes 8 train.py --a 1", 8},
      {"NGPU=4 ./run_train.sh --training.seq_len 8192", 4}, {"N=2; G=8; srun -n $((N * G)) python train.py --a 1", 16},
      {"#SBATCH -N 4\n#SBATCH --ntasks-per-node=8\nsrun python train.py --a 1", 32},
      {"torchrun --nproc_per_node 8 --nnodes $NODES train.py --a 1", 0},  // not known, and not taken for one node
      {"python train.py --a 1", 0}, {"export NPROC_PER_NODE=8 NNODES=2\nswift sft --model a", 16},
      {"NPROC_PER_NODE=8 llamafactory-cli train --model_name_or_path a", 8},
      {"export NPROC_PER_NODE=8\ntrl sft --model_name_or_path a", 0},  // reads no such variable
      {"export NPROC_PER_NODE=8\naxolotl train run.yaml", 0},
      {"export NPROC_PER_NODE=8\npython 'my train.py' --a 1", 0},
      {"torchrun --nnodes 2:2 --nproc_per_node 8 train.py --a 1", 16},
      {"torchrun --nnodes 1:2 --nproc_per_node 8 train.py --a 1", 0},  // as many as there are
  };
  for (const Case& c : cases) EXPECT_EQ(launch(c.text).gpus(), c.gpus) << c.text;
}

/// A program that starts a rank for each GPU is started once a node: tasks of Slurm are such starts, and no ranks.
/// src/llamafactory/launcher.py: NNODES is 1 and NPROC_PER_NODE the GPUs that are there, unless told.
TEST(LaunchArguments, WhatStartsItsRanksItselfIsStartedOnceANode) {
  const std::string train = "srun llamafactory-cli train --model_name_or_path a\n",
                    nodes = "export NNODES=$SLURM_NNODES\n", two = "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n";
  const struct {
    std::string text;
    std::int64_t gpus;
  } cases[] = {
      {two + "#SBATCH --gres=gpu:8\n" + nodes + train, 16},
      {two + "#SBATCH --gpus-per-node=h100:4\n" + nodes + train, 8},
      {two + nodes + "export NPROC_PER_NODE=8\n" + train, 16}, {two + nodes + "CUDA_VISIBLE_DEVICES=0,1 " + train, 4},
      {two + nodes + train, 0},                     // nobody says how many GPUs a node has
      {two + "#SBATCH --gres=gpu:8\n" + train, 0},  // two runs of one node each
      {"#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\n#SBATCH --gres=gpu:8\n" + nodes + train, 0},  // 8 starts a node
      {"#SBATCH --nodes=1\n#SBATCH --gres=gpu:8\n" + train, 8},
      {"#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\nexport NNODES=2 NPROC_PER_NODE=4\nsrun swift sft --model a\n",
          8},
      {"#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n#SBATCH --gres=gpu:8\nsrun trl sft --model a\n", 0},
      {"#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=1\n#SBATCH --gres=gpu:8\nsrun axolotl train a.yml\n", 8},
      {two + "#SBATCH --gres=gpu:8\nsrun python train.py --a 1\n", 2},  // a plain program is a rank of its own
  };
  for (const auto& c : cases) EXPECT_EQ(launch(c.text).gpus(), c.gpus) << c.text;
}

/// torch/distributed/run.py: -m is a switch, and the first word that is no option is the module.
TEST(LaunchArguments, TheSwitchForAModuleMayStandInFrontOfOptions) {
  const LaunchLine line =
      launch("torchrun -m --nnodes 2 --standalone --rdzv_backend c10d --nproc_per_node 8 pkg.train --a 1 --b c");
  EXPECT_EQ(line.program, "pkg.train");
  EXPECT_EQ(line.gpus(), 16);
  EXPECT_EQ(line.arguments, (ArgumentMap{{"a", "1"}, {"b", "c"}}));
  EXPECT_EQ(launch("python -m torch.distributed.run -m --nproc_per_node 4 pkg.train --a 1").program, "pkg.train");
  EXPECT_EQ(launch("torchrun --nproc_per_node 4 --standalone -m pkg.train --a 1").program, "pkg.train");
  EXPECT_EQ(launch("python -m litgpt pretrain a --b 1").program, "litgpt pretrain");
  EXPECT_EQ(launch("python -m llamafactory.cli train a.yaml --b 1").program, "llamafactory.cli train");
}

TEST(LaunchArguments, NamesAndValues) {
  const LaunchLine line =
      launch("python train.py --data-path 0.5 a 0.5 b --offset -1 --flag --x=1 +model.tensor_model_parallel_size=4 "
             "trainer.devices=8 --last");
  EXPECT_EQ(line.arguments.at("data_path"), "0.5 a 0.5 b");
  EXPECT_EQ(line.arguments.at("offset"), "-1");
  EXPECT_EQ(line.arguments.at("flag"), "true");
  EXPECT_EQ(line.arguments.at("x"), "1");
  EXPECT_EQ(line.arguments.at("model.tensor_model_parallel_size"), "4");
  EXPECT_EQ(line.arguments.at("trainer.devices"), "8");
  EXPECT_EQ(line.arguments.at("last"), "true");
  EXPECT_EQ(line.arguments.size(), 7u);
}

TEST(LaunchArguments, ModulesAndEnvironment) {
  const LaunchLine line =
      launch("CONFIG_FILE=\"./llama3_8b.toml\" torchrun --nproc_per_node=8 -m torchtitan.train --job.config_file "
             "${CONFIG_FILE:-x} --a.b 1");
  EXPECT_EQ(line.program, "torchtitan.train");
  EXPECT_EQ(line.environment.at("CONFIG_FILE"), "./llama3_8b.toml");
  EXPECT_EQ(line.arguments.at("a.b"), "1");
}

TEST(LaunchArguments, QuotesJoinAndVariablesSplit) {
  const LaunchLine line =
      launch("ARGS='--a 1 --b \"x\"'\nNAME=\"two words\"\npython train.py $ARGS --c \"$NAME\" --d '$NAME' --e a\\ b");
  EXPECT_EQ(line.arguments.at("a"), "1");
  EXPECT_EQ(line.arguments.at("c"), "two words");
  EXPECT_EQ(line.arguments.at("e"), "a b");
}

TEST(LaunchArguments, CommandsInsideShellsAndVariables) {
  const std::string set =
      "LAUNCHER=\"torchrun --nproc_per_node 8 --nnodes 2\"\nCMD=\"pretrain_gpt.py --num-layers 32\"\n";
  const char* commands[] = {"srun -N 2 bash -c \"cd /job; $LAUNCHER $CMD\"",
      "srun --ntasks-per-node 1 bash -c '$LAUNCHER $CMD'", "$LAUNCHER $CMD", "eval ${LAUNCHER} ${CMD}",
      "if true; then $LAUNCHER $CMD; fi"};
  for (const char* command : commands) {
    const LaunchLine line = launch(set + command);
    EXPECT_EQ(line.gpus(), 16) << command;
    EXPECT_EQ(line.arguments.count("num_layers"), 1u) << command;
  }
}

TEST(LaunchArguments, ACommandThatIsCutOff) {
  const auto found = find_launches("x=1\ntorchrun train.py --a 'b\n", "run.sh");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().where, "run.sh:2");
}

TEST(LaunchArguments, OtherTextIsPassedOver) {
  for (const char* text : {"it's a log\nloss = 3 (don't\n", "echo torchrun train.py", "# torchrun train.py --a 1",
           "python --version", "X='open\n", "((((", "a=(1 2"}) {
    const auto found = find_launches(text, "log");
    ASSERT_TRUE(found) << text;
    EXPECT_TRUE(found->empty()) << text;
  }
}

TEST(LaunchArguments, Arithmetic) {
  EXPECT_EQ(shell_arithmetic("2 * (3 + 4) - 1"), "13");
  EXPECT_EQ(shell_arithmetic("17 / 4 % 3"), "1");
  EXPECT_EQ(shell_arithmetic("3 > 2 ? 3 : 2"), "3");
  EXPECT_EQ(shell_arithmetic("4 * 2 <= 7 ? 1 : 5 == 5 ? 2 + 6 : 3"), "8");
  EXPECT_EQ(shell_arithmetic("(1 != 1) + (2 >= 2) * 10 + (1 < 0)"), "10");
  std::string sum = "(1)";
  for (int i = 1; i < 50; ++i) sum += "+(1)";
  EXPECT_EQ(shell_arithmetic(sum), "50");
  for (const char* wrong : {"", "1 +", "1 / 0", "a", "(1", "1 << 2", "1 ? 2", "1 ? 2 :", "1000000000 * 1000000000"})
    EXPECT_EQ(shell_arithmetic(wrong), "") << wrong;
}

}  // namespace
}  // namespace stepcast::calibrate
