// Writes what a gate found in the forms that people and CI systems read.
#pragma once

#include <string>

#include "studies/cli/console.h"
#include "studies/gate/check.h"

namespace stepcast::gate {

std::string gate_text(const GateReport& report, const Console& console);
std::string gate_json(const GateReport& report);
/// For a pull request: a table with a row for each requirement, then what changed.
std::string gate_markdown(const GateReport& report);
/// One test suite; a case for each requirement: slower is a failure, undecided is skipped (the de-facto schema of
/// Jenkins' JUnit plugin, https://github.com/testmoapp/junitxml).
std::string gate_junit(const GateReport& report);
/// GitHub's workflow commands: "::error file=...,title=...::message"
/// (https://docs.github.com/actions/reference/workflow-commands-for-github-actions).
std::string gate_github(const GateReport& report);
/// GitLab's code quality report, a JSON list
/// (https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format).
std::string gate_gitlab(const GateReport& report);

// --- shared by the forms ---

/// "5.1 % slower (4.2 % to 6.0 %)": the shift with its bounds; "" without results.
std::string shift_words(const JudgedMust& must);
/// What a requirement's figure is and why it is undecided: "needs 6 runs more".
std::string must_words(const JudgedMust& must, const JudgedCase& of);
/// "5.1 % slower since 3 checks ago, 2026-03-01T12:00:00Z, commit 0123456789ab".
std::string change_words(const JudgedChange& change);

}  // namespace stepcast::gate
