// Results of sweeps: what is kept, what is written, what is read again, and shards that add up to the whole.
#include "studies/sweep/result/result.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/run/forecast.h"
#include "tests/studies/sweep/synthetic_results.h"
#include "tests/trials.h"

namespace stepcast::sweep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
namespace synthetic = testing_sweep;

SweepRow timed(std::uint64_t index, double step_time, double memory = 0, double rate = 0) {
  SweepRow row;
  row.index = index;
  row.figures[static_cast<std::size_t>(Figure::step_time)] = step_time;
  row.figures[static_cast<std::size_t>(Figure::memory_peak)] = memory;
  row.figures[static_cast<std::size_t>(Figure::tokens_per_s_per_gpu)] = rate;
  return row;
}

std::vector<std::uint64_t> indices(const std::vector<SweepRow>& rows) {
  std::vector<std::uint64_t> out;
  for (const SweepRow& row : rows) out.push_back(row.index);
  return out;
}

std::string replaced(std::string text, const std::string& old, const std::string& by) {
  const auto at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return at == std::string::npos ? text : text.replace(at, old.size(), by);
}

/// "where: what (hint)" of the refusal.
std::string result_refusal(const std::string& text) {
  const auto read = read_result(text, "r.jsonl");
  return read ? "taken" : to_text(read.error());
}

TEST(SweepTop, KeepsTheBestInOrderAndTiesByIndex) {
  SweepQuestion q;
  q.objective = "step_time";
  q.top = 3;
  std::vector<SweepRow> top;
  for (const auto& [index, time] : {std::pair{7, 2.0}, {3, 2.0}, {9, 5.0}, {1, 4.0}, {2, 2.0}, {2, 2.0}, {8, 1.0}})
    keep_top(top, timed(static_cast<std::uint64_t>(index), time), q);
  EXPECT_THAT(indices(top), ElementsAre(8, 2, 3));
  keep_top(top, timed(4, std::nan("")), q);
  EXPECT_THAT(indices(top), ElementsAre(8, 2, 3));
  q.top = 0;
  std::vector<SweepRow> none;
  keep_top(none, timed(1, 1), q);
  EXPECT_TRUE(none.empty());
}

TEST(SweepTop, FollowsTheEndThatTheObjectiveCallsBest) {
  SweepQuestion q;
  q.objective = "tokens_per_s_per_gpu";
  q.top = 2;
  std::vector<SweepRow> top;
  for (const std::uint64_t i : {1, 2, 3}) keep_top(top, timed(i, 0, 0, static_cast<double>(i)), q);
  EXPECT_THAT(indices(top), ElementsAre(3, 2));
  EXPECT_TRUE(better(top[0], top[1], q));
  EXPECT_FALSE(better(top[1], top[1], q));
}

TEST(SweepFront, IsWhatNobodyDominatesWithEqualPointsInAnyOrderOfArrival) {
  const std::vector<Figure> figures = {Figure::step_time, Figure::memory_peak, Figure::tokens_per_s_per_gpu};
  const SweepQuestion q = synthetic::question(50);
  std::vector<SweepRow> rows, expected;
  for (std::uint64_t i = 0; i < q.size(); ++i) rows.push_back(synthetic::row(q, i));
  for (const SweepRow& row : rows)
    if (std::none_of(
            rows.begin(), rows.end(), [&](const SweepRow& r) { return dominates(r.figures, row.figures, figures); }))
      expected.push_back(row);
  std::sort(expected.begin(), expected.end(), [&](const auto& a, const auto& b) { return better(a, b, q); });
  const std::vector<std::uint64_t> front = indices(expected);
  ASSERT_GT(front.size(), 3U);
  ASSERT_LT(front.size(), rows.size());
  for (const unsigned seed : {1U, 2U, 3U}) {
    std::shuffle(rows.begin(), rows.end(), std::mt19937(seed));
    std::vector<SweepRow> kept;
    for (const SweepRow& row : rows) keep_front(kept, row, figures);
    for (const SweepRow& row : rows) keep_front(kept, row, figures);  // once more changes nothing
    EXPECT_EQ(indices(kept), front);
  }
}

