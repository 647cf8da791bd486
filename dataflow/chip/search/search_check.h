// What a partial mapping must obey before a search makes sense.
#pragma once

#include <vector>

#include "dataflow/chip/search/search_problem.h"

namespace stepcast::dataflow::mapper {

/// Errors: two loops over one dim at one level; a factor that does not divide what is left of its dim; more parts than
/// units; a dim that nothing is left open for; stated tiles that do not fit a stated keep list.
Expected<void> check_constraints(const ChipProgram& start, const SearchConstraints& constraints);

/// By dim: the extent, or the next one that stated ragged factors divide.
std::vector<std::int64_t> stated_extents(const ChipProgram& start, const SearchConstraints& constraints);

}  // namespace stepcast::dataflow::mapper
