// torchtitan: rates instead of times, sizes of the device mesh, and the configuration where debug.print_config shows
// it.
#include <algorithm>

#include <fmt/format.h>

#include "calibrate/import/logs/log_lines.h"
#include "calibrate/import/logs/training_log.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;

/// Sizes in log lines, and the names that the configuration has for them.
struct ShownSize {
  std::string_view line, label, name;
};
constexpr ShownSize shown_sizes[] = {
    {"Building device mesh with parallelism", "pp=", "parallelism.pipeline_parallel_degree"},
    {"Building device mesh with parallelism", "dp_replicate=", "parallelism.data_parallel_replicate_degree"},
    {"Building device mesh with parallelism", "dp_shard=", "parallelism.data_parallel_shard_degree"},
    {"Building device mesh with parallelism", "cp=", "parallelism.context_parallel_degree"},
    {"Building device mesh with parallelism", " tp=", "parallelism.tensor_parallel_degree"},
    {"Building device mesh with parallelism", " ep=", "parallelism.expert_parallel_degree"},
    {"Building device mesh with parallelism", "etp=", "parallelism.expert_tensor_parallel_degree"},
    {"Trainer is initialized with", "local batch size", "training.local_batch_size"},
    {"Trainer is initialized with", "global batch size", "training.global_batch_size"},
    {"Trainer is initialized with", "sequence length", "training.seq_len"},
    {"Trainer is initialized with", "maximum context length", "training.max_context_length"},
    {"Trainer is initialized with", "gradient accumulation steps", "training.gradient_accumulation_steps"},
};

void take_sizes(std::string_view line, ArgumentMap& shown) {
  for (const ShownSize& size : shown_sizes) {
    if (line.find(size.line) == line.npos) continue;
    const LogFigure figure = figure_after(line, size.label, true);
    if (figure.present) shown[std::string(size.name)] = fmt::format("{}", figure.value);
  }
  if (const LogFigure tokens = figure_after(line, "Trainer is initialized with");
      tokens.present && line.find("tokens per DP rank") != line.npos)
    shown["training.num_tokens_per_microbatch_per_dp_rank"] = fmt::format("{}", tokens.value);
}

/// "Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]" (2024): sizes in the order of the names.
void take_mesh(std::string_view line, ArgumentMap& shown) {
  constexpr std::string_view label = "-D device mesh with [";
  constexpr std::pair<std::string_view, const char*> names[] = {{"'pp'", "parallelism.pipeline_parallel_degree"},
      {"'tp'", "parallelism.tensor_parallel_degree"}, {"'cp'", "parallelism.context_parallel_degree"},
      {"'dp_shard'", "parallelism.data_parallel_shard_degree"},
      {"'dp_replicate'", "parallelism.data_parallel_replicate_degree"},
      {"'dp'", "parallelism.data_parallel_shard_degree"}};
  const std::size_t at = line.find(label), sizes = line.rfind('[');
  if (at == line.npos || sizes <= at + label.size()) return;
  const std::string_view listed = line.substr(at + label.size(), sizes - at - label.size());
  for (const auto& [name, argument] : names) {
    const std::size_t found = listed.find(name);
    if (found == listed.npos) continue;
    std::size_t size = sizes + 1;
    for (auto before = std::count(listed.begin(), listed.begin() + static_cast<std::ptrdiff_t>(found), ',');
         before > 0 && size != line.npos; --before)
      size = line.find(", ", size) == line.npos ? line.npos : line.find(", ", size) + 2;
    if (size == line.npos) continue;
    const LogFigure figure = figure_after(line.substr(size - 1), line.substr(size - 1, 1));
    if (figure.present) shown[argument] = fmt::format("{}", figure.value);
  }
}

/// "CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory".
std::string device_of(std::string_view line) {
  constexpr std::string_view label = "CUDA capacity: ";
  const std::size_t at = line.find(label), end = line.rfind(" with ");
  if (at == line.npos || end == line.npos || end < at + label.size()) return {};
  return std::string(line.substr(at + label.size(), end - at - label.size()));
}

/// "Model llama3 8B size: 8,030,261,248 total parameters".
void take_model(std::string_view line, ArgumentMap& shown) {
  const std::size_t at = line.find("Model "), size = line.find(" size: "), end = line.find("total parameters");
  if (at == line.npos || size == line.npos || end == line.npos || size < at) return;
  const std::string_view words = stripped(line.substr(at + 6, size - at - 6));
  const std::size_t blank = words.find(' ');
  if (blank == words.npos) return;
  shown["model.name"] = std::string(words.substr(0, blank));
  shown["model.flavor"] = std::string(stripped(words.substr(blank)));
}

