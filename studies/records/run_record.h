// One measured training run as somebody published it: model, hardware, split, batch, software, and what it took.
// Every field may be absent or null, which means unknown; what is then assumed is said per run (run_scenario.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/base/error.h"

namespace stepcast::records {

using MaybeCount = std::optional<std::int64_t>;
using MaybeNumber = std::optional<double>;
using MaybeText = std::optional<std::string>;
using MaybeFlag = std::optional<bool>;

struct RunExperts {
  std::int64_t count = 0, top_k = 0, ffn_hidden = 0, shared_ffn = 0, dense_layers = 0, every = 1, mtp_layers = 0;
  std::int64_t latent = 0;
  bool padded = false;  ///< tokens cut or padded to capacity factor 1
};

/// Layers of one sublayer each, a letter for each in the words of NetworkSpec::pattern, the modules' behind a /; the
/// sizes of its Mamba-2 mixers.
struct RunHybrid {
  std::string pattern;
  std::int64_t heads = 0, head_dim = 0, state = 0, groups = 0, taps = 0, chunk = 0;
};

struct RunLatent {
  std::int64_t q_rank = 0, kv_rank = 0, nope_dim = 0, rope_dim = 0, value_dim = 0;
};

struct RunModel {
  std::string name;
  MaybeCount layers, hidden, ffn_hidden, heads, kv_heads, head_dim, seq_len, vocab;
  MaybeFlag gated_mlp, tied_embeddings;
  MaybeText attention, arch;
  std::optional<RunExperts> experts;
  std::optional<RunLatent> latent;
  std::optional<RunHybrid> hybrid;
};

struct RunHardware {
  std::string gpu;
  MaybeCount gpus_per_node, nvlink_domain_gpus;
  MaybeText intra_node, inter_node;
  MaybeNumber intra_node_gb_per_s;    ///< per GPU and direction
  MaybeNumber inter_node_gbit_per_s;  ///< per GPU
};

struct RunParallel {
  std::int64_t gpus = 1, tp = 1, pp = 1, dp = 1, cp = 1;  ///< gpus 0: not said
  MaybeCount ep, etp, chunks, zero_stage, shard_group;
  MaybeFlag sequence_parallel;
  MaybeText schedule;
};

/// What ran beside compute, as far as the source says.
struct RunOverlap {
  MaybeFlag dp_grad, dp_param, tp, pp;
};

struct RunMeasured {
  MaybeNumber step_time_s, p10_s, p90_s, tokens_per_s_per_gpu, tflops_per_gpu, peak_memory_gb;
  std::string step_time_source;
  MaybeText peak_memory_kind;
};

struct Run {
  std::string id, kind, quality, source, date;  ///< source: repository, paper or page, with its revision
  RunModel model;
  RunHardware hardware;
  RunParallel parallel;
  MaybeCount micro_batch;
  std::int64_t global_batch = 1;
  MaybeText recompute, precision, software;
  RunOverlap overlap;
  RunMeasured measured;
};

/// A JSON list of records, or an object with one under "runs". Strict: unknown and duplicate keys, wrong types and
/// values out of range are errors; so are two runs of one id.
Expected<std::vector<Run>> read_runs(const std::string& text, const std::string& where);

}  // namespace stepcast::records
