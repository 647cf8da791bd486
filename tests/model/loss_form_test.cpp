#include "model/loss_form.h"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

TEST(LossForm, ThePartThatIsMadeAtOnce) {
  EXPECT_EQ(made_at_once({}, 4096, 128256, 4096), 1);
  EXPECT_EQ(made_at_once({LossPieces::count, 8}, 4096, 128256, 4096), 0.125);
  EXPECT_EQ(made_at_once({LossPieces::tokens, 256}, 4096, 128256, 4096), 0.0625);
  EXPECT_EQ(made_at_once({LossPieces::tokens, 256}, 100, 128256, 4096), 1);
  EXPECT_EQ(made_at_once({LossPieces::on_chip}, 4096, 128256, 4096), 0);
}

/// Liger's own example: 16,384 positions of 32,000 words and a width of 4096 are 8 pieces of 2048.
TEST(LossForm, PiecesByWidthTakeTheMemoryOfWhatTheHeadReads) {
  EXPECT_EQ(made_at_once({LossPieces::by_width}, 16384, 32000, 4096), 2048.0 / 16384);
  for (const double tokens : {1.0, 100.0, 32768.0, 1e6}) {
    const double part = made_at_once({LossPieces::by_width}, tokens, 151936, 1536);
    EXPECT_GT(part, 0);
    EXPECT_LE(part, 1);
    EXPECT_LT(part * tokens * 151936, 2 * (tokens + 152) * 1536 + 151936);
  }
}

}  // namespace
}  // namespace stepcast