/// "Applied selective activation checkpointing to the model"; "Applied SelectiveAC ..." since 2026, which is by
/// operator.
void take_checkpointing(std::string_view line, ArgumentMap& shown) {
  if (line.find("activation checkpointing to the model") == line.npos) return;
  for (const char* mode : {"full", "selective"})
    if (lower_case(line).find(fmt::format("applied {}", mode)) != line.npos) shown["activation_checkpoint.mode"] = mode;
  if (line.find("SelectiveAC") != line.npos) shown["activation_checkpoint.selective_ac_option"] = "op";
}

/// "Building llama3 8B with {": the model's own arguments as JSON (2025).
Expected<void> take_geometry(std::span<const LogLine> lines, TrainingLog& log) {
  const auto opens = [](const LogLine& line) {
    return line.text.find("Building ") != line.text.npos && line.text.ends_with('{');
  };
  const auto first = std::find_if(lines.begin(), lines.end(), opens);
  if (first == lines.end()) return {};
  const auto last = std::find_if(first, lines.end(), [](const LogLine& line) { return line.text == "}"; });
  if (last == lines.end()) return {};
  std::string json = "{";
  for (auto line = std::next(first); line <= last; ++line) json += line->text;
  TRY(const auto shown, read_config(json, fmt::format("{}:{}", log.where, first->number)));
  ArgumentMap named;
  for (const auto& [name, value] : shown) named["model_args." + name] = value;
  return add_printed(log, named, log.where);
}

/// A TOML of the same text (`cat`ed into the log by many job scripts): from its first section to the last line that
/// fits.
ArgumentMap shown_toml(std::span<const LogLine> lines) {
  const auto is_section = [](const LogLine& line) {
    return stripped(line.text) == "[training]" || stripped(line.text) == "[model]" ||
           stripped(line.text) == "[parallelism]" || stripped(line.text) == "[job]";
  };
  const auto first = std::find_if(lines.begin(), lines.end(), is_section);
  const auto fits = [](const LogLine& line) {
    const std::string_view plain = stripped(line.text);
    const std::string_view name = stripped(plain.substr(0, plain.find('=')));
    const bool named = plain.find('=') != plain.npos && std::all_of(name.begin(), name.end(), is_argument_letter);
    const bool continued =
        !plain.empty() && (plain[0] == '"' || plain[0] == '\'' || plain[0] == ']');  // of a list over lines
    return plain.empty() || plain[0] == '#' || named || continued ||
           (plain.front() == '[' && plain.find(']') == plain.size() - 1);
  };
  return shown_config({first, std::find_if_not(first, lines.end(), fits)}, 0, ConfigForm::toml);
}

}  // namespace

std::optional<LogFormat::Found> torchtitan_step(std::string_view line) {
  const LogFigure step = figure_after(line, "step: ");
  if (!step.present || line.find("loss:") == line.npos) return std::nullopt;
  const std::string_view label = line.find("tps:") != line.npos ? "tps:" : line.find("wps:") != line.npos ? "wps:" : "";
  if (line.find("validat") != line.npos) return std::nullopt;
  LogFormat::Found found;
  found.step.iteration = step.whole();
  if (label.empty()) {
    found.cut = line.find("memory:") != line.npos || line.find("grad_norm:") != line.npos;
    return found.cut ? std::optional(found) : std::nullopt;
  }
  const LogFigure rate = figure_after(line, label);
  found.open = rate.cut && rate.value > 0;  // before 2025-02 nothing stands behind the rate
  if (rate.cut && !found.open) found.cut = true;
  else if (!rate.present) return std::nullopt;
  found.step.tokens_per_s_per_gpu = rate.value;
  found.step.tflops_per_gpu = figure_after(line, "tflops:", true).value;
  found.step.peak_memory = Bytes(gibibyte * figure_after(line, "memory:").value);
  return found;
}

Expected<void> torchtitan_about(std::span<const LogLine> lines, TrainingLog& log) {
  for (auto& [name, value] : shown_toml(lines)) log.arguments.emplace(name, value);
  ArgumentMap shown;
  for (const LogLine& line : lines) {
    take_sizes(line.text, shown);
    take_mesh(line.text, shown);
    take_model(line.text, shown);
    if (log.device.empty()) log.device = device_of(line.text);
    take_checkpointing(line.text, shown);
    if (line.text.find("with torch.compile") != line.text.npos) shown["compile.enable"] = "true";
  }
  // -1 asks for all that are left, and a batch of -1 for no accumulation: the program prints what came of it.
  for (const auto& [name, value] : shown)
    if (const auto asked = log.arguments.find(name); asked != log.arguments.end() && asked->second == "-1")
      log.arguments.erase(asked);
  TRY(add_printed(log, shown, log.where));
  return take_geometry(lines, log);
}

}  // namespace stepcast::calibrate
