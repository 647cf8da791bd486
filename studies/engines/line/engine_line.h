// One command that starts a serving engine or a benchmark: found in a shell script, in a container's command line, or
// as words of the command line. Nothing is run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/scripts/launch_line.h"
#include "calibrate/import/shell/words.h"
#include "studies/engines/line/engine_program.h"
#include "studies/engines/line/host_gpus.h"

namespace stepcast::engines {

/// Engines beside each other that anybody starts: more is a slip.
constexpr std::int64_t most_engines = 1'000'000;
/// From 0 to so many; nullopt: another text.
std::optional<std::int64_t> number_of_engines(std::string_view text);

/// Which part an engine has where prompts and tokens have pools of their own.
enum class PoolRole : unsigned char { whole, prompts, tokens };

struct EngineLine {
  const EngineProgram* program = nullptr;
  std::string where;                 ///< the file, or "command line"
  std::size_t line = 0;              ///< of the file, from 1; 0: of no file
  std::vector<ShellWord> words;      ///< behind those that call the program
  std::string before;                ///< the words in front of these: which node, which container
  std::vector<GivenArgument> given;  ///< what a file of both pools says, in place of words
  std::map<std::string, std::string> environment;
  std::vector<ShellFile> files;  ///< that the script writes itself
  std::vector<std::string> notes, unfollowed;
  std::string part;                 ///< of a deployment: "decode"; "": it stands alone
  PoolRole role = PoolRole::whole;  ///< as labels of the deployment or its file have it
  std::int64_t copies = 1;          ///< that the deployment starts
  std::string open_copies;          ///< why it is not known how often it stands; "": it is
  std::string release;              ///< of the engine, as its image tells it: "0.15.0"; "": not told
  std::string precision;            ///< of the checkpoint's weights, as the file has it: "mxfp4"; "": not told
  std::string chip;                 ///< "TPUs" where it starts on accelerators that are no GPUs
  HostGpus host;                    ///< what it is given
  bool holds_all = false;           ///< these are for all ranks of the engine, on any number of machines
  ShellWord output = {};            ///< the file that what it prints goes to; "": none
  bool beside = false;              ///< the script goes on while it runs
  std::size_t waited_at = 0;        ///< the line where the script waits for it; 0: nowhere
  bool on_ray = false;              ///< its script starts Ray, so that its ranks may stand on several machines
};

/// Those of a shell script, a log that shows it, or Markdown with such blocks. Errors: a command that is cut off inside
/// a quote.
Expected<std::vector<EngineLine>> shell_lines(
    const std::string& text, const std::string& where, const std::map<std::string, std::string>& defined);

/// The program that words call, wherever it stands among them (behind env, docker run, mpirun, numactl); `program` is
/// nullptr where they call none.
EngineLine line_of_words(std::vector<ShellWord> words, const std::string& where);

}  // namespace stepcast::engines
