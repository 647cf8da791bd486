// This room sees the names of the rooms below it, as model/base/namespaces.h has it for the others.
#pragma once

#include "model/base/namespaces.h"

namespace stepcast::mixed {
using namespace whatif;
}
