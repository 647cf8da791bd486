#include "studies/run/split/tried_values.h"

#include <algorithm>
#include <functional>

#include "model/base/contains.h"
#include "sim/schedule/schedule_table.h"
#include "studies/run/split/split.h"
#include "studies/run/split/switches.h"

namespace stepcast::run {
namespace {

using AxisNumbers = std::vector<std::int64_t>;

// What has been searched with profit; further values can always be said.
constexpr std::int64_t deepest_usual_pipeline = 64, most_usual_chunks = 8, most_usual_ep = 64, most_usual_cp = 16;
// from here on cp pays; Llama 3 (arXiv 2407.21783) turned it on at 131,072
constexpr std::int64_t long_positions = 16'384;
constexpr std::int64_t positions_per_cp_rank = 4096;
// layer counts with fewer divisors than this (61, 94) are split unevenly
constexpr std::size_t few_pipelines = 4;
// so are those of which hardly one divides the GPUs, too, where these have room for a pipeline
constexpr std::size_t few_runnable = 3;
constexpr std::int64_t few_runnable_from = 8;
constexpr std::int64_t most_ways_per_axis = 32'768;  // as the flags have it

AxisValues values_of(const AxisNumbers& numbers) {
  AxisValues values;
  for (const std::int64_t number : numbers) values.push_back(std::to_string(number));
  return values;
}

AxisNumbers numbers_if(const AxisNumbers& numbers, const std::function<bool(std::int64_t)>& wanted) {
  AxisNumbers kept;
  std::copy_if(numbers.begin(), numbers.end(), std::back_inserter(kept), wanted);
  return kept;
}

AxisNumbers powers_of_two(std::int64_t most) {
  AxisNumbers powers = {1};
  while (powers.back() <= most / 2) powers.push_back(2 * powers.back());
  return powers;
}

AxisNumbers divisors_to(std::int64_t number, std::int64_t most) {
  return numbers_if(divisors(number), [&](std::int64_t d) { return d <= std::min(most, most_ways_per_axis); });
}

bool lists_number(const AxisNumbers& numbers, std::int64_t number) { return contains(numbers, number); }

}  // namespace

AxisValues no_values(const AxisContext&) { return {}; }
AxisValues one_alone(const AxisContext&) { return {"1"}; }
AxisValues auto_alone(const AxisContext&) { return {"auto"}; }
AxisValues off_alone(const AxisContext&) { return {"off"}; }
AxisValues off_and_on(const AxisContext&) { return {"off", "on"}; }

static bool gpu_has(const AxisContext& c, Precision precision) {
  return c.machine->gpu.peak[static_cast<int>(precision)] > FlopsPerSecond(0);
}
/// What predict takes: bf16, or the first of the usual types that the GPU has.
AxisValues usual_precisions(const AxisContext& c) {
  for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::fp32})
    if (gpu_has(c, precision)) return {to_text(precision)};
  return {to_text(Precision::bf16)};
}
AxisValues all_precisions(const AxisContext& c) {
  AxisValues values;
  for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::fp32, Precision::tf32, Precision::fp8,
           Precision::mxfp8, Precision::nvfp4})
    if (gpu_has(c, precision)) values.emplace_back(to_text(precision));
  return values;
}

AxisValues usual_tp(const AxisContext& c) {
  const AxisNumbers legal = legal_tensor_sizes(*c.network);
  const std::int64_t most = std::min(c.machine->levels.front().gpus, c.most_gpus);
  return values_of(numbers_if(powers_of_two(most), [&](std::int64_t ways) { return lists_number(legal, ways); }));
}
AxisValues all_tp(const AxisContext& c) {
  return values_of(numbers_if(legal_tensor_sizes(*c.network), [&](std::int64_t ways) { return ways <= c.most_gpus; }));
}

AxisValues usual_cp(const AxisContext& c) {
  if (c.sequence < long_positions) return {"1"};
  const std::int64_t most = std::min({c.sequence / positions_per_cp_rank, most_usual_cp, c.most_gpus});
  return values_of(
      numbers_if(powers_of_two(most), [&](std::int64_t ways) { return ways == 1 || c.sequence % (2 * ways) == 0; }));
}
AxisValues all_cp(const AxisContext& c) { return values_of(divisors_to(c.sequence, c.most_gpus)); }
AxisValues ring_alone(const AxisContext&) { return {to_text(ContextKind::ring)}; }
AxisValues all_cp_kinds(const AxisContext&) {
  return {to_text(ContextKind::ring), to_text(ContextKind::gather), to_text(ContextKind::ulysses)};
}

