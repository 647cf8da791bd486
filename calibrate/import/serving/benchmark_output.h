// What benchmarks of serving engines write: bench serve of vLLM and sglang.bench_serving (JSON, or one object a line),
// reports of trtllm-bench (JSON), GenAI-Perf and AIPerf (JSON and CSV). Figures are means unless their name has a
// percentile; lengths are means over requests.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/base/namespaces.h"

namespace stepcast::calibrate {

struct BenchmarkOutput {
  std::string tool;  ///< "vllm bench", "sglang bench", "trtllm-bench", "genai-perf", "aiperf"
  std::string model, date;
  std::string engine;          ///< where the tool is an engine's own; "": it can load any
  std::string weights, cache;  ///< number types as written; "": not said
  std::optional<std::int64_t> tp, pp, ep, gpus, most_sequences, most_positions;
  std::optional<std::int64_t> concurrency, requests;
  std::optional<double> rate;           ///< requests a second; nothing: all at once, or so many users
  std::optional<double> input, output;  ///< positions of a prompt, words of an answer
  /// "ttft_ms", "tpot_ms", "itl_ms", "e2e_ms", "output_tokens_per_s", "requests_per_s", and "ttft_p99_ms" and so on
  std::map<std::string, double> measured;
  std::vector<std::string> notes;
};

}  // namespace stepcast::calibrate
