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
  /// `external`: the operator that launched it, -1 where nobody says.
  void add(std::int64_t device, DeviceEvent event, std::string_view name, const WorkKind* known,
      CalledCollective called, std::int64_t external = -1);
  [[nodiscard]] bool empty() const { return traces_.empty(); }
  /// All devices, sorted, each with the launches, marks and calls of the file.
  std::vector<RankTrace> finish();

  std::vector<HostLaunch> launches;
  std::vector<HostMark> marks;
  std::vector<HostCall> calls;
  std::unordered_map<std::int64_t, TracedShape> products;  ///< by the operator that launched them

 private:
  struct Device {
    RankTrace trace;
    std::unordered_map<std::string, std::int32_t> names;
    std::vector<WorkKind> kinds;  ///< by name
    std::map<std::string, std::int32_t> collectives;
    std::vector<std::pair<std::size_t, std::int64_t>> asked;  ///< products among the events, and their operators
  };
  void add_shapes(Device& built) const;

  std::map<std::int64_t, Device> traces_;
  std::string key_;
};

}  // namespace stepcast::calibrate
