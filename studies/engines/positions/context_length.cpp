#include "studies/engines/positions/context_length.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include "calibrate/import/tables/plain_words.h"
#include "model/base/json_reader.h"
#include "model/base/text.h"
#include "model/errors/carried.h"
#include "studies/run/nouns.h"

namespace stepcast::engines {
namespace {

struct NamedLength {
  std::string name;
  std::int64_t positions = 0;
};
struct NetworkLengths {
  NamedLength network;
  std::vector<NamedLength> checkpoints;
};

constexpr IntegerRange length_range{0, std::int64_t{1} << 30};  // 0: nobody confirmed one

Expected<std::vector<NetworkLengths>> read_lengths(const std::string& text, const std::string& where) {
  JsonObject table(text, where);
  std::string source;
  table.read("source", source);
  std::vector<NetworkLengths> rows;
  for (JsonObject& object : table.objects("networks")) {
    NetworkLengths& row = rows.emplace_back();
    object.read("source", source);
    object.read("network", row.network.name);
    object.read("context_length", row.network.positions, length_range);
    for (JsonObject& checkpoint : object.optional_objects("checkpoints")) {
      NamedLength& own = row.checkpoints.emplace_back();
      checkpoint.read("name", own.name);
      checkpoint.read("source", source);
      checkpoint.read("context_length", own.positions, length_range);
      own.name = lower_case(own.name);
    }
  }
  return table.finish(std::move(rows));
}

const std::vector<NetworkLengths>& lengths() {
  static const std::vector<NetworkLengths> rows = carried_rows(embedded_positions(), "positions", read_lengths);
  return rows;
}

}  // namespace

std::int64_t published_positions(std::string_view network, std::string_view checkpoint) {
  const auto row =
      std::ranges::find_if(lengths(), [&](const NetworkLengths& each) { return each.network.name == network; });
  if (row == lengths().end()) return 0;
  const std::string name = lower_case(last_of_path(checkpoint));
  const NamedLength* found = &row->network;
  std::size_t matched = 0;
  for (const NamedLength& own : row->checkpoints)
    if (name.starts_with(own.name) && own.name.size() > matched) found = &own, matched = own.name.size();
  return found->positions;
}

// vllm/config/model.py, _get_and_verify_max_len, and sglang/srt/utils/hf_transformers_utils.py, get_context_length: the
// factor of a stretched embedding counts, but of llama3 and longrope and of Gemma 3, whose max_position_embeddings have
// it already; yarn stretches its original length. Vision networks have all of it in text_config.
std::int64_t turned_positions(const std::string& file) {
  if (!run::names_a_file(file)) return 0;
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(file, ignored);
  const auto text = read_text_file(folder ? (std::filesystem::path(file) / "config.json").string() : file);
  if (!text) return 0;
  using nlohmann::json;
  json config = json::parse(*text, nullptr, false);
  if (!config.is_object()) return 0;
  if (config.contains("text_config") && config["text_config"].is_object()) config = json(config["text_config"]);
  const auto number = [](const json& object, const char* key) {
    const auto found = object.find(key);
    constexpr double most = 1e12;
    const double value = found != object.end() && found->is_number() ? found->get<double>() : 0;
    return value > 0 && value < most ? value : 0;
  };
  const double said = number(config, "max_position_embeddings");
  const auto kind = config.find("model_type");
  if (kind != config.end() && kind->is_string() && kind->get<std::string>().starts_with("gemma3"))
    return static_cast<std::int64_t>(said);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (!config.contains(key) || !config[key].is_object()) continue;
    const json& scaling = config[key];
    std::string type;
    for (const char* name : {"type", "rope_type"})
      if (scaling.contains(name) && scaling[name].is_string()) type = scaling[name].get<std::string>();
    const double factor = number(scaling, "factor"), original = number(scaling, "original_max_position_embeddings");
    if (type == "yarn" && factor > 0 && original > 0) return static_cast<std::int64_t>(original * factor);
    if ((type == "linear" || type == "dynamic") && factor > 0) return static_cast<std::int64_t>(said * factor);
  }
  return static_cast<std::int64_t>(said);
}

std::int64_t context_length(const std::string& name) {
  if (run::names_a_file(name)) return turned_positions(name);
  const auto chosen = run::choose_network(name, "network");
  return chosen ? published_positions(chosen->row.id, name) : 0;
}

}  // namespace stepcast::engines
