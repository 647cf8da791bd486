// Executors of NeMo-Run's scripts: what starts the ranks is held against the recipe's trainer.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/launch/read/launch_request.h"
#include "tests/studies/launch/meant_launch.h"

namespace stepcast::launch {
namespace {

using meant_launches::meaning_of;
using testing::HasSubstr;

/// What starts the ranks counts them, too: Lightning stops where the two differ.
TEST(NemoExecutors, ExecutorsAreHeldAgainstTheTrainer) {
  const auto run = [](const std::string& executor) {
    return meaning_of("from nemo.collections import llm\nimport nemo_run as run\n"
                      "recipe = llm.llama3_8b.pretrain_recipe(name='x', num_nodes=2, num_gpus_per_node=8)\n"
                      "executor = run.SlurmExecutor(" +
                          executor + ")\nrun.run(recipe, executor=executor)\n",
        "run.py");
  };
  EXPECT_THAT(run("account='a', nodes=2, ntasks_per_node=8"), HasSubstr("nemo llama3-8b ")) << "they agree";
  EXPECT_THAT(run("account='a', nodes=4, ntasks_per_node=8"),
      HasSubstr("its executor has 4 nodes, and the recipe's trainer 2"));
  EXPECT_THAT(run("nodes=2, ntasks_per_node=4"), HasSubstr("its executor has 4 ranks a node"));
  EXPECT_THAT(run("nodes=2, ntasks_per_node=1"), HasSubstr("its executor has 1 rank a node"));
  for (const char* agree : {"nodes=2, ntasks_per_node=1, gpus_per_node=8", "nodes=2, gpus_per_node=8",
           "nodes=2, ntasks_per_node=1, torchrun_nproc_per_node=8"})
    EXPECT_THAT(run(agree), HasSubstr("nemo llama3-8b ")) << agree;
}

/// That of the run alone, with what is set of it later and what a function makes it with; and the recipe's own counts.
TEST(NemoExecutors, TheExecutorOfTheRunCounts) {
  const std::string front = "from nemo.collections import llm\nimport nemo_run as run\n",
                    told = front + "recipe = llm.llama3_8b.pretrain_recipe(name='x', num_nodes=2, "
                                   "num_gpus_per_node=8)\n",
                    run = "run.run(recipe, executor=slurm)\n";
  EXPECT_THAT(meaning_of(told +
                             "slurm = run.SlurmExecutor(nodes=2, ntasks_per_node=8)\n"
                             "here = run.LocalExecutor(ntasks_per_node=1)\n" +
                             run,
                  "run.py"),
      HasSubstr("nemo llama3-8b "));
  EXPECT_THAT(meaning_of(told +
                             "slurm = run.SlurmExecutor(nodes=2, ntasks_per_node=8)\n"
                             "slurm.ntasks_per_node = 4\n" +
                             run,
                  "run.py"),
      HasSubstr("its executor has 4 ranks a node"));
  EXPECT_THAT(meaning_of(told + "def cluster(nodes: int, gpus: int = 8):\n"
                                "    made = run.SlurmExecutor(nodes=nodes, ntasks_per_node=gpus)\n    return made\n"
                                "run.run(recipe, executor=cluster(4))\n",
                  "run.py"),
      HasSubstr("its executor has 4 nodes, and the recipe's trainer 2"));
  const std::string converts = "here = run.LocalExecutor(nodes=1, ntasks_per_node=1)\n"
                               "exp.add(conversion(), executor=here)\n";
  EXPECT_THAT(meaning_of(told + converts + "slurm = run.SlurmExecutor(nodes=2, ntasks_per_node=8)\n" + run, "run.py"),
      HasSubstr("nemo llama3-8b "))
      << "a conversion before the training has its own";
  EXPECT_THAT(meaning_of(told + converts + "slurm = run.SlurmExecutor(nodes=4, ntasks_per_node=8)\n" + run, "run.py"),
      HasSubstr("its executor has 4 nodes, and the recipe's trainer 2"));
  LaunchSource source;
  source.flag = find_launch_flag("--nemo");
  source.file = "run.py";
  const auto launch = read_launch_text(front +
                                           "recipe = llm.llama3_8b.pretrain_recipe(name='x')\n"
                                           "slurm = run.SlurmExecutor(nodes=4, ntasks_per_node=8)\n" +
                                           run,
      "run.py", source);
  const auto reading = launch ? read_meaning(*launch, LaunchHints{}) : tl::unexpected(launch.error());
  ASSERT_FALSE(reading) << "the recipe has one node unless told";
  EXPECT_THAT(to_text(reading.error()), HasSubstr("its executor has 4 nodes, and the recipe's trainer 1"));
}

}  // namespace
}  // namespace stepcast::launch
