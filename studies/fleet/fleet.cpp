#include "studies/fleet/fleet.h"

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>

#include "model/errors/error_context.h"
#include "model/base/json_reader.h"
#include "model/base/quantity_text.h"
#include "studies/cli/flag_makers.h"
#include "studies/cli/negative_answer.h"
#include "studies/job/duration.h"
#include "studies/job/wishes.h"
#include "studies/launch/run_flags.h"
#include "studies/print/digits.h"
#include "studies/sweep/sweep_flags.h"

namespace stepcast::fleet {
namespace {

constexpr std::size_t most_jobs = 8;
static_assert(most_jobs <= sim::most_sharing_jobs);  // all of them may share one link
constexpr std::string_view fleet_group = "Fleet";

/// Of sweep and job, what may be said of each job of a fleet. A profile would be of one machine, and a launch says its
/// own GPUs.
std::vector<Flag> run_flags_of_jobs() {
  constexpr std::array own = {"--machine", "--between", "--profile", "--gpus", "--nodes", "--price", "--objective",
      "--pareto", "--top", "--exhaustive", "--threads", "--shard", "--resume", "--dry-run", "--output", "--force",
      "--snapshot", "--json", "--csv", "--emit", "--space", "--dp"};
  constexpr std::array of_job = {"--tokens", "--steps", "--imbalance", "--planned-every", "--planned-stop",
      "--failures", "--failure-rate", "--fixed-failures", "--failure-log", "--log-days", "--log-gpus", "--detect",
      "--restart", "--spares", "--elastic", "--interval", "--checkpoint-bytes", "--storage-write", "--storage-read",
      "--async", "--async-slowdown", "--memory-interval", "--memory-survives"};
  std::vector<Flag> flags;
  for (const Flag& flag : sweep::sweep_flags())
    if (std::ranges::find(own, flag.name) == own.end() && !launch::is_launch_flag(flag.name)) flags.push_back(flag);
  for (const Flag& flag : job::job_own_flags())
    if (std::ranges::find(of_job, flag.name) != of_job.end()) flags.push_back(flag);
  flags.push_back(text_flag("--deadline", "TIME", fleet_group, "by which the job must be done: 30d"));
  return flags;
}

std::vector<Flag> make_fleet_flags() {
  std::vector<Flag> flags = {
      text_flag("--machine", "NAME:GPUS,...", fleet_group, "machines that may be had, with the most GPUs of each"),
      text_flag("--price", "NAME=PRICE,...", fleet_group, "of a GPU-hour of each, in any currency"),
      text_flag("--budget", "COST", fleet_group, "for all jobs, in the same currency"),
      text_flag("--jobs", "FILE.json", fleet_group, "a mix of jobs that run at once, in place of NETWORK")};
  for (const Flag& flag : run_flags_of_jobs()) flags.push_back(flag);
  flags.push_back(json_flag());
  return flags;
}

struct AskedJob {
  std::string name;
  Arguments arguments;
  std::string file;  ///< that names it; "": the command line does
};

/// Of a job of a file, with both.
Error error_of_job(const std::string& file, const std::string& name, Error error) {
  return file.empty() ? error : error_in(fmt::format("{}: job '{}'", file, name), std::move(error));
}

/// {"jobs": [{"name": "a", "run": ["llama3-8b", "--global-batch", "512", "--tokens", "300B", "--deadline", "20d"]}]}
Expected<std::vector<AskedJob>> read_jobs(const std::string& file) {
  TRY(const auto text, read_text_file(file));
  JsonObject document(text, file);
  using AskedRow = std::pair<std::string, std::vector<std::string>>;
  std::vector<AskedRow> rows;
  for (JsonObject& row : document.objects("jobs")) {
    auto& [name, words] = rows.emplace_back();
    row.read("name", name);
    row.require(row.failed() || std::ranges::count(rows, name, &AskedRow::first) == 1, "name",
        fmt::format("two jobs are named {:.60}", name), "a name of its own for each");
    row.read("run", words);
  }
  document.require(!rows.empty() && rows.size() <= most_jobs, "jobs", fmt::format("has {} jobs", rows.size()),
      fmt::format("from 1 to {}", most_jobs));
  TRY(document.finish(true));
  const std::vector<Flag> flags = run_flags_of_jobs();
  std::vector<AskedJob> jobs;
  for (const auto& [name, words] : rows) {
    auto arguments = parse_arguments(flags, 1, 1, "NETWORK [flags]", words);
    if (!arguments) return tl::unexpected(error_of_job(file, name, arguments.error()));
    jobs.push_back({name, std::move(*arguments), file});
  }
  return jobs;
}

/// Of the command line, or of a file, whose jobs have what the command line says of all of them.
Expected<std::vector<AskedJob>> asked_jobs(const Arguments& arguments) {
  if (!arguments.has("--jobs")) {
    if (arguments.words.empty())
      return fail("command line", "no job is named", "NETWORK --tokens 300B --global-batch 512, or --jobs FILE.json");
    return std::vector<AskedJob>{{arguments.words[0], arguments, ""}};
  }
  if (!arguments.words.empty())
    return fail("--jobs", fmt::format("names jobs, and so does '{:.60}'", arguments.words[0]), "one of them");
  TRY(auto jobs, read_jobs(arguments.value("--jobs")));
  for (AskedJob& job : jobs)
    for (const auto& [flag, value] : arguments.flags)
      if (!job.arguments.flags.try_emplace(flag, value).second)
        return fail(fmt::format("{}: job '{}': {}", arguments.value("--jobs"), job.name, flag),
            "the command line says it, too, and for all jobs", "one of them");
  return jobs;
}

Expected<JobOnFleet> on_fleet(const AskedJob& asked, const std::vector<FleetMachine>& machines) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  TRY(const auto wishes, job::job_wishes(asked.arguments, std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                             "one of --tokens 15T and --steps 100000"));
  std::optional<Seconds> deadline;
  if (asked.arguments.has("--deadline")) {
    TRY(deadline, parse_quantity<Seconds>(asked.arguments.value("--deadline"), "--deadline"));
  }
  TRY(auto on, job_options(asked.arguments, wishes, machines));
  on.job.name = asked.name;
  on.job.deadline = deadline;
  return on;
}

std::vector<FleetJob> jobs_alone(const std::vector<JobOnFleet>& jobs) {
  std::vector<FleetJob> alone;
  for (const JobOnFleet& job : jobs) alone.push_back(job.job);
  return alone;
}

/// Of each job by itself, since together they may leave each other too little.
void say_what_is_late(FleetAnswer& answer) {
  const auto alone = jobs_alone(answer.jobs);
  bool said = false;
  for (const FleetJob& job : alone) {
    if (!job.deadline) continue;
    const Seconds fastest = std::ranges::min(job.options, {}, &FleetOption::time).time;
    if (fastest <= *job.deadline) continue;
    said = true;
    answer.missed.push_back(fmt::format("{}: no machine meets the deadline of {}; the fastest takes {}, {} more",
        job.name, job::duration_text(*job.deadline), job::duration_text(fastest),
        job::duration_text(fastest - *job.deadline)));
  }
  if (!said) answer.missed.emplace_back("each deadline can be met, but not all at once on these machines");
}

}  // namespace

