// Puts the events of one file together, GPU by GPU: names once, their kinds once, collectives that are alike once.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "calibrate/trace/rank_trace.h"

namespace stepcast::calibrate {

class TraceBuilder {
 public:
  /// The trace of a device of the file, begun when it is first asked for.
  RankTrace& of(std::int64_t device);
  /// Adds a kernel, copy or fill; sets its name, its kind by the name (`known`: it is said otherwise), its collective.
  void add(
      std::int64_t device, DeviceEvent event, std::string_view name, const WorkKind* known, CalledCollective called);
  [[nodiscard]] bool empty() const { return traces_.empty(); }
  /// All devices, sorted, each with the launches and marks of the file.
  std::vector<RankTrace> finish();

  std::vector<std::pair<std::int64_t, double>> launches;
  std::vector<HostMark> marks;

 private:
  struct Device {
    RankTrace trace;
    std::unordered_map<std::string, std::int32_t> names;
    std::vector<WorkKind> kinds;  ///< by name
    std::map<std::string, std::int32_t> collectives;
  };
  std::map<std::int64_t, Device> traces_;
  std::string key_;
};

}  // namespace stepcast::calibrate
