// --seq-splits: the sequence cut into slices that pass the pipeline one after the other.
#pragma once

#include <vector>

#include "dataflow/program.h"
#include "model/base/error.h"
#include "studies/run/scenario.h"

namespace stepcast::run {

/// The program of every slice, first to last. `whole` is that of the uncut sequence. Errors: a schedule that cuts
/// nothing, positions that do not divide, an attention that writes its scores out, positions that ranks share.
Expected<std::vector<Program>> lower_slices(const Scenario& scenario, const Program& whole);

}  // namespace stepcast::run
