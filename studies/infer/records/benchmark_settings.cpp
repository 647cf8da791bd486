#include "studies/infer/records/benchmark_settings.h"

#include <algorithm>
#include <cmath>

#include "model/base/text.h"
#include "studies/engines/habits.h"

namespace stepcast::infer {
namespace {

bool has(const std::string& text, const char* words) { return text.find(words) != std::string::npos; }

/// InferenceX makes lengths from 0.8 of the nominal one (utils/bench_serving); records of it say so, or come from files
/// whose times are those of its records to all digits.
constexpr const char* uniform_lengths = "[0.8 L, L]";
constexpr const char* uniform_files[] = {"kimi-k2.5-gap-analysis.csv", "qwen3.5-397b-gap-analysis.csv"};
constexpr double uniform_share = 0.8;

bool of_inference_x(const InferenceRecord& record) {
  return has(record.dataset, uniform_lengths) ||
         std::ranges::any_of(uniform_files, [&](const char* file) { return has(record.upstream, file); });
}

/// Its scripts by engine, model, GPU and the type of weights, each as a name begins or holds it
/// (SemiAnalysisAI/InferenceX ebb48d4, benchmarks/single_node). The first row that fits counts. Rows of B200 are those
/// of GB200 too, whose recipes have the same caches.
struct Script {
  const char *engine, *model, *gpu, *weights;
  const char* cache;
  std::int64_t most_positions;  ///< 0: the engine's
  RankColumns columns = RankColumns::as_said;
  std::int64_t least_ranks = 0;  ///< in the column of tensor ranks
  bool one_pool = false;         ///< columns of pools are as said: their recipes are others
};
constexpr Script scripts[] = {
    // dsr1_fp4_b200.sh; .github/configs/nvidia-master.yaml has "tp: 4, ep: 4" and "tp: 8, ep: 8" alone, since 2025-11
    {"sglang", "DeepSeek-R1", "B200", "nvfp4", "fp8", 16'384, RankColumns::whole_experts, 0, true},
    {"sglang", "DeepSeek-R1", "B200", "fp8", "fp8", 32'768},  // dsr1_fp8_b200.sh
    {"sglang", "DeepSeek-R1", "H200", "fp8", "", 32'768},     // dsr1_fp8_h200.sh
    {"sglang", "Qwen3.5", "B200", "fp8", "fp8", 32'768},      // qwen3.5_fp8_b200.sh
    {"trtllm", "gpt-oss", "B200", "", "fp8", 20'000},         // gptoss_fp4_b200_trt.sh
    // gptoss_fp4_h200_trt.sh; .github/configs/nvidia-master.yaml: "For all sequence lengths, EP=TP"
    {"trtllm", "gpt-oss", "H200", "", "", 20'000, RankColumns::whole_experts},
    {"vllm", "gpt-oss", "B200", "", "fp8", 0},  // gptoss_fp4_b200.sh
    // minimaxm2.5_fp8_b200.sh: a cache as the checkpoint says, which has no scales for one; no groups: records of two
    // have the times of one on two GPUs to three digits
    {"vllm", "MiniMax", "B200", "fp8", "bf16", 0, RankColumns::one_group},
    // Of the recipes that it runs on GB200 those with 16 ranks that say words are all dep16, those with 4 tep4
    // (NVIDIA/srt-slurm fd250ac, recipes/vllm/kimi-k2.5)
    {"vllm", "Kimi-K2.5", "GB200", "nvfp4", "", 0, RankColumns::own_sequences, 16},
};

/// AIConfigurator measures what it generates: an iteration has room for one prompt and so many positions, and for the
/// users' words beside them (ai-dynamo/aiconfigurator 095f58a, generator/rule_plugin/benchmark: agg max_num_tokens of
/// trtllm.rule and vllm.rule, max_prefill_tokens of sglang.rule). Its SGLang has prompts and words in one iteration
/// (enable_mixed_chunk, in its rules since 07a3779 of 2026-01, which first measured this release).
constexpr const char* configurator_series = "aic-auto-gap-analysis/data/";
constexpr std::int64_t beside_prompt = 1500;
struct GeneratedEngine {
  const char* engine;
  const char* from;  ///< release
  bool words_beside = true, mixed = false;
};
constexpr GeneratedEngine generated[] = {{"trtllm", ""}, {"vllm", ""}, {"sglang", "0.5.6", false, true}};

std::optional<BenchmarkSettings> of_configurator(const InferenceRecord& record) {
  if (!has(record.upstream, configurator_series) || !record.concurrency || !record.prompt) return {};
  for (const GeneratedEngine& row : generated) {
    if (lower_case(record.engine) != row.engine || numbers_of_release(record.version) < numbers_of_release(row.from))
      continue;
    BenchmarkSettings out;
    out.most_positions = *record.prompt + beside_prompt + (row.words_beside ? *record.concurrency : 0);
    out.mixed = row.mixed;
    return out;
  }
  return {};
}

/// Runs that guess tokens, of which files leave that out. InferenceX ran Qwen3.5 in fp8 on four B200 without whole
/// experts for its key qwen3.5-fp8-b200-sglang-mtp alone, added by 35d4bb3 at 22:08:19 UTC on 2026-03-20: records of
/// 22:08:23 have its image and its numbers of users, and the first file repeats their times to all digits.
struct GuessingRun {
  const char *upstream, *model, *engine;
  std::int64_t tp, ep;
};
constexpr GuessingRun guessing_runs[] = {
    {"qwen3.5-397b-gap-analysis.csv", "Qwen3.5", "sglang", 4, 1}, {"measured=2026-03-20", "Qwen3.5", "sglang", 4, 1}};

/// GenAI-Perf and AIPerf make 100 prompts and send them again and again (triton-inference-server/perf_analyzer,
/// genai-perf, --num-dataset-entries), and engines keep what they read unless they are told not to. Series of
/// measurements whose prompts come too soon to be read each time: on one H200, 64 users of 2,000 + 100 positions have
/// an iteration each 9.7 ms, in which products at the GPU's peak take 9.2 ms and the cache at the memory's 1.8 ms; on
/// two H100, 48 prompts of 4,000 positions that come together wait 1.6 s in the mean at the peak, each ten requests
/// 0.16 s, and then take 65 ms, and first words are measured after 0.18 s.
constexpr std::int64_t prompts_of_genai_perf = 100;
constexpr const char* repeating_series[] = {"h200_sxm/vllm/0.12.0/nvidia_Llama-3.1-8B-Instruct-FP8.csv", "gtl_job_id="};

}  // namespace

BenchmarkSettings settings_of(const InferenceRecord& record) {
  if (auto generated = of_configurator(record)) return *generated;
  if (!of_inference_x(record)) return {};
  for (const Script& row : scripts)
    if (lower_case(record.engine) == row.engine && has(record.model, row.model) && has(record.gpu, row.gpu) &&
        record.weights.starts_with(row.weights) && record.tp >= row.least_ranks) {
      const bool other = row.one_pool && record.word_pool;
      BenchmarkSettings out{row.cache, {}, other ? RankColumns::as_said : row.columns};
      if (row.most_positions > 0) out.most_positions = row.most_positions;
      return out;
    }
  return {};
}

bool guesses_unsaid(const InferenceRecord& record) {
  return std::ranges::any_of(guessing_runs, [&](const GuessingRun& run) {
    return has(record.upstream, run.upstream) && has(record.model, run.model) &&
           lower_case(record.engine) == run.engine && record.tp == run.tp && record.ep == run.ep;
  });
}

double shortest_share(const InferenceRecord& record) { return of_inference_x(record) ? uniform_share : 1; }

std::optional<std::int64_t> repeated_prompts(const InferenceRecord& record) {
  const bool repeats =
      std::ranges::any_of(repeating_series, [&](const char* series) { return has(record.upstream, series); });
  return repeats ? std::optional(prompts_of_genai_perf) : std::nullopt;
}

/// As many sequences as the cache of all GPUs holds, but 4,096 at most, and their positions with those of prompts
/// beside them; both rounded up (NVIDIA/TensorRT-LLM tensorrt_llm/bench/build/tuning.py, calc_engine_setting and
/// finetune_setting). A prompt that goes whole has room beside all sequences (bench/benchmark/utils/general.py).
BatchingWishes trtllm_bench_limits(const Serving& serving, double prompt, double output) {
  constexpr double most = 4096, least = 64, most_positions = 32'768, least_positions = 2048;
  const auto groups = static_cast<double>(serving.attention_groups()), stages = static_cast<double>(serving.stages);
  const double free = serving.machine().gpu.memory.value() - serving.weight_bytes();
  const double held = groups * std::max(0.0, free) * serving.engine.cache_share / serving.cache_bytes(prompt + output);
  const double sequences = std::min(held, most) / stages;
  const double positions = std::min(sequences * (1 + prompt / output), most_positions);
  const auto up = [](double value, double step) { return static_cast<std::int64_t>(step * std::ceil(value / step)); };
  BatchingWishes out;
  out.most_sequences = sequences < 256    ? std::max(static_cast<std::int64_t>(least), up(sequences, 32))
                       : sequences < 1024 ? up(sequences, 128)
                                          : up(sequences, 256);
  out.most_positions = positions < 4096   ? std::max(static_cast<std::int64_t>(least_positions), up(positions, 256))
                       : positions < 8192 ? up(positions, 512)
                                          : up(positions, 1024);
  if (serving.engine.whole_prompts)
    out.most_positions =
        std::max(*out.most_positions, static_cast<std::int64_t>(std::llround(prompt)) + *out.most_sequences);
  return out;
}

/// The sizes in llm_options.yml of the measured tables; what is larger than all sequences becomes as large as they are
/// (NVIDIA/TensorRT-LLM 00f3768, docs/source/performance/perf-overview.md; _torch/pyexecutor/model_engine.py,
/// _filter_cuda_graph_batch_sizes).
std::vector<std::int64_t> trtllm_bench_graphs(const InferenceRecord& record, std::int64_t most_sequences) {
  constexpr std::int64_t sizes[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 384, 512, 1024, 2048, 4096, 8192};
  std::vector<std::int64_t> out;
  if (!record.noted.padded_graphs) return out;
  for (const std::int64_t size : sizes) {
    out.push_back(std::min(size, most_sequences));
    if (size >= most_sequences) break;
  }
  return out;
}

}  // namespace stepcast::infer
