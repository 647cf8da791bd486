// The campaign that times collectives on all ranks in step.
#pragma once

#include "calibrate/measure/campaign.h"
#include "calibrate/measure/collectives/collective_plan.h"
#include "kernels/bench/collective_bench.h"

namespace stepcast::calibrate {

/// Same rows, hooks and promises as run_campaign; all processes take the same turns, because they decide by times that
/// all of them see, and by the clock and the earlier file of process 0. Only process 0 is given hooks.keep.
/// request.plan is not looked at. What ran beside what is in context.beside as work_name() spells it, "all_reduce x8
/// 128 MiB" and "gemm ..."; the same two alone come with them.
Expected<MeasureResult> run_collectives(
    CollectiveBench& bench, const CollectivePlan& plan, const CampaignRequest& request, const MeasureHooks& hooks);

}  // namespace stepcast::calibrate
