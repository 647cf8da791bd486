#include "studies/infer/start_rules.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

#include "studies/run/nouns.h"
#include "studies/run/split/split.h"

namespace stepcast::infer {
namespace {

/// What engines refuse when they start, by the beginnings of their ids.
struct EngineRule {
  std::string_view engines;
  bool whole_key_heads;  ///< tp divides the key heads, or they divide tp
  bool whole_blocks;     ///< a rank's width of a product in blocks of fp8 is one of whole blocks
  bool longest_fits;     ///< the cache holds one request of the longest that it is told to take
  bool copies_groups;    ///< each rank has a copy of the one group of heads that a state-space layer has
  bool fills_to_64;      ///< the vocabulary is filled up to whole runs of 64 rows, whatever tp is, which tp divides
};
// vLLM: model_executor/models/llama.py, "assert self.total_num_kv_heads % tp_size == 0" (issues 5951, 16021), and
// quantization/utils/fp8_utils.py, validate_fp8_block_shape (issues 17569, 25292). SGLang: srt/models/llama.py and
// srt/layers/quantization/fp8_utils.py, the same. TensorRT-LLM: _torch/models/modeling_utils.py, duplicate_kv_weight;
// of its blocks nothing is known. vLLM: v1/core/kv_cache_utils.py, check_enough_kv_cache_memory ("larger than the
// available KV cache memory"; before, "larger than the maximum number of tokens that can be stored in KV cache"). The
// others take shorter ones then: SGLang's srt/managers/scheduler.py, max_req_len; TensorRT-LLM's
// _torch/pyexecutor/_util.py. Groups: vLLM model_executor/layers/mamba/mamba_mixer2.py, "n_groups % tp_size == 0 or
// n_groups == 1", and SGLang srt/layers/attention/mamba/mamba.py, the same; TensorRT-LLM
// _torch/modules/mamba/mamba2_mixer.py splits groups alone. Vocabularies: vLLM
// model_executor/layers/vocab_parallel_embedding.py fills up to DEFAULT_VOCAB_PADDING_SIZE (64), then
// "divide(self.num_embeddings_padded, self.tp_size)", which asserts; SGLang srt/layers/vocab_parallel_embedding.py, the
// same on GPUs. TensorRT-LLM fills up to a row a rank (_torch/modules/embedding.py, padding_size).
constexpr EngineRule engine_rules[] = {{"vllm", true, true, true, true, true},
    {"sglang", true, true, false, true, true}, {"tensorrt-llm", true, false, false, false, false}};

/// nullptr: an engine of one's own, or one whose rules nobody told.
const EngineRule* rule_of(const Engine& engine) {
  const auto row =
      std::ranges::find_if(engine_rules, [&](const EngineRule& rule) { return engine.id.starts_with(rule.engines); });
  return row == std::end(engine_rules) ? nullptr : row;
}

bool whole_heads(std::int64_t heads, std::int64_t tp) { return heads >= tp ? heads % tp == 0 : tp % heads == 0; }

constexpr std::int64_t vocabulary_run = 64;  // rows

std::int64_t filled_to(std::int64_t rows, std::int64_t step) { return (rows + step - 1) / step * step; }

/// Does the engine start on so many ranks, as far as its table of words goes?
bool splits_vocabulary(const NetworkSpec& network, std::int64_t ways, const EngineRule* rule) {
  return rule == nullptr || !rule->fills_to_64 || filled_to(network.vocab, vocabulary_run) % ways == 0;
}

/// Key heads of all its attention layers; latents have none.
std::vector<std::int64_t> key_heads(const NetworkSpec& network) {
  std::vector<std::int64_t> heads;
  if (network.latent.kv_rank == 0 && network.kv_heads > 0) heads.push_back(network.kv_heads);
  for (const LayerShape& shape : network.shapes)
    if (shape.kv_heads > 0) heads.push_back(shape.kv_heads);
  return heads;
}

}  // namespace

Expected<void> check_key_heads(const NetworkSpec& network, std::int64_t tp, const Engine& engine) {
  const EngineRule* rule = rule_of(engine);
  if (rule == nullptr || !rule->whole_key_heads) return {};
  const auto heads = key_heads(network);
  const auto fits = [&](std::int64_t ways) {
    return std::ranges::all_of(heads, [&](std::int64_t some) { return whole_heads(some, ways); });
  };
  if (network.heads % tp != 0 || fits(tp)) return {};  // heads that tp does not divide are told below
  std::vector<std::int64_t> legal = run::divisors(network.heads);
  std::erase_if(legal, [&](std::int64_t ways) { return !fits(ways) || !splits_vocabulary(network, ways, rule); });
  const auto unfit = std::ranges::find_if(heads, [&](std::int64_t some) { return !whole_heads(some, tp); });
  return fail("--tp",
      fmt::format(
          "{} key heads on {} ranks, neither of which divides the other: {} does not start", *unfit, tp, engine.name),
      fmt::format("legal tp: {}", run::nearest_values(legal, tp)));
}

bool copies_groups(const Engine& engine) {
  const EngineRule* rule = rule_of(engine);
  return rule != nullptr && rule->copies_groups;
}

Expected<void> check_blocks(
    const run::Scenario& scenario, bool experts_apart, std::int64_t groups, const Engine& engine) {
  constexpr std::int64_t block = 128;
  const EngineRule* rule = rule_of(engine);
  if (rule == nullptr || !rule->whole_blocks || !scenario.split) return {};
  const run::Split& s = *scenario.split;
  const NetworkSpec& n = scenario.network.row;
  const bool experts = n.experts.count > 0, dense = !experts || n.experts.dense_layers > 0;
  // Ranks with tokens of their own may have shared experts whole.
  const bool shared = experts && n.experts.shared_ffn_hidden > 0 && groups == 1;
  struct Width {
    const char* of;
    bool there;
    std::int64_t all, ways;
  };
  for (const Width& width : {Width{"experts", experts && !experts_apart, n.experts.ffn_hidden, s.etp},
           Width{"shared experts", shared, n.experts.shared_ffn_hidden, s.tp},
           Width{"the MLP", dense, n.ffn_hidden, s.tp}}) {
    if (!width.there || width.ways == 1 || width.all % (block * width.ways) == 0) continue;
    std::vector<std::int64_t> legal = run::divisors(width.all);
    std::erase_if(legal, [&](std::int64_t ways) { return width.all % (block * ways) != 0; });
    return fail("--tp",
        fmt::format("{} of {} in {} parts of {}, no multiple of the {} of an fp8 block: {} does not start", width.of,
            width.all, width.ways, width.all / width.ways, block, engine.name),
        legal.empty() ? "weights of another type"
                      : fmt::format("one of {} parts{}", run::nearest_values(legal, width.ways),
                            width.all == n.experts.ffn_hidden && experts ? ", by --ep too" : ""));
  }
  return {};
}

Expected<void> check_longest(std::int64_t longest, std::int64_t holds, const Engine& engine) {
  const EngineRule* rule = rule_of(engine);
  if (rule == nullptr || !rule->longest_fits || longest <= holds) return {};
  return fail("--max-model-len",
      fmt::format("{} positions, and the cache holds {}: {} does not start", longest, holds, engine.name),
      fmt::format("--max-model-len {} at most, more GPUs, narrower weights or cache, or a larger "
                  "--gpu-memory-utilization",
          holds));
}

Expected<void> check_positions(const SequencePositions& positions, const Engine& engine, const char* flag) {
  if (rule_of(engine) == nullptr) return {};
  const auto& [length, longest, network, added] = positions;
  if (longest > 0 && length > longest)
    return fail(flag, fmt::format("{} positions, and the launch has its engine take {}", length, longest),
        fmt::format("at most {}, or a longer --max-model-len, --context-length or --max_seq_len", longest - added));
  if (longest > 0 || network == 0 || length <= network) return {};
  return fail(flag,
      fmt::format("{} positions, and the network has {}: {} takes no longer requests", length, network, engine.name),
      fmt::format("at most {}, or a config.json whose rope_scaling stretches them", network - added));
}

/// Of engines that fill up as tp wants it, and of those that nobody knows: whole runs of 64 rows that tp divides, which
/// are fewer than 64 rows a rank more than TensorRT-LLM has.
Expected<void> fill_vocabulary(
    NetworkSpec& network, std::int64_t tp, const Engine& engine, std::vector<std::string>& assumptions) {
  if (tp <= 1 || network.vocab == 0) return {};
  const EngineRule* rule = rule_of(engine);
  const bool heads_fit = network.heads % tp == 0;  // else they are told of first
  if (heads_fit && !splits_vocabulary(network, tp, rule)) {
    const std::int64_t filled = filled_to(network.vocab, vocabulary_run);
    std::vector<std::int64_t> legal = run::divisors(network.heads > 0 ? network.heads : filled);
    std::erase_if(legal, [&](std::int64_t ways) { return filled % ways != 0; });
    return fail("--tp",
        fmt::format(
            "{} rows of the vocabulary, filled up to {}, on {} ranks, which do not divide them: {} does not start",
            network.vocab, filled, tp, engine.name),
        fmt::format("legal tp: {}", run::nearest_values(legal, tp)));
  }
  if (network.vocab % tp == 0) return {};
  const std::int64_t filled = filled_to(network.vocab, std::lcm(vocabulary_run, tp));
  assumptions.push_back(
      fmt::format("vocabulary of {} rows is filled up to {}, which {} ranks split", network.vocab, filled, tp));
  network.vocab = filled;
  return {};
}

std::vector<std::string> doubled_key_heads(const NetworkSpec& network, std::int64_t tp, const Engine& engine) {
  if (rule_of(engine) != nullptr) return {};
  for (const std::int64_t heads : key_heads(network))
    if (!whole_heads(heads, tp))
      return {fmt::format("{} key heads on {} ranks: each has {} of them, and several the same", heads, tp,
          heads / std::gcd(heads, tp))};
  return {};
}

}  // namespace stepcast::infer