TEST(SweepFront, KeepsEqualPointsAndDropsWhatIsWorseInOne) {
  std::vector<SweepRow> front;
  const std::vector<Figure> figures = {Figure::step_time, Figure::memory_peak};
  for (const SweepRow& row :
      {timed(4, 2, 2), timed(1, 2, 2), timed(5, 2, 3), timed(6, 1, 9), timed(7, std::nan(""), 2)})
    keep_front(front, row, figures);
  EXPECT_THAT(indices(front), ElementsAre(6, 1, 4));
  keep_front(front, timed(8, 1, 2), figures);
  EXPECT_THAT(indices(front), ElementsAre(8));
}

TEST(SweepQuestionTest, SizeIsTheProductAndHashSeesEveryPart) {
  EXPECT_EQ(synthetic::question(7).size(), 42U);
  EXPECT_EQ(synthetic::question(0).size(), 0U);
  EXPECT_EQ(SweepQuestion{}.size(), 1U);
  SweepQuestion vast;
  vast.axes.assign(70, {"tp", {"1", "2"}});
  EXPECT_EQ(vast.size(), static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));

  EXPECT_EQ(text_hash(""), "cbf29ce484222325");  // test vectors of FNV-1a
  EXPECT_EQ(text_hash("foobar"), "85944171f73967e8");
  const SweepQuestion base = synthetic::question();
  EXPECT_EQ(question_difference(base, base), "");
  struct Change {
    const char* says;
    void (*make)(SweepQuestion&);
  };
  const Change changes[] = {{"network", [](auto& q) { q.network = "x"; }},
      {"machine: 'dgx-h100' and 'x'", [](auto& q) { q.machine = "x"; }}, {"stack", [](auto& q) { q.stack = "x"; }},
      {"profile", [](auto& q) { q.profile = "x"; }},
      {"settings: 'global_batch 256' and 'global_batch 512'", [](auto& q) { q.fixed[1].second = "512"; }},
      {"settings: in another order", [](auto& q) { std::swap(q.fixed[0], q.fixed[1]); }},
      {"tp: '1, 2' and '1'", [](auto& q) { q.axes[0].values.pop_back(); }},
      {"axes: 'tp, schedule, micro_batch' and 'tp, schedule'", [](auto& q) { q.axes.pop_back(); }},
      {"objective", [](auto& q) { q.objective = "mfu"; }}, {"constraint", [](auto& q) { q.where = ""; }},
      {"Pareto", [](auto& q) { q.pareto.pop_back(); }}, {"top: '5' and '6'", [](auto& q) { q.top = 6; }},
      {"exhaustive: 'no' and 'yes'", [](auto& q) { q.exhaustive = true; }},
      {"price", [](auto& q) { q.price_per_gpu_hour = 3; }}, {"version", [](auto& q) { q.nouns_hash = "x"; }}};
  for (const Change& change : changes) {
    SweepQuestion other = base;
    change.make(other);
    EXPECT_NE(other.hash(), base.hash()) << change.says;
    EXPECT_THAT(question_difference(base, other), HasSubstr(change.says));
  }
}

TEST(SweepResultText, ReadsBackBitByBit) {
  SweepResult result = synthetic::result(synthetic::question(), {1, 3}, 4);
  ASSERT_FALSE(result.complete());
  result.top[0].figures[0] = -0.0;
  result.top[0].figures[static_cast<std::size_t>(Figure::cost)] = std::numeric_limits<double>::quiet_NaN();
  result.top[0].figures[static_cast<std::size_t>(Figure::energy)] = 5e-324;
  result.top[0].figures[static_cast<std::size_t>(Figure::host)] = 1.7976931348623157e308;
  result.question.price_per_gpu_hour = 0.1 + 0.2;
  const std::string text = write_result(result);
  const auto read = read_result(text, "r.jsonl");
  ASSERT_TRUE(read.has_value()) << to_text(read.error());
  EXPECT_EQ(write_result(*read), text);
  EXPECT_EQ(read->question.hash(), result.question.hash());
  EXPECT_EQ(read->shard, result.shard);
  EXPECT_EQ(read->done, result.done);
  EXPECT_EQ(indices(read->top), indices(result.top));
  EXPECT_EQ(indices(read->pareto), indices(result.pareto));
  for (std::size_t i = 0; i < figure_count; ++i) {
    const double wrote = result.top[0].figures[i], found = read->top[0].figures[i];
    EXPECT_TRUE(std::isnan(wrote) ? std::isnan(found) : wrote == found && std::signbit(wrote) == std::signbit(found))
        << i;
  }
}

