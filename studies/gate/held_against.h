// What the results of a case are held against: a forecast, a roof, earlier results, or those of another case, as log
// times and what the shift from them may be.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/gate/expected.h"
#include "studies/gate/gate_file.h"
#include "studies/gate/history.h"
#include "studies/gate/judge.h"
#include "studies/gate/results.h"

namespace stepcast::gate {

/// A case with what was found of it, before it is held against anything.
struct ReadyCase {
  const GateCase* asked = nullptr;
  std::optional<CaseForecast> forecast;
  FoundResults found;
  std::vector<RecordedCheck> history;
  [[nodiscard]] double gpus() const {
    if (asked->gpus > 0) return static_cast<double>(asked->gpus);
    return forecast ? forecast->work.gpus : 0;
  }
};

/// Times of other runs, or one time, and what the shift may be.
struct HeldAgainst {
  std::vector<double> before;  ///< log times
  double expected = 0;         ///< log time
  bool missing = false;
  Allowed allowed;
  std::optional<double> reached_at_one;  ///< MFU and its kin that a measured time of 1 s would be
  std::string name, note;
};

/// `all`: every case of the file, for those that are held against another. Errors: a unit that the forecast does not
/// speak of, a forecast without MFU or roofline, GPUs that nobody said, a baseline of another kind.
Expected<HeldAgainst> held_against(
    const GateFile& file, const std::vector<ReadyCase>& all, const ReadyCase& ready, const Must& must);

/// What the forecast's run takes for one thing of the result's unit.
Expected<double> forecast_seconds(const ReadyCase& ready);

std::vector<double> logs_of(const std::vector<double>& seconds);
std::vector<double> logs_of(const RecordedCheck& check);
/// The median; 0 of nothing.
double middle_of(const std::vector<double>& values);
bool same_runs(const RecordedCheck& check, const std::vector<double>& seconds);

}  // namespace stepcast::gate