static AxisNumbers even_pipelines(const NetworkSpec& network) {
  return divisors_to(network.layers, deepest_usual_pipeline);
}
/// Are there pipelines enough that divide layers and GPUs alike? Of 126 layers and 16,384 GPUs only 1 and 2 do.
static bool splits_evenly(const AxisContext& c) {
  const AxisNumbers depths = even_pipelines(*c.network);
  const AxisNumbers runnable = numbers_if(depths, [&](std::int64_t depth) { return c.most_gpus % depth == 0; });
  return depths.size() >= few_pipelines && (runnable.size() >= few_runnable || c.most_gpus < few_runnable_from);
}
AxisValues usual_pp(const AxisContext& c) {
  const AxisNumbers depths = splits_evenly(c) ? even_pipelines(*c.network)
                                              : powers_of_two(std::min(c.network->layers, deepest_usual_pipeline));
  return values_of(numbers_if(depths, [&](std::int64_t depth) { return depth <= c.most_gpus; }));
}
AxisValues all_pp(const AxisContext& c) { return values_of(divisors_to(c.network->layers, c.most_gpus)); }
AxisValues usual_chunks(const AxisContext& c) {
  if (!splits_evenly(c)) return {"1", "2", "4"};
  return values_of(divisors_to(c.network->layers, most_usual_chunks));
}
AxisValues all_chunks(const AxisContext& c) { return values_of(divisors_to(c.network->layers, c.network->layers)); }
AxisValues usual_layouts(const AxisContext& c) { return {splits_evenly(c) ? "even" : "balanced"}; }
AxisValues all_layouts(const AxisContext&) { return {"even", "balanced"}; }

AxisValues usual_ep(const AxisContext& c) {
  const std::int64_t experts = c.network->experts.count;
  if (experts == 0) return {"1"};
  const AxisNumbers powers = powers_of_two(std::min({experts, most_usual_ep, c.most_gpus}));
  return values_of(numbers_if(powers, [&](std::int64_t ways) { return experts % ways == 0; }));
}
AxisValues all_ep(const AxisContext& c) {
  return c.network->experts.count == 0 ? AxisValues{"1"}
                                       : values_of(divisors_to(c.network->experts.count, c.most_gpus));
}
AxisValues all_etp(const AxisContext& c) {
  return c.network->experts.count == 0 ? AxisValues{"1"}
                                       : values_of(divisors_to(c.network->experts.ffn_hidden, c.most_gpus));
}

AxisValues usual_orders(const AxisContext&) { return {to_text(usual_order)}; }
AxisValues all_orders(const AxisContext&) {
  AxisValues values;
  MeshOrder order = usual_order;
  std::ranges::sort(order);
  do values.push_back(to_text(order));
  while (std::next_permutation(order.begin(), order.end()));
  return values;
}

/// Selective recomputation drops what an unfused attention core keeps; a fused one keeps nothing of it.
AxisValues usual_recompute(const AxisContext& c) {
  if (c.stack != nullptr && c.stack->attention == AttentionForm::unfused) return {"none", "selective", "full"};
  return {"none", "full"};
}
AxisValues all_recompute(const AxisContext&) { return {"none", "selective", "full"}; }

AxisValues usual_micro_batches(const AxisContext& c) {
  return values_of(numbers_if({1, 2, 4, 8}, [&](std::int64_t sequences) { return c.global_batch % sequences == 0; }));
}
AxisValues all_micro_batches(const AxisContext& c) {
  constexpr std::int64_t most_in_flag = 65'536;
  return values_of(
      numbers_if(divisors(c.global_batch), [](std::int64_t sequences) { return sequences <= most_in_flag; }));
}

/// Every kind whose order follows from its sizes, on one copy of the model and whole sequences.
AxisValues all_schedule_kinds(const AxisContext&) {
  AxisValues values;
  for (const ScheduleKind& kind : schedule_kinds())
    if (kind.make != nullptr && kind.directions == 1 && !kind.takes_slices) values.push_back(kind.id);
  return values;
}
AxisValues all_zero(const AxisContext&) { return {"0", "1", "2", "3"}; }
AxisValues all_replicas(const AxisContext& c) { return values_of(divisors_to(c.most_gpus, c.most_gpus)); }

}  // namespace stepcast::run
