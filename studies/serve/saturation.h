// What servers do while others wait: as many requests are there as there can be. Where sequences give way to others
// there, fewer at once may do more.
#pragma once

#include <vector>

#include "sim/serving/pooled_run.h"
#include "studies/infer/pools.h"
#include "studies/infer/served_load.h"

namespace stepcast::serve {

struct Saturation {
  double requests_per_second = 0, words_per_second = 0;
  Seconds word;            ///< mean time between words there
  double running = 0;      ///< requests at once
  const char* binds = "";  ///< of pools: "prefill", "decode" or "links", whatever does least
  double gave_way = 0;     ///< how often requests gave way to others and were read again, in one replica's run
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
