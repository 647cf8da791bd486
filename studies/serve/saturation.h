// What servers do while requests wait: a queue that has once formed grows at any larger rate. With all requests there
// at once as many run as there can be; where some give way to others there, as many as surely fit may do more. The more
// of the two is taken. It is no bound of all loads: a limit between the two, and a load of which none waits yet, may be
// served a few percent faster (7 % in closed loops of Llama 3 8B on an H100).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/serving/pooled_run.h"
#include "studies/infer/pools.h"
#include "studies/infer/served_load.h"

namespace stepcast::serve {

struct ServedRates {
  double requests_per_second = 0, words_per_second = 0;
  Seconds word;            ///< mean time between words
  double running = 0;      ///< requests at once
  bool host_full = false;  ///< some gave way for whom the host's memory had no room
  double gave_way = 0;     ///< how often requests gave way to others, in one replica's run
};

struct Saturation : ServedRates {
  ServedRates waiting;              ///< while any number waits: less where that makes sequences give way
  std::int64_t most_sequences = 0;  ///< the engine's limit with which it is more; 0: its own does as well
  const char* binds = "";           ///< of pools: "prefill", "decode" or "links", whatever does least
};

double mean_length(const std::vector<sim::ServingRequest>& requests);
double mean_words(const std::vector<sim::ServingRequest>& requests);

/// One replica with all requests there at once, so many that it fills some times over; all replicas do as it does.
Saturation saturation_of(
    const std::vector<sim::ServingRequest>& requests, const sim::Servers& servers, infer::ServedTimes& times);
/// The same of a pool that says words of prompts that others have read, and that are there at once.
Saturation words_saturation(
    const std::vector<sim::ServingRequest>& requests, const sim::Servers& servers, infer::ServedTimes& times);

}  // namespace stepcast::serve
