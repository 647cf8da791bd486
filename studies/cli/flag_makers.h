// Flags of the plain kinds, for tables of flags that commands write themselves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/base/error.h"
#include "studies/cli/flags.h"

namespace stepcast::cli {

using FlagCheck = Expected<void> (*)(const std::string& text, const std::string& where);

Flag text_flag(std::string_view name, std::string_view value, std::string_view group, std::string_view doc,
    FlagCheck check = nullptr);
Flag count_flag(
    std::string_view name, std::string_view group, std::string_view doc, std::int64_t most, std::int64_t least = 1);
/// A count of positions or tokens, which may be written as "8k", 8 x 1,024.
Flag length_flag(
    std::string_view name, std::string_view group, std::string_view doc, std::int64_t most, std::int64_t least = 1);
Flag toggle_flag(std::string_view name, std::string_view group, std::string_view doc);
/// --json, in the group Output.
Flag json_flag();

/// A check: a number from 0 to 1.
Expected<void> check_share(const std::string& text, const std::string& where);

}  // namespace stepcast::cli
