// The three changes that would bring most.
#include <gtest/gtest.h>

#include <set>

#include "studies/roofline/figures/waterfall.h"
#include "studies/run/forecast.h"
#include "studies/whatif/sensitivity.h"
#include "tests/studies/roofline/roofline_case.h"

namespace stepcast::roofline {
namespace {

using testing_roofline::case_request;

std::vector<Lever> levers_of(const Request& request, std::size_t most = 3) {
  auto levers = biggest_levers(request, most);
  EXPECT_TRUE(levers) << (levers ? "" : to_text(levers.error()));
  return levers ? *std::move(levers) : std::vector<Lever>{};
}

TEST(Levers, AreTheLargestGainsOnePerLever) {
  const Request request = case_request("llama3-70b", {{"gpus", "64"}, {"tp", "8"}, {"pp", "4"}});
  const auto three = levers_of(request), all = levers_of(request, 1000);
  ASSERT_EQ(three.size(), 3U);
  std::set<std::string> ids;
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_GT(all[i].gain, 0);
    EXPECT_DOUBLE_EQ(all[i].after.value(), all[i].before.value() * (1 - all[i].gain));
    EXPECT_TRUE(ids.insert(all[i].id).second) << all[i].id << " twice";
    EXPECT_GE(all[i > 0 ? i - 1 : 0].gain, all[i].gain);
    EXPECT_NE(all[i].phase, "");
  }
  for (std::size_t i = 0; i < three.size(); ++i) EXPECT_EQ(three[i].id, all[i].id);
  EXPECT_FALSE(ids.contains("seq")) << "another sequence is another job";
}

TEST(Levers, AreThoseOfAStudyOfSensitivity) {
  const Request request = case_request("llama3-70b", {{"gpus", "64"}, {"tp", "8"}, {"pp", "4"}});
  const auto study = sensitivity(request, 2);
  ASSERT_TRUE(study);
  for (const Lever& lever : levers_of(request, 1000)) {
    bool found = false;
    for (const LeverEffect& effect : study->levers)
      for (const Variation& variation : effect.variations)
        found |= effect.id == lever.id && variation.to == lever.to &&
                 -time_change(study->before, variation.after) == lever.gain;
    EXPECT_TRUE(found) << lever.id << " " << lever.to;
  }
}

TEST(Levers, FitInMemoryWhereTheRunDoes) {
  const Request fits = case_request("llama3-8b", {{"gpus", "64"}, {"tp", "4"}});
  ASSERT_TRUE(sensitivity(fits, 2)->before.fits);
  for (const Lever& lever : levers_of(fits, 1000)) EXPECT_TRUE(lever.fits) << lever.id << " " << lever.to;
  const Request too_large =
      case_request("llama3.1-405b", {{"gpus", "1008"}, {"tp", "8"}, {"pp", "9"}, {"global_batch", "2016"}});
  ASSERT_FALSE(sensitivity(too_large, 2)->before.fits);
  EXPECT_EQ(levers_of(too_large).size(), 3U) << "what does not fit still has levers, and says so";
  EXPECT_FALSE(levers_of(too_large).front().fits);
}

TEST(Levers, OfARunThatCannotBeForecastAreItsError) {
  Request request = case_request("llama3-8b", {{"gpus", "7"}, {"tp", "3"}});
  const auto levers = biggest_levers(request, 3);
  ASSERT_FALSE(levers);
  EXPECT_EQ(levers.error().where, complete(request).error().where);
}

}  // namespace
}  // namespace stepcast::roofline
