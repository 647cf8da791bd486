#include "sim/serving/service_figures.h"

#include <algorithm>
#include <cassert>

namespace stepcast::sim {

Latency latency_of(std::vector<Counted> values) {
  Latency out;
  std::ranges::sort(values, {}, &Counted::value);
  double all = 0, sum = 0;
  for (const Counted& value : values) all += value.count, sum += value.value * value.count;
  if (all == 0) return out;
  out.mean = Seconds(sum / all);
  const auto at = [&](double share) {
    double seen = 0;
    for (const Counted& value : values)
      if (seen += value.count; seen >= share * all) return Seconds(value.value);
    return Seconds(values.back().value);
  };
  out.p50 = at(0.5), out.p90 = at(0.9), out.p99 = at(0.99);
  return out;
}

namespace {

/// Of a request's words, the share that comes behind `begin`: its words are as far apart as each other.
double share_behind(const Served& request, Seconds begin) {
  if (request.last <= begin) return 0;
  if (request.first >= begin) return 1;
  return (request.last - begin) / (request.last - request.first);
}

}  // namespace

ServiceFigures figures_of(const ServedRun& run, const Servers& servers, std::size_t warm_up) {
  assert(warm_up < run.requests.size());
  ServiceFigures out;
  std::vector<Counted> first, word, whole, gaps;
  Seconds begin = run.requests[warm_up].sent, end;
  for (std::size_t i = warm_up; i < run.requests.size(); ++i) {
    const Served& request = run.requests[i];
    begin = std::min(begin, request.sent), end = std::max(end, request.last);
    first.push_back({(request.first - request.sent).value(), 1});
    whole.push_back({(request.last - request.sent).value(), 1});
    if (request.output > 1)
      word.push_back({(request.last - request.first).value() / static_cast<double>(request.output - 1), 1});
  }
  for (const Gap& gap : run.gaps)
    if (gap.at > begin) gaps.push_back({gap.time.value(), static_cast<double>(gap.count)});
  out.first_word = latency_of(std::move(first)), out.whole = latency_of(std::move(whole));
  out.per_word = latency_of(std::move(word)), out.between_words = latency_of(std::move(gaps));
  out.requests = static_cast<double>(run.requests.size() - warm_up);
  out.span = end - begin;
  // Of all requests, those before warm-up was over, too, which share iterations with the others: each counts as far as
  // its words came behind, or those that were nearly done would make the rate too high.
  double words = 0, served = 0;
  for (const RanIteration& ran : run.iterations)
    if (ran.start >= begin) words += static_cast<double>(ran.words);
  for (const Served& request : run.requests) served += share_behind(request, begin);
  out.words_per_second = words / out.span.value(), out.requests_per_second = served / out.span.value();
  if (out.per_word.mean.value() > 0) out.words_per_second_of_user = 1 / out.per_word.mean.value();
  const double span = out.span.value() * static_cast<double>(servers.replicas * servers.stages);
  for (const RanIteration& ran : run.iterations) {
    if (ran.start < begin) continue;
    const double share = ran.time.value() / span;
    (ran.batch.prompts == 0 ? out.in_words : ran.batch.words == 0 ? out.in_prompts : out.in_mixed) += share;
    const double of_all = ran.time / out.span;
    out.running += of_all * static_cast<double>(ran.running), out.waiting += of_all * static_cast<double>(ran.waiting);
    out.used_blocks += share * static_cast<double>(ran.used_blocks);
    out.most_waiting = std::max(out.most_waiting, static_cast<double>(ran.waiting));
    out.most_used_blocks = std::max(out.most_used_blocks, static_cast<double>(ran.used_blocks));
    out.iterations += 1;
  }
  out.idle = std::max(0.0, 1 - out.in_words - out.in_mixed - out.in_prompts);
  out.preempted = static_cast<double>(run.preempted);
  return out;
}

FullSpan full_span(const ServedRun& run) {
  const auto& iterations = run.iterations;
  FullSpan span{0, iterations.size()};
  const Seconds first_end = std::ranges::min_element(run.requests, {}, &Served::last)->last;
  while (span.begin < span.end && iterations[span.begin].start < first_end) ++span.begin;
  while (span.end > span.begin && iterations[span.end - 1].waiting == 0) --span.end;
  return span.end > span.begin + 1 ? span : FullSpan{0, iterations.size()};
}

}  // namespace stepcast::sim