Expected<FleetAnswer> answer_fleet(
    std::vector<FleetMachine> machines, std::vector<JobOnFleet> jobs, std::optional<double> budget) {
  FleetAnswer answer{std::move(machines), std::move(jobs), budget, {}, {}, {}, {}, {}};
  std::vector<std::int64_t> most;
  for (const FleetMachine& machine : answer.machines) most.push_back(machine.share.gpus);
  const std::vector<FleetJob> alone = jobs_alone(answer.jobs);
  answer.front = cost_over_time(alone, most);
  if (answer.front.empty())
    return fail("--machine", "the jobs do not find room beside each other", "more GPUs, or fewer jobs at once");
  if (std::ranges::any_of(alone, [](const FleetJob& job) { return job.deadline.has_value(); })) {
    answer.in_time = cheapest(alone, most);
    if (!answer.in_time) say_what_is_late(answer);
    else if (budget && answer.in_time->cost > *budget)
      answer.missed.push_back(fmt::format("the cheapest that meets the deadline costs {}, {} more than the budget",
          grouped_digits(answer.in_time->cost), grouped_digits(answer.in_time->cost - *budget)));
  }
  if (!budget) return answer;
  const auto within = std::ranges::find_if(answer.front, [&](const FleetChoice& one) { return one.cost <= *budget; });
  if (within != answer.front.end()) answer.in_budget = *within;
  else
    answer.missed.push_back(
        fmt::format("nothing costs as little as {}; the cheapest costs {}, {} more", grouped_digits(*budget),
            grouped_digits(answer.front.back().cost), grouped_digits(answer.front.back().cost - *budget)));
  return answer;
}

std::span<const Flag> fleet_flags() {
  static const std::vector<Flag> flags = make_fleet_flags();
  return flags;
}

Expected<void> fleet_command(const Arguments& arguments, Console& console) {
  for (const char* flag : {"--machine", "--price"})
    if (!arguments.has(flag))
      return fail(flag, "is not said", "--machine dgx-h100:512,dgx-a100:1024 --price dgx-h100=2.5,dgx-a100=1.2");
  TRY(auto machines, parse_fleet(arguments.value("--machine"), arguments.value("--price"), "--machine"));
  std::optional<double> budget;
  if (arguments.has("--budget")) {
    budget = parsed_number<double>(arguments.value("--budget"));
    if (!budget || !(*budget > 0))
      return fail("--budget", fmt::format("'{:.40}' is no cost", arguments.value("--budget")), "a number above 0");
  }
  TRY(const auto asked, asked_jobs(arguments));
  std::vector<JobOnFleet> jobs;
  for (const AskedJob& job : asked) {
    auto on = on_fleet(job, machines);
    if (!on) return tl::unexpected(error_of_job(job.file, job.name, on.error()));
    jobs.push_back(std::move(*on));
  }
  TRY(auto answer, answer_fleet(std::move(machines), std::move(jobs), budget));
  TRY(answer.beside, beside_each_other(answer.machines, answer.jobs, answer.chosen()));
  console.out << (arguments.has("--json") ? fleet_json(answer) : fleet_text(answer, console));
  if (!answer.missed.empty()) throw NegativeAnswer(answer.missed.front());
  return {};
}

}  // namespace stepcast::fleet
