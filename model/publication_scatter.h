// How far publications of one training software lie apart: what fits count of them, and what forecasts by a foreign fit
// take out again. Both are half the width of an 80 % interval of the logarithm of measured over forecast.
#pragma once

namespace stepcast {

/// Of the mean of one more publication from those that a fit's hold-out left out by turns: 0.075 rms in 18 groups of
/// four fits, few as they are (studies/records/runs.json, 2026-11).
inline constexpr double publication_scatter = 0.12;

/// What a fit of dense networks lacks of other publications whose hold-out left out models or runs. Means of
/// publications of one dense software lie 0.055 apart as logarithms (15 of three fits, studies/records/runs.json); 80 %
/// are within 1.28 times that, 0.07. Of those the hold-outs of models or runs show a half by themselves.
inline constexpr double other_publication = 0.05;

}  // namespace stepcast
