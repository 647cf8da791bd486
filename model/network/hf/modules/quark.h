// Internal to hf: what a quantization_config of AMD's Quark says, which has words of its own.
#pragma once

#include "model/base/json_reader.h"
#include "model/network/hf/modules/stored_form.h"

namespace stepcast::detail {

/// Its form, where all products have it.
void take_quark(JsonObject& config, Said& said);
/// Bits of the floats that keys and values are kept in; 0: it says none.
std::int64_t quark_cache_bits(JsonObject& config);

}  // namespace stepcast::detail
