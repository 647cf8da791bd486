#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/quantity_text.h"
#include "studies/print/digits.h"
#include "studies/print/table.h"
#include "studies/serve/answer.h"

namespace stepcast::serve {
namespace {

std::string replicas_text(const Question& question, const Answer& answer) {
  if (answer.prompts)
    return fmt::format(", {} {}, and {} of prompts", question.replicas, question.replicas > 1 ? "replicas" : "replica",
        answer.prompts->servers.replicas);
  return question.replicas > 1 ? fmt::format(", {} replicas", question.replicas) : "";
}

std::string load_text(const Question& question, const Answer& answer) {
  if (question.concurrency)
    return fmt::format("{} users, each with one request after the other",
        print::grouped_digits(static_cast<double>(*question.concurrency)));
  if (question.trace && answer.rate == 0)
    return fmt::format("{} requests at once, by the trace", print::grouped_digits(double(question.trace->size())));
  const char* law = question.trace ? "by the trace" : question.shape == 1 ? "Poisson" : "gamma";
  return fmt::format("{:.3g} requests/s, {}", answer.rate, law);
}

std::string figures_text(const Question& question, const Answer& answer, const sim::ServiceFigures& f) {
  print::Table table({{""}, {"mean", print::Align::right}, {"p50", print::Align::right}, {"p90", print::Align::right},
      {"p99", print::Align::right}, {"mean, 10th to 90th percentile"}});
  const auto row = [&](const char* name, const sim::Latency& latency) {
    if (latency.p99.value() == 0) {  // requests of one token have no gap
      table.add({name, "-", "-", "-", "-", "no request has a second token"});
      return;
    }
    table.add({name, format_seconds(latency.mean), format_seconds(latency.p50), format_seconds(latency.p90),
        format_seconds(latency.p99),
        fmt::format("{} to {}", format_seconds(latency.mean * answer.spread.p10),
            format_seconds(latency.mean * answer.spread.p90))});
  };
  row("TTFT", f.first_word), row("TPOT", f.per_word), row("ITL", f.between_words), row("end to end", f.whole);
  std::string text = "\n" + table.text("");
  print::Table rates({{""}, {"", print::Align::right}, {""}});
  rates.add({"tokens/s/GPU", print::grouped_digits(f.words_per_second / static_cast<double>(answer.gpus)),
      fmt::format("{} tokens/s and {:.3g} requests/s in all", print::grouped_digits(f.words_per_second),
          f.requests_per_second)});
  if (f.words_per_second_of_user > 0)
    rates.add({"tokens/s/user", fmt::format("{:.1f}", f.words_per_second_of_user), "1 / TPOT"});
  if (answer.met)
    rates.add({"goodput", format_percent(*answer.met),
        fmt::format("of requests are within the targets: {:.3g} a second", *answer.met * f.requests_per_second)});
  text += rates.text("");
  const double blocks = static_cast<double>(answer.servers.policy.blocks * answer.servers.groups);
  text += fmt::format("\nRunning  {:.1f} sequences, {:.1f} waiting (at most {:.0f}); {:.0f} gave way to others\n",
      f.running, f.waiting, f.most_waiting, f.preempted);
  text += fmt::format("Cache    {} used, at most {}, of {} positions on a GPU\n",
      format_percent(f.used_blocks / blocks), format_percent(f.most_used_blocks / blocks),
      print::grouped_digits(
          static_cast<double>(answer.servers.stages * answer.servers.policy.blocks * answer.servers.policy.block)));
  text += fmt::format("Time     {} in iterations that decode, {} that decode and prefill, {} that prefill, {} idle\n",
      format_percent(f.in_words), format_percent(f.in_mixed), format_percent(f.in_prompts), format_percent(f.idle));
  if (question.warm_up > 0) text += fmt::format("The first {} requests are not counted.\n", question.warm_up);
  return text;
}

const char* name_of(const Saturation& most) {
  const std::string_view binds = most.binds;
  return binds == "prefill" ? "the prefill pool" : binds == "links" ? "the links" : "the decode pool";
}

/// Of both pools, which may stand on two kinds of machine.
std::string gpus_text(const Answer& answer) {
  const infer::Serving& serving = answer.serving;
  if (!answer.prompts || answer.prompts->serving.machine().id == serving.machine().id)
    return fmt::format("{} x {}", answer.gpus, serving.machine().gpu.name);
  return fmt::format("{} x {} and {} x {}", answer.gpus - answer.prompts->gpus, serving.machine().gpu.name,
      answer.prompts->gpus, answer.prompts->serving.machine().gpu.name);
}

std::string pools_text(const Answer& answer, bool ran) {
  const PromptPool& pool = *answer.prompts;
  const infer::Serving& own = pool.serving;
  std::string text = fmt::format("\nPrompts  {} GPUs, {} x tp {}{}{}{}, at most {:.3g} requests/s", pool.gpus,
      pool.servers.replicas, own.tensor_ways, own.stages > 1 ? fmt::format(", pp {}", own.stages) : "",
      own.machine().id == answer.serving.machine().id ? "" : ", " + own.machine().gpu.name,
      own.engine.id == answer.serving.engine.id ? "" : ", " + own.engine.name, pool.saturation.requests_per_second);
  if (ran)
    text += fmt::format("; {} busy, {:.1f} waiting in all (at most {:.0f} at one)", format_percent(pool.busy),
        pool.waiting, pool.most_waiting);
  return text + fmt::format("\nBetween  {} of a prompt of {:.0f} positions to each GPU over the {}, {} from each: {}; "
                            "at most {:.3g} requests/s\n",
                    format_bytes(pool.transfer.received), pool.positions, pool.transfer.fabric,
                    format_bytes(pool.transfer.sent), format_seconds(pool.transfer.time),
                    pool.links_requests_per_second);
}

std::string overload_text(const Answer& answer) {
  const Saturation& most = answer.saturation;
  if (most.word.value() == 0)
    return fmt::format(
        "\nBeyond saturation  {:.3g} requests/s come and {} serve {:.3g}: {:.3g} more wait after each second\n"
        "  TTFT and end to end grow without bound: after a minute a request waits {} longer than the first\n",
        answer.rate, name_of(most), most.requests_per_second, answer.rate - most.requests_per_second,
        format_seconds(Seconds(60 * (answer.rate / most.requests_per_second - 1))));
  return fmt::format(
      "\nBeyond saturation  {:.3g} requests/s come and {:.3g} are served: {:.3g} more wait after each second\n"
      "  TTFT and end to end grow without bound: after a minute a request waits {} longer than the first\n"
      "  tokens come every {} meanwhile, with {:.0f} sequences at once: {} tokens/s/GPU\n",
      answer.rate, most.requests_per_second, answer.rate - most.requests_per_second,
      format_seconds(Seconds(60 * (answer.rate / most.requests_per_second - 1))), format_seconds(most.word),
      most.running, print::grouped_digits(most.words_per_second / static_cast<double>(answer.gpus)));
}

}  // namespace

std::string answer_text(const Question& question, const Answer& answer) {
  const infer::Serving& serving = answer.serving;
  std::string text = fmt::format("{} on {}, {}, {}{}\n", serving.network().name, gpus_text(answer), serving.engine.name,
      infer::split_in_words(serving), replicas_text(question, answer));
  text += load_text(question, answer) + "\n";
  text += answer.figures ? figures_text(question, answer, *answer.figures) : overload_text(answer);
  if (answer.prompts) text += pools_text(answer, answer.figures.has_value());
  const Saturation& most = answer.saturation;
  if (answer.figures && answer.prompts)
    text += fmt::format("Saturation  {:.3g} requests/s, {} tokens/s/GPU, by {}\n", most.requests_per_second,
        print::grouped_digits(most.words_per_second / static_cast<double>(answer.gpus)), name_of(most));
  else if (answer.figures)
    text +=
        fmt::format("Saturation  {:.3g} requests/s, {} tokens/s/GPU with {:.0f} sequences at once, a token every {}\n",
            most.requests_per_second, print::grouped_digits(most.words_per_second / static_cast<double>(answer.gpus)),
            most.running, format_seconds(most.word));
  for (const std::string& warning : answer.warnings) text += "warning: " + warning + "\n";
  if (!serving.assumptions.empty())
    text += fmt::format("\nDefaults and assumptions\n  {}\n", fmt::join(serving.assumptions, ", "));
  return text;
}

}  // namespace stepcast::serve
