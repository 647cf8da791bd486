// Beside which projections the adapters of a launch stand: programs name them in words of their own, and each has some
// where it is not told.
#pragma once

#include <string>

#include "studies/launch/dialects/dialect_words.h"

namespace stepcast::launch {

/// Puts Launch::adapted where adapters are trained and no flag tells it; notes say what the program has where it is not
/// told, and which adapters are not forecast. Errors: a module that is not known, layers that are picked, or nothing
/// told where the program has no default, or one that hangs on a network that is not known.
Expected<void> settle_adapters(DialectWords& words);

}  // namespace stepcast::launch
