#include "studies/infer/records/records.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "studies/infer/records/record_plan.h"
#include "studies/infer/records/served_records.h"

namespace stepcast::infer {
namespace {

/// Networks that were trained on so few positions end there; of others the catalogue's length is not what their files
/// allow.
constexpr std::int64_t shortest_positions = 2048;

/// TensorRT-LLM's page of this day heads its rates on A100 "out tok/s" where those on H100 beside them say "/GPU", and
/// so do its pages before and after: Llama 2 70B on 4 GPUs makes 1,237 of the engine on 2023-10-18, 670 here, and 565
/// of each GPU on 2024-02-29.
constexpr const char* rates_per_gpu = "2023-12-04";

/// What of a record is forecast, and in which unit it is written.
struct Metric {
  const char* phase;
  const char* key;
  std::function<Expected<std::pair<double, Phase>>(const InferenceRecord&, const Serving&)> forecast;
};

Expected<void> asks(const InferenceRecord& r, bool output) {
  if (!r.prompt || !r.batch || (output && !r.output))
    return fail("workload", "a length or the batch is not told", "isl, osl, batch");
  return {};
}

/// An engine ends a sequence where the network's positions end.
std::int64_t words_said(const InferenceRecord& r, const Serving& s) {
  const std::int64_t most = s.network().max_positions > 0 ? s.network().max_positions : s.network().sequence;
  const bool ends = s.engine.ends_at_positions && most > 0 && *r.prompt <= most && most <= shortest_positions;
  return ends ? std::clamp<std::int64_t>(most - *r.prompt, 1, *r.output) : *r.output;
}

const std::vector<Metric>& metrics() {
  const auto prompts = [](double unit) {
    return [unit](const InferenceRecord& r, const Serving& s) -> Expected<std::pair<double, Phase>> {
      TRY(asks(r, false));
      auto phase = prefill(s, *r.batch, *r.prompt, 0);
      return std::pair{phase.time.value() * unit, std::move(phase)};
    };
  };
  const auto batch = [](const std::function<double(const InferenceRecord&, Seconds)>& figure) {
    return [figure](const InferenceRecord& r, const Serving& s) -> Expected<std::pair<double, Phase>> {
      TRY(asks(r, true));
      auto phase = static_batch(s, *r.batch, *r.prompt, words_said(r, s));
      return std::pair{figure(r, phase.time), std::move(phase)};
    };
  };
  constexpr double milliseconds = 1e3;
  static const std::vector<Metric> rows = {{"prefill", "prefill_ms", prompts(milliseconds)},
      {"prefill", "ttft_ms", prompts(milliseconds)}, {"prefill", "prefill_s", prompts(1)},
      {"decode", "decode_step_ms",
          [](const InferenceRecord& r, const Serving& s) -> Expected<std::pair<double, Phase>> {
            TRY(asks(r, true));
            auto phase = decode(s, *r.batch, *r.prompt + *r.output / 2);
            return std::pair{phase.time.value() * milliseconds, std::move(phase)};
          }},
      {"static_batch", "e2e_s", batch([](const InferenceRecord&, Seconds time) { return time.value(); })},
      {"static_batch", "output_tokens_per_s_per_gpu", batch([](const InferenceRecord& r, Seconds time) {
         return static_cast<double>(*r.batch * *r.output) / time.value() / static_cast<double>(r.tp * r.pp);
       })},
      {"static_batch", "output_tokens_per_s", batch([](const InferenceRecord& r, Seconds time) {
         const double gpus = r.upstream == rates_per_gpu ? static_cast<double>(r.tp * r.pp) : 1;
         return static_cast<double>(*r.batch * *r.output) / time.value() / gpus;
       })}};
  return rows;
}

/// A line over the context that was fitted to decode steps: judged at 16,384 positions, or by its slope alone.
Expected<InferenceCase> fitted_line(const InferenceRecord& r, const Serving& s) {
  constexpr std::int64_t far = 16'384;
  auto there = decode(s, 1, far);
  const auto near = decode(s, 1, 1024);
  const double slope = (there.time - near.time).value() / static_cast<double>(far - 1024) * 1e3;
  InferenceCase made;
  const double measured = r.measured.at("itl_slope_ms_per_context_token");
  if (const auto start = r.measured.find("itl_intercept_ms"); start != r.measured.end()) {
    made.metric = "intercept + slope x 16384";
    made.measured = start->second + measured * static_cast<double>(far);
    made.predicted = there.time.value() * 1e3;
  } else {
    made.metric = "slope";
    made.measured = measured, made.predicted = slope;
  }
  made.phase = std::move(there);
  return made;
}

/// The weights that a token meets once a word, and the cache's keys, at the memory's full rate: no engine is faster.
Seconds least_time(const InferenceRecord& record, const Serving& serving) {
  if (record.phase != "static_batch") return Seconds(0);
  const auto words = static_cast<double>(words_said(record, serving));
  const double keys = static_cast<double>(*record.prompt) + words / 2;
  const Experts& experts = serving.network().experts;
  const double met = experts.count > 0 ? static_cast<double>(experts.top_k) / static_cast<double>(experts.count) : 1;
  double read = 0;  // windows are read as far as they reach, whatever the cache keeps
  for (const Serving::Held& stage : serving.form->held())
    read = std::max(read, dataflow::cache_bytes(stage.caches, keys));
  const double bytes = met * serving.weight_bytes() + static_cast<double>(*record.batch) * read;
  return Bytes(words * bytes) / serving.machine().gpu.memory_bandwidth;
}

/// A closed loop's words per second on each GPU, of users who wait for a first word and then for others.
double rate_of(const InferenceRecord& record, double first_ms, double word_ms, double gpus) {
  const auto users = static_cast<double>(record.concurrency ? *record.concurrency : *record.batch),
             words = static_cast<double>(*record.output);
  return users * words / (first_ms + word_ms * (words - 1)) * 1e3 / gpus;
}

/// All but the split.
std::string job_of(const InferenceRecord& r) {
  const std::int64_t users = r.concurrency ? *r.concurrency : r.batch.value_or(0);
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", r.judged_as, r.model, r.gpu, r.engine, r.version, r.weights,
      r.cache, r.prompt.value_or(0), r.output.value_or(0), users, r.requests.value_or(0));
}

/// As its columns say it, whatever they mean.
std::string split_of(const InferenceRecord& r) {
  return fmt::format(
      "{}|{}|{}|{}|{}|{}", r.gpus, r.tp, r.pp, std::max<std::int64_t>(1, r.ep), r.attention_dp, r.expert_tp);
}

bool is_rate(const std::string& metric) { return metric.find("per_s") != std::string::npos; }

void add_load(InferenceCase& made, const InferenceRecord& record, const ServedForecast& forecast, double gpus) {
  const std::string split = split_of(record);
  made.version = record.version, made.job = job_of(record);
  made.setting = fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}", record.model, record.gpu, record.engine, record.version,
      record.weights, record.cache, record.prompt.value_or(0), record.output.value_or(0), split);
  made.output = static_cast<double>(record.output.value_or(0)), made.rate = record.rate;
  if (const auto served = record.measured.find("requests_per_s"); served != record.measured.end())
    made.served = served->second;
  if (is_rate(made.metric)) {
    const double share = made.metric.ends_with("_per_gpu") ? 1 : gpus;
    made.split = {made.measured / share, made.predicted / share, split};
  }
  const auto first = record.measured.find("ttft_ms");
  if (!forecast.first_word || first == record.measured.end()) return;
  made.first_measured_ms = first->second, made.first_predicted_ms = forecast.first_word->value() * 1e3;
  made.split = {rate_of(record, *made.first_measured_ms, made.measured, gpus),
      rate_of(record, *made.first_predicted_ms, made.predicted, gpus), split};
}

