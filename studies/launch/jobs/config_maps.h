// ConfigMaps that lie in one file with a job: texts that its pods find as files and as variables.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibrate/import/scripts/launch_line.h"
#include "model/yaml/yaml.h"

namespace stepcast::launch {

/// By name; of two values of one name the later counts.
using PodVariables = std::vector<std::pair<std::string, std::string>>;

class ConfigMaps {
 public:
  /// `documents` have to outlive it.
  explicit ConfigMaps(const std::vector<YamlNode>& documents) : documents_(documents) {}

  /// Files that a pod's container finds where its volumes are mounted: "/scripts/train.sh".
  [[nodiscard]] std::vector<calibrate::LaunchFile> mounted(const YamlNode* pod, const YamlNode& container) const;
  /// What envFrom: and env: tell a container. `untold`: where values come from that the file does not have.
  [[nodiscard]] PodVariables variables(const YamlNode& container, std::vector<std::string>& untold) const;

 private:
  /// Its entries; nullptr: the file has none of that name.
  [[nodiscard]] const YamlNode* data(std::string_view name) const;

  const std::vector<YamlNode>& documents_;
};

}  // namespace stepcast::launch
