// A GPU as a JSON object: a catalogue file of its own, or inside a machine file.
#pragma once

#include "model/base/json_reader.h"
#include "model/base/json_writer.h"
#include "model/machine/machine.h"

namespace stepcast {

Gpu read_gpu_object(JsonObject& object);
/// The fields of the object that is open.
void write_gpu_fields(JsonWriter& json, const Gpu& gpu);

}  // namespace stepcast
