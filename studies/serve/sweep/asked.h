// What is asked of a sweep of serving: lists of engines, machines, splits and limits, a law of requests, and loads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/serving/requests.h"
#include "studies/cli/arguments.h"
#include "studies/infer/batching/swapping.h"
#include "studies/serve/targets.h"

namespace stepcast::serve::sweeping {

/// "" is the default one.
inline std::string machine_name(const std::string& asked) { return asked.empty() ? "dgx-h100" : asked; }

struct Asked {
  std::string network, profile, products, exchange;
  std::int64_t node_gpus = 0, prefill_node_gpus = 0;  ///< that an engine has of each node; 0: all of them
  std::string swap_space;                             ///< as typed, of `batching`
  std::string slo;                                    ///< `targets` as typed
  std::int64_t positions = 0;                         ///< of the longest request that the network is for; 0: not told
  std::vector<std::string> machines, engines, weights, caches;  ///< "": the default one
  std::vector<std::int64_t> gpus, tp, pp, ep, attention_dp;
  std::vector<std::int64_t> replicas;                        ///< empty: as many as the GPUs are for
  std::vector<std::int64_t> most_sequences, most_positions;  ///< 0: the engine's
  /// Beside them, pools of their own for prompts: where, their splits, how many replicas, and their limits.
  bool pools = false;
  std::vector<std::string> prefill_machines;  ///< empty: where words are said
  std::vector<std::int64_t> prefill_tp, prefill_ep, prefill_attention_dp, prefill_replicas;
  std::vector<std::int64_t> prefill_most_sequences, prefill_most_positions;
  infer::BatchingWishes batching;  ///< how sequences give way, of all engines
  sim::RequestLaw law;
  double shortest = 1;  ///< share of the most: lengths of the law
  bool closed = true;
  std::vector<double> loads;  ///< users, or requests per second, of all GPUs
  std::vector<Target> targets;
  std::map<std::string, double, std::less<>> prices;  ///< US dollars per GPU and hour by machine; "": of all others
  std::int64_t simulated = 0, top = 0;                ///< rows, at most
};

/// "8", "1,2,4", "1..8" (each), "1..64*2" (times 2). Errors: what is no such list, values out of range or twice.
Expected<std::vector<std::int64_t>> read_counts(const std::string& text, const std::string& where);
/// "2.5", or for each machine "dgx-h100=2.5,dgx-b200=4".
Expected<std::map<std::string, double, std::less<>>> read_prices(const std::string& text, const std::string& where);

/// Errors: lengths that are not said, requests of one word, users beside rates, laws of one GPU for pools on several
/// machines, prices of machines that are not asked for, and machines without one where others have one.
Expected<Asked> asked_of(const Arguments& arguments);

}  // namespace stepcast::serve::sweeping
