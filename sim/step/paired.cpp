#include "sim/step/paired.h"

#include "sim/schedule/schedule_table.h"

namespace stepcast::sim {

ScheduleSize schedule_size(const Program& program, int slices) {
  return {static_cast<int>(program.stages), static_cast<int>(program.chunks_per_stage),
      static_cast<int>(program.micro_batches), 0, slices};
}

double paired_share(const Program& program) {
  const auto kind = find_schedule(program.schedule);
  return kind ? paired_share(**kind, schedule_size(program)) : 0;
}

double paired_share(const ScheduleKind& kind, const ScheduleSize& size) {
  if (!kind.pairs) return 0;
  const auto order = make_order(kind.id, size);
  if (!order) return 0;  // the forecast says why
  double pairs = 0, passes = 0;
  for (const Action& action : order->actions) {
    pairs += action.with_next ? 1 : 0;
    passes += action.kind == ActionKind::weight_grad ? 0 : 1;
  }
  return 2 * pairs / passes;
}

}  // namespace stepcast::sim
