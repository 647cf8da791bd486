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

/// A small rate has three digits, a large one all of its whole ones.
std::string rate_text(double rate) { return rate < 999.5 ? fmt::format("{:.3g}", rate) : print::grouped_digits(rate); }
std::string requests_text(double rate) {
  const std::string text = rate_text(rate);
  return text + (text == "1" ? " request/s" : " requests/s");
}

std::string load_text(const Question& question, const Answer& answer) {
  if (question.concurrency)
    return *question.concurrency == 1 ? "1 user, with one request after the other"
                                      : fmt::format("{} users, each with one request after the other",
                                            print::grouped_digits(static_cast<double>(*question.concurrency)));
  if (question.trace && answer.rate == 0)
    return fmt::format("{} requests at once, by the trace", print::grouped_digits(double(question.trace->size())));
  const char* law = question.trace ? "by the trace" : question.shape == 1 ? "Poisson" : "gamma";
  return fmt::format("{}, {}", requests_text(answer.rate), law);
}

/// Those that have a part of each sequence's keys.
std::string gpus_of_a_cache(const infer::Serving& serving) {
  return serving.dcp > 1 ? fmt::format("{} GPUs together", serving.dcp) : "a GPU";
}

/// What went to the host's memory, where sequences that give way go there.
std::string swapped_text(const Answer& answer) {
  if (!answer.swapped || answer.figures->preempted == 0) return "";
  const Answer::Swapped& swapped = *answer.swapped;
  const auto sequences = static_cast<double>(answer.run.swaps.sequences);
  const std::string refused =
      answer.run.swaps.refused > 0 ? fmt::format("; {} had no room and were read again", answer.run.swaps.refused) : "";
  return fmt::format(
      "Swapped  {} {}: {} out of a GPU and {} in, {} of the time; at most {} in the host's memory of {}{}\n",
      print::grouped_digits(sequences), sequences == 1 ? "sequence" : "sequences", format_bytes(swapped.out),
      format_bytes(swapped.in), format_percent(swapped.share), format_bytes(swapped.most), format_bytes(swapped.space),
      refused);
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
      fmt::format("{} tokens/s and {} in all", print::grouped_digits(f.words_per_second),
          requests_text(f.requests_per_second))});
  if (f.words_per_second_of_user > 0)
    rates.add({"tokens/s/user", fmt::format("{:.1f}", f.words_per_second_of_user), "1 / TPOT"});
  if (answer.met)
    rates.add({"goodput", format_percent(*answer.met),
        fmt::format(
            "of requests are within the targets: {} a second", rate_text(*answer.met * f.requests_per_second))});
  text += rates.text("");
  const double blocks = static_cast<double>(answer.servers.policy.blocks * answer.servers.groups);
  text += fmt::format("\nRunning  {:.1f} sequences, {:.1f} waiting (at most {:.0f}); {:.0f} gave way to others\n",
      f.running, f.waiting, f.most_waiting, f.preempted);
  text += swapped_text(answer);
  text += fmt::format("Cache    {} used, at most {}, of {} positions on {}\n", format_percent(f.used_blocks / blocks),
      format_percent(f.most_used_blocks / blocks),
      print::grouped_digits(
          static_cast<double>(answer.servers.stages * answer.servers.policy.blocks * answer.servers.policy.block)),
      gpus_of_a_cache(answer.serving));
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
  std::string text = fmt::format("\nPrompts  {} GPUs, {} x tp {}{}{}{}, at most {}", pool.gpus, pool.servers.replicas,
      own.tensor_ways, own.stages > 1 ? fmt::format(", pp {}", own.stages) : "",
      own.machine().id == answer.serving.machine().id ? "" : ", " + own.machine().gpu.name,
      own.engine.id == answer.serving.engine.id ? "" : ", " + own.engine.name,
      requests_text(pool.saturation.requests_per_second));
  if (ran)
    text += fmt::format("; {} busy, {:.1f} waiting in all (at most {:.0f} at one)", format_percent(pool.busy),
        pool.waiting, pool.most_waiting);
  return text + fmt::format("\nBetween  {} of a prompt of {:.0f} positions to each GPU over the {}, {} from each: {}; "
                            "at most {}\n",
                    format_bytes(pool.transfer.received), pool.positions, pool.transfer.fabric,
                    format_bytes(pool.transfer.sent), format_seconds(pool.transfer.time),
                    requests_text(pool.links_requests_per_second));
}

