// Turns a launch into a request, as flags or a scenario file would have made it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/launch/read/launch.h"
#include "studies/run/request.h"

namespace stepcast::launch {

struct LaunchReading {
  Request request;                 ///< values' `where`: "run.sh:12 --micro-batch-size"
  std::vector<std::string> notes;  ///< what was assumed, and what is not taken into account
  std::set<std::string> used;      ///< names of arguments that were asked for
  std::int64_t node_ranks = 0;     ///< on a node, as launcher or configuration tell them; 0: neither does
};

/// What the user says beside the launch.
struct LaunchHints {
  std::optional<Chosen<NetworkSpec>> network;  ///< geometry that the launch does not tell; what both tell must agree
  std::int64_t gpus = 0;                       ///< 0: as the launch says
  /// 0: as the launch says; files of some frameworks have no place for it
  std::int64_t micro_batch = 0;
  bool resized = false;    ///< flags give another split or batch: the launch's own need not divide
  std::set<FieldId> told;  ///< by flags beside the launch
  bool lenient = false;    ///< what is not understood is a warning (understood.h)
  bool must_agree = true;  ///< else what the launch says goes before the network, with a note
  std::string how_to_name = "NETWORK in front: stepcast predict llama3-8b ... (stepcast list networks)";
};

/// Errors: a value that is no number where one is needed, a variable that nothing sets in an argument that counts,
/// geometry or sizes that are missing or contradict each other (with the two places and the nearest that would do).
Expected<LaunchReading> read_meaning(const Launch& launch, const LaunchHints& hints);

}  // namespace stepcast::launch
