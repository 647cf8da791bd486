// Encoders of images in front of the text part of a Hugging Face config, with what takes their patches to the text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/base/json_reader.h"
#include "model/network/network.h"

namespace stepcast::detail {

/// The encoder that `vision_config` describes, for no images yet. Nothing where there is none or its class is not
/// known. `unknown`: keys of it that may change its layers, so that it can be counted but not be forecast.
/// `unread`: weights of the file that nobody reads (layers behind the one whose features the text gets).
std::optional<NetworkSpec> image_encoder(JsonObject& file, const std::string& family, const NetworkSpec& text,
    std::vector<std::string>& unknown, std::int64_t& unread);

/// Do positions of an image, in front of a causal text of this family, see each other?
bool images_see_themselves(const std::string& family, JsonObject& text);

/// Parameters of the encoder and of what takes its patches to the text.
std::vector<NetworkPart> parts_of(const NetworkSpec& encoder);

}  // namespace stepcast::detail