TEST(SweepResultText, IsJsonLineByLine) {
  const SweepResult result = synthetic::result(synthetic::question());
  std::istringstream lines(write_result(result));
  std::string line;
  std::vector<nlohmann::json> rows;
  while (std::getline(lines, line)) rows.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(rows.size(), 1 + result.top.size() + result.pareto.size());
  EXPECT_EQ(rows[0]["question"]["axes"][1]["values"][2], "odd \"name\", with comma");
  EXPECT_EQ(rows[0]["tally"]["enumerated"], 42);
  EXPECT_EQ(rows[1]["list"], "top");
  EXPECT_EQ(rows[1]["choices"]["tp"], result.top[0].choices[0]);
  EXPECT_EQ(rows[1]["figures"]["step_time_s"], result.top[0].figures[0]);
  EXPECT_EQ(rows.back()["list"], "pareto");
}

TEST(SweepResultText, EveryCutIsFound) {
  const std::string text = write_result(synthetic::result(synthetic::question()));
  for (std::size_t length = 0; length < text.size(); length += 7) {
    const std::string said = result_refusal(text.substr(0, length));
    EXPECT_THAT(said, Not("taken")) << length;
    if (length > 20) {
      EXPECT_THAT(said, HasSubstr("cut short")) << length;
    }
  }
  EXPECT_THAT(result_refusal(text.substr(0, text.size() - 1)), HasSubstr("cut short"));
  const std::string all_but_last = text.substr(0, text.rfind('\n', text.size() - 2) + 1);
  EXPECT_THAT(result_refusal(all_but_last), HasSubstr("cut short"));
}

TEST(SweepResultText, EveryChangedByteIsFound) {
  const std::string text = write_result(synthetic::result(synthetic::question(2, 2)));
  for (std::size_t i = 0; i < text.size(); i += sanitized ? 31 : 3) {
    std::string changed = text;
    changed[i] = changed[i] == '1' ? '2' : '1';
    EXPECT_THAT(result_refusal(changed), Not("taken")) << i;
  }
}

