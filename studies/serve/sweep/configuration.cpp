#include "studies/serve/sweep/configuration.h"

#include <fmt/format.h>

#include "studies/cli/shell_word.h"
#include "studies/serve/serve.h"

namespace stepcast::serve::sweeping {

std::string serve_line(const Asked& asked, const Configuration& c, double load) {
  std::string line = "stepcast serve " + shell_word(asked.network);
  const auto say = [&](const char* flag, const std::string& value) {
    if (!value.empty()) line += fmt::format(" {} {}", flag, shell_word(value));
  };
  const auto count = [&](const char* flag, std::int64_t value, std::int64_t usual) {
    if (value != usual) line += fmt::format(" {} {}", flag, value);
  };
  say("--machine", c.machine), say("--engine", c.engine), say("--profile", asked.profile);
  say("--weights", c.weights), say("--kv", c.cache), say("--products", asked.products);
  say("--exchange", asked.exchange);
  count("--gpus", c.gpus - (c.prompts ? c.prompts->gpus() : 0), 1), count("--tp", c.tp, 0), count("--pp", c.pp, 1);
  count("--node-gpus", asked.node_gpus, 0), count("--ep", c.ep, 1), count("--dp-attention", c.attention_dp, 1),
      count("--replicas", c.replicas, 1);
  count("--most-sequences", c.most_sequences, 0), count("--most-positions", c.most_positions, 0);
  if (const auto& swaps = asked.batching.swaps) say("--preemption", *swaps ? "swap" : "recompute");
  say("--swap-space", asked.swap_space);
  if (c.prompts) {
    if (c.prompts->machine != c.machine) say("--prefill-machine", machine_name(c.prompts->machine));
    count("--prefill-gpus", c.prompts->gpus(), 0), count("--prefill-replicas", c.prompts->replicas, 1);
    count("--prefill-tp", c.prompts->tp, 0), count("--prefill-ep", c.prompts->ep, 1);
    count("--prefill-dp-attention", c.prompts->attention_dp, 1);
    count("--prefill-node-gpus", asked.prefill_node_gpus, 0);
    count("--prefill-most-sequences", c.prompts->most_sequences, 0);
    count("--prefill-most-positions", c.prompts->most_positions, 0);
  }
  count("--input", asked.law.prompts.high, 0), count("--output", asked.law.outputs.high, 0);
  if (asked.shortest != 1) line += fmt::format(" --shortest {}", asked.shortest);
  count("--shared", asked.law.shared, 0), count("--seed", static_cast<std::int64_t>(asked.law.seed), 0);
  // More than serve takes are fewer of each.
  const double usual = asked.closed ? load * requests_of_user : static_cast<double>(c.replicas * requests_of_replica);
  if (usual > static_cast<double>(most_requests)) count("--requests", most_requests, 0);
  line += fmt::format(" {} {}", asked.closed ? "--concurrency" : "--rate", load);
  // Rows are of the steady part: all users start at once, and what that does is not counted.
  if (asked.closed && load >= 1 && load < static_cast<double>(most_requests))
    count("--warm-up", static_cast<std::int64_t>(load), 0);
  say("--slo", asked.slo);
  return line;
}

}  // namespace stepcast::serve::sweeping
