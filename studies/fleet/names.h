// This room sees the names of the rooms below it, as model/base/namespaces.h has it for the others.
#pragma once

#include "studies/job/names.h"
#include "studies/mixed/names.h"

namespace stepcast::fleet {
using namespace job;
using namespace mixed;
}  // namespace stepcast::fleet
