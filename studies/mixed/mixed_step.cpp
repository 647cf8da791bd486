#include "studies/mixed/mixed_step.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace stepcast::mixed {
namespace {

bool lies_on(const MixedKind& kind, std::int64_t stage) {
  return stage >= kind.first_stage && stage < kind.first_stage + kind.stages;
}

double work_of(const MixedRun& run, const MixedKind& kind) {
  if (!run.by_stage) return static_cast<double>(kind.replicas * kind.micro_batches - kind.fewer);
  double flops = 0;
  const Program& program = run.prediction.program;
  // A second copy of the model, if there is one, runs from the last stage to the first.
  for (const Chunk& chunk : program.chunks) {
    const int copies =
        lies_on(kind, chunk.stage) + (run.two_copies() && lies_on(kind, program.stages - 1 - chunk.stage));
    for (const BlockRun& block : chunk.runs)
      flops += program.blocks[block.block].model_flops * static_cast<double>(block.count * copies);
  }
  return flops;
}

/// A rank's loader where its batch is so many times the mean one, which the flags speak of.
AroundSteps loader_alone(const AroundSteps& around, double batch) {
  AroundSteps own;
  own.loader = around.loader, own.cache = around.cache;
  own.loader->make = own.loader->make * batch;
  own.loader->most_per_second /= batch;
  if (own.cache) own.cache->cached = own.cache->cached * batch;
  return own;
}

/// Replicas that are dealt more micro-batches load more for a step: it waits as the kind that waits the longest.
Expected<AroundPart> slowest_loaders(const MixedRun& run, const AroundSteps& around, Seconds step, std::uint64_t seed) {
  std::vector<AroundPart> waits;
  for (const MixedKind& kind : run.kinds) {
    Scenario own = kind.scenario;
    const double mean = static_cast<double>(own.split->micro_batches);
    own.split->dp = kind.replicas;
    const double batch = static_cast<double>(kind.micro_batches) / mean;
    TRY(auto parts, around_parts(own, run.prediction, loader_alone(around, batch), step, seed));
    AroundPart& wait = parts.front();
    wait.meaning = fmt::format("{}, whose batches are {:.3g} times the mean: {}", kind.share.name, batch, wait.meaning);
    waits.push_back(std::move(wait));
  }
  return *std::ranges::max_element(waits, {}, &AroundPart::per_step);
}

bool deals_unlike_batches(const MixedRun& run) {
  return !run.by_stage && std::ranges::any_of(run.kinds, [&](const MixedKind& kind) {
    return kind.micro_batches != run.kinds.front().micro_batches;
  });
}

}  // namespace

std::int64_t MixedRun::gpus() const {
  return std::accumulate(kinds.begin(), kinds.end(), std::int64_t{0},
      [](std::int64_t sum, const MixedKind& kind) { return sum + kind.share.gpus; });
}

std::vector<MachineShare> MixedRun::shares() const {
  std::vector<MachineShare> shares;
  for (const MixedKind& kind : kinds) shares.push_back(kind.share);
  return shares;
}

double MixedRun::tokens() const {
  const Plan& plan = kinds.front().scenario.plan;
  return static_cast<double>(plan.global_batch) * static_cast<double>(plan.sequence);
}

bool MixedRun::fits() const {
  return std::ranges::all_of(kinds, [&](const MixedKind& kind) {
    if (kind.replica) return kind.replica->memory.fits;
    const Bytes capacity = kind.scenario.machine.row.gpu.memory;
    const auto& peaks = prediction.step.memory.peaks;
    return std::all_of(peaks.begin() + kind.first_stage, peaks.begin() + kind.first_stage + kind.stages,
        [&](Bytes peak) { return peak <= capacity; });
  });
}

std::int64_t MixedRun::layers_of(const MixedKind& kind) const {
  std::int64_t layers = 0;
  const Program& program = prediction.program;
  for (const Chunk& chunk : program.chunks)
    for (const BlockRun& block : chunk.runs)
      if (lies_on(kind, chunk.stage) && program.blocks[block.block].is_layer) layers += block.count;
  return layers;
}

Expected<std::vector<AroundPart>> around_kinds(
    const MixedRun& run, const AroundSteps& around, Seconds step, std::uint64_t seed) {
  if (around.eval_batches > 0 && !run.by_stage)
    return fail("--eval-batches", "how replicas on several kinds of machines share an evaluation is not modelled",
        "leave it out, or pipeline stages on the kinds");
  AroundSteps others = around;
  std::vector<AroundPart> parts;
  if (around.loader && deals_unlike_batches(run)) {
    TRY(parts.emplace_back(), slowest_loaders(run, around, step, seed));
    others.loader.reset(), others.cache.reset();
  }
  TRY(auto more, around_parts(run.kinds.front().scenario, run.prediction, others, step, seed));
  std::ranges::move(more, std::back_inserter(parts));
  return parts;
}

void MixedRun::add_utilisation() {
  const Plan& plan = kinds.front().scenario.plan;
  double all = 0, peaks = 0;
  for (MixedKind& kind : kinds) all += kind.work = work_of(*this, kind);
  const Flops model = run::step_model_flops(kinds.front().scenario);
  for (MixedKind& kind : kinds) {
    kind.work /= all;
    const FlopsPerSecond peak =
        kind.scenario.machine.row.gpu.peak[static_cast<int>(plan.precision)] * static_cast<double>(kind.share.gpus);
    kind.mfu = model * kind.work / step_time / peak;
    peaks += peak.value();
  }
  mfu = model / step_time / FlopsPerSecond(peaks);
}

}  // namespace stepcast::mixed
