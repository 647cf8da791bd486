// Serving engines as data: what is captured in graphs, which kernels run, what the host costs, how memory is dealt out.
// One JSON row per engine and span of releases.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "model/base/large_value.h"
#include "model/base/units.h"
#include "model/profile/profile.h"
#include "model/split_function.h"
#include "model/stack.h"

namespace stepcast {

/// How tokens come to experts on ranks that have other sequences.
enum class ExpertExchange : std::uint8_t {
  rows,    ///< all-to-all of the rows that each expert takes, and back (DeepEP)
  gather,  ///< every rank sees all tokens, and what its experts made is summed back
};

/// Of what the cache gets its share.
enum class CacheRule : std::uint8_t {
  of_total,  ///< share x device memory, less weights, activations and what stands outside (vLLM, SGLang)
  of_free,   ///< share x what is free behind weights and activations (TensorRT-LLM)
};

/// Which of an engine's stages take one of the layers that are left when all have as many as can be.
enum class UnevenStages : std::uint8_t {
  refused,      ///< nobody knows a rule: the stages must divide the layers
  last,         ///< the last takes all of them
  before_last,  ///< those in front of the last, backwards
  last_ones,    ///< as many of the last
  first_ones,   ///< as many of the first
};

/// When the keys of sequences that give way are kept in the host's memory, and not read again.
enum class SwapsWhen : std::uint8_t {
  never,
  asked,     ///< where a launch asks for it
  decoding,  ///< in pools that decode what others have read, always
};

/// 7.3 of 7.7 TB/s on B200 (vLLM's blog of 2026-04-22).
inline constexpr double usual_cache_rate = 0.95;

struct Engine {
  LARGE_VALUE(Engine);
  std::string id, name, source, from, until;  ///< months "2024-07" of its releases; until "" = today
  std::vector<std::string> aliases;           ///< names in records
  std::string kernels;                        ///< whose kernels the laws are of: "vllm", "trtllm", "sglang"
  std::string measured_kernels;               ///< whose stand in where its own were not timed on a GPU; "" = anybody's
  bool nccl_alone = false;                ///< NCCL reduces few bytes too; else its kernels do, or those that stand in
  std::vector<std::string> fused;         ///< kernel groups that run as one, as in Stack
  std::vector<SplitFunction> one_by_one;  ///< as in Stack
  double attention_rate = 1;              ///< of the law's over whole sequences, by older kernels
  double cache_rate = usual_cache_rate;   ///< of the memory's, the most at which keys are read that no L2 holds
  /// Words over a cache in fp8: queries become fp8 and keys are multiplied as they are, so that they take as long as
  /// over as many bytes in bf16 (NVIDIA/TensorRT-LLM 014dadc, cpp/kernels/xqa/mha_sm90.cu, MathElem).
  bool multiplies_fp8_keys = false;
  bool captured = false;           ///< iterations of running sequences are replayed from CUDA graphs
  std::int64_t most_captured = 0;  ///< of at most so many sequences
  /// What measured iterations say, on GPUs of an architecture ("hopper"; "" = of all others) with products in a number
  /// type ("fp8"; "" = in all others). At most three of the figures are fitted; the others are 1 or 0.
  struct Tuning {
    std::string architecture, products_in;
    /// whose kernels reduce there, where they are not its own: "trtllm"; its own count where nobody timed those
    std::string all_reduce;
    double kernels = 1;   ///< its kernels' time over the laws'
    double products = 1;  ///< of products, the time of their FLOPs over the law's, beside that
    /// of experts' products, their time over the law's, beside both: grouped kernels of engines differ by a factor of
    /// 2. Below 1 of what the law has beyond the roof: 0 is at the datasheet's rates
    double experts = 1;
    /// of each call of experts' products, what stands in front of them: sorting rows by their experts, kernels that
    /// dequantise and begin late
    Seconds expert_start;
    /// of the keys that kernels of 2023 and 2024 read for each query head by itself, the share that no cache holds
    double keys_read_again = 0;
    /// of the memory's rate, the most at which a cache in fp8 is read by kernels that dequantise it; 0: as `cache_rate`
    double fp8_cache_rate = 0;
    double beyond_profiled =
        1;                    ///< of moves in iterations of more than `profiled_positions`, their time over the laws'
    Seconds host_per_launch;  ///< of what is not captured
    Seconds host_per_iteration, host_per_sequence;
    std::vector<std::string> fitted;  ///< names of the figures above that were: at most three
    Spread spread{0.6, 1.7};  ///< measured over forecast iterations, 10th and 90th percentile, each network left out
    /// where the figures were fitted on one network alone: its id, and the spread of its own records
    std::string network;
    Spread of_network{0.6, 1.7};
    [[nodiscard]] const Spread& spread_of(std::string_view id) const {
      return !network.empty() && id == network ? of_network : spread;
    }
  };
  std::vector<Tuning> tunings;
  /// kernels that split the keys of a sequence, and share them among query heads, run up to so many sequences x heads
  /// (vllm-project/vllm 0.4, attention/ops/paged_attn.py, use_v1: 512); 0: never
  double splits_keys_below = 0;
  bool host_beside = false;       ///< the host prepares the next iteration while the GPU works
  bool launches_in_turn = false;  ///< launches of what no graph holds add to the GPU's time; else the longer counts
  std::int64_t most_positions = 8192;  ///< that one iteration takes of prompts
  /// of the longest iteration that it tried before it gave the cache the rest of the memory; 0: none is longer.
  /// Measured prompts of vLLM of 2023 take a leap there (Patel et al. 2024, arXiv 2311.18677, section IV, insight III:
  /// beyond 2,048 positions the throughput of prompts falls); why is not known. What it adds grows with the ranks and
  /// the width as what all-reduces carry does, and not with what is multiplied: it counts for moves alone.
  std::int64_t profiled_positions = 0;
  // How requests share iterations, as sim/serving/batching.h has it.
  std::int64_t most_sequences = 256;  ///< that run at once
  bool prompts_apart = false;         ///< iterations of prompts alone, before those of words; else both in one
  bool whole_prompts = false;         ///< a prompt is read in one iteration; else in pieces, if need be
  bool reserves_all = false;          ///< a request is let in when the cache has room for all that it will say
  struct Swapping {
    SwapsWhen when = SwapsWhen::never;
    Bytes space;               ///< of the host for each GPU, where nothing is said; 0: as much as it has
    bool reads_again = false;  ///< those that it has no room for; else the engine stops there
    /// the host takes so long to start a copy, of a block's keys or values of one layer; 0: bytes alone take time
    Seconds per_copy;
    double spare = 0;  ///< share of the cache that stays free when a sequence comes back
  };
  Swapping swapping;
  /// an iteration is planned while the one before it runs, without the requests that come meanwhile
  bool plans_ahead = false;
  /// the host's loop over the sequences of an iteration: where it plans ahead, beside the GPU, and with the launches of
  /// what no graph holds an iteration is no shorter; else before it
  Seconds loop_per_sequence;
  double host_pace = 0;  ///< of its loop and launches, their time over that on x86 servers; 0: as the host is
  [[nodiscard]] double pace() const { return host_pace > 0 ? host_pace : 1; }
  Seconds host_per_request;  ///< before it waits for an iteration: text to tokens, the way to the scheduler
  ExpertExchange exchange = ExpertExchange::gather;
  UnevenStages uneven_stages = UnevenStages::refused;
  /// every token takes the same experts, as with made-up weights: its static batches of 16 sequences of Mixtral take as
  /// long as those of one
  bool same_experts = false;
  bool ends_at_positions = false;  ///< a sequence ends where the network's positions do
  std::int64_t cache_block = 16;   ///< positions that the cache is dealt out in
  /// Layers have the network's windows where a launch says so, and see all positions else: TensorRT-LLM's engines of
  /// plans, whose attention has a window by max_attention_window_size alone (NVIDIA/TensorRT-LLM 5a211b9,
  /// docs/source/advanced/gpt-attention.md, "Sliding Window Attention").
  bool windows_when_said = false;
  /// Queries see the blocks of keys that means of keys pick, where the network has them; else they see all keys.
  bool picks_by_means = false;
  bool keeps_windows = false;  ///< the cache keeps keys that no window reaches any more
  /// But of these families of networks, whose layers with windows have a pool of their own, of so much of the positions
  /// that the other layers have room for, however long the window is.
  struct WindowPool {
    std::vector<std::string> families;
    double share = 1;
  };
  std::vector<WindowPool> window_pools;
  [[nodiscard]] const WindowPool* window_pool(const std::string& family) const;  ///< nullptr: it has none
  /// families of latent attention that it runs with keys and values of each head
  std::vector<std::string> expands_latents;
  CacheRule cache_rule = CacheRule::of_total;
  double cache_share = 0.9;
  /// activations of an iteration of prompts: 2 bytes x positions x hidden x these, on 1, 2, 4, and 8 or more tensor
  /// ranks, without experts and with them
  /// (ai-dynamo/aiconfigurator 095f58a, backends, _get_memory_usage; SGLang's are 1.3 times as wide)
  std::vector<double> activation_widths, expert_activation_widths;
  Bytes reserved;  ///< workspace, graphs, NCCL: outside weights, activations and cache
};

Expected<Engine> read_engine(const std::string& text, const std::string& where);
std::string write_engine(const Engine& engine);

/// Layers of each stage, as the engine deals them out unless told. Empty: it has no rule for those that are left.
std::vector<std::int64_t> layers_of_stages(const Engine& engine, std::int64_t layers, std::int64_t stages);

struct ActivationShape {
  double positions = 0, hidden = 0;
  std::int64_t tensor_ranks = 1;
  bool experts = false;
};
/// By the rule of `activation_widths`.
Bytes activations_of(const Engine& engine, const ActivationShape& shape);

/// A figure of a tuning that may be fitted, and where it is looked for.
struct TuningFigure {
  std::string_view name;
  double low, high;  ///< base units
  bool seconds;      ///< else a factor or a share
  double (*get)(const Engine::Tuning&);
  void (*put)(Engine::Tuning&, double);
};
std::span<const TuningFigure> tuning_figures();
const TuningFigure* find_figure(std::string_view name);  ///< nullptr: no such

/// Of that architecture and number type, else of the architecture, else of all others; never null in a row that was
/// read.
const Engine::Tuning* find_tuning(
    const Engine& engine, const std::string& architecture, const std::string& products_in);

/// What a Program of an iteration is lowered for: the engine's fused kernels, nothing of training.
Stack lowered_for(const Engine& engine);

}  // namespace stepcast
