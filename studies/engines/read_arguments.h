// Reads the words of an engine's line, and the file that they name, as its program's parser does.
#pragma once

#include "studies/engines/engine_line.h"
#include "studies/engines/said_arguments.h"
#include "studies/launch/limits/named_file.h"

namespace stepcast::engines {

/// Words as the program's parser takes them: "--name value", "--name=value", "--no-name", lists, JSON. Its file is read
/// too, one that the script writes or that lies in `folders`. Errors: files that may not be opened, or are no
/// configuration; a value that is missing.
Expected<SaidArguments> said_arguments(const EngineLine& line, const launch::LaunchFolders& folders);

}  // namespace stepcast::engines
