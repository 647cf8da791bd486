#include "studies/sweep/search/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/sweep/write/report.h"
#include "studies/sweep/search/run.h"
#include "tests/studies/sweep/space/space_of.h"

namespace stepcast::sweep {
namespace {

using testing::HasSubstr;

SweepRow row_with(double step, double tp, double gpus = 64) {
  SweepRow row;
  row.figures[static_cast<std::size_t>(Figure::step_time)] = step;
  row.figures[static_cast<std::size_t>(Figure::tp)] = tp;
  row.figures[static_cast<std::size_t>(Figure::gpus)] = gpus;
  return row;
}

struct Thumb {
  Space space;
  std::optional<Digits> digits;
};
Thumb thumb(const std::string& line) {
  Thumb found{testing_space::good(line), {}};
  auto points = SpacePoints::make(found.space);
  EXPECT_TRUE(points.has_value());
  found.digits = rule_of_thumb(*points, 0);
  return found;
}
std::string at(const Thumb& found, AxisId axis) { return found.space.value(*found.digits, axis); }

// By the paper: tp fills the node, micro-batches are single, nothing is interleaved.
TEST(RuleOfThumb, FillsTheNodeAndTakesTheFewestStagesThatFit) {
  const Thumb found =
      thumb("llama3-70b --machine dgx-h100 --gpus 64 --global-batch 128 --recompute full,none --micro-batch 4,1 "
            "--chunks 2,1 --tp 1,2,4,8,16");
  ASSERT_TRUE(found.digits.has_value());
  EXPECT_EQ(at(found, AxisId::tp), "8");
  EXPECT_EQ(at(found, AxisId::pp), "2");
  EXPECT_EQ(at(found, AxisId::recompute), "none");
  EXPECT_EQ(at(found, AxisId::micro_batch), "1");
  EXPECT_EQ(at(found, AxisId::chunks), "1");
  // One stage does not fit, which is why there are two.
  auto points = SpacePoints::make(found.space);
  Digits one = *found.digits;
  one[static_cast<std::size_t>(AxisId::pp)] = 0;
  ASSERT_EQ(found.space.value(one, AxisId::pp), "1");
  EXPECT_FALSE(points->predict(one)->step.memory.fits);
  EXPECT_TRUE(points->predict(*found.digits)->step.memory.fits);
}

TEST(RuleOfThumb, RecomputesOnlyWhereNothingFitsWithout) {
  const Thumb found =
      thumb("gpt3-175b --machine dgx-a100 --stack megatron-2022 --gpus 64 --global-batch 64 --sp off --tp 8 --pp 4 "
            "--micro-batch 1 --chunks 1 --recompute full,none");
  ASSERT_TRUE(found.digits.has_value());
  EXPECT_EQ(at(found, AxisId::recompute), "full");
  EXPECT_FALSE(thumb("llama3-70b --gpus 8 --global-batch 64").digits.has_value());
}

TEST(PhaseGaps, LargestGainFirst) {
  Figures winner{}, rival{};
  winner[static_cast<std::size_t>(Figure::forward)] = 3;
  rival[static_cast<std::size_t>(Figure::forward)] = 2;
  rival[static_cast<std::size_t>(Figure::pipeline_bubble)] = 4;
  const auto gaps = phase_gaps(winner, rival);
  EXPECT_EQ(gaps.front().figure, Figure::pipeline_bubble);
  EXPECT_EQ(gaps.front().seconds, -4);
  EXPECT_EQ(gaps.back().figure, Figure::forward);
  EXPECT_EQ(gaps.back().seconds, 1);
}

class Reported : public testing::Test {
 protected:
  Reported() : space_(testing_space::good("llama3-8b --gpus 8 --global-batch 64 --top 3")) {
    answer_.space = &space_;
    answer_.command = [](std::uint64_t) { return "stepcast predict"; };
    auto swept = run_sweep(space_, {}, {});
    EXPECT_TRUE(swept.has_value());
    answer_.swept = std::move(*swept);
  }
  std::string text() {
    std::ostringstream out, err;
    return sweep_text(answer_, Console{out, err, false, true});
  }
  std::string sentence(double winner, double rival, double rival_bubble) {
    answer_.swept.result.top = {row_with(winner, 8)};
    Rival other{row_with(rival, 4), 2, true};
    for (SweepRow* row : {&answer_.swept.result.top[0], &other.row}) row->choices.assign(axis_count, "1");
    other.row.figures[static_cast<std::size_t>(Figure::pipeline_bubble)] = rival_bubble;
    return why_sentence(answer_, other);
  }
  Space space_;
  SweepAnswer answer_;
};

TEST_F(Reported, ABoundAboveTheForecastIsAWarning) {
  EXPECT_THAT(text(), testing::Not(HasSubstr("WARNING")));
  answer_.swept.work.above = 2;
  EXPECT_THAT(text(), HasSubstr("WARNING: the bounds of 2 configurations did not hold"));
}

TEST_F(Reported, ASentenceNamesTheLargestPhase) {
  EXPECT_THAT(sentence(10, 12.5, 2.1), HasSubstr("wins by 2.50 s (20.0 %), most of it 2.10 s of pipeline bubble"));
  EXPECT_THAT(sentence(10, 8, -1.5), HasSubstr("slower by 2.00 s (25.0 %), most of it 1.50 s of pipeline bubble"));
  EXPECT_THAT(sentence(10, 10, 0), HasSubstr("as fast"));
}

// The first by energy may be the slower one.
TEST_F(Reported, TheLeadIsThatOfTheObjective) {
  answer_.verdict.tied = TiedRows{{0, 1, 2}, {4, 5, 6}, {}};
  answer_.verdict.tied->ties.measure = {0};
  EXPECT_THAT(text(), HasSubstr("leads by 25.0 %"));
}

TEST_F(Reported, AnUnfinishedSweepSaysSoWhereNothingWasFound) {
  answer_.swept.result.top.clear();
  answer_.swept.result.done.clear();
  EXPECT_THAT(text(), HasSubstr("Nothing was found yet."));
}

}  // namespace
}  // namespace stepcast::sweep
