#include "studies/engines/vllm_v0.h"

#include <vector>

#include "model/base/text.h"
#include "studies/engines/habits.h"

namespace stepcast::engines {
namespace {

bool says_v1(const EnginePool& pool, std::string_view value) {
  const auto v1 = pool.environment.find("VLLM_USE_V1");
  return v1 != pool.environment.end() && v1->second == value;
}

/// Whatever preemption mode is said, V0 runs in all releases that have both: its default is none
/// (vllm/engine/arg_utils.py of 0.8 to 0.10, _is_v1_supported_oracle).
bool says_preemption(const EnginePool& pool) {
  SaidArguments said = pool.server;
  return pool.server.program->engine == "vllm" && said.text("preemption_mode").has_value();
}

}  // namespace

bool asks_for_v0(const EnginePool& pool) {
  return pool.server.program->engine == "vllm" && (says_v1(pool, "0") || says_preemption(pool));
}

bool has_v1_alone(const EnginePool& pool) {
  return !pool.release.empty() && numbers_of_release(pool.release) >= std::vector<int>{0, 11};
}

// _is_v1_supported_oracle raises NotImplementedError.
Expected<void> check_v1(const EnginePool& pool) {
  if (!says_v1(pool, "1") || !says_preemption(pool) || has_v1_alone(pool)) return {};
  SaidArguments said = pool.server;
  return fail(place_of_argument(said, *said.find("preemption_mode")),
      "a preemption mode where VLLM_USE_V1=1 asks for V1: vLLM does not start", "one of them alone");
}

bool v0_cuts_prompts(const NetworkSpec& network, const Gpu& gpu, std::int64_t longest, bool before_0_8) {
  const bool latents = network.latent.kv_rank > 0 && !before_0_8;
  return longest > vllm_v0_whole_prompts && !lower_case(gpu.architecture).starts_with("cdna") &&
         network.window.positions == 0 && !latents && network.images == 0;
}

}  // namespace stepcast::engines
