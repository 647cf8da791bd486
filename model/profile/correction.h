// What a law misses, learned from measurements: a sum of small tables over features of the query. Each table asks
// `depth` questions "is this feature above that threshold" and holds a value for every combination of answers
// (oblivious regression trees, as in Prokhorenkova et al., arXiv 1706.09516); the sum is the logarithm of time over
// law.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/base/json_reader.h"
#include "model/base/large_value.h"

namespace stepcast {

struct Correction {
  LARGE_VALUE(Correction);
  int depth = 0;
  std::vector<std::uint8_t> feature;  ///< tables x depth
  std::vector<float> threshold;       ///< tables x depth
  std::vector<float> value;           ///< tables x 2^depth
  std::vector<float> low, high;       ///< of each feature among the samples
  [[nodiscard]] bool empty() const { return value.empty(); }
  [[nodiscard]] int tables() const { return depth > 0 ? static_cast<int>(feature.size()) / depth : 0; }
};

/// The sum of the tables, 0 for an empty one. O(tables x depth). Features beyond those that it was learned with come
/// last and do not count.
double sum_at(const Correction& correction, std::span<const float> features);

/// How far outside the samples' range the features lie, in the features' own units (doublings, most of them): the
/// largest excess; 0 inside.
double distance_outside(const Correction& correction, std::span<const float> features);

/// `sum`, fading with the distance outside: 0.78 of itself at one doubling, 0.37 at two, 0.02 at four. A law with few
/// parameters carries further than tables do.
double faded(double sum, double distance);

/// {"depth": 5, "features": ["m", ...], "low": "0 5 ...", "high": "15 ...", "ask": "3 2 ...", "above": "0.5 11.5 ...",
/// "value_e4": "12 -33 ..."}, values in 1e-4. The names must be those of this program, in order; the last may be
/// missing, in a file from before they were known.
Correction read_correction(JsonObject object, std::span<const char* const> names);
/// On one line.
std::string write_correction(const Correction& correction, std::span<const char* const> names);

}  // namespace stepcast
