#include "studies/engines/deployment/copies.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "model/base/text.h"
#include "studies/engines/line/engine_line.h"

namespace stepcast::engines {
namespace {

bool tells(const YamlNode* node) {
  return node != nullptr && node->kind == YamlNode::Kind::scalar && !node->text.empty();
}

std::string place_in(const YamlNode& node, const std::string& where) {
  return fmt::format("{}:{}", where, std::max(0, node.position.line));
}

/// Of Ray, of KServe, and of KEDA in vLLM's production stack.
constexpr std::pair<const char*, const char*> range_keys[] = {
    {"min_replicas", "max_replicas"}, {"minReplicas", "maxReplicas"}, {"minReplicaCount", "maxReplicaCount"}};

}  // namespace

bool is_true(const YamlNode& node) {
  const std::string text = lower_case(node.text);
  return text == "true" || text == "1" || text == "yes";
}

void multiply(const YamlNode* told, const std::string& where, Copies& copies) {
  if (!tells(told)) return;
  const auto count = number_of_engines(told->text);
  if (count && copies.count * *count <= most_engines) copies.count *= *count;
  else
    copies.open = fmt::format("{} {} '{:.40}' is no number of engines", place_in(*told, where), told->key, told->text);
}

/// Compose refuses two numbers that differ (compose-go, loader/validate.go).
void take_service_copies(const YamlNode& service, const std::string& where, Copies& copies) {
  const YamlNode *scale = service.find("scale"), *deploy = service.find("deploy");
  const YamlNode* replicas = deploy == nullptr ? nullptr : deploy->find("replicas");
  multiply(tells(replicas) ? replicas : scale, where, copies);
  if (tells(scale) && tells(replicas) && scale->text != replicas->text)
    copies.open = fmt::format("{} scale '{:.40}' stands beside replicas '{:.40}' of deploy", place_in(*scale, where),
        scale->text, replicas->text);
}

void take_range(
    const YamlNode& scaler, std::string_view enabled, const std::string& where, NoMaximum no_maximum, Copies& copies) {
  if (const YamlNode* runs = enabled.empty() ? nullptr : scaler.find(enabled);
      !enabled.empty() && (runs == nullptr || !is_true(*runs)))
    return;
  const YamlNode *least = nullptr, *most = nullptr;
  for (const auto& [low, high] : range_keys) {
    if (const YamlNode* node = scaler.find(low); tells(node)) least = node;
    if (const YamlNode* node = scaler.find(high); tells(node)) most = node;
  }
  const bool ends = no_maximum == NoMaximum::is_least;
  if (least == nullptr && most == nullptr && ends) return;
  const std::string from = least == nullptr ? "1" : least->text;
  const std::string to = most != nullptr ? most->text : ends && from != "0" ? from : "more";
  copies = {};
  if (from == to && from != "0") multiply(least != nullptr ? least : most, where, copies);
  else
    copies.open = fmt::format("{} replicas from {:.40} to {:.40}: how many run is not told",
        place_in(least != nullptr  ? *least
                 : most != nullptr ? *most
                                   : scaler,
            where),
        from, to);
}

}  // namespace stepcast::engines
