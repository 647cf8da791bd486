// Where a job's time goes, as the text and the page list it.
#pragma once

#include <string>
#include <vector>

#include "studies/job/forecast.h"

namespace stepcast::job {

struct TimeRow {
  std::string name;
  Seconds time;
  std::string meaning;
  bool inside = false;  ///< part of the row above that is not
};
/// Parts that take any time; those of a step stand below the steps.
std::vector<TimeRow> time_rows(const JobForecast& job);

}  // namespace stepcast::job
