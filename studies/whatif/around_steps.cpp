#include "studies/whatif/around_steps.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "sim/job/pauses.h"
#include "sim/step/forward_only.h"
#include "studies/cli/flag_makers.h"
#include "studies/cli/flag_values.h"
#include "studies/print/digits.h"
#include "studies/print/table.h"

namespace stepcast::whatif {
namespace {

struct Pair {
  const char *first, *second, *hint;
};
constexpr Pair pairs[] = {{"--gc-time", "--gc-every", "--gc-time 600ms --gc-every 100"},
    {"--log-time", "--log-every", "--log-time 50ms --log-every 100"},
    {"--eval-batches", "--eval-every", "--eval-batches 100 --eval-every 1000"}};

constexpr Choice<sim::CacheKeeps> cache_kinds[] = {
    {"first", sim::CacheKeeps::first}, {"recent", sim::CacheKeeps::recent}};

/// Epochs after the first find a part of the samples.
Expected<void> read_cache(const Arguments& arguments, AroundSteps& around) {
  std::optional<double> room;
  TRY(read_number(arguments, "--loader-cache", room, {0, 1}));
  if (!room) {
    for (const char* flag : {"--loader-cached-time", "--loader-epochs", "--loader-keeps"})
      if (arguments.has(flag)) return fail(flag, "no cache is said", "--loader-cache 0.5, of the data set");
    return {};
  }
  std::optional<Seconds> cached;
  TRY(read_flag(arguments, "--loader-cached-time", cached));
  if (!cached || !arguments.has("--loader-epochs"))
    return fail("--loader-cache", "what a batch out of it takes and how often the data are read is not said",
        "--loader-cached-time 200ms --loader-epochs 3");
  if (*cached > around.loader->make)
    return fail("--loader-cached-time", "a batch out of the cache takes longer than one from storage",
        fmt::format("at most --loader-time {}", format_seconds(around.loader->make)));
  LoaderCache cache{*room, sim::CacheKeeps::recent, *cached, count_of(arguments, "--loader-epochs", 1)};
  if (arguments.has("--loader-keeps")) {
    const auto* kind =
        std::ranges::find(cache_kinds, arguments.value("--loader-keeps"), &Choice<sim::CacheKeeps>::name);
    if (kind == std::end(cache_kinds))
      return fail("--loader-keeps", fmt::format("'{:.40}' is no rule", arguments.value("--loader-keeps")),
          "first (what came first stays) or recent (what was used last, as a page cache does)");
    cache.keeps = kind->value;
  }
  around.cache = cache;
  return {};
}

/// A rank's loader; --loader-time makes one.
Expected<void> read_loader(const Arguments& arguments, AroundSteps& around) {
  std::optional<Seconds> make;
  TRY(read_flag(arguments, "--loader-time", make));
  if (!make) {
    for (const char* flag : {"--loader-workers", "--loader-prefetch", "--loader-rate", "--loader-even",
             "--loader-cache", "--loader-cached-time", "--loader-epochs", "--loader-keeps"})
      if (arguments.has(flag)) return fail(flag, "how long a batch takes is not said", "--loader-time 2s");
    return {};
  }
  std::optional<double> most;
  TRY(read_number(arguments, "--loader-rate", most, {1e-9, 1e9}));
  // torch.utils.data.DataLoader's prefetch_factor is 2; its num_workers has no default that loads beside steps.
  around.loader = sim::Loader{count_of(arguments, "--loader-workers", 1), count_of(arguments, "--loader-prefetch", 2),
      *make, !arguments.has("--loader-even"), most.value_or(0)};
  return read_cache(arguments, around);
}

/// Every rank of the batch split has a loader, and a step begins when the slowest has its batch.
Seconds wait_for_data(const sim::Loader& loader, std::int64_t ranks, Seconds step, std::uint64_t seed) {
  constexpr std::int64_t draws_in_all = 2'000'000, least = 200, most = 100'000;
  sim::Draws draws(sim::seed_of(seed, 1));
  return sim::drawn_loader_wait(loader, step, ranks, std::clamp(draws_in_all / ranks, least, most), draws);
}

/// The first epoch fills the cache, the others find a part there.
AroundPart data_part(const AroundSteps& around, std::int64_t ranks, Seconds step, std::uint64_t seed) {
  AroundPart part{"loader_wait", "wait for data", wait_for_data(*around.loader, ranks, step, seed),
      fmt::format("the slowest of {} loaders", ranks)};
  if (!around.cache) return part;
  const LoaderCache& cache = *around.cache;
  if (cache.epochs == 1) {
    part.meaning += "; the cache is only filled in the one epoch";
    return part;
  }
  const double hits = sim::cache_hits(cache.room, cache.keeps), first = 1 / static_cast<double>(cache.epochs);
  const Seconds later = wait_for_data(sim::with_hits(*around.loader, hits, cache.cached), ranks, step, seed);
  part.meaning += fmt::format("; {} in the first of {} epochs, {} in {} {} in the cache", format_seconds(part.per_step),
      cache.epochs, format_seconds(later), cache.epochs == 2 ? "the second, which finds" : "later ones, which find",
      format_percent(hits));
  part.per_step = part.per_step * first + later * (1 - first);
  return part;
}

std::string every_text(std::int64_t every, Seconds time, const char* more = "") {
  return fmt::format(
      "{} every {} steps{}", format_seconds(time), print::grouped_digits(static_cast<double>(every)), more);
}

}  // namespace

Expected<AroundSteps> around_steps(const Arguments& arguments) {
  for (const Pair& pair : pairs)
    if (arguments.has(pair.first) != arguments.has(pair.second))
      return fail(arguments.has(pair.first) ? pair.second : pair.first, "is missing", pair.hint);
  if (arguments.has("--gc-planned") && !arguments.has("--gc-time"))
    return fail("--gc-planned", "how long it takes is not said", pairs[0].hint);
  AroundSteps around;
  TRY(read_loader(arguments, around));
  TRY(read_flag(arguments, "--gc-time", around.gc_time));
  TRY(read_flag(arguments, "--log-time", around.log_time));
  around.gc_every = count_of(arguments, "--gc-every", 1), around.log_every = count_of(arguments, "--log-every", 1);
  around.gc_planned = arguments.has("--gc-planned");
  around.eval_batches = count_of(arguments, "--eval-batches", 0);
  around.eval_every = count_of(arguments, "--eval-every", 1);
  return around;
}

std::vector<Flag> around_flags(std::string_view group) {
  constexpr std::int64_t many = 1'000'000'000;
  return {
      text_flag("--loader-time", "TIME", group, "that a worker takes for a rank's batch of a step (default: no wait)"),
      count_flag("--loader-workers", group, "of each rank's loader (default 1)", 256),
      count_flag("--loader-prefetch", group, "batches that each works ahead (default 2)", 64),
      text_flag("--loader-rate", "PER_S", group, "batches per second and rank that storage gives (default: all)"),
      text_flag("--loader-cache", "SHARE", group,
          "of the data set that fits into a cache (default: none), with the next two"),
      text_flag("--loader-cached-time", "TIME", group, "that a worker takes for a batch out of it"),
      count_flag("--loader-epochs", group, "times that the job reads the data set; later ones find the cache", many),
      text_flag("--loader-keeps", "RULE", group, "first (what came first stays) or recent (default, as a page cache)"),
      toggle_flag("--loader-even", group, "all batches take as long (default: exponential times)"),
      text_flag("--gc-time", "TIME", group, "of a garbage collection (default: none, as where it is off)"),
      count_flag("--gc-every", group, "steps from one to the next of a rank", many),
      toggle_flag("--gc-planned", group, "in the same step on all ranks (default: each when it comes)"),
      text_flag("--log-time", "TIME", group, "that steps wait where figures are logged (default: none)"),
      count_flag("--log-every", group, "steps from one to the next", many),
      count_flag("--eval-batches", group, "global batches of an evaluation, forward alone (default: none)", many),
      count_flag("--eval-every", group, "steps from one to the next", many)};
}

Expected<std::vector<AroundPart>> around_parts(const Scenario& scenario, const Prediction& prediction,
    const AroundSteps& around, Seconds step, std::uint64_t seed) {
  std::vector<AroundPart> parts;
  if (around.loader) {
    if (!scenario.split)
      return fail("--loader-time", "of a mapping of one's own it is not known how many loaders there are",
          "the split by flags: --tp, --pp, ...");
    parts.push_back(data_part(around, scenario.split->dp, step, seed));
  }
  if (around.gc_time)
    parts.push_back({"garbage_collection", "garbage collection",
        sim::pause_per_step(*around.gc_time, around.gc_every, scenario.plan.gpus, around.gc_planned),
        every_text(
            around.gc_every, *around.gc_time, around.gc_planned ? ", all ranks at once" : ", each rank by itself")});
  if (around.log_time)
    parts.push_back({"logging", "logging", sim::pause_per_step(*around.log_time, around.log_every, 1, true),
        every_text(around.log_every, *around.log_time)});
  if (around.eval_batches > 0) {
    TRY(const auto batch, sim::forward_only(prediction.step));
    const Seconds whole = batch * static_cast<double>(around.eval_batches);
    parts.push_back({"evaluation", "evaluation", whole / static_cast<double>(around.eval_every),
        every_text(around.eval_every, whole)});
  }
  return parts;
}

Seconds sum_of(const std::vector<AroundPart>& parts) {
  Seconds sum;
  for (const AroundPart& part : parts) sum += part.per_step;
  return sum;
}

std::string around_text(const std::vector<AroundPart>& parts, Seconds step) {
  if (parts.empty()) return "";
  Table table({{"Around steps"}, {"per step", Align::right}, {""}});
  for (const AroundPart& part : parts) table.add({std::string(part.name), format_seconds(part.per_step), part.meaning});
  table.add({"a step with them", format_seconds(step + sum_of(parts)), ""});
  return "\n" + table.text("");
}

void write_around(JsonWriter& json, const std::vector<AroundPart>& parts) {
  json.list("around_steps", parts, [&](const AroundPart& part) {
    json.field("id", part.id);
    json.base_field("per_step_s", part.per_step);
  });
}

}  // namespace stepcast::whatif
