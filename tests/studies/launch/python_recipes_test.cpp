// Recipes in Python: what NeMo 2's have unless told, what a script sets of one, and what is not followed.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/launch/read/launch_request.h"
#include "tests/studies/launch/meant_launch.h"

namespace stepcast::launch {
namespace {

using meant_launches::meaning_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// The recipe of Llama 3 8B has context 2, micro-batch 1 and 512 sequences of 8192 on one node of 8.
TEST(PythonRecipes, NemosOwnSettingsHoldUnlessTold) {
  const std::string plain = meaning_of("nemo llm pretrain --factory llama3_8b\n", "run.sh");
  EXPECT_THAT(plain,
      AllOf(HasSubstr("nemo llama3-8b "), HasSubstr("cp=2"), HasSubstr("micro_batch=1"), HasSubstr("global_batch=512"),
          HasSubstr("sequence=8192"), HasSubstr("zero=1"), HasSubstr("dp_overlap=on")));
  const std::string told =
      meaning_of("nemo llm pretrain --factory llama3_8b trainer.strategy.context_parallel_size=1\n", "run.sh");
  EXPECT_THAT(told, AllOf(HasSubstr("cp=1"), HasSubstr("global_batch=512")));
  EXPECT_THAT(meaning_of("nemo llm pretrain --factory llama31_405b\n", "run.sh"), HasSubstr("has settings of its own"));
  EXPECT_THAT(meaning_of("nemo llm finetune --factory llama3_8b\n", "run.sh"), HasSubstr("has settings of its own"));
}

const std::string script = "from nemo.collections import llm\nimport nemo_run as run\n\n"
                           "def configure():\n"
                           "    recipe = llm.llama3_8b.pretrain_recipe(name='x', num_nodes=1, num_gpus_per_node=8)\n"
                           "    size = 2\n"
                           "    recipe.trainer.strategy.tensor_model_parallel_size = size\n";

TEST(PythonRecipes, WhatAScriptSetsOfARecipeGoesOverIt) {
  EXPECT_THAT(meaning_of(script + "    recipe.data = run.Config(MockDataModule, seq_length=4096, global_batch_size=64, "
                                  "micro_batch_size=2)\n    return recipe\n",
                  "run.py"),
      AllOf(HasSubstr("nemo llama3-8b "), HasSubstr("tp=2"), HasSubstr("cp=2"), HasSubstr("micro_batch=2"),
          HasSubstr("global_batch=64"), HasSubstr("sequence=4096")));
  EXPECT_THAT(meaning_of(script + "    return recipe\n\nif __name__ == '__main__':\n    mine = configure()\n"
                                  "    mine.trainer.strategy.context_parallel_size = 1\n    run.run(mine)\n",
                  "run.py"),
      AllOf(HasSubstr("tp=2"), HasSubstr("cp=1")));
}

/// What is done to a recipe in a way that is not read is named, and nothing is forecast in spite of it.
TEST(PythonRecipes, WhatIsNotFollowedIsSaid) {
  for (const char* line : {"    if fast:\n        recipe.trainer.strategy.pipeline_model_parallel_size = 2\n",
           "    recipe.trainer.callbacks.append(run.Config(Overlap, tp_comm_overlap=True))\n",
           "    recipe = set_primary_perf_configs(recipe, tp_size=4)\n", "    recipe.trainer = trainer(4)\n",
           "    recipe.trainer.strategy = run.Config(MegatronStrategy, tensor_model_parallel_size=8)\n",
           "    recipe.data = run.Config(MockDataModule, seq_length=4096)\n"})
    EXPECT_THAT(meaning_of(script + line + "    return recipe\n", "run.py"), HasSubstr("is not read")) << line;
  EXPECT_THAT(meaning_of(script + "    return recipe\nmine = configure(3)\n", "run.py"), HasSubstr("is not read"));
  EXPECT_THAT(meaning_of(script + "    other = llm.llama3_70b.pretrain_recipe(name='y')\n", "run.py"),
      HasSubstr("2 recipes: llama3_8b in line 5, llama3_70b in line 8"));
}

const std::string bridge = "def run_8gpu_h100_config() -> ConfigContainer:\n    cfg = _pretrain_common()\n"
                           "    cfg.model = AutoBridge.from_hf_pretrained('Qwen/Qwen3-8B').get_model_config()\n";

TEST(PythonRecipes, BridgesStartFromItsOwnFunctions) {
  EXPECT_THAT(meaning_of(bridge + "    cfg.model.tensor_model_parallel_size = 2\n    return cfg\n", "run.py"),
      AllOf(HasSubstr("megatron-bridge qwen3-8b "), HasSubstr("tp=2"), HasSubstr("micro_batch=2"),
          HasSubstr("global_batch=32"), HasSubstr("sequence=4096"), HasSubstr("gpus=8")));
  std::string other = bridge;
  other.replace(other.find("_pretrain_common"), 16, "_vision_common");
  EXPECT_THAT(meaning_of(other + "    return cfg\n", "run.py"), HasSubstr("starts from _vision_common"));
  EXPECT_THAT(meaning_of(bridge + "    if big:\n        cfg.model.x = 1\n    return cfg\n", "run.py"),
      HasSubstr("more than literal values"));
  EXPECT_THAT(meaning_of(bridge + "    reshape(cfg)\n    return cfg\n", "run.py"),
      AllOf(HasSubstr("reshape"), Not(HasSubstr("tp="))));
}

}  // namespace
}  // namespace stepcast::launch
