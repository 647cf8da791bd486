// This room sees the names of the rooms below it, as model/base/namespaces.h has it for the others.
#pragma once

#include "model/base/namespaces.h"

namespace stepcast::job {}
namespace stepcast::mixed {}

namespace stepcast::fleet {
using namespace predict;
using namespace job;
using namespace mixed;
}  // namespace stepcast::fleet
