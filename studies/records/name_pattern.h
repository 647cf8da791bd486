// Names with `*` for any run of letters, as data files use them to tell which records they speak of.
#pragma once

#include <string_view>

namespace stepcast::records {

/// Whether the whole name fits; case counts, and only `*` is special.
bool fits_pattern(std::string_view name, std::string_view pattern);

}  // namespace stepcast::records
