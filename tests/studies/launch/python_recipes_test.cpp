// Recipes in Python: what NeMo 2's have unless told, what a script sets of one, and what is not followed.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/launch/read/launch_request.h"
#include "tests/studies/launch/meant_launch.h"

namespace stepcast::launch {
namespace {

using meant_launches::meaning_of;
using meant_launches::read_in;
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
           "    recipe.data = run.Config(MockDataModule, seq_length=4096)\n",
           "    recipe.model.config = run.Config(llm.Llama3Config70B)\n", "    recipe.peft = run.Config(LoRA)\n",
           "    recipe.trainer.strategy = strategy\n",
           "    recipe.trainer.strategy.ddp = run.Config(DDP, overlap=True)\n",
           "    recipe.trainer.callbacks = [run.Config(Overlap, tp_comm_overlap=True)]\n",
           "    print(override(recipe, 4))\n", "    print(recipe.override(4))\n", "    run.run(recipe, f(recipe))\n"})
    EXPECT_THAT(meaning_of(script + line + "    return recipe\n", "run.py"), HasSubstr("is not read")) << line;
  EXPECT_THAT(meaning_of(script + "    return set_perf(recipe, tp_size=4)\n", "run.py"), HasSubstr("is not read"));
  for (const char* caller : {"mine = configure(3)\n", "mine = set_perf(configure())\n", "set_perf(configure())\n",
           "def tuned():\n    return configure()\n", "if big:\n    mine = configure()\n",
           "def tuned():\n    mine = configure()\n    return mine\nother = tuned()\nset_perf(other)\n"})
    EXPECT_THAT(meaning_of(script + "    return recipe\n" + caller, "run.py"), HasSubstr("is not read")) << caller;
  EXPECT_THAT(meaning_of(script + "    other = llm.llama3_70b.pretrain_recipe(name='y')\n", "run.py"),
      HasSubstr("2 recipes: llama3_8b in line 5, llama3_70b in line 8"));
}

/// A recipe that is handed on, run or printed stays as it is.
TEST(PythonRecipes, WhatLeavesARecipeIsFollowed) {
  for (const char* end : {"    print(recipe)\n    return recipe\nrun.run(configure(), executor=local())\n",
           "    return recipe\nrun.cli.main(llm.pretrain, default_factory=configure)\n",
           "    print(recipe.trainer.num_nodes)\n    exp.add(recipe, name='configure')\nif __name__ == '__main__':\n"
           "    configure()\n",
           "    return recipe\ndef tuned():\n    mine = configure()\n    return mine\nrun.run(tuned())\n"})
    EXPECT_THAT(meaning_of(script + end, "run.py"), AllOf(HasSubstr("nemo llama3-8b "), HasSubstr("tp=2"))) << end;
}

/// NeMo's own first example: 2 nodes of 4 GPUs unless told, of which the executor reads the numbers alone.
TEST(PythonRecipes, ParametersOfAScriptsFunctionAreAsItHasThem) {
  const std::string taken = "import nemo_run as run\ndef configure(nodes: int = 2, gpus: int = 4):\n"
                            "    recipe = llm.llama3_8b.pretrain_recipe(name='x', num_nodes=nodes, "
                            "num_gpus_per_node=gpus)\n";
  const auto gpus = [](const std::string& text, std::map<std::string, std::string> defined = {}) {
    LaunchSource source;
    source.flag = find_launch_flag("--megatron");
    source.file = "run.py", source.defined = std::move(defined);
    const auto launch = read_launch_text(text, "run.py", source);
    const auto reading = launch ? read_meaning(*launch, LaunchHints{}) : tl::unexpected(launch.error());
    return reading ? reading->request.said().at("gpus").text : to_text(reading.error());
  };
  const std::string run = "def main():\n    recipe = configure()\n"
                          "    executor = local(nodes=recipe.trainer.num_nodes, devices=recipe.trainer.devices)\n"
                          "    run.run(recipe, executor=executor, name=f'{recipe.log.name}')\n";
  EXPECT_EQ(gpus(taken + "    return recipe\n" + run), "8");
  EXPECT_EQ(gpus(taken + "    return recipe\n" + run, {{"nodes", "4"}}), "16");
  EXPECT_THAT(gpus(taken + "    return recipe\n" + run + "other = configure(nodes=9)\n"), HasSubstr("is not read"));
  EXPECT_THAT(gpus(taken + "    return recipe\nrun.run(configure(9), executor=local())\n"), Not(testing::StrEq("8")));
  for (const char* call : {"configure (nodes=4)", "configure  (4)", "configure( nodes=4)"})
    EXPECT_THAT(gpus(taken + "    return recipe\nrun.run(" + call + ", executor=local())\n"), Not(testing::StrEq("8")))
        << call;
  std::string again = taken;
  again.insert(again.find("    recipe ="), "    nodes = 9\n");
  EXPECT_THAT(gpus(again + "    return recipe\n" + run), HasSubstr("nothing sets $nodes"));
  for (const char* changes : {"    recipe.trainer.num_nodes = count()\n", "    n = recipe.trainer.devices.pop()\n",
           "    local(recipe.trainer)\n", "    local(recipe.trainer.num_nodes, recipe)\n"})
    EXPECT_THAT(gpus(taken + changes + "    return recipe\n" + run), Not(testing::StrEq("8"))) << changes;
}

