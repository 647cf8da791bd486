// Megatron's layer layouts and per-stage lists: read, held against a model, written back.
#include "sim/schedule/layers/layer_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::sim::layer_layout_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

LayerLayout layout_of(const std::string& text) {
  auto layout = read_layers(text, "layout");
  if (!layout) ADD_FAILURE() << to_text(layout.error());
  return layout ? *layout : LayerLayout{};
}

std::string refused_layout(const std::string& text) {
  const auto layout = read_layers(text, "layout");
  return layout ? "read" : to_text(layout.error());
}

TEST(LayerLayout, RepetitionsUnroll) {
  const LayerLayout layout = layout_of("Et*3|(t|)*10tmL");
  ASSERT_EQ(layout.stages.size(), 12u);
  EXPECT_EQ(layout.stages[0], (StageLayers{.embedding = true, .layers = 3}));
  EXPECT_EQ(layout.stages[10], (StageLayers{.layers = 1}));
  EXPECT_EQ(layout.stages[11], (StageLayers{.layers = 1, .predictions = 1, .loss = true}));
  EXPECT_EQ(layout.layers(), 14);
  EXPECT_EQ(layout.predictions(), 1);
}

// DeepSeek-V3 on 16 ranks with 2 chunks each: the example of Megatron-LM's documentation.
TEST(LayerLayout, CommasAreForTheEyeAndStagesMayHoldOnlyPredictionOrLoss) {
  const LayerLayout layout = layout_of("Et*3|(tt|)*29,m|L");
  ASSERT_EQ(layout.stages.size(), 32u);
  EXPECT_EQ(layout.stages[30], (StageLayers{.predictions = 1}));
  EXPECT_EQ(layout.stages[31], (StageLayers{.loss = true}));
  EXPECT_TRUE(check_layers(layout, 61, 1, 16, 2, "layout"));
}

TEST(LayerLayout, ListsGiveLayersPerStage) {
  const LayerLayout layout = layout_of("[7, 8,8 ,7]");
  EXPECT_EQ(write_layer_layout(layout), "Et*7|(t*8|)*2t*7L");
  EXPECT_EQ(layout_of("7,8,8,7").stages, layout.stages);
  EXPECT_EQ(write_layer_layout(layout_of("5")), "Et*5L");
  EXPECT_EQ(write_layer_layout(layout_of("0,2,0")), "E|tt|L");
}

TEST(LayerLayout, EveryLayoutComesBackAsWritten) {
  for (const char* text : {"Et*3|(t|)*10tmL", "Et*3|(tt|)*29m|L", "EtL", "E|(t|)*4L", "Ett|t|tt|t|ttL", "Et||tL",
           "Et|(|)*3tL", "Et|(t*4|)*2t*3mmL"}) {
    EXPECT_EQ(write_layer_layout(layout_of(text)), text);
  }
  EXPECT_EQ(write_layer_layout(layout_of("Ettt|t|t|t,tL")), "Et*3|(t|)*2ttL");
}

TEST(LayerLayout, MistakesNameTheirColumn) {
  EXPECT_THAT(refused_layout(""), HasSubstr("the layout is empty"));
  EXPECT_THAT(refused_layout("Etx|tL"), StartsWith("layout:3: 'x' is no part of a layout"));
  EXPECT_THAT(refused_layout("tt|tL"), StartsWith("layout:1: the layout does not begin with the embedding"));
  EXPECT_THAT(refused_layout("Et|EtL"), StartsWith("layout:4: the embedding E is not the first layer"));
  EXPECT_THAT(refused_layout("|EtL"), StartsWith("layout:2: the embedding E is not the first layer"));
  EXPECT_THAT(refused_layout("E*2tL"), StartsWith("layout:1: the embedding E is not the first layer"));
  EXPECT_THAT(refused_layout("Et|t"), HasSubstr("does not end with the loss"));
  EXPECT_THAT(refused_layout("EtL|"), HasSubstr("does not end with the loss"));
  EXPECT_THAT(refused_layout("EtL|t"), StartsWith("layout:5: t after the loss"));
  EXPECT_THAT(refused_layout("Etm|tL"), StartsWith("layout:5: a decoder layer t after a prediction layer m"));
  EXPECT_THAT(refused_layout("Et*|tL"), StartsWith("layout:3: '*' without a number"));
  EXPECT_THAT(refused_layout("Et*0|tL"), StartsWith("layout:3: '*' without a number"));
  EXPECT_THAT(refused_layout("E(t|*3L"), StartsWith("layout:2: the group is not closed"));
  EXPECT_THAT(refused_layout("E(t|)L"), StartsWith("layout:2: the group is not repeated"));
  EXPECT_THAT(refused_layout("E((t|)*2t)*3L"), StartsWith("layout:3: a group inside of a group"));
  EXPECT_THAT(refused_layout("Et*99999L"), StartsWith("layout:3: too many layers"));
  EXPECT_THAT(refused_layout("Et*999999999999L"), StartsWith("layout:3: too many layers"));
  EXPECT_THAT(refused_layout("7,x,8"), StartsWith("layout:3: 'x' is no number of layers"));
  EXPECT_THAT(refused_layout("7,,8"), StartsWith("layout:3: '' is no number of layers"));
  EXPECT_THAT(refused_layout("7,-1"), HasSubstr("'-1' is no number of layers"));
}

TEST(LayerLayout, ItHasToHoldTheWholeModel) {
  const LayerLayout layout = layout_of("Ett|tt|tt|tmL");
  EXPECT_TRUE(check_layers(layout, 7, 1, 4, 1, "layout"));
  EXPECT_TRUE(check_layers(layout, 7, 1, 2, 2, "layout"));
  EXPECT_EQ(to_text(check_layers(layout, 8, 1, 4, 1, "layout").error()),
      "layout: 7 decoder layers in the layout, 8 in the model (1 more t)");
  EXPECT_EQ(to_text(check_layers(layout, 6, 1, 4, 1, "layout").error()),
      "layout: 7 decoder layers in the layout, 6 in the model (1 fewer t)");
  EXPECT_THAT(to_text(check_layers(layout, 7, 0, 4, 1, "layout").error()), HasSubstr("1 prediction layers m"));
  EXPECT_EQ(to_text(check_layers(layout, 7, 1, 4, 2, "layout").error()),
      "layout: 4 stages in the layout, 8 on 4 ranks with 2 chunks (7 bars between the stages)");
}

}  // namespace
}  // namespace stepcast::sim::layer_layout_test
