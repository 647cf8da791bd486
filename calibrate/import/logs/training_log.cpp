#include "calibrate/import/logs/training_log.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/import/logs/log_lines.h"
#include "model/base/text.h"
#include "model/base/whole_number.h"

namespace stepcast::calibrate {
namespace {

// In the order in which they are tried: Megatron-DeepSpeed prints DeepSpeed's lines too.
constexpr LogFormat formats_of_logs[] = {
    {"megatron-lm", "Megatron-LM", "elapsed time per iteration (ms):", megatron_step, megatron_about},
    {"nemo", "NeMo", "train_step_timing in s", nemo_step, nemo_about},
    {"torchtitan", "torchtitan", "step: .. loss: .. tps:", torchtitan_step, torchtitan_about},
    {"deepspeed", "DeepSpeed", "iter time (s): or CurrSamplesPerSec=", deepspeed_step, deepspeed_about},
};

std::string log_where(const std::string& where, std::size_t line) { return fmt::format("{}:{}", where, line); }

/// Steps in order, one per iteration: ranks repeat lines, and progress bars write theirs again.
class StepReader {
 public:
  StepReader(const LogFormat& format, TrainingLog& log) : format_(format), log_(log) {}

  /// `ended`: the text's last line is whole.
  Expected<void> read(std::span<const LogLine> lines, bool ended) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      auto found = format_.step(lines[i].text);
      if (!found) continue;
      if (found->open && i + 1 == lines.size() && !ended) found->cut = true;
      if (found->cut && i + 1 < lines.size())
        return fail(log_where(log_.where, lines[i].number),
            fmt::format("a step line of {} that is cut off: '{:.80}'", format_.name, stripped(lines[i].text)),
            "give the log as the program wrote it");
      if (found->cut) {
        log_.notes.push_back(fmt::format("line {}: cut off, left out", lines[i].number));
        continue;
      }
      found->step.line = lines[i].number;
      TRY(take(found->step));
    }
    return {};
  }

 private:
  Expected<void> take(const LoggedStep& step) {
    const double time = std::max({step.seconds.value(), step.tokens_per_s_per_gpu, step.samples_per_s});
    if (!(time > 0) || !std::isfinite(time))
      return fail(log_where(log_.where, step.line), fmt::format("iteration {} has no time above zero", step.iteration),
          "a step takes time");
    const auto line = static_cast<std::int64_t>(step.line);
    const auto [at, is_new] = seen_.emplace(step.iteration > 0 ? step.iteration : -line, log_.steps.size());
    if (is_new) log_.steps.push_back(step);
    else log_.steps[at->second] = step;
    return {};
  }

  const LogFormat& format_;
  TrainingLog& log_;
  std::map<std::int64_t, std::size_t> seen_;
};

std::string signs() {
  std::vector<std::string> texts;
  for (const LogFormat& format : formats_of_logs) texts.push_back(fmt::format("{} '{}'", format.name, format.sign));
  return fmt::format("looked for {}", fmt::join(texts, ", "));
}

bool differ(const std::string& a, const std::string& b) {
  const auto x = parsed_number<double>(a), y = parsed_number<double>(b);
  return x && y && std::abs(*x - *y) > 1e-9 * std::max(std::abs(*x), std::abs(*y));
}

Expected<void> add_asked(TrainingLog& log, const ArgumentMap& arguments, const std::string& where) {
  for (const auto& [name, value] : arguments) {
    const auto known = log.arguments.find(name);
    if (known == log.arguments.end()) log.arguments.emplace(name, value);
    else if (log.printed.count(name) == 0) known->second = value;
    else if (value == "-1") continue;  // "all that are left": the log prints what came of it
    else if (differ(known->second, value))
      return fail(where, fmt::format("{} is {}, but the log prints {}", name, value, known->second),
          "the arguments belong to another run");
  }
  return {};
}

/// Commands of wrappers (an srun that starts a script) have no arguments; the longest one is the training.
const LaunchLine* training_of(const std::vector<LaunchLine>& launches) {
  const LaunchLine* best = nullptr;
  for (const LaunchLine& launch : launches)
    if (best == nullptr || launch.arguments.size() >= best->arguments.size()) best = &launch;
  return best;
}

