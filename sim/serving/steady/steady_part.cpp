#include "sim/serving/steady/steady_part.h"

#include <cassert>

namespace stepcast::sim {

SteadyPart steady_part(const ServedRun& run, std::size_t first, std::size_t last) {
  assert(first < last && last < run.requests.size());
  const Seconds begin = run.requests[first].sent, end = run.requests[last].sent;
  SteadyPart part;
  double words = 0;
  for (const RanIteration& ran : run.iterations)
    if (const Seconds at = ran.start + ran.time; at > begin && at <= end) words += static_cast<double>(ran.words);
  if (end > begin) part.words_per_second = words / (end - begin).value();
  double speak = 0;
  for (std::size_t i = first; i < last; ++i) {
    const Served& request = run.requests[i];
    part.first_word += (request.first - request.sent) / static_cast<double>(last - first);
    if (request.output < 2) continue;
    part.per_word += (request.last - request.first) / static_cast<double>(request.output - 1), speak += 1;
  }
  if (speak > 0) part.per_word = part.per_word / speak;
  return part;
}

}  // namespace stepcast::sim
