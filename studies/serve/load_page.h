// A load on an engine as a page: latencies over load, the cache over time, and what an iteration's time goes into.
#pragma once

#include <string>

#include "studies/serve/answer.h"

namespace stepcast::serve {

/// Runs the same requests at other loads, too. Errors: what answer() says of them.
Expected<std::string> load_page(const Question& question, const Answer& answer);
constexpr const char* load_page_name = "serve";

}  // namespace stepcast::serve
