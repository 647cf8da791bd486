// Tables of kernels that no law is fitted on.
#pragma once

#include <cstddef>
#include <string>

namespace stepcast::calibrate {

/// A table of too few shapes.
struct LeftOutTable {
  std::string gpu, subject, engine, release;  ///< subject: the function of a scan, or the part of hyper-connections
  std::size_t rows = 0, shapes = 0;
};

}  // namespace stepcast::calibrate
