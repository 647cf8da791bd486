// DeepSpeed without Megatron: lines of its pipeline engine and of its throughput timer, and the JSON it prints.
#include <algorithm>

#include <fmt/format.h>

#include "calibrate/import/logs/log_lines.h"
#include "calibrate/import/logs/training_log.h"

namespace stepcast::calibrate {
namespace {

constexpr double deepspeed_gigabyte = 1024.0 * 1024.0 * 1024.0;  // timer.py divides by 1024**3

std::optional<LogFormat::Found> pipeline_step(std::string_view line) {
  const LogFigure time = figure_after(line, "iter time (s):");
  if (!time.present && !time.cut) return std::nullopt;
  LogFormat::Found found{{}, time.cut};
  found.step.iteration = figure_after(line, "steps: ").whole();
  found.step.seconds = Seconds(time.value);
  found.step.samples_per_s = figure_after(line, "samples/sec:", true).value;
  return found;
}

/// "epoch=0/micro_step=40/global_step=10, RunningAvgSamplesPerSec=.., CurrSamplesPerSec=.., MaxMemAllocated=38.49GB",
/// and "0/20, RunningAvgSamplesPerSec=" before 2022-09. The running average holds the warm-up, the current one does
/// not.
std::optional<LogFormat::Found> timer_step(std::string_view line) {
  if (line.find("RunningAvgSamplesPerSec=") == line.npos) return std::nullopt;
  const LogFigure rate = figure_after(line, "CurrSamplesPerSec=");
  LogFormat::Found found{{}, rate.cut || !rate.present};
  LogFigure step = figure_after(line, "global_step=");
  if (!step.present) {
    const std::string_view before = line.substr(0, line.find(", RunningAvg"));
    step = figure_after(before.substr(std::min(before.rfind('/'), before.size())), "/", true);
  }
  found.step.iteration = step.whole();
  found.step.samples_per_s = rate.value;
  found.step.peak_memory = Bytes(deepspeed_gigabyte * figure_after(line, "MaxMemAllocated=", true).value);
  return found;
}

/// "  json = {" ... "}" of print_user_config.
Expected<ArgumentMap> printed_json(std::span<const LogLine> lines, const std::string& where) {
  const auto first = std::find_if(
      lines.begin(), lines.end(), [](const LogLine& line) { return line.text.find("json = {") != line.text.npos; });
  if (first == lines.end()) return ArgumentMap{};
  const auto last = std::find_if(first, lines.end(), [](const LogLine& line) { return line.text.starts_with('}'); });
  const std::string at = fmt::format("{}:{}", where, first->number);
  if (last == lines.end())
    return fail(at, "the printed configuration does not end", "give the log as the program wrote it");
  std::string json = "{";
  for (auto line = std::next(first); line != last; ++line) json += line->text;
  return read_config(json + "}", at);
}

}  // namespace

std::optional<LogFormat::Found> deepspeed_step(std::string_view line) {
  if (auto found = pipeline_step(line)) return found;
  return timer_step(line);
}

Expected<void> deepspeed_about(std::span<const LogLine> lines, TrainingLog& log) {
  // The pipeline engine's lines have the time itself; the timer's of the same steps say no more.
  const bool pipeline =
      std::any_of(log.steps.begin(), log.steps.end(), [](const LoggedStep& step) { return step.seconds.value() > 0; });
  if (pipeline) std::erase_if(log.steps, [](const LoggedStep& step) { return !(step.seconds.value() > 0); });
  for (const LogLine& line : lines)
    if (const LogFigure size = figure_after(line.text, "world_size = ", true);
        size.present && line.text.find("Config mesh_device") != line.text.npos)
      log.gpus = size.whole();
  TRY(const auto json, printed_json(lines, log.where));
  ArgumentMap named;
  for (const auto& [name, value] : json)
    if (value != "auto") named[name] = value;
  return add_printed(log, named, log.where);
}

}  // namespace stepcast::calibrate
