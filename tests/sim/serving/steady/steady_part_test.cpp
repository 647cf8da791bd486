// The steady part of a run, by hand.
#include "sim/serving/steady/steady_part.h"

#include <gtest/gtest.h>

namespace stepcast::sim {
namespace {

/// 10 ms, 1 ms for each word, 1 ms for each 16 positions of prompts.
const BatchTimer timer = [](const Batch& batch) {
  return Seconds(0.010 + 0.001 * batch.words + batch.positions / 16e3);
};

/// One user, two requests of a prompt in 20 ms and 2 more words in 11 ms each: from the first's sending to the second's
/// 3 words in 42 ms.
TEST(SteadyPart, EndsWhereTheLastIsSent) {
  const Load load{{{{}, 160, 3}, {{}, 160, 3}}, 1};
  const SteadyPart part = steady_part(simulate(load, {}, timer), 0, 1);
  EXPECT_NEAR(part.words_per_second, 3 / 0.042, 1e-9);
  EXPECT_NEAR(part.per_word.value(), 0.011, 1e-12);
  EXPECT_NEAR(part.first_word.value(), 0.020, 1e-12);
}

}  // namespace
}  // namespace stepcast::sim
