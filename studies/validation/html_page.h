// Writes the page of `stepcast validate --html`, for somebody who has to decide by forecasts and asks how far they are
// off.
#pragma once

#include <string>
#include <vector>

#include "studies/validation/html_plots.h"
#include "studies/validation/judged_class.h"
#include "studies/records/run_record.h"
#include "studies/validation/validation.h"

namespace stepcast::validation {

/// One HTML document that loads nothing else. `judged` may be empty: then all runs are shown together. `runs`: the
/// records that were validated, for the dates; without them the page names none.
std::string validation_html(
    const Validation& validation, const std::vector<JudgedRow>& judged, const std::vector<Run>& runs = {});

// The parts, for tests and one file each.

/// What is drawn together: the runs of a judged class, unless an earlier one has the same; last, those in none.
struct CasePanel {
  std::string name;
  CaseList cases;
};
std::vector<CasePanel> case_panels(const Validation& validation, const std::vector<JudgedRow>& judged);

/// "✓ within 5.0 %", "✗ misses 5.0 % by 1.9 points", or why neither can be said.
std::string goal_verdict(const JudgedRow& row);

std::string html_classes(const Validation& validation, const std::vector<JudgedRow>& judged);
/// Shows the step parameters of the catalogue's profiles; nothing where they hold none.
std::string html_parameters();
std::string html_peers(const Validation& validation);
std::string html_ranking(const Validation& validation);
std::string html_memory(const Validation& validation);
std::string html_conventions(const Validation& validation);
std::string html_doubts(const Validation& validation);
std::string html_skipped(const Validation& validation);
std::string html_assumptions(const Validation& validation);
std::string html_sources(const Validation& validation);
std::string html_runs(const std::vector<CasePanel>& panels);

}  // namespace stepcast::validation
