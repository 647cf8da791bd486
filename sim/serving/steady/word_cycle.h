// One sequence among others, in the mean: how long its prompt is read, and how long each of its words takes with the
// prompts of the others before it.
#pragma once

#include <cstdint>

#include "sim/serving/steady/mean_iterations.h"
#include "sim/serving/steady/others_prompts.h"

namespace stepcast::sim {

/// How prompts of the others fall into iterations.
enum class Bunching : std::uint8_t {
  scattered,   ///< by a Poisson law, as others end
  arriving,    ///< by a Poisson law, at a rate
  in_cohorts,  ///< all outputs are as long: those that began together stay together
};

struct Crowd {
  double sequences = 1;  ///< of its group that are under way as one of them looks at it, itself among them
  double others = 0;     ///< of a group, in the mean over all groups of a replica, without itself
  Bunching bunching = Bunching::scattered;
  double per_second = 0;    ///< prompts of others that arrive at a group
  double before = 0;        ///< seconds from a sending until it waits, where requests come as others end
  double ahead = 0;         ///< iterations that were planned before it came, where others run
  double word_guess = 0;    ///< seconds: near the word's time, for an arriving crowd
  bool alone = true;        ///< no other replica takes those that arrive while its prompt is read
  std::int64_t rounds = 0;  ///< requests of each since all began at once; 0: long ago
};

/// Seconds.
struct WordCycle {
  double prompt = 0;        ///< from the first iteration that it could join to its first word
  double away = 0;          ///< from the end of another request until then, where requests come as others end
  double words = 0;         ///< all words behind the first, of a mean request
  double per_word = 0;      ///< a request's time behind its first word over its words, in the mean over requests
  double alone = 0;         ///< between words without prompts
  double with_prompts = 0;  ///< between words with them
  double share = 0;         ///< of its words that come with them
  double reading = 0;       ///< of the positions that iterations could read, the part that comes: near 1 prompts wait
  double pressure = 0;      ///< the part of the time that prompts which arrive make iterations longer by
  /// What a request waits in the mean for the iteration that runs as it comes.
  [[nodiscard]] double residual() const;
};

class WordCycles {
 public:
  WordCycles(const RequestMeans& means, const BatchingPolicy& policy, std::int64_t groups, const BatchTimer& timer)
      : means_(means), policy_(policy), groups_(static_cast<double>(groups)), iterations_(means, timer) {}

  [[nodiscard]] WordCycle of(const Crowd& crowd) const;
  /// Prompts, with parts of them, that an iteration has room for beside so many words.
  [[nodiscard]] double most_prompts(double words) const;

 private:
  [[nodiscard]] double away(const WordCycle& cycle, const Crowd& crowd, double word) const;
  void finish(WordCycle& cycle, double word, double first_gap) const;
  [[nodiscard]] Bunches since_start(const Crowd& crowd, double iterations) const;
  [[nodiscard]] WordCycle mixed(const Crowd& crowd) const;
  [[nodiscard]] WordCycle mixed_cohorts(const Crowd& crowd) const;
  [[nodiscard]] WordCycle apart(const Crowd& crowd) const;
  [[nodiscard]] WordCycle apart_in_groups(const Crowd& crowd) const;
  [[nodiscard]] WordCycle apart_cohorts(const Crowd& crowd) const;
  [[nodiscard]] double reading_s(double prompts) const;

  RequestMeans means_;
  BatchingPolicy policy_;
  double groups_;
  MeanIterations iterations_;
};

}  // namespace stepcast::sim
