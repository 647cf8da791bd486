// A measurement is one timed thing with its context, whatever program timed it. Importers write measurements, a file
// keeps them (measurement_file.h), and fits read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/machine/machine.h"
#include "model/profile/profile.h"
#include "model/profile/query.h"
#include "model/base/units.h"

namespace stepcast::calibrate {

/// Under which circumstances: what two tables must share before their times may be compared. "" and 0: not known.
struct MeasurementContext {
  std::string gpu;       ///< catalogue id: "h100-sxm"
  std::string fabric;    ///< of collectives: "nvswitch", "pcie", ...; across nodes the one between them
  std::string device;    ///< as the driver names it: "NVIDIA H100 80GB HBM3"
  std::string machine;   ///< host or cluster, where the source names it
  std::string software;  ///< library that was called and its version: "trtllm 1.3.0rc20", "nccl-tests 2.13.6"
  std::string driver, cuda, cublas, nccl, date;
  std::string launch_mode;       ///< "graph", "eager", "thread per GPU", "process per GPU", ...
  std::string regime = "burst";  ///< or "sustained"
  /// "warm": the buffers stay in the level-2 cache; "": they do not, or it is not known
  std::string cache;
  std::string beside;  ///< what ran at the same time on the same GPU: "copy", "all_reduce"; "" = nothing
  std::string source;  ///< file or publication with its commit
  double sm_clock_mhz = 0, memory_clock_mhz = 0, power_limit_w = 0;
  double port_bytes_per_s = 0;  ///< across nodes: one NIC's line rate
  int ports_per_node = 0;
  friend bool operator==(const MeasurementContext&, const MeasurementContext&) = default;
};

struct Measurement {
  Query what;
  Seconds time;  ///< median of the repeats, or what the source gives; always above 0
  /// spread of the repeats as the source gives it (quartiles or extremes); 0 = not known
  Seconds low, high;
  int context = 0;             ///< index into Measurements::contexts
  int repeats = 1;             ///< behind `time`; 1 where the source does not say
  double power_w = 0;          ///< mean board power while it ran; 0 = not known
  bool throttled = false;      ///< clocks were pulled down: not to be fitted as a burst
  double sm_clock_mhz = 0;     ///< mean while it ran; 0 = not known
  bool power_limited = false;  ///< the board's power held clocks down at times
  bool unsettled = false;      ///< the median was still moving when its time was up
};

struct Measurements {
  std::vector<MeasurementContext> contexts;
  std::vector<Measurement> rows;
  /// what importing found doubtful: contradictions, outliers, copied tables, rows left out
  std::vector<std::string> notes;

  [[nodiscard]] const MeasurementContext& context_of(const Measurement& row) const {
    return contexts.at(static_cast<std::size_t>(row.context));
  }
};
/// Index of a context that equals this one; added where there is none.
int context_index(Measurements& measurements, const MeasurementContext& context);
/// The row, taken under these circumstances.
void add_row(Measurements& into, Measurement row, const MeasurementContext& context);
/// Rows and notes of `more` after those of `into`.
void append(Measurements& into, const Measurements& more);

}  // namespace stepcast::calibrate
