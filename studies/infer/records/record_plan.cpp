#include "studies/infer/records/record_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/base/text.h"
#include "model/catalog.h"
#include "studies/engines/checkpoint.h"
#include "studies/engines/habits.h"
#include "studies/infer/records/benchmark_settings.h"

namespace stepcast::infer {
namespace {

/// GPUs of records, and the machine that has them.
struct GpuName {
  const char* name;
  const char* machine;
};
constexpr GpuName gpu_names[] = {{"A100-SXM-80GB", "dgx-a100"}, {"A100 SXM 80GB", "dgx-a100"},
    {"A100-SXM-40GB", "dgx-a100-40gb"}, {"H100-SXM-80GB", "dgx-h100"}, {"H200-SXM-141GB", "hgx-h200"},
    {"B200-SXM-180GB", "dgx-b200"}, {"GH200", "alps-gh200"}, {"MI300X", "mi300x-server"},
    {"GB200-NVL72", "gb200-nvl72"}, {"RTX-PRO-6000-Blackwell-SE", "rtx-pro-6000-server"},
    {"RTX-PRO-6000", "rtx-pro-6000-server"}};

/// Engines of records by name; which row their release runs is in engine_releases().
struct EngineName {
  std::string_view name;  ///< in lower case, the whole of it
  std::string_view engine;
};
constexpr EngineName engine_names[] = {{"vllm (2023, splitwise fork)", "vllm-2023"}, {"vllm", "vllm"},
    {"tensorrt-llm", "tensorrt-llm"}, {"trtllm", "tensorrt-llm"}, {"deepspeed-mii", "deepspeed-mii"},
    {"sglang", "sglang"}, {"tensorrt-llm + triton tensorrtllm_backend", "tensorrt-llm"}, {"pytorch", "pytorch"}};

/// Releases that are not told count as the oldest, but in closed loops of users: those are of dumps of 2025, the
/// engine's own row. Pools, whose records have the version of what runs the engines (Dynamo), are of the newest.
std::string_view row_of_record(const InferenceRecord& record, std::string_view engine) {
  const std::vector<int> release = numbers_of_release(record.version);
  if (release.empty() && record.phase == "serving" && record.batch) return engine;
  for (const EngineRelease& row : engine_releases())
    if (row.engine == engine && (row.before.empty() || (!record.word_pool && release < numbers_of_release(row.before))))
      return row.row;
  return engine;
}

Expected<const Engine*> engine_of(const InferenceRecord& record) {
  const std::string name = lower_case(record.engine);
  for (const EngineName& row : engine_names)
    if (name == row.name) return find_row(built_in().engines, std::string(row_of_record(record, row.engine)), "engine");
  return fail("software", fmt::format("no engine '{:.60}'", record.engine), "stepcast list engines");
}

Expected<run::Chosen<Machine>> machine_of(const InferenceRecord& record) {
  for (const GpuName& row : gpu_names)
    if (record.gpu == row.name) return run::choose_machine(row.machine, "hardware");
  // Records of one's own name a machine of the catalogue.
  for (const Machine& row : built_in().machines)
    if (record.gpu == row.id) return run::choose_machine(row.id, "hardware");
  return fail("hardware", fmt::format("no GPU '{:.60}'", record.gpu), "stepcast list gpus");
}

/// Number types as records say them, by how they begin; the rest says which part of a checkpoint is meant.
struct TypeName {
  const char* begins;
  const char* type;
};
constexpr TypeName type_names[] = {{"bf16 (", "bf16"}, {"fp16/bf16", "bf16"}, {"mxfp4", "mxfp4"},
    {"fp8 (moe fp8-block)", "fp8-block"}, {"int4 weight-only", "int4"}};

std::string type_of(const std::string& said) {
  for (const TypeName& row : type_names)
    if (said.starts_with(row.begins)) return row.type;
  return said;
}

/// "fp8" of a checkpoint that has it in blocks of 128 alone is of blocks (DeepSeek-V3's, MiniMax-M2's and Qwen's FP8
/// config.json, weight_block_size).
std::string weights_of(const InferenceRecord& record) {
  const std::string type = type_of(record.weights), native = checkpoint_of(record.model).weights;
  const bool native_tells = (type == "fp8" && native == "fp8-block") || (type == "int4" && native == "int4-experts");
  return native_tells ? native : type;
}

Engine as_noted(Engine engine, const InferenceRecord& record) {
  if (record.noted.cache_share) engine.cache_share = *record.noted.cache_share;
  return engine;
}

/// Where nobody tells it. Engines of TensorRT-LLM that are built in fp8 keep such a cache (examples/quantization), and
/// so do NVIDIA's checkpoints in nvfp4 (hf_quant_config.json, kv_cache_quant_algo). Others have a cache as wide as
/// activations, whatever their weights are, unless the checkpoint brings scales for it (vllm-project/vllm
/// utils/torch_utils.py, resolve_kv_cache_dtype_string).
bool keeps_narrow_cache(const InferenceRecord& record, const std::string& weights, const std::string& kernels) {
  if (weights == "nvfp4") return true;
  return record.weights == "fp8" && (kernels == "trtllm" || checkpoint_of(record.model).cache == "fp8");
}

Expected<Serving> serving_of_record(const InferenceRecord& record, const RecordWishes& wanted) {
  const Engine* engine = wanted.engine;
  if (engine == nullptr) {
    TRY(engine, engine_of(record));
  }
  TRY(auto machine, machine_of(record));
  TRY(auto network, run::choose_network(record.model, "model"));
  ServingWishes wishes;
  wishes.tp = record.tp, wishes.pp = record.pp, wishes.attention_dp = std::max<std::int64_t>(1, record.attention_dp);
  if (network.row.experts.count > 0) {
    wishes.ep = std::max<std::int64_t>(1, record.ep);
    if (record.noted.tp_of_groups) wishes.ep = wishes.attention_dp *= wishes.tp, wishes.tp = 1;
    // Kernels that send rows to experts have whole ones on every rank: SGLang sets the one by the other
    // (sgl-project/sglang server_args.py, moe_a2a_backend), and records that do not say it have 1.
    const bool rows = engine->exchange == ExpertExchange::rows && wishes.attention_dp > 1;
    if (rows && wishes.ep == 1) wishes.ep = wishes.tp * wishes.attention_dp;
  }
  const BenchmarkSettings settings = settings_of(record);
  if (settings.columns == RankColumns::whole_experts) wishes.tp = wishes.ep = wishes.ep > 1 ? wishes.ep : wishes.tp;
  if (settings.columns == RankColumns::one_group) wishes.attention_dp = 1, wishes.ep = wishes.ep > 1 ? wishes.tp : 1;
  if (settings.columns == RankColumns::own_sequences) wishes.attention_dp = wishes.ep = wishes.tp, wishes.tp = 1;
  wishes.weights = weights_of(record);
  wishes.cache = record.cache.empty() ? settings.cache : record.cache.starts_with("fp8") ? "fp8" : record.cache;
  if (wishes.cache.empty() && keeps_narrow_cache(record, wishes.weights, engine->kernels)) wishes.cache = "fp8";
  if (record.nodes > 1) return fail("hardware", "an engine on several nodes", "one node");
  Engine row = as_usual(as_noted(*engine, record), machine.row.gpu, {wishes.tp, wishes.attention_dp});
  return serving_of(wishes, std::move(network), std::move(machine), row, wanted.profile);
}

}  // namespace

InferenceRecord split_as(InferenceRecord record, const RecordPool& pool) {
  record.tp = pool.tp, record.pp = pool.pp, record.ep = pool.ep, record.attention_dp = pool.attention_dp;
  return record;
}

/// All that serving_of_record() looks at.
std::string plan_of(const InferenceRecord& r) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", r.model, r.gpu, r.engine, r.version, r.phase,
      r.batch.has_value(), r.weights, r.cache, r.tp, r.pp, r.ep, r.attention_dp, r.nodes, r.noted.tp_of_groups,
      r.noted.cache_share.value_or(0), r.noted.padded_graphs);
}

Expected<ServedTimes*> LastPlan::of(const InferenceRecord& record, const RecordWishes& wishes) {
  std::string plan = plan_of(record);
  if (times_ && plan == plan_) return times_.get();
  times_.reset();
  TRY(auto serving, serving_of_record(record, wishes));
  serving_ = std::make_unique<Serving>(std::move(serving));
  times_ = std::make_unique<ServedTimes>(*serving_);
  plan_ = std::move(plan);
  return times_.get();
}

}  // namespace stepcast::infer
