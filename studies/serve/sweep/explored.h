// A sweep of serving: every combination of engine, machine, split, limits and load, forecast by the mean field or said
// why not; the best of them run request by request.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/profile/profile.h"
#include "sim/serving/steady/mean_field.h"
#include "studies/serve/sweep/asked.h"

namespace stepcast::serve::sweeping {

struct Configuration {
  std::string machine, engine, weights, cache;  ///< as asked; "" is the default
  std::string gpu;                              ///< its name
  std::int64_t gpus = 1, tp = 1, pp = 1, ep = 1, attention_dp = 1, replicas = 1;
  std::int64_t most_sequences = 0, most_positions = 0;  ///< 0: the engine's
};

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
  std::optional<double> met;   ///< of the simulated requests, the share within all targets
  std::optional<double> cost;  ///< US dollars per million words that are said
  Spread spread{1, 1};         ///< of a time; of rows that are shown
  bool target_open = false;    ///< there is one that the mean field cannot be held against
  bool on_front = false;
  [[nodiscard]] const RowFigures& figures() const { return simulated ? *simulated : mean; }
  [[nodiscard]] bool sure() const { return simulated || (state.doubt == sim::Doubt::none && !target_open); }
};

/// Combinations that have no row, by reason.
struct Refused {
  std::string reason;
  std::uint64_t count = 0;
};

struct Explored {
  std::vector<Configuration> configurations;  ///< that have rows
  std::vector<Row> rows;                      ///< within the targets as far as is known; best first
  std::vector<std::size_t> front;             ///< of words/s/GPU over words/s/user, by falling words/s/user
  std::vector<std::size_t> best;              ///< the best row of each configuration, so many as asked
  std::vector<Refused> refused;               ///< most frequent first
  std::uint64_t combinations = 0;             ///< all: rows and those refused
  std::string network, gpu;                   ///< names; GPU "" where there are several
  std::vector<std::string> assumptions;
};

/// Errors: nouns that nobody knows, lists whose combinations are too many.
Expected<Explored> explore(const Asked& asked);

/// stepcast serve with this configuration and load.
std::string serve_line(const Asked& asked, const Configuration& configuration, double load);

/// Places of rows that no other of those `among` beats in both words/s/GPU and words/s/user, by falling words/s/user.
std::vector<std::size_t> front_of(const std::vector<Row>& rows, const std::function<bool(const Row&)>& among);

}  // namespace stepcast::serve::sweeping
