// Lists as people write them into one word: "a,b,c".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

/// What stands between the commas, at least one; empty where nothing does.
std::vector<std::string> split_at_commas(std::string_view text);
/// The same without blanks around each.
std::vector<std::string> comma_list(std::string_view text);

}  // namespace stepcast
