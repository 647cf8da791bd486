#include "studies/job/job.h"

#include <chrono>
#include <utility>
#include <vector>

#include "studies/cli/output_file.h"
#include "studies/job/job_page.h"
#include "studies/job/wishes.h"
#include "studies/launch/asked_run.h"
#include "studies/launch/run_flags.h"
#include "studies/print/page/page.h"

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
  std::vector<cli::OutputFile> page;  // opened before the work
  if (arguments.has("--html")) {
    TRY(auto file, cli::OutputFile::open(cli::output_place(arguments, "--html",
                       [](const std::string& name) { return print::is_page(name, job_page_mark); })));
    page.push_back(std::move(file));
  }
  TRY(const auto job, forecast_job(request, wishes));
  for (cli::OutputFile& file : page) file.finish(job_page(job, wishes));
  console.out << (arguments.has("--json") ? job_json(job, wishes) : job_text(job, wishes, console));
  return {};
}

}  // namespace stepcast::job
