// Rules about stages, micro-batches and the batch. Refusals of Megatron are those of validate_args
// (megatron/training/arguments.py, main of 2026-08) unless another file is named.
#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/launch/facts/text_if.h"
#include "studies/launch/read/launched_run.h"
#include "studies/launch/rules/interaction_rule.h"

namespace stepcast::launch {
namespace {

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

}  // namespace

std::vector<InteractionRule> pipeline_rules_of_launches(LaunchView& run) {
  constexpr unsigned megatrons = megatron_core | megatron_deepspeed;
  const bool by_number = run.ask.answering(Asked::chunks) != nullptr,
             by_layers = run.ask.answering(Asked::layers_per_chunk) != nullptr;
  const bool wants_chunks = by_number ? run.chunks > 1 : by_layers;
  const bool apart = run.asks(Asked::no_overlap_stages), old = (run.framework_bits & megatron_deepspeed) != 0;
  const std::int64_t layers = counted_layers(run), parts = run.pp * run.chunks;
  const std::int64_t layers_each = run.ask.count(Asked::layers_per_chunk, 1), stage_layers = layers / run.pp;
  const std::int64_t piece = run.ask.count(Asked::stage_batch, 1), pieces = run.micro_batch / piece;
  const std::int64_t each = run.micro_batch * run.dp, steps = run.ask.count(Asked::accumulation, 0);
  const std::int64_t batch = run.global_batch, accumulated = bounded_product({each, steps});
  const GivenArgument* ramp = run.given("rampup_batch_size");
  return {
      {"chunks without stages", megatrons, true, "chunks layers_per_chunk pp",
          text_if(run.pp == 1 && wants_chunks,
              "{} at pp 1: one stage has no virtual stages, and Megatron refuses to interleave it",
              run.called(by_number ? Asked::chunks : Asked::layers_per_chunk))},
      // Two ranks would send and receive twice between each other in one batch of calls.
      {"chunks on two stages", megatrons, true, "chunks layers_per_chunk pp no_overlap_stages",
          text_if(run.pp == 2 && wants_chunks && (apart || old),
              "virtual stages on pp 2 {}: refused, more than 2 stages are needed",
              old ? "in Megatron-DeepSpeed" : fmt::format("with {}", run.called(Asked::no_overlap_stages)))},
      // megatron/core/pipeline_parallel/schedules.py: with groups of pp micro-batches, the default.
      {"batches over stages", megatrons, true, "global_batch micro_batch chunks layers_per_chunk pp",
          text_if(run.chunks > 1 && run.pp > 1 && run.micro_batches % run.pp != 0,
              "{} micro-batches are no multiple of pp {}: the interleaved schedule is illegal", run.micro_batches,
              run.pp)},
      {"layers over stages", megatrons, true, "layers pp chunks layers_per_chunk",
          text_if(run.layers > 0 && run.pp > 1 && !says_where_layers_lie(run) && layers % parts != 0,
              "{} layers do not divide over pp {} x {} virtual stage{} = {}", layers, run.pp, run.chunks,
              run.chunks == 1 ? "" : "s", parts)},
      {"chunk over stage", megatrons, true, "layers_per_chunk layers pp",
          text_if(run.layers > 0 && layers % run.pp == 0 && stage_layers % layers_each != 0,
              "{} {} does not divide the {} layers of a stage", run.called(Asked::layers_per_chunk), layers_each,
              stage_layers)},
      {"chunks said twice", megatron_core, true, "chunks layers_per_chunk layout", chunks_said_twice(run)},
      {"overlap without chunks", megatron_core, true, "overlap_stages",
          text_if(run.asks(Asked::overlap_stages) && run.chunks == 1,
              "{} has no effect without virtual stages: only the interleaved schedule sends beside its work",
              run.called(Asked::overlap_stages))},
      {"few batches", any_framework, false, "global_batch micro_batch accumulation pp", few_batches(run)},
      // torchtitan/distributed/pipeline_parallel.py warns of it.
      {"batches below stages", torchtitan, true, "micro_batch stage_batch pp",
          text_if(run.pp > 1 && run.micro_batch > 0 && pieces < parts,
              "a rank's batch of {} in pieces of {} makes {} micro-batches for {} stages: some stages always wait",
              run.micro_batch, piece, pieces, parts)},
      {"batch not said", megatrons, false, "micro_batch",
          text_if(run.ask.answering(Asked::global_batch) == nullptr && batch == 0 && run.micro_batch > 0,
              "{} is not given: it becomes {}, one micro-batch per step and no accumulation",
              run.called(Asked::global_batch),
              run.dp > 0 ? fmt::format("micro-batch {} x dp {} = {}", run.micro_batch, run.dp, each)
                         : "micro-batch x dp")},
      {"batch over ranks", any_framework, true, "global_batch micro_batch",
          text_if(each > 0 && batch % each != 0, "global batch {} is no multiple of micro-batch {} x dp {} = {}", batch,
              run.micro_batch, run.dp, each)},
      // deepspeed/runtime/config.py: all three given must agree.
      {"batch sizes disagree", deepspeed, true, "global_batch micro_batch accumulation",
          text_if(batch > 0 && accumulated > 0 && accumulated != batch,
              "{} {}, but micro-batch {} x {} accumulation steps x dp {} = {}: DeepSpeed stops",
              run.called(Asked::global_batch), batch, run.micro_batch, steps, run.dp, accumulated)},
      {"batch ramps up", any_framework, false, "rampup_batch_size global_batch",
          text_if(ramp != nullptr, "{} {}: the first steps take fewer micro-batches; the forecast is of the full batch",
              run.called("rampup_batch_size"), ramp == nullptr ? "" : ramp->value)},
  };
}

}  // namespace stepcast::launch
