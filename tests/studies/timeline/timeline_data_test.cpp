// What the script of the page is given, read back: actions within a tick, what is inside of them within a hundredth of
// one.
#include <cmath>
#include <map>
#include <regex>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "studies/timeline/page.h"
#include "tests/studies/timeline/forecast_of.h"
#include "tests/studies/timeline/hand_scene.h"

namespace stepcast::timeline::timeline_data_test {
namespace {

using nlohmann::json;
using timeline_testing::forecast_of;
using timeline_testing::forecasts;
using timeline_testing::hand_scene;

struct ReadAction {
  int kind = 0, stage = 0, unit = 0;
  double start = 0, end = 0;  ///< microseconds in the step
};
struct ReadRank {
  std::vector<ReadAction> actions;
  double held = 0;
};

double number_or(const std::ssub_match& match, double fallback) {
  return match.length() > 0 ? std::stod(match) : fallback;
}

/// The rules of studies/timeline/page.h.
ReadRank read_rank(const json& data, int rank) {
  std::vector<int> stages;
  for (std::size_t stage = 0; stage < data["rank_of"].size(); ++stage)
    if (data["rank_of"][stage] == rank) stages.push_back(static_cast<int>(stage));
  static const std::regex token("([FBIWH])(\\d*)(?:u(-?\\d+))?(?:g(-?\\d+))?(?:s(-?\\d+))?(?:l(-?\\d+))?");
  const std::string text = data["actions"][rank];
  const double tick = data["tick"], begin = data["begin"];
  const int slices = data["slices"];
  ReadRank read;
  std::map<int, int> next;
  double at = 0, length = 0;
  std::size_t told = 0;
  for (auto i = std::sregex_iterator(text.begin(), text.end(), token); i != std::sregex_iterator(); ++i) {
    const std::smatch& part = *i;
    told += part[0].length();
    at += number_or(part[4], 0);
    if (part[1] == "H") {
      length = number_or(part[6], length);
      at += length;
      read.held += length * tick;
      continue;
    }
    const int kind = static_cast<int>(std::string("FBIW").find(part[1]));
    const int stage = stages.at(static_cast<std::size_t>(number_or(part[2], 0)));
    int& unit = next[stage * 4 + kind];
    unit += static_cast<int>(number_or(part[3], 0));
    const int which = data["which"][(stage * 4 + kind) * slices + unit % slices];
    ReadAction action{kind, stage, unit++, begin + at * tick, 0};
    at += data["inside"][which]["ticks"].get<double>() + number_or(part[5], 0);
    action.end = begin + at * tick;
    read.actions.push_back(action);
  }
  EXPECT_EQ(told, text.size()) << "every letter is of a token";
  return read;
}

struct ReadSpan {
  int kind = 0, pass = 0, stream = 0, name = 0, layer = 0;
  double start = 0, end = 0;
};

std::vector<ReadSpan> read_inside(const json& inside, double grain) {
  std::vector<ReadSpan> spans;
  for (const json& run : inside["runs"])
    for (int copy = 0; copy < run[1].get<int>(); ++copy) {
      double at = run[3].get<double>() + copy * run[4].get<double>();
      for (std::size_t i = 5; i < run.size(); i += 5) {
        const int code = run[i];
        ReadSpan span{code % 3, code / 3, run[i + 1], run[i + 2], run[0].get<int>() + copy * run[2].get<int>(), 0, 0};
        span.start = (at += run[i + 3].get<double>()) * grain;
        span.end = (at += run[i + 4].get<double>()) * grain;
        spans.push_back(span);
      }
    }
  return spans;
}

void expect_same_spans(const std::vector<SceneSpan>& spans, const std::vector<ReadSpan>& read, double tick) {
  ASSERT_EQ(read.size(), spans.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].kind, static_cast<int>(spans[i].kind));
    EXPECT_EQ(read[i].pass, static_cast<int>(spans[i].pass));
    EXPECT_EQ(read[i].stream, spans[i].stream);
    EXPECT_EQ(read[i].name, spans[i].name);
    EXPECT_EQ(read[i].layer, spans[i].layer);
    EXPECT_NEAR(read[i].start, 1e6 * spans[i].start, 0.03 * tick);
    EXPECT_NEAR(read[i].end, 1e6 * spans[i].end, 0.03 * tick);
  }
}

