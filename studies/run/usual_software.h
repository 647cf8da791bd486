// Which software is taken where nobody names it.
#pragma once

#include <string_view>

#include "studies/run/request.h"

namespace stepcast::run {

// Of the carried records with weights in shards over the data ranks 106 of 126 are of FSDP in PyTorch
// (studies/records/runs.json, 2026-11); of the others since 2023 most are of Megatron-Core or built on it.
inline constexpr std::string_view usual_sharded_software = "pytorch-fsdp", usual_software = "megatron-core";
// Megatron-Core's fused attention and Transformer Engine need Ampere (Dao-AILab/flash-attention README,
// NVIDIA/TransformerEngine README); the eight carried runs on Volta are of Megatron of 2020 and 2021.
inline constexpr std::string_view usual_software_before_ampere = "megatron-2020";

/// The row that stands for it, by the GPU and by whether weights lie in shards.
std::string_view usual_row(const Gpu& gpu, bool sharded);
/// The request with its software settled: what is then changed in it is not a change of software too.
Expected<Request> with_settled_software(Request request);

}  // namespace stepcast::run