/// A function's one call hands its parameters over, by place or by name; two that differ are not read.
TEST(PythonRecipes, ACallHandsTheParametersOfItsFunction) {
  const auto text = [](const std::string& end, const std::string& given = "nodes: int, gpus: int = 4") {
    return "import nemo_run as run\ndef configure(" + given +
           "):\n    recipe = llm.llama3_8b.pretrain_recipe(name='x', num_nodes=nodes, num_gpus_per_node=gpus)\n"
           "    return recipe\n" +
           end;
  };
  const auto gpus = [](const std::string& script) {
    const auto launch = read_in(script, "run.py");
    const auto reading = launch ? read_meaning(*launch, LaunchHints{}) : tl::unexpected(launch.error());
    return reading ? reading->request.said().at("gpus").text : to_text(reading.error());
  };
  for (const char* call :
      {"configure(2, 8)", "configure(nodes=2, gpus=8)", "configure(2, gpus=8)", "configure (nodes = 2, gpus = 8)"})
    EXPECT_EQ(
        gpus(text(fmt::format("def main():\n    recipe = {}\n    run.run(recipe, executor=local())\n", call))), "16")
        << call;
  EXPECT_EQ(gpus(text("run.run(configure(2), executor=local())\n")), "8") << "4 GPUs a node unless told";
  EXPECT_EQ(gpus(text("recipe = configure(2)\nrecipe.trainer.devices = 8\nrun.run(recipe)\n")), "16");
  for (const char* open : {"recipe = configure(count(), 8)\n", "recipe = configure(*sizes)\n",
           "recipe = configure(2, n=8)\n", "recipe = configure(2)\nother = configure(4)\n"})
    EXPECT_THAT(gpus(text(open)), AllOf(Not(testing::StrEq("8")), Not(testing::StrEq("16")))) << open;
}

/// A function may give the recipe back at once.
TEST(PythonRecipes, ARecipeIsGivenBackWithoutAName) {
  const std::string text = "import nemo_run as run\ndef configure(nodes=1):\n"
                           "    return llm.llama3_8b.pretrain_recipe(name='x', num_nodes=nodes, num_gpus_per_node=8)\n";
  const std::string main = "recipe = configure(nodes=1)\nrecipe.trainer.strategy.tensor_model_parallel_size = 2\n"
                           "run.run(recipe)\n";
  EXPECT_THAT(
      meaning_of(text + main, "run.py"), AllOf(HasSubstr("nemo llama3-8b "), HasSubstr("tp=2"), HasSubstr("gpus=8")));
  EXPECT_THAT(
      meaning_of(text + "recipe = change(configure(nodes=1))\nrun.run(recipe)\n", "run.py"), HasSubstr("is not read"));
}

/// What follows the block in which a recipe is taken belongs to it, and one that a condition takes is not read.
TEST(PythonRecipes, ARecipeUnderAConditionIsNotRead) {
  const std::string text = "import nemo_run as run\ndef configure():\n    if big:\n"
                           "        recipe = llm.llama3_8b.pretrain_recipe(name='x', num_nodes=1)\n"
                           "    recipe.trainer.strategy = other(4)\n    return recipe\n";
  EXPECT_THAT(meaning_of(text, "run.py"),
      AllOf(HasSubstr("run.py:4: "), HasSubstr("under which condition is not read"), HasSubstr("run.py:5: ")));
}

