// How many engines a deployment starts, as its nodes have it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/yaml/yaml.h"

namespace stepcast::engines {

struct Copies {
  std::int64_t count = 1;
  std::string open;  ///< why their number is not known; "": it is
};

/// So many times as many: "replicas: ${COUNT}", or more than a cluster has, leaves the number open. nullptr, an empty
/// node and null say nothing.
void multiply(const YamlNode* told, const std::string& where, Copies& copies);

/// The copies of a service of compose.
void take_service_copies(const YamlNode& service, const std::string& where, Copies& copies);

/// What an autoscaler starts at most where it does not say.
enum class NoMaximum : std::uint8_t { is_least, is_open };

/// From how many to how many an autoscaler starts, in place of what was told before, where `enabled` is "" or a key of
/// it that is true. One that tells neither says nothing where no maximum is the least.
void take_range(
    const YamlNode& scaler, std::string_view enabled, const std::string& where, NoMaximum no_maximum, Copies& copies);

/// true, yes or 1.
bool is_true(const YamlNode& node);

}  // namespace stepcast::engines
