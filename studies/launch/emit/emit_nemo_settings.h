// Says a plan in settings of Megatron-Bridge's ConfigContainer, and lists what those cannot say (emit_nemo.cpp writes
// them as YAML).
#pragma once

#include <string>
#include <vector>

#include "studies/launch/emit/emit.h"

namespace stepcast::launch {

struct NemoSetting {
  const char* name;
  std::string value;  ///< "": it has no place in this plan's file
  const char* why = "";
};
/// Settings of one section; several headings may follow each other in one section.
struct NemoSettings {
  const char *section, *heading;
  std::vector<NemoSetting> rows;
};
/// The settings in the order of the file.
std::vector<NemoSettings> nemo_settings(const EmitPlan& plan);

/// Name of a recipe of numbers (training/mixed_precision.py); "" for fp32, which is settings of its own.
std::string nemo_precision(const EmitPlan& plan);

/// What they cannot say of the split and the run, each with what happens instead.
std::vector<std::string> nemo_unsaid(const EmitPlan& plan);
/// And of the network: what would be trained is another one.
std::vector<std::string> nemo_network_gaps(const EmitPlan& plan);

}  // namespace stepcast::launch
