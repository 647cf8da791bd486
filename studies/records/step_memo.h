// Remembers how long a run takes with which step parameters: fits that leave out one group after the other ask for the
// same values again and again.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "model/profile/step_parameter.h"

namespace stepcast::records {

/// Of one run. Several threads may ask at once.
class StepMemo {
 public:
  [[nodiscard]] std::optional<double> seconds(std::span<const StepValue> values) const;
  void keep(std::span<const StepValue> values, double seconds);

 private:
  mutable std::mutex guard_;
  std::map<std::vector<double>, double> known_;
};

}  // namespace stepcast::records
