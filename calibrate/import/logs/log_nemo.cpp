// NeMo: lines of NeMo 2's ProgressPrinter and of the progress bar before, with the configuration that Hydra programs
// print.
#include "calibrate/import/logs/log_lines.h"
#include "calibrate/import/logs/training_log.h"

namespace stepcast::calibrate {
namespace {

constexpr std::string_view timing = "train_step_timing in s";

/// "iteration 7/19" counts from 0; a progress bar's "| 10/300 [00:54<" counts steps that are done.
std::int64_t nemo_iteration(std::string_view line) {
  if (const LogFigure printed = figure_after(line, ", iteration "); printed.present) return printed.whole() + 1;
  const std::size_t clock = line.find(" [");
  const std::size_t bar = line.rfind("| ", clock);
  if (clock != line.npos && bar != line.npos) return figure_after(line.substr(bar), "| ").whole();
  const LogFigure step = figure_after(line, "global_step=");
  return step.whole() + 1;
}

}  // namespace

std::optional<LogFormat::Found> nemo_step(std::string_view line) {
  const std::size_t at = line.find(timing);
  if (at == line.npos) return std::nullopt;
  const std::string_view rest = line.substr(at + timing.size());
  LogFormat::Found found;
  const bool bar = rest.starts_with("=");
  const LogFigure time = figure_after(rest, bar ? "=" : ": ");
  // The printer's lines may end in the time; a progress bar closes its bracket.
  found.open = time.cut && !bar && time.value > 0;
  if (rest.empty() || (time.cut && !found.open)) found.cut = true;
  else if (!time.present) return std::nullopt;
  found.step.iteration = nemo_iteration(line);
  found.step.seconds = Seconds(time.value);
  found.step.global_batch = figure_after(line, "global_batch_size: ").whole();
  return found;
}

Expected<void> nemo_about(std::span<const LogLine> lines, TrainingLog& log) {
  return add_printed(log, shown_yaml(lines, "tensor_model_parallel_size:"), log.where);
}

}  // namespace stepcast::calibrate
