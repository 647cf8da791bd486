// SGLang: python/sglang/srt/server_args.py. Tensor ranks are all ranks of a stage; with enable_dp_attention they hold
// data_parallel_size groups of attention, between which chunked_prefill_size and max_running_requests are divided; else
// data ranks are copies of the engine.
#include <algorithm>

#include <fmt/format.h>

#include "model/base/text.h"
#include "studies/engines/settings.h"

namespace stepcast::engines {
namespace {

Expected<void> read_sglang_split(SaidArguments& said, EngineSettings& out) {
  TRY(out.tp, size_of(said, "tensor_parallel_size"));
  TRY(out.pp, size_of(said, "pipeline_parallel_size"));
  TRY(const auto data, size_of(said, "data_parallel_size"));
  TRY(const auto groups, said.flag("enable_dp_attention"));
  const std::int64_t ranks = out.tp;
  if (groups.value_or(false)) {
    // server_args.py: releases of 2024 made one group of each rank, later ones none where data_parallel_size is 1
    if (said.find("data_parallel_size") == nullptr && ranks > 1)
      return fail(place_of_argument(said, *said.find("enable_dp_attention")),
          "how many groups of attention there are is not told, and releases differ: one of each rank, or none",
          fmt::format("--dp-size {}, or no --enable-dp-attention", ranks));
    if (ranks % data != 0)
      return fail(place_of_argument(said, *said.find("data_parallel_size")),
          fmt::format("{} groups of attention on {} tensor ranks", data, ranks), "a divisor of the tensor ranks");
    out.groups = data, out.tp = ranks / data;
  } else {
    out.copies = data;
  }
  TRY(const auto over, said.count("expert_parallel_size"));
  if (over) out.experts_over = *over;
  TRY(const auto whole, said.flag("enable_ep_moe"));
  TRY(const auto deepep, said.flag("enable_deepep_moe"));
  const std::string way = lower_case(said.text("moe_a2a_backend").value_or("none"));
  const bool rows = deepep.value_or(false) || way != "none";
  // _handle_a2a_moe: ep_size = tp_size with any of them.
  if (whole.value_or(false) || rows) out.experts_over = ranks;
  TRY(const auto copies, said.count("ep_num_redundant_experts"));
  out.spare_experts = copies.value_or(0);
  if (out.groups > 1) out.exchange = rows ? "rows" : "gather";
  else if (rows)
    out.notes.emplace_back(
        "experts get and give their rows by all-reduce: the exchange of ranks of one group is not followed");
  return {};
}

Expected<void> read_sglang_batching(SaidArguments& said, EngineSettings& out) {
  TRY(const auto sequences, said.count("max_running_requests"));
  if (sequences) out.most_sequences = std::max<std::int64_t>(1, *sequences / out.groups);
  TRY(const auto piece, said.count("chunked_prefill_size"));
  TRY(const auto together, said.count("max_prefill_tokens"));
  // python/sglang/srt/managers/schedule_policy.py, PrefillAdder: no further prompt joins those that come to so many
  // positions, cut or not. One that is longer by itself is cut where chunked_prefill_size says.
  out.positions_together = together.value_or(sglang_positions_together);
  if (piece && *piece > 0) out.most_positions = std::max<std::int64_t>(1, *piece / out.groups);
  else if (piece) out.whole_prompts = true, out.most_positions = together.value_or(sglang_positions_together);
  TRY(const auto mixed, said.flag("enable_mixed_chunk"));
  if (mixed && *mixed) out.prompts_apart = false;
  TRY(const auto after, said.flag("disable_overlap_schedule"));
  if (after && *after) out.host_beside = false, out.plans_ahead = false;
  TRY(const auto forgets, said.flag("disable_radix_cache"));
  if (forgets) out.prefixes = !*forgets;
  TRY(out.block, said.count("page_size"));
  TRY(out.longest, said.count("context_length"));
  TRY(out.memory_share, said.number("mem_fraction_static"));
  out.share_holds_weights = true;
  return {};
}

Expected<void> read_sglang_graphs(SaidArguments& said, EngineSettings& out) {
  TRY(const auto none, said.flag("disable_cuda_graph"));
  if (none && *none) out.captured = false;
  TRY(out.most_captured, largest_of(said, "cuda_graph_bs"));
  TRY(const auto most, said.count("cuda_graph_max_bs"));
  if (most) out.most_captured = *most;
  return {};
}

Expected<void> read_sglang_guesses(SaidArguments& said, EngineSettings& out) {
  out.guesser = lower_case(said.text("speculative_algorithm").value_or(""));
  TRY(const auto steps, said.count("speculative_num_steps"));
  TRY(const auto tried, said.count("speculative_num_draft_tokens"));
  TRY(const auto each, said.count("speculative_eagle_topk"));
  said.find("speculative_draft_model_path");
  if (out.guesser.empty() || out.guesser == "none") {
    out.guesser.clear();
    return {};
  }
  out.draft = steps ? *steps : tried ? *tried - 1 : 0;
  if (each && *each > 1)
    out.no_row_of_guesses = Error{place_of_argument(said, *said.find("speculative_eagle_topk")),
        fmt::format("a tree of {} guesses for each token is not forecast", *each), "--speculative-eagle-topk 1"};
  else if (steps && tried && *tried > *steps + 1)
    out.no_row_of_guesses = Error{place_of_argument(said, *said.find("speculative_num_draft_tokens")),
        fmt::format("{} tokens are tried after {} steps, and a tree of guesses is not forecast", *tried, *steps),
        fmt::format("--speculative-eagle-topk 1 with --speculative-num-draft-tokens {}", *steps + 1)};
  return {};
}

}  // namespace

Expected<void> sglang_settings(SaidArguments& said, EngineSettings& out) {
  TRY(read_sglang_split(said, out));
  TRY(read_sglang_batching(said, out));
  TRY(read_sglang_graphs(said, out));
  return read_sglang_guesses(said, out);
}

}  // namespace stepcast::engines
