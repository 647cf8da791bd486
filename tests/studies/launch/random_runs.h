// Random runs that are legal, for what has to hold of all: networks of the catalogue, splits, batches, number types,
// overlaps.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "model/catalog.h"
#include "studies/run/forecast.h"
#include "studies/run/scenario.h"

namespace stepcast::launch {

class RandomRuns {
 public:
  RandomRuns(unsigned seed, std::vector<std::string> networks, std::string stack)
      : random_(seed), networks_(std::move(networks)), stack_(std::move(stack)) {}

  /// Resolved, or nothing where what came up is not legal.
  std::optional<Scenario> next() {
    Request request;
    const std::string network = any(networks_);
    request.network = *choose_network(network, "");
    request.machine = *choose_machine("dgx-h100", "");
    request.stack = *choose_stack(stack_, "");
    const auto put = [&](const char* key, std::string text) { (void)request.say(key, std::move(text), key); };
    const std::int64_t tp = any<std::int64_t>({1, 1, 2, 4, 8}), cp = any<std::int64_t>({1, 1, 1, 2, 4}),
                       pp = any<std::int64_t>({1, 1, 2, 4, 8});
    const std::int64_t dp = any<std::int64_t>({1, 2, 4, 8, 16}), micro = any<std::int64_t>({1, 1, 2});
    const std::int64_t chunks = pp > 1 ? any<std::int64_t>({1, 1, 2}) : 1;
    put("tp", std::to_string(tp)), put("cp", std::to_string(cp)), put("pp", std::to_string(pp));
    put("chunks", std::to_string(chunks)), put("gpus", std::to_string(tp * cp * pp * dp));
    put("micro_batch", std::to_string(micro));
    put("global_batch", std::to_string(micro * dp * pp * any<std::int64_t>({1, 2, 4, 8})));
    put("zero", any<std::string>({"0", "1", "1", "2", "3"}));
    put("dp_replicate", std::to_string(any<std::int64_t>({1, 1, 1, 2, 4})));
    put("precision", any<std::string>({"bf16", "bf16", "fp16", "fp8"}));
    put("recompute", any<std::string>({"none", "none", "selective", "full", "full:1", "full:2"}));
    if (coin()) put("sequence", any<std::string>({"2048", "4096", "8192"}));
    if (coin()) put("sp", any<std::string>({"on", "off"}));
    if (coin()) put("cp_kind", any<std::string>({"ring", "gather", "ulysses"}));
    if (coin()) put("order", any<std::string>({"tp-cp-dp-pp", "tp-cp-pp-dp"}));
    if (pp > 1 && chunks == 1 && coin()) put("schedule", any<std::string>({"1f1b", "gpipe", "zb-h1", "zb-v"}));
    if (coin()) put("dp_overlap", any<std::string>({"on", "off"}));
    if (coin()) put("tp_overlap", any<std::string>({"on", "off"}));
    if (request.network->row.experts.count > 0)
      put("ep", any<std::string>({"1", "2", "4", "8"})), put("etp", any<std::string>({"1", "1", "2"}));
    auto scenario = complete(request);
    return scenario ? std::optional(std::move(*scenario)) : std::nullopt;
  }

  /// Several tries, so that there is one.
  Scenario legal() {
    for (;;)
      if (auto run = next()) return std::move(*run);
  }

 private:
  template <typename Value> Value any(const std::vector<Value>& values) {
    return values[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random_)];
  }
  bool coin() { return any<int>({0, 1}) == 1; }

  std::mt19937 random_;
  std::vector<std::string> networks_;
  std::string stack_;
};

}  // namespace stepcast::launch
