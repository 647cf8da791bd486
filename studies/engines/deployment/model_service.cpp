#include "studies/engines/deployment/model_service.h"

#include <algorithm>

#include "model/base/whole_number.h"

namespace stepcast::engines {
namespace {

std::int64_t size_of(const YamlNode& parallelism, const char* key) {
  const YamlNode* entry = parallelism.find(key);
  return entry == nullptr ? 0 : parsed_number<std::int64_t>(entry->text).value_or(0);
}

struct ChartSizes {
  std::int64_t tensor = 1, data = 1, local = 1;
};
ChartSizes sizes_of(const YamlNode& parallelism) {
  const std::int64_t data = size_of(parallelism, "data"), local = size_of(parallelism, "dataLocal"),
                     workers = std::max<std::int64_t>(1, size_of(parallelism, "workers"));
  ChartSizes out;
  out.tensor = std::max<std::int64_t>(1, size_of(parallelism, "tensor"));
  out.data = std::max<std::int64_t>(1, data > 0 ? data : local * workers);
  out.local = std::max<std::int64_t>(1, local > 0 ? local : data / workers);
  return out;
}

}  // namespace

std::string chart_model(const YamlNode& artifacts) {
  const YamlNode* uri = artifacts.find("uri");
  const std::string text = uri == nullptr ? "" : uri->text;
  const std::size_t scheme = text.find("://");
  if (scheme == text.npos) return "";
  const std::string protocol = text.substr(0, scheme), path = text.substr(scheme + 3);
  if (protocol == "hf") return path;
  const std::size_t last = path.rfind('/');
  if (last == path.npos || !protocol.starts_with("pvc")) return "";
  // the claim stands in front of the path of its folder
  if (protocol == "pvc") return path.substr(path.find('/'));
  const std::size_t owner = last == 0 ? path.npos : path.rfind('/', last - 1);
  return owner == path.npos ? path : path.substr(owner + 1);
}

std::vector<ShellWord> chart_words(const YamlNode& container, const std::string& model, const YamlNode* parallelism) {
  const YamlNode* command = container.find("modelCommand");
  if (command == nullptr || (command->text != "vllmServe" && command->text != "imageDefault")) return {};
  std::vector<ShellWord> words;
  const auto put = [&](const std::string& text) {
    words.push_back({.text = text, .line = static_cast<std::size_t>(std::max(0, command->position.line)), .unset = {}});
  };
  const auto size = [&](const char* option, std::int64_t value) {
    if (value > 1) put(option), put(std::to_string(value));
  };
  put("vllm"), put("serve");
  if (!model.empty()) put(model);
  if (parallelism == nullptr) return words;
  const ChartSizes sizes = sizes_of(*parallelism);
  size("--tensor-parallel-size", sizes.tensor), size("--data-parallel-size", sizes.data);
  size("--data-parallel-size-local", sizes.local);
  return words;
}

void put_chart_sizes(const YamlNode& parallelism, std::map<std::string, std::string>& environment) {
  const ChartSizes sizes = sizes_of(parallelism);
  environment.emplace("TP_SIZE", std::to_string(sizes.tensor));
  environment.emplace("DP_SIZE", std::to_string(sizes.data));
  environment.emplace("DP_SIZE_LOCAL", std::to_string(sizes.local));
}

}  // namespace stepcast::engines