/// A list that the recipe was given changes with it, whichever of its names does it.
TEST(PythonRecipes, AListThatChangesBehindTheRecipeIsSaid) {
  const std::string given = script + "    mods = ['mlp']\n    recipe.model.config.recompute_modules = mods\n";
  for (const char* reads : {"", "    print(mods)\n", "    n = len(mods)\n", "    k = mods.index('mlp')\n"})
    EXPECT_THAT(meaning_of(given + reads + "    return recipe\n", "run.py"), Not(HasSubstr("is not read"))) << reads;
  for (const char* changes :
      {"    mods.append('moe')\n", "    other = mods\n    other.append('moe')\n", "    mods += ['moe']\n",
          "    extend(mods)\n", "    list.append(mods, 'moe')\n", "    a, b = mods, 2\n    a.append('moe')\n",
          "    x = [mods]\n    x[0].append('moe')\n", "    add = mods.append\n    add('moe')\n", "    del mods[0]\n",
          "    if big:\n        other = mods\n        other.append('moe')\n",
          "    x = y = mods\n    y.append('moe')\n"})
    EXPECT_THAT(meaning_of(given + changes + "    return recipe\n", "run.py"), HasSubstr("may change a list"))
        << changes;
}

/// Of "size = 2" nothing holds behind another value of it.
TEST(PythonRecipes, AnOldValueOfANameDoesNotHold) {
  for (const char* again : {"    size = width()\n", "    size += 2\n", "    if big:\n        size = 4\n",
           "    size, other = 4, 4\n", "    for size in sizes:\n        pass\n"})
    EXPECT_THAT(
        meaning_of(
            script + again + "    recipe.trainer.strategy.context_parallel_size = size\n    return recipe\n", "run.py"),
        HasSubstr("nothing sets $size"))
        << again;
  EXPECT_THAT(meaning_of(script + "    f(size=4)\n    recipe.trainer.strategy.context_parallel_size = size\n"
                                  "    return recipe\n",
                  "run.py"),
      HasSubstr("cp=2"));
}

TEST(PythonRecipes, ArgumentsWithoutANameAreNamedByTheirPlace) {
  EXPECT_THAT(meaning_of("recipe = llm.llama3_8b.pretrain_recipe('folder', 'name', 2, 8)\n"
                         "recipe.trainer.strategy.tensor_model_parallel_size = 2\n",
                  "run.py"),
      AllOf(HasSubstr("run.py:1: argument 3 of pretrain_recipe, 2, stands without its name"),
          HasSubstr("argument 4 of pretrain_recipe, 8, ")));
}

const std::string bridge = "def run_8gpu_h100_config() -> ConfigContainer:\n    cfg = _pretrain_common()\n"
                           "    cfg.model = AutoBridge.from_hf_pretrained('Qwen/Qwen3-8B').get_model_config()\n";

TEST(PythonRecipes, BridgesStartFromItsOwnFunctions) {
  EXPECT_THAT(meaning_of(bridge + "    cfg.model.tensor_model_parallel_size = 2\n    return cfg\n", "run.py"),
      AllOf(HasSubstr("megatron-bridge qwen3-8b "), HasSubstr("tp=2"), HasSubstr("micro_batch=2"),
          HasSubstr("global_batch=32"), HasSubstr("sequence=4096"), HasSubstr("gpus=8")));
  std::string images = bridge;
  images.replace(images.find("_pretrain_common"), 16, "_sft_common_vlm");
  EXPECT_THAT(meaning_of(images + "    return cfg\n", "run.py"),
      AllOf(HasSubstr("micro_batch=2"), HasSubstr("global_batch=32"), HasSubstr("sequence=4096"), HasSubstr("zero=1"),
          HasSubstr("dp_overlap=off"), Not(HasSubstr("lora="))));
  images.replace(images.find("_sft_common_vlm"), 15, "_peft_common_vlm");
  EXPECT_THAT(meaning_of(images + "    return cfg\n", "run.py"), HasSubstr("lora=32"));
  std::string other = bridge;
  other.replace(other.find("_pretrain_common"), 16, "_vision_common");
  EXPECT_THAT(meaning_of(other + "    return cfg\n", "run.py"), HasSubstr("starts from _vision_common"));
  EXPECT_THAT(meaning_of(bridge + "    if big:\n        cfg.model.x = 1\n    return cfg\n", "run.py"),
      HasSubstr("not known: run.py:5 model.x"));
  EXPECT_THAT(
      meaning_of(bridge + "    if big:\n        cfg.model.tensor_model_parallel_size = 4\n    return cfg\n", "run.py"),
      AllOf(HasSubstr("hangs on '4 if big'"), Not(HasSubstr("tp="))));
  EXPECT_THAT(meaning_of(bridge + "    reshape(cfg)\n    return cfg\n", "run.py"),
      AllOf(HasSubstr("reshape"), Not(HasSubstr("tp="))));
}

