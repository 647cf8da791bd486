#include "studies/job/job.h"

#include <chrono>

#include "studies/job/forecast.h"
#include "studies/job/wishes.h"
#include "studies/launch/asked_run.h"
#include "studies/launch/run_flags.h"

namespace stepcast::job {

std::span<const Flag> job_flags() {
  static const std::vector<Flag> flags = [] {
    std::vector<Flag> all = study_flags({});
    for (const Flag& flag : job_own_flags()) all.push_back(flag);
    return all;
  }();
  return flags;
}

Expected<void> job_command(const Arguments& arguments, Console& console) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  TRY(const auto wishes, job_wishes(arguments, std::chrono::duration_cast<std::chrono::seconds>(now).count()));
  TRY(const auto request, read_request(arguments));
  TRY(const auto job, forecast_job(request, wishes));
  console.out << (arguments.has("--json") ? job_json(job, wishes) : job_text(job, wishes, console));
  return {};
}

}  // namespace stepcast::job
