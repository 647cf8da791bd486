#include "studies/sweep/space/axes.h"

#include <algorithm>
#include <functional>

#include "sim/schedule/schedule_table.h"
#include "studies/run/balance.h"
#include "studies/run/split.h"
#include "studies/run/switches.h"

namespace stepcast {
namespace {

using AxisValues = std::vector<std::string>;
using AxisNumbers = std::vector<std::int64_t>;

// What has been searched with profit; further values can always be said.
constexpr std::int64_t deepest_usual_pipeline = 64, most_usual_chunks = 8, most_usual_ep = 64, most_usual_cp = 16;
constexpr std::int64_t long_positions = 16'384;       // from here on cp pays; Llama 3 (arXiv 2407.21783) turned it on at 131,072
constexpr std::int64_t positions_per_cp_rank = 4096;
constexpr std::size_t few_pipelines = 4;             // layer counts with fewer divisors than this (61, 94) are split unevenly
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

bool lists_number(const AxisNumbers& numbers, std::int64_t number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

AxisValues no_values(const AxisContext&) { return {}; }
AxisValues one_alone(const AxisContext&) { return {"1"}; }
AxisValues auto_alone(const AxisContext&) { return {"auto"}; }
AxisValues off_alone(const AxisContext&) { return {"off"}; }
AxisValues off_and_on(const AxisContext&) { return {"off", "on"}; }
AxisValues node_alone(const AxisContext&) { return {"node"}; }
AxisValues cluster_alone(const AxisContext&) { return {"cluster"}; }
AxisValues node_and_cluster(const AxisContext&) { return {"node", "cluster"}; }

bool gpu_has(const AxisContext& c, Precision precision) {
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
  for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::fp32, Precision::tf32, Precision::fp8, Precision::mxfp8,
                                    Precision::nvfp4})
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
  return values_of(numbers_if(powers_of_two(most), [&](std::int64_t ways) { return ways == 1 || c.sequence % (2 * ways) == 0; }));
}
AxisValues all_cp(const AxisContext& c) { return values_of(divisors_to(c.sequence, c.most_gpus)); }
AxisValues ring_alone(const AxisContext&) { return {to_text(ContextKind::ring)}; }
AxisValues all_cp_kinds(const AxisContext&) {
  return {to_text(ContextKind::ring), to_text(ContextKind::gather), to_text(ContextKind::ulysses)};
}

AxisNumbers even_pipelines(const NetworkSpec& network) { return divisors_to(network.layers, deepest_usual_pipeline); }
bool splits_evenly(const NetworkSpec& network) { return even_pipelines(network).size() >= few_pipelines; }
AxisValues usual_pp(const AxisContext& c) {
  const AxisNumbers depths =
      splits_evenly(*c.network) ? even_pipelines(*c.network) : powers_of_two(std::min(c.network->layers, deepest_usual_pipeline));
  return values_of(numbers_if(depths, [&](std::int64_t depth) { return depth <= c.most_gpus; }));
}
AxisValues all_pp(const AxisContext& c) { return values_of(divisors_to(c.network->layers, c.most_gpus)); }
AxisValues usual_chunks(const AxisContext& c) {
  if (!splits_evenly(*c.network)) return {"1", "2", "4"};
  return values_of(divisors_to(c.network->layers, most_usual_chunks));
}
AxisValues all_chunks(const AxisContext& c) { return values_of(divisors_to(c.network->layers, c.network->layers)); }
AxisValues usual_layouts(const AxisContext& c) { return {splits_evenly(*c.network) ? "even" : "balanced"}; }
AxisValues all_layouts(const AxisContext&) { return {"even", "balanced"}; }

AxisValues usual_ep(const AxisContext& c) {
  const std::int64_t experts = c.network->experts.count;
  if (experts == 0) return {"1"};
  const AxisNumbers powers = powers_of_two(std::min({experts, most_usual_ep, c.most_gpus}));
  return values_of(numbers_if(powers, [&](std::int64_t ways) { return experts % ways == 0; }));
}
AxisValues all_ep(const AxisContext& c) {
  return c.network->experts.count == 0 ? AxisValues{"1"} : values_of(divisors_to(c.network->experts.count, c.most_gpus));
}
AxisValues all_etp(const AxisContext& c) {
  return c.network->experts.count == 0 ? AxisValues{"1"} : values_of(divisors_to(c.network->experts.ffn_hidden, c.most_gpus));
}

AxisValues usual_orders(const AxisContext&) { return {to_text(usual_order)}; }
AxisValues all_orders(const AxisContext&) {
  AxisValues values;
  MeshOrder order = usual_order;
  std::sort(order.begin(), order.end());
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
  return values_of(numbers_if(divisors(c.global_batch), [](std::int64_t sequences) { return sequences <= most_in_flag; }));
}

/// Every kind whose order follows from its sizes, on one copy of the model and whole sequences.
AxisValues all_schedule_kinds(const AxisContext&) {
  AxisValues values;
  for (const ScheduleKind& kind : schedule_kinds())
    if (kind.make != nullptr && kind.directions == 1 && !kind.takes_slices) values.push_back(kind.id);
  return values;
}
AxisValues all_zero(const AxisContext&) { return {"0", "1", "2", "3"}; }
AxisValues all_copies(const AxisContext& c) { return values_of(divisors_to(c.most_gpus, c.most_gpus)); }

constexpr std::array<AxisRow, axis_count> axis_table = {{
    {.id = AxisId::gpus, .key = "gpus", .flag = "--gpus", .number = true, .usual = no_values, .all = no_values,
     .doc = "GPUs of the run; required"},
    {.id = AxisId::precision, .key = "precision", .flag = "--precision", .usual = usual_precisions, .all = all_precisions,
     .doc = "number type of the matrix products; default: bf16 where the GPU has it"},
    {.id = AxisId::tp, .key = "tp", .flag = "--tp", .number = true, .usual = usual_tp, .all = all_tp,
     .doc = "tensor parallelism; default: powers of two inside a node"},
    {.id = AxisId::cp, .key = "cp", .flag = "--cp", .number = true, .usual = usual_cp, .all = all_cp,
     .doc = "context parallelism; default: 1, from 16,384 positions on powers of two to 16"},
    {.id = AxisId::cp_kind, .key = "cp_kind", .flag = "--cp-kind", .usual = ring_alone, .all = all_cp_kinds,
     .doc = "ring, gather or ulysses; default: ring"},
    {.id = AxisId::pp, .key = "pp", .flag = "--pp", .number = true, .usual = usual_pp, .all = all_pp,
     .doc = "pipeline stages; default: divisors of the layers to 64, powers of two where they are few"},
    {.id = AxisId::ep, .key = "ep", .flag = "--ep", .number = true, .usual = usual_ep, .all = all_ep,
     .doc = "expert parallelism; default: powers of two that divide the experts, to 64"},
    {.id = AxisId::etp, .key = "etp", .flag = "--etp", .number = true, .usual = one_alone, .all = all_etp,
     .doc = "tensor parallelism inside an expert; default: 1"},
    {.id = AxisId::order, .key = "order", .flag = "--order", .usual = usual_orders, .all = all_orders,
     .doc = "axes on the machine's ranks, fastest first; default: tp-cp-dp-pp"},
    {.id = AxisId::tp_tier, .key = "tp_tier", .flag = "", .usual = node_alone, .all = node_and_cluster,
     .doc = "where tp lies: node or cluster"},
    {.id = AxisId::pp_tier, .key = "pp_tier", .flag = "", .usual = cluster_alone, .all = node_and_cluster,
     .doc = "where pp lies: node or cluster"},
    {.id = AxisId::dp_tier, .key = "dp_tier", .flag = "", .usual = cluster_alone, .all = node_and_cluster,
     .doc = "where dp lies: node or cluster"},
    {.id = AxisId::sp, .key = "sp", .flag = "--sp", .own_word = "auto", .usual = auto_alone, .all = off_and_on,
     .doc = "sequence parallelism beside tp; default: auto, on where the sequence divides"},
    {.id = AxisId::scatter_boundary, .key = "scatter_boundary", .flag = "--scatter-boundary", .own_word = "auto", .usual = auto_alone,
     .all = off_and_on, .doc = "stages send tp pieces; default: auto, the stack's way"},
    {.id = AxisId::save_gathered, .key = "save_gathered", .flag = "--save-gathered", .usual = off_alone, .all = off_and_on,
     .doc = "keep what sp gathered for backward; default: off"},
    {.id = AxisId::tp_overlap, .key = "tp_overlap", .flag = "--tp-overlap", .own_word = "auto", .usual = auto_alone, .all = off_and_on,
     .doc = "moves inside a layer run beside compute; default: auto, the stack's way"},
    {.id = AxisId::recompute, .key = "recompute", .flag = "--recompute", .usual = usual_recompute, .all = all_recompute,
     .doc = "none, selective, full, full:N; default: none,full, with unfused attention selective too"},
    {.id = AxisId::micro_batch, .key = "micro_batch", .flag = "--micro-batch", .number = true, .usual = usual_micro_batches,
     .all = all_micro_batches, .doc = "sequences per rank and micro-batch; default: of 1,2,4,8 those that divide the batch"},
    {.id = AxisId::chunks, .key = "chunks", .flag = "--chunks", .number = true, .usual = usual_chunks, .all = all_chunks,
     .doc = "virtual stages per rank; default: divisors of the layers to 8"},
    {.id = AxisId::schedule, .key = "schedule", .flag = "--schedule", .own_word = "auto", .usual = auto_alone, .all = all_schedule_kinds,
     .doc = "pipeline schedule; default: auto, 1f1b or with chunks interleaved-1f1b"},
    {.id = AxisId::layout, .key = "layout", .flag = "--layout", .commas = true, .usual = usual_layouts, .all = all_layouts,
     .doc = "layers on stages, parted by ';'; default: even, balanced where layers have few divisors"},
    {.id = AxisId::zero, .key = "zero", .flag = "--zero", .number = true, .usual = one_alone, .all = all_zero,
     .doc = "what dp shards: 1 optimizer, 2 gradients too, 3 weights too; default: 1"},
    {.id = AxisId::dp_replicate, .key = "dp_replicate", .flag = "--dp-replicate", .number = true, .usual = one_alone, .all = all_copies,
     .doc = "copies of what zero shards (hybrid sharding, HSDP); default: 1"},
    {.id = AxisId::dp_overlap, .key = "dp_overlap", .flag = "--dp-overlap", .own_word = "auto", .usual = auto_alone, .all = off_and_on,
     .doc = "gradient moves run beside compute; default: auto, the stack's way"},
}};

constexpr bool in_order_of_ids() {
  for (std::size_t i = 0; i < axis_count; ++i)
    if (axis_table[i].id != static_cast<AxisId>(i)) return false;
  return true;
}
static_assert(in_order_of_ids());

}  // namespace

std::span<const AxisRow> axis_rows() { return axis_table; }

const AxisRow& row_of(AxisId id) { return axis_table[static_cast<std::size_t>(id)]; }

const AxisRow* find_axis(std::string_view key_or_flag) {
  const auto found = std::find_if(axis_table.begin(), axis_table.end(), [&](const AxisRow& row) {
    return !key_or_flag.empty() && (row.key == key_or_flag || row.flag == key_or_flag);
  });
  return found == axis_table.end() ? nullptr : &*found;
}

}  // namespace stepcast
