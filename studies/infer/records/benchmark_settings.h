// What a benchmark sets for every run, and its records leave out: InferenceX's scripts, GenAI-Perf's prompts, what
// trtllm-bench makes of the memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "studies/infer/records/record.h"
#include "studies/infer/served_load.h"

namespace stepcast::infer {

/// How columns that count ranks are meant.
enum class RankColumns : std::uint8_t {
  as_said,
  whole_experts,  ///< each of tp ranks has whole experts: ep is tp, or both are what is said of ep
  one_group,      ///< of tp ranks, which share the experts if any number of ranks does
  own_sequences,  ///< of tp ranks each has sequences of its own, and whole experts
};

struct BenchmarkSettings {
  std::string cache;  ///< "": not said
  std::optional<std::int64_t> most_positions;
  RankColumns columns = RankColumns::as_said;
  bool mixed = false;  ///< prompts and words share iterations, whatever the engine does by itself
};
BenchmarkSettings settings_of(const InferenceRecord& record);

/// The run guessed tokens, which the record leaves out.
bool guesses_unsaid(const InferenceRecord& record);

/// Lengths are uniform from this share of the nominal one.
double shortest_share(const InferenceRecord& record);
/// Unlike prompts, which come again and again; nullopt: none does.
std::optional<std::int64_t> repeated_prompts(const InferenceRecord& record);

/// Limits that trtllm-bench derives from memory and lengths, where nobody says them.
BatchingWishes trtllm_bench_limits(const Serving& serving, double prompt, double output);
/// Sequences of the graphs that it replays, where a record says that they are padded; else none.
std::vector<std::int64_t> trtllm_bench_graphs(const InferenceRecord& record, std::int64_t most_sequences);

}  // namespace stepcast::infer
