// Lists as people write them into one word: "a,b,c".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepcast::cli {

/// What stands between the commas without blanks around it, at least one; empty where nothing does.
std::vector<std::string> comma_list(std::string_view text);

}  // namespace stepcast::cli
