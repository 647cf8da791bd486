// Turns a measured run's record into a scenario that can be forecast, with everything that the record left open and
// what was assumed for it.
#pragma once

#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/run/scenario.h"
#include "studies/records/run_record.h"

namespace stepcast::records {

struct RunScenario {
  Scenario scenario;
  std::vector<std::string> assumptions;
};

/// Errors say why a run cannot be forecast: no layer geometry, a GPU nobody describes, a split that does not divide.
Expected<RunScenario> scenario_of(const Run& run);

// The parts, one file each.

/// Error: geometry that is missing or contradicts itself.
Expected<NetworkSpec> network_of(const Run& run, std::vector<std::string>& assumptions);

struct RunSplit {
  Split split;
  std::vector<std::string> statements;  ///< lines of the notation behind those of the split
};
/// `spec` tells layers and sizes; `stack` the software's ways.
Expected<RunSplit> split_of(
    const Run& run, const NetworkSpec& spec, const Stack& stack, std::vector<std::string>& assumptions);

/// What a split says that recomputes nothing because the record is silent.
inline constexpr const char* nothing_recomputed = "no recomputation";
/// Words for what the software can run again, the least first.
std::vector<std::string> recompute_words_of(const Stack& stack);

/// Layers per virtual stage where they do not divide: embedding and head (with prediction modules) count as layers of
/// the first and the last one, as Megatron's account-for-embedding and account-for-loss flags do; what is left over
/// goes to the middle. Source: BLOOM (arXiv 2211.05100) lays 70 layers on 12 stages as 5, 6 x 10, 5.
std::vector<std::int64_t> uneven_stages(std::int64_t layers, std::int64_t parts, std::int64_t prediction_modules);

/// Nanotron's: a stage takes layers until the weights of products so far exceed its share of all, those of the LM head
/// counted (huggingface/nanotron 31c3c5a, models/base.py build_model, models/llama.py get_block_compute_costs). There
/// the head may have a stage of its own before the loss's, which here are one: an inner stage without a layer takes one
/// of its neighbour's.
std::vector<std::int64_t> filled_stages(const NetworkSpec& spec, std::int64_t parts);

}  // namespace stepcast::records
