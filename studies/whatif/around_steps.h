// What stands around steps beside the step itself: loaders, pauses, evaluation, each given on the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/json_writer.h"
#include "sim/job/loader.h"
#include "studies/cli/arguments.h"
#include "studies/cli/flags.h"
#include "studies/run/forecast.h"

namespace stepcast::whatif {

/// Of each rank's loader, over the epochs of a job.
struct LoaderCache {
  double room = 0;  ///< of the data set
  sim::CacheKeeps keeps = sim::CacheKeeps::recent;
  Seconds cached;  ///< of a batch that comes out of it
  std::int64_t epochs = 1;
};

struct AroundSteps {
  std::optional<sim::Loader> loader;
  std::optional<LoaderCache> cache;
  std::optional<Seconds> gc_time, log_time;
  std::int64_t gc_every = 1, log_every = 1;
  bool gc_planned = false;  ///< all ranks in the same step
  std::int64_t eval_batches = 0, eval_every = 1;
};
/// Errors: half of a pair, what no rank has.
Expected<AroundSteps> around_steps(const Arguments& arguments);
std::vector<Flag> around_flags(std::string_view group);

struct AroundPart {
  std::string_view id, name;
  Seconds per_step;     ///< in the mean
  std::string meaning;  ///< "every 100 steps 600 ms"
};
/// Those that were given; `step` is the time between two batches without a loader. Errors: a mapping, whose loaders are
/// not known; evaluation of stages that run both ways.
Expected<std::vector<AroundPart>> around_parts(const Scenario& scenario, const Prediction& prediction,
    const AroundSteps& around, Seconds step, std::uint64_t seed);
Seconds sum_of(const std::vector<AroundPart>& parts);

/// "" where nothing was given.
std::string around_text(const std::vector<AroundPart>& parts, Seconds step);
/// "around_steps": each with its id and seconds per step.
void write_around(JsonWriter& json, const std::vector<AroundPart>& parts);

}  // namespace stepcast::whatif
