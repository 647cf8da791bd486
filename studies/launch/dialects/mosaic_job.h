// MosaicML's job files (mosaicml/llm-foundry mcli/): what is under `parameters:` is handed to the command, as a file of
// its own.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "studies/launch/facts/launch.h"

namespace stepcast::launch {

/// The parsed keys decide, as line ends, comments and the order of the sections vary.
bool is_mosaic_job(const std::vector<GivenArgument>& read);
bool is_mosaic_text(std::string_view text, const std::string& where);

/// Leaves its parameters, with what its command and `words` say over them, and the GPUs. Error: the command runs
/// another file, or what it says hangs on the shell.
Expected<void> open_mosaic_job(Launch& launch, std::span<const GivenArgument> words);

}  // namespace stepcast::launch