/// None for what the base sets is no value of its own, and a part that is made anew has other defaults.
TEST(PythonRecipes, WhatARecipeTakesFromItsBaseIsNotRead) {
  for (const char* none : {"cfg.train.global_batch_size", "cfg.mixed_precision", "cfg.ddp"})
    EXPECT_THAT(meaning_of(bridge + "    " + none + " = None\n    return cfg\n", "run.py"),
        AllOf(HasSubstr("run.py:4 "), HasSubstr("None for what _pretrain_common sets")))
        << none;
  for (const char* made :
      {"cfg.ddp = DistributedDataParallelConfig(check=True)", "cfg.train = TrainingConfig(steps=1)"})
    EXPECT_THAT(meaning_of(bridge + "    " + made + "\n    return cfg\n", "run.py"),
        AllOf(HasSubstr("run.py:4 "), HasSubstr("anew, without what _pretrain_common sets of it")))
        << made;
}

TEST(PythonRecipes, WhatIsComputedIsAskedForInTheLaunch) {
  EXPECT_THAT(
      meaning_of(bridge + "    cfg.model.tensor_model_parallel_size = 4 if BIG else 2\n    return cfg\n", "run.py"),
      AllOf(HasSubstr("hangs on '4 if BIG else 2'"), HasSubstr("or a flag"), Not(HasSubstr("--define"))));
  EXPECT_THAT(meaning_of(bridge + "    cfg.model.tensor_model_parallel_size = SIZE\n    return cfg\n", "run.py"),
      AllOf(HasSubstr("nothing sets $SIZE"), HasSubstr("--define SIZE=VALUE")));
}

/// A scheme of adapters is the function's own unless told: LoRA of rank 32 / 4 = 8 where the recipe says so.
TEST(PythonRecipes, AdaptersOfARecipeAreRead) {
  const std::string tuned = "def run_8gpu_h100_config(peft_scheme: str = 'lora') -> ConfigContainer:\n"
                            "    cfg = _peft_common()\n"
                            "    cfg.model = AutoBridge.from_hf_pretrained('Qwen/Qwen3-8B').get_model_config()\n"
                            "    adapters = default_peft_config(peft_scheme)\n"
                            "    if isinstance(peft_scheme, str) and peft_scheme.lower() in ['lora', 'dora']:\n"
                            "        adapters.dim = 8\n    cfg.peft = adapters\n"
                            "    if cfg.model.context_parallel_size > 1:\n"
                            "        cfg.dataset.offline_packing_specs.pad_seq_to_mult = 4\n    return cfg\n";
  EXPECT_THAT(meaning_of(tuned, "run.py"), AllOf(HasSubstr("megatron-bridge qwen3-8b "), HasSubstr("lora=8")));
  std::string other = tuned;
  other.replace(other.find("'lora') ->"), 6, "'dora'");
  EXPECT_THAT(meaning_of(other, "run.py"), HasSubstr("of the schemes of adapters lora alone is forecast"));
}

std::string notes_of_bridge(std::vector<std::string> words) {
  LaunchSource source;
  source.flag = find_launch_flag("--megatron");
  source.file = "run.py";
  source.words = std::move(words);
  const auto launch = read_launch_text(bridge + "    return cfg\n", "run.py", source);
  if (!launch) return to_text(launch.error());
  std::string names = fmt::format("{}\n", fmt::join(launch->notes, "\n"));
  for (const GivenArgument& given : launch->arguments) names += fmt::format("<{}>", given.name);
  return names;
}

const std::string deepseek =
    "def run_1024gpu_h100_config() -> ConfigContainer:\n    cfg = _pretrain_common()\n"
    "    cfg.model = AutoBridge.from_hf_pretrained('deepseek-ai/DeepSeek-V3').to_megatron_provider()\n"
    "    cfg.model.tensor_model_parallel_size = 2\n    cfg.model.pipeline_model_parallel_size = 16\n"
    "    cfg.model.expert_model_parallel_size = 64\n    cfg.model.expert_tensor_parallel_size = 1\n"
    "    cfg.model.sequence_parallel = True\n    cfg.model.seq_length = 4096\n    cfg.model.mtp_num_layers = 1\n"
    "    cfg.train.global_batch_size = 4096\n    cfg.train.micro_batch_size = 1\n"
    "    cfg.model._pipeline_model_parallel_layout_builder = _get_deepseek_v3_pipeline_layout\n";

