// A sweep of serving: every combination of engine, machine, split, limits and load, forecast by the mean field or said
// why not; the best of them run request by request.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "studies/serve/sweep/row.h"

namespace stepcast::serve::sweeping {

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
  std::uint64_t too_many = 0;                 ///< rows of more replicas than are simulated
  std::string network, gpu;                   ///< names; GPU "" where there are several
  std::vector<std::string> assumptions;
};

/// Errors: nouns that nobody knows, lists whose combinations are too many.
Expected<Explored> explore(const Asked& asked);

/// Places of rows that no other of those `among` beats in both words/s/GPU and words/s/user, by falling words/s/user.
std::vector<std::size_t> front_of(const std::vector<Row>& rows, const std::function<bool(const Row&)>& among);

}  // namespace stepcast::serve::sweeping
