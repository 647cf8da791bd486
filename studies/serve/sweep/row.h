// A configuration under a load, by the mean field and perhaps run request by request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "model/profile/profile.h"
#include "sim/serving/steady/mean_field.h"
#include "studies/serve/sweep/configuration.h"

namespace stepcast::serve::sweeping {

struct RowFigures {
  double words_per_gpu = 0;           ///< a second
  double words_per_user = 0;          ///< a second: 1 / per_word
  Seconds per_word;                   ///< mean TPOT
  std::optional<Seconds> first_word;  ///< mean TTFT; nullopt: the mean field does not know it
};

struct Row {
  std::size_t configuration = 0;
  double load = 0;         ///< users, or requests per second, of all GPUs
  sim::SteadyState state;  ///< by the mean field
  RowFigures mean;
  std::optional<RowFigures> simulated;
  std::optional<std::int64_t> swapped;  ///< sequences that gave way to the host's memory, of a simulated row that may
  std::optional<double> met;            ///< of the simulated requests, the share within all targets
  std::optional<double> cost;           ///< US dollars per million words that are said
  std::optional<double> prompts_busy;   ///< of a pool of prompts: the part that comes of what it reads at most
  Spread spread{1, 1};                  ///< of a time; of rows that are shown
  bool target_open = false;             ///< there is one that the mean field cannot be held against
  bool on_front = false;
  [[nodiscard]] const RowFigures& figures() const { return simulated ? *simulated : mean; }
  [[nodiscard]] bool sure() const { return simulated || (state.doubt == sim::MeanFieldDoubt::none && !target_open); }
};

}  // namespace stepcast::serve::sweeping
