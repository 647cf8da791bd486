// Megatron-LM, and what prints its lines: Megatron-Bridge and Megatron-DeepSpeed.
#include <algorithm>

#include <fmt/format.h>

#include "calibrate/import/logs/log_lines.h"
#include "calibrate/import/logs/training_log.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

/// "  num_layers ......... 32" of print_args; names of 48 letters and more have no dots behind them.
void take_printed_argument(std::string_view line, ArgumentMap& out) {
  line = stripped(line);
  const std::size_t name_end = std::min(line.find(' '), line.size());
  std::string_view value = stripped(line.substr(name_end));
  if (const std::size_t dots = value.find_first_not_of('.'); dots != value.npos && dots > 0 && value[dots] == ' ')
    value = stripped(value.substr(dots));
  if (name_end == 0 || value.empty() ||
      !std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(name_end), is_argument_letter))
    return;
  out.emplace(std::string(line.substr(0, name_end)), std::string(value));
}

bool opens_arguments(std::string_view line) {
  return line.find("--- arguments ---") != line.npos || line.find("--- updated arguments") != line.npos;
}

/// The printed list, between its two rulers; the second list of some releases ("updated arguments") holds less.
ArgumentMap printed_arguments(std::span<const LogLine> lines) {
  ArgumentMap out;
  bool inside = false;
  for (const LogLine& line : lines) {
    if (opens_arguments(line.text)) inside = true;
    else if (line.text.find("--- end of ") != line.text.npos) inside = false;
    else if (inside) take_printed_argument(line.text, out);
  }
  return out;
}

constexpr double megabyte = 1024.0 * 1024.0;

/// Of report_memory: "| max allocated: 61234.5 |"; the largest rank's.
void take_peak_memory(std::span<const LogLine> lines, TrainingLog& log) {
  double most = 0;
  for (const LogLine& line : lines) most = std::max(most, figure_after(line.text, "| max allocated:", true).value);
  for (LoggedStep& step : log.steps) step.peak_memory = Bytes(megabyte * most);
}

/// "> padded vocab (size: 50257) with 943 dummy tokens (new size: 51200)": settled after the arguments were printed.
void take_vocabulary(std::span<const LogLine> lines, ArgumentMap& out) {
  for (const LogLine& line : lines)
    if (const LogFigure size = figure_after(line.text, "(new size:");
        size.present && line.text.find("padded vocab") != line.text.npos)
      out["padded_vocab_size"] = fmt::format("{}", size.value);
}

bool any_holds(std::span<const LogLine> lines, std::string_view words) {
  return std::any_of(
      lines.begin(), lines.end(), [&](const LogLine& line) { return line.text.find(words) != line.text.npos; });
}

bool is_on(const ArgumentMap& arguments, const std::string& name) {
  const auto found = arguments.find(name);
  return found != arguments.end() && lower_case(found->second) == "true";
}

}  // namespace

std::optional<LogFormat::Found> megatron_step(std::string_view line) {
  constexpr double per_ms = 1e-3;
  const LogFigure time = figure_after(line, "elapsed time per iteration (ms):");
  if (!time.present && !time.cut) return std::nullopt;
  LogFormat::Found found;
  found.cut = time.cut;
  found.step.iteration = figure_after(line, "iteration ").whole();
  found.step.seconds = Seconds(per_ms * time.value);
  const LogFigure rate = figure_after(line, "throughput per GPU (TFLOP/s/GPU):");
  found.step.tflops_per_gpu = rate.present ? rate.value : figure_after(line, "TFLOPs:").value;
  found.step.tokens_per_s_per_gpu = figure_after(line, "(tgs):").value;
  found.step.global_batch = figure_after(line, "global batch size:").whole();
  return found;
}

Expected<void> megatron_about(std::span<const LogLine> lines, TrainingLog& log) {
  ArgumentMap arguments = printed_arguments(lines);
  take_vocabulary(lines, arguments);
  TRY(add_printed(log, arguments, log.where));
  take_peak_memory(lines, log);
  if (is_on(log.arguments, "deepspeed") || log.arguments.count("deepspeed_config") != 0 || any_holds(lines, "(tgs):"))
    log.framework = "megatron-deepspeed";
  else if (any_holds(lines, "MODEL_TFLOP/s/GPU")) log.framework = "megatron-bridge";
  if (arguments.count("num_layers") != 0) return {};
  return add_printed(log, shown_yaml(lines, "tensor_model_parallel_size:"), log.where);
}

}  // namespace stepcast::calibrate
