// stepcast explain --launch: every argument of a serving engine's launch, with what the load gains or loses by it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "studies/cli/console.h"
#include "studies/engines/launch_flags.h"
#include "studies/serve/answer.h"

namespace stepcast::serve {

/// What is held against each other.
struct LaunchFigures {
  double words_per_gpu = 0;       ///< a second
  Seconds first_word, per_word;   ///< means; of no use beyond saturation, where waits grow without bound
  double coming = 0, served = 0;  ///< requests a second beyond saturation; 0: all that come are served
  [[nodiscard]] bool beyond_saturation() const { return coming > 0; }
  double cache_positions = 0;  ///< of `cache_gpus`, which have a part of each sequence
  std::int64_t cache_gpus = 1;
  double prompt_positions = 0;  ///< of one that reads prompts for others; 0: none does
};

/// Whose argument it is.
enum class ArgumentOf : unsigned char { engine, prompts, load };

struct ExplainedEngineArgument {
  GivenArgument given;
  ArgumentOf of = ArgumentOf::engine;
  const launch::ArgumentFact* fact = nullptr;  ///< by the name that it counts by; nullptr: nobody knows it
  Standing standing = Standing::unknown;
  bool counts = true;                    ///< else another one of its name comes later
  std::optional<LaunchFigures> without;  ///< the forecast without it
  std::string why_not;                   ///< there is none without it
};

struct ExplainedEngineLaunch {
  std::string program, place;
  std::string prompts;  ///< "2 engines of 1 GPU read prompts" where others say their tokens
  std::string tokens;
  std::vector<std::string> changed, prompt_changed;  ///< of the engines' rows, beside `command`
  std::string command;  ///< of stepcast that asks the same; "" where `refused` says why there is none
  std::string refused;
  std::optional<LaunchFigures> figures;            ///< nothing where the load is not told
  std::vector<ExplainedEngineArgument> arguments;  ///< of the engines, then of the benchmark
  std::vector<std::string> notes;
};

/// Each argument that counts is left out in turn, and the same load is forecast again.
Expected<ExplainedEngineLaunch> explain_engine_launch(const Arguments& arguments);
std::string explained_launch_text(const ExplainedEngineLaunch& explained, const Console& console);
std::string explained_launch_json(const ExplainedEngineLaunch& explained);

/// `explain` of such a launch; of all else notation's.
Expected<void> explain_command(const Arguments& arguments, Console& console);
/// Its flags, with those of loads and engines.
std::span<const Flag> explain_launch_flags(std::span<const Flag> flags);

}  // namespace stepcast::serve
