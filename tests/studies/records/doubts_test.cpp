// The list of doubtful records: read strictly, every row speaks of a record, and conditions mean what they say.
#include "studies/records/doubts.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "studies/records/embedded_runs.h"
#include "studies/validation/validation.h"

namespace stepcast::records {
namespace {

std::vector<records::Run> carried_runs() {
  std::vector<records::Run> runs;
  for (const EmbeddedFile& file : embedded_runs()) {
    auto read = read_runs(std::string(file.text), std::string(file.name));
    EXPECT_TRUE(read.has_value()) << (read ? "" : to_text(read.error()));
    if (read) runs.insert(runs.end(), read->begin(), read->end());
  }
  return runs;
}

TEST(Doubts, EveryPatternSpeaksOfACarriedRecord) {
  const auto runs = carried_runs();
  ASSERT_FALSE(doubt_rules().empty());
  for (const DoubtRule& rule : doubt_rules())
    for (const std::string& pattern : rule.ids) {
      DoubtRule alone = rule;
      alone.ids = {pattern};
      EXPECT_TRUE(std::any_of(runs.begin(), runs.end(), [&](const records::Run& run) { return fits_rule(run, alone); }))
          << pattern;
    }
}

TEST(Doubts, FewRecordsAreDoubted) {
  const auto runs = carried_runs();
  const auto doubted =
      std::count_if(runs.begin(), runs.end(), [](const records::Run& run) { return !doubt_about(run).empty(); });
  EXPECT_GT(doubted, 0);
  EXPECT_LT(static_cast<double>(doubted), 0.13 * static_cast<double>(runs.size()));
}

records::Run made_run() {
  records::Run run;
  run.id = "mbridge-26.02-x";
  run.hardware.gpu = "B200";
  run.parallel.pp = 4;
  run.parallel.chunks = 1;
  run.micro_batch = 1;
  return run;
}

DoubtRule made_rule(const std::string& where) {
  const auto rules = read_doubts(
      R"({"doubts": [{"ids": ["other", "mbridge-*"], "where": )" + where + R"(, "reason": "r"}]})", "d.json");
  EXPECT_TRUE(rules.has_value()) << (rules ? "" : to_text(rules.error()));
  return rules ? rules->front() : DoubtRule{};
}

TEST(Doubts, AllConditionsHoldTogether) {
  EXPECT_TRUE(fits_rule(made_run(), made_rule(R"({"gpu": "B*", "pp": [2, 8], "micro_batch": [1, 1]})")));
  EXPECT_FALSE(fits_rule(made_run(), made_rule(R"({"gpu": "GB*", "pp": [2, 8]})")));
  EXPECT_FALSE(fits_rule(made_run(), made_rule(R"({"gpu": "B*", "pp": [5, 8]})")));
  EXPECT_TRUE(fits_rule(made_run(), made_rule(R"({"pp": [4, 4]})")));
  records::Run other = made_run();
  other.id = "dgxc-26.02-x";
  EXPECT_FALSE(fits_rule(other, made_rule("{}")));
}

TEST(Doubts, UnknownFieldsFitNoCondition) {
  records::Run run = made_run();
  run.parallel.chunks = std::nullopt;  // unknown is not 1
  EXPECT_TRUE(fits_rule(made_run(), made_rule(R"({"chunks": [1, 1]})")));
  EXPECT_FALSE(fits_rule(run, made_rule(R"({"chunks": [1, 1]})")));
  EXPECT_FALSE(fits_rule(run, made_rule(R"({"precision": "*"})")));
}

std::string doubts_error(const std::string& row) {
  const auto rules = read_doubts("{\"doubts\": [" + row + "]}", "d.json");
  return rules ? "" : to_text(rules.error());
}

TEST(Doubts, ErrorsNameThePlace) {
  EXPECT_EQ(doubts_error(R"({"ids": ["a"], "reason": "r"})"), "");
  EXPECT_NE(doubts_error(R"({"ids": [], "reason": "r"})").find("/doubts/0/ids"), std::string::npos);
  EXPECT_NE(doubts_error(R"({"ids": ["a"]})").find("reason"), std::string::npos);
  EXPECT_NE(doubts_error(R"({"ids": ["a"], "reason": ""})").find("what contradicts what"), std::string::npos);
  EXPECT_NE(
      doubts_error(R"({"ids": ["a"], "reason": "r", "where": {"gpuu": "B200"}})").find("gpuu"), std::string::npos);
  EXPECT_NE(
      doubts_error(R"({"ids": ["a"], "reason": "r", "where": {"pp": [4, 2]}})").find("/where/pp"), std::string::npos);
  EXPECT_NE(
      doubts_error(R"({"ids": ["a"], "reason": "r", "where": {"pp": [4]}})").find("least and most"), std::string::npos);
  EXPECT_NE(
      doubts_error(R"({"ids": ["a"], "reason": "r", "where": {"gpu": 4}})").find("/where/gpu"), std::string::npos);
}

TEST(Doubts, ForecastsCarryThem) {
  auto runs = carried_runs();
  std::erase_if(runs, [](const records::Run& run) { return doubt_about(run).empty(); });
  const validation::Validation held = validation::validate_runs(runs);
  std::size_t doubted = 0;
  for (const validation::ValidatedCase& row : held.cases) {
    const auto run = std::find_if(runs.begin(), runs.end(), [&](const records::Run& one) { return one.id == row.id; });
    ASSERT_NE(run, runs.end());
    EXPECT_EQ(row.doubt, doubt_about(*run)) << row.id;
    ++doubted;
  }
  EXPECT_GT(doubted, 0U);
}

}  // namespace
}  // namespace stepcast::records
