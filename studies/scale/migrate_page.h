// A path of sharding as a page that stands alone: MFU of each way over GPUs, what binds it, and where the next one
// pays.
#pragma once

#include <string>

#include "studies/scale/migrate.h"

namespace stepcast::scale {

constexpr const char* migration_page_mark = "migration";
std::string migration_page(const Migration& path, const Request& request);

}  // namespace stepcast::scale
