// What a schedule makes a forecast assume, and what it leaves out: said in every report.
#include <algorithm>

#include "sim/step/parts.h"

namespace stepcast::sim {

std::vector<std::string> schedule_notes(const StepView& view) {
  std::vector<std::string> notes;
  const Order& order = view.order;
  if (order.directions > 1) {
    notes.emplace_back(
        "two copies of the model: each rank holds two stages with weights, gradients and optimizer states of both; the "
        "copies' gradients are summed behind the pipeline, beside nothing");
    if (view.program.shared.size() > 1)
      notes.emplace_back("a table that both ends use lies twice on the first and the last rank");
  }
  if (order.slices > 1)
    notes.emplace_back(
        "slices of a sequence: what later slices add to the gradients of earlier keys and values is not counted in the "
        "memory");
  const auto pair = [](const Action& action) { return action.with_next; };
  if (std::ranges::any_of(order.actions, pair))
    notes.emplace_back(
        "a forward and a backward that run as a pair last as long as one after the other, without the exchanges of "
        "routed experts that each hides for the other: other communication between them is forecast as it shows alone");
  return notes;
}

}  // namespace stepcast::sim
