// Finds what one mapping says that another does not, line by line, both with their aliases written out.
#pragma once

#include <string>
#include <vector>

namespace stepcast::launch {

/// "+ par g*r on tp" of `with` alone, then "- ..." of `without` alone, in their order. Lines that split on axes of size
/// 1 only say nothing and count as absent: the aliases name every axis.
std::vector<std::string> mapping_difference(const std::string& with, const std::string& without);

}  // namespace stepcast::launch
