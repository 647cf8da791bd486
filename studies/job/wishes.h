// What one may say of a job beside its step: how long it is, how it fails, saves and restarts, and what it costs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/failure_rates.h"
#include "studies/cli/arguments.h"
#include "studies/cli/flags.h"
#include "studies/job/failure_log.h"
#include "studies/whatif/around_steps.h"
#include "studies/whatif/uneven_words.h"

namespace stepcast::job {

/// Restarts and their pieces where nobody says them. Kokolis et al. 2024 (arXiv 2410.21680) assume 5 min from a failure
/// to the first step; public large jobs take 2 to 10 (MegaScale, arXiv 2402.15627: detection and diagnosis in less than
/// 10). The checkpoint is read besides.
inline constexpr Seconds default_detect{120}, default_restart{180};
inline constexpr double restart_low = 0.4, restart_high = 2;  ///< 10th and 90th percentile over the default

struct JobWishes {
  std::optional<double> tokens;  ///< one of the three
  std::optional<Seconds> days;
  std::optional<std::int64_t> steps;
  FailureRates rates;
  std::optional<LoggedRates> logged;
  std::int64_t logged_gpus = 0;
  std::optional<Bytes> checkpoint;
  std::optional<BytesPerSecond> write_rate, read_rate;
  bool async = false;
  double background_slowdown = 0;  ///< of steps while a checkpoint is written
  std::optional<Seconds> detect, restart, interval;
  std::optional<Seconds> memory_interval;
  std::optional<double> memory_survives;
  std::optional<std::int64_t> spares;
  bool elastic = false;
  Seconds planned_every, planned_stop;
  std::optional<UnevenWords> uneven;  ///< --imbalance
  bool fleets_unevenness = true;      ///< of large jobs, where --imbalance does not say another
  AroundSteps around;
  std::optional<double> watts, gpu_hour_price, kwh_price;
  /// "dgx-h100=0.004,dgx-a100=0.0065", of several machines (settings.h); "": said for all of them, or not
  std::string rate_by_machine, price_by_machine;
  std::vector<double> rate_of_kind;                    ///< of those, per node and day; empty: alike
  std::optional<double> rate_for_all, fixed_failures;  ///< --failure-rate as a number, --fixed-failures
  double pue = 1;
  std::int64_t lives = 1000, seed = 0;
};

inline constexpr double most_failure_rate = 100, most_price = 1e6;
inline constexpr std::string_view all_lengths = "one of --tokens 15T, --days 54 and --steps 100000";

/// `now`: for the log's times, seconds since 1970. `lengths`: the flags that the command takes, for hints.
Expected<JobWishes> job_wishes(const Arguments& arguments, std::int64_t now, std::string_view lengths = all_lengths);
std::vector<Flag> job_own_flags();

/// "15T", "300B", "1.5e12".
Expected<double> parse_tokens(const std::string& text, const std::string& where);

}  // namespace stepcast::job
