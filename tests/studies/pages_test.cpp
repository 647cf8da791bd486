// What the pages show is what the program prints; the example programs give the figures that their comments promise.
#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <fstream>
#include <regex>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"
#include "tests/studies/sweep/many_spaces.h"
#include "tests/trials.h"

namespace stepcast::studies {
namespace {

using Json = nlohmann::json;
const std::string pages_root = std::string(STEPCAST_SOURCE_DIR) + "/";

std::vector<std::string> page_lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// "$ ./stepcast WORDS" or, for an excerpt, "$ ./stepcast WORDS | head -LINES".
struct ShownCommand {
  std::string words;
  std::size_t lines = std::string::npos;
};

ShownCommand shown_command(const std::string& line) {
  const std::string start = "$ ./stepcast ", excerpt = " | head -";
  const std::size_t end = line.find(excerpt);
  if (end == std::string::npos) return {line.substr(start.size())};
  return {line.substr(start.size(), end - start.size()), std::stoul(line.substr(end + excerpt.size()))};
}

std::string first_lines(const std::string& text, std::size_t lines) {
  std::size_t end = 0;
  while (lines-- > 0 && end < text.size()) end = std::min(text.find('\n', end), text.size() - 1) + 1;
  return text.substr(0, end);
}

/// The program's answer where the page's reader stands, for tables are as wide as the names of files.
std::string answer(const std::string& line) {
  std::filesystem::current_path(pages_root);
  const ShownCommand command = shown_command(line);
  std::istringstream words(command.words);
  std::vector<std::string> arguments;
  for (std::string word; words >> std::quoted(word);) arguments.push_back(word);
  const auto ran = testing_program::run_line(arguments);
  EXPECT_EQ(ran.code, 0) << line << "\n" << ran.err;
  return first_lines(ran.out, command.lines);
}

/// Without what differs from run to run of one sweep: how long it took, and how many its threads had to forecast until
/// bounds were tight.
std::string settled(const std::string& text) {
  static const std::regex pace("  [0-9][^\n]* configurations/s, [0-9]+ threads?\n"), work("priced: [^%]*%");
  return std::regex_replace(std::regex_replace(text, pace, "\n"), work, "priced");
}

/// Sweeps of the large spaces take a minute each with sanitizers, which see the same code in tests/studies/sweep.
bool too_slow_here(const std::string& command) {
  return sanitized && command.find("sweep --space") != std::string::npos;
}

/// Every block that begins with a command holds its output; returns how many there are.
int check_page(const std::string& path) {
  const std::vector<std::string> lines = page_lines(path);
  int shown = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with("$ ./stepcast ")) continue;
    ++shown;
    if (too_slow_here(lines[i])) continue;
    std::string text;
    for (std::size_t j = i + 1; j < lines.size() && lines[j] != "```"; ++j) text += lines[j] + "\n";
    EXPECT_EQ(settled(text), settled(answer(lines[i]))) << path << ": run docs/update.sh";
  }
  return shown;
}

TEST(Pages, OfSweepsOnlyPaceAndWorkMayDiffer) {
  const std::string counts = "144 configurations  0.15 s, 16 k configurations/s, 2 threads\n  9 cannot run\n";
  const std::string priced = "  52 priced: 48 dismissed by their bound, 4 forecast by the event engine; largest gap "
                             "between\n    fast and exact 0.1 %\n";
  EXPECT_EQ(settled(counts + priced), "144 configurations\n  9 cannot run\n  52 priced\n");
  EXPECT_EQ(settled("9 configurations  2 min 3 s, 7.8 M configurations/s, 1 thread\n"), "9 configurations\n");
  EXPECT_EQ(settled("MFU 36.6 % of 989\n"), "MFU 36.6 % of 989\n");
}

TEST(Pages, ExcerptsAreTheFirstLines) {
  EXPECT_EQ(shown_command("$ ./stepcast list gpus").words, "list gpus");
  EXPECT_EQ(shown_command("$ ./stepcast list gpus | head -3").words, "list gpus");
  EXPECT_EQ(shown_command("$ ./stepcast list gpus | head -3").lines, 3U);
  EXPECT_EQ(first_lines("a\nb\nc\n", 2), "a\nb\n");
  EXPECT_EQ(first_lines("a\nb", 2), "a\nb");
  EXPECT_EQ(first_lines("a\n", shown_command("$ ./stepcast list gpus").lines), "a\n");
}

TEST(Pages, ShowWhatTheProgramPrints) {
  int shown = 0;
  for (const auto& entry : std::filesystem::directory_iterator(pages_root + "docs"))
    if (entry.path().extension() == ".md") shown += check_page(entry.path());
  EXPECT_GE(shown, 17);
  EXPECT_GE(check_page(pages_root + "README.md"), 1);
  EXPECT_GE(check_page(pages_root + "examples/two-cards/README.md"), 2);
}

