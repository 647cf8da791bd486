// The placements of a program in one of the languages.
#pragma once

#include <string>

#include "dataflow/translate/cluster/placements.h"

namespace stepcast::dataflow::placement_tests {

template <std::string (*Text)(const PlacementView&)> Expected<std::string> written(const MappingProgram& program) {
  return placement_view(program).map(Text);
}
inline constexpr auto write_dtensor = written<dtensor_text>;
inline constexpr auto write_jax = written<jax_text>;
inline constexpr auto write_shardy = written<shardy_text>;

}  // namespace stepcast::dataflow::placement_tests
