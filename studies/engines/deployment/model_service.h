// Values of llm-d's chart: from a model and the sizes of its pools the chart makes the words of their engines.
// llm-d-incubation/llm-d-modelservice@024c0f2d02: charts/llm-d-modelservice/templates/_helpers.tpl.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibrate/import/shell/words.h"
#include "model/yaml/yaml.h"

namespace stepcast::engines {

/// The root of such values names its model so.
inline constexpr const char* chart_model_key = "modelArtifacts";
/// As engines are told it: "openai/gpt-oss-120b" of hf://openai/gpt-oss-120b; "": they are told otherwise.
std::string chart_model(const YamlNode& artifacts);

/// In front of a container's own words, where the chart makes its command; empty: it makes none. `parallelism`: of its
/// pool; nullptr: none is said.
std::vector<ShellWord> chart_words(const YamlNode& container, const std::string& model, const YamlNode* parallelism);

/// TP_SIZE, DP_SIZE and DP_SIZE_LOCAL, which commands of one's own take.
void put_chart_sizes(const YamlNode& parallelism, std::map<std::string, std::string>& environment);

}  // namespace stepcast::engines
