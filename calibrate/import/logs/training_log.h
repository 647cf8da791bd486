// Logs of training programs in: which arguments the run had and how long its steps took. A log may show its arguments
// itself (Megatron-LM prints all of them), hold the command that started it, or come with a file of its own that does.
//
// Formats, by what their step lines hold:
//   Megatron-LM       megatron/training/training.py, training_log: "elapsed time per iteration (ms): 5012.3 |"
//   Megatron-Bridge   the same line beside "Step Time : 5.01s GPU utilization: ..." (training/utils/train_utils.py)
//   Megatron-DeepSpeed  the same line with "tokens per gpu per second (tgs)" or DeepSpeed's own arguments
//   NeMo              "train_step_timing in s: 7.561" (lines of ProgressPrinter) or "=7.561" (progress bar)
//   torchtitan        torchtitan/components/metrics.py: "step: 10 loss: ... memory: ... tps: 7,123 ...", "wps" before
//   2025 DeepSpeed         "steps: 10 loss: 2.1 iter time (s): 1.5 samples/sec: 42.7" (pipelines), or of the throughput
//   timer
//                     "global_step=10, RunningAvgSamplesPerSec=25.0, CurrSamplesPerSec=25.7"
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/config/config_text.h"
#include "calibrate/import/logs/log_lines.h"
#include "calibrate/import/scripts/launch_arguments.h"
#include "model/base/error.h"
#include "model/base/units.h"

namespace stepcast::calibrate {

/// One line of figures. Programs that log every n-th step print the mean of n. 0 = the line does not say.
struct LoggedStep {
  std::size_t line = 0;  ///< of the file
  std::int64_t iteration = 0;
  Seconds seconds;  ///< zero where the line has a rate instead (torchtitan, DeepSpeed's timer)
  double tokens_per_s_per_gpu = 0, samples_per_s = 0, tflops_per_gpu = 0;
  std::int64_t global_batch = 0;
  Bytes peak_memory;
};

struct TrainingLog {
  std::string where;                         ///< the file
  std::string framework;                     ///< id of a row of log_formats(): "megatron-lm"
  ArgumentMap arguments;                     ///< named as the framework has them, see scripts/launch_arguments.h
  std::set<std::string> printed;             ///< names whose values the program itself printed
  ArgumentMap environment;                   ///< NAME=value in front of the command (torchtitan's CONFIG_FILE)
  std::int64_t gpus = 0, gpus_per_node = 0;  ///< of the job as its launcher was told; 0 = not said
  std::string device;                        ///< the GPU's name where the log prints it
  std::string date;                          ///< "2025-06-12", of the first line that has one
  std::vector<LoggedStep> steps;             ///< in the file's order, one per iteration
  std::vector<std::string> notes;            ///< what was left out, doubted or chosen
};

struct LogFormat {
  std::string_view framework, name;  ///< "megatron-lm", "Megatron-LM"
  std::string_view sign;             ///< what its step lines hold; errors list it
  /// One step line. Nothing where the line is none.
  struct Found {
    LoggedStep step;
    bool cut = false;   ///< it ends too early
    bool open = false;  ///< it ends in the figure: whole, unless the text ends there too
  };
  std::optional<Found> (*step)(std::string_view line);
  /// Everything else that the lines tell: arguments, sizes, the device. May make the framework more precise.
  Expected<void> (*about)(std::span<const LogLine> lines, TrainingLog& log);
};
std::span<const LogFormat> log_formats();

/// Fails where no line is a known step line, a step line in the middle is cut off, a time is not above zero, or the
/// arguments shown in the log contradict each other. A log without any argument is no error here: see need_arguments.
Expected<TrainingLog> read_training_log(std::string_view text, const std::string& where);

/// Arguments from a file of their own: a shell script with the launch command, or a configuration (read_config).
/// Fails where it holds none, or another number than the log itself prints.
Expected<void> add_launch_arguments(TrainingLog& log, std::string_view text, const std::string& where);

/// Fails where nothing is known of how the run was set up, and says what to give.
Expected<void> need_arguments(const TrainingLog& log);

// --- for the formats ---

/// Adds what the program printed: it overrides what was asked for, unless both are numbers that differ, which fails.
Expected<void> add_printed(TrainingLog& log, const ArgumentMap& arguments, const std::string& where);

std::optional<LogFormat::Found> megatron_step(std::string_view line);
Expected<void> megatron_about(std::span<const LogLine> lines, TrainingLog& log);
std::optional<LogFormat::Found> nemo_step(std::string_view line);
Expected<void> nemo_about(std::span<const LogLine> lines, TrainingLog& log);
std::optional<LogFormat::Found> torchtitan_step(std::string_view line);
Expected<void> torchtitan_about(std::span<const LogLine> lines, TrainingLog& log);
std::optional<LogFormat::Found> deepspeed_step(std::string_view line);
Expected<void> deepspeed_about(std::span<const LogLine> lines, TrainingLog& log);

/// The YAML block around the line that sets `name`, which NeMo and Megatron-Bridge print; empty where there is none.
ArgumentMap shown_yaml(std::span<const LogLine> lines, std::string_view name);
/// The configuration that line `kept` of these lines belongs to. Other lines of a log may look as if they belonged to
/// it: what does not read in front of that line or behind it is cut off.
ArgumentMap shown_config(std::span<const LogLine> lines, std::size_t kept, ConfigForm form);

}  // namespace stepcast::calibrate
