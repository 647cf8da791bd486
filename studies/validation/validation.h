// Forecasts measured runs, and says how far off the forecasts are per class.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "studies/records/doubt_checks.h"
#include "studies/records/run_record.h"
#include "studies/validation/statistics.h"

namespace stepcast::validation {

struct ValidatedCase {
  std::string id, source, group;  ///< group: same model, GPUs, batch and class
  std::string gpu, precision, kind, stack;
  double measured_s = 0, predicted_s = 0, low_s = 0, high_s = 0;
  double error = 0;  ///< predicted / measured - 1
  /// forecast by step parameters that were fitted without this run's group; 0 = not made
  double held_out_s = 0;
  double held_out_low_s = 0, held_out_high_s = 0;
  /// what that group was: "source", "model", "release", "stack", "length"; "all" = laws alone
  std::string left_out;
  /// why the record is no witness: known (doubts/*.json) or found (doubt_checks.h); it is forecast, but fits nothing
  std::string doubt;
  records::CheckedRun checked;
  double model_flops = 0, gpus = 1;                  ///< causal attention counted by half
  bool time_reported = true;                         ///< false: derived from a rate, no witness for FLOP counts
  double measured_memory = 0, predicted_memory = 0;  ///< bytes, where both mean the same; else 0
  std::vector<std::string> assumptions;
  [[nodiscard]] std::string class_name() const { return gpu + " " + precision + " " + kind + " " + stack; }
  [[nodiscard]] double rate() const { return model_flops / measured_s / gpus; }  ///< FLOP/s per GPU, as measured
};

struct SkippedRun {
  std::string id, reason;
};

/// Runs of one model on as many GPUs with one batch, which differ in how the work is split.
struct RankedGroup {
  std::string name, class_name;
  std::size_t n = 0;
  double spearman = 0, regret = 0;
};

/// GPU, precision, kind (dense, moe, sharded, long; tuning of trained ones) and stack; `source` sums the records of one
/// publication instead.
struct ValidatedClass {
  std::string name;
  bool by_source = false;
  ErrorSummary error;
  double baseline_mape = 0;         ///< every run forecast at the class's median TFLOP/s
  double coverage = 0;              ///< share of runs inside their 80 % interval
  std::size_t groups = 0;           ///< with at least four runs
  double spearman = 0, regret = 0;  ///< means over them
  ErrorSummary memory;
};

struct Validation {
  std::vector<ValidatedCase> cases;  ///< in the records' order
  std::vector<SkippedRun> skipped;
  std::vector<ValidatedClass> classes;  ///< largest first, then those by source
  std::vector<RankedGroup> groups;
  ErrorSummary all, sound;  ///< sound: without doubtful records
  double coverage = 0, sound_coverage = 0;
};

enum class Fits : std::uint8_t { used, ignored };  ///< what the profiles know from measured steps

/// Uses all processors.
Validation validate_runs(const std::vector<Run>& runs, Fits fits = Fits::used);

/// The parts, for tests: statistics over given cases.
std::vector<RankedGroup> ranked_groups(const std::vector<ValidatedCase>& cases);
std::vector<ValidatedClass> class_rows(const std::vector<ValidatedCase>& cases, const std::vector<RankedGroup>& groups);

}  // namespace stepcast::validation
