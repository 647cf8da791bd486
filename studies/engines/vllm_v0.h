// Which launches of vLLM run its first engine, V0, and where that cuts prompts by itself.
#pragma once

#include <cstdint>

#include "model/machine/machine.h"
#include "model/network/network.h"
#include "studies/engines/engine_launch.h"

namespace stepcast::engines {

bool asks_for_v0(const EnginePool& pool);

/// vLLM's releases from 0.11 on have V1 alone (vllm-project/vllm, release notes of v0.11.0).
bool has_v1_alone(const EnginePool& pool);

/// Error: V1 is asked for beside what it does not have.
Expected<void> check_v1(const EnginePool& pool);

/// Requests that may be longer are what V0 cuts prompts for (vllm/engine/arg_utils.py, create_engine_config and
/// _set_default_args_v0: use_long_context).
inline constexpr std::int64_t vllm_v0_whole_prompts = 32'768;

/// Without being told: on NVIDIA's GPUs, without windows, guesses and images, and from 0.8 on without latents (the same
/// functions; adapters are no part of it here). Of a launch without guesses.
bool v0_cuts_prompts(const NetworkSpec& network, const Gpu& gpu, std::int64_t longest, bool before_0_8);

}  // namespace stepcast::engines
