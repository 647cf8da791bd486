#include "studies/infer/records.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/base/text.h"
#include "model/catalog.h"
#include "studies/infer/served_records.h"
#include "studies/print/table.h"

namespace stepcast::infer {
namespace {

/// GPUs of records, and the machine that has them.
struct GpuName {
  const char* name;
  const char* machine;
};
constexpr GpuName gpu_names[] = {{"A100-SXM-80GB", "dgx-a100"}, {"A100 SXM 80GB", "dgx-a100"},
    {"A100-SXM-40GB", "dgx-a100-40gb"}, {"H100-SXM-80GB", "dgx-h100"}, {"H200-SXM-141GB", "hgx-h200"},
    {"B200-SXM-180GB", "dgx-b200"}, {"GH200", "alps-gh200"}, {"MI300X", "mi300x-server"},
    {"GB200-NVL72", "gb200-nvl72"}, {"RTX-PRO-6000-Blackwell-SE", "rtx-pro-6000-server"},
    {"RTX-PRO-6000", "rtx-pro-6000-server"}};

/// Engines of records, by name and how their releases count: the first row that fits.
struct EngineName {
  const char* name;  ///< in lower case, the whole of it
  /// versions below it; "": any. Versions that are not told count as lowest, but in closed loops of users: those are
  /// of dumps of 2025 and 2026
  const char* before;
  const char* engine;
};
constexpr EngineName engine_names[] = {{"vllm (2023, splitwise fork)", "", "vllm-2023"}, {"vllm", "0.8", "vllm-v0"},
    {"vllm", "", "vllm"}, {"tensorrt-llm", "0.10", "tensorrt-llm-2023"}, {"trtllm", "0.10", "tensorrt-llm-2023"},
    {"tensorrt-llm", "", "tensorrt-llm"}, {"trtllm", "", "tensorrt-llm"}, {"deepspeed-mii", "", "deepspeed-mii"},
    {"sglang", "", "sglang"}, {"tensorrt-llm + triton tensorrtllm_backend", "", "tensorrt-llm"},
    {"pytorch", "", "pytorch"}};

std::vector<int> numbers_of(const std::string& version) {
  std::vector<int> numbers;
  int value = -1;
  for (const char c : version + ".") {
    if (c >= '0' && c <= '9') {
      value = std::max(0, value) * 10 + (c - '0');
    } else {
      if (value < 0) break;
      numbers.push_back(value);
      value = -1;
      if (c != '.') break;
    }
  }
  return numbers;
}

Expected<const Engine*> engine_of(const InferenceRecord& record) {
  const std::string name = lower_case(record.engine);
  for (const EngineName& row : engine_names) {
    if (name != row.name) continue;
    const std::vector<int> version = numbers_of(record.version);
    const bool recent = version.empty() && record.phase == "serving" && record.batch;
    const bool older = row.before[0] == '\0' || (!recent && version < numbers_of(row.before));
    if (older) return find_row(built_in().engines, row.engine, "engine");
  }
  return fail("software", fmt::format("no engine '{:.60}'", record.engine), "stepcast list engines");
}

Expected<run::Chosen<Machine>> machine_of(const InferenceRecord& record) {
  for (const GpuName& row : gpu_names)
    if (record.gpu == row.name) return run::choose_machine(row.machine, "hardware");
  // Records of one's own name a machine of the catalogue.
  for (const Machine& row : built_in().machines)
    if (record.gpu == row.id) return run::choose_machine(row.id, "hardware");
  return fail("hardware", fmt::format("no GPU '{:.60}'", record.gpu), "stepcast list gpus");
}

/// Number types as records say them, by how they begin; the rest says which part of a checkpoint is meant.
struct TypeName {
  const char* begins;
  const char* type;
};
constexpr TypeName type_names[] = {{"bf16 (", "bf16"}, {"fp16/bf16", "bf16"}, {"mxfp4", "mxfp4"},
    {"fp8 (moe fp8-block)", "fp8-block"}, {"int4 weight-only", "int4"}};

std::string type_of(const std::string& said) {
  for (const TypeName& row : type_names)
    if (said.starts_with(row.begins)) return row.type;
  return said;
}

Expected<Serving> serving_of_record(const InferenceRecord& record, const RecordWishes& wanted) {
  const Engine* engine = wanted.engine;
  if (engine == nullptr) {
    TRY(engine, engine_of(record));
  }
  TRY(auto machine, machine_of(record));
  TRY(auto network, run::choose_network(record.model, "model"));
  ServingWishes wishes;
  wishes.tp = record.tp, wishes.pp = record.pp, wishes.attention_dp = std::max<std::int64_t>(1, record.attention_dp);
  if (network.row.experts.count > 0) wishes.ep = std::max<std::int64_t>(1, record.ep);
  wishes.weights = type_of(record.weights);
  wishes.cache = record.cache.starts_with("fp8") ? "fp8" : record.cache;
  // Not told: engines that are built in fp8 keep such a cache (TensorRT-LLM, examples/quantization).
  if (wishes.cache.empty() && record.weights == "fp8") wishes.cache = "fp8";
  if (record.nodes > 1) return fail("hardware", "an engine on several nodes", "one node");
  return serving_of(wishes, std::move(network), std::move(machine), *engine, wanted.profile);
}

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
  const double bytes = met * serving.weight_bytes() + static_cast<double>(*record.batch) * serving.cache_bytes(keys);
  return Bytes(words * bytes) / serving.machine().gpu.memory_bandwidth;
}

}  // namespace