TEST(Pages, EveryExampleIsShownAsItStands) {
  std::vector<std::string> pages{pages_root + "README.md"};
  for (const auto& entry : std::filesystem::directory_iterator(pages_root + "docs"))
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  std::string page;
  for (const std::string& path : pages)
    for (const std::string& line : page_lines(path)) page += line + "\n";
  for (const auto& entry : std::filesystem::directory_iterator(pages_root + "examples")) {
    const std::string name = entry.path().filename();
    EXPECT_NE(page.find("examples/" + name), std::string::npos) << name;
    std::string text;
    for (const std::string& line : page_lines(entry.path())) text += line + "\n";
    const bool program = page.find("$ ./stepcast dataflow examples/" + name) != std::string::npos;
    EXPECT_TRUE(!program || page.find("```\n" + text + "```") != std::string::npos) << name << " differs from the page";
  }
}

Json page_report_of(const std::string& name) {
  const auto ran = testing_program::run_line("dataflow " + pages_root + "examples/" + name + ".flow --json");
  EXPECT_EQ(ran.code, 0) << name << ": " << ran.err;
  return ran.code == 0 ? Json::parse(ran.out) : Json{};
}

/// Bytes per rank that a program receives in one pass by one kind of collective.
struct ClusterFigure {
  const char *name, *pass, *kind;
  double bytes;
};
constexpr double panel = 0.75 * 4096 * 4096 * 2;  // 3/4 of a 4096 x 4096 activation
const ClusterFigure cluster_figures[] = {
    {"summa", "forward", "all_gather", 2 * 6291456},
    {"cannon", "forward", "ring", 2 * 6291456},
    {"megatron_block", "forward", "all_reduce", 4 * panel},
    {"megatron_block", "backward", "all_reduce", 4 * panel},
    {"megatron_block_sp", "forward", "all_gather", 2 * panel},
    {"megatron_block_sp", "forward", "reduce_scatter", 2 * panel},
    {"megatron_block_sp", "backward", "all_gather", 4 * panel},
    {"ring_attention", "forward", "ring", 50331648},
    {"ulysses", "forward", "all_to_all", 62914560},
    {"expert_parallel", "forward", "all_to_all", 2 * 7.0 / 8 * 67108864},
    {"tangram_pipeline", "forward", "ring", 24576},
};

TEST(Pages, ClusterExamplesMoveWhatTheirCommentsSay) {
  for (const ClusterFigure& figure : cluster_figures) {
    double bytes = 0;
    const Json report = page_report_of(figure.name);
    for (const Json& row : report.at("collectives"))
      if (row.at("pass") == figure.pass && row.at("kind") == figure.kind)
        bytes += row.at("received_bytes").get<double>();
    EXPECT_EQ(bytes, figure.bytes) << figure.name << " " << figure.pass << " " << figure.kind;
  }
}

// clang-format off
struct ChipFigure { const char *name, *level, *tensor, *field; double count; };
constexpr ChipFigure chip_figures[] = {
    {"ws_array", "glb", "I", "reads", 65536},  {"ws_array", "glb", "W", "reads", 8192},   {"ws_array", "glb", "O",
                                                                                           "updates", 65536},
    {"os_array", "glb", "I", "reads", 65536},  {"os_array", "glb", "W", "reads", 65536},  {"os_array", "glb", "O",
                                                                                           "updates", 16384},
    {"is_array", "glb", "I", "reads", 8192},   {"is_array", "glb", "W", "reads", 65536},  {"is_array", "glb", "O",
                                                                                           "updates", 65536},
    {"cutlass_cta", "smem", "O", "fills", -1}, {"cutlass_cta", "rf", "O", "fills", 0},    {"cutlass_cta", "hbm", "O",
                                                                                           "updates", 4096.0 * 4096},
    {"row_stationary", "glb", "W", "fills", -1},
};
// clang-format on

TEST(Pages, ChipExamplesCountWhatTheirCommentsSay) {
  for (const ChipFigure& figure : chip_figures) {
    const Json report = page_report_of(figure.name);
    for (const Json& level : report.at("levels")) {
      if (level.at("name") != figure.level) continue;
      const Json& tensors = level.at("tensors");
      ASSERT_EQ(tensors.contains(figure.tensor), figure.count >= 0) << figure.name;  // -1: passes the level by
      if (figure.count >= 0) {
        EXPECT_EQ(tensors[figure.tensor][figure.field], figure.count) << figure.name << " " << figure.tensor;
      }
    }
  }
  EXPECT_EQ(page_report_of("ws_array").at("cycles"), 8 * 4 * (2 * 16 + 16 + 128 - 2));
  EXPECT_EQ(page_report_of("os_array").at("cycles"), 8 * 8 * (16 + 16 + 64 - 2));
}

}  // namespace
}  // namespace stepcast::studies
