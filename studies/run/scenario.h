// A run with every noun resolved and every number set, and the list of what nobody said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/base/large_value.h"
#include "model/plan.h"
#include "model/step_tuning.h"
#include "studies/run/nouns.h"
#include "studies/run/request.h"
#include "studies/run/split/split_plan.h"
#include "studies/run/split/switches.h"

namespace stepcast::run {

/// What the pipeline is told beside its schedule, and where that was said.
struct PipelineChoice {
  std::int64_t slices = 1;      ///< of the sequence
  std::int64_t memory_cap = 0;  ///< activations that a rank may hold, in slices or chunks; 0 = no cap
  std::string slices_where = "--seq-splits", cap_where = "--memory-cap";
};

struct Scenario {
  LARGE_VALUE(Scenario);
  Chosen<NetworkSpec> network;
  Chosen<Machine> machine;
  Chosen<Stack> stack;  ///< with `ways`; its id is that of the row without them
  StackWays ways;
  Chosen<Profile> profile;   ///< id empty: the user's own, or made for the GPU
  bool own_profile = false;  ///< the user's own
  Plan plan;
  PipelineChoice pipeline;
  bool causal_attention = true;         ///< how model FLOPs count attention
  std::int64_t micro_batches = 1;       ///< per step, on each rank of the batch split
  std::optional<Split> split;           ///< what the mapping was made of; absent: a mapping of the user's own
  std::vector<std::string> statements;  ///< lines of the mapping behind those of the split
  bool balance = false;                 ///< the split's layers lie nearly evenly and wait to be weighed (run/balance.h)
  std::vector<Assumption> assumptions;
  std::vector<Remark> remarks;
  /// what of the input was not understood, or read otherwise than it was written: stands above all figures
  std::vector<std::string> warnings;
};

/// Fills in defaults, checks that everything divides and fits the machine, and makes the mapping text. Asks no
/// forecast, so that layers to be balanced lie nearly evenly still; complete() of run/forecast.h weighs them.
Expected<Scenario> resolve(const Request& request);

/// Puts a split into the scenario, as mapping with the scenario's own statements behind it: every scenario but one with
/// a mapping of the user's own is made so, whether flags, a point of a sweep or a measured record asked for it.
void lay_split(Scenario& scenario, Split split);

/// How the work is split: "tp 8, cp 1, pp 4, dp 16, sp, zero 1, 1f1b"; of a mapping of the user's own, what it says.
std::string in_words(const Scenario& scenario);

/// What measured steps say about this software on this GPU: the profile's fit, or the nearest to it.
FoundFit step_fit(const Scenario& scenario);
/// One line on the values in force, how far they were off on runs that were left out, and whose they are.
std::string fit_remark(const Scenario& scenario, const FoundFit& found);

}  // namespace stepcast::run
