// Runs of sample logs, and what tests ask of them.
#pragma once

#include <algorithm>

#include <gtest/gtest.h>

#include "studies/run/forecast.h"
#include "studies/launch/read/logged_run.h"
#include "studies/records/run_scenario.h"
#include "studies/records/stack_rule.h"
#include "tests/calibrate/import/sample_logs.h"

namespace stepcast::launch::sample_log {

using namespace calibrate::sample_log;

using Printed = std::vector<std::pair<std::string, std::string>>;

inline Printed changed(Printed arguments, const Printed& changes) {
  for (const auto& [name, value] : changes) {
    const auto found =
        std::find_if(arguments.begin(), arguments.end(), [&](const auto& row) { return row.first == name; });
    if (found == arguments.end()) arguments.emplace_back(name, value);
    else found->second = value;
  }
  return arguments;
}

inline Expected<LoggedRun> run_of_log(const std::string& text, const LoggedRunHints& hints) {
  const auto log = read_training_log(text, "logs/job.log");
  if (!log) return tl::unexpected(log.error());
  return logged_run(*log, hints);
}

inline Expected<LoggedRun> megatron_run(const Printed& changes = {}) {
  return run_of_log(sample_log::megatron_dump(changed(sample_log::llama_arguments(), changes)) +
                        sample_log::megatron_steps(sample_log::settled_ms),
      {"dgx-h100", "", 0});
}

inline std::string refusal_of(const Expected<LoggedRun>& run) { return run ? "made" : to_text(run.error()); }

inline bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

inline bool says(const LoggedRun& run, std::string_view part) {
  return std::any_of(
      run.assumptions.begin(), run.assumptions.end(), [&](const std::string& text) { return holds(text, part); });
}

/// The forecast of the run, in seconds.
inline double forecast_of(const records::Run& run) {
  const auto made = scenario_of(run);
  EXPECT_TRUE(made) << (made ? "" : to_text(made.error()));
  if (!made) return 0;
  const auto prediction = run::predict(made->scenario);
  EXPECT_TRUE(prediction) << (prediction ? "" : to_text(prediction.error()));
  return prediction ? prediction->step.step_time.value() : 0;
}

}  // namespace stepcast::launch::sample_log
