// stepcast report: a whole folder or none, the same figures on every page, names that try to be markup.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/report/report.h"
#include "studies/report/folder.h"
#include "studies/launch/asked_run.h"
#include "tests/studies/run_program.h"

namespace stepcast::report {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing_program::own_path;
using testing_program::run_line;

const std::string small_run = "llama3-8b --machine dgx-h100 --gpus 8 --tp 2 --pp 2 --global-batch 16 --seq 2048";

std::string text_of(const fs::path& name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A folder that is not there yet.
std::string fresh_folder(const std::string& name) {
  const std::string folder = own_path(name);
  fs::remove_all(folder);
  return folder;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

TEST(ReportCommand, WritesEveryFileAndSaysWhichTheyAre) {
  const std::string folder = fresh_folder("whole");
  const auto ran = run_line("report " + small_run + " -o " + folder);
  ASSERT_EQ(ran.code, 0) << ran.err;
  constexpr std::uintmax_t most = 2'000'000;
  for (const DossierFile& file : dossier_files()) {
    const fs::path path = fs::path(folder) / file.name;
    ASSERT_TRUE(fs::exists(path)) << file.name;
    EXPECT_GT(fs::file_size(path), 0U) << file.name;
    EXPECT_LT(fs::file_size(path), most) << file.name;
    EXPECT_THAT(ran.out, HasSubstr(file.name));
  }
  for (const auto& entry : fs::directory_iterator(folder)) EXPECT_THAT(entry.path().string(), Not(HasSubstr(".part")));
}

TEST(ReportCommand, PagesAreLinkedAndPicturesAreThere) {
  const std::string folder = fresh_folder("linked");
  ASSERT_EQ(run_line("report " + small_run + " -o " + folder).code, 0);
  for (const DossierFile& page : dossier_files()) {
    if (!page.name.ends_with(".html")) continue;
    const std::string text = text_of(fs::path(folder) / page.name);
    for (const DossierFile& other : dossier_files()) {
      const bool linked = other.name.ends_with(".html") && other.name != page.name;
      EXPECT_EQ(count_of(text, "<a href=\"" + std::string(other.name) + "\">"), linked ? 1U : 0U)
          << page.name << " to " << other.name;
    }
  }
  const std::string markdown = text_of(fs::path(folder) / "report.md");
  for (const DossierFile& picture : dossier_files())
    if (picture.name.ends_with(".svg")) {
      EXPECT_EQ(count_of(markdown, "](" + std::string(picture.name) + ")"), 1U) << picture.name;
    }
}

TEST(ReportCommand, TheScenarioGivesTheSameFiguresAgain) {
  const std::string folder = fresh_folder("again");
  ASSERT_EQ(run_line("report " + small_run + " -o " + folder).code, 0);
  const json kept = json::parse(text_of(fs::path(folder) / "forecast.json"));
  const json again = json::parse(run_line("predict " + folder + "/scenario.json --explain --json").out);
  for (const char* key : {"step_time_s", "mfu", "phases_s", "collectives"}) EXPECT_EQ(kept[key], again[key]) << key;
  const json roofline = json::parse(text_of(fs::path(folder) / "roofline.json"));
  EXPECT_EQ(roofline["step_time_s"], kept["step_time_s"]);
  EXPECT_EQ(roofline["waterfall"]["mfu"], kept["mfu"]);
}

TEST(ReportCommand, AnEarlierReportIsReplacedWithWhatTheNewOneLacks) {
  const std::string folder = fresh_folder("twice");
  ASSERT_EQ(run_line("report " + small_run + " -o " + folder).code, 0);
  ASSERT_TRUE(fs::exists(folder + "/sweep.html"));
  const auto ran = run_line("report " + small_run + " --no-sweep -o " + folder);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(fs::exists(folder + "/sweep.html"));
  EXPECT_THAT(ran.out, HasSubstr("no sweep: left out by --no-sweep"));
  EXPECT_THAT(text_of(folder + "/index.html"), Not(HasSubstr("sweep.html")));
}

TEST(ReportCommand, OtherPeoplesFoldersAreLeftAlone) {
  const std::string folder = fresh_folder("theirs");
  fs::create_directories(folder);
  std::ofstream(folder + "/index.html") << "<html>my homepage</html>";
  const auto ran = run_line("report " + small_run + " -o " + folder);
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("holds files that are no report"));
  EXPECT_EQ(text_of(folder + "/index.html"), "<html>my homepage</html>");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

TEST(ReportCommand, NothingIsLeftOfARunThatCannotBe) {
  const std::string folder = fresh_folder("none");
  EXPECT_EQ(run_line("report llama3-8b --gpus 8 --tp 3 -o " + folder).code, 2);
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_EQ(run_line("report llama3-8b --gpus 8 --measured /no/such/file -o " + folder).code, 2);
  EXPECT_FALSE(fs::exists(folder));
}

TEST(ReportCommand, MistakesAreExplained) {
  EXPECT_THAT(run_line("report " + small_run).err, HasSubstr("no folder is named"));
  const std::string file = own_path("file");
  std::ofstream(file) << "text";
  EXPECT_THAT(run_line("report " + small_run + " -o " + file).err, HasSubstr("is no folder"));
  EXPECT_THAT(run_line("report " + small_run + " -o " + file + "/below").err, HasSubstr("--output"));
}

TEST(ReportCommand, AMappingFileHasNoNeighboursAndSlicesNoPrices) {
  const std::string folder = fresh_folder("slices");
  const auto ran = run_line("report " + small_run + " --schedule seq-1f1b --seq-splits 2 --no-sweep -o " + folder);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(fs::exists(folder + "/mapping.html"));
  EXPECT_THAT(text_of(folder + "/index.html"), Not(HasSubstr("mapping.html")));
  EXPECT_THAT(text_of(folder + "/index.html"), HasSubstr("No mapping page: the sequence is cut into slices"));
  EXPECT_THAT(ran.out, HasSubstr("no mapping page: the sequence is cut into slices"));
}

TEST(ReportCommand, TheSweepHoldsTheRunItself) {
  // Layouts are even in a sweep unless it is told: a run that lies otherwise is among its neighbours all the same.
  Dossier dossier;
  const auto arguments = parse_arguments(report_flags(), 1, 1, "",
      {"llama3-8b", "--machine", "dgx-h100", "--gpus", "8", "--tp", "2", "--pp", "4", "--layout", "9,8,8,7",
          "--global-batch", "16", "--seq", "2048"});
  ASSERT_TRUE(arguments.has_value());
  dossier.request = *read_request("llama3-8b", *arguments);
  dossier.scenario = *complete(dossier.request);
  ASSERT_TRUE(fill_dossier(dossier, {}).has_value());
  ASSERT_TRUE(dossier.sweep.has_value()) << dossier.sweep_missing;
  const double own = dossier.prediction.step.step_time.value();
  const auto& rows = dossier.sweep->top;
  EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [&](const SweepRow& row) {
    return std::abs(row.figures[static_cast<std::size_t>(Figure::step_time)] / own - 1) < 1e-9;
  }));
}

TEST(ReportCommand, ThePageSaysHowItWasMade) {
  const std::string folder = fresh_folder("made");
  ASSERT_EQ(run_line("report " + small_run + " --no-sweep -o " + folder).code, 0);
  EXPECT_THAT(
      text_of(folder + "/index.html"), HasSubstr("stepcast report llama3-8b --global-batch 16 --gpus 8 --machine "
                                                 "dgx-h100 --no-sweep --pp 2 --seq 2048 --tp 2 -o FOLDER"));
}

TEST(ReportCommand, WordsOfALaunchStandBehindTheFolder) {
  const std::string folder = fresh_folder("launched");
  const std::string words = "--megatron -- --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 512 "
                            "--max-position-embeddings 512 "
                            "--vocab-size 51200 --micro-batch-size 1 --bf16";
  const auto ran = run_line("report --no-sweep --gpus 8 -o " + folder + " " + words);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(text_of(folder + "/index.html"), HasSubstr("stepcast report --gpus 8 --no-sweep -o FOLDER " + words));
}

TEST(ReportCommand, HostileNamesStayText) {
  const std::string network = own_path("network.json"), folder = fresh_folder("hostile");
  json file = json::parse(run_line("show network llama3-8b --json").out);
  const std::string name = "<script>alert(1)</script>\"'&|`]( " + std::string(5000, 'x');
  file["name"] = name;
  std::ofstream(network) << file.dump();
  const auto ran = run_line(
      "report " + network + " --machine dgx-h100 --gpus 8 --tp 2 --pp 2 --global-batch 16 --seq 2048 -o " + folder);
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const DossierFile& one : dossier_files()) {
    const std::string text = text_of(fs::path(folder) / one.name);
    if (one.name.ends_with(".json")) continue;
    EXPECT_THAT(text, Not(HasSubstr("<script>alert"))) << one.name;
  }
  EXPECT_THAT(text_of(folder + "/report.md"), HasSubstr("\\<script\\>alert\\(1\\)"));
}

}  // namespace
}  // namespace stepcast::report
