// Moments of laws against those of the requests that they make.
#include "sim/serving/steady/request_means.h"

#include <gtest/gtest.h>

namespace stepcast::sim {
namespace {

TEST(RequestMeans, LawsAndTheirRequestsHaveTheSame) {
  RequestLaw requests{.count = 200'000, .prompts = {100, 200}, .outputs = {8, 24}, .shared = 50, .seed = 1};
  const RequestMeans of_law = means_of(requests), of_all = means_of(requests_of(requests));
  EXPECT_NEAR(of_law.read, 100, 1e-9);
  EXPECT_NEAR(of_law.output, 16, 1e-9);
  EXPECT_NEAR(of_law.output_square, 16 * 16 + 24, 1e-9) << "17 whole numbers: (17^2 - 1) / 12 = 24";
  for (const auto what : {&RequestMeans::read, &RequestMeans::read_square, &RequestMeans::cached, &RequestMeans::output,
           &RequestMeans::output_square, &RequestMeans::least_read, &RequestMeans::most_read,
           &RequestMeans::inverse_gaps})
    EXPECT_NEAR(of_all.*what / of_law.*what, 1, 0.01);
  EXPECT_EQ(of_law.longest, 224);
}

/// 1/1 + 1/2 over 2 and 3 words: 3/4. A trace of the same.
TEST(RequestMeans, InverseGapsAreThoseOfWordsBehindTheFirst) {
  EXPECT_NEAR(means_of(RequestLaw{.count = 1, .prompts = {9, 9}, .outputs = {2, 3}}).inverse_gaps, 0.75, 0.02);
  EXPECT_NEAR(means_of({{{}, 9, 2}, {{}, 9, 3}, {{}, 9, 1}}).inverse_gaps, 0.75, 1e-12) << "one word has no gap";
}

}  // namespace
}  // namespace stepcast::sim
