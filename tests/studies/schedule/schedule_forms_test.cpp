// Every form in which the schedule command shows an order: text, comparison, CSV, trace and picture.
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/schedule/schedule_table.h"
#include "tests/studies/run_program.h"

namespace stepcast::schedule {
namespace {

using testing::HasSubstr;
using testing::Not;
using FormJson = nlohmann::json;

const std::string small_forms_run = " --stages 2 --micro-batches 3 --forward 1 --input-grad 1 --weight-grad 1";

std::string whole_file(const std::string& name) {
  std::ifstream file(name);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ScheduleForms, TextDrawsTheTimeline) {
  const auto ran = testing_program::run_line("schedule gpipe" + small_forms_run);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("  0  F0-F1-F2-.........B0----B1----B2----\n"
                                 "  1  ...F0-F1-F2-B0----B1----B2----......\n"));
  EXPECT_THAT(ran.out, Not(HasSubstr("\x1b[")));
}

TEST(ScheduleForms, ColourIsInTheLettersOnly) {
  std::vector<std::string> words = {"schedule", "zb-h1"};
  std::istringstream rest(small_forms_run);
  for (std::string word; rest >> word;) words.push_back(word);
  const auto plain = testing_program::run_line(words), colored = testing_program::run_line(words, true);
  EXPECT_THAT(colored.out, HasSubstr("\x1b[36mF0-\x1b[0m"));
  std::string bare;
  for (std::size_t i = 0; i < colored.out.size(); ++i) {
    if (colored.out[i] == '\x1b') i = colored.out.find('m', i);
    else bare += colored.out[i];
  }
  EXPECT_EQ(bare, plain.out);
}

TEST(ScheduleForms, NarrowTerminalsStillHoldTheRow) {
  std::ostringstream out, err;
  Console console{out, err, false, true, 40};
  ASSERT_EQ(run_program({"schedule", "1f1b", "--stages", "4", "--micro-batches", "64", "--forward", "1", "--input-grad",
                            "1", "--weight-grad", "1"},
                console),
      0);
  std::istringstream lines(out.str().substr(out.str().find("  0  F")));
  int rows = 0;
  for (std::string line; rows < 4 && std::getline(lines, line); ++rows) EXPECT_LE(line.size(), 40U) << line;
  EXPECT_EQ(rows, 4);
}

TEST(ScheduleForms, LaterChunksAndTheSecondCopyHaveSmallLetters) {
  const std::string times = " --forward 1 --input-grad 1 --weight-grad 1";
  const auto v = testing_program::run_line("schedule zb-v --stages 2 --micro-batches 1" + times);
  EXPECT_THAT(v.out, HasSubstr("  0  F0-......f0-i0-w0-......I0-W0-\n"
                               "  1  ...F0-f0-......i0-w0-I0-W0-...\n"));
  EXPECT_THAT(v.out, HasSubstr("F forward, I input gradient, W weight gradient, . idle; small letters: later"));
  const auto both = testing_program::run_line("schedule dualpipe --stages 2 --micro-batches 4" + times);
  EXPECT_THAT(both.out, HasSubstr("small letters: the copy that runs the other way\n"));
}

TEST(ScheduleForms, ActionsThatFindNoColumnAreCounted) {
  const std::string times = " --stages 8 --micro-batches 32 --chunks 2 --forward 10 --input-grad 12 --weight-grad 7";
  const auto narrow = testing_program::run_line("schedule interleaved-1f1b" + times);
  EXPECT_THAT(narrow.out, HasSubstr("of 1024 actions fall between two.\n"));
  const auto fits = testing_program::run_line("schedule gpipe" + small_forms_run);
  EXPECT_THAT(fits.out, Not(HasSubstr("fall between")));
}

TEST(ScheduleForms, OneRankOfOneMicroBatch) {
  const auto ran = testing_program::run_line(
      "schedule 1f1b --stages 1 --micro-batches 1 --forward 1ms --input-grad 1ms --weight-grad 1ms");
  EXPECT_THAT(ran.out, HasSubstr("1 rank, 1 micro-batch\n"));
  EXPECT_THAT(ran.out, HasSubstr("  0  F0-B0----\n"));
  EXPECT_THAT(ran.out, HasSubstr("3.00 ms"));
}

TEST(ScheduleForms, CsvIsARowPerRank) {
  const auto ran = testing_program::run_line("schedule gpipe" + small_forms_run + " --csv");
  EXPECT_EQ(ran.out, "0F0,0F1,0F2,0B0,0B1,0B2\n1F0,1F1,1F2,1B0,1B1,1B2\n");
}

TEST(ScheduleForms, ComparisonHoldsOrRefusesEveryKind) {
  const auto ran = testing_program::run_line(
      "schedule --compare --stages 4 --micro-batches 8 --forward 1 --input-grad 1 --weight-grad 1 --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto json = FormJson::parse(ran.out);
  std::set<std::string> seen;
  std::map<std::string, double> makespans;
  double before = 0;
  for (const auto& row : json.at("schedules")) {
    seen.insert(row.at("schedule").get<std::string>());
    EXPECT_GE(row.at("makespan").get<double>(), before);
    EXPECT_GE(row.at("gap_to_bound").get<double>(), -1e-9) << row;
    before = row.at("makespan");
    makespans[row.at("schedule")] = before;
  }
  for (const auto& row : json.at("refused")) seen.insert(row.at("schedule").get<std::string>());
  EXPECT_EQ(seen.size(), schedule_kinds().size());
  EXPECT_EQ(makespans["zb-h1"], 27);
  EXPECT_EQ(makespans["interleaved-1f1b"], 28.5);  // two chunks unless told
}

TEST(ScheduleForms, ComparisonSaysWhyAKindIsNotThere) {
  const auto ran = testing_program::run_line(
      "schedule --compare --stages 3 --micro-batches 3 --forward 1 --input-grad 1 --weight-grad 1");
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("  dualpipe: --stages: "));
}

class ScheduleFiles : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_ = testing_program::own_path("schedule_files/");
};

