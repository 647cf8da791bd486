// What `stepcast validate` prints.
#pragma once

#include <optional>
#include <string>

#include "studies/cli/console.h"
#include "studies/validation/judged_class.h"
#include "studies/validation/measured_sweeps.h"
#include "studies/validation/newcomers.h"
#include "studies/validation/validation.h"

namespace stepcast::validation {

/// What takes fits of its own: only with --hold-out.
struct HeldOutFigures {
  JudgedSweeps sweeps;
  std::vector<NewcomerRow> newcomers;
};

/// Tables of classes and groups, the worst cases and what was skipped. `cases`: every case in a line. `held_out`:
/// with hold-outs.
std::string validation_text(const Validation& validation, const std::vector<JudgedRow>& judged,
    const std::optional<HeldOutFigures>& held_out, bool cases);

/// One document: cases, skipped, classes, groups.
std::string validation_json(
    const Validation& validation, const std::vector<JudgedRow>& judged, const std::optional<HeldOutFigures>& held_out);

}  // namespace stepcast::validation
