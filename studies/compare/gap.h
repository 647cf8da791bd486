// Two stretches of a GPU's time side by side: rows of what is alike, whose differences sum to the difference of the
// stretches.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/profile/step_parameter.h"
#include "studies/compare/traced/rank_pace.h"
#include "studies/compare/traced/time_split.h"

namespace stepcast::comparison {

/// One side is called expected (a forecast, or the first trace), the other measured. Times in seconds.
struct GapRow {
  SplitFamily family = SplitFamily::idle;
  BoundBy bound = BoundBy::none;  ///< of what computes
  std::string name, fabric;
  double expected = 0, measured = 0;
  double expected_flight = 0, measured_flight = 0;
  std::size_t expected_calls = 0, measured_calls = 0;
  double low = 0, high = 0;   ///< interval of what is expected; equal where nobody knows one
  std::vector<GapRow> parts;  ///< by kernel or collective, where both sides name them alike; the largest first

  [[nodiscard]] double difference() const { return measured - expected; }
  [[nodiscard]] bool has_interval() const { return high > low; }
  [[nodiscard]] bool inside() const { return measured >= low && measured <= high; }
  /// Duration of a call, measured over expected; 1 where either side has none.
  [[nodiscard]] double pace() const;
};

struct Gap {
  double expected = 0, measured = 0;  ///< the stretches
  std::vector<GapRow> rows;           ///< the largest difference first
  std::string aligned;                ///< how operators were told apart where names differ, or why they were not
  bool same_names = false;            ///< both sides name kernels alike
  [[nodiscard]] double difference() const { return measured - expected; }
};

/// What is known of the expected side's kernels, by name, beyond their durations; nothing of a trace.
struct ExpectedPrices {
  struct Product {
    double seconds = 0, flops = 0;  ///< of one call
  };
  std::map<std::string, Spread> spreads;  ///< of kernels; of kinds of collectives
  /// Of kernels of one name, each size: a call is of the one whose duration is nearest.
  std::map<std::string, std::vector<Product>> products;
  [[nodiscard]] double flops_of(const SplitProduct& product) const;
};

Gap gap_between(const TimeSplit& expected, const TimeSplit& measured, const ExpectedPrices& prices);

}  // namespace stepcast::comparison