TEST_F(ScheduleFiles, TraceHasActionsArrowsAndMemory) {
  const auto ran = testing_program::run_line("schedule 1f1b --stages 2 --micro-batches 3 --forward 1ms --input-grad 1ms"
                                             " --weight-grad 1ms --p2p 500us --trace " +
                                             folder_ + "t.json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto trace = FormJson::parse(whole_file(folder_ + "t.json"));
  std::map<std::string, int> count;
  std::map<int, double> sent, taken;
  int held = 0;
  double least_hop = 1e9, second = 0;
  for (const auto& event : trace.at("traceEvents")) {
    const std::string phase = event.at("ph");
    ++count[phase + (phase == "X" ? event.at("tid").dump() : "")];
    if (phase == "s") sent[event.at("id")] = event.at("ts");
    if (phase == "f") taken[event.at("id")] = event.at("ts");
    if (phase == "C" && event.at("pid") == 0) held = std::max(held, event.at("args").at("held").get<int>());
    if (phase == "X" && event.at("name") == "1F0") second = event.at("ts");
  }
  for (const auto& [id, time] : sent) least_hop = std::min(least_hop, taken.at(id) - time);
  EXPECT_EQ(count["X1"], 12);  // 3 F and 3 B on two ranks
  EXPECT_EQ(count["X3"], 3);   // sends ahead
  EXPECT_EQ(count["X4"], 3);   // and back
  EXPECT_EQ(count["s"], 6);
  EXPECT_EQ(count["f"], 6);
  EXPECT_EQ(count["C"], 12);
  EXPECT_EQ(held, 2);
  EXPECT_NEAR(least_hop, 500, 1e-6);
  EXPECT_NEAR(second, 1500, 1e-6);  // a forward and a hop, in microseconds
}

TEST_F(ScheduleFiles, TraceShowsWhatBlockingHopsHold) {
  const auto ran = testing_program::run_line(
      "schedule 1f1b --stages 2 --micro-batches 3 --forward 1ms --input-grad 1ms --weight-grad 1ms"
      " --p2p 500us --p2p-mode blocking --json --trace " +
      folder_ + "t.json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  double held = 0;
  const auto trace = FormJson::parse(whole_file(folder_ + "t.json"));
  for (const auto& event : trace.at("traceEvents"))
    if (event.value("cat", "") == "hold") held += event.at("dur").get<double>();
  EXPECT_GE(held, 6 * 500) << "every message holds its sender or its receiver";
}

TEST_F(ScheduleFiles, PictureHasARectanglePerAction) {
  const auto ran = testing_program::run_line("schedule dualpipe --stages 4 --micro-batches 8 --forward 1 --input-grad 1"
                                             " --weight-grad 1 --svg " +
                                             folder_ + "p.svg");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string svg = whole_file(folder_ + "p.svg");
  EXPECT_TRUE(svg.starts_with("<svg xmlns="));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  std::size_t titles = 0, forwards = 0;
  for (std::size_t at = svg.find("<title>"); at != std::string::npos; at = svg.find("<title>", at + 1)) {
    ++titles;
    const std::size_t letter = svg.find_first_not_of("0123456789", at + 7);
    forwards += svg[letter] == 'F' ? 1 : 0;
  }
  EXPECT_EQ(forwards, 4U * 8);
  EXPECT_GE(titles, 2U * 4 * 8);
}

TEST_F(ScheduleFiles, PicturesHaveAxisMemoryAndBothPages) {
  const auto ran = testing_program::run_line("schedule dualpipe --stages 4 --micro-batches 8 --forward 1 --input-grad 1"
                                             " --weight-grad 1 --svg " +
                                             folder_ + "p.svg");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::string svg = whole_file(folder_ + "p.svg");
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme:dark"));
  for (const char* tick : {">0</text>", ">10</text>", ">20</text>", ">26</text>"}) EXPECT_THAT(svg, HasSubstr(tick));
  EXPECT_THAT(svg, HasSubstr("makespan 26, bubble 7.7 %"));
  EXPECT_THAT(svg, HasSubstr(">5 held</text>"));
  EXPECT_THAT(svg, HasSubstr("height=\"11\"><title>0F3 "));  // a pair's half of the row
  EXPECT_THAT(svg, HasSubstr("one above the other: at once"));
  EXPECT_THAT(svg, Not(HasSubstr("http://www.w3.org/1999/xlink")));  // nothing from elsewhere
}

TEST_F(ScheduleFiles, NamesOfFilesAreNoMarkup) {
  const std::string name = folder_ + "a<b&c.csv";
  std::ofstream(name) << "0F0,0B0\n1F0,1B0\n";
  const auto ran = testing_program::run_line(
      "schedule --from " + name + " --forward 1 --input-grad 1 --weight-grad 1" + " --svg " + folder_ + "p.svg");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(whole_file(folder_ + "p.svg"), HasSubstr("a&lt;b&amp;c.csv"));
}

TEST_F(ScheduleFiles, NothingIsLeftOfARunThatFails) {
  std::ofstream(folder_ + "old.svg") << "old";
  const auto ran =
      testing_program::run_line("schedule 1f1b" + small_forms_run + " --memory-cap 1 --svg " + folder_ + "old.svg");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(whole_file(folder_ + "old.svg"), "old");
  EXPECT_FALSE(std::filesystem::exists(folder_ + "old.svg.part"));
}

/// What a kind's own CSV gives when it is read again.
FormJson read_again(const std::string& folder, const std::string& words, const std::string& times) {
  const auto csv = testing_program::run_line("schedule " + words + times + " --csv");
  EXPECT_EQ(csv.code, 0) << words << "\n" << csv.err;
  std::ofstream(folder + "order.csv") << csv.out;
  const std::string splits = words.starts_with("seq") ? " --seq-splits 2" : "";
  const auto again = testing_program::run_line("schedule --from " + folder + "order.csv" + times + splits + " --json");
  EXPECT_EQ(again.code, 0) << words << "\n" << again.err;
  return again.code == 0 ? FormJson::parse(again.out) : FormJson{};
}

TEST_F(ScheduleFiles, ACsvIsTheOrderThatItWasWrittenFrom) {
  const std::string times = " --forward 10 --input-grad 12 --weight-grad 7 --p2p 1";
  const std::string size = " --stages 4 --micro-batches 8";
  for (const std::string& words : {"1f1b" + size, "zb-h1" + size, "zb-v" + size, "dualpipe" + size, "dualpipev" + size,
           "interleaved-1f1b" + size + " --chunks 2", "seq-1f1b" + size + " --seq-splits 2"}) {
    const auto again = read_again(folder_, words, times);
    const auto first = FormJson::parse(testing_program::run_line("schedule " + words + times + " --json").out);
    for (const char* key : {"makespan", "span", "p2p_messages", "weight_copies", "lower_bound", "ranks"})
      EXPECT_EQ(again.at(key), first.at(key)) << words << " " << key;
  }
}

TEST_F(ScheduleFiles, OrdersOfFilesAreChecked) {
  const std::string name = folder_ + "wrong.csv";
  std::ofstream(name) << "0F0,0B0\n1B0,1F0\n";
  const std::string times = " --forward 1 --input-grad 1 --weight-grad 1";
  const auto wrong = testing_program::run_line("schedule --from " + name + times);
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("wrong.csv:2:1"));
  const auto sizes = testing_program::run_line("schedule --from " + name + times + " --stages 2");
  EXPECT_THAT(sizes.err, HasSubstr("--stages: does not go with --from"));
  const auto kind = testing_program::run_line("schedule gpipe --from " + name + times);
  EXPECT_THAT(kind.err, HasSubstr("a KIND does not go with --from"));
  const auto dialect = testing_program::run_line("schedule --from " + name + times + " --csv-dialect old");
  EXPECT_THAT(dialect.err, HasSubstr("older"));
}

TEST_F(ScheduleFiles, PlacesThatCannotBeWrittenAreRefusedFirst) {
  const auto nowhere =
      testing_program::run_line("schedule 1f1b" + small_forms_run + " --trace " + folder_ + "none/t.json");
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_EQ(nowhere.out, "");
  EXPECT_THAT(nowhere.err, HasSubstr("--trace: "));
  const auto folder = testing_program::run_line("schedule 1f1b" + small_forms_run + " --svg " + folder_);
  EXPECT_THAT(folder.err, HasSubstr("is a folder"));
}

TEST_F(ScheduleFiles, TwoOutputsInOneFileAreRefused) {
  const std::string one = folder_ + "one";
  for (const std::string& flags : {"--svg " + one + " --trace " + one, "--order " + one + " --svg " + one}) {
    const auto ran = testing_program::run_line(
        "schedule gpipe --stages 2 --micro-batches 3 --forward 1 --input-grad 1 --weight-grad 1 " + flags);
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find("writes the file that"), std::string::npos) << ran.err;
    EXPECT_FALSE(std::filesystem::exists(one));
  }
}

TEST_F(ScheduleFiles, TheCounterNeverFallsBelowNothingWhereActionsTakeNoTime) {
  const std::string times = folder_ + "times.json", trace = folder_ + "trace.json";
  std::ofstream(times) << R"({"forward": [3, 0], "input_grad": [7, 0], "weight_grad": [0.3, 0]})";
  const auto ran =
      testing_program::run_line("schedule gpipe --stages 2 --micro-batches 1 --times " + times + " --trace " + trace);
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::ifstream file(trace);
  const auto document = nlohmann::json::parse(file);
  int counted = 0;
  for (const auto& event : document.at("traceEvents")) {
    if (event.at("ph") != "C") continue;
    ++counted;
    for (const auto& value : event.at("args")) EXPECT_GE(value.get<double>(), 0);
  }
  EXPECT_GT(counted, 0);
}

}  // namespace
}  // namespace stepcast::schedule
