// A GPU as a JSON object: a catalogue file of its own, or inside a machine file.
#pragma once

#include "model/base/row_text.h"
#include "model/machine/machine.h"

namespace stepcast {

Gpu read_gpu_object(const JsonObject& object);
/// The fields of the object that is open.
void write_gpu_fields(RowWriter& json, const Gpu& gpu);

}  // namespace stepcast
