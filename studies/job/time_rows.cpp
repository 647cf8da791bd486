#include "studies/job/time_rows.h"

#include <utility>

namespace stepcast::job {

std::vector<TimeRow> time_rows(const JobForecast& job) {
  const sim::LifeTimes& life = job.expected;
  std::vector<TimeRow> rows = {{"steps that last", life.useful, ""}};
  const auto inside = [&](std::string name, Seconds per_step, std::string meaning) {
    rows.push_back({std::move(name), life.useful * (per_step / job.base.step), std::move(meaning), true});
  };
  const Phases& phases = job.run.outcome.phases;
  inside("uneven work", job.step.even * (job.step.uneven - 1), "the slowest counts");
  inside("data wait", phases.data_wait, "of the software, each step");
  inside("host to device", phases.host_to_device, "token ids and labels, each step");
  for (const AroundPart& one : job.step.around) inside(std::string(one.name), one.per_step, one.meaning);
  // Of a checkpoint written beside steps, what they lose meanwhile is part of what they stand still for.
  const sim::Saves& saves = job.settings.life.saves;
  const Seconds standing = saves.store + saves.keep * static_cast<double>(saves.per_stored - 1);
  const double beside = standing > Seconds() ? saves.settle * job.background_slowdown / standing : 0;
  for (TimeRow row : {TimeRow{"checkpoints", life.saving * (1 - beside), "steps stand still"},
           {"slow beside checkpoints", life.saving * beside, "while one is written"},
           {"work done again", life.lost, "since the last checkpoint"},
           {"detection", life.detecting, "nobody has noticed yet"},
           {"restarts", life.restarting, "until the first step, the checkpoint read"},
           {"waiting for nodes", life.waiting, "in repair, or what missing replicas would have done"},
           {"planned stops", life.planned, ""}})
    rows.push_back(std::move(row));
  std::erase_if(rows, [](const TimeRow& row) { return !(row.time > Seconds()); });
  return rows;
}

}  // namespace stepcast::job
