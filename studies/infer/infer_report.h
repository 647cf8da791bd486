// An answer in words and in JSON.
#pragma once

#include <string>

#include "studies/cli/console.h"
#include "studies/infer/asked.h"

namespace stepcast::infer {

std::string infer_text(const Asked& asked, const Answer& answer, const Console& console);
std::string infer_json(const Asked& asked, const Answer& answer);

}  // namespace stepcast::infer
