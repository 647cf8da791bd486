// Reads what --from finds in a file: an order, and in some forms the duration of each of its actions.
#pragma once

#include <string>
#include <vector>

#include "sim/schedule/engine/replay.h"
#include "studies/schedule/replay.h"
#include "studies/schedule/request.h"

namespace stepcast::schedule {

struct ScheduleFile {
  std::vector<TimedOrder> copies;  ///< of one order; times are empty without durations
  bool has_durations = false;
  bool in_seconds = false;  ///< the durations
  MeasuredStep step;
  std::vector<std::string> notes;
};

/// primus.cpp: a folder with config.json and pp_rank_<r>.json, at one iteration: that of the request, or the
/// last one of all ranks.
bool is_primus_folder(const std::string& path);
Expected<ScheduleFile> read_primus_folder(const std::string& path, const ScheduleRequest& request);

}  // namespace stepcast::schedule
