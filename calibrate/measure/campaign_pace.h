// Compares a campaign's works with their estimates, and decides what may still begin within the budget.
#pragma once

#include "calibrate/measure/plan/planned_work.h"

namespace stepcast::calibrate {

class Pace {
 public:
  /// How long a work will take: what was planned, by how the ones before it did. Seconds that were asked for (of
  /// sustained work) stay what they are.
  [[nodiscard]] Seconds expected(const PlannedWork& work) const;
  void learn(const PlannedWork& work, Seconds took);

 private:
  // Counted from the start as one second that kept to its estimate: the first work also loads drivers and libraries,
  // and must not stand for all others.
  Seconds planned_{1}, took_{1};
};

}  // namespace stepcast::calibrate
