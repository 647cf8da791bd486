// Rows of a sweep as they are found, and combinations that have none, by reason.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "studies/serve/sweep/row.h"

namespace stepcast::serve::sweeping {

/// A configuration that is listed with its first row.
struct Candidate {
  Configuration configuration;
  std::optional<std::size_t> number = {};  ///< in Rows::configurations
};

class Rows {
 public:
  explicit Rows(const Asked& asked);

  std::vector<Configuration> configurations;
  std::vector<Row> rows;
  std::map<std::string, std::uint64_t> refused;

  void refuse(const std::string& reason, std::uint64_t count) { refused[reason] += count; }
  /// A row, or a reason why it is none. `busy`: of a pool of prompts.
  /// Is it a row, and a sure one?
  bool take(Candidate& candidate, double load, const sim::SteadyState& state, std::optional<double> busy = {});
  /// By the figures that the row has now.
  void price(Row& row) const;
  [[nodiscard]] bool misses(const Row& row) const;

 private:
  /// nullopt: nobody told one; then of no machine.
  [[nodiscard]] std::optional<double> price_of(const std::string& machine) const;

  const Asked* asked_;
  double output_;  ///< words of a mean request
};

/// Why a configuration has no row, in the words that rows of one reason are counted by.
std::string reason_of(const Error& error);

}  // namespace stepcast::serve::sweeping
