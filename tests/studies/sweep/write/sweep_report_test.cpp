// The lists of a sweep's report as a user sees them.
#include "studies/sweep/write/report.h"

#include <gmock/gmock.h>

#include "tests/studies/sweep/typed_sweep.h"

namespace stepcast::sweep {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_program::Ran;
using testing_program::run_line;
using testing_sweep::swept;

const std::string small = "llama3-8b --machine dgx-h100 --gpus 8 --global-batch 64";

TEST(SweepReport, FrontsAreShortAndHaveTheirFigures) {
  const Ran ran =
      run_line("sweep " + small +
               " --price 2 --objective cost --pareto energy,cost,memory,mfu --chunks 1..8 --zero 1,2,3 --seq 4096");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("Best by cost, in US dollars per billion tokens"));
  const std::string front = ran.out.substr(ran.out.find("Pareto front of"));
  const std::string heading = front.substr(front.find('\n') + 1, 80);
  for (const char* column : {"energy/step", "cost/B tokens", "memory", "MFU"})
    EXPECT_THAT(front, HasSubstr(column)) << heading;
  EXPECT_THAT(front, HasSubstr("\n  20  "));
  EXPECT_THAT(front, Not(HasSubstr("\n  21  ")));
  EXPECT_THAT(front, HasSubstr(" more, in --json and -o"));
}

TEST(SweepReport, ALoneRowOfItsGpuCountIsNamedAsSuch) {
  const std::string fixed = " --global-batch 64 --tp 1 --pp 2 --micro-batch 1 --chunks 1 --objective cost --price 2";
  const std::string line = "sweep llama3-8b --gpus 8,16" + fixed;
  const Ran ran = run_line(line + " --top 2");
  EXPECT_THAT(ran.out, HasSubstr("number 1 is the only one of the list with 8 GPUs"));
  EXPECT_THAT(ran.out, Not(HasSubstr("stands alone")));
  EXPECT_THAT(run_line(line + " --top 3").out, HasSubstr("number 1 (recompute none) leads by"));
  EXPECT_THAT(run_line("sweep llama3-8b --gpus 8 --recompute none" + fixed).out, HasSubstr("number 1 stands alone\n"));
}

TEST(SweepReport, TiedRowsAreNamedByTheirSplitAndWhatDiffers) {
  std::string text = run_line("sweep " + small).out;
  for (std::size_t at = 0; (at = text.find("\n    ")) != std::string::npos;) text.replace(at, 5, " ");  // as one line
  EXPECT_THAT(text, HasSubstr("number 1 (tp 1, pp 2, dp 4, micro-batch 1, chunks 8); number 3 (tp 2, pp 1, dp 4,"));
}

TEST(SweepReport, TheRuleOfThumbIsExplainedWhereItLeadsToTheSameOrNowhere) {
  const std::string rule = "The usual rule of thumb (tp up to a node, then the smallest pp that fits, micro-batch 1,";
  EXPECT_THAT(run_line("sweep " + small + " --tp 8 --pp 1 --micro-batch 1 --recompute none").out, HasSubstr(rule));
}

/// Figures cost nothing where nobody said what a GPU costs.
TEST(SweepReport, WithoutAPriceTheCostIsNoNumber) {
  EXPECT_TRUE(swept(small + " --top 1")["top"][0]["report"]["cost_usd_per_billion_tokens"].is_null());
  EXPECT_GT(swept(small + " --top 1 --price 2")["top"][0]["report"]["cost_usd_per_billion_tokens"], 0);
}

}  // namespace
}  // namespace stepcast::sweep