std::string laid_out(const std::string& statements, std::vector<std::string> words = {}) {
  LaunchSource source;
  source.flag = find_launch_flag("--megatron");
  source.file = "run.py", source.words = std::move(words);
  const auto launch = read_launch_text(deepseek + statements + "    return cfg\n", "run.py", source);
  const auto reading = launch ? read_meaning(*launch, LaunchHints{}) : tl::unexpected(launch.error());
  if (!reading) return to_text(reading.error());
  const auto layout = reading->request.said().find("layout");
  return layout == reading->request.said().end() ? "none" : layout->second.text;
}

/// "Etttt|tttt|tmL": so many stages, a predictor and the loss on the last.
std::string table_of(int stages, const std::string& each, const std::string& last) {
  std::string text = "E";
  for (int stage = 1; stage < stages; ++stage) text += each + "|";
  return text + last + "mL";
}

/// The last word on the layers of stages counts: a text, the table's by a call, or what words behind the recipe say.
TEST(PythonRecipes, ALayoutThatIsToldGoesOverTheTables) {
  const std::string set = "    set_deepseek_v3_pipeline_model_parallel_layout(cfg.model",
                    field = "    cfg.model.pipeline_model_parallel_layout = ", own = "Ettt|(tttt|)*14ttmL",
                    text = "\"" + own + "\"", table = table_of(16, "tttt", "t");
  EXPECT_EQ(laid_out(set + ")\n"), table);
  EXPECT_EQ(laid_out(set + ")\n" + field + text + "\n"), own);
  EXPECT_EQ(laid_out(field + text + "\n" + set + ")\n"), table);
  EXPECT_EQ(laid_out(set + ", " + text + ")\n"), own);
  EXPECT_EQ(laid_out(set + ", layout=" + text + ")\n"), own);
  EXPECT_EQ(laid_out(set + ", None, mtp_standalone=False)\n"), table);
  EXPECT_THAT(laid_out(set + ", mtp_standalone=True)\n"), HasSubstr("mtp_standalone true is not read"));
  EXPECT_EQ(laid_out(field + "_get_deepseek_v3_pipeline_layout(16, 1)\n"), table);
  EXPECT_EQ(laid_out(field + "_get_deepseek_v3_pipeline_layout(16, 1)\n" + field + text + "\n"), own);
  EXPECT_THAT(laid_out(field + "_get_deepseek_v3_pipeline_layout(16, 1, two)\n"), HasSubstr("that is not read"));
  EXPECT_THAT(laid_out(field + "laid_out_by_hand()\n"), HasSubstr("what lays layers on stages is not known"));
  EXPECT_EQ(laid_out(set + ")\n", {"model.pipeline_model_parallel_layout=" + own}), own);
}

/// Stages that change behind the call keep the layout, and only words behind the recipe have it made again.
TEST(PythonRecipes, ALayoutIsOfTheStagesOfItsCall) {
  const std::string set = "    set_deepseek_v3_pipeline_model_parallel_layout(cfg.model)\n",
                    eight = "    cfg.model.pipeline_model_parallel_size = 8\n",
                    field = "    cfg.model.pipeline_model_parallel_layout = _get_deepseek_v3_pipeline_layout(16, 1)\n";
  EXPECT_EQ(laid_out(eight + set), table_of(8, "tttttttt", "ttttt"));
  EXPECT_THAT(laid_out(set + eight), HasSubstr("stands behind the layout"));
  EXPECT_THAT(laid_out(field + eight), HasSubstr("is called for 16 stages of 1 chunks, and the recipe has 8 of 1"));
  EXPECT_EQ(laid_out(set, {"model.pipeline_model_parallel_size=8"}), table_of(8, "tttttttt", "ttttt"));
  EXPECT_THAT(laid_out(set, {"model.pipeline_model_parallel_size=6"}), HasSubstr("has no layout for 6 stages"));
}