/// With a full cache some engines do less than with fewer sequences at once.
std::string thrashing_text(const Answer& answer, bool waits) {
  const Saturation& most = answer.saturation;
  if (most.waiting.gave_way == 0) return "";
  const bool swaps = answer.servers.policy.swaps;
  const char* again = swaps ? "go to the host's memory and back" : "are read again";
  std::string text;
  const std::string limit = fmt::format("--most-sequences {}", most.most_sequences);
  if (most.most_sequences == 0)
    text = fmt::format("  some give way to others and {}; with so few at once that none would it is no more\n", again);
  else if (waits)
    text = fmt::format(
        "  some give way to others and {}: {} serves {}\n", again, limit, requests_text(most.requests_per_second));
  else
    text = fmt::format("  with more at once some give way and {}, and {} are served: {} avoids it\n", again,
        requests_text(most.waiting.requests_per_second), limit);
  if (!most.waiting.host_full) return text;
  return text +
         (answer.serving.engine.swapping.reads_again
                 ? "  that memory runs full there, and others are read again\n"
                 : fmt::format("  that memory runs full there and {} stops: more --swap-space, or fewer at once\n",
                       answer.serving.engine.name));
}

std::string overload_text(const Answer& answer) {
  const ServedRates& most = answer.saturation.waiting;
  const std::string served = rate_text(most.requests_per_second);
  std::string text =
      fmt::format("\nBeyond saturation  {} come and {}: {} more wait after each second\n", requests_text(answer.rate),
          answer.prompts ? fmt::format("{} serve {}", name_of(answer.saturation), served)
                         : fmt::format("{} are served while others wait", served),
          rate_text(answer.rate - most.requests_per_second));
  text +=
      fmt::format("  TTFT and end to end grow without bound: after a minute a request waits {} longer than the first\n",
          format_seconds(Seconds(60 * (answer.rate / most.requests_per_second - 1))));
  if (most.word.value() > 0)
    text += fmt::format("  tokens come every {} meanwhile, with {:.0f} sequences at once: {} tokens/s/GPU\n",
        format_seconds(most.word), most.running,
        print::grouped_digits(most.words_per_second / static_cast<double>(answer.gpus)));
  return text + thrashing_text(answer, true);
}

std::string saturation_text(const Answer& answer) {
  const Saturation& most = answer.saturation;
  std::string text = fmt::format("Saturation  {}, {} tokens/s/GPU", requests_text(most.requests_per_second),
      print::grouped_digits(most.words_per_second / static_cast<double>(answer.gpus)));
  if (answer.prompts) return text + fmt::format(", by {}\n", name_of(most));
  text += fmt::format(" with {:.0f} sequences at once", most.running);
  if (most.word.value() > 0) text += fmt::format(", a token every {}", format_seconds(most.word));
  text += "\n";
  if (answer.figures && answer.figures->requests_per_second > most.requests_per_second)
    text += fmt::format("  it is what is done while others wait; this load, with {:.0f} at once, is served faster\n",
        answer.figures->running);
  return text + thrashing_text(answer, false);
}

}  // namespace

std::string answer_text(const Question& question, const Answer& answer) {
  const infer::Serving& serving = answer.serving;
  std::string text = fmt::format("{} on {}, {}, {}{}\n", serving.network().name, gpus_text(answer), serving.engine.name,
      infer::split_in_words(serving), replicas_text(question, answer));
  text += load_text(question, answer) + "\n";
  text += answer.figures ? figures_text(question, answer, *answer.figures) : overload_text(answer);
  if (answer.prompts) text += pools_text(answer, answer.figures.has_value());
  if (answer.figures) text += saturation_text(answer);
  for (const std::string& warning : answer.warnings) text += "warning: " + warning + "\n";
  if (!serving.assumptions.empty())
    text += fmt::format("\nDefaults and assumptions\n  {}\n", fmt::join(serving.assumptions, ", "));
  return text;
}

}  // namespace stepcast::serve
