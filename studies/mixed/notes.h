// What a run on several kinds of machines takes for granted and doubts, gathered over the kinds: each sentence once,
// named by the machines where not all of them say it. The page and the JSON write the same.
#pragma once

#include <string>
#include <vector>

#include "studies/mixed/mixed_step.h"

namespace stepcast::mixed {

/// Something nobody said.
struct MixedDefault {
  Assumption assumption;
  std::string machines;  ///< whose it is; "" = of all
};

struct MixedNotes {
  std::vector<MixedDefault> defaults;  ///< but for profiles: each kind has its own, which `notes` name
  std::vector<std::string> notes, warnings;
  std::vector<std::string> lacking;  ///< warnings of memory
};
MixedNotes notes_of(const MixedRun& run);

/// What a forecast says beside its figures: of its program, then of its schedule.
std::vector<std::string> prediction_notes(const Prediction& prediction);

}  // namespace stepcast::mixed