Expected<InferenceCase> forecast_with(LastPlans& plans, const InferenceRecord& record, const RecordWishes& wishes) {
  TRY(auto* const times, plans.words.of(record.word_pool ? split_as(record, *record.word_pool) : record, wishes));
  const Serving& serving = times->serving();
  ServedTimes* prompts = nullptr;
  if (record.prompt_pool) {
    TRY(prompts, plans.prompts.of(split_as(record, *record.prompt_pool), wishes));
  }
  const auto finish = [&](InferenceCase made) -> Expected<InferenceCase> {
    made.id = record.id, made.judged_as = record.judged_as;
    made.engine = serving.engine.id, made.gpu = serving.machine().gpu.id, made.model = serving.network().id;
    made.weights = record.weights;
    const bool rate = is_rate(made.metric);
    const Spread& spread = made.phase.spread;
    made.low = made.predicted * (rate ? 1 / spread.p90 : spread.p10);
    made.high = made.predicted * (rate ? 1 / spread.p10 : spread.p90);
    made.architecture = serving.machine().gpu.architecture;
    made.products_in = tuned_as(serving.types, serving.engine, made.architecture);
    made.measured_seconds =
        made.phase.time.value() * (rate ? made.predicted / made.measured : made.measured / made.predicted);
    if (Seconds(made.measured_seconds) < least_time(record, serving))
      return fail("measured", "a time in which the GPU's memory cannot be read as often as the tokens need it",
          "fewer tokens than the record says");
    return made;
  };
  if (record.measured.contains("itl_slope_ms_per_context_token")) {
    TRY(auto made, fitted_line(record, serving));
    return finish(std::move(made));
  }
  if (is_served(record)) {
    TRY(auto forecast, forecast_served(record, *times, prompts, wishes.iterations));
    InferenceCase made;
    made.metric = forecast.metric;
    made.measured = forecast.measured, made.predicted = forecast.predicted;
    made.phase = std::move(forecast.phase);
    auto gpus = static_cast<double>(serving.scenario.plan.gpus);
    if (prompts != nullptr)
      gpus = gpus * static_cast<double>(record.word_pool->replicas) +
             static_cast<double>(prompts->serving().scenario.plan.gpus * record.prompt_pool->replicas);
    add_load(made, record, forecast, gpus);
    return finish(std::move(made));
  }
  for (const Metric& metric : metrics()) {
    if (record.phase != metric.phase || !record.measured.contains(metric.key)) continue;
    TRY(auto forecast, metric.forecast(record, serving));
    InferenceCase made;
    made.metric = metric.key;
    made.measured = record.measured.at(metric.key);
    made.predicted = forecast.first;
    made.phase = std::move(forecast.second);
    return finish(std::move(made));
  }
  return fail("phase", fmt::format("'{:.40}' is no phase that is forecast", record.phase),
      "prefill, decode, static_batch, serving, offline_throughput");
}

}  // namespace