/// Gradients are summed in 32 bits unless the precision settings say otherwise, whatever DDP is told; Kimi's optimizers
/// say it.
TEST(PythonRecipes, GradientsOfBridgeAreWide) {
  const auto bytes = [](const std::string& more) {
    const auto launch = read_in(bridge + more + "    return cfg\n", "run.py");
    const auto reading = launch ? read_meaning(*launch, LaunchHints{}) : tl::unexpected(launch.error());
    return reading ? fmt::format("{}", reading->request.stack->row.gradient_bytes) : to_text(reading.error());
  };
  const std::string made = "    cfg.mixed_precision = MixedPrecisionConfig(bf16=True, grad_reduce_in_fp32=False)\n";
  EXPECT_EQ(bytes(""), "4");
  EXPECT_EQ(bytes("    cfg.mixed_precision = bf16_mixed()\n"), "4");
  EXPECT_EQ(bytes("    cfg.ddp.grad_reduce_in_fp32 = False\n"), "4");
  EXPECT_EQ(bytes(made), "2");
  EXPECT_EQ(bytes(made + "    _apply_kimi_k2_optimizer(cfg, \"adam\")\n"), "2");
  EXPECT_EQ(bytes(made + "    _apply_kimi_k2_optimizer(cfg, \"muon\")\n"), "4");
}

/// Words that choose the function are no argument of it, and those that only begin alike are.
TEST(PythonRecipes, WordsThatChooseAFunctionAreNotRead) {
  EXPECT_THAT(notes_of_bridge({"--config", "run_8gpu_h100_config"}),
      AllOf(HasSubstr("what _pretrain_common sets is taken"), Not(HasSubstr("<config>"))));
  EXPECT_THAT(notes_of_bridge({"recipe=run_8gpu_h100_config"}),
      AllOf(HasSubstr("what _pretrain_common sets is taken"), Not(HasSubstr("<recipe>"))));
  EXPECT_THAT(notes_of_bridge({"--recipe_scale", "3"}), HasSubstr("<recipe_scale>"));
}

/// Pretraining takes 32,000 words of an empty tokenizer: all sizes are then those of Mistral 7B, and the network is
/// not.
TEST(PythonRecipes, ANamedNetworkWithOtherWordsKeepsItsName) {
  const std::string llama = "def run_8gpu_h100_config() -> ConfigContainer:\n    cfg = _pretrain_common()\n"
                            "    cfg.model = AutoBridge.from_hf_pretrained('meta-llama/Meta-Llama-3-8B')"
                            ".to_megatron_provider(load_weights=False)\n"
                            "    cfg.tokenizer.vocab_size = DEFAULT_NULL_TOKENIZER_VOCAB_SIZE\n";
  const auto network = [](const std::string& text) {
    const auto launch = read_in(text, "run.py");
    LaunchHints hints;
    const auto reading = launch ? read_meaning(*launch, hints) : tl::unexpected(launch.error());
    if (!reading) return to_text(reading.error());
    return fmt::format("{} / {}", reading->request.network->row.name, reading->request.network->row.vocab);
  };
  EXPECT_EQ(network(llama + "    return cfg\n"), "Llama 3 8B with a vocabulary of 32000 / 32000");
  EXPECT_EQ(
      network(llama + "    cfg.tokenizer.use_tokenizer_vocab_size = False\n    return cfg\n"), "Llama 3 8B / 128256");
}

TEST(PythonRecipes, ADefinitionOfAParameterHasAValueThatCanBe) {
  const auto of_tp = [](const std::string& value) {
    LaunchSource source;
    source.flag = find_launch_flag("--megatron");
    source.file = "run.py", source.defined["tp"] = value;
    const auto launch = read_launch_text("def run_8gpu_h100_config(tp: int = 2) -> ConfigContainer:\n"
                                         "    cfg = _pretrain_common()\n"
                                         "    cfg.model = AutoBridge.from_hf_pretrained('Qwen/Qwen3-8B')"
                                         ".get_model_config()\n"
                                         "    cfg.model.tensor_model_parallel_size = tp\n    return cfg\n",
        "run.py", source);
    const auto reading = launch ? read_meaning(*launch, LaunchHints{}) : tl::unexpected(launch.error());
    return reading ? fmt::format("tp {}", reading->request.said().at("tp").text) : to_text(reading.error());
  };
  EXPECT_EQ(of_tp("4"), "tp 4");
  EXPECT_THAT(of_tp("-4"), HasSubstr("-4 is below 0"));
  EXPECT_THAT(of_tp(""), HasSubstr("tp of run.py has no value"));
}

}  // namespace
}  // namespace stepcast::launch