TEST(SweepResultText, SaysWhatWasChangedAndWhere) {
  const SweepResult result = synthetic::result(synthetic::question(), {0, 2});
  const std::string text = write_result(result);
  ASSERT_EQ(result.done, (Ranges{{0, 21}}));
  // clang-format off
  struct Edit { const char* old; const char* by; const char* says; };
  // clang-format on
  const Edit edits[] = {{"{\"stepcast_sweep\": 1", "{\"stepcast_sweep\": 2", "r.jsonl line 1:/stepcast_sweep: found 2"},
      {"{\"stepcast_sweep\": 1", "{\"something\": 1", "r.jsonl: this is no result of a sweep"},
      {"\"machine\": \"dgx-h100\"", "\"machine\": \"dgx-a100\"", "line 1:/hash: the question was changed"},
      {"\"objective\": \"step_time\"", "\"objective\": \"step_tame\"", "line 1"},
      {"\"end\": 21}", "\"end\": 22}", "line 1:/done: 0 to 22 is outside of shard 0/2 (0 to 21)"},
      {"[{\"begin\": 0, \"end\": 21}]", "[{\"begin\": 0, \"end\": 9}, {\"begin\": 9, \"end\": 21}]",
          "line 1:/done: 9 to 21 is not in order"},
      {"\"enumerated\": 21", "\"enumerated\": 20", "line 1:/tally: 20 enumerated, but 21 done"},
      {"\"does_not_fit\": ", "\"does_not_fit\": 9", "more dismissed than enumerated"},
      {"\"shard\": {\"index\": 0", "\"shard\": {\"index\": 2", "no shard 2/2 (they count from 0)"},
      {"\"shard\": {\"index\": 0, \"count\": 2}", "\"shard\": {\"index\": 0, \"count\": 0}",
          "line 1:/shard/count: found 0"},
      {"\"rows\": {\"top\": 5", "\"rows\": {\"top\": 6", "6 rows in the top 5"},
      {"\"rows\": {\"top\": 5", "\"rows\": {\"top\": 4", "a row more than the"},
      {"\"list\": \"top\"", "\"list\": \"pareto\"", "line 2:/list: found 'pareto' (top)"},
      {"\"list\": \"top\"", "\"lost\": \"top\"", "line 2:/lost: unknown key (did you mean 'list'?)"},
      {"\"list\": \"top\", ", "\"list\": \"top\", \"more\": 1, ", "line 2:/more: unknown key"},
      {"\"list\": \"top\"", "\"list\": top", "r.jsonl line 2 column 11: syntax error"},
      {"\"choices\": {", "\"choices\": {\"pp\": \"1\", ", "line 2:/choices/pp: unknown key"},
      {"\"figures\": {", "\"figures\": {\"beauty\": 1, ", "line 2:/figures"},
      {"\"figures\": {\"step_time_s\": ", "\"figures\": {\"step_time_s\": 1", "is out of order"},
      {"\"figures\": {\"step_time_s\": ", "\"figures\": {\"step_time_s\":  ", "line 2: is not as stepcast wrote it"},
      {"\"check\": \"", "\"check\": \"0", "r.jsonl: was changed since stepcast wrote it"}};
  for (const Edit& edit : edits)
    EXPECT_THAT(result_refusal(replaced(text, edit.old, edit.by)), HasSubstr(edit.says)) << edit.by;
  const std::string index = fmt::format("\"list\": \"top\", \"index\": {}", result.top[0].index);
  EXPECT_THAT(result_refusal(replaced(text, index, "\"list\": \"top\", \"index\": 33")),
      HasSubstr("configuration 33 is not among those done"));
  EXPECT_THAT(result_refusal("{\"id\": \"llama3-8b\"}\n"),
      HasSubstr("this is no result of a sweep (a file that stepcast sweep or merge wrote"));
  EXPECT_THAT(result_refusal(""), HasSubstr("this is no result of a sweep"));
}

/// Parts of one question, folded by themselves.
std::vector<NamedResult> shards(const SweepQuestion& q, std::uint64_t count) {
  std::vector<NamedResult> parts;
  for (std::uint64_t i = 0; i < count; ++i)
    parts.push_back({fmt::format("{}.jsonl", i), synthetic::result(q, {i, count})});
  return parts;
}

std::string merge_refusal(std::vector<NamedResult> parts) {
  const auto merged = merge_results(std::move(parts));
  return merged ? "merged" : to_text(merged.error());
}

TEST(SweepMerge, AnyNumberOfShardsGivesTheBytesOfTheWhole) {
  for (const std::size_t last : {0, 1, 7, 100})
    for (const std::uint64_t top : {0, 1, 5, 1000}) {
      if (sanitized && top != 5) continue;
      const SweepQuestion q = synthetic::question(last, top);
      const std::string whole = write_result(synthetic::result(q));
      for (const std::uint64_t count : {1, 3, 7, 50}) {
        std::vector<NamedResult> parts = shards(q, count);
        for (NamedResult& part : parts) part.result = read_result(write_result(part.result), part.name).value();
        std::shuffle(parts.begin(), parts.end(), std::mt19937(static_cast<unsigned>(count)));
        const auto merged = merge_results(parts);
        ASSERT_TRUE(merged.has_value()) << to_text(merged.error());
        EXPECT_EQ(write_result(*merged), whole) << last << " " << top << " " << count;
      }
    }
}

TEST(SweepMerge, ShardsOfSeveralCountsDoWhenTheyCoverAllOnce) {
  const SweepQuestion q = synthetic::question(8);
  std::vector<NamedResult> parts = {
      {"half.jsonl", synthetic::result(q, {0, 2})}, {"c.jsonl", synthetic::result(q, {2, 4})}};
  EXPECT_THAT(
      merge_refusal(parts), HasSubstr("FILES: configurations 36 to 47 are in no file (run the sweep with --shard"));
  parts.push_back({"d.jsonl", synthetic::result(q, {3, 4})});
  const auto merged = merge_results(parts);
  ASSERT_TRUE(merged.has_value()) << to_text(merged.error());
  EXPECT_EQ(write_result(*merged), write_result(synthetic::result(q)));
}

