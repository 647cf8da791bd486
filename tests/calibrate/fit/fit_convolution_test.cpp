// Laws of convolutions are recovered from times that they made; times that say nothing of channels give none.
#include "calibrate/fit/fit_convolution.h"

#include <gtest/gtest.h>

namespace stepcast::calibrate {
namespace {

ScanLaw made_convolution(std::string_view function, double positions) {
  ScanLaw law;
  law.function = function, law.t0 = Seconds(2e-6), law.first_chunk = Seconds(2e-6);
  law.state = Seconds(4e-10), law.chunk = Seconds(2.4e-10 * positions);
  law.softness = 1.6, law.positions = positions, law.value_size = 128, law.key_size = 4;
  if (function == word_convolution) law.first_chunk = law.chunk = Seconds(0);
  return law;
}

/// `channels`: those that the kernel has, whatever its rows say; 0: the same.
std::vector<ConvolutionTiming> convolution_rows(const ScanLaw& law, const std::string& release, double channels = 0) {
  std::vector<ConvolutionTiming> rows;
  for (const double width : {2048, 6144, 12288})
    for (double sequences = 1; sequences <= 1024; sequences *= 4)
      for (double positions = 1; positions <= (law.function == word_convolution ? 1 : 16384); positions *= 2) {
        ConvolutionTiming row{"h100-sxm", "vllm", release, "gated_delta fn", law.function, {}, {}};
        row.shape = {sequences, positions, channels > 0 ? channels : width, 4};
        row.time = convolution_time(law, row.shape).time;
        row.shape.channels = width;
        rows.push_back(row);
      }
  return rows;
}

TEST(FitConvolution, TheLawThatMadeTheTimesComesBack) {
  for (const double whole : {1, 512}) {
    const auto fits = fit_convolutions(convolution_rows(made_convolution(prompt_convolution, whole), "1.0"));
    ASSERT_EQ(fits.laws.size(), 1U);
    const ScanLaw& law = fits.laws.front().law;
    EXPECT_EQ(law.positions, whole);
    EXPECT_EQ(law.refinement.held_out.samples, static_cast<int>(fits.laws.front().shapes));
    EXPECT_LT(law.refinement.held_out.mape, 0.01) << whole;
    EXPECT_NEAR(law.chunk / Seconds(2.4e-10 * whole), 1, 0.02);
    EXPECT_NEAR(law.t0.value() / 2e-6, 1, 0.1);
    EXPECT_EQ(law.kernels, "vllm");
  }
}

TEST(FitConvolution, WordsHaveALawOfThreeConstants) {
  auto rows = convolution_rows(made_convolution(word_convolution, 1), "1.0");
  const auto fits = fit_convolutions(rows);
  ASSERT_EQ(fits.laws.size(), 1U);
  EXPECT_EQ(fits.laws.front().law.function, word_convolution);
  EXPECT_NEAR(fits.laws.front().law.state.value() / 4e-10, 1, 0.02);
  EXPECT_EQ(fits.laws.front().law.chunk, Seconds(0));
  const auto prompts = convolution_rows(made_convolution(prompt_convolution, 1), "1.0");
  rows.insert(rows.end(), prompts.begin(), prompts.end());
  EXPECT_EQ(fit_convolutions(rows).laws.size(), 2U);
}

TEST(FitConvolution, TimesThatDoNotGrowWithChannelsAreOfOtherConvolutions) {
  auto rows = convolution_rows(made_convolution(prompt_convolution, 1), "1.0", 2048);
  const std::size_t foreign = rows.size();
  const auto honest = convolution_rows(made_convolution(prompt_convolution, 1), "2.0");
  rows.insert(rows.end(), honest.begin(), honest.end());
  const auto fits = fit_convolutions(rows);
  ASSERT_EQ(fits.laws.size(), 1U);
  EXPECT_EQ(fits.laws.front().release, "2.0");
  ASSERT_EQ(fits.foreign.size(), 1U);
  EXPECT_EQ(fits.foreign.front().software, "vllm 1.0");
  EXPECT_EQ(fits.foreign.front().rows, foreign);
}

/// One shape is off in one release: it is not in the law that forecasts it.
TEST(FitConvolution, AShapeThatIsHeldOutIsNotInTheLaw) {
  auto rows = convolution_rows(made_convolution(prompt_convolution, 1), "1.0");
  rows[20].time = rows[20].time * 4;
  const auto fits = fit_convolutions(rows);
  ASSERT_EQ(fits.laws.size(), 1U);
  EXPECT_NEAR(convolution_time(fits.laws.front().law, rows[20].shape).time / rows[20].time, 0.25, 0.02);
  EXPECT_GT(fits.laws.front().law.refinement.held_out.mape, 0.5 * 0.75 / static_cast<double>(rows.size()));
}

TEST(FitConvolution, FewShapesGiveNoLaw) {
  auto rows = convolution_rows(made_convolution(prompt_convolution, 1), "1.0");
  rows.resize(fewest_convolution_shapes - 1);
  EXPECT_TRUE(fit_convolutions(rows).laws.empty());
}

}  // namespace
}  // namespace stepcast::calibrate
