// A run of an engine under load: its row's policy and its cache as a batching policy, its iterations as a timer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/serving/iteration_table.h"
#include "sim/serving/served_run.h"
#include "studies/infer/phases.h"
#include "studies/infer/batching/swapping.h"

namespace stepcast::infer {

/// The engine's policy with what the cache of one GPU holds, for sequences of such a length; on several stages that of
/// a lane. `head`: positions that the cache has once for all.
sim::BatchingPolicy policy_of(
    const Serving& serving, double length, const BatchingWishes& wishes = {}, std::int64_t head = 0);

/// Of an iteration's time the part of each stage, as tokens of some sequences take it; empty: there is one stage.
std::vector<double> stage_parts(const Serving& serving);

/// Times of iterations of a Serving, which must outlive it. For one thread. Where words are guessed, an iteration that
/// says w of each sequence in the mean counts as w iterations of one word, each of a w-th of its time; a prompt adds
/// what it adds to one. So times per token are means, and gaps are as if each token came by itself.
class ServedTimes {
 public:
  explicit ServedTimes(const Serving& serving, Guesses guesses = {})
      : serving_(&serving), said_(words_of_iteration(serving.draft, guesses.accepted)), cost_(serving),
        table_(cost_.table()), swaps_(serving) {
    if (serving.drafter) drafts_.emplace(*serving.drafter);
  }
  [[nodiscard]] const Serving& serving() const { return *serving_; }
  [[nodiscard]] Seconds time(const sim::Batch& batch) {
    const Seconds kernels = drafts_ ? guessed(batch) : table_.time(batch);
    return batch.blocks_out + batch.blocks_in > 0 ? kernels + swaps_.time(batch) : kernels;
  }
  /// As IterationTable has it.
  void pad_to(std::vector<std::int64_t> sizes) { table_.pad_to(std::move(sizes)); }
  [[nodiscard]] sim::IterationSums sums(const sim::Batch& batch) { return table_.sums(batch); }
  [[nodiscard]] sim::BatchTimer timer() {
    return [this](const sim::Batch& batch) { return time(batch); };
  }
  /// Of an iteration's time, what copies to the host and back take, and what they carry for one GPU of each stage.
  [[nodiscard]] const SwapCopies& swaps() const { return swaps_; }
  /// What is copied is of sequences of that many positions.
  void copy_sequences_of(double length) { swaps_ = SwapCopies(*serving_, length); }
  /// The interval of an iteration that holds this.
  [[nodiscard]] sim::IterationTime whole(const sim::Batch& batch) const;

 private:
  [[nodiscard]] Seconds guessed(const sim::Batch& batch);

  const Serving* serving_;
  double said_ = 1;  ///< words of each sequence in an iteration
  ServingCost cost_;
  sim::IterationTable table_;
  SwapCopies swaps_;
  std::optional<ServingCost> drafts_;
  std::map<std::pair<double, double>, Seconds> tried_;  ///< by sequences and their contexts, in steps
};

/// Errors: a mapping of one's own, prompts that are split by position, several stages of groups with sequences of their
/// own, and requests longer than the network's positions or than its queries see all keys of.
Expected<void> check_served(const Serving& serving, const sim::ServingRequest& request);
/// Whether the cache beside the weights holds the request to its end.
bool has_room(const sim::ServingRequest& request, const sim::BatchingPolicy& policy);
/// Both, of each request. Errors: the first that has no room, with what it needs.
Expected<void> check_requests(
    const Serving& serving, const std::vector<sim::ServingRequest>& requests, const sim::BatchingPolicy& policy);

/// Many iterations as a few that take as long together: alike in whether they hold prompts and in their sequences.
/// `weights`: of each iteration of the run.
std::vector<Repeated> condensed(
    ServedTimes& times, const std::vector<sim::RanIteration>& iterations, const std::vector<double>& weights);

}  // namespace stepcast::infer
