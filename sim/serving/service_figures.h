// What users and owners of a server see in a run: latencies, rates, queue, cache, and where the time goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/serving/served_run.h"

namespace stepcast::sim {

struct Latency {
  Seconds mean, p50, p90, p99;
};
/// A value with so many of it.
struct Counted {
  double value = 0, count = 0;
};
/// Percentiles of all of them, each value counting as often as it says: the least that so many are not above.
Latency latency_of(std::vector<Counted> values);

struct ServiceFigures {
  Latency first_word;     ///< from sending to the first word
  Latency per_word;       ///< of a request behind its first word: its time over its other words
  Latency between_words;  ///< each gap by itself
  Latency whole;          ///< from sending to the last word
  double requests = 0;    ///< that are counted
  Seconds span;           ///< from the first counted one's sending to the last end of one
  double words_per_second = 0;
  double requests_per_second = 0;       ///< those before warm-up was over count by the share of their words behind it
  double words_per_second_of_user = 0;  ///< 1 over the mean time per word
  // Means over time, and the most.
  double running = 0, waiting = 0, most_waiting = 0, used_blocks = 0, most_used_blocks = 0;
  // Shares of the span.
  double in_words = 0, in_mixed = 0, in_prompts = 0, idle = 0;
  double iterations = 0, preempted = 0;
};

/// Without the first `warm_up` requests, of which there must be more. Requests end where the run does.
ServiceFigures figures_of(const ServedRun& run, const Servers& servers, std::size_t warm_up);

/// Iterations [begin, end) between the first end of a request and the last moment at which others waited: there the
/// servers are as full as they ever are. All of them where nothing waits so long.
struct FullSpan {
  std::size_t begin = 0, end = 0;
};
FullSpan full_span(const ServedRun& run);

}  // namespace stepcast::sim
