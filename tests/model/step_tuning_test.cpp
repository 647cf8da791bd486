// Step parameters: which values are in force, where they come from, and what a file may hold.

#include <gtest/gtest.h>

#include <cmath>

#include "model/catalog.h"
#include "model/expert_launch.h"
#include "model/step_tuning.h"
#include "model/untold_stack.h"

namespace stepcast {
namespace {

StepFit fit_for(const std::string& stack, Precision precision, double products) {
  StepFit fit;
  fit.stack = stack, fit.precision = precision;
  fit.values = {{StepParameter::products, products}};
  fit.runs = 3, fit.groups = 2, fit.left_out = "model", fit.mape = 0.02, fit.held_out_mape = 0.04;
  fit.spread = {0.95, 1.06};
  fit.gpus = {"h100-sxm"};
  fit.source = "somebody's runs";
  return fit;
}

Profile with_fits(std::vector<StepFit> fits) {
  Profile profile = **find_row(built_in().profiles, "h100-sxm", "profile");
  profile.steps = std::move(fits);
  return profile;
}

const Stack& core() { return **find_row(built_in().stacks, "megatron-core", "stack"); }

TEST(StepTuning, NeutralValuesAreTheRowsOwn) {
  const Profile profile = with_fits({});
  const StepTuning tuning = neutral_tuning(core(), profile);
  EXPECT_EQ(tuning[StepParameter::products], 1);
  EXPECT_EQ(tuning[StepParameter::contention], profile.overlap.compute_slowdown);
  EXPECT_EQ(tuning[StepParameter::host_per_launch], core().host_per_launch.value());
  EXPECT_EQ(tuning[StepParameter::kernel_gap], core().launch_gap.value());
  EXPECT_FALSE(tuning.fitted());
}

TEST(StepTuning, TheOwnFitComesBeforeAnotherPrecisionAndAnotherStack) {
  const Profile all = with_fits({fit_for("nemo", Precision::bf16, 1.1), fit_for("megatron-core", Precision::fp16, 1.2),
      fit_for("megatron-core", Precision::bf16, 1.3)});
  EXPECT_EQ(find_step_fit(all, core(), Precision::bf16, false).fit->values[0].value, 1.3);
  EXPECT_FALSE(find_step_fit(all, core(), Precision::bf16, false).borrowed);
  const Profile fewer = with_fits({fit_for("nemo", Precision::bf16, 1.1)});
  // another software's counts as much as what is usual anywhere, 1.06
  EXPECT_NEAR(find_step_fit(fewer, core(), Precision::bf16, false).fit->values[0].value, std::sqrt(1.1 * 1.06), 1e-12);
  EXPECT_TRUE(find_step_fit(fewer, core(), Precision::bf16, false).borrowed);
  const Profile narrow =
      with_fits({fit_for("nemo", Precision::bf16, 1.1), fit_for("megatron-core", Precision::fp8, 1.2)});
  EXPECT_EQ(find_step_fit(narrow, core(), Precision::bf16, false).fit->values[0].value, 1.2)
      << "the own software in fp8 comes first";
}

TEST(StepTuning, AFitTogetherIsTheOwnFitOfBoth) {
  const Stack& eager = **find_row(built_in().stacks, "pytorch-fsdp-eager", "stack");
  ASSERT_EQ(eager.fitted_with, "pytorch-fsdp");
  const Profile profile =
      with_fits({fit_for("llm-foundry", Precision::bf16, 1.1), fit_for("pytorch-fsdp", Precision::bf16, 1.3)});
  const FoundFit found = find_step_fit(profile, eager, Precision::bf16, false);
  EXPECT_EQ(found.fit->values[0].value, 1.3);
  EXPECT_FALSE(found.borrowed);
}

TEST(StepTuning, WhereNothingIsNearTheMeanOfAllSoftwareHolds) {
  StepFit many = fit_for("nemo", Precision::fp8, 1.2), few = fit_for("jax", Precision::bf16, 1.0);
  many.groups = 9, few.groups = 1;
  const FoundFit found = find_step_fit(with_fits({many, few}), core(), Precision::fp32, false);
  ASSERT_TRUE(found.fit.has_value());
  // each software counts once, and what is usual anywhere (1.06) like four and a half
  EXPECT_NEAR(found.fit->values[0].value, std::exp((std::log(1.2) + 0 + 4.5 * std::log(1.06)) / 6.5), 1e-12);
  EXPECT_TRUE(found.borrowed);
  EXPECT_LT(found.fit->spread.p10, 0.91) << "two say less than the four that this holds for";
  const FoundFit routed = find_step_fit(with_fits({many}), core(), Precision::bf16, true);
  ASSERT_TRUE(routed.fit.has_value()) << "also of experts";
  EXPECT_GT(routed.fit->spread.p90, found.fit->spread.p90) << "which differ more between software";
}

/// On a GPU without a measured step dense networks take what is usual anywhere, with no narrower interval than the
/// profile's; of experts nothing is usual there.
TEST(StepTuning, WhereNoStepWasMeasuredWhatIsUsualAnywhereHolds) {
  Profile none = with_fits({});
  none.step_spread = {0.5, 2};
  const FoundFit found = find_step_fit(none, core(), Precision::bf16, false);
  ASSERT_TRUE(found.fit.has_value());
  EXPECT_NEAR(found.fit->values[0].value, 1.06, 1e-12);
  EXPECT_EQ(found.fit->runs, 0);
  EXPECT_EQ(found.fit->spread.p10, 0.5);
  EXPECT_EQ(found.fit->spread.p90, 2);
  none.step_spread = {1, 1};
  const Spread own = find_step_fit(none, core(), Precision::bf16, false).fit->spread;
  const Spread known =
      find_step_fit(with_fits({fit_for("nemo", Precision::fp8, 1.06)}), core(), Precision::fp32, false).fit->spread;
  EXPECT_LT(own.p10, known.p10);
  EXPECT_GT(own.p90, known.p90);
  EXPECT_FALSE(find_step_fit(none, core(), Precision::bf16, true).fit.has_value());
}

TEST(StepTuning, StepsOfOneGpuSayNothingOfOtherSoftware) {
  StepFit many = fit_for("nemo", Precision::fp8, 1.2), one = fit_for("pytorch", Precision::bf16, 0.98);
  many.groups = 3, one.groups = 30, many.most_gpus = 1024, one.most_gpus = 1;
  Stack stack;
  stack.id = "megatron-core";
  const auto without = find_step_fit(with_fits({many}), stack, Precision::bf16, false);
  const auto with = find_step_fit(with_fits({many, one}), stack, Precision::bf16, false);
  ASSERT_TRUE(with.fit && without.fit);
  EXPECT_EQ(with.fit->values[0].value, without.fit->values[0].value);
  EXPECT_EQ(with.fit->spread.p90, without.fit->spread.p90);
  stack.id = "pytorch";
  EXPECT_EQ(find_step_fit(with_fits({many, one}), stack, Precision::bf16, false).fit->values[0].value, 0.98);
}

TEST(StepTuning, OfAnotherSoftwareOnlyWhatItSaysOfKernelsHolds) {
  StepFit fit = fit_for("nemo", Precision::bf16, 1.1);
  fit.values.push_back({StepParameter::activation_moves, 0.5});
  const Profile profile = with_fits({fit});
  const FoundFit found = find_step_fit(profile, core(), Precision::bf16, false);
  ASSERT_TRUE(found.fit.has_value());
  const StepTuning tuning = tuning_of(core(), profile, &*found.fit);
  EXPECT_NEAR(tuning[StepParameter::products], std::sqrt(1.1 * 1.06), 1e-12);
  EXPECT_EQ(tuning[StepParameter::activation_moves], 1);
  EXPECT_GT(tuning.spread.p90, fit.spread.p90);
}

/// Of software that nobody named even the fit of the row that stands for it is another's: what it says of kernels, less
/// surely.
TEST(StepTuning, UnnamedSoftwareIsForecastByAnothersLessSurely) {
  const Profile profile = with_fits({fit_for("nemo", Precision::bf16, 1.1)});
  const Stack unnamed = as_untold(core());
  const FoundFit known = find_step_fit(profile, core(), Precision::bf16, false),
                 found = find_step_fit(profile, unnamed, Precision::bf16, false);
  ASSERT_TRUE(known.fit && found.fit);
  EXPECT_EQ(found.fit->values[0].value, known.fit->values[0].value);
  EXPECT_LT(found.fit->spread.p10, known.fit->spread.p10);
  EXPECT_GT(found.fit->spread.p90, known.fit->spread.p90);
  EXPECT_FALSE(find_step_fit(with_fits({}), unnamed, Precision::bf16, true).fit.has_value());

  const Profile own = with_fits({fit_for("megatron-core", Precision::bf16, 1.1)});
  EXPECT_EQ(find_step_fit(own, core(), Precision::bf16, false).fit->values[0].value, 1.1);
  const FoundFit foreign = find_step_fit(own, unnamed, Precision::bf16, false);
  EXPECT_TRUE(foreign.fit->foreign);
  EXPECT_NEAR(foreign.fit->values[0].value, std::sqrt(1.1 * 1.06), 1e-12);

  // A fit of experts that could leave out no publication is widened where its software is known.
  StepFit routed = fit_for("megatron-core", Precision::bf16, 1.1);
  routed.experts = true;
  const Profile with_experts = with_fits({routed});
  const FoundFit named = find_step_fit(with_experts, core(), Precision::bf16, true),
                 guessed = find_step_fit(with_experts, unnamed, Precision::bf16, true);
  EXPECT_LE(guessed.fit->spread.p10, named.fit->spread.p10);
  EXPECT_GE(guessed.fit->spread.p90, named.fit->spread.p90);
}

/// Own fits of experts: by as much as publications differ where none was left out, else by what releases do.
TEST(StepTuning, ExpertsAreWidenedByWhatTheirHoldOutLacks) {
  StepFit routed = fit_for("nemo", Precision::bf16, 1.1);
  routed.experts = true, routed.left_out = "release";
  routed.spread = {std::exp(-0.05), std::exp(0.05)};
  const Stack& nemo = **find_row(built_in().stacks, "nemo", "stack");
  const auto width = [&] {
    return std::log(find_step_fit(with_fits({routed}), nemo, Precision::bf16, true).fit->spread.p90);
  };
  EXPECT_NEAR(width(), 0.13, 1e-9);  // sqrt(0.05^2 + 0.12^2)
  routed.left_out = "source";
  EXPECT_NEAR(width(), std::sqrt(0.05 * 0.05 + 0.06 * 0.06), 1e-9);
}

/// Where experts run one by one, of software without a fit; a dense network's launches are the row's, and a fit's own
/// word stands.
TEST(StepTuning, LaunchesBetweenExpertsAreTypicalOnes) {
  const double typical = row_of(StepParameter::host_per_launch).typical;
  ASSERT_GT(typical, core().host_per_launch.value());
  const Profile dense = with_fits({fit_for("llm-foundry", Precision::bf16, 1.1)});
  const auto launch = [](const Profile& profile, bool experts) {
    const FoundFit found = find_step_fit(profile, core(), Precision::bf16, experts);
    return tuning_of(core(), profile, &*found.fit)[StepParameter::host_per_launch];
  };
  EXPECT_EQ(launch(dense, true), typical);
  EXPECT_EQ(launch(dense, false), core().host_per_launch.value());
  StepFit routed = fit_for("nemo", Precision::bf16, 1.1);
  routed.experts = true;
  routed.values.push_back({StepParameter::host_per_launch, 20e-6});
  EXPECT_EQ(launch(with_fits({routed}), true), 20e-6);
  Stack whole = core();
  whole.calls_per_expert = 0;
  EXPECT_EQ(launch_with_experts(whole), whole.host_per_launch.value()) << "one kernel for all experts";
}

TEST(StepTuning, AttentionOfAnotherSoftwareIsWhatIsUsual) {
  StepFit one = fit_for("pytorch-fsdp", Precision::bf16, 1.1), other = fit_for("jax", Precision::bf16, 1.1);
  one.values.push_back({StepParameter::attention, 1.6}), other.values.push_back({StepParameter::attention, 1.25});
  const Stack& foundry = **find_row(built_in().stacks, "llm-foundry", "stack");
  const auto attention = [&](std::vector<StepFit> fits) {
    const Profile profile = with_fits(std::move(fits));
    const FoundFit found = find_step_fit(profile, foundry, Precision::bf16, false);
    return tuning_of(foundry, profile, &*found.fit)[StepParameter::attention];
  };
  // Kernels are each software's choice: the mean of two and of the law itself, not that of the nearest.
  EXPECT_NEAR(attention({one, other}), std::cbrt(1.6 * 1.25 * 1), 1e-12);
  EXPECT_NEAR(attention({one}), std::sqrt(1.6 * 1), 1e-12);
  StepFit own = one;
  own.stack = "llm-foundry";
  EXPECT_EQ(attention({own, other}), 1.6);
}

TEST(StepTuning, AnotherGpuWidensInQuadrature) {
  StepFit fit = fit_for("megatron-core", Precision::bf16, 1.1);
  fit.spread = {std::exp(-0.036), std::exp(0.036)};
  const Gpu &from = **find_row(built_in().gpus, "h100-sxm", "GPU"),
            &to = **find_row(built_in().gpus, "h200-sxm", "GPU");
  // sqrt(0.036^2 + 0.077^2) = 0.0850
  EXPECT_NEAR(std::log(scaled_profile(with_fits({fit}), from, to).steps[0].spread.p90), 0.085, 1e-4);
  EXPECT_EQ(scaled_profile(with_fits({fit}), from, from).steps[0].spread.p90, fit.spread.p90);
}

TEST(StepTuning, IntervalsWidenWithWhatNobodyMeasured) {
  StepFit fit = fit_for("nemo", Precision::bf16, 1.1), own = fit_for("megatron-core", Precision::bf16, 1.1);
  const auto width = [](const Profile& profile, Precision precision) {
    const Spread spread = find_step_fit(profile, core(), precision, false).fit->spread;
    return std::log(spread.p90 / spread.p10);
  };
  const double measured = width(with_fits({fit, own}), Precision::bf16);
  const double other_precision = width(with_fits({fit, own}), Precision::fp16);
  const double one_software = width(with_fits({fit}), Precision::bf16);
  const double two_software = width(with_fits({fit, fit_for("jax", Precision::bf16, 1.2)}), Precision::bf16);
  EXPECT_NEAR(measured, std::log(1.06 / 0.95), 1e-12);
  EXPECT_GT(other_precision, measured);
  EXPECT_GT(two_software, other_precision);
  EXPECT_GT(one_software, two_software) << "the fewer there are to go by";
}

TEST(StepTuning, FitsAreKeptInTheProfile) {
  const Profile profile = with_fits({fit_for("nemo", Precision::fp8, 1.1)});
  const auto again = read_profile(write_profile(profile), "p.json");
  ASSERT_TRUE(again.has_value()) << to_text(again.error());
  ASSERT_EQ(again->steps.size(), 1u);
  const StepFit& fit = again->steps[0];
  EXPECT_EQ(fit.stack, "nemo");
  EXPECT_EQ(fit.precision, Precision::fp8);
  EXPECT_EQ(fit.values[0].value, 1.1);
  EXPECT_EQ(fit.spread.p90, 1.06);
  EXPECT_EQ(fit.left_out, "model");
  EXPECT_EQ(fit.held_out_mape, 0.04);
}

TEST(StepTuning, PairsAreKeptWithTheirSpreadAndNeverAlone) {
  StepFit fit = fit_for("nemo", Precision::fp8, 1.1);
  EXPECT_EQ(write_profile(with_fits({fit})).find("pair_spread"), std::string::npos) << "nothing is known";
  fit.pairs = 7, fit.pair_spread = 0.04;
  std::string text = write_profile(with_fits({fit}));
  const auto again = read_profile(text, "p.json");
  ASSERT_TRUE(again.has_value()) << to_text(again.error());
  EXPECT_EQ(again->steps[0].pairs, 7);
  EXPECT_EQ(again->steps[0].pair_spread, 0.04);
  const auto error_with = [&](const std::string& old, const std::string& put) {
    std::string changed = text;
    changed.replace(changed.find(old), old.size(), put);
    const auto read = read_profile(changed, "p.json");
    return read ? std::string("read") : to_text(read.error());
  };
  EXPECT_NE(error_with("\"pairs\":7,", "").find("pairs"), std::string::npos);
  EXPECT_NE(error_with("\"pair_spread\":0.04,", "").find("pair_spread"), std::string::npos);
  EXPECT_NE(error_with("\"pair_spread\":0.04", "\"pair_spread\":4").find("/steps/0/pair_spread"), std::string::npos);
}

TEST(StepTuning, OfABorrowedFitPairsAreNoSurerThanUsual) {
  StepFit sure = fit_for("nemo", Precision::bf16, 1.1), open = sure;
  sure.pairs = 9, sure.pair_spread = 0.02;
  open.pairs = 9, open.pair_spread = 0.2;
  EXPECT_EQ(pair_spread_of({sure, false}, false), 0.02);
  EXPECT_EQ(pair_spread_of({sure, true}, false), usual_pair_spread(false));
  EXPECT_EQ(pair_spread_of({open, true}, false), 0.2);
  EXPECT_EQ(pair_spread_of({fit_for("nemo", Precision::bf16, 1.1), false}, false), usual_pair_spread(false))
      << "it knows no pairs";
  EXPECT_EQ(pair_spread_of({}, true), usual_pair_spread(true));
}

TEST(StepTuning, WrongFitsAreRefusedByName) {
  const auto error = [](StepFit fit) {
    const auto read = read_profile(write_profile(with_fits({fit, fit_for("jax", Precision::bf16, 1)})), "p.json");
    return read ? std::string("read") : to_text(read.error());
  };
  EXPECT_NE(error(fit_for("nemo", Precision::fp8, 2.5)).find("/steps/0/parameters/products"), std::string::npos);
  EXPECT_NE(error(fit_for("jax", Precision::bf16, 1.1)).find("a second fit of jax"), std::string::npos);
  StepFit many = fit_for("nemo", Precision::fp8, 1.1);
  for (const StepParameter more : {StepParameter::memory, StepParameter::attention, StepParameter::activation_moves})
    many.values.push_back({more, 1});
  EXPECT_NE(error(many).find("4 parameters"), std::string::npos);
}

TEST(StepTuning, EveryParameterHasARangeAroundItsTypicalValueAndASentence) {
  for (const StepParameterRow& row : step_parameters()) {
    EXPECT_LT(row.low, row.high) << row.id;
    EXPECT_GE(row.typical, row.low) << row.id;
    EXPECT_LE(row.typical, row.high) << row.id;
    EXPECT_GT(row.doubt, 0) << row.id;
    EXPECT_GT(row.meaning.size(), 30u) << row.id;
    EXPECT_EQ(row_of(row.parameter).id, row.id);
    EXPECT_EQ(*parse_step_parameter(std::string(row.id), "x"), row.parameter);
    EXPECT_EQ(row.unit.empty(), !row.id.ends_with("_s")) << row.id << " says its unit";
  }
  EXPECT_NE(to_text(parse_step_parameter("product", "--parameters").error()).find("did you mean 'products'"),
      std::string::npos);
}

TEST(StepTuning, ShippedFitsAreFewPlausibleAndHeldOut) {
  for (const Profile& profile : built_in().profiles)
    for (const StepFit& fit : profile.steps) {
      EXPECT_LE(fit.values.size(), most_fitted) << profile.id << ' ' << fit.stack;
      for (const auto& [parameter, value] : fit.values) {
        EXPECT_GE(value, row_of(parameter).low) << profile.id << ' ' << fit.stack;
        EXPECT_LE(value, row_of(parameter).high) << profile.id << ' ' << fit.stack;
      }
      EXPECT_TRUE(find_row(built_in().stacks, fit.stack, "stack").has_value()) << fit.stack;
      EXPECT_GT(fit.spread.p90, fit.spread.p10);
      EXPECT_FALSE(fit.source.empty());
    }
}

}  // namespace
}  // namespace stepcast
