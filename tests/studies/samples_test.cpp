// The kept sample reports are what the program writes today: figures and pictures byte by byte, pages by what they show.
#include <filesystem>
#include <fstream>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/report/folder.h"
#include "tests/studies/run_program.h"

namespace stepcast {
namespace {

namespace fs = std::filesystem;
const fs::path samples = fs::path(STEPCAST_SOURCE_DIR) / "docs/reports";

struct Sample { std::string name, run; };

std::string sample_text(const fs::path& name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The table of the page: "| `llama3-70b` | `stepcast report llama3-70b --gpus 512 ...` | ...".
std::vector<Sample> listed_samples() {
  static const std::regex row("\\| `([^`]+)` \\| `stepcast report ([^`]+)`");
  std::vector<Sample> all;
  std::ifstream page(samples / "README.md");
  for (std::string line; std::getline(page, line);)
    if (std::smatch match; std::regex_search(line, match, row)) all.push_back({match[1], match[2]});
  return all;
}

TEST(Samples, ThreeAreKeptAndNoOthers) {
  std::vector<std::string> listed, kept;
  for (const Sample& sample : listed_samples()) listed.push_back(sample.name);
  for (const auto& entry : fs::directory_iterator(samples))
    if (entry.is_directory()) kept.push_back(entry.path().filename());
  EXPECT_EQ(listed.size(), 3U);
  EXPECT_THAT(kept, testing::UnorderedElementsAreArray(listed));
}

TEST(Samples, FiguresAndPicturesAreTodays) {
  for (const Sample& sample : listed_samples()) {
    const fs::path fresh = testing_program::own_path(sample.name);
    fs::remove_all(fresh);
    const auto ran = testing_program::run("report " + sample.run + " --no-sweep -o " + fresh.string());
    ASSERT_EQ(ran.code, 0) << ran.err;
    for (const DossierFile& file : dossier_files()) {
      const fs::path kept = samples / sample.name / file.name;
      if (file.name.ends_with(".html")) {
        EXPECT_TRUE(fs::exists(kept)) << kept << ": run docs/reports/update.sh";
      } else {
        EXPECT_TRUE(sample_text(kept) == sample_text(fresh / file.name)) << kept << " is out of date: run docs/reports/update.sh";
      }
    }
  }
}

/// "**20.3 s**" of the Markdown stands on the page of the forecast; and what others wrote is not kept here.
TEST(Samples, PagesShowTheSameStepAndHoldNoLibrary) {
  static const std::regex step("\\*\\*([^*]+)\\*\\*");
  for (const Sample& sample : listed_samples()) {
    std::smatch match;
    const std::string markdown = sample_text(samples / sample.name / "report.md");
    ASSERT_TRUE(std::regex_search(markdown, match, step));
    for (const char* page : {"index.html", "roofline.html", "timeline.html"})
      EXPECT_THAT(sample_text(samples / sample.name / page), testing::HasSubstr("<b>" + match[1].str() + "</b>")) << page;
    EXPECT_THAT(sample_text(samples / sample.name / "timeline.html"), testing::Not(testing::HasSubstr("Leon Sorokin")));
  }
}

}  // namespace
}  // namespace stepcast
