// Exact parameter counts of networks with published weights, from their config.json (published_counts.jsonl: keys and
// figures as the networks' owners published them on Hugging Face, shortened to what matters).
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/network/hf/config.h"

namespace stepcast {
namespace {

TEST(PublishedCounts, AreMetToTheInteger) {
  std::ifstream file(STEPCAST_SOURCE_DIR "/tests/model/network/hf/published_counts.jsonl");
  int read = 0;
  for (std::string line; std::getline(file, line); ++read) {
    const auto row = nlohmann::json::parse(line);
    const std::string name = row["name"], part = row["part"];
    const auto config = read_hf_config(row["config"].dump(), name + ".json");
    ASSERT_TRUE(config) << name << ": " << to_text(config.error());
    NetworkSpec spec = config->network;
    if (part != "with prediction") spec.mtp_layers = 0, spec.mtp_pattern.clear();
    std::int64_t parameters = config->missing.empty() ? parameter_count(spec) : 0;
    if (part == "all")
      for (const NetworkPart& other : config->parts) parameters += other.parameters;
    EXPECT_EQ(parameters, row["parameters"].get<std::int64_t>()) << name << ", " << part;

    // What was read can be written in our own form and read again.
    if (spec.sequence == 0 || !config->missing.empty()) continue;
    const auto again = read_network(write_network(config->network), name);
    ASSERT_TRUE(again) << name << ": " << to_text(again.error());
    EXPECT_EQ(write_network(*again), write_network(config->network)) << name;
  }
  EXPECT_GE(read, 45);
}

/// Every operator network has the weights that the closed formulas count.
TEST(PublishedCounts, OperatorsHaveTheSameWeights) {
  std::ifstream file(STEPCAST_SOURCE_DIR "/tests/model/network/hf/published_counts.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto row = nlohmann::json::parse(line);
    const auto config = read_hf_config(row["config"].dump(), "config.json");
    ASSERT_TRUE(config);
    if (!config->missing.empty()) continue;
    NetworkSpec spec = config->network;
    spec.mtp_layers = 0, spec.mtp_pattern.clear();
    for (NetworkSpec& encoder : spec.encoders)
      if (!encoder.projectors.empty()) encoder.images = 1, encoder.sequence = 4 * 9 * 16;
    const std::int64_t positions = spec.positions == Positions::learned ? spec.max_positions : 4096;
    const Network net = build_network(spec, {1, positions, 2, 2}, AttentionForm::fused);
    EXPECT_TRUE(check_graph(net));
    std::vector<double> times(net.tensors.size(), 0);
    for (const Block& block : net.blocks) {
      std::vector<char> here(net.tensors.size(), 0);
      for (const Operator& op : block.operators)
        for (const Access& input : op.inputs) here[static_cast<std::size_t>(input.tensor)] = 1;
      for (std::size_t t = 0; t < here.size(); ++t)
        if (here[t]) times[t] = std::max(times[t], net.tensors[t].shared ? 1 : static_cast<double>(block.repeat));
    }
    double weights = 0;
    for (std::size_t t = 0; t < net.tensors.size(); ++t)
      if (net.tensors[t].role == TensorRole::weight) weights += times[t] * net.elements(static_cast<int>(t));
    EXPECT_EQ(weights, static_cast<double>(parameter_count(spec))) << row["name"];
  }
}

}  // namespace
}  // namespace stepcast
