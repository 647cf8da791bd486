#include "studies/launch/emit/emit_beside.h"

#include <fmt/format.h>

#include "model/catalog.h"
#include "model/untold_stack.h"
#include "studies/cli/shell_word.h"
#include "studies/launch/emit/emit_text.h"
#include "studies/launch/facts/text_if.h"
#include "studies/run/encoders.h"

namespace stepcast::launch {
namespace {

std::string flag_beside(std::string_view flag, const std::string& id) {
  return id.empty() ? "" : fmt::format(" {} {}", flag, shell_word(id));
}

}  // namespace

std::string seq_beside(const EmitPlan& plan) {
  const std::int64_t sequence = sequence_of(plan);
  return text_if(sequence != plan.scenario->network.row.sequence, "--seq {}", sequence);
}

std::string read_back_line(
    const EmitPlan& plan, std::string_view flag, std::string_view file, const std::string& beside) {
  const Scenario& scenario = *plan.scenario;
  const std::string network = scenario.network.id.empty() ? "NETWORK.json" : shell_word(scenario.network.id);
  const double masked = scenario.network.row.masked_share;
  std::string lengths;
  for (const NetworkSpec& encoder : scenario.network.row.encoders)
    lengths = fmt::format(" --encoder-seq {}{}", encoder.sequence,
        encoder.images > 0 ? fmt::format(" --{} {}", encoder.sound ? "clips" : "images", encoder.images) : "");
  if (const std::string frozen = run::frozen_parts(scenario.network.row); !frozen.empty())
    lengths += " --freeze " + frozen;
  return fmt::format("stepcast predict {} {} {}{}{}{}{}{}{}", network, flag, file, beside.empty() ? "" : " ", beside,
      flag_beside("--machine", scenario.machine.id), flag_beside("--stack", scenario.stack.id),
      masked > 0 ? fmt::format(" --masked-share {}", masked) : "", lengths);
}

bool needs_schedule(const Split& split) { return split.pp > 1 && (split.schedule != "1f1b" || split.chunks > 1); }

std::string order_gap(const Split& split) {
  return text_if(!lies_as(split, usual_order), "the mesh order {}; it lays ranks as {}", to_text(split.order),
      to_text(usual_order));
}

std::string recompute_in_words(const Recompute& recompute) {
  if (recompute.kind == Recompute::Kind::selective) return "recomputation of the attention core alone";
  if (recompute.layers == 0) return "recomputation of every layer";
  return fmt::format("recomputation of {} layer{} of each stage", recompute.layers, recompute.layers == 1 ? "" : "s");
}

const Stack* habit_of(const EmitPlan& plan) {
  for (const Stack& row : built_in().stacks)
    if (row.id == named_row_of(plan.scenario->stack.id)) return &row;
  return nullptr;
}

std::string boundary_gap(const EmitPlan& plan) {
  const Stack* habit = habit_of(plan);
  const Stack& row = plan.scenario->stack.row;
  const bool switched =
      habit != nullptr && (habit->statements != row.statements || habit->boundary_sends != row.boundary_sends);
  if (!switched && plan.split.scatter != Scatter::stated) return {};
  return "how the stream crosses between stages; the file has no switch for it";
}

std::vector<std::string> beside_unsaid(const EmitPlan& plan, std::string_view name) {
  const Plan& run = plan.scenario->plan;
  std::vector<std::string> unsaid = unsaid_by_all(plan, name);
  add_gaps(
      unsaid, {predictors_gap(plan),
                  text_if(run.lora_rank > 0,
                      "adapters of rank {}{}; its program makes them (PEFT), else all weights are trained",
                      run.lora_rank, run.adapted.all() ? "" : " on " + run.adapted.text()),
                  text_if(run.precision == Precision::tf32,
                      "tf32 products; its program sets them (torch.backends.cuda.matmul.allow_tf32), else products are "
                      "fp32")});
  return unsaid;
}

}  // namespace stepcast::launch
