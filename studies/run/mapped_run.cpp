#include "studies/run/mapped_run.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/lower/lower.h"
#include "dataflow/lower/read_plan.h"
#include "dataflow/notation/mapping.h"
#include "dataflow/lower/stages.h"
#include "studies/run/split/split.h"

namespace stepcast::run {
namespace {

constexpr std::int64_t most_mapped_ranks = 10'000'000;

/// A mapping says how the work is split in full, so a flag that says a part of it again would be dropped in silence.
Expected<void> check_alone(const Request::Value& mapping, const Request& request) {
  for (const RunField& field : run_fields()) {
    const Request::Value* value = field.splits ? request.find(field.id) : nullptr;
    if (value == nullptr) continue;
    return fail(value->where, fmt::format("the mapping {} already says how the work is split", mapping.where),
        "change the mapping, or leave it out and use the flags");
  }
  return {};
}

Expected<std::int64_t> ranks_of(const MeshLine& mesh, const std::string& where) {
  std::int64_t ranks = 1;
  for (const MeshLine::Axis& axis : mesh.axes) {
    if (axis.size < 1 || axis.size > most_mapped_ranks / ranks)
      return fail(where, fmt::format("axis {}:{} makes an absurd number of ranks", axis.name, axis.size),
          fmt::format("at most {} ranks", most_mapped_ranks));
    ranks *= axis.size;
  }
  return ranks;
}

std::string axes_in_words(const MeshLine& mesh) {
  std::vector<std::string> words;
  for (const MeshLine::Axis& axis : mesh.axes) words.push_back(fmt::format("{} {}", axis.name, axis.size));
  return fmt::format("{}", fmt::join(words, ", "));
}

/// The stage statement, wherever an alias hides it.
const StageStatement* stage_of(const std::vector<Statement>& statements) {
  for (const Statement& statement : statements)
    if (const auto* stage = std::get_if<StageStatement>(&statement.body)) return stage;
  return nullptr;
}

std::int64_t stages_of(const MappingProgram& program, const StageStatement* stage) {
  if (stage == nullptr) return 1;
  for (const MeshLine& mesh : program.meshes)
    for (const MeshLine::Axis& axis : mesh.axes)
      if (axis.name == stage->axis) return axis.size;
  return 1;
}

/// Global batch from what is said, else from the mapping's own `for mb:M`, else a few micro-batches per stage.
std::int64_t batch_of(
    MappedRun& run, const Request& request, std::int64_t per_micro_batch, std::int64_t stated, std::int64_t stages) {
  if (request.says(FieldId::global_batch)) return request.wishes().global_batch;
  const std::int64_t batches = stated > 0 ? stated : default_batches_per_stage * stages;
  const std::string why = fmt::format("{} micro-batches{}", batches, stated > 0 ? " in the mapping" : "");
  run.assumptions.push_back({"--global-batch", std::to_string(batches * per_micro_batch), why});
  return batches * per_micro_batch;
}

Expected<void> check_batch(
    const MappedRun& run, const Request& request, std::int64_t per_micro_batch, std::int64_t stated) {
  const std::int64_t batch = run.plan.global_batch;
  if (batch % per_micro_batch != 0)
    return fail(request.where(FieldId::global_batch),
        fmt::format("global batch {} is not a multiple of micro-batch {} x {} ranks that split the batch = {}", batch,
            run.plan.micro_batch, per_micro_batch / run.plan.micro_batch, per_micro_batch),
        fmt::format("nearest: {}", nearest_multiples(batch, per_micro_batch)));
  if (stated > 0 && batch / per_micro_batch != stated)
    return fail(request.where(FieldId::global_batch),
        fmt::format("global batch {} makes {} micro-batches, but the mapping says mb:{}", batch,
            batch / per_micro_batch, stated),
        fmt::format("global batch {}, or mb:* in the mapping", stated * per_micro_batch));
  return {};
}

}  // namespace

Expected<MappedRun> read_mapped_run(const Request::Value& mapping, const Request& request, const Plan& plan) {
  MappedRun run{plan, 1, {}};
  run.plan.mapping = mapping.text;
  run.plan.mapping_where = mapping.where;
  TRY(check_alone(mapping, request));
  TRY(const auto program, parse(mapping.text, mapping.where));
  if (program.meshes.empty())
    return fail(mapping.where, "no mesh line", "start with one such as: mesh tp:8 cp:1 dp:16 pp:4");
  TRY(const auto statements, expand(program));
  TRY(const auto ranks, ranks_of(program.meshes.front(), mapping.where));
  const bool told = request.says(FieldId::gpus);
  if (!told) run.assumptions.push_back({"--gpus", std::to_string(ranks), "the mesh"});
  run.plan.gpus = told ? request.wishes().gpus : ranks;
  if (run.plan.gpus != ranks)
    return fail(request.where(FieldId::gpus),
        fmt::format("{} GPUs, but the mesh {} makes {}", run.plan.gpus, axes_in_words(program.meshes.front()), ranks),
        fmt::format("{} GPUs, or another mesh line in {}", ranks, mapping.where));

  TRY(const auto splitters, batch_ranks(run.plan));
  const StageStatement* stage = stage_of(statements);
  const std::int64_t stated = stage == nullptr ? 0 : stage->micro_batches;
  const std::int64_t per_micro_batch = plan.micro_batch * splitters;
  run.plan.global_batch = batch_of(run, request, per_micro_batch, stated, stages_of(program, stage));
  TRY(check_batch(run, request, per_micro_batch, stated));
  run.micro_batches = run.plan.global_batch / per_micro_batch;
  if (stage != nullptr) {
    const std::int64_t stages = stages_of(program, stage);
    const ScheduledRun scheduled{stage->schedule, stages, chunks_of(stage->layout, stages), run.micro_batches};
    TRY(check_schedule(scheduled, mapping.where, request.where(FieldId::global_batch)));
  }
  return run;
}

std::string mapping_in_words(const Plan& plan) {
  const auto program = parse(plan.mapping, plan.mapping_where);
  if (!program || program->meshes.empty()) return {};
  std::string words = axes_in_words(program->meshes.front());
  for (const auto& item : program->body)
    if (const auto* use = std::get_if<Use>(&item)) words += fmt::format("; {}", fmt::join(use->names, ", "));
  const auto statements = expand(*program);
  const StageStatement* stage = statements ? stage_of(*statements) : nullptr;
  return stage == nullptr ? words : fmt::format("{}; {}", words, stage->schedule);
}

}  // namespace stepcast::run
