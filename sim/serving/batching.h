// Which requests share the next iteration, by a policy that is data: one group of ranks with a cache of its own. It
// knows no time and no prices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "sim/serving/requests.h"
#include "sim/serving/running.h"

namespace stepcast::sim {

struct BatchingPolicy {
  std::int64_t most_positions = 8192;  ///< of an iteration: words of running sequences, and of prompts
  std::int64_t most_sequences = 256;   ///< that run at once
  bool prompts_apart = false;          ///< iterations of prompts alone, before those of words; else both in one
  /// a prompt may be read over several iterations; else whole: the first of an iteration goes beside its words however
  /// long it is, as engines that take whole prompts are built for the longest
  bool pieces = true;
  /// a sequence is let in when the cache has room for all that it will say; else for its prompt, and the youngest
  /// gives way when others need room: it is read again, with what it had said
  bool reserves_all = false;
  std::int64_t blocks = 1'000'000, block = 16;  ///< of the cache, and positions of each
  std::int64_t shared_blocks = 0;               ///< of them, what heads of prompts take that many requests share
  /// prompts wait for each other up to so many iterations, or until they fill such a share of `most_positions`
  std::int64_t most_wait = 0;
  double enough = 1;
  /// an iteration is planned as the one before it starts: requests that come later miss it. An idle server plans at
  /// once
  bool plans_ahead = false;
  /// keys of sequences that give way go to the host's memory where it has room, and come back before any that waits is
  /// let in; else the sequences are read again
  bool swaps = false;
  std::int64_t host_blocks = 0;    ///< that the host has room for
  std::int64_t spare_blocks = 0;   ///< that stay free when one comes back beside others
  std::int64_t spare_of_each = 0;  ///< beside those, for each that runs then and for itself

  /// What is left for the sequences' own positions.
  [[nodiscard]] std::int64_t own_blocks() const { return blocks - shared_blocks; }
};

/// What an iteration holds.
struct Batch {
  double words = 0, contexts = 0;     ///< running sequences, and what they have in the cache together
  double prompts = 0, positions = 0;  ///< prompts or pieces of them, and their new positions together
  double pairs = 0;                   ///< sum of positions x (cached + positions / 2): what attention of prompts does
  double blocks_out = 0, blocks_in = 0;  ///< of the cache that go to the host before it, and that come back
  [[nodiscard]] bool empty() const { return words == 0 && prompts == 0; }
};

/// What went to the host's memory and came back.
struct Swaps {
  std::int64_t sequences = 0, blocks_out = 0, blocks_in = 0;
  std::int64_t most_blocks = 0;  ///< in the host's memory at once
  std::int64_t refused = 0;      ///< sequences that gave way and had no room there
  void add(const Swaps& other) {
    sequences += other.sequences, blocks_out += other.blocks_out, blocks_in += other.blocks_in;
    most_blocks = std::max(most_blocks, other.most_blocks), refused += other.refused;
  }
};

class Batcher {
 public:
  explicit Batcher(const BatchingPolicy& policy)
      : policy_(policy), running_(policy.block, !policy.reserves_all), free_(policy.own_blocks()),
        host_free_(policy.host_blocks) {}

  /// Blocks of its own that a request takes at its end; more than own_blocks() can never run.
  [[nodiscard]] std::int64_t blocks_at_end(const ServingRequest& request) const;
  void submit(std::int64_t id, const ServingRequest& request);
  /// Its prompt is read here, and its other words are said elsewhere: it ends with its first, and its keys stay until
  /// hand_over() says that they are there.
  void submit_to_read(std::int64_t id, const ServingRequest& request);
  /// Its prompt was read elsewhere, with its first word. It is let in as others are, and listed in let_in(); its words
  /// begin in the plan behind arrive(). Where it gives way to others it is read again here.
  void submit_read(std::int64_t id, const ServingRequest& request);
  void hand_over(std::int64_t id);
  void arrive(std::int64_t id);
  /// Requests read elsewhere that the last plan() let in: their keys may come.
  [[nodiscard]] const std::vector<std::int64_t>& let_in() const { return let_in_; }
  /// The next iteration, empty where there is nothing to do. finish() must come before the next plan(), but behind an
  /// empty one: that has requests in sight which the first missed.
  Batch plan();
  /// Requests are named by their ids.
  struct Said {
    std::int64_t words = 0;              ///< of sequences whose prompts were read before, one of each
    std::vector<std::int64_t> joined;    ///< of them, those that said none of these words before
    std::vector<std::int64_t> read;      ///< who said one as its prompt was read
    std::vector<std::int64_t> ended;     ///< of both, those that it was the last of
    std::vector<std::int64_t> gave_way;  ///< since the last finish(), having said such words
    [[nodiscard]] std::int64_t all() const { return words + static_cast<std::int64_t>(read.size()); }
  };
  const Said& finish();

  [[nodiscard]] std::int64_t outstanding() const { return running_.size() + waiting(); }
  [[nodiscard]] std::int64_t waiting() const {
    return static_cast<std::int64_t>(waiting_.size() + missed_.size() + swapped_.size());
  }
  [[nodiscard]] std::int64_t used_blocks() const { return policy_.blocks - free_; }
  [[nodiscard]] std::int64_t preempted() const { return preempted_; }  ///< with those whose keys the host keeps
  [[nodiscard]] const Swaps& swaps() const { return swaps_; }

 private:
  [[nodiscard]] std::int64_t blocks_for(std::int64_t positions, std::int64_t shared) const;
  bool take(RunningSequence& sequence, std::int64_t positions);
  void wait(const RunningSequence& sequence);
  Running::At preempt_last(Batch& batch);
  bool keep_in_host(const RunningSequence& victim, Batch& batch);
  void bring_back(Batch& batch);
  void make_room(Batch& batch);
  void begin_to_speak(Running::At at);
  void end(Running::At at);
  void finish_prompts();
  void plan_words(Batch& batch);
  void plan_prompts(Batch& batch);
  bool holds_back(std::int64_t budget);
  void read(RunningSequence& sequence, std::int64_t piece, Batch& batch) const;
  [[nodiscard]] static RunningSequence sequence_of(std::int64_t id, const ServingRequest& request);

  BatchingPolicy policy_;
  Running running_;
  std::vector<Running::At> reading_;  ///< those whose prompts are not read, in the order in which they were let in
  std::deque<RunningSequence> waiting_;
  std::vector<RunningSequence> missed_;  ///< that came when the next iteration was planned
  std::deque<RunningSequence> swapped_;  ///< whose keys the host keeps, in the order in which they gave way
  std::int64_t free_ = 0, host_free_ = 0, preempted_ = 0, waited_ = 0;
  Swaps swaps_;
  bool says_words_ = false;
  Said said_;
  std::unordered_map<std::int64_t, std::int64_t> left_;  ///< blocks of those that left, until their keys are elsewhere
  std::vector<std::int64_t> let_in_, arrived_;
  std::vector<std::int64_t> fresh_, gave_way_;  ///< speakers that said no word yet; see Said
  std::unordered_map<std::int64_t, Running::At> coming_;
};

}  // namespace stepcast::sim
