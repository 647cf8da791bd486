// Launches of serving engines from public repositories and their issues, restated (public_engines.json and
// public_engines_2026.json say where each is from and what a reader gets of it by hand): each is read right, or refused
// with the reason.
#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/engines/asked_launch.h"

namespace stepcast::engines {
namespace {

using Words = std::map<std::string, std::string>;

struct PublicLaunch {
  std::string repository, path, text, network, recipe, of, refused, note;
  Words define, told, expect;
  std::map<std::string, double> row;
};
void PrintTo(const PublicLaunch& launch, std::ostream* out) { *out << launch.repository << " " << launch.path; }

void add_launches(const std::string& file, std::vector<PublicLaunch>& out) {
  std::ifstream in(std::string(STEPCAST_SOURCE_DIR) + "/tests/studies/engines/" + file);
  const auto table = nlohmann::json::parse(in);
  for (const auto& row : table.at("launches")) {
    PublicLaunch launch;
    launch.repository = row.at("repository"), launch.path = row.at("path"), launch.network = row.value("network", "");
    for (const std::string line : row.at("text")) launch.text += line + "\n";
    launch.recipe = row.value("recipe", ""), launch.of = row.value("of", "");
    launch.refused = row.value("refused", ""), launch.note = row.value("note", "");
    launch.define = row.value("define", Words{}), launch.told = row.value("told", Words{});
    launch.expect = row.value("expect", Words{}), launch.row = row.value("row", std::map<std::string, double>{});
    out.push_back(std::move(launch));
  }
}

/// Of the second file those of 2025 and 2026 that were restated later; "a public file" has no name where it was found.
std::vector<PublicLaunch> public_launches() {
  std::vector<PublicLaunch> out;
  add_launches("public_engines.json", out);
  add_launches("public_engines_2026.json", out);
  return out;
}

EngineLaunchSource asked_of(const PublicLaunch& from) {
  std::string file = testing_program::own_path("public_launch.txt");
  std::ranges::replace(file.begin() + static_cast<std::ptrdiff_t>(testing::TempDir().size()), file.end(), '/', '_');
  std::ofstream(file) << from.text;
  return {.file = file + (from.recipe.empty() ? "" : ":" + from.recipe),
      .words = {},
      .defined = from.define,
      .folders = {}};
}

Expected<AskedEngine> whole_reading(const PublicLaunch& from) {
  TRY(auto launch, read_engine_launch(asked_of(from)));
  TRY(understood(launch, false));
  return asked_engine(launch, Told(from.told.begin(), from.told.end()), from.of,
      {.guesses = from.told.contains("--accepted"), .lenient = false});
}

/// How ranks are split. What a launch does not say is not asked for, or 1.
constexpr const char* split_flags[] = {"--tp", "--pp", "--ep", "--dp-attention", "--dcp", "--replicas", "--draft",
    "--prefill-tp", "--prefill-pp", "--prefill-ep", "--prefill-dp-attention", "--prefill-replicas"};

template <class Flags> std::string value_of(const Flags& flags, const std::string& flag) {
  const auto found = flags.find(flag);
  return found == flags.end() || found->second == "1" ? "" : found->second;
}

double figure_of(const Engine& row, const std::string& name) {
  const std::map<std::string, double> figures = {{"most_positions", static_cast<double>(row.most_positions)},
      {"most_sequences", static_cast<double>(row.most_sequences)}, {"cache_share", row.cache_share},
      {"most_captured", static_cast<double>(row.most_captured)}, {"captured", row.captured ? 1 : 0},
      {"whole_prompts", row.whole_prompts ? 1 : 0}, {"block", static_cast<double>(row.cache_block)}};
  return figures.at(name);
}

class PublicEngines : public testing::TestWithParam<PublicLaunch> {};

TEST_P(PublicEngines, AreReadRightOrRefusedWithTheReason) {
  const PublicLaunch& from = GetParam();
  const auto asked = whole_reading(from);
  if (!from.refused.empty()) {
    ASSERT_FALSE(asked);
    EXPECT_THAT(to_text(asked.error()), testing::HasSubstr(from.refused));
    EXPECT_FALSE(asked.error().hint.empty());
    return;
  }
  ASSERT_TRUE(asked) << to_text(asked.error());
  EXPECT_EQ(asked->network, from.network);
  for (const char* flag : split_flags) EXPECT_EQ(value_of(asked->flags, flag), value_of(from.expect, flag)) << flag;
  for (const auto& [flag, value] : from.expect)
    EXPECT_EQ(value_of(asked->flags, flag), value == "1" ? "" : value) << flag;
  for (const auto& [name, value] : from.row) EXPECT_DOUBLE_EQ(figure_of(asked->row, name), value) << name;
  if (!from.note.empty()) {
    EXPECT_THAT(asked->notes, testing::Contains(testing::HasSubstr(from.note)));
  }
}

/// One that no table knows is in the reason.
bool has_unknown(const PublicLaunch& from) { return from.refused.find("not known of") != std::string::npos; }

TEST_P(PublicEngines, HaveNoUnknownArgument) {
  const auto launch = read_engine_launch(asked_of(GetParam()));
  ASSERT_TRUE(launch) << to_text(launch.error());
  EXPECT_EQ(launch->server.unknown.empty(), !has_unknown(GetParam()));
  if (launch->prompts) {
    EXPECT_THAT(launch->prompts->server.unknown, testing::IsEmpty());
  }
}

INSTANTIATE_TEST_SUITE_P(Restated, PublicEngines, testing::ValuesIn(public_launches()), [](const auto& info) {
  std::string name = info.param.repository + "_" + info.param.path;
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

TEST(PublicEngineTable, HasAHundredLaunchesOfAllPrograms) {
  const auto launches = public_launches();
  std::set<std::string> sources;
  for (const PublicLaunch& launch : launches) {
    EXPECT_TRUE(sources.insert(launch.repository + "/" + launch.path).second) << launch.path << " is there twice";
    EXPECT_NE(launch.refused.empty(), launch.expect.empty()) << launch.path;
  }
  EXPECT_GE(sources.size(), 110U);
  EXPECT_LE(20 * std::ranges::count_if(launches, has_unknown), static_cast<std::ptrdiff_t>(launches.size()));
  for (const char* program : {"vllm serve", "sglang.launch_server", "sglang serve", "trtllm-serve", "trtllm-bench",
           "dynamo.vllm", "dynamo.sglang", "dynamo.trtllm", "modelArtifacts", "sglang_config", "LLMInferenceService",
           "accelerators:", "build_openai_app", "device_ids", "llm-d.ai/role"})
    EXPECT_TRUE(std::ranges::any_of(launches, [&](const PublicLaunch& l) {
      return l.text.find(program) != l.text.npos;
    })) << program;
}

}  // namespace
}  // namespace stepcast::engines
