// --emit nemo: settings in YAML, as Megatron-Bridge merges them over a recipe (the --config-file of its scripts,
// training/utils/omegaconf_utils.py). The file says the whole step: of the recipe only data, tokenizer and learning
// rate are left.
#include <algorithm>

#include <fmt/format.h>

#include "studies/launch/emit/carried.h"
#include "studies/launch/emit/emit.h"
#include "studies/launch/emit/emit_nemo_settings.h"
#include "studies/launch/emit/emit_text.h"
#include "studies/launch/emit/nested_settings.h"

namespace stepcast::launch {
namespace {

/// Lines of one section, each with its end.
struct NemoSection {
  std::string name, lines;
};
using NemoFile = std::vector<NemoSection>;

NemoSection& nemo_section(NemoFile& file, const std::string& name) {
  const auto found = std::find_if(file.begin(), file.end(), [&](const NemoSection& row) { return row.name == name; });
  return found != file.end() ? *found : file.emplace_back(NemoSection{name, ""});
}

std::string nemo_line(std::string_view name, std::string_view value, std::string_view why) {
  return fmt::format("  {}: {}{}{}\n", name, value, why.empty() ? "" : "  # ", why);
}

void take_settings(NemoFile& file, const std::vector<NemoSettings>& settings) {
  for (const NemoSettings& part : settings) {
    std::string lines = *part.heading == '\0' ? "" : fmt::format("  # {}\n", part.heading);
    bool any = false;
    for (const NemoSetting& row : part.rows) {
      if (row.value.empty()) continue;
      any = true;
      lines += nemo_line(row.name, row.value, row.why);
    }
    if (any) nemo_section(file, part.section).lines += lines;
  }
}

bool nemo_says(const std::vector<NemoSettings>& settings, std::string_view section, std::string_view name) {
  return std::any_of(settings.begin(), settings.end(), [&](const NemoSettings& part) {
    return part.section == section &&
           std::any_of(part.rows.begin(), part.rows.end(), [&](const NemoSetting& row) { return row.name == name; });
  });
}

/// As YAML has it: words, numbers and truths as they are; in quotes where a sign in them would be one of YAML's.
std::string nemo_written(const std::string& value) {
  if (value.empty()) return "null";
  const bool plain =
      std::all_of(value.begin(), value.end(), [](char c) { return is_argument_letter(c) || c == '/' || c == '+'; });
  return plain && value != "-" && !value.starts_with("--") ? value : json_literal(value);
}

/// What the launch that this came from says beside the step: "optimizer.lr". Only of the same framework, since others
/// call it otherwise, and only what stands directly in a section.
void keep_beside(NemoFile& file, const EmitPlan& plan, const std::vector<NemoSettings>& settings) {
  const Launch* like = launch_of(plan.like, "megatron-bridge");
  if (like == nullptr) return;
  for (const GivenArgument& given : like->arguments) {
    const std::size_t dot = given.name.find('.');
    const bool nested = dot != std::string::npos && given.name.find('.', dot + 1) == std::string::npos;
    if (!nested || !is_plain_name(given.name) || !given.unset.empty() || !like->counts(given)) continue;
    const std::string section = given.name.substr(0, dot), name = given.name.substr(dot + 1);
    const ArgumentFact* fact = like->framework->table().find(given.name);
    if ((fact != nullptr && fact->asks) || nemo_says(settings, section, name)) continue;
    nemo_section(file, section).lines += nemo_line(name, nemo_written(given.value), "as it was");
  }
}

std::string nemo_header(const EmitPlan& plan) {
  std::string text;
  for (const std::string& line : header_of(plan, "nemo")) text += comment_lines(line);
  text += "# Settings over a recipe of Megatron-Bridge, for a script that takes such a file:\n";
  return text + fmt::format("#   torchrun --nproc_per_node={} --nnodes={} pretrain.py --config-file overrides.yaml\n",
                    gpus_per_node(plan), nodes_of(plan));
}

}  // namespace

Emission emit_nemo(const EmitPlan& plan) {
  const std::vector<NemoSettings> settings = nemo_settings(plan);
  NemoFile file;
  take_settings(file, settings);
  keep_beside(file, plan, settings);
  Emission emission;
  emission.text = nemo_header(plan);
  if (const std::string precision = nemo_precision(plan); !precision.empty())
    emission.text += fmt::format("\nmixed_precision: {}\n", precision);
  for (const NemoSection& section : file) emission.text += fmt::format("\n{}:\n{}", section.name, section.lines);
  emission.refused = nemo_network_gaps(plan);
  add_gaps(emission.refused, {kept_optimizer_gap(plan, launch_of(plan.like, "megatron-bridge"))});
  emission.unsaid = nemo_unsaid(plan);
  emission.unsaid.insert(emission.unsaid.end(), emission.refused.begin(), emission.refused.end());
  emission.beside = stack_beside(plan, "nemo");
  if (!emission.unsaid.empty()) emission.text += "\n";
  for (const std::string& unsaid : emission.unsaid)
    emission.text += comment_lines(fmt::format("Not said here: {}.", unsaid));
  return emission;
}

}  // namespace stepcast::launch
