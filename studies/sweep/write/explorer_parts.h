// What the explorer's page is put together from.
#pragma once

#include <span>
#include <string>

#include "model/base/embedded.h"
#include "studies/sweep/result/result.h"

namespace stepcast::sweep {

/// Every studies/sweep/page/*.{css,html,js}, by name; made by cmake/embed.cmake.
std::span<const EmbeddedFile> embedded_explorer();

/// Heading, what came out in a few figures, and a notice where the work is not finished.
std::string explorer_head(const SweepResult& result);
/// Two sections as HTML: what was asked, and how many configurations were dismissed for which reason.
std::string explorer_asked(const SweepQuestion& question);
std::string explorer_counted(const SweepResult& result);

/// Best by the objective first: {"network", "machine", "objective", "pareto": [names],
/// "axes": [{"key", "title", "offered": number of values in the question, "values": those of the rows, in the
/// question's order}],
///   "figures": [{"name", "title", "alias", "key", "unit", "doc", "more": is more better}],
///   "rows": {"index": [texts, for they go beyond 2^53], "rank": [in the top list from 1, or 0], "front": [0 or 1],
/// "choices": [per axis, per row: number in its values], "figures": [per figure, per row: base units or null]}}
std::string explorer_data(const SweepResult& result);

}  // namespace stepcast::sweep