/// The training's command; its size may stand in another one that starts the same program (a launcher shows both).
Expected<void> add_launches(TrainingLog& log, const std::vector<LaunchLine>& launches, const std::string& where) {
  const LaunchLine* best = training_of(launches);
  if (best == nullptr) return {};
  const LaunchLine& launch = *best;
  for (const LaunchLine& other : launches)
    if (other.program == launch.program && other.gpus() > 0)
      log.gpus = other.gpus(), log.gpus_per_node = std::max<std::int64_t>(0, other.gpus_per_node);
  TRY(add_asked(log, launch.arguments, log_where(where, launch.line)));
  log.environment.insert(launch.environment.begin(), launch.environment.end());
  for (const std::string& text : launch.unknown)
    log.notes.push_back(fmt::format("{}: {:.120}: the text does not set that", log_where(where, launch.line), text));
  return {};
}

/// The first lines of a job tell its day; reading dates in all of a long log would take longer than the rest.
std::string date_of(std::span<const LogLine> lines) {
  for (const LogLine& line : lines)
    if (std::string date = date_in(line.text); !date.empty()) return date;
  return {};
}

}  // namespace

std::span<const LogFormat> log_formats() { return formats_of_logs; }

Expected<void> add_printed(TrainingLog& log, const ArgumentMap& arguments, const std::string& where) {
  for (const auto& [name, value] : arguments) {
    const auto known = log.arguments.find(name);
    if (known != log.arguments.end() && differ(known->second, value))
      return fail(where,
          fmt::format("{} is {} where the log prints its arguments, and {} elsewhere", name, value, known->second),
          "give one run per file");
    log.arguments[name] = value;
    log.printed.insert(name);
  }
  return {};
}

Expected<TrainingLog> read_training_log(std::string_view text, const std::string& where) {
  const std::vector<LogLine> lines = log_lines(text);
  for (const LogFormat& format : formats_of_logs) {
    TrainingLog log;
    log.where = where;
    log.framework = format.framework;
    TRY(StepReader(format, log).read(lines, text.ends_with('\n')));
    if (log.steps.empty()) continue;
    log.date = date_of(lines);
    TRY(const auto launches, find_launches(text, where));
    TRY(add_launches(log, launches, where));
    TRY(format.about(lines, log));
    return log;
  }
  return fail(where,
      lines.empty() ? "the file is empty"
                    : fmt::format("none of {} lines is a step of a training program known here", lines.size()),
      signs());
}

Expected<void> add_launch_arguments(TrainingLog& log, std::string_view text, const std::string& where) {
  TRY(const auto launches, find_launches(text, where));
  const LaunchLine* launch = training_of(launches);
  if (launch != nullptr && !launch->arguments.empty()) return add_launches(log, launches, where);
  TRY(const auto config, read_config(text, where));
  if (config.empty())
    return fail(where, "no argument of a training program", "JSON, TOML, YAML, or a script with the launch command");
  // A configuration file is what a command line overrides.
  ArgumentMap behind = config;
  for (const auto& [name, value] : log.arguments)
    if (log.printed.count(name) == 0) behind[name] = value;
  return add_asked(log, behind, where);
}

Expected<void> need_arguments(const TrainingLog& log) {
  if (!log.arguments.empty()) return {};
  return fail(log.where, "the log shows steps, but no arguments of the run",
      "--launch FILE: the script or configuration it was started with (launch command, TOML, YAML or JSON)");
}

ArgumentMap shown_config(std::span<const LogLine> lines, std::size_t kept, ConfigForm form) {
  constexpr int most_cuts = 64;
  std::size_t first = 0, last = lines.size();
  for (int cuts = 0; cuts < most_cuts && first < last; ++cuts) {
    std::string text;
    for (const LogLine& line : lines.subspan(first, last - first)) text += line.text + "\n";
    const auto arguments = config_arguments(text, form, "");
    if (arguments) return argument_map(*arguments);
    const std::size_t wrong = first + static_cast<std::size_t>(std::max(arguments.error().position.line, 1)) - 1;
    if (wrong <= kept && first < kept) first = std::min(wrong + 1, kept);
    else last = std::min(wrong, last - 1);
  }
  return {};
}

ArgumentMap shown_yaml(std::span<const LogLine> lines, std::string_view name) {
  const auto holds = [&](const LogLine& line) {
    return stripped(line.text).starts_with(name) && is_yaml_line(line.text);
  };
  const auto found = std::find_if(lines.begin(), lines.end(), holds);
  if (found == lines.end()) return {};
  const auto belongs = [](const LogLine& line) { return is_yaml_line(line.text); };
  auto first = found, last = found;
  while (first != lines.begin() && belongs(*std::prev(first))) --first;
  while (last != lines.end() && belongs(*last)) ++last;
  return shown_config({first, last}, static_cast<std::size_t>(found - first), ConfigForm::yaml);
}

}  // namespace stepcast::calibrate
