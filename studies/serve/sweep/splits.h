// What lists of a sweep multiply to: kinds of engines, ways to split one, and ways to split one that reads prompts.
#pragma once

#include <string>
#include <vector>

#include "studies/serve/sweep/configuration.h"

namespace stepcast::serve::sweeping {

/// Machine, engine and number types.
template <class Take> void for_each_kind(const Asked& asked, const Take& take) {
  Configuration kind;
  for (const std::string& machine : asked.machines)
    for (const std::string& engine : asked.engines)
      for (const std::string& weights : asked.weights)
        for (const std::string& cache : asked.caches) {
          kind.machine = machine, kind.engine = engine, kind.weights = weights, kind.cache = cache;
          take(kind);
        }
}

/// With limits.
template <class Take> void for_each_split(const Asked& asked, Configuration kind, const Take& take) {
  for (const std::int64_t tp : asked.tp)
    for (const std::int64_t pp : asked.pp)
      for (const std::int64_t dp : asked.attention_dp)
        for (const std::int64_t ep : asked.ep)
          for (const std::int64_t sequences : asked.most_sequences)
            for (const std::int64_t positions : asked.most_positions) {
              kind.tp = tp, kind.pp = pp, kind.attention_dp = dp, kind.ep = ep;
              kind.most_sequences = sequences, kind.most_positions = positions;
              take(kind);
            }
}

/// Beside words on `machine`.
template <class Take> void for_each_prompt_split(const Asked& asked, const std::string& machine, const Take& take) {
  const std::vector<std::string> beside{machine};
  for (const std::string& reads : asked.prefill_machines.empty() ? beside : asked.prefill_machines)
    for (const std::int64_t tp : asked.prefill_tp)
      for (const std::int64_t dp : asked.prefill_attention_dp)
        for (const std::int64_t ep : asked.prefill_ep)
          for (const std::int64_t sequences : asked.prefill_most_sequences)
            for (const std::int64_t positions : asked.prefill_most_positions)
              take(PromptSplit{reads, tp, ep, dp, 1, sequences, positions});
}

}  // namespace stepcast::serve::sweeping
