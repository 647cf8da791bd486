// Recipes of srt-slurm that share a base in one file: NVIDIA/srt-slurm, docs/overrides.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/config/config_text.h"

namespace stepcast::engines {

/// The arguments of a file; of one whose recipes share a base those of the recipe that `variant` names as srtctl does:
/// "base", "override_NAME", "zip_override_NAME[2]". Errors: a text that is no configuration, several recipes of which
/// none is named, one that the file does not have, lists of a zip that differ in length.
Expected<std::vector<GivenArgument>> recipe_arguments(
    const std::string& text, const std::string& where, std::string_view variant = "");

/// Without the names of base and overrides in front: by which sections a file is recognised.
std::vector<GivenArgument> without_variants(std::vector<GivenArgument> all);

}  // namespace stepcast::engines
