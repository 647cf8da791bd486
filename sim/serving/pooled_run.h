// A run of requests against two pools: one reads prompts, the other says words, and what prompts left in the cache goes
// over a link between them.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "sim/serving/served_run.h"

namespace stepcast::sim {

/// How long the links of both ends are busy with the keys of a prompt that has nothing beside it. They are there when
/// the slower end is done; the other may send or take those of more prompts meanwhile.
struct KeyTransfer {
  Seconds sends, receives;
  KeyTransfer(Seconds sender, Seconds receiver) : sends(sender), receives(receiver) {}
  KeyTransfer(Seconds both) : KeyTransfer(both, both) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] Seconds time() const { return std::max(sends, receives); }
};

struct PooledServers {
  Servers prompts, words;  ///< `before` of the first counts
  /// of the keys of a prompt of so many positions, from one group to one group
  std::function<KeyTransfer(std::int64_t)> transfer;
};

/// A request is read in the pool of prompts, which keeps its keys; waits until a group of words has room for it; is
/// sent, where the links of a group take one request after the other as long as each keeps them busy; and tells its
/// first word with the next iteration of its replica, which says the second.
struct PooledRun {
  ServedRun served;                   ///< its iterations are of the pool of words; first words count as said in them
  std::vector<RanIteration> reading;  ///< of the pool of prompts
  std::vector<Seconds> read;          ///< of each request, when its prompt was read
  Seconds sending;                    ///< of all requests together, on the links
};

/// Every request must say two words or more and fit a group of each pool by itself.
PooledRun simulate(
    const Load& load, const PooledServers& servers, const BatchTimer& prompt_timer, const BatchTimer& word_timer);

}  // namespace stepcast::sim
