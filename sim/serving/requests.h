// Requests to a server: how long they are and when they come. The same seed gives the same requests everywhere: the
// generator is that of the C++ standard, and what is made of its numbers is written out here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "model/base/units.h"

namespace stepcast::sim {

struct ServingRequest {
  Seconds arrival;                      ///< of an open loop; a closed one sends when there is room
  std::int64_t prompt = 1, output = 1;  ///< positions that are read, and words that are said
  std::int64_t cached = 0;              ///< of the prompt, what a cache of shared prefixes has: less than the prompt
};

/// Whole numbers from `low` to `high`, all as likely.
struct Lengths {
  std::int64_t low = 1, high = 1;
  [[nodiscard]] double mean() const { return static_cast<double>(low + high) / 2; }
};
/// How benchmarks make lengths of a nominal one: from `share` of it to the whole (vllm-project/vllm
/// benchmarks/benchmark_serving.py, random_range_ratio as InferenceX reads it: its default is 0.8).
Lengths lengths_of(std::int64_t nominal, double share);

struct RequestLaw {
  std::int64_t count = 1;
  Lengths prompts, outputs;
  std::int64_t shared = 0;  ///< positions at the head of all prompts that are in the cache
  std::uint64_t seed = 0;
};
/// All of them at time 0.
std::vector<ServingRequest> requests_of(const RequestLaw& law);

/// The longest head that the cache has: shorter ones are taken to be its beginning.
std::int64_t longest_cached(const std::vector<ServingRequest>& requests);

/// Gives them arrivals: times between them are of a gamma law with this shape, with a mean of 1 / rate. Shape 1 is a
/// Poisson process; below it they come in bursts.
void let_arrive(std::vector<ServingRequest>& requests, double per_second, double shape, std::uint64_t seed);

/// CSV with a header: arrival_s, prompt, output, and perhaps cached, in any order. Errors: line and column of what is
/// no such number, columns that are missing, not known or given twice, arrivals that go back in time.
Expected<std::vector<ServingRequest>> read_requests(const std::string& text, const std::string& where);

}  // namespace stepcast::sim
