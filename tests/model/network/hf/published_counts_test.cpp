// Exact parameter counts from config.json files: of networks with published weights (published_counts.jsonl: keys and
// figures as the networks' owners published them on Hugging Face, shortened to what matters), and of others against
// sums written out matrix by matrix (hand_counts.jsonl).
#include <algorithm>
#include <fstream>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/catalog.h"
#include "model/network/hf/config.h"

namespace stepcast {
namespace {

/// "2*100*64 + 3*(64*64 + 64)": numbers, sums, differences, products and brackets.
class CountedSum {
 public:
  explicit CountedSum(std::string text) : text_(std::move(text)) {}
  std::int64_t value() {
    const std::int64_t all = sum();
    EXPECT_EQ(at_, text_.size()) << text_.substr(at_);
    return all;
  }

 private:
  char next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  std::int64_t sum() {
    std::int64_t all = product();
    for (char sign = next(); sign == '+' || sign == '-'; sign = next())
      ++at_, all += sign == '+' ? product() : -product();
    return all;
  }
  std::int64_t product() {
    std::int64_t all = factor();
    for (; next() == '*'; all *= factor()) ++at_;
    return all;
  }
  std::int64_t factor() {
    std::int64_t number = 0;
    if (next() == '(') {
      ++at_, number = sum();
      EXPECT_EQ(next(), ')') << text_;
      ++at_;
      return number;
    }
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) number = 10 * number + text_[at_] - '0';
    return number;
  }

  std::string text_;
  std::size_t at_ = 0;
};

struct CountRow {
  std::string name, part, config;
  std::int64_t parameters = 0;
};

std::vector<CountRow> count_rows() {
  std::vector<CountRow> rows;
  for (const char* name : {"published_counts.jsonl", "hand_counts.jsonl"}) {
    std::ifstream file(std::string(STEPCAST_SOURCE_DIR "/tests/model/network/hf/") + name);
    for (std::string line; std::getline(file, line);) {
      const auto row = nlohmann::json::parse(line);
      rows.push_back({row["name"], row["part"], row["config"].dump(),
          row.contains("sum") ? CountedSum(row["sum"]).value() : row["parameters"].get<std::int64_t>()});
    }
  }
  return rows;
}

TEST(PublishedCounts, AreMetToTheInteger) {
  const std::vector<CountRow> rows = count_rows();
  for (const CountRow& row : rows) {
    const auto config = read_hf_config(row.config, "config.json");
    ASSERT_TRUE(config) << row.name << ": " << to_text(config.error());
    NetworkSpec spec = config->network;
    if (row.part != "with prediction") spec.mtp_layers = 0, spec.mtp_pattern.clear();
    if (row.part == "text") spec.encoders.clear();
    std::int64_t parameters = config->missing.empty() ? parameter_count(spec) : 0;
    if (row.part == "all")
      for (const NetworkPart& other : config->parts) parameters += other.parameters;
    EXPECT_EQ(parameters, row.parameters) << row.name << ", " << row.part;

    // What was read can be written in our own form and read again.
    if (spec.sequence == 0 || !config->missing.empty()) continue;
    const auto again = read_network(write_network(config->network), row.name);
    ASSERT_TRUE(again) << row.name << ": " << to_text(again.error());
    EXPECT_EQ(write_network(*again), write_network(config->network)) << row.name;
  }
  EXPECT_GE(rows.size(), 110U);
}

/// Every operator network has the weights that the closed formulas count.
TEST(PublishedCounts, OperatorsHaveTheSameWeights) {
  for (const CountRow& row : count_rows()) {
    const auto config = read_hf_config(row.config, "config.json");
    ASSERT_TRUE(config);
    if (!config->missing.empty()) continue;
    NetworkSpec spec = config->network;
    spec.mtp_layers = 0, spec.mtp_pattern.clear();
    for (NetworkSpec& encoder : spec.encoders)
      if (!encoder.projectors.empty()) encoder.images = 1, encoder.sequence = 4 * 9 * 16;
      else if (encoder.max_positions > 0) encoder.sequence = encoder.max_positions;
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
    EXPECT_EQ(weights, static_cast<double>(parameter_count(spec))) << row.name;
  }
}

/// Rows of the catalogue that are the text of a file: with all other parts they have its count.
TEST(PublishedCounts, TextsOfTheCatalogueAreThoseOfTheFiles) {
  const std::vector<CountRow> rows = count_rows();
  for (const auto& [id, name] : {std::pair{"gemma3n-e2b", "gemma-3n-e2b"}, {"gemma3n-e4b", "gemma-3n-e4b"}}) {
    const auto row = std::ranges::find(rows, name, &CountRow::name);
    ASSERT_NE(row, rows.end()) << name;
    const auto config = read_hf_config(row->config, "config.json");
    ASSERT_TRUE(config) << name;
    const NetworkSpec& known = **find_row(built_in().networks, id, "network");
    std::int64_t parameters = parameter_count(known);
    for (const NetworkPart& other : config->parts) parameters += other.parameters;
    EXPECT_EQ(parameters, row->parameters) << id;
    NetworkSpec read = config->network;
    read.id = known.id, read.name = known.name, read.source = known.source, read.aliases = known.aliases;
    read.family = known.family, read.sequence = known.sequence;
    EXPECT_EQ(write_network(read), write_network(known)) << id;
  }
}

}  // namespace
}  // namespace stepcast
