// Says how a plan is told to torchtitan 0.2.2, the last release that reads TOML. The file and the list of what cannot
// be said both follow this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "studies/launch/emit/emit.h"
#include "studies/launch/facts/torchtitan_models.h"

namespace stepcast::launch {

/// torch.distributed.pipelining/schedules.py, get_schedule_class.
struct TorchSchedule {
  std::string_view ours, torch;
  bool one_stage = true;  ///< a stage per rank and no more
  bool same = true;       ///< the same order of actions; else the nearest that there is
};
TorchSchedule torch_schedule(const Split& split);

/// Data ranks as torchtitan counts them.
struct TorchtitanShards {
  std::int64_t replicate = 1, shard = 1;
  std::string_view reshard;  ///< fsdp_reshard_after_forward; "" where nothing is in shards
};
TorchtitanShards torchtitan_shards(const Split& split);
/// Ranks over which weights could be in shards: data and context ranks of one copy, and those of an expert's.
std::int64_t torchtitan_sharded_ranks(const Split& split);

/// Every which layer is recomputed whole: 1 all, 0 none; -1 where no such number gives the plan's layers per stage.
std::int64_t torchtitan_recompute_every(const EmitPlan& plan);

/// Is this statement of a mapping, as it is printed, what torchtitan's selective kind by operators does
/// (launch/read/ways_reader.cpp)?
bool torchtitan_by_operator(std::string_view statement);

/// Modules of every part where layers per stage do not say it; empty where they do.
std::vector<std::vector<std::string>> torchtitan_parts(const EmitPlan& plan);

std::vector<std::string> unsaid_torchtitan(const EmitPlan& plan);

}  // namespace stepcast::launch
