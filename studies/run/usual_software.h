// Which software is taken where nobody names it.
#pragma once

#include <string_view>

#include "studies/run/request.h"

namespace stepcast::run {

// Of the carried records with weights in shards over the data ranks 106 of 126 are of FSDP in PyTorch
// (studies/records/runs.json, 2026-11); of the others since 2023 most are of Megatron-Core or built on it.
inline constexpr std::string_view usual_sharded_software = "pytorch-fsdp", usual_software = "megatron-core";
/// The row that stands for it, by whether weights lie in shards.
std::string_view usual_row(bool sharded);
/// The request with its software settled: what is then changed in it is not a change of software too.
Expected<Request> with_settled_software(Request request);

}  // namespace stepcast::run
