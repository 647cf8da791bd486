// Reads the words of an engine's line, and the file that they name, as its program's parser does.
#pragma once

#include "studies/engines/line/engine_line.h"
#include "studies/engines/said_arguments.h"
#include "studies/launch/limits/named_file.h"

namespace stepcast::engines {

/// Words as the program's parser takes them: "--name value", "--name=value", "--no-name", lists, JSON. Its file is read
/// too, one that the script writes or that lies in `folders`. Errors: files that may not be opened, or are no
/// configuration; a value that is missing.
Expected<SaidArguments> said_arguments(const EngineLine& line, const launch::LaunchFolders& folders);

/// The text of a file that a line names, which the script writes or which lies in `folders`, and its path. Errors: it
/// is not there, or may not be opened.
struct NamedText {
  std::string path, text;
};
Expected<NamedText> text_of_named(
    const EngineLine& line, const launch::LaunchFolders& folders, const std::string& name, const std::string& spelled);

}  // namespace stepcast::engines
