// Judges every case of a gate: its results against all that must hold, and its place in the history.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/gate/change_points.h"
#include "studies/gate/gate_file.h"
#include "studies/gate/history.h"
#include "studies/gate/judge.h"

namespace stepcast::gate {

struct JudgedMust {
  MustKind kind = MustKind::forecast;
  std::string name;  ///< in words: "at most 1 % slower than the last good check"
  Judgement judgement;
  double expected_seconds = 0;   ///< what the shift is counted from; 0: nothing to hold against
  std::optional<double> figure;  ///< MFU, share of the roofline, efficiency or speed-up that was reached
  std::size_t runs_before = 0;   ///< of the other side; 0: a number
  std::string note;              ///< why it is undecided where runs are not the reason
};

/// Where the level changed, in checks from the oldest that was looked at.
struct JudgedChange {
  std::size_t checks_ago = 0;  ///< 0: this check is the first of the new level
  double change = 0;           ///< as a fraction: 0.05 is slower
  std::string at, commit;
};

struct JudgedCase {
  std::string name, unit;
  std::vector<double> seconds;  ///< of each run
  std::vector<std::string> files;
  std::size_t wanted = 0;  ///< runs
  double median = 0, noise = 0;
  std::optional<double> forecast_seconds;
  std::vector<JudgedMust> musts;
  Finding finding = Finding::undecided;  ///< the worst of them: slower, undecided, faster, equal
  std::size_t history = 0;               ///< checks of the level search, this one included
  std::vector<JudgedChange> changes;
  std::vector<std::string> notes;
  GateRates rates;
};

struct GateReport {
  std::string file;
  std::vector<JudgedCase> cases;
  std::size_t recorded = 0;
  [[nodiscard]] std::size_t count(Finding finding) const;
  /// Of at least one false alarm in all that was judged, at most: rates of all requirements summed (Boole).
  [[nodiscard]] double false_alarms() const;
};

/// `record`: adds the checks to the history, as made now from this commit. Errors: those of results, forecasts and the
/// history.
Expected<GateReport> check_gate(const GateFile& file, bool record, const std::string& commit);

/// A time in the case's unit, or its rate: "17.4 s", "7,123 tokens/s/GPU".
std::string shown_result(double seconds, const std::string& unit);

}  // namespace stepcast::gate
