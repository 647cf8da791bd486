// What iterations take, from a table that fills as it is asked: over the sequences that run, what they have in the
// cache, and the prompts beside them, their positions and their cached part. Between its points it is linear.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/serving/batching.h"
#include "sim/serving/iteration.h"

namespace stepcast::sim {

/// For one thread. The form and the cost must outlive it.
class IterationTable {
 public:
  IterationTable(const IterationForm& form, const EngineCost& cost) : form_(&form), cost_(&cost) {}

  [[nodiscard]] IterationSums sums(const Batch& batch);
  [[nodiscard]] Seconds time(const Batch& batch) { return elapsed(sums(batch), cost_->engine(), cost_->tuning()); }
  [[nodiscard]] std::size_t points() const { return points_; }
  /// Graphs hold so many sequences, ascending: a batch of words is replayed by the next larger one, whose rows beyond
  /// it are made up. Empty: each batch has its own.
  void pad_to(std::vector<std::int64_t> sizes) { sizes_ = std::move(sizes); }

 private:
  using Points = std::unordered_map<std::uint64_t, IterationSums>;
  struct Known {
    IterationSums sums;
    bool priced = false;
  };
  using Row = std::vector<Known>;
  static Known& at(Row& row, std::uint64_t index);
  const IterationSums& words_by_row(std::uint64_t sequences, std::uint64_t context);
  const IterationSums& prompts_by_row(std::uint64_t prompts, std::uint64_t positions, std::uint64_t cached);
  const IterationSums& words_alone(std::uint64_t sequences);
  const IterationSums& packed(
      std::uint64_t words, std::uint64_t prompts, std::uint64_t positions, std::uint64_t cached);
  void add_prompts(IterationSums& sums, const Batch& batch);
  [[nodiscard]] bool replayed(double sequences) const;
  [[nodiscard]] std::uint64_t padded(std::uint64_t sequences) const;

  const IterationForm* form_;
  const EngineCost* cost_;
  std::vector<Row> word_rows_;  ///< by sequences, and by what they have in the cache
  Row words_;
  Points prompt_rows_, packed_;
  std::size_t points_ = 0;
  std::uint64_t last_context_ = 0;  ///< point of the table
  std::vector<std::int64_t> sizes_;
};

}  // namespace stepcast::sim
