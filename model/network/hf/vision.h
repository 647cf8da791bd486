// Parameters of image encoders and projectors that have a layer which is none of our forms.
#pragma once

#include <string>
#include <vector>

#include "model/base/json_reader.h"
#include "model/network/network.h"

namespace stepcast::detail {

/// Of the parts beside `text_config` that are known for this family: "vision", "projector". Empty where none is there
/// or none is known; the file's own list of parts says that it is left out. So does a note where their config lacks
/// what their class must have. `seen`: vision_config is described, and not counted again.
std::vector<NetworkPart> other_parts(
    JsonObject& file, const std::string& family, const NetworkSpec& text, bool seen, std::vector<std::string>& notes);

}  // namespace stepcast::detail
