// Rules about stages, micro-batches and the batch. Refusals of Megatron are those of validate_args
// (megatron/training/arguments.py, main of 2026-08) unless another file is named.
#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/launch/rules/interaction_rule.h"

namespace stepcast {
namespace {

const Asked* chunk_question(LaunchView& run) {
  static constexpr Asked questions[] = {Asked::chunks, Asked::layers_per_chunk};
  for (const Asked& asked : questions)
    if (run.ask.answering(asked) != nullptr) return &asked;
  return nullptr;
}

bool wants_chunks(LaunchView& run) {
  const Asked* asked = chunk_question(run);
  return asked != nullptr && (*asked == Asked::layers_per_chunk || run.chunks > 1);
}

std::string chunks_without_stages(LaunchView& run) {
  if (run.pp > 1 || !wants_chunks(run)) return {};
  return fmt::format("{} at pp 1: one stage has no virtual stages, and Megatron refuses to interleave it",
      run.called(*chunk_question(run)));
}

/// Two ranks would send and receive twice between each other in one batch of calls.
std::string chunks_on_two_stages(LaunchView& run) {
  const bool apart = run.ask.flag(Asked::no_overlap_stages, false);
  const bool old = (framework_bits(*run.launch.framework) & megatron_deepspeed) != 0;
  if (run.pp != 2 || !wants_chunks(run) || !(apart || old)) return {};
  return fmt::format("virtual stages on pp 2 {}: refused, more than 2 stages are needed",
      old ? "in Megatron-DeepSpeed" : fmt::format("with {}", run.called(Asked::no_overlap_stages)));
}

/// megatron/core/pipeline_parallel/schedules.py: with groups of pp micro-batches, the default.
std::string batches_over_stages(LaunchView& run) {
  if (run.chunks < 2 || run.pp < 2 || run.micro_batches == 0 || run.micro_batches % run.pp == 0) return {};
  return fmt::format(
      "{} micro-batches are no multiple of pp {}: the interleaved schedule is illegal", run.micro_batches, run.pp);
}

/// A forecast has dealt them out: DeepSpeed's partitions by size, for one, may be uneven.
bool says_where_layers_lie(LaunchView& run) {
  if (run.scenario != nullptr || run.has("pp_partition_method")) return true;
  for (const Asked asked : {Asked::layout, Asked::first_layers, Asked::last_layers})
    if (run.ask.answering(asked) != nullptr) return true;
  return false;
}

/// Embedding and loss may count as a layer each.
std::int64_t counted_layers(LaunchView& run) {
  return run.layers + (run.ask.flag(Asked::embedding_as_layer, false) ? 1 : 0) +
         (run.ask.flag(Asked::loss_as_layer, false) ? 1 : 0);
}

std::string layers_over_stages(LaunchView& run) {
  const std::int64_t layers = counted_layers(run), parts = run.pp * run.chunks;
  if (run.layers == 0 || run.pp < 2 || says_where_layers_lie(run) || layers % parts == 0) return {};
  return fmt::format("{} layers do not divide over pp {} x {} virtual stage{} = {}", layers, run.pp, run.chunks,
      run.chunks == 1 ? "" : "s", parts);
}

std::string chunk_over_stage(LaunchView& run) {
  const auto each = run.ask.count(Asked::layers_per_chunk);
  if (!each || run.layers == 0 || counted_layers(run) % run.pp != 0) return {};
  const std::int64_t stage = counted_layers(run) / run.pp;
  if (stage % *each == 0) return {};
  return fmt::format(
      "{} {} does not divide the {} layers of a stage", run.called(Asked::layers_per_chunk), *each, stage);
}

std::string chunks_said_twice(LaunchView& run) {
  std::string said;
  int count = 0;
  for (const Asked asked : {Asked::chunks, Asked::layers_per_chunk, Asked::layout})
    if (run.ask.answering(asked) != nullptr) {
      said += (said.empty() ? "" : " and ") + run.called(asked);
      ++count;
    }
  return count < 2 ? "" : said + ": only one of them may say how layers lie on virtual stages";
}

std::string overlap_without_chunks(LaunchView& run) {
  if (!run.ask.flag(Asked::overlap_stages, false) || run.chunks > 1) return {};
  return fmt::format("{} has no effect without virtual stages: only the interleaved schedule sends beside its work",
      run.called(Asked::overlap_stages));
}

/// Narayanan et al. 2021 (arXiv 2104.04473) section 2.2: (pp - 1) / (m v) of the work; here as a share of the whole.
double ideal_bubble(const LaunchView& run, std::int64_t batches) {
  const auto idle = static_cast<double>(run.pp - 1);
  return idle / (static_cast<double>(batches * run.chunks) + idle);
}

std::string few_batches(LaunchView& run) {
  if (run.pp < 2 || run.micro_batches == 0 || run.micro_batches >= 4 * run.pp) return {};
  const std::string share = run.prediction != nullptr
                                ? fmt::format("{} (forecast)", format_percent(run.prediction->step.bubble_fraction))
                                : fmt::format("at least {}", format_percent(ideal_bubble(run, run.micro_batches)));
  return fmt::format(
      "{} micro-batch{} on {} stages: the ranks stand idle {} of the pipeline's time; with {} it would be about {}",
      run.micro_batches, run.micro_batches == 1 ? "" : "es", run.pp, share, 4 * run.pp,
      format_percent(ideal_bubble(run, 4 * run.pp)));
}

/// torchtitan/distributed/pipeline_parallel.py warns of it.
std::string batches_below_stages(LaunchView& run) {
  const std::int64_t stages = run.pp * run.chunks, piece = run.ask.count(Asked::stage_batch, 1);
  if (run.pp < 2 || run.micro_batch == 0 || run.micro_batch / piece >= stages) return {};
  return fmt::format(
      "a rank's batch of {} in pieces of {} makes {} micro-batches for {} stages: some stages always wait",
      run.micro_batch, piece, run.micro_batch / piece, stages);
}

std::string batch_not_said(LaunchView& run) {
  if (run.global_batch > 0 || run.ask.answering(Asked::global_batch) != nullptr || run.micro_batch == 0) return {};
  const std::string product =
      run.dp > 0 ? fmt::format("micro-batch {} x dp {} = {}", run.micro_batch, run.dp, run.micro_batch * run.dp)
                 : "micro-batch x dp";
  return fmt::format("{} is not given: it becomes {}, one micro-batch per step and no accumulation",
      run.called(Asked::global_batch), product);
}

std::string batch_over_ranks(LaunchView& run) {
  const std::int64_t each = run.micro_batch * run.dp;
  if (run.global_batch == 0 || each == 0 || run.global_batch % each == 0) return {};
  return fmt::format(
      "global batch {} is no multiple of micro-batch {} x dp {} = {}", run.global_batch, run.micro_batch, run.dp, each);
}

/// deepspeed/runtime/config.py: all three given must agree.
std::string batch_sizes_disagree(LaunchView& run) {
  const std::int64_t steps = run.ask.count(Asked::accumulation, 0), each = run.micro_batch * run.dp;
  if (run.global_batch == 0 || steps == 0 || each == 0 || each * steps == run.global_batch) return {};
  return fmt::format("{} {}, but micro-batch {} x {} accumulation steps x dp {} = {}: DeepSpeed stops",
      run.called(Asked::global_batch), run.global_batch, run.micro_batch, steps, run.dp, each * steps);
}

std::string batch_ramps_up(LaunchView& run) {
  const GivenArgument* ramp = run.given("rampup_batch_size");
  if (ramp == nullptr) return {};
  return fmt::format("{} {}: the first steps take fewer micro-batches; the forecast is of the full batch",
      run.called("rampup_batch_size"), ramp->value);
}

constexpr InteractionRule pipeline_interaction_rules[] = {
    {"chunks without stages", megatron_core | megatron_deepspeed, true, "chunks layers_per_chunk pp",
        chunks_without_stages},
    {"chunks on two stages", megatron_core | megatron_deepspeed, true, "chunks layers_per_chunk pp no_overlap_stages",
        chunks_on_two_stages},
    {"batches over stages", megatron_core | megatron_deepspeed, true,
        "global_batch micro_batch chunks layers_per_chunk pp", batches_over_stages},
    {"layers over stages", megatron_core | megatron_deepspeed, true, "layers pp chunks layers_per_chunk",
        layers_over_stages},
    {"chunk over stage", megatron_core | megatron_deepspeed, true, "layers_per_chunk layers pp", chunk_over_stage},
    {"chunks said twice", megatron_core, true, "chunks layers_per_chunk layout", chunks_said_twice},
    {"overlap without chunks", megatron_core, true, "overlap_stages", overlap_without_chunks},
    {"few batches", any_framework, false, "global_batch micro_batch accumulation pp", few_batches},
    {"batches below stages", torchtitan, true, "micro_batch stage_batch pp", batches_below_stages},
    {"batch not said", megatron_core | megatron_deepspeed, false, "micro_batch", batch_not_said},
    {"batch over ranks", any_framework, true, "global_batch micro_batch", batch_over_ranks},
    {"batch sizes disagree", deepspeed, true, "global_batch micro_batch accumulation", batch_sizes_disagree},
    {"batch ramps up", any_framework, false, "rampup_batch_size global_batch", batch_ramps_up},
};

}  // namespace

std::span<const InteractionRule> pipeline_rules_of_launches() { return pipeline_interaction_rules; }

}  // namespace stepcast
