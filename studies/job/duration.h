// Times of a job as people say them: from milliseconds to years.
#pragma once

#include <string>

#include "model/base/namespaces.h"
#include "model/base/units.h"

namespace stepcast::job {

/// "30.0 s", "13.6 min", "3.09 h", "88.9 d".
std::string duration_text(Seconds time);

}  // namespace stepcast::job