TEST(SweepMerge, SaysWhatIsMissing) {
  const SweepQuestion q = synthetic::question(1000);
  std::vector<NamedResult> parts = shards(q, 8);
  parts.erase(parts.begin() + 3);
  EXPECT_EQ(merge_refusal(parts),
      "FILES: shard 3/8 is missing (run the sweep with --shard for what is missing (shards count from 0))");
  parts[2].result = synthetic::result(q, {2, 8}, 120);
  EXPECT_THAT(
      merge_refusal(parts), HasSubstr("shard 3/8 is missing; shard 2/8 is not finished: 120 of 750 left (2.jsonl)"));
  EXPECT_THAT(merge_refusal(parts), HasSubstr("run the unfinished one again with --resume"));
  parts = shards(q, 20);
  parts.resize(1);
  EXPECT_THAT(merge_refusal(parts), HasSubstr("shard 8/20 is missing; and 11 more"));
  EXPECT_THAT(merge_refusal({{"a.jsonl", synthetic::result(q, {}, 6000)}}),
      HasSubstr("shard 0/1 is not finished: 6,000 of 6,000 left"));
  EXPECT_THAT(merge_refusal({}), HasSubstr("nothing to merge"));
}

TEST(SweepMerge, AnotherFileMayHoldWhatAShardLeft) {
  const SweepQuestion q = synthetic::question();
  SweepResult rest = synthetic::result(q, {}, q.size());
  for (std::uint64_t i = 30; i < q.size(); ++i) synthetic::look(rest, i);
  const auto merged = merge_results({{"a.jsonl", synthetic::result(q, {}, 12)}, {"b.jsonl", rest}});
  ASSERT_TRUE(merged.has_value()) << to_text(merged.error());
  EXPECT_EQ(write_result(*merged), write_result(synthetic::result(q)));
}

TEST(SweepMerge, SaysWhatIsThereTwice) {
  const SweepQuestion q = synthetic::question();
  std::vector<NamedResult> parts = shards(q, 3);
  parts.push_back({"copy.jsonl", parts[1].result});
  EXPECT_THAT(merge_refusal(parts), HasSubstr("copy.jsonl: is shard 1/3, as 1.jsonl is (each shard once)"));
  parts.back() = {"other.jsonl", synthetic::result(q, {1, 4})};
  EXPECT_THAT(merge_refusal(parts), HasSubstr("other.jsonl: holds configurations 11 to 13, which 0.jsonl holds too"));
}

TEST(SweepMerge, SaysHowQuestionsDiffer) {
  std::vector<NamedResult> parts = shards(synthetic::question(), 2);
  parts[1].result.question.machine = "dgx-a100";
  EXPECT_THAT(merge_refusal(parts),
      HasSubstr("1.jsonl: answers another question than 0.jsonl: machine: 'dgx-h100' and 'dgx-a100'"));
}

TEST(SweepTally, AddsAndKeepsTheNearestMiss) {
  SweepTally a, b, c;
  a.enumerated = 10, a.illegal = {{"x", 2}}, a.excluded = 1;
  b.enumerated = 5, b.illegal = {{"x", 1}, {"y", 1}}, b.does_not_fit = 2, b.smallest_overflow_bytes = 8,
  b.smallest_overflow_index = 4;
  c.does_not_fit = 1, c.smallest_overflow_bytes = 8, c.smallest_overflow_index = 3;
  a.add(b);
  EXPECT_EQ(a.smallest_overflow_index, 4U);
  a.add(c);
  a.add(SweepTally{});
  EXPECT_EQ(a.enumerated, 15U);
  EXPECT_EQ(a.illegal_sum(), 4U);
  EXPECT_EQ(a.fitting(), 8U);
  EXPECT_EQ(a.smallest_overflow_bytes, 8);
  EXPECT_EQ(a.smallest_overflow_index, 3U);
}

}  // namespace
}  // namespace stepcast::sweep
