// Reads a launch: a script, a command line or a configuration file. Nothing of it is ever run.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/launch/facts/launch.h"

namespace stepcast::launch {

/// Can what was read set variables for the program? Words alone and files of arguments cannot.
bool has_surroundings(const std::string& where);

/// What the command line says about a launch.
struct LaunchSource {
  const LaunchFlag* flag = nullptr;
  std::string file;                            ///< "--": the words
  std::vector<std::string> words;              ///< behind --; over the file's where there is one
  std::map<std::string, std::string> defined;  ///< --define NAME=VALUE
  std::string release;                         ///< --release
  std::vector<std::string> folders;            ///< --files-from: files in them may be read too
  std::set<FieldId> told;                      ///< by flags beside it
};

/// Files that the launch names (arguments in YAML or JSON, a configuration) are read beside it where they are there; a
/// note says which are not. Errors: unreadable file, unbalanced quotes, no launch in it, several that differ, an
/// unknown release, a file that is no configuration of this framework; all with the line.
Expected<Launch> read_launch(const LaunchSource& source);
/// Reads the launch in a text at hand; no other file is read.
Expected<Launch> read_launch_text(const std::string& text, const std::string& where, const LaunchSource& source);

}  // namespace stepcast::launch
