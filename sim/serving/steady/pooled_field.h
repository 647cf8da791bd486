// The steady state of a load on two pools without running its requests one by one: prompts wait for the iterations
// that read them, their keys go over a link, and words are said in iterations that hold nothing else. Each pool is
// priced once, for any number of replicas; how many of each there are is put together here.
#pragma once

#include <algorithm>

#include "sim/serving/steady/mean_field.h"
#include "sim/serving/steady/prompt_reader.h"

namespace stepcast::sim {

/// A replica of a pool that says words of prompts that another has read. The timer must outlive it.
class WordSpeaker {
 public:
  /// `servers`: one replica of them. No prefix is shared here: all keys come over the link.
  WordSpeaker(const RequestMeans& means, const Servers& servers, const BatchTimer& timer);

  /// Seconds of an iteration, for a group with so many sequences.
  [[nodiscard]] double word(double sequences) const { return iterations_.words(sequences); }
  [[nodiscard]] const RequestMeans& means() const { return means_; }
  [[nodiscard]] const CacheRoom& room() const { return room_; }
  [[nodiscard]] const Servers& servers() const { return servers_; }

 private:
  RequestMeans means_;
  Servers servers_;
  MeanIterations iterations_;
  CacheRoom room_;
};

struct PoolCounts {
  double prompts = 1, words = 1;   ///< replicas
  double sending = 0;              ///< seconds of the keys of a mean prompt, from one group to one group
  double sends = 1, receives = 1;  ///< of them, the parts in which the links of each end are busy
};

struct PooledState : SteadyState {
  double busy = 0;  ///< of what the pool of prompts reads at most, the part that comes
};

class PooledField {
 public:
  /// Both must outlive it.
  PooledField(const PromptReader& prompts, const WordSpeaker& words, const PoolCounts& counts);

  [[nodiscard]] PooledState of(const SteadyLoad& load) const;
  /// Requests a second that the prompts' pool, the links and the words' pool take at most.
  [[nodiscard]] double most_read() const { return most_read_; }
  [[nodiscard]] double most() const { return std::min({most_read_, most_sent_, most_said_}); }

 private:
  /// Sequences that speak, in all: of how many users, and how many prompts are read at once.
  struct Crowd {
    double running = 0, others = 0;  ///< of which one meets so many
    double users = 0, together = 1;
    bool cohorts = false;
  };
  struct Flow {
    double running = 0, word = 0, per_second = 0;  ///< requests
    double busy = 0;                               ///< chance that an iteration runs where one is let in
    double arriving = 0;                           ///< seconds from when keys may come until words begin
  };
  [[nodiscard]] Flow flow(const Crowd& crowd) const;
  [[nodiscard]] Flow arriving(double per_second) const;
  [[nodiscard]] double until_words(const Flow& flow, double bunch) const;
  [[nodiscard]] PooledState state_of(const Flow& flow, bool cohorts) const;
  [[nodiscard]] PooledState closed(const SteadyLoad& load) const;
  [[nodiscard]] PooledState open(const SteadyLoad& load) const;

  const PromptReader* prompts_;
  const WordSpeaker* words_;
  PoolCounts counts_;
  double groups_ = 1;  ///< of words, of all replicas and their stages
  double behind_first_ = 1, most_running_ = 1, most_read_ = 0, most_sent_ = 0, most_said_ = 0;
};

}  // namespace stepcast::sim
