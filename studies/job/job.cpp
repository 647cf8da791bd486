#include "studies/job/job.h"

#include <chrono>
#include <utility>
#include <vector>

#include "studies/cli/output_file.h"
#include "studies/cli/told.h"
#include "studies/job/job_page.h"
#include "studies/job/wishes.h"
#include "studies/launch/asked_run.h"
#include "studies/launch/run_flags.h"
#include "studies/print/page/page.h"

namespace stepcast::job {

namespace {

/// On one machine or on several kinds, by which rates and prices may be said.
Expected<JobQuestion> asked_run(const Arguments& arguments, JobWishes& wishes) {
  TRY(const bool several, mixed::asks_for_kinds(arguments));
  JobQuestion question;
  std::vector<mixed::MachineShare> shares;
  if (several) {
    std::vector<std::string_view> own;
    const std::vector<Flag> flags = job_own_flags();
    for (const Flag& flag : flags) own.push_back(flag.name);
    TRY(auto asked, mixed::read_mixed(arguments, own));
    shares = asked.shares;
    question = std::move(asked);
  } else {
    TRY(question, read_request(arguments));
  }
  std::vector<std::int64_t> gpus;
  for (const mixed::MachineShare& share : shares) gpus.push_back(share.gpus);
  TRY(wishes, wishes_on(std::move(wishes), shares, gpus));
  return question;
}

}  // namespace

std::span<const Flag> job_flags() {
  static const std::vector<Flag> flags = [] {
    std::vector<Flag> all = study_flags({*find_flag(run_flags(), "--between")});
    for (const Flag& flag : job_own_flags()) all.push_back(flag);
    return all;
  }();
  return flags;
}

Expected<void> job_command(const Arguments& arguments, Console& console) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  TRY(auto wishes, job_wishes(arguments, std::chrono::duration_cast<std::chrono::seconds>(now).count()));
  TRY(const auto asked, asked_run(arguments, wishes));
  std::vector<cli::OutputFile> page;  // opened before the work
  if (arguments.has("--html")) {
    TRY(auto file, cli::OutputFile::open(cli::output_place(arguments, "--html",
                       [](const std::string& name) { return print::is_page(name, job_page_mark); })));
    page.push_back(std::move(file));
  }
  TRY(const auto job, forecast_job(asked, wishes));
  for (cli::OutputFile& file : page) file.finish(job_page(job, wishes));
  console.out << (arguments.has("--json") ? cli::with_told(job_json(job, wishes), arguments)
                                          : job_text(job, wishes, console));
  return {};
}

}  // namespace stepcast::job