Expected<InferenceCase> forecast(const InferenceRecord& record, const RecordWishes& wishes) {
  LastPlans plans;
  return forecast_with(plans, record, wishes);
}

void forecast_anew(InferenceCase& made, double predicted) {
  const double share = predicted / made.predicted, others = made.output - 1;
  if (made.split && is_rate(made.metric)) made.split->predicted *= share;
  else if (made.split)
    made.split->predicted *=
        (*made.first_predicted_ms + made.predicted * others) / (*made.first_predicted_ms + predicted * others);
  made.predicted = predicted, made.low *= share, made.high *= share;
}

namespace {

/// Open loops of one setting are held against what it serves where all requests come at once.
void add_shares(std::vector<InferenceCase>& cases) {
  std::map<std::string, double> most;
  for (const InferenceCase& c : cases)
    if (c.metric == "itl_ms" && !c.rate && c.served) most[c.setting] = std::max(most[c.setting], *c.served);
  for (InferenceCase& c : cases)
    if (const auto found = most.find(c.setting); c.rate && found != most.end()) c.load = *c.rate / found->second;
}

}  // namespace

InferenceJudgement judge(const std::vector<InferenceRecord>& records, const RecordWishes& wishes) {
  std::vector<std::pair<std::string, std::size_t>> by_plan;
  for (const InferenceRecord& record : records) by_plan.emplace_back(plan_of(record), by_plan.size());
  std::ranges::sort(by_plan);
  std::vector<std::optional<Expected<InferenceCase>>> made(records.size());
  LastPlans plans;
  for (const auto& [plan, at] : by_plan) made[at] = forecast_with(plans, records[at], wishes);
  InferenceJudgement out;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (made[i]->has_value()) out.cases.push_back(std::move(**made[i]));
    else out.skipped.push_back({records[i].id, made[i]->error().what});
  }
  add_shares(out.cases);
  return out;
}

}  // namespace stepcast::infer
