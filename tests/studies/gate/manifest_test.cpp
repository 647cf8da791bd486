// What a manifest records, with tools of the test's own.
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/gate/manifest.h"

namespace stepcast::gate {
namespace {

using Json = nlohmann::json;

ManifestSources nothing() {
  return {[](const std::string&) { return std::nullopt; }, [](const char*) -> const char* { return nullptr; },
      [](const char*) { return false; }};
}

TEST(GateManifest, WhatIsAbsentIsRecordedAsAbsent) {
  const Json json = Json::parse(manifest_json(make_manifest("", {"NCCL_ALGO"}, {{"seed", std::nullopt}}, nothing())));
  for (const char* name :
      {"seed", "host", "gpu", "gpu_clocks", "driver", "cuda_of_driver", "cuda_toolkit", "container", "commit"}) {
    ASSERT_TRUE(json.contains(name)) << name;
    EXPECT_TRUE(json.at(name).is_null()) << name;
  }
  EXPECT_TRUE(json.contains("nccl"));
  EXPECT_TRUE(json.at("environment").at("NCCL_ALGO").is_null());
  EXPECT_TRUE(json.at("at").is_string());
}

TEST(GateManifest, WhatToolsAndVariablesSay) {
  ManifestSources sources = nothing();
  sources.shell = [](const std::string& command) -> std::optional<std::string> {
    if (command.find("query-gpu=name") != std::string::npos) return "NVIDIA H100\nNVIDIA H100";
    if (command.find("rev-parse") != std::string::npos) return "0123abcd";
    if (command.find("porcelain") != std::string::npos) return " M a.py";
    return std::nullopt;
  };
  sources.variable = [](const char* name) -> const char* {
    const std::string asked = name;
    return asked == "NCCL_ALGO" ? "Ring" : asked == "APPTAINER_CONTAINER" ? "/images/train.sif" : nullptr;
  };
  const Json json = Json::parse(manifest_json(make_manifest("x", {"NCCL_ALGO"}, {{"seed", "7"}}, sources)));
  EXPECT_EQ(json.at("gpu"), "NVIDIA H100\nNVIDIA H100");
  EXPECT_EQ(json.at("commit"), "0123abcd-dirty");
  EXPECT_EQ(json.at("container"), "/images/train.sif");
  EXPECT_EQ(json.at("environment").at("NCCL_ALGO"), "Ring");
  EXPECT_EQ(json.at("seed"), "7");
}

TEST(GateManifest, ThisMachinesShell) {
  const ManifestSources here = this_machine();
  EXPECT_EQ(here.shell("echo ' one '"), "one");
  EXPECT_FALSE(here.shell("false"));
  EXPECT_FALSE(here.shell("no-such-program-anywhere --version"));
}

}  // namespace
}  // namespace stepcast::gate
