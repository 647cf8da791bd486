// The judged classes: who belongs, their figures, and that a held-out forecast does not know its group.
#include "studies/validation/judged_class.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "studies/records/embedded_runs.h"

namespace stepcast::validation {
namespace {

std::vector<Run> records_of(const std::string& source) {
  std::vector<Run> runs;
  for (const EmbeddedFile& file : embedded_runs()) {
    const auto read = read_runs(std::string(file.text), std::string(file.name));
    for (const Run& run : *read)
      if (run.source.starts_with(source)) runs.push_back(run);
  }
  return runs;
}

ValidatedCase made_case(double measured, double predicted) {
  ValidatedCase one;
  one.gpu = "B200", one.precision = "fp8", one.kind = "dense", one.stack = "nemo", one.source = "somewhere";
  one.measured_s = measured, one.predicted_s = predicted, one.error = predicted / measured - 1;
  one.low_s = 0.95 * predicted, one.high_s = 1.05 * predicted;
  one.model_flops = 1e15 * measured;
  return one;
}

const JudgedClass& judged(std::string_view name) {
  for (const JudgedClass& row : judged_classes())
    if (row.name == name) return row;
  ADD_FAILURE() << name;
  return judged_classes().front();
}

TEST(JudgedClass, WordsAndBeginningsDecideWhoBelongs) {
  EXPECT_TRUE(belongs_to(made_case(1, 1), judged("Blackwell dense fp8")));
  EXPECT_TRUE(belongs_to(made_case(1, 1), judged("Blackwell dense")));
  EXPECT_FALSE(belongs_to(made_case(1, 1), judged("Blackwell dense mxfp8")));
  EXPECT_FALSE(belongs_to(made_case(1, 1), judged("H100 dense fp8")));
  ValidatedCase other = made_case(1, 1);
  other.kind = "moe";
  EXPECT_FALSE(belongs_to(other, judged("Blackwell dense")));
  EXPECT_TRUE(belongs_to(other, judged("routed experts")));
}

TEST(JudgedClass, FiguresAreThoseOfAHandCalculation) {
  std::vector<ValidatedCase> cases = {made_case(1, 1.1), made_case(2, 1.8), made_case(4, 4.04), made_case(1, 3)};
  cases[3].doubt = "broken";
  for (ValidatedCase& one : cases)
    one.held_out_s = one.measured_s * 1.2, one.held_out_low_s = one.measured_s,
    one.held_out_high_s = 2 * one.measured_s;
  std::vector<const ValidatedCase*> members;
  for (const ValidatedCase& one : cases) members.push_back(&one);
  const JudgedRow row = judged_row(judged("Blackwell dense fp8"), members);
  EXPECT_EQ(row.doubtful, 1u);
  EXPECT_NEAR(row.fitted.mape, (0.1 + 0.1 + 0.01) / 3, 1e-12);
  EXPECT_NEAR(row.held_out.mape, 0.2, 1e-12);
  EXPECT_EQ(row.held_out.n, 3u);
  EXPECT_EQ(row.with_doubts.n, 4u);
  EXPECT_NEAR(row.coverage, 1, 1e-12);
  for (ValidatedCase& one : cases) one.held_out_s = 0;
  const JudgedRow plain = judged_row(judged("Blackwell dense fp8"), members);
  EXPECT_EQ(plain.held_out.n, 0u);
  EXPECT_NEAR(plain.coverage, 1.0 / 3, 1e-12) << "only the third lies within 5 %";
}

TEST(JudgedClass, HeldOutForecastsComeFromOtherModels) {
  const auto records = records_of("Korthikanti et al. 2022");
  ASSERT_GE(records.size(), 8u);
  Validation validation = validate_runs(records, Fits::ignored);
  const auto rows = judged_rows_held_out(validation, runs_of_cases(validation, records));
  for (const ValidatedCase& one : validation.cases) {
    EXPECT_GT(one.held_out_s, 0) << one.id;
    EXPECT_LT(one.held_out_low_s, one.held_out_s) << one.id;
    EXPECT_GT(one.held_out_high_s, one.held_out_s) << one.id;
  }
  const auto own = std::find_if(
      rows.begin(), rows.end(), [](const JudgedRow& row) { return row.judged->name == "Korthikanti, eight runs"; });
  ASSERT_NE(own, rows.end());
  EXPECT_EQ(own->held_out.n, 8u);
  EXPECT_LE(own->held_out.mape, 0.025);
}

TEST(JudgedClass, WithoutOtherSoftwareTheLawsAloneSpeak) {
  // These records are of one software: nothing may be fitted to it where the class says that others speak for it.
  const auto records = records_of("Korthikanti et al. 2022");
  Validation validation = validate_runs(records, Fits::ignored);
  const auto rows = judged_rows_held_out(validation, runs_of_cases(validation, records));
  const auto foreign =
      std::find_if(rows.begin(), rows.end(), [](const JudgedRow& row) { return row.judged->leave == Leave::stack; });
  ASSERT_NE(foreign, rows.end());
  ASSERT_EQ(foreign->held_out.n, 8u);
  EXPECT_DOUBLE_EQ(foreign->held_out.mape, foreign->fitted.mape);  // the fits were ignored
}

TEST(JudgedClass, EveryClassHasAGoalAndANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const JudgedClass& row : judged_classes()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_GT(row.goal, 0) << row.name;
  }
}

}  // namespace
}  // namespace stepcast::validation
