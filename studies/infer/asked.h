// What a command line asks of an engine, and the answer: a phase forecast, and the memory that it needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/cli/arguments.h"
#include "studies/infer/batching/swapping.h"
#include "studies/infer/phases.h"

namespace stepcast::infer {

struct Asked {
  ServingWishes wishes;
  std::string phase;
  std::int64_t prompt = 0, cached = 0, output = 0, context = 0, batch = 1;
  Guesses guesses;
};

/// What flags say of the machine, the engine and its split.
ServingWishes engine_wishes(const Arguments& arguments);
/// Words that are guessed before each iteration, and into `guesses` how many are right. Errors: one without the other.
Expected<std::int64_t> guesses_of(const Arguments& arguments, Guesses& guesses);
/// --preemption and --swap-space.
Expected<void> check_preemption(const std::string& text, const std::string& where);
Expected<void> check_swap_space(const std::string& text, const std::string& where);
Expected<void> read_swapping(const Arguments& arguments, BatchingWishes& wishes);
/// Errors: a way of exchanging what the split has no exchange of. `typed`: those of the command line, without what a
/// launch says.
Expected<void> check_ways(const Arguments& arguments, const Arguments& typed);
/// Errors, with the same `typed`: flags that miss what their phase needs, and
/// such as it does not use.
Expected<Asked> asked_of(const Arguments& arguments, const Arguments& typed);

struct Answer {
  Serving serving;
  Capacity room;
  Phase phase;
  std::vector<std::string> warnings;  ///< of the launch that was read
};
/// The phase alone, of a serving whose cache holds it.
Phase phase_of(const Serving& serving, const Asked& asked);
/// Positions of a sequence at its end.
std::int64_t length_of(const Asked& asked);
/// What the cache holds of each: a decode step puts the key of its own token behind the context, and reads it.
std::int64_t held_of(const Asked& asked);
/// Errors: those of serving_of(), more positions than the network has, and what the cache cannot hold, with the most
/// that it can.
Expected<Answer> answer_to(const Asked& asked);

/// Positions that are read, or words that are said.
double words_of(const Asked& asked, const Phase& phase);
/// A second, on each GPU.
double words_per_gpu(const Asked& asked, const Answer& answer);
/// A second, of one user, while words are said; nullopt: none are.
std::optional<double> words_per_user(const Asked& asked, const Phase& phase);

}  // namespace stepcast::infer
