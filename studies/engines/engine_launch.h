// A launch of a serving engine: the command that starts it, the benchmark that loads it, and what of both is not
// understood. True or refused: what may change the forecast and is not followed is an error.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/engine.h"
#include "studies/engines/bench_load.h"
#include "studies/engines/pools/pools.h"
#include "studies/engines/settings.h"

namespace stepcast::engines {

struct EngineLaunchSource {
  std::string file;                ///< "run.sh", "run.sh:12" for the command of that line; "--": `words`
  std::vector<std::string> words;  ///< behind --
  std::map<std::string, std::string> defined;
  std::vector<std::string> folders;  ///< whose files it may open, beside its own
};

/// The pool that reads and says, or one that says the tokens of prompts that others read.
struct EngineLaunch : EnginePool {
  std::optional<EnginePool> prompts;
  std::optional<SaidArguments> bench;    ///< another command that loads it; a server that loads itself has none
  std::optional<MadeRequests> made;      ///< that a command beside them writes, for a benchmark that reads a file
  std::optional<BenchLoad> load;         ///< what the file of both pools says of it
  std::vector<std::string> load_doubts;  ///< whether `bench` loads these engines
  std::string unlike_gpus;               ///< the pools ask for unlike ones; "": they do not
};

/// Errors: no such command, or several that differ, with their lines; files that may not be opened. `doubts` and
/// `notes` are of both pools.
Expected<EngineLaunch> read_engine_launch(const EngineLaunchSource& source);

/// Does a command of it start an engine, or load one? What cannot be read may.
bool has_engine(const EngineLaunchSource& source);

/// What of an argument counts.
enum class Standing : unsigned char { used, no_effect, beside, not_forecast, refused, unknown };
Standing standing_of(const SaidArguments& said, const GivenArgument& given);

/// Warnings. Errors: arguments that nobody knows, and those that ask for what no forecast follows; with `lenient` they
/// are warnings too.
Expected<std::vector<std::string>> understood(const EngineLaunch& launch, bool lenient);

struct AskedEngine {
  std::map<std::string, std::string, std::less<>> flags;  ///< of serve: "--tp" -> "8"
  std::string network;
  Engine row;                        ///< the engine's with what the launch changes
  bool of_told_row = false;          ///< it is the one of --engine, which is of the launch's engine
  std::vector<std::string> changed;  ///< of the row, in words
  std::optional<Engine> prompt_row;  ///< of engines of their own that read prompts
  std::vector<std::string> prompt_changed;
  bool longest_fits = false;   ///< requests are as long as the cache holds, up to the network's positions
  std::int64_t longest = 0;    ///< positions of the longest request that it is told to take; 0: it is not told
  std::int64_t positions = 0;  ///< that its checkpoint has; 0: not told, or the launch stretches them
  std::vector<std::string> notes, warnings;
  std::string other_gpus;  ///< one of the warnings: the launch is for other GPUs; "": it is for these, or does not say
};
/// What the command that reads a launch knows.
struct LaunchUse {
  bool guesses = false;  ///< words that are guessed
  bool load = true;      ///< requests: else a benchmark beside the server says nothing here
  bool lenient = false;
};
/// `told`: flags of the command line, which go over the launch; `network`: its word, "" = the launch names it.
/// Errors: a network that nobody knows, number types that nobody tells, guesses that the command does not know,
/// requests longer than the engine takes, a number of engines that nobody tells.
Expected<AskedEngine> asked_engine(EngineLaunch& launch, const std::map<std::string, std::string, std::less<>>& told,
    const std::string& network, const LaunchUse& use);

}  // namespace stepcast::engines
