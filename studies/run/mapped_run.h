// A run whose split comes from a mapping file: GPU count, batch and micro-batches follow from its text where they are
// not said, and must agree with it where they are.
#pragma once

#include <string>
#include <vector>

#include "model/plan.h"
#include "studies/run/request.h"

namespace stepcast::run {

struct MappedRun {
  Plan plan;
  std::int64_t micro_batches = 1;
  std::vector<Assumption> assumptions;
};

/// Flags and keys that split are refused beside a mapping, which already says it all. `plan` has micro-batch, sequence
/// and precision already.
Expected<MappedRun> read_mapped_run(const Request::Value& mapping, const Request& request, const Plan& plan);

/// What a mapping does: its mesh, the aliases in use, its schedule: "tp 8, cp 1, dp 16, pp 4; tp, vocab, dp, zero1;
/// 1f1b".
std::string mapping_in_words(const Plan& plan);

}  // namespace stepcast::run
