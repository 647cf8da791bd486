// Every argument of a launch: what it means, and that its figures are those of two predictions.
#include <algorithm>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/launch/facts/argument_words.h"
#include "studies/launch/asked_run.h"
#include "studies/launch/rules/explain.h"
#include "studies/run/figures/collectives.h"
#include "studies/print/table.h"
#include "studies/run/forecast.h"
#include "tests/studies/launch/typed_launch.h"

namespace stepcast::launch {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing_launch::changed_launch;
using testing_launch::quiet_megatron;
using testing_launch::typed_launch;

const ExplainedArgument& explained_of(const ExplainedLaunch& explained, const std::string& name) {
  for (const ExplainedArgument& argument : explained.arguments)
    if (argument.given.name == name) return argument;
  throw std::runtime_error("no " + name);
}

ExplainedLaunch explained(const Launch& launch) { return explain_launch(launch, {}, {}); }

struct Figures3 {
  double time = 0, memory = 0, moved = 0;
};

/// As predict does: meaning, flags over it, resolved, forecast.
Expected<Figures3> predicted(const Launch& launch, const LaunchHints& hints, const Arguments& over) {
  auto reading = read_meaning(launch, hints);
  if (!reading) return tl::unexpected(reading.error());
  if (auto taken = take_flags(reading->request, over); !taken) return tl::unexpected(taken.error());
  const auto scenario = complete(reading->request);
  if (!scenario) return tl::unexpected(scenario.error());
  const auto prediction = run::predict(*scenario);
  if (!prediction) return tl::unexpected(prediction.error());
  double moved = 0;
  for (const CollectiveReport& one : prediction->step.collectives)
    if (one.stage == prediction->step.slowest_stage) moved += one.bytes.value() * one.count;
  return Figures3{prediction->step.step_time.value(), prediction->step.memory.peak.value(), moved};
}

void expect_two_predictions(const Launch& launch, const LaunchHints& hints, const Arguments& over) {
  const ExplainedLaunch all = explain_launch(launch, hints, over);
  ASSERT_TRUE(all.prediction) << (all.refusal ? to_text(*all.refusal) : "");
  const auto base = predicted(launch, hints, over);
  ASSERT_TRUE(base);
  int compared = 0, refused = 0;
  for (const ExplainedArgument& argument : all.arguments) {
    if (!argument.effect) continue;
    // The launch typed anew without it, not the library's own removal.
    Launch other = launch;
    std::erase_if(other.arguments, [&](const GivenArgument& given) { return given.name == argument.given.name; });
    const auto without = predicted(other, hints, over);
    EXPECT_EQ(argument.effect->with_time.value(), base->time) << argument.given.name;
    EXPECT_EQ(argument.effect->with_memory.value(), base->memory) << argument.given.name;
    EXPECT_NEAR(argument.effect->with_moved.value(), base->moved, 1e-9 * base->moved) << argument.given.name;
    EXPECT_EQ(argument.effect->why_not.empty(), without.has_value()) << argument.given.name;
    if (!without) {
      EXPECT_EQ(argument.effect->why_not, without.error().what) << argument.given.name;
      ++refused;
      continue;
    }
    EXPECT_EQ(argument.effect->without_time.value(), without->time) << argument.given.name;
    EXPECT_EQ(argument.effect->without_memory.value(), without->memory) << argument.given.name;
    EXPECT_NEAR(argument.effect->without_moved.value(), without->moved, 1e-9 * without->moved) << argument.given.name;
    ++compared;
  }
  EXPECT_GE(compared, 15);
  EXPECT_GE(refused, 4);  // layers, hidden size, heads, ... cannot be left out
}

TEST(ExplainLaunch, WithAndWithoutAreTwoPredictions) { expect_two_predictions(quiet_megatron(), {}, {}); }

TEST(ExplainLaunch, FlagsBesideTheLaunchHoldForBoth) {
  Arguments over;
  over.flags["--machine"] = "dgx-a100";
  over.flags["--gpus"] = "64";
  LaunchHints hints;
  hints.gpus = 64;
  Launch launch = quiet_megatron();
  launch.gpus = launch.gpus_per_node = 0;
  expect_two_predictions(launch, hints, over);
  const ExplainedLaunch all = explain_launch(launch, hints, over);
  ASSERT_TRUE(all.scenario);
  EXPECT_EQ(all.scenario->machine.id, "dgx-a100");
  EXPECT_EQ(all.scenario->plan.gpus, 64);
}

TEST(ExplainLaunch, TensorParallelismIsItsLinesOfTheMapping) {
  const ExplainedLaunch all = explained(quiet_megatron());
  const ExplainedArgument& tp = explained_of(all, "tensor_model_parallel_size");
  EXPECT_EQ(tp.reach, Reach::step);
  EXPECT_THAT(tp.meaning, testing::StartsWith("tp 2: "));
  EXPECT_THAT(tp.mapping, Contains("+ par g*r on tp"));
  EXPECT_THAT(tp.mapping, Contains("- mesh tp:1 cp:1 dp:16 pp:2"));
  EXPECT_THAT(
      explained_of(all, "use_distributed_optimizer").mapping, testing::ElementsAre("+ home optimizer: * on dp*cp"));
  // a way of the software, not of the mapping
  EXPECT_THAT(explained_of(all, "overlap_grad_reduce").mapping, IsEmpty());
}

TEST(ExplainLaunch, OfARunThatCannotBeWithoutItTheReasonIsSaid) {
  // 31 layers go on two stages of 16 only because the embedding counts as one of them.
  const ExplainedLaunch all =
      explained(changed_launch(quiet_megatron(), "--num-layers 31 --account-for-embedding-in-pipeline-split"));
  ASSERT_TRUE(all.prediction) << to_text(*all.refusal);
  EXPECT_THAT(explained_of(all, "account_for_embedding_in_pipeline_split").effect->why_not, HasSubstr("31"));
  EXPECT_THAT(explained_of(all, "num_layers").effect->why_not, HasSubstr("layers"));
}

TEST(ExplainLaunch, WithoutAForecastEveryArgumentIsStillExplained) {
  const Launch launch = changed_launch(quiet_megatron(), "--num-layers 31 --lr 1e-4");
  const ExplainedLaunch all = explained(launch);
  EXPECT_FALSE(all.prediction);
  ASSERT_TRUE(all.refusal);
  EXPECT_THAT(to_text(*all.refusal), HasSubstr("31"));
  EXPECT_EQ(all.arguments.size(), launch.arguments.size());
  for (const ExplainedArgument& argument : all.arguments) EXPECT_FALSE(argument.meaning.empty()) << argument.given.name;
  // One stage takes any number of layers.
  EXPECT_THAT(explained_of(all, "pipeline_model_parallel_size").said,
      Contains(HasSubstr("without it the launch can be forecast")));
  EXPECT_THAT(explained_of(all, "hidden_size").said, Not(Contains(HasSubstr("without it"))));
  std::vector<std::string> texts;
  for (const Interaction& interaction : all.interactions) texts.push_back(interaction.text);
  EXPECT_THAT(texts, Contains(HasSubstr("31 layers do not divide over pp 2")));
}

struct DoubtCase {
  const char *changes, *name, *text;
  Reach reach;
};

TEST(ExplainLaunch, DoubtsAreSaid) {
  const DoubtCase cases[] = {
      {"--tensor-modl-parallel-size 2", "tensor_modl_parallel_size", "near it: --tensor-model-parallel-size",
          Reach::uncovered},
      {"--qqqq 2", "qqqq", "not known of any release of Megatron-LM", Reach::nothing},
      {"--checkpoint-activations", "checkpoint_activations", "gone with 23.04; --recompute-granularity took its place",
          Reach::step},
      {"--model-parallel-size 2", "model_parallel_size",
          "known of 1.0, gone with 2.0; --tensor-model-parallel-size took its place", Reach::nothing},
      {"--model-parallel-size 2", "model_parallel_size", "overruled by --tensor-model-parallel-size", Reach::nothing},
      {"--context-parallel-size 1", "context_parallel_size", "anyway", Reach::step},
      {"--num-experts None", "num_experts", "says nothing, as if it were left out", Reach::nothing},
      {"--recompute-granularity fulll", "recompute_granularity", "'fulll' is none of its values", Reach::step},
      {"--train_micro_batch_size_per_gpu 1", "train_micro_batch_size_per_gpu",
          "an argument of Megatron-DeepSpeed, DeepSpeed", Reach::uncovered},
  };
  for (const DoubtCase& row : cases) {
    const ExplainedLaunch all = explained(changed_launch(quiet_megatron(), row.changes));
    const ExplainedArgument& argument = explained_of(all, row.name);
    EXPECT_THAT(argument.said, Contains(HasSubstr(row.text))) << row.name;
    if (row.reach != Reach::uncovered) {
      EXPECT_EQ(argument.reach, row.reach) << row.name;
    }
  }
}

TEST(ExplainLaunch, WhatPredictRefusesIsSaidBesideTheForecastOfTheRest) {
  const ExplainedLaunch all = explained(changed_launch(quiet_megatron(), "--wibble 3 --tensor-modl-parallel-size 8"));
  ASSERT_TRUE(all.prediction && all.refusal);
  EXPECT_THAT(all.refusal->what, HasSubstr("2 arguments may change the run"));
  EXPECT_FALSE(explained(quiet_megatron()).refusal);
}

TEST(ExplainLaunch, OfTwoTheLastCounts) {
  Launch launch = quiet_megatron();
  GivenArgument first = launch.arguments.back();  // --global-batch-size 128
  first.value = "256";
  first.line = 3;
  launch.arguments.back().line = 40;
  launch.arguments.insert(launch.arguments.begin(), first);
  const ExplainedLaunch all = explained(launch);
  ASSERT_TRUE(all.scenario);
  EXPECT_EQ(all.scenario->plan.global_batch, 128);
  EXPECT_THAT(all.arguments.front().said, Contains("given again in line 40, which counts"));
  EXPECT_EQ(all.arguments.front().reach, Reach::nothing);
  EXPECT_FALSE(all.arguments.front().effect);
  ASSERT_TRUE(all.arguments.back().effect);  // both go for the run without: one micro-batch
  EXPECT_THAT(all.arguments.back().mapping, Contains("- par layer on pp sched 1f1b for mb:1"));
}

TEST(ExplainLaunch, AReleaseDecidesWhatIsKnownAndUsual) {
  Launch launch = changed_launch(quiet_megatron(), "--use-megatron-fsdp");
  launch.release = "core 0.8.0";
  EXPECT_THAT(argument_doubts(launch, *launch.find("use_megatron_fsdp")),
      Contains("release core 0.8.0 does not know it yet: it came with core 0.14.0"));
  launch = changed_launch(quiet_megatron(), "--context-parallel-size 1");
  launch.release = "core 0.8.0";
  EXPECT_THAT(
      argument_doubts(launch, *launch.find("context_parallel_size")), Contains("the default of core 0.8.0 anyway"));
}

TEST(ExplainLaunch, VariablesThatNothingSets) {
  Launch launch = changed_launch(quiet_megatron(), "--data-path $DATA");
  launch.arguments.back().unset = {"DATA"};
  const ExplainedLaunch harmless = explained(launch);
  EXPECT_TRUE(harmless.prediction);
  EXPECT_THAT(explained_of(harmless, "data_path").said, Contains("hangs on $DATA, which nothing sets"));
  launch = changed_launch(quiet_megatron(), "--micro-batch-size $MBS");
  launch.arguments.back().unset = {"MBS"};
  const ExplainedLaunch without_batch = explained(launch);
  ASSERT_TRUE(without_batch.refusal);
  EXPECT_THAT(to_text(*without_batch.refusal), HasSubstr("MBS"));
}

TEST(ExplainLaunch, WithoutAReleaseItIsTheNewestThatKnowsAll) {
  // Gone in the newest release, but not in those that know the launch's other arguments.
  const ExplainedLaunch all = explained(typed_launch("--num-layers 32 --model-parallel-size 2"));
  EXPECT_EQ(all.last_release, "1.0");
  EXPECT_THAT(explained_of(all, "model_parallel_size").said,
      Contains("gone with 2.0; --tensor-model-parallel-size took its place"));
}

TEST(ExplainLaunch, ReleasesThatKnowAll) {
  const Launch launch = quiet_megatron();
  const ExplainedLaunch all = explained(launch);
  const auto releases = launch.framework->table().releases();
  EXPECT_EQ(all.last_release, releases.back().id);
  EXPECT_NE(all.first_release, releases.front().id);  // RMSNorm came later than 1.0
  EXPECT_EQ(explained(changed_launch(quiet_megatron(), "--model-parallel-size 2")).first_release, "");
}

std::string page_of(const Launch& launch) {
  std::ostringstream out, err;
  return explained_text(explained(launch), Console{out, err, false, true});
}

TEST(ExplainLaunchText, GroupsByReachWithinTheColumns) {
  const Launch launch = changed_launch(quiet_megatron(),
      "--lr 1e-4 --save /a/long/path/that/goes/on/and/on/and/on/to/the/end/of/it/checkpoints "
      "--transformer-impl local --global-batch-size 32");
  const std::string text = page_of(launch);
  const auto at = [&](const char* heading) { return text.find(std::string("\n") + heading); };
  for (const char* heading : {"What does not go together", "What shapes the step",
           "What touches the step and is not forecast", "Beside the step", "Without effect on the step"})
    EXPECT_NE(at(heading), std::string::npos) << heading;
  EXPECT_LT(at("What shapes the step"), text.find("  --tensor-model-parallel-size 2"));
  EXPECT_LT(at("What touches the step"), text.find("  --transformer-impl local"));
  EXPECT_LT(at("Beside the step"), text.find("  --save /a/"));
  EXPECT_LT(at("Without effect"), text.find("  --lr 1e-4"));
  EXPECT_THAT(text, HasSubstr("      + par g*r on tp\n"));
  EXPECT_THAT(text, HasSubstr("mind:  4 micro-batches on 2 stages"));
  EXPECT_THAT(text, HasSubstr("forecast: "));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(shown_width(line), 100U) << line;
}

TEST(ExplainLaunchText, WhatNobodyKnowsStandsApart) {
  const std::string text = page_of(changed_launch(quiet_megatron(), "--lr 1e-4 --my-own-switch"));
  EXPECT_LT(text.find("\nNot known  "), text.find("\n  --my-own-switch "));
  EXPECT_LT(text.find("\n  --my-own-switch "), text.find("\nWithout effect on the step"));
  EXPECT_THAT(page_of(quiet_megatron()), Not(HasSubstr("\nNot known")));
  Launch cut = quiet_megatron();
  cut.arguments.push_back({"lr_decay_style", "--lr-decay-style", "two\nlines", 99, {}});
  EXPECT_THAT(page_of(cut), HasSubstr("--lr-decay-style two lines"));
}

TEST(ExplainLaunchText, WithoutAForecastItSaysWhy) {
  EXPECT_THAT(page_of(changed_launch(quiet_megatron(), "!--seq-length")), HasSubstr("no forecast: "));
}

TEST(ExplainLaunchJson, FiguresInBaseUnits) {
  const Launch launch = changed_launch(quiet_megatron(), "--lr 1e-4 --qqqq 2");
  const ExplainedLaunch all = explained(launch);
  const auto document = nlohmann::json::parse(explained_json(all));
  EXPECT_EQ(document.at("launch").at("framework"), "megatron-lm");
  EXPECT_EQ(document.at("forecast").at("step_s"), all.prediction->step.step_time.value());
  EXPECT_EQ(document.at("arguments").size(), launch.arguments.size());
  std::map<std::string, nlohmann::json> by_name;
  for (const auto& argument : document.at("arguments")) by_name[argument.at("name")] = argument;
  const auto& tp = by_name.at("tensor_model_parallel_size");
  const ArgumentEffect& effect = *explained_of(all, "tensor_model_parallel_size").effect;
  EXPECT_EQ(tp.at("effect").at("with_step_s"), effect.with_time.value());
  EXPECT_EQ(tp.at("effect").at("without_step_s"), effect.without_time.value());
  EXPECT_EQ(tp.at("effect").at("without_peak_bytes"), effect.without_memory.value());
  EXPECT_EQ(tp.at("effect").at("with_received_bytes"), effect.with_moved.value());
  EXPECT_EQ(tp.at("asks"), "tp");
  EXPECT_FALSE(by_name.at("num_layers").at("effect").contains("without_step_s"));
  EXPECT_TRUE(by_name.at("num_layers").at("effect").contains("why_not_without"));
  EXPECT_EQ(by_name.at("lr").at("reach"), "nothing");
  EXPECT_EQ(by_name.at("qqqq").at("known"), false);
}

}  // namespace
}  // namespace stepcast::launch
