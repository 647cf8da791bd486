// Tasks of dstack and SkyPilot: their commands are a script behind the variables that the service sets.
#include "studies/launch/jobs/machine_task.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/yaml/yaml.h"
#include "tests/studies/launch/strangers.h"

namespace stepcast::launch::strangers_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::optional<MachineTask> task_in(const std::string& text) {
  const auto documents = read_yaml(text, "run.yaml");
  EXPECT_TRUE(documents);
  return documents ? machine_task(documents->front()) : std::nullopt;
}

std::string dstack_task(const std::string& gpu, const std::string& counts) {
  return "type: task\nnodes: 2\nenv:\n  - TP=2\n  - HF_TOKEN\ncommands:\n  - cd Megatron-LM\n  - |\n    torchrun " +
         counts + " pretrain_gpt.py \\\n     " + sizes +
         " --tensor-model-parallel-size $TP\nresources:\n  gpu: " + gpu + "\n";
}
const std::string told_counts = "--nproc-per-node=$DSTACK_GPUS_PER_NODE --nnodes=$DSTACK_NODES_NUM";

TEST(MachineTasks, GpusAreCountedWhereTheirNumberIsOne) {
  const struct {
    const char* gpu;
    std::int64_t count;
    const char* kind;
  } rows[] = {{"8", 8, ""}, {"H100:8", 8, "h100"}, {"nvidia:H100:80GB:4", 4, "h100"}, {"1..8", 0, ""},
      {"H100:2..", 0, "h100"}, {"80GB:8", 8, ""}, {"H100", 0, "h100"}, {"A100,H100:8", 8, ""},
      {"{name: A100, count: 4}", 4, "a100"}, {"{name: [A100, H100], count: 1..4}", 0, ""}};
  for (const auto& row : rows) {
    const auto task = task_in(dstack_task(row.gpu, told_counts));
    ASSERT_TRUE(task) << row.gpu;
    EXPECT_EQ(task->gpus_per_node, row.count) << row.gpu;
    EXPECT_EQ(task->gpu_kind, row.kind) << row.gpu;
    EXPECT_EQ(task->nodes, 2);
  }
  const std::string sky = "num_nodes: 4\nrun: |\n  true\nresources:\n  accelerators: ";
  EXPECT_EQ(task_in(sky + "H100\n")->gpus_per_node, 1) << "SkyPilot takes one";
  EXPECT_EQ(task_in(sky + "{H100: 8}\n")->gpus_per_node, 8);
  EXPECT_EQ(task_in(sky + "[H100:8, A100:4]\n")->gpus_per_node, 0) << "a choice";
  EXPECT_EQ(task_in(sky + "H100:8\n")->nodes, 4);
}

TEST(MachineTasks, CommandsStandOnTheirLines) {
  const auto task = task_in("type: task\ncommands:\n  - first\n\n  - |\n    second\n    third\n  - fourth\n");
  ASSERT_TRUE(task);
  EXPECT_EQ(
      task->script, "\n\nexport DSTACK_NODES_NUM='1'; export DSTACK_NODE_RANK='0'; first\n\n\nsecond\nthird\nfourth\n");
  EXPECT_FALSE(task_in("type: service\ncommands:\n  - first\n"));
  EXPECT_FALSE(task_in("type: task\napiVersion: v1\ncommands:\n  - first\n"));
  EXPECT_FALSE(task_in("run: true\nresources:\n  cpus: 4\n"));
}

/// 2 nodes of 8 GPUs: 16 ranks in pairs.
TEST_F(StrangersLaunch, TasksOfDstackTellTheirVariables) {
  const auto ran = [&](const std::string& text) {
    return run_line("predict --machine dgx-h100 --launch " + write("run.dstack.yml", text));
  };
  const Ran told = ran(dstack_task("H100:8", told_counts));
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(told.out, AllOf(HasSubstr("on 16 x"), HasSubstr("tp 2,"), HasSubstr("dp 8")));
  const Ran open = ran(dstack_task("H100:1..8", told_counts));
  EXPECT_EQ(open.code, 2);
  EXPECT_THAT(open.err, HasSubstr("DSTACK_GPUS_PER_NODE"));
  const Ran world = ran(dstack_task("H100:8", "--nproc-per-node=8 --nnodes=$((DSTACK_GPUS_NUM / 8))"));
  EXPECT_THAT(world.out, HasSubstr("on 16 x")) << world.err;
  const Ran unknown = ran(dstack_task("H100:8", told_counts + " --made-up-option 3"));
  EXPECT_EQ(unknown.out, told.out) << "an option of the launcher";
  std::string wrong = dstack_task("H100:8", told_counts);
  wrong.insert(wrong.find(" --tensor-model"), " --made-up-argument 3");
  EXPECT_THAT(ran(wrong).err, HasSubstr("run.dstack.yml:10 --made-up-argument"));
}

TEST_F(StrangersLaunch, TasksOfSkyPilotTellTheirVariables) {
  const std::string text = "num_nodes: 2\nresources:\n  accelerators: H100:8\nenvs:\n  TP: 2\nrun: |\n  torchrun "
                           "--nproc-per-node=$SKYPILOT_NUM_GPUS_PER_NODE --nnodes=$SKYPILOT_NUM_NODES pretrain_gpt.py" +
                           sizes + " --tensor-model-parallel-size $TP\n";
  const Ran told = run_line("predict --machine dgx-h100 --launch " + write("run.yaml", text));
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(told.out, AllOf(HasSubstr("on 16 x"), HasSubstr("tp 2,"), HasSubstr("dp 8")));
  EXPECT_THAT(told.err, Not(HasSubstr("SKYPILOT")));
}

}  // namespace
}  // namespace stepcast::launch::strangers_test
