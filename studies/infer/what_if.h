// One thing of an inference question changed at a time: a rate of the machine, what the host costs, the split, the
// batch, a number type, the engine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "studies/cli/console.h"
#include "studies/infer/asked.h"
#include "studies/whatif/machine_levers.h"

namespace stepcast::infer {

/// What a change comes to.
struct ChangedAnswer {
  std::string change;  ///< "hbm 2x", "tp 4", "--kv fp8"
  Seconds time;
  double words_per_gpu = 0;              ///< a second
  std::optional<double> words_per_user;  ///< a second; nullopt: none are said
  std::int64_t sequences = 0;            ///< that the cache holds
};
struct RefusedChange {
  std::string change, reason;
};

struct WhatIf {
  ChangedAnswer as_asked;
  std::vector<ChangedAnswer> changes;  ///< the largest effect on words per GPU first
  std::vector<std::string> idle;       ///< changes of the machine that change nothing
  std::vector<RefusedChange> refused;
};

/// On a machine one rate or delay of which is so many times what it was, with the laws that were fitted on it.
Serving with_lever(Serving serving, const whatif::MachineLever& lever, double times);

/// Rates twice as high and delays half as long, with the laws that were fitted on them; neighbours of the split and the
/// batch by factors of two; narrower number types; other engines of today. Each is forecast anew.
WhatIf what_if(const Asked& asked, const Answer& answer);

std::string what_if_text(const WhatIf& study, const Console& console);
std::string what_if_json(const WhatIf& study);

}  // namespace stepcast::infer
