#include "studies/sweep/space/axes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/launch/run_flags.h"
#include "studies/run/nouns.h"
#include "studies/cli/flags.h"

namespace stepcast::sweep {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using Values = std::vector<std::string>;

/// What the defaults go by, with the nouns behind it.
struct AxisSetting {
  NetworkSpec network;
  Machine machine;
  Stack stack;
  std::int64_t gpus = 64, batch = 1024, sequence = 4096;
  [[nodiscard]] AxisContext context() const { return {&network, &machine, gpus, batch, sequence, &stack}; }
};

AxisSetting setting(const char* network, const char* machine = "dgx-h100", const char* stack = "megatron-core") {
  return {choose_network(network, "")->row, choose_machine(machine, "")->row, choose_stack(stack, "")->row};
}

Values usual(AxisId axis, const AxisSetting& setting) { return row_of(axis).axis.usual(setting.context()); }
Values all(AxisId axis, const AxisSetting& setting) { return row_of(axis).axis.all(setting.context()); }

Values read(AxisId axis, const std::string& text, const AxisSetting& from = setting("llama3-8b")) {
  const auto values = read_axis_values(row_of(axis), text, "--flag", from.context());
  return values ? *values : Values{"error: " + to_text(values.error())};
}

std::string error(AxisId axis, const std::string& text) {
  const Values values = read(axis, text);
  return values.size() == 1 && values[0].starts_with("error: ") ? values[0].substr(7) : "accepted";
}

TEST(Axes, EachIsAFlagOfPredictAndHasAUsualValue) {
  const AxisSetting dense = setting("llama3-8b");
  for (const AxisRow& row : axis_rows()) {
    EXPECT_EQ(&row_of(row.id), &row);
    EXPECT_EQ(find_axis(row.key), &row);
    EXPECT_FALSE(row.axis.doc.empty()) << row.key;
    if (row.flag.empty()) continue;
    EXPECT_EQ(find_axis(row.flag), &row);
    const Flag* flag = find_flag(run_flags(), row.flag);
    ASSERT_NE(flag, nullptr) << row.flag;
    EXPECT_EQ(flag->key, row.key);
    EXPECT_EQ(flag->kind == FlagKind::count, row.type.number) << row.key;
    EXPECT_EQ(row.axis.usual(dense.context()).empty(), row.id == AxisId::gpus) << row.key;
  }
  EXPECT_EQ(find_axis(""), nullptr);
  EXPECT_EQ(find_axis("--global-batch"), nullptr);
}

// Whatever the table gives must pass the rule that a user's values pass.
TEST(Axes, UsualAndAllValuesAreReadable) {
  for (const char* network : {"llama3-8b", "deepseek-v3", "gpt2-1.5b", "qwen1.5-moe-a2.7b"}) {
    const AxisSetting from = setting(network);
    for (const AxisRow& row : axis_rows()) {
      for (const Values& values : {row.axis.usual(from.context()), row.axis.all(from.context())}) {
        if (values.empty()) continue;
        const auto read = read_axis_values(row, values, "--flag", from.context());
        ASSERT_TRUE(read) << network << " " << to_text(read.error());
        EXPECT_EQ(*read, values);
      }
    }
  }
}

TEST(Axes, DefaultsOfADenseNetwork) {
  const AxisSetting llama = setting("llama3-8b");  // 32 layers, 32 heads in 8 groups
  EXPECT_THAT(usual(AxisId::tp, llama), ElementsAre("1", "2", "4", "8"));
  EXPECT_THAT(usual(AxisId::pp, llama), ElementsAre("1", "2", "4", "8", "16", "32"));
  EXPECT_THAT(usual(AxisId::cp, llama), ElementsAre("1"));
  EXPECT_THAT(usual(AxisId::ep, llama), ElementsAre("1"));
  EXPECT_THAT(usual(AxisId::chunks, llama), ElementsAre("1", "2", "4", "8"));
  EXPECT_THAT(usual(AxisId::micro_batch, llama), ElementsAre("1", "2", "4", "8"));
  EXPECT_THAT(usual(AxisId::recompute, llama), ElementsAre("none", "full"));
  EXPECT_THAT(usual(AxisId::layout, llama), ElementsAre("even"));
  EXPECT_THAT(usual(AxisId::order, llama), ElementsAre("tp-cp-dp-pp"));
  EXPECT_THAT(usual(AxisId::zero, llama), ElementsAre("1"));
  for (const AxisId axis :
      {AxisId::sp, AxisId::scatter_boundary, AxisId::tp_overlap, AxisId::dp_overlap, AxisId::schedule})
    EXPECT_THAT(usual(axis, llama), ElementsAre("auto"));
}

TEST(Axes, DefaultsStayBelowTheGpusAndTheHeads) {
  AxisSetting few = setting("llama3-8b");
  few.gpus = 4;
  EXPECT_THAT(usual(AxisId::tp, few), ElementsAre("1", "2", "4"));
  EXPECT_THAT(usual(AxisId::pp, few), ElementsAre("1", "2", "4"));
  EXPECT_THAT(usual(AxisId::tp, setting("gpt2-1.5b")), ElementsAre("1"));  // 25 heads
  AxisSetting nvl72 = setting("llama3-70b", "gb200-nvl72");
  EXPECT_THAT(usual(AxisId::tp, nvl72), ElementsAre("1", "2", "4", "8", "16", "32", "64"));
  EXPECT_THAT(all(AxisId::pp, few), ElementsAre("1", "2", "4"));
}

TEST(Axes, DefaultsOfExpertsGoByTheirCount) {
  // 256 experts
  EXPECT_THAT(usual(AxisId::ep, setting("deepseek-v3")), ElementsAre("1", "2", "4", "8", "16", "32", "64"));
  EXPECT_THAT(usual(AxisId::ep, setting("mixtral-8x7b")), ElementsAre("1", "2", "4", "8"));
  EXPECT_THAT(usual(AxisId::ep, setting("qwen1.5-moe-a2.7b")), ElementsAre("1", "2", "4"));  // 60 experts
  EXPECT_THAT(all(AxisId::ep, setting("mixtral-8x7b")), ElementsAre("1", "2", "4", "8"));
  EXPECT_THAT(all(AxisId::etp, setting("llama3-8b")), ElementsAre("1"));
  EXPECT_THAT(all(AxisId::etp, setting("mixtral-8x7b")), Contains("8"));
}

// 61 layers divide by nothing: an engineer lays them unevenly, as DeepSeek did on 16 stages.
TEST(Axes, LayersWithFewDivisorsAreLaidUnevenly) {
  AxisSetting deepseek = setting("deepseek-v3");
  deepseek.gpus = 2048;
  EXPECT_THAT(usual(AxisId::pp, deepseek), ElementsAre("1", "2", "4", "8", "16", "32"));
  EXPECT_THAT(usual(AxisId::layout, deepseek), ElementsAre("balanced"));
  EXPECT_THAT(usual(AxisId::chunks, deepseek), ElementsAre("1", "2", "4"));
  EXPECT_THAT(all(AxisId::pp, deepseek), ElementsAre("1", "61"));
}

TEST(Axes, LongSequencesAreSplitOverContextRanks) {
  AxisSetting llama = setting("llama3-8b");
  llama.sequence = 16'383;
  EXPECT_THAT(usual(AxisId::cp, llama), ElementsAre("1"));
  llama.sequence = 16'384;
  EXPECT_THAT(usual(AxisId::cp, llama), ElementsAre("1", "2", "4"));
  llama.sequence = 131'072;
  EXPECT_THAT(usual(AxisId::cp, llama), ElementsAre("1", "2", "4", "8", "16"));
  llama.sequence = 3 * 8192;  // two pieces per rank
  llama.gpus = 2;
  EXPECT_THAT(usual(AxisId::cp, llama), ElementsAre("1", "2"));
}

TEST(Axes, MicroBatchesDivideTheBatch) {
  AxisSetting llama = setting("llama3-8b");
  llama.batch = 12;
  EXPECT_THAT(usual(AxisId::micro_batch, llama), ElementsAre("1", "2", "4"));
  EXPECT_THAT(all(AxisId::micro_batch, llama), ElementsAre("1", "2", "3", "4", "6", "12"));
}

TEST(Axes, SelectiveRecomputationIsUsualWhereAttentionKeepsScores) {
  EXPECT_THAT(usual(AxisId::recompute, setting("gpt3-175b", "dgx-a100", "megatron-2022")),
      ElementsAre("none", "selective", "full"));
  AxisSetting unknown = setting("gpt3-175b", "dgx-a100", "megatron-2022");
  AxisContext context = unknown.context();
  context.stack = nullptr;
  EXPECT_THAT(row_of(AxisId::recompute).axis.usual(context), ElementsAre("none", "full"));
}

TEST(Axes, PrecisionIsWhatTheGpuHas) {
  EXPECT_THAT(usual(AxisId::precision, setting("gpt3-6.7b")), ElementsAre("bf16"));
  EXPECT_THAT(usual(AxisId::precision, setting("gpt3-6.7b", "dgx-1-v100")), ElementsAre("fp16"));
  EXPECT_THAT(all(AxisId::precision, setting("gpt3-6.7b")), AllOf(Contains("fp8"), Not(Contains("nvfp4"))));
  EXPECT_THAT(all(AxisId::precision, setting("gpt3-6.7b", "dgx-1-v100")), Not(Contains("bf16")));
}

TEST(Axes, AllSchedulesRunByThemselves) {
  const Values kinds = all(AxisId::schedule, setting("llama3-8b"));
  for (const char* in :
      {"gpipe", "1f1b", "interleaved-1f1b", "looped-bfs", "gis", "zb-h1", "zb-v", "v-half", "dualpipev"})
    EXPECT_THAT(kinds, Contains(in));
  for (const char* out : {"dualpipe", "chimera", "seq-1f1b", "terapipe", "zb-2p", "zb-auto", "zb-v-auto"})
    EXPECT_THAT(kinds, Not(Contains(out)));
  EXPECT_THAT(all(AxisId::order, setting("llama3-8b")), SizeIs(24));
}

TEST(AxisValues, OneSeveralAndRanges) {
  EXPECT_THAT(read(AxisId::tp, "8"), ElementsAre("8"));
  // as written: the first stands for an axis without effect
  EXPECT_THAT(read(AxisId::tp, "8,1,2"), ElementsAre("8", "1", "2"));
  EXPECT_THAT(read(AxisId::tp, "1, 2 ,\t4"), ElementsAre("1", "2", "4"));
  EXPECT_THAT(read(AxisId::pp, "3..6"), ElementsAre("3", "4", "5", "6"));
  EXPECT_THAT(read(AxisId::pp, "5..5"), ElementsAre("5"));
  EXPECT_THAT(read(AxisId::gpus, "64..600*2"), ElementsAre("64", "128", "256", "512"));
  EXPECT_THAT(read(AxisId::pp, "3..100*3,64"), ElementsAre("3", "9", "27", "81", "64"));
  EXPECT_THAT(read(AxisId::zero, "0..3"), ElementsAre("0", "1", "2", "3"));
  EXPECT_THAT(read(AxisId::tp, "008"), ElementsAre("8"));
  EXPECT_THAT(read(AxisId::micro_batch, "all"), SizeIs(11));  // of 1,024
}

TEST(AxisValues, Words) {
  EXPECT_THAT(read(AxisId::recompute, "none,full:4,full"), ElementsAre("none", "full:4", "full"));
  EXPECT_THAT(read(AxisId::sp, "auto"), ElementsAre("auto"));
  EXPECT_THAT(read(AxisId::sp, "off,on"), ElementsAre("off", "on"));
  EXPECT_THAT(read(AxisId::schedule, "auto,zb-v"), ElementsAre("auto", "zb-v"));
  EXPECT_THAT(read(AxisId::order, "tp-cp-pp-dp"), ElementsAre("tp-cp-pp-dp"));
  EXPECT_THAT(read(AxisId::dp_tier, "all"), ElementsAre("node", "cluster"));
}

TEST(AxisValues, LayoutsHaveCommasOfTheirOwn) {
  EXPECT_THAT(read(AxisId::layout, "even,balanced"), ElementsAre("even", "balanced"));
  EXPECT_THAT(read(AxisId::layout, "9,8,8,7"), ElementsAre("9,8,8,7"));
  EXPECT_THAT(read(AxisId::layout, "even; 9,8,8,7; Ett|tt|tL"), ElementsAre("even", "9,8,8,7", "Ett|tt|tL"));
}

TEST(AxisValues, OfSpaceFilesAreListsOfAnyOfThat) {
  const AxisSetting from = setting("llama3-8b");
  const Values texts = {"1..4", "8"}, none = {};
  EXPECT_THAT(*read_axis_values(row_of(AxisId::tp), texts, "space.json:/axes/tp", from.context()),
      ElementsAre("1", "2", "3", "4", "8"));
  const auto empty = read_axis_values(row_of(AxisId::tp), none, "space.json:/axes/tp", from.context());
  ASSERT_FALSE(empty);
  EXPECT_THAT(to_text(empty.error()), AllOf(HasSubstr("space.json:/axes/tp: the list is empty"), HasSubstr("default")));
}

TEST(AxisValues, MistakesInNumbers) {
  EXPECT_THAT(error(AxisId::tp, "8,x"), AllOf(HasSubstr("--flag: 'x' is not a whole number"), HasSubstr("1..64*2")));
  EXPECT_THAT(error(AxisId::tp, "0"), HasSubstr("0 is out of range"));
  EXPECT_THAT(error(AxisId::tp, "-1"), HasSubstr("out of range"));
  EXPECT_THAT(error(AxisId::zero, "4"), HasSubstr("from 0 to 3"));
  EXPECT_THAT(error(AxisId::tp, "1.5"), HasSubstr("not a whole number"));
  EXPECT_THAT(error(AxisId::tp, "99999999999999999999"), HasSubstr("absurdly large"));
  EXPECT_THAT(error(AxisId::tp, "1,,2"), HasSubstr("a value is missing"));
  EXPECT_THAT(error(AxisId::tp, ""), HasSubstr("a value is missing"));
  EXPECT_THAT(error(AxisId::tp, "1,"), HasSubstr("a value is missing"));
  EXPECT_THAT(error(AxisId::tp, "2,1..4"), HasSubstr("2 is listed twice"));
  EXPECT_THAT(error(AxisId::tp, "8,08"), HasSubstr("8 is listed twice"));
  EXPECT_THAT(error(AxisId::tp, "all,1"), HasSubstr("1 is listed twice"));
  EXPECT_THAT(error(AxisId::gpus, "all"), AllOf(HasSubstr("no list of all gpus"), HasSubstr("64..1024*2")));
}

TEST(AxisValues, MistakesInRanges) {
  EXPECT_THAT(error(AxisId::tp, "8..1"), AllOf(HasSubstr("8..1 runs backwards"), HasSubstr("1..8")));
  EXPECT_THAT(error(AxisId::tp, "1.."), HasSubstr("'' is not a whole number"));
  EXPECT_THAT(error(AxisId::tp, "..8"), HasSubstr("'' is not a whole number"));
  EXPECT_THAT(error(AxisId::tp, "1..8*1"), AllOf(HasSubstr("1 is out of range"), HasSubstr("from 2")));
  EXPECT_THAT(error(AxisId::tp, "1..8*"), HasSubstr("not a whole number"));
  EXPECT_THAT(error(AxisId::zero, "0..3*2"), HasSubstr("never leaves 0"));
  EXPECT_THAT(error(AxisId::gpus, "1..10000000"), HasSubstr("more than 10000 values"));
  EXPECT_THAT(error(AxisId::tp, "1..32768"),
      AllOf(HasSubstr("more than 10000 values"), HasSubstr("with a factor: 1..32768*2")));
  EXPECT_EQ(read(AxisId::tp, "1..32768*2").size(), 16U) << "what the hint says is a good list";
  EXPECT_THAT(error(AxisId::zero, "4"), AllOf(HasSubstr("a list 0,3, a range 0..3, or all"), Not(HasSubstr("64"))));
  EXPECT_THAT(error(AxisId::gpus, "1..2..3"), HasSubstr("'2..3' is not a whole number"));
  EXPECT_THAT(read(AxisId::gpus, "1..10000000*9999999"), ElementsAre("1", "9999999"));
}

TEST(AxisValues, MistakesInWords) {
  EXPECT_THAT(
      error(AxisId::schedule, "1f1b,zb-w"), AllOf(HasSubstr("unknown schedule 'zb-w'"), HasSubstr("did you mean")));
  EXPECT_THAT(error(AxisId::sp, "yes"), AllOf(HasSubstr("unknown value 'yes'"), HasSubstr("or auto")));
  EXPECT_THAT(error(AxisId::save_gathered, "auto"), HasSubstr("unknown value 'auto'"));
  EXPECT_THAT(error(AxisId::recompute, "none,none"), HasSubstr("none is listed twice"));
  EXPECT_THAT(error(AxisId::recompute, "1..4"), Not(HasSubstr("accepted")));
  EXPECT_THAT(
      error(AxisId::tp_tier, "nodes"), AllOf(HasSubstr("unknown tier 'nodes'"), HasSubstr("did you mean 'node'?")));
  EXPECT_THAT(error(AxisId::precision, "bf17"), HasSubstr("bf17"));
  EXPECT_THAT(error(AxisId::layout, "even;"), HasSubstr("a value is missing"));
}

TEST(AxisValues, HostileTextIsAnErrorOfReadableLength) {
  for (const AxisRow& row : axis_rows()) {
    EXPECT_LT(error(row.id, std::string(1 << 20, 'x')).size(), 700U) << row.key;
    EXPECT_LT(error(row.id, std::string(1 << 16, ',')).size(), 700U) << row.key;
  }
}

}  // namespace
}  // namespace stepcast::sweep
