// Where the step goes, roof by roof: from the time that its multiply-adds would take at the datasheet's peak, over what
// memory and shapes cost beyond it, to waiting for the network, the bubble, the tail and the host. The bars sum to the
// step.
#pragma once

#include <string>
#include <vector>

#include "studies/run/forecast.h"
#include "studies/run/request.h"
#include "studies/roofline/figures/operator_points.h"
#include "studies/roofline/figures/roofs.h"
#include "studies/run/scenario.h"

namespace stepcast::roofline {

struct WaterfallBar {
  std::string key;    ///< JSON: "useful_compute"
  std::string name;   ///< "model FLOPs at peak"
  std::string about;  ///< one sentence
  std::string group;  ///< "compute", "memory", "network", "pipeline", "tail", "host": colour
  Seconds time;       ///< may be 0, never below
};

/// What one change would bring: the largest of those that `stepcast whatif` tries, other sequence lengths left out.
struct Lever {
  std::string id, name, from, to;  ///< "nic", "NIC: into the cluster, infiniband", "50.0 GB/s", "100 GB/s"
  bool of_machine = true;          ///< else a number of the plan
  Seconds before, after;           ///< step time of the same tokens
  double gain = 0;                 ///< 1 - after / before, above 0
  std::string phase;               ///< that changed most
  bool fits = true;                ///< in memory
};

struct Waterfall {
  std::vector<WaterfallBar> bars;  ///< on a rank of the slowest stage
  Seconds step_time;
  double mfu = 0, hfu = 0;
  bool causal_attention = true;  ///< how MFU counts attention; said beside every MFU
  std::vector<Lever> levers;     ///< three at most, largest gain first; only such as fit where the run fits
  std::string levers_missing;    ///< why there are none: "", or "the sequence is cut into slices"
};

/// Bars, in this order: useful_compute (FLOPs of the slowest stage's rank without repeats, at the datasheet's peak of
/// each operator's type), repeated_compute (recompute and padding), hbm and l2 (by operator: what its bytes take beyond
/// its FLOPs), kernels (what kernels take beyond their roofs: tiles, waves, launches, sustained clocks), beside
/// (kernels slowed by moves beside them or by the host's launches), exposed communication by link, bubble,
/// gradient_sync, clip, optimizer, parameter_gather, host, data_wait, host_to_device. L2 has no time where nobody
/// measured it: beside an assumed rate it would take most of `kernels`. A kernel priced faster than its roofs has its
/// parts shortened to its price. What a rank waits for at a chunk's end names no move; it is shared out over the links
/// as the rest is.
Waterfall waterfall(const Scenario& scenario, const Prediction& prediction, const std::vector<OperatorPoint>& points,
    const Roofs& roofs);

/// "attention counted causal".
const char* attention_words(const Waterfall& fall);

/// Takes at most `most` of sensitivity(request, 2), one per lever, largest gain first. Errors are those of it.
Expected<std::vector<Lever>> biggest_levers(const Request& request, std::size_t most);

}  // namespace stepcast::roofline
