// Which measurements a law is fitted on, and which are held out.
#pragma once

#include <cstddef>

namespace stepcast::calibrate {

/// A fixed, even split into about `folds` parts: which fold sample `index` falls in. Neighbours in a table (the next
/// size of one shape) fall into different folds.
std::size_t fold_of(std::size_t index, std::size_t folds);

}  // namespace stepcast::calibrate
