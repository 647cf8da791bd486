// A user's own record of a job's failures: when each came and when steps went on. CSV with a header:
//   failed_at,back_at
//   2026-03-01T04:10:00,2026-03-01T04:31:00
// Times are UTC in ISO 8601, with T or a blank, with seconds or without, a Z behind them or not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "model/failure_rates.h"

namespace stepcast::job {

struct LoggedFailure {
  std::int64_t failed_at = 0, back_at = 0;  ///< seconds since 1970
};

/// `now`: seconds since 1970. Errors name the line: columns, what is no time, an end before its failure, entries that
/// overlap, are not in order, or lie in the future.
Expected<std::vector<LoggedFailure>> read_failure_log(
    const std::string& text, const std::string& where, std::int64_t now);

/// What a job on `gpus` GPUs was like that was watched for `watched`: failures per day of it all with their 80 %
/// interval (gamma, from the count), and the mean time from a failure until steps go on.
struct LoggedRates {
  RateRange per_day;
  Seconds mean_down;
  std::int64_t failures = 0;
};
/// Error: the log is longer than that.
Expected<LoggedRates> rates_of(const std::vector<LoggedFailure>& log, Seconds watched, const std::string& where);

}  // namespace stepcast::job
