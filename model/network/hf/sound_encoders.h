// Encoders of sound in front of the text part of a Hugging Face config, with what takes their frames to the text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/base/json_reader.h"
#include "model/network/network.h"

namespace stepcast::detail {

/// The encoder that `audio_config` describes, for no clips yet. Nothing where there is none or its class is not known.
/// `unknown`: keys of it that may change its layers. `unread`: weights of the file that nobody reads.
std::optional<NetworkSpec> sound_encoder(JsonObject& file, const std::string& family, const NetworkSpec& text,
    std::vector<std::string>& unknown, std::int64_t& unread);

}  // namespace stepcast::detail