TEST(TimelineData, ReadsBackAsTheScene) {
  for (const std::string& line : forecasts()) {
    SCOPED_TRACE(line);
    const auto made = forecast_of(line);
    const StepScene& scene = made->scene;
    const json data = json::parse(timeline_data(scene));
    const double tick = data["tick"];
    EXPECT_LE(tick, 1e-7 * 1e6 * scene.end);
    for (int rank = 0; rank < scene.order->ranks; ++rank) {
      const ReadRank read = read_rank(data, rank);
      const auto actions = scene.order->of_rank(rank);
      ASSERT_EQ(read.actions.size(), actions.size());
      for (std::size_t i = 0; i < actions.size(); ++i) {
        ASSERT_EQ(read.actions[i].kind, static_cast<int>(actions[i].kind));
        ASSERT_EQ(read.actions[i].stage, actions[i].stage);
        ASSERT_EQ(read.actions[i].unit, actions[i].micro_batch);
        const std::size_t at = static_cast<std::size_t>(scene.order->begin[rank]) + i;
        ASSERT_NEAR(read.actions[i].start, 1e6 * scene.action_start[at], 1.01 * tick);
        ASSERT_NEAR(read.actions[i].end, 1e6 * scene.action_end[at], 1.01 * tick);
      }
      EXPECT_NEAR(read.held, 1e6 * scene.timeline->hop_wait[rank].value(),
          2.0 * tick * static_cast<double>(scene.holds[rank].size()));
    }
    for (const Action& action : scene.order->actions) {
      const int slice = action.micro_batch % scene.order->slices;
      const int place = (action.stage * 4 + static_cast<int>(action.kind)) * scene.order->slices + slice;
      const json& inside = data["inside"][data["which"][place].get<int>()];
      expect_same_spans(
          scene.inside[scene.inside_index(action.stage, action.kind, slice)], read_inside(inside, 0.01 * tick), tick);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(TimelineData, HandMadeSceneInTokens) {
  const json data = json::parse(timeline_data(hand_scene()->scene));
  EXPECT_EQ(data["tick"], 1);
  EXPECT_EQ(data["actions"][0], "FFBg2000000Bg1000000");
  EXPECT_EQ(data["actions"][1], "Fg1000000BFB");
  EXPECT_EQ(data["inside"].size(), 2U) << "alike on both ranks";
  EXPECT_EQ(data["around"][1], json::parse(R"(["optimizer","optimizer",0,10000000,12000000])"));
  EXPECT_EQ(data["names"][0], "up & <down>");
}

TEST(TimelineData, LayersThatAreAlikeAreWrittenOnce) {
  const json data = json::parse(timeline_data(hand_scene()->scene));
  const json& backward = data["inside"][data["which"][1].get<int>()];
  ASSERT_EQ(backward["runs"].size(), 1U);
  EXPECT_EQ(backward["runs"][0], json::parse("[1,2,-1,0,100000000,6,2,3,0,100000000]"));
}

TEST(TimelineData, SumsOfTheSlowestRankAreThePhases) {
  for (const std::string& line : forecasts()) {
    SCOPED_TRACE(line);
    const auto made = forecast_of(line);
    const Phases& phases = made->prediction.step.phases;
    const RankSums sums = rank_sums(made->scene).at(static_cast<std::size_t>(made->prediction.step.slowest_stage));
    const double step = made->scene.end;
    EXPECT_NEAR(sums.forward, phases.forward.value(), 1e-9 * step);
    EXPECT_NEAR(sums.backward, phases.backward.value(), 1e-9 * step);
    EXPECT_NEAR(sums.waiting + sums.held, phases.exposed_communication.value(), 1e-9 * step);
    EXPECT_NEAR(sums.bubble, phases.bubble.value(), 1e-9 * step);
    EXPECT_NEAR(sums.forward + sums.backward + sums.waiting + sums.held + sums.bubble + sums.around, step, 1e-9 * step);
  }
}

TEST(TimelineData, SumsOfTheHandMadeScene) {
  const RankSums sums = rank_sums(hand_scene()->scene).at(0);
  EXPECT_DOUBLE_EQ(sums.forward, 1.5);
  EXPECT_DOUBLE_EQ(sums.backward, 4);
  EXPECT_DOUBLE_EQ(sums.waiting, 0.5);
  EXPECT_DOUBLE_EQ(sums.held, 0);
  EXPECT_DOUBLE_EQ(sums.bubble, 3);
  EXPECT_DOUBLE_EQ(sums.around, 3);
}

}  // namespace
}  // namespace stepcast::timeline::timeline_data_test
