#include "studies/run/sequence_slices.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/lower/lower.h"
#include "model/errors/error_context.h"
#include "sim/schedule/schedule_table.h"
#include "sim/step.h"
#include "studies/run/split/split.h"

namespace stepcast::run {
namespace {

std::string kinds_with_slices() {
  std::vector<std::string> ids;
  for (const ScheduleKind& kind : schedule_kinds())
    if (kind.takes_slices) ids.push_back(kind.id);
  return fmt::format("{}", fmt::join(ids, " or "));
}

Expected<void> check_kind(const Scenario& scenario, const Program& whole) {
  const auto kind = find_schedule(whole.schedule);
  if (kind && (*kind)->takes_slices) return {};
  return fail(scenario.pipeline.slices_where,
      fmt::format("schedule {} does not cut the sequence into {}", whole.schedule, scenario.pipeline.slices),
      fmt::format("--schedule {}, or leave it out", kinds_with_slices()));
}

Expected<void> check_positions(const Scenario& scenario) {
  const std::int64_t positions = scenario.plan.sequence, slices = scenario.pipeline.slices;
  if (positions % slices == 0) return {};
  return fail(scenario.pipeline.slices_where,
      fmt::format("{} positions do not divide into {} slices", positions, slices),
      fmt::format("nearest: {}", nearest_values(divisors(positions), slices)));
}

/// Scores that are written out grow with the keys of all earlier slices, and so does what softmax reads of them.
Expected<void> check_attention(const Scenario& scenario) {
  if (has_windows(scenario.network.row, scenario.plan.sequence))
    return fail(scenario.pipeline.slices_where,
        fmt::format(
            "the window of {} positions ends in earlier slices: not modelled", scenario.network.row.window.positions),
        "a network without windows, or one slice");
  const NetworkSpec& network = scenario.network.row;
  const auto refuse = [&](std::string why) {
    return fail(scenario.pipeline.slices_where, std::move(why), "one slice");
  };
  if (const std::vector<Mixer> all = mixers(network); !all.empty())
    return refuse(fmt::format("the states of {} are carried from slice to slice: not modelled", all.front().form->id));
  if (picks_keys(network, scenario.plan.sequence)) return refuse("keys are chosen in earlier slices: not modelled");
  if (network.compressed.q_rank > 0) return refuse("keys of earlier slices are compressed: not modelled");
  if (!network.encoders.empty()) return refuse("what the encoder made serves all slices: not modelled");
  if (!network.causal) return refuse("attention without a causal mask reads later slices");
  if (scenario.stack.row.attention == AttentionForm::fused) return {};
  return fail(scenario.pipeline.slices_where,
      fmt::format("stack {} writes attention scores out, whose size differs from slice to slice: not modelled",
          scenario.stack.row.id),
      "a stack with fused attention, such as --stack megatron-core");
}

/// A rank that holds a part of the positions holds another part of every slice; what it needs of earlier slices moves.
Expected<void> check_whole_positions(const Scenario& scenario, const Plan& plan) {
  TRY(const auto mapping, explain(scenario.network.row, plan, scenario.stack.row));
  for (const Explanation::Choice& choice : mapping.choices) {
    if (!choice.op.starts_with("attn.core") || (choice.loop != "s" && choice.loop != "t")) continue;
    return fail(scenario.pipeline.slices_where,
        fmt::format("axis {} splits the positions of the attention too: what it moves for the keys of earlier "
                    "slices is not modelled",
            choice.axis),
        fmt::format("slices or positions on {}, not both", choice.axis));
  }
  return {};
}

}  // namespace

Expected<std::vector<Program>> lower_slices(const Scenario& scenario, const Program& whole) {
  TRY(check_kind(scenario, whole));
  TRY(check_positions(scenario));
  TRY(check_attention(scenario));
  Plan plan = scenario.plan;
  plan.sequence /= scenario.pipeline.slices;
  auto first = lower(scenario.network.row, plan, scenario.stack.row);
  if (!first)
    return tl::unexpected(error_at(scenario.pipeline.slices_where,
        error_about(fmt::format("a slice has {} positions", plan.sequence), first.error())));
  TRY(check_whole_positions(scenario, plan));
  return slice_programs(*first, static_cast<int>(scenario.pipeline.slices));
}

}  // namespace stepcast::run
