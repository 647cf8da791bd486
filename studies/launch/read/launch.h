// A launch as somebody wrote it: a script, a command line or a configuration file. It is read and taken apart, but has
// no meaning yet. Nothing of it is ever run.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "calibrate/import/scripts/launch_arguments.h"
#include "model/base/error.h"
#include "studies/launch/facts/framework.h"

namespace stepcast {

/// Where the words behind -- stand.
constexpr const char* words_alone = "command line";

/// Can what was read set variables for the program? Words alone and files of arguments cannot.
bool has_surroundings(const std::string& where);

struct Launch {
  const Framework* framework = nullptr;
  std::string where;                       ///< the file, or words_alone
  std::string release;                     ///< id of a release of the framework's table; "" = the newest that knows the arguments
  std::vector<GivenArgument> arguments;    ///< in their order; the last of a name counts, as argparse has it
  ArgumentMap environment;                 ///< set in the script or in front of the command
  std::int64_t gpus = 0, gpus_per_node = 0, logged_batch = 0;   ///< as the launcher, or a log, says; 0 = not said
  std::string device;                      ///< the GPU's name where a log prints it
  std::vector<std::string> notes;          ///< what was chosen or left out in reading

  /// The one that counts; null where it was not given.
  [[nodiscard]] const GivenArgument* find(std::string_view name) const;
  /// Is it that one? `given` is of `arguments`.
  [[nodiscard]] bool counts(const GivenArgument& given) const { return find(given.name) == &given; }
};

/// What the command line says about a launch.
struct LaunchSource {
  const LaunchFlag* flag = nullptr;
  std::string file;                              ///< "--": the words
  std::vector<std::string> words;                ///< behind --; over the file's where there is one
  std::map<std::string, std::string> defined;    ///< --define NAME=VALUE
  std::string release;                           ///< --release
};

/// Files that the launch names (arguments in YAML or JSON, a configuration) are read beside it where they are there; a note says
/// which are not. Errors: unreadable file, unbalanced quotes, no launch in it, several that differ, an unknown release, a file that
/// is no configuration of this framework; all with the line.
Expected<Launch> read_launch(const LaunchSource& source);
/// Reads the launch in a text at hand; no other file is read.
Expected<Launch> read_launch_text(const std::string& text, const std::string& where, const LaunchSource& source);

/// The same without one argument, so that the framework's own default holds.
Launch without(Launch launch, std::string_view name);

}  // namespace stepcast
