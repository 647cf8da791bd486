#include "studies/launch/emit/emit_beside.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/catalog.h"
#include "studies/cli/shell_word.h"
#include "studies/launch/emit/emit_text.h"

namespace stepcast {
namespace {

std::string flag_beside(std::string_view flag, const std::string& id) {
  return id.empty() ? "" : fmt::format(" {} {}", flag, shell_word(id));
}

std::vector<MeshAxis> axes_of_several(const Split& split) {
  const std::int64_t sizes[] = {split.tp, split.cp, split.dp, split.pp};
  std::vector<MeshAxis> axes;
  for (const MeshAxis axis : split.order)
    if (sizes[static_cast<std::size_t>(axis)] > 1) axes.push_back(axis);
  return axes;
}

}  // namespace

std::string seq_beside(const EmitPlan& plan) {
  const Scenario& scenario = *plan.scenario;
  const bool own = scenario.plan.sequence == 0 || scenario.plan.sequence == scenario.network.row.sequence;
  return own ? "" : fmt::format("--seq {}", scenario.plan.sequence);
}

std::string read_back_line(
    const EmitPlan& plan, std::string_view flag, std::string_view file, const std::string& beside) {
  const Scenario& scenario = *plan.scenario;
  const std::string network = scenario.network.id.empty() ? "NETWORK.json" : shell_word(scenario.network.id);
  return fmt::format("stepcast predict {} {} {}{}{}{}{}", network, flag, file, beside.empty() ? "" : " ", beside,
      flag_beside("--machine", scenario.machine.id), flag_beside("--stack", scenario.stack.id));
}

bool lies_as_usual(const Split& split) {
  // The enumerators stand in the usual order.
  const std::vector<MeshAxis> axes = axes_of_several(split);
  return std::is_sorted(axes.begin(), axes.end());
}

std::string recompute_in_words(const Recompute& recompute) {
  if (recompute.kind == Recompute::Kind::selective) return "recomputation of the attention core alone";
  if (recompute.layers == 0) return "recomputation of every layer";
  return fmt::format("recomputation of {} layer{} of each stage", recompute.layers, recompute.layers == 1 ? "" : "s");
}

const Stack* habit_of(const EmitPlan& plan) {
  for (const Stack& row : catalog().stacks)
    if (row.id == plan.scenario->stack.id) return &row;
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
  std::vector<std::string> unsaid = unsaid_by_all(plan, name);
  if (plan.scenario->plan.lora_rank > 0)
    unsaid.push_back(fmt::format("adapters of rank {}; its program makes them (PEFT), else all weights are trained",
        plan.scenario->plan.lora_rank));
  if (plan.scenario->plan.precision == Precision::tf32)
    unsaid.emplace_back(
        "tf32 products; its program sets them (torch.backends.cuda.matmul.allow_tf32), else products are fp32");
  return unsaid;
}

void add_gaps(std::vector<std::string>& unsaid, const EmitPlan& plan, std::initializer_list<BesideGap> gaps) {
  for (const BesideGap gap : gaps)
    if (std::string text = gap(plan); !text.empty()) unsaid.push_back(std::move(text));
}

}  // namespace stepcast
