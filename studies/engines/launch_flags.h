// --launch of the commands that ask an engine: what it takes, and the command line with what the launch says put in.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "studies/cli/arguments.h"
#include "studies/engines/engine_launch.h"

namespace stepcast::engines {

/// --launch, --define, --files-from, --lenient.
std::vector<Flag> engine_launch_flags();

/// Does what --launch names start an engine, or load one? A launch that cannot be read may.
Expected<bool> starts_engine(const Arguments& arguments);

/// Nothing where no launch is given. Errors: --define and its kin without one.
Expected<std::optional<EngineLaunchSource>> engine_launch_source(const Arguments& arguments);

struct LaunchedArguments {
  Arguments arguments;                    ///< with the flags that the launch comes to
  std::optional<Engine> row;              ///< nothing where no launch is given
  std::optional<Engine> prompt_row;       ///< of engines of their own that read prompts
  bool longest_fits = false;              ///< or it takes those that its cache holds
  std::int64_t longest = 0;               ///< positions of the longest request that the launch takes; 0: it is not told
  std::optional<std::int64_t> positions;  ///< that its checkpoint has, 0: not told; nothing where no launch is given
  bool changes_engine = false;            ///< it says more of the engine than flags can
  std::vector<std::string> warnings, notes;
  std::string other_gpus;  ///< one of the warnings: the launch is for other GPUs
};
/// An error of a question that a launch asks: other GPUs than the launch's may be why.
Error of_launch(Error error, const LaunchedArguments& launched);
/// `flags`: of the command; what it has no flag for is left out. A --engine that is typed goes over the launch's row.
Expected<LaunchedArguments> with_launch(const Arguments& arguments, std::span<const Flag> flags);

/// The flags that are typed and ask something: without those of the launch itself and of how the answer is shown.
std::map<std::string, std::string, std::less<>> told_flags(const Arguments& arguments);

/// "stepcast serve llama3-70b --tp 8 ...": the command line that a launch comes to.
std::string shown_command(const std::string& command, const AskedEngine& asked);

}  // namespace stepcast::engines
