// An iteration as a page that stands alone: what binds it, one layer in time, its kernels, memory, and roofs.
#pragma once

#include <string>

#include "studies/infer/asked.h"

namespace stepcast::infer {

constexpr const char* iteration_page_mark = "iteration";
std::string iteration_page(const Asked& asked, const Answer& answer);

}  // namespace stepcast::infer
