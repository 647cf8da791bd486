// Names configurations and their figures in the reports of a sweep.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "studies/sweep/result/result.h"

namespace stepcast::sweep {

std::string whole_number(std::uint64_t n);             ///< "1,234,567"
std::string count_of_configurations(std::uint64_t n);  ///< "1 configuration", "1,234 configurations"

double figure_in(const SweepRow& row, Figure figure);
std::string figure_cell(const SweepRow& row, Figure figure);
/// Words of a figure's name: "pipeline bubble".
std::string figure_words(Figure figure);

/// What a list is ordered by, with its unit where figures do not show it: "cost, in US dollars per billion tokens".
std::string objective_words(Figure figure);
/// The heading of a column: "cost/B tokens".
std::string figure_heading(Figure figure);

/// "Llama 3 8B" for llama3-8b; what is no row of the catalogue keeps its id.
std::string network_title(const SweepQuestion& question);
std::string machine_title(const SweepQuestion& question);
/// "micro-batch", "GPUs": an axis or a key of a scenario for readers of a page.
std::string key_title(std::string_view key);

/// "micro-batch" for micro_batch, as the flag has it.
std::string axis_word(std::string_view key);
/// Has the space several values of it?
bool is_choice(const SweepAxis& axis);
bool differ_in(const std::vector<const SweepRow*>& rows, std::size_t axis);

/// "tp 8, pp 4, micro-batch 1": the axes, by their place, that are `wanted`, with the dp that follows from them; dp 0
/// leaves that out.
std::string choice_words(const SweepQuestion& question, const std::vector<std::string>& choices, double dp,
    const std::function<bool(std::size_t axis)>& wanted);
/// Those that are a choice.
std::string row_words(const SweepQuestion& question, const SweepRow& row);
std::string words_at(const SweepQuestion& question, std::uint64_t index);

}  // namespace stepcast::sweep
