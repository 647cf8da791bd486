// A point is legal where predict takes it and no earlier point says the same.
#include "studies/sweep/price/legality.h"

#include <bit>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/studies/sweep/many_spaces.h"
#include "tests/studies/sweep/space/space_of.h"
#include "studies/launch/asked_run.h"
#include "studies/launch/run_flags.h"
#include "studies/run/forecast.h"
#include "studies/run/request.h"
#include "studies/run/scenario.h"

namespace stepcast::sweep {
namespace {

using testing_sweep::small_spaces;
using testing_sweep::SmallSpace;

bool is_repeat(std::string_view reason) { return reason.starts_with("repeats"); }

/// As predict reads the point's own command line.
Expected<Scenario> as_typed(const std::string& space_line, const std::string& flags, const std::string& software) {
  std::vector<std::string> typed = {"--stack", software};
  std::istringstream words(space_line);
  std::string network, word;
  words >> network;
  while (words >> word)
    if (word == "--machine") {
      typed.push_back(word);
      words >> word;
      typed.push_back(word);
    }
  std::istringstream more(flags);
  while (more >> word) typed.push_back(word);
  const auto arguments = parse_arguments(run_flags(), 0, 0, "", typed);
  if (!arguments) return tl::unexpected(arguments.error());
  const auto request = read_request(network, *arguments);
  if (!request) return tl::unexpected(request.error());
  return complete(*request);
}

class LegalSpace : public testing::TestWithParam<SmallSpace> {
 protected:
  Digits any(std::mt19937_64& random) const { return space_.digits(random() % space_.size()); }
  Space space_ = testing_space::good(GetParam().line);
  SpacePoints points_ = SpacePoints::make(space_).value();
  Legality legality_{points_};
};

TEST_P(LegalSpace, LegalIsWhatPredictTakes) {
  std::mt19937_64 random(2);
  const std::string software = points_.setting(Digits{}).scenario.stack.id;
  int legal = 0;
  for (int trial = 0; trial < 4000 && legal < 25; ++trial) {
    const Digits digits = any(random);
    const Legality::Verdict verdict = legality_.ask(digits, AxisId{});
    const std::string command = points_.command(digits);
    if (verdict.reason < 0) {
      ++legal;
      const auto here = points_.predict(digits);
      ASSERT_TRUE(here) << command << ": " << to_text(here.error());
      const auto typed = as_typed(GetParam().line, command, software);
      ASSERT_TRUE(typed) << command << ": " << to_text(typed.error());
      const Prediction there = run::predict(*typed).value();
      ASSERT_EQ(here->step.step_time.value(), there.step.step_time.value()) << command;
      ASSERT_EQ(here->step.memory.peak.value(), there.step.memory.peak.value()) << command;
    } else if (trial < 300 && !is_repeat(legality_.reasons()[static_cast<std::size_t>(verdict.reason)])) {
      const auto typed = as_typed(GetParam().line, command, software);
      ASSERT_FALSE(typed && run::predict(*typed))
          << command << " is not: " << legality_.reasons()[static_cast<std::size_t>(verdict.reason)];
    }
  }
  EXPECT_GT(legal, 0);
}

/// Other digits behind the verdict's axis change nothing: all of them are dismissed at once.
TEST_P(LegalSpace, VerdictsHoldForAllDigitsBehindTheirAxis) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 2000; ++trial) {
    const Digits digits = any(random);
    const Legality::Verdict verdict = legality_.ask(digits, AxisId{});
    if (verdict.reason < 0) continue;
    Digits other = any(random);
    for (std::size_t axis = 0; axis <= static_cast<std::size_t>(verdict.axis); ++axis) other[axis] = digits[axis];
    const Legality::Verdict again = legality_.ask(other, AxisId{});
    ASSERT_EQ(again.reason, verdict.reason) << points_.command(digits) << "\n" << points_.command(other);
    ASSERT_EQ(again.axis, verdict.axis);
  }
}

/// Answers that were remembered are those of rules that were never asked before.
TEST_P(LegalSpace, MemoryChangesNoVerdict) {
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 60; ++trial) {
    for (int i = 0; i < 20; ++i) static_cast<void>(legality_.ask(any(random), AxisId{}));
    const Digits digits = any(random);
    Legality fresh(points_);
    const Legality::Verdict known = legality_.ask(digits, AxisId{}), asked = fresh.ask(digits, AxisId{});
    ASSERT_EQ(known.reason, asked.reason) << points_.command(digits);
    ASSERT_EQ(known.axis, asked.axis);
  }
}

/// Rules in front of the outermost change hold already: a walk that asks only for the others hears the same.
TEST_P(LegalSpace, AWalkHearsTheSameAsSinglePoints) {
  Legality alone(points_);
  Digits before{};
  bool begun = false;
  std::uint64_t index = 0;
  for (int steps = 0; steps < 4000 && index < space_.size(); ++steps) {
    const Digits digits = space_.digits(index);
    const AxisId changed =
        begun ? static_cast<AxisId>(std::mismatch(before.begin(), before.end(), digits.begin()).first - before.begin())
              : AxisId{};
    const Legality::Verdict walked = legality_.ask(digits, changed), single = alone.ask(digits, AxisId{});
    ASSERT_EQ(walked.reason, single.reason) << points_.command(digits);
    before = digits, begun = true;
    const std::uint64_t stride = walked.reason < 0 ? 1 : space_.stride(walked.axis);
    index = (index / stride + 1) * stride;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, LegalSpace, testing::ValuesIn(testing_sweep::tried_spaces()),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace stepcast::sweep
