// How the reports of a sweep name configurations and their figures.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "studies/sweep/result.h"
#include "studies/sweep/space.h"

namespace stepcast {

std::string whole_number(std::uint64_t n);               ///< "1,234,567"
std::string count_of_configurations(std::uint64_t n);    ///< "1 configuration", "1,234 configurations"

double figure_in(const SweepRow& row, Figure figure);
std::string figure_cell(const SweepRow& row, Figure figure);
/// Words of a figure's name: "pipeline bubble".
std::string figure_words(Figure figure);

/// "micro-batch" for micro_batch, as the flag has it.
std::string axis_word(const AxisRow& axis);
/// Has the space several values of it?
bool is_choice(const Space& space, const AxisRow& axis);
bool differ_in(const std::vector<const SweepRow*>& rows, std::size_t axis);

/// "tp 8, pp 4, micro-batch 1": the axes that are `wanted`, with the dp that follows from them; dp 0 leaves that out.
std::string choice_words(const Space& space, const std::vector<std::string>& choices, double dp,
                         const std::function<bool(const AxisRow&)>& wanted);
/// Those that are a choice.
std::string row_words(const Space& space, const SweepRow& row);
std::string words_at(const Space& space, std::uint64_t index);

}  // namespace stepcast
