// A measured record of inference as it is written: one phase, one static batch, or a load that was served.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/base/error.h"

namespace stepcast::infer {

/// How one of two pools is split: engines beside each other, and the ranks of each.
struct RecordPool {
  std::int64_t tp = 1, pp = 1, attention_dp = 1, ep = 1, replicas = 1;
};

/// What notes of a source say of its settings, beside its columns.
struct NotedSettings {
  bool tp_of_groups = false;               ///< the column of tensor ranks is that of groups of attention
  std::optional<double> cache_share = {};  ///< of the memory that weights leave
  bool padded_graphs = false;              ///< graphs are captured for batches up to 8,192, and batches padded to them
};
/// Of notes as a source has them; what they do not say stays as it is.
NotedSettings noted_settings(const std::string& notes);

struct InferenceRecord {
  std::string id, judged_as, phase;  ///< phase: "prefill", "decode", "static_batch", ...
  std::string model, gpu, engine, version;
  std::string weights, activations, cache;
  std::string upstream;                ///< where the source has it from: a date of a page
  std::string dataset, mode, guesses;  ///< of the load, as the source says it
  std::string notes;                   ///< of the source, in its words
  NotedSettings noted;                 ///< what they say
  std::int64_t gpus = 1, nodes = 1, tp = 1, pp = 1, ep = 0;
  std::int64_t attention_dp = 1, expert_tp = 1;
  std::optional<RecordPool> prompt_pool, word_pool;  ///< both, where prompts and words have GPUs of their own
  std::optional<std::int64_t> prompt, output, batch, concurrency, requests, most_sequences, most_positions;
  std::optional<double> rate;  ///< requests per second
  std::map<std::string, double> measured;
};

/// Whether a text holds records of inference: an object, a list or lines of them, with a workload.
bool looks_like_inference(const std::string& text);
/// JSON, or JSON lines. Errors: what is no record.
Expected<std::vector<InferenceRecord>> read_inference(const std::string& text, const std::string& where);

}  // namespace stepcast::infer
