// The properties that a level of an arch may have: their names, units and values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dataflow/notation/mapping.h"

namespace stepcast::dataflow {

struct PropertyRow;

/// The row of a property's name, or nullptr.
const PropertyRow* find_property(std::string_view name);

std::vector<std::string> property_names();

/// "cap", "80 GiB" -> its value in base units; the error has no place. `name` is one of property_names().
Expected<ArchLevel::Property> read_property(const std::string& name, const std::string& text);

/// As written, or where a program made the value the shortest text that reads back to it.
std::string property_text(const ArchLevel::Property& property);

}  // namespace stepcast::dataflow