Expected<InferenceCase> forecast(const InferenceRecord& record, const RecordWishes& wishes) {
  TRY(const auto serving, serving_of_record(record, wishes));
  const auto finish = [&](InferenceCase made) -> Expected<InferenceCase> {
    made.id = record.id, made.judged_as = record.judged_as;
    made.engine = serving.engine.id, made.gpu = serving.machine().gpu.id, made.model = serving.network().id;
    made.weights = record.weights;
    const bool rate = made.metric.find("per_s") != std::string::npos;
    const Spread& spread = made.phase.spread;
    made.low = made.predicted * (rate ? 1 / spread.p90 : spread.p10);
    made.high = made.predicted * (rate ? 1 / spread.p10 : spread.p90);
    made.architecture = serving.machine().gpu.architecture, made.products_in = to_text(serving.types.products);
    made.measured_seconds =
        made.phase.time.value() * (rate ? made.predicted / made.measured : made.measured / made.predicted);
    if (Seconds(made.measured_seconds) < least_time(record, serving))
      return fail("measured", "a time in which the GPU's memory cannot be read as often as the words said need it",
          "fewer words than the record says");
    return made;
  };
  if (record.measured.contains("itl_slope_ms_per_context_token")) {
    TRY(auto made, fitted_line(record, serving));
    return finish(std::move(made));
  }
  if (is_served(record)) {
    TRY(auto forecast, forecast_served(record, serving));
    InferenceCase made;
    made.metric = forecast.metric;
    made.measured = forecast.measured, made.predicted = forecast.predicted;
    made.phase = std::move(forecast.phase);
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

InferenceJudgement judge(const std::vector<InferenceRecord>& records, const RecordWishes& wishes) {
  InferenceJudgement out;
  for (const InferenceRecord& record : records) {
    auto made = forecast(record, wishes);
    if (made) out.cases.push_back(std::move(*made));
    else out.skipped.push_back({record.id, made.error().what});
  }
  return out;
}

std::string judgement_json(const InferenceJudgement& judgement) {
  nlohmann::ordered_json json;
  json["cases"] = nlohmann::ordered_json::array();
  for (const InferenceCase& c : judgement.cases) {
    json["cases"].push_back({{"id", c.id}, {"judged_as", c.judged_as}, {"metric", c.metric}, {"measured", c.measured},
        {"predicted", c.predicted}, {"interval", {c.low, c.high}}, {"error", c.error()}, {"engine", c.engine},
        {"gpu", c.gpu}, {"model", c.model}, {"weights", c.weights}, {"waves", c.phase.waves},
        {"prefill_s", c.phase.prefill.value()}, {"decode_s", c.phase.decode.value()}});
  }
  json["skipped"] = nlohmann::ordered_json::array();
  for (const InferenceSkip& skip : judgement.skipped) json["skipped"].push_back({{"id", skip.id}, {"why", skip.why}});
  return json.dump(2) + "\n";
}

namespace {

std::string cases_text(std::vector<InferenceCase> cases) {
  std::ranges::stable_sort(cases, std::greater{}, [](const InferenceCase& c) { return std::abs(c.error()); });
  print::Table table({{"error", print::Align::right}, {"measured", print::Align::right},
      {"forecast", print::Align::right}, {"in"}, {"record"}});
  for (const InferenceCase& c : cases)
    table.add({fmt::format("{:+.1f} %", 100 * c.error()), fmt::format("{:.4g}", c.measured),
        fmt::format("{:.4g}", c.predicted), c.metric, c.id});
  return "\n" + table.text("");
}

}  // namespace

std::string judgement_text(const InferenceJudgement& judgement, bool cases) {
  std::map<std::string, std::vector<const InferenceCase*>> lists;
  for (const InferenceCase& c : judgement.cases)
    lists[(c.judged_as.empty() ? "not judged" : c.judged_as)].push_back(&c);
  print::Table table({{"list"}, {"records", print::Align::right}, {"mean error", print::Align::right},
      {"median", print::Align::right}, {"in 80 %", print::Align::right}});
  for (const auto& [name, listed] : lists) {
    std::vector<double> errors;
    double inside = 0, sum = 0;
    for (const InferenceCase* c : listed) {
      errors.push_back(std::abs(c->error()));
      sum += errors.back();
      inside += c->measured >= c->low && c->measured <= c->high ? 1 : 0;
    }
    std::ranges::sort(errors);
    const auto n = static_cast<double>(listed.size());
    table.add({name, fmt::format("{}", listed.size()), fmt::format("{:.1f} %", 100 * sum / n),
        fmt::format("{:.1f} %", 100 * errors[errors.size() / 2]), fmt::format("{:.0f} %", 100 * inside / n)});
  }
  std::map<std::string, int> why;
  for (const InferenceSkip& skip : judgement.skipped) ++why[skip.why];
  std::string text = table.text("");
  if (!why.empty()) text += fmt::format("\nskipped {} records\n", judgement.skipped.size());
  for (const auto& [reason, count] : why) text += fmt::format("  {} {}\n", count, reason);
  return cases ? text + cases_text(judgement.cases) : text;
}

}  // namespace stepcast::infer
