// Which requests share the next iteration, by a policy that is data: one group of ranks with a cache of its own. It
// knows no time and no prices.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/serving/requests.h"

namespace stepcast::sim {

struct BatchingPolicy {
  std::int64_t most_positions = 8192;  ///< of an iteration: words of running sequences, and of prompts
  std::int64_t most_sequences = 256;   ///< that run at once
  bool prompts_apart = false;          ///< iterations of prompts alone, before those of words; else both in one
  bool pieces = true;                  ///< a prompt may be read over several iterations; else a longer one goes whole
  /// a sequence is let in when the cache has room for all that it will say; else for its prompt, and the youngest
  /// gives way when others need room: it is read again, with what it had said
  bool reserves_all = false;
  std::int64_t blocks = 1'000'000, block = 16;  ///< of the cache, and positions of each
  /// prompts wait for each other up to so many iterations, or until they fill such a share of `most_positions`
  std::int64_t most_wait = 0;
  double enough = 1;
};

/// What an iteration holds.
struct Batch {
  double words = 0, contexts = 0;     ///< running sequences, and what they have in the cache together
  double prompts = 0, positions = 0;  ///< prompts or pieces of them, and their new positions together
  double pairs = 0;                   ///< sum of positions x (cached + positions / 2): what attention of prompts does
  [[nodiscard]] bool empty() const { return words == 0 && prompts == 0; }
};

class Batcher {
 public:
  explicit Batcher(const BatchingPolicy& policy) : policy_(policy), free_(policy.blocks) {}

  /// Blocks that a request takes at its end; more than the policy has can never run.
  [[nodiscard]] std::int64_t blocks_at_end(const ServingRequest& request) const;
  void submit(std::int64_t id, const ServingRequest& request);
  /// The next iteration, empty where there is nothing to do. finish() must come before the next plan().
  Batch plan();
  struct Said {
    std::vector<std::int64_t> words;  ///< who said one in this iteration
    std::vector<std::int64_t> ended;  ///< of them, those that it was the last of
  };
  const Said& finish();

  [[nodiscard]] std::int64_t outstanding() const {
    return static_cast<std::int64_t>(running_.size() + waiting_.size());
  }
  [[nodiscard]] std::int64_t waiting() const { return static_cast<std::int64_t>(waiting_.size()); }
  [[nodiscard]] std::int64_t used_blocks() const { return policy_.blocks - free_; }
  [[nodiscard]] std::int64_t preempted() const { return preempted_; }

 private:
  struct Sequence {
    std::int64_t id = 0, prompt = 0, output = 0;
    std::int64_t to_read = 0;         ///< the prompt, and what it had said when it gave way
    std::int64_t said = 0, held = 0;  ///< words, and positions in the cache
    std::int64_t shared = 0;          ///< of the prompt, cached for all
    std::int64_t blocks = 0;          ///< of its own
    std::int64_t room = 0;            ///< positions that they and those it shares hold
    std::int64_t piece = 0;           ///< of its prompt in this iteration
    [[nodiscard]] bool speaks() const { return held >= to_read; }
  };
  [[nodiscard]] std::int64_t blocks_for(std::int64_t positions, std::int64_t shared) const;
  bool grow(Sequence& sequence, std::int64_t positions);
  void preempt_last();
  void plan_words(Batch& batch);
  void plan_prompts(Batch& batch);
  bool holds_back(std::int64_t budget);
  void read(Sequence& sequence, std::int64_t piece, Batch& batch) const;

  BatchingPolicy policy_;
  std::vector<Sequence> running_;  ///< in the order in which they were let in
  std::deque<Sequence> waiting_;
  std::int64_t free_ = 0, preempted_ = 0, waited_ = 0;
  bool says_words_ = false;
  Said said_;
};

}  // namespace stepcast::sim
