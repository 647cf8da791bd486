// The kept sample reports are what the program writes today: figures and pictures byte by byte. Pages are not kept;
// they show the same step.
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/run_program.h"

namespace stepcast::studies {
namespace {

namespace fs = std::filesystem;
const fs::path samples = fs::path(STEPCAST_SOURCE_DIR) / "docs/reports";

struct Sample {
  std::string name, run;
};

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

std::set<std::string> sample_files(const fs::path& folder, bool pages) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    if ((entry.path().extension() == ".html") == pages) names.insert(entry.path().filename());
  return names;
}

/// The folder that the program writes for a sample, without the sweep, which takes no part in what is kept.
fs::path fresh_report(const Sample& sample) {
  const fs::path fresh = testing_program::own_path(sample.name);
  fs::remove_all(fresh);
  const auto ran = testing_program::run_line("report " + sample.run + " --no-sweep -o " + fresh.string());
  EXPECT_EQ(ran.code, 0) << ran.err;
  return fresh;
}

/// "**20.3 s**" of the Markdown stands on the page of the forecast and on those beside it.
void check_sample_pages(const fs::path& fresh) {
  static const std::regex step("\\*\\*([^*]+)\\*\\*");
  const std::set<std::string> pages{"index.html", "mapping.html", "memory.html", "roofline.html", "timeline.html"};
  EXPECT_EQ(sample_files(fresh, true), pages);
  std::smatch match;
  const std::string markdown = sample_text(fresh / "report.md");
  ASSERT_TRUE(std::regex_search(markdown, match, step));
  for (const char* page : {"index.html", "roofline.html", "timeline.html"})
    EXPECT_THAT(sample_text(fresh / page), testing::HasSubstr("<b>" + match[1].str() + "</b>")) << page;
}

TEST(Samples, AreWhatTheProgramWritesToday) {
  for (const Sample& sample : listed_samples()) {
    const fs::path fresh = fresh_report(sample), kept = samples / sample.name;
    ASSERT_TRUE(fs::is_directory(fresh));
    EXPECT_TRUE(sample_files(kept, true).empty()) << kept << " keeps pages";
    const std::set<std::string> names = sample_files(fresh, false);
    EXPECT_EQ(sample_files(kept, false), names) << kept << ": run docs/reports/update.sh";
    EXPECT_EQ(names.size(), 10U);
    for (const std::string& name : names)
      EXPECT_TRUE(sample_text(kept / name) == sample_text(fresh / name))
          << kept / name << " is out of date: run docs/reports/update.sh";
    check_sample_pages(fresh);
  }
}

}  // namespace
}  // namespace stepcast::studies
