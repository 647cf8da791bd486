// Numbers as launches write them.
#pragma once

#include <optional>
#include <string_view>

namespace stepcast::launch {

/// Of one size or count; products of three fit an integer.
constexpr double most_of_a_size = 2e6;

/// The number that is all of the text: "8", "0.1", Python's "32_000", and "[8]", which argparse prints of nargs='+'.
/// Nothing where it is none, or not finite.
std::optional<double> number_in(std::string_view written);

}  // namespace stepcast::launch
