// What lower clocks of a GPU's cores look like: products and attention take longer by one factor, memory-bound kernels
// do not. Only what a trace shows is said: nobody knows a clock that was not recorded.
#pragma once

#include <optional>
#include <string>

#include "studies/compare/gap.h"
#include "studies/compare/traced/steps.h"

namespace stepcast::comparison {

struct ClockLoss {
  double factor = 1;  ///< products and attention take so many times as long
  std::string evidence;
};

/// Between the two sides of a gap. Evidence is either clocks that both sides recorded (MHz; 0: not), with products that
/// follow them, or, without any, one factor for each part of products and for attention, and none for memory.
std::optional<ClockLoss> clock_loss_in(const Gap& gap, double expected_mhz, double measured_mhz);

/// From the first whole step of a trace to its last one, the same kernels; "": no drift, or fewer than two steps.
std::string clock_drift_text(const RankTrace& trace, const FoundSteps& steps);

/// Recorded clocks of the step that was taken: "the GPU's cores ran at 1410 MHz in the median", and what of the trace's
/// own ones a table replaced; "": nobody recorded any.
std::string clock_text(const RankTrace& trace, const FoundSteps& steps);
double clock_of(const RankTrace& trace, const FoundSteps& steps);
/// What the trace itself recorded where a table's clocks stand in their place; 0: nothing.
double replaced_clock_of(const RankTrace& trace, const FoundSteps& steps);

}  // namespace stepcast::comparison
