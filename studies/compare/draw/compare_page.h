// The page of a comparison: a waterfall from what was expected to what was measured, rows and causes, and both
// timelines one above the other, which zoom together.
#pragma once

#include <span>
#include <string>

#include "model/base/embedded.h"
#include "studies/compare/beside.h"
#include "studies/compare/draw/drawn_trace.h"

namespace stepcast::comparison {

/// Every studies/compare/page/*.js and *.css, by name.
std::span<const EmbeddedFile> embedded_comparison();

std::string compare_page(const Beside& beside, const DrawnTrace& expected, const DrawnTrace& measured);

}  // namespace stepcast::comparison
