#include "studies/job/wishes.h"

#include <cmath>

#include <fmt/format.h>

#include "model/base/json_reader.h"
#include "model/base/whole_number.h"
#include "studies/cli/flag_makers.h"
#include "studies/cli/flag_values.h"
#include "studies/cli/output_file.h"
#include "studies/mixed/shares.h"

namespace stepcast::job {
namespace {

/// "0.1" or "10 %". Errors: those of parse_fraction().
Expected<void> read_share(const Arguments& arguments, const char* flag, std::optional<double>& out, double highest) {
  if (!arguments.has(flag)) return {};
  TRY(out, parse_fraction(arguments.value(flag), flag, highest));
  return {};
}

/// A number of days, or any duration with its unit. Errors: no such text, less than 1e-3 days or more than 1e5.
Expected<void> read_days(const Arguments& arguments, const char* flag, std::optional<Seconds>& out) {
  if (!arguments.has(flag)) return {};
  constexpr NumberRange range{1e-3, 1e5};
  constexpr double day_s = 86400;
  const std::string text = arguments.value(flag);
  auto days = parsed_number<double>(text);
  if (!days) {
    TRY(const auto time, parse_quantity<Seconds>(text, flag));
    days = time.value() / day_s;
  }
  if (!(*days >= range.low && *days <= range.high))
    return fail(flag, fmt::format("'{:.40}' is out of range", text),
        fmt::format("from {:g} to {:g} days: 30, 30d or 720h", range.low, range.high));
  out = Seconds(*days * day_s);
  return {};
}

Expected<void> read_length(const Arguments& arguments, std::string_view lengths, JobWishes& wishes) {
  std::vector<const char*> said;
  for (const char* flag : {"--tokens", "--days", "--steps"})
    if (arguments.has(flag)) said.push_back(flag);
  if (said.empty()) return fail("--tokens", "how long the job is is not said", std::string(lengths));
  if (said.size() > 1)
    return fail(said[1], fmt::format("a length twice: {} says one, too", said[0]), std::string(lengths));
  if (arguments.has("--tokens")) {
    TRY(wishes.tokens, parse_tokens(arguments.value("--tokens"), "--tokens"));
  }
  wishes.steps = count_of(arguments, "--steps");
  return read_days(arguments, "--days", wishes.days);
}

/// A rate that is said is the user's, and of the row are repairs alone; settings.cpp has its name.
void take_said_rates(const FailureRates& row, bool per_node, bool fixed, FailureRates& rates) {
  if (per_node || fixed) rates.note.clear();
  if (!per_node) return;
  rates.id = "--failure-rate";
  rates.source = fmt::format("said; repairs: {}", row.source);
}

Expected<void> read_failures(const Arguments& arguments, std::int64_t now, JobWishes& wishes) {
  const std::string id = arguments.has("--failures") ? arguments.value("--failures") : "fleets";
  TRY(const auto row, find_failure_rates(id, "--failures"));
  wishes.rates = *row;
  std::optional<double> per_node, fixed;
  if (mixed::names_machines(arguments.value("--failure-rate"))) {
    wishes.rate_by_machine = arguments.value("--failure-rate");
    per_node = 0;
  } else {
    TRY(read_number(arguments, "--failure-rate", per_node, {0, most_failure_rate}));
  }
  TRY(read_number(arguments, "--fixed-failures", fixed, {0, 1000}));
  if (per_node && arguments.has("--failures") && !arguments.has("--failure-log"))
    return fail("--failures", fmt::format("{} has rates, and --failure-rate says others", row->id),
        fmt::format("one of them; {} has {:g} a day beside{}, which --fixed-failures takes as the job's own", row->id,
            row->fixed_per_day.value,
            row->fixed_nodes > 0 ? fmt::format(" on {} nodes and more, fewer on fewer", row->fixed_nodes) : ""));
  if (per_node) wishes.rates.per_node_day = {*per_node, *per_node, *per_node};
  if (per_node && !fixed) wishes.rates.fixed_per_day = {};
  if (fixed) wishes.rates.fixed_per_day = {*fixed, *fixed, *fixed};
  if (fixed) wishes.rates.fixed_nodes = 0;
  if (wishes.rate_by_machine.empty()) wishes.rate_for_all = per_node;
  wishes.fixed_failures = fixed;
  take_said_rates(*row, per_node.has_value(), fixed.has_value(), wishes.rates);
  if (!arguments.has("--failure-log")) {
    for (const char* flag : {"--log-days", "--log-gpus"})
      if (arguments.has(flag)) return fail(flag, "no log is named", "--failure-log FILE.csv");
    return {};
  }
  for (const char* flag : {"--failures", "--failure-rate", "--fixed-failures"})
    if (arguments.has(flag)) return fail(flag, "a rate beside a log, which has its own", "one of them");
  for (const char* flag : {"--log-days", "--log-gpus"})
    if (!arguments.has(flag)) return fail(flag, "a log does not say it", "--log-days 54 --log-gpus 16384");
  const std::string file = arguments.value("--failure-log");
  TRY(const auto text, read_text_file(file));
  TRY(const auto log, read_failure_log(text, file, now));
  std::optional<Seconds> watched;
  TRY(read_days(arguments, "--log-days", watched));
  TRY(wishes.logged, rates_of(log, *watched, "--log-days"));
  wishes.logged_gpus = *count_of(arguments, "--log-gpus");
  return {};
}

Expected<void> read_memory(const Arguments& arguments, JobWishes& wishes) {
  TRY(read_flag(arguments, "--memory-interval", wishes.memory_interval));
  TRY(read_share(arguments, "--memory-survives", wishes.memory_survives, 1));
  if (wishes.memory_survives && !wishes.memory_interval)
    return fail("--memory-survives", "no checkpoint is kept in memory", "--memory-interval 60s");
  if (wishes.memory_interval && wishes.interval)
    return fail("--interval", "how often checkpoints in memory are stored is found", "without it");
  if (wishes.memory_interval && wishes.elastic)
    return fail("--elastic", "checkpoints in memory of replicas that are gone are not modelled",
        "one of --elastic and --memory-interval");
  return {};
}

Expected<void> read_stops(const Arguments& arguments, JobWishes& wishes) {
  std::optional<Seconds> every, stop;
  TRY(read_flag(arguments, "--planned-every", every));
  TRY(read_flag(arguments, "--planned-stop", stop));
  if (every.has_value() != stop.has_value())
    return fail(every ? "--planned-stop" : "--planned-every", "is missing", "--planned-every 7d --planned-stop 2h");
  if (!every) return {};
  if (*stop >= *every) return fail("--planned-stop", "the job stops all the time", "less than --planned-every");
  wishes.planned_every = *every, wishes.planned_stop = *stop;
  return {};
}

Expected<void> read_prices(const Arguments& arguments, JobWishes& wishes) {
  TRY(read_number(arguments, "--watts", wishes.watts, {1, 1e5}));
  if (mixed::names_machines(arguments.value("--gpu-hour-price")))
    wishes.price_by_machine = arguments.value("--gpu-hour-price");
  else TRY(read_number(arguments, "--gpu-hour-price", wishes.gpu_hour_price, {0, most_price}));
  TRY(read_number(arguments, "--kwh-price", wishes.kwh_price, {0, most_price}));
  std::optional<double> pue;
  TRY(read_number(arguments, "--pue", pue, {1, 10}));
  wishes.pue = pue.value_or(1);
  return {};
}

}  // namespace

Expected<double> parse_tokens(const std::string& text, const std::string& where) {
  constexpr std::pair<char, double> suffixes[] = {{'K', 1e3}, {'M', 1e6}, {'B', 1e9}, {'T', 1e12}};
  double factor = 1;
  std::string number = text;
  for (const auto& [letter, value] : suffixes)
    if (!number.empty() && std::toupper(number.back()) == letter) {
      factor = value;
      number.pop_back();
      break;
    }
  const auto value = parsed_number<double>(number);
  constexpr double most = 1e18;
  if (!value) return fail(where, fmt::format("'{:.40}' is no number of tokens", text), "15T, 300B or 1.5e12");
  if (!(*value * factor >= 1 && *value * factor <= most))
    return fail(where, fmt::format("'{:.40}' tokens are out of range", text),
        fmt::format("from 1 to {:g}: 15T, 300B or 1.5e12", most));
  return *value * factor;
}

Expected<JobWishes> job_wishes(const Arguments& arguments, std::int64_t now, std::string_view lengths) {
  JobWishes wishes;
  TRY(read_length(arguments, lengths, wishes));
  TRY(read_failures(arguments, now, wishes));
  TRY(read_flag(arguments, "--checkpoint-bytes", wishes.checkpoint));
  TRY(read_flag(arguments, "--storage-write", wishes.write_rate));
  TRY(read_flag(arguments, "--storage-read", wishes.read_rate));
  wishes.async = arguments.has("--async"), wishes.elastic = arguments.has("--elastic");
  std::optional<double> slow;
  TRY(read_share(arguments, "--async-slowdown", slow, 0.9));
  if (slow && !wishes.async) return fail("--async-slowdown", "checkpoints are written while steps wait", "--async");
  wishes.background_slowdown = slow.value_or(0);
  TRY(read_flag(arguments, "--detect", wishes.detect));
  TRY(read_flag(arguments, "--restart", wishes.restart));
  TRY(read_flag(arguments, "--interval", wishes.interval));
  TRY(read_memory(arguments, wishes));
  wishes.spares = count_of(arguments, "--spares");
  if (wishes.elastic && !wishes.spares) wishes.spares = 0;
  TRY(read_stops(arguments, wishes));
  TRY(read_prices(arguments, wishes));
  TRY(wishes.around, around_steps(arguments));
  if (arguments.has("--imbalance") && whatif::says_even(arguments.value("--imbalance"))) {
    wishes.fleets_unevenness = false;
  } else if (arguments.has("--imbalance")) {
    TRY(wishes.uneven, read_unevenness(arguments.value("--imbalance"), "--imbalance"));
  }
  wishes.lives = count_of(arguments, "--lives").value_or(wishes.lives);
  wishes.seed = count_of(arguments, "--seed").value_or(0);
  return wishes;
}

std::vector<Flag> job_own_flags() {
  constexpr std::string_view job = "Job", failures = "Failures", saves = "Checkpoints", money = "Energy and cost",
                             output = "Output";
  constexpr std::int64_t many = 1'000'000'000;
  std::vector<Flag> flags = {text_flag("--tokens", "N", job, "to train on: 15T, 300B, 1.5e12"),
      text_flag("--days", "DAYS", job, "that the job lasts, instead: 30, 30d or 720h"),
      count_flag("--steps", job, "that the job has, instead", many),
      text_flag("--imbalance", "WORDS", job,
          "as predict takes it: ranks=2% ...; none (default from 128 GPUs on: as in public fleets)"),
      text_flag("--planned-every", "TIME", job, "from one planned stop to the next (default: none)"),
      text_flag("--planned-stop", "TIME", job, "that each takes"),
      text_flag("--failures", "ID", failures, "rates of a public fleet: stepcast list failures (default fleets)"),
      text_flag("--failure-rate", "RATE", failures,
          "failures per day and node of 8 GPUs: 0.004, or by machine: dgx-h100=0.004,dgx-a100=0.0065"),
      text_flag("--fixed-failures", "RATE", failures, "failures per day of a job of any size, besides"),
      text_flag("--failure-log", "FILE.csv", failures, "a job's own: failed_at,back_at in UTC, with the next two"),
      text_flag("--log-days", "DAYS", failures, "that the log covers: 54, 54d or 1296h"),
      count_flag("--log-gpus", failures, "that the job of the log had", 10'000'000),
      text_flag("--detect", "TIME", failures, "from a failure until the restart begins (default 2 min)"),
      text_flag("--restart", "TIME", failures, "from there until the checkpoint is read (default 3 min)"),
      count_flag("--spares", failures, "nodes that stand by (default: one is always at hand)", 10'000'000, 0),
      toggle_flag("--elastic", failures, "run on fewer replicas where nodes are missing, instead of waiting"),
      text_flag("--interval", "TIME", saves, "of computing between checkpoints (default: the best)"),
      text_flag("--checkpoint-bytes", "SIZE", saves, "of one (default: by the network and its software)"),
      text_flag(
          "--storage-write", "RATE", saves, "of all nodes together (default 20 GB/s per 256 GPUs, a node 4, assumed)"),
      text_flag(
          "--storage-read", "RATE", saves, "of all nodes together (default 40 GB/s per 256 GPUs, a node 8, assumed)"),
      toggle_flag("--async", saves, "steps wait for the copy to the host only"),
      text_flag("--async-slowdown", "SHARE", saves, "that steps lose while it is written (default 0)"),
      text_flag("--memory-interval", "TIME", saves, "of computing between checkpoints kept in memory of other nodes"),
      text_flag("--memory-survives", "SHARE", saves, "of failures that those survive (default 0.9, assumed)"),
      text_flag("--watts", "W", money, "per GPU with its part of the node (default: the GPU's alone)"),
      text_flag("--pue", "FACTOR", money, "of the building over its machines (default 1)"),
      text_flag("--gpu-hour-price", "PRICE", money,
          "per GPU and hour, in any currency: 2.5, or by machine: dgx-h100=2.5,dgx-a100=1.3"),
      text_flag("--kwh-price", "PRICE", money, "per kWh, in the same"),
      count_flag("--lives", output, "drawn for the intervals (default 1000)", 1'000'000, 100),
      count_flag("--seed", output, "of them (default 0)", many, 0),
      text_flag("--html", "FILE", output, "a page: life of the job, goodput over GPUs, checkpoint interval"),
      cli::force_flag, json_flag()};
  const std::vector<Flag> around = around_flags("Around steps");
  flags.insert(flags.end(), around.begin(), around.end());
  return flags;
}

}  // namespace stepcast::job
