// Prints the answers to single questions, for people and for programs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "studies/cli/console.h"
#include "studies/ask/rates.h"

namespace stepcast::ask {

struct RateReport {
  const QueryKind& kind;
  const std::string& id;
  const RateSource& source;
  const std::vector<RateQuestion>& questions;
  const std::vector<RateAnswer>& answers;
  bool table = false;  ///< asked by --csv
};

std::string rates_text(const RateReport& report, const Console& console);
/// {"kind", "machine", "gpu", "profile", "rows": [{fields, "time_s", "interval_s": [p10, p90], "bound", "source",
/// "law", ...}]}; without --csv the one row's keys stand at the top as well.
std::string rates_json(const RateReport& report);

/// All questions answered in the form that the flags ask for: text for one, a table for several, JSON with "rows".
Expected<void> answer_rates(const QueryKind& kind, const std::string& id, const Arguments& arguments, Console& console,
    const std::function<Expected<RateAnswer>(const RateSource&, const RateQuestion&)>& answer);

}  // namespace stepcast::ask
