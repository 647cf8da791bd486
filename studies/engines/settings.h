// What the arguments of an engine's line come to, in words that all engines share. Each engine has a reader of its own,
// since the same size means other things: SGLang's tensor ranks hold its groups of attention, vLLM's data ranks
// multiply them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "studies/engines/said_arguments.h"

namespace stepcast::engines {

struct EngineSettings {
  std::string model;
  bool model_open = false;  ///< its name hangs on what nothing sets
  std::int64_t tp = 1, pp = 1;
  std::int64_t cache_over = 1;               ///< tensor ranks that have parts of a cache in place of copies
  std::vector<std::int64_t> layers;          ///< of each stage; empty: as the engine deals them out
  std::int64_t groups = 1;                   ///< of attention, with sequences of their own
  std::int64_t copies = 1;                   ///< of the whole engine
  bool groups_or_copies = false;             ///< `groups` are copies where the network has no experts (vLLM)
  std::optional<std::int64_t> experts_over;  ///< ranks that whole experts lie on
  std::int64_t spare_experts = 0;            ///< copies of them over all ranks, in each layer
  bool experts_over_all = false;             ///< all of them: tp x groups
  std::string exchange;                      ///< "gather", "rows"; "": the engine's
  std::string dtype, quantization, cache;    ///< as said; "" or "auto": as the checkpoint
  std::optional<std::int64_t> longest;       ///< positions of a request
  bool longest_fits = false;                 ///< as many as the cache holds, up to the network's (vLLM's "auto")
  std::optional<std::int64_t> most_sequences, most_positions;  ///< of one group
  std::optional<std::int64_t> positions_together;  ///< no further prompt joins an iteration with so many of prompts
  std::optional<std::int64_t> block, most_captured;
  std::optional<double> memory_share;
  bool share_holds_weights = false;  ///< the share is of weights and cache alone (SGLang's mem_fraction_static)
  std::optional<bool> captured, prefixes, whole_prompts, prompts_apart, reserves_all, host_beside, plans_ahead;
  std::optional<bool> swaps;               ///< those that give way go to the host's memory
  std::optional<double> swap_space;        ///< GiB of it for each GPU
  std::vector<std::int64_t> windows;       ///< positions that the cache keeps, of layer after layer, repeated
  std::int64_t draft = 0;                  ///< words that are guessed before each iteration
  std::string guesser;                     ///< "mtp", "eagle3", ...; "": nobody guesses
  std::optional<Error> no_row_of_guesses;  ///< it guesses otherwise than one token behind the other: how
  std::vector<std::string> notes;
};

/// SGLang's max_prefill_tokens where nothing is said (python/sglang/srt/server_args.py).
constexpr std::int64_t sglang_positions_together = 16'384;

// By the program's table. Errors: values that no name takes, sizes that do not divide.
Expected<void> vllm_settings(SaidArguments& said, EngineSettings& out);
Expected<void> sglang_settings(SaidArguments& said, EngineSettings& out);
Expected<void> trtllm_settings(SaidArguments& said, EngineSettings& out);
/// The model and its number types, and one of them, by the engine of the program.
Expected<EngineSettings> engine_settings(SaidArguments& said);

/// How vLLM's all2all_backend of that name sends rows: "gather" or "rows". Errors: no such name.
Expected<std::string> vllm_exchange(const std::string& name, const std::string& where);

/// "[1, 2, 4]", "1 2 4" or "1,2,4"; none where it was not given. Errors: other text.
Expected<std::vector<std::int64_t>> whole_numbers_of(SaidArguments& said, const char* name);
/// The largest of them. Nothing where it was not given.
Expected<std::optional<std::int64_t>> largest_of(SaidArguments& said, const char* name);
/// At least 1, 1 where it is not said.
Expected<std::int64_t> size_of(SaidArguments& said, const char* name);

}  // namespace stepcast::engines
