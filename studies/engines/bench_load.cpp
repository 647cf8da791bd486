#include "studies/engines/bench_load.h"

#include <algorithm>
#include <filesystem>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "model/base/text.h"
#include "model/base/whole_number.h"

namespace stepcast::engines {
namespace {

std::string whole(double value) { return fmt::format("{}", static_cast<std::int64_t>(std::llround(value))); }

/// Names of benchmarks for what users are promised, and ours.
struct Promise {
  std::string_view name, target;
};
constexpr std::array promises = {Promise{"ttft", "ttft"}, Promise{"tpot", "tpot"}, Promise{"e2el", "e2e"},
    Promise{"time_to_first_token", "ttft"}, Promise{"inter_token_latency", "tpot"}, Promise{"request_latency", "e2e"}};

/// "ttft:500 tpot:30", in ms.
Expected<void> read_promises(SaidArguments& said, BenchLoad& load) {
  const auto text = said.text("goodput");
  if (!text) return {};
  std::string targets;
  for (std::size_t begin = 0; begin < text->size();) {
    const std::size_t end = std::min(text->find_first_of(" ,", begin), text->size());
    const std::string one = text->substr(begin, end - begin);
    begin = end + 1;
    if (one.empty()) continue;
    const std::size_t colon = one.find(':');
    const auto row = std::ranges::find(promises, std::string_view(one).substr(0, colon), &Promise::name);
    const auto value = colon == one.npos ? std::nullopt : parsed_number<double>(one.substr(colon + 1));
    if (row == promises.end() || !value)
      return fail(place_of_argument(said, *said.find("goodput")), fmt::format("'{:.60}' is no promise", one),
          "ttft:500 tpot:30 e2el:20000, in ms");
    targets += fmt::format("{}{}<{}ms", targets.empty() ? "" : " ", row->target, *value);
  }
  load.flags["--slo"] = targets;
  return {};
}

/// Requests at a rate, so many at once, or all at once.
Expected<void> read_pace(SaidArguments& said, BenchLoad& load, const char* at_once, std::int64_t requests) {
  TRY(const auto users, said.count(at_once));
  const auto rate = said.text("request_rate");
  const bool bound = users && *users > 0 && (requests == 0 || *users < requests);
  const bool open = rate && lower_case(*rate) != "inf";
  if (requests > 0) load.flags["--requests"] = std::to_string(requests);
  if (open && bound)
    return fail(place_of_argument(said, *said.find("request_rate")),
        "requests at a rate, and no more than so many at once", "--rate alone, or --concurrency");
  if (open) {
    load.flags["--rate"] = *rate;
  } else if (bound) {
    load.flags["--concurrency"] = std::to_string(*users);
  } else if (requests > 0) {
    load.flags["--concurrency"] = std::to_string(requests);
    load.notes.push_back(fmt::format("all {} requests come at once", requests));
  } else {
    load.open.emplace_back("how many requests come at once");
  }
  return {};
}

Expected<std::int64_t> count_or(SaidArguments& said, const char* name, std::int64_t absent) {
  TRY(const auto value, said.count(name));
  return value.value_or(absent);
}

/// Lengths of random prompts: what shares their head comes in front of the nominal length
/// (vllm/benchmarks/datasets.py).
void put_lengths(BenchLoad& load, double input, double output, std::int64_t shared) {
  load.flags["--input"] = whole(input + static_cast<double>(shared));
  load.flags["--output"] = whole(output);
  if (shared > 0) load.flags["--shared"] = std::to_string(shared);
}

constexpr std::int64_t usual_prompts = 1000, usual_input = 1024, vllm_output = 128, sglang_output = 1024;
constexpr std::int64_t latency_input = 32;  // vllm/benchmarks/latency.py
constexpr const char* of_a_file = "how long prompts and answers are: they come from a data set";

bool is_random(const std::optional<std::string>& dataset) {
  return !dataset || *dataset == "random" || *dataset == "random-ids";
}

/// Options that tell how long answers of other data sets are (vllm/benchmarks/datasets.py,
/// python/sglang/bench_serving.py). Their prompts are a file's, or have heads that groups of them share.
struct DataSet {
  std::string_view name, output;
};
constexpr std::array data_sets = {DataSet{"sharegpt", "sharegpt_output_len"}, DataSet{"sonnet", "sonnet_output_len"},
    DataSet{"custom", "custom_output_len"}, DataSet{"hf", "hf_output_len"},
    DataSet{"spec_bench", "spec_bench_output_len"}, DataSet{"speed_bench", "speed_bench_output_len"},
    DataSet{"prefix_repetition", "prefix_repetition_output_len"}, DataSet{"generated-shared-prefix", "gsp_output_len"}};

/// What is told of such a data set; -1 leaves a length to its rows. Those of another one say nothing.
Expected<void> read_data_set(SaidArguments& said, std::string_view name, BenchLoad& load) {
  for (const DataSet& row : data_sets) {
    if (said.text(row.output).value_or("-1") == "-1") continue;
    TRY(const auto length, said.count(row.output));
    if (row.name == name && length) load.flags["--output"] = std::to_string(*length);
  }
  load.open.emplace_back(
      load.flags.contains("--output") ? "how long prompts are: they come from a data set" : of_a_file);
  return {};
}

/// vllm/benchmarks/datasets.py, RandomDataset: lengths are uniform from (1 - r) to (1 + r) times the nominal one;
/// benchmark_serving.py before 0.9 drew them from r x L to L.
Expected<void> read_spread(SaidArguments& said, BenchLoad& load, double& input, double& output) {
  const auto text = said.text("random_range_ratio");
  if (!text) return {};
  const auto ratio = parsed_number<double>(*text);
  const std::string place = place_of_argument(said, *said.find("random_range_ratio"));
  if (!ratio || !(*ratio >= 0 && *ratio <= 1))
    return fail(place, fmt::format("'{:.40}' is no share that prompts and answers have alike", *text),
        "--input, --output and --shortest, or --trace FILE.csv");
  const bool of_old = said.program->words == "benchmark_serving.py";
  if (*ratio == 0 && !of_old) return {};
  if (*ratio == 1) {
    if (of_old) return {};
    return fail(place, "lengths from nothing to twice the nominal one", "--input, --output and --shortest");
  }
  if (of_old)
    return fail(place,
        "older releases draw lengths from this share of the nominal one to the whole, newer ones around it",
        "--input, --output and --shortest, which say it");
  load.flags["--shortest"] = fmt::format("{:.6g}", (1 - *ratio) / (1 + *ratio));
  input *= 1 + *ratio, output *= 1 + *ratio;
  return {};
}

Expected<BenchLoad> vllm_load(SaidArguments& said) {
  BenchLoad load;
  const bool offline = said.program->table == "vllm-offline",
             latency = said.program->name.ends_with("latency") || said.program->words == "benchmark_latency.py";
  if (latency && offline) said.find("num_prompts");
  TRY(const auto prompts, count_or(said, latency ? "batch_size" : "num_prompts", latency ? 8 : usual_prompts));
  said.find("batch_size"), said.find("dataset_path");
  const auto dataset = said.text("dataset_name");
  TRY(const auto any_input, said.count("input_len"));
  TRY(const auto any_output, said.count("output_len"));
  TRY(const auto random_input, said.count("random_input_len"));
  TRY(const auto random_output, said.count("random_output_len"));
  TRY(const auto shared, count_or(said, "random_prefix_len", 0));
  // Data sets where none is named: ShareGPT's of benchmark_serving.py and of throughput without lengths, random ones of
  // `vllm bench serve` (vllm/benchmarks/datasets.py, add_dataset_parser); latency has lengths of its own.
  const bool told = any_input || random_input || latency || said.program->words == "vllm bench serve";
  if (!is_random(dataset) || (!dataset && !told)) {
    TRY(read_data_set(said, dataset.value_or("sharegpt"), load));
    said.find("random_range_ratio");
  } else {
    const std::int64_t usual = latency ? latency_input : usual_input;
    double input = static_cast<double>(any_input.value_or(random_input.value_or(usual)));
    double output = static_cast<double>(any_output.value_or(random_output.value_or(vllm_output)));
    TRY(read_spread(said, load, input, output));
    put_lengths(load, input, output, shared);
  }
  if (offline) {
    load.flags["--concurrency"] = load.flags["--requests"] = std::to_string(prompts);
    return load;
  }
  if (const auto shape = said.text("burstiness"); shape && said.text("request_rate").value_or("inf") != "inf")
    load.flags["--burstiness"] = *shape;
  TRY(read_pace(said, load, "max_concurrency", prompts));
  TRY(read_promises(said, load));
  return load;
}

/// python/sglang/bench_serving.py, sample_random_requests: lengths are uniform from r x L to L.
Expected<BenchLoad> sglang_load(SaidArguments& said) {
  BenchLoad load;
  TRY(const auto prompts, count_or(said, "num_prompts", usual_prompts));
  TRY(const auto input, count_or(said, "random_input_len", usual_input));
  TRY(const auto output, count_or(said, "random_output_len", sglang_output));
  TRY(const auto ratio, said.number("random_range_ratio"));
  said.find("dataset_path");
  const auto dataset = said.text("dataset_name");
  if (!dataset || !is_random(dataset)) {
    TRY(read_data_set(said, dataset.value_or("sharegpt"), load));
  } else {
    put_lengths(load, static_cast<double>(input), static_cast<double>(output), 0);
    load.flags["--shortest"] = fmt::format("{:.6g}", ratio.value_or(0));
    if (!ratio) load.notes.emplace_back("random_range_ratio 0: lengths from one position to the nominal one");
  }
  TRY(read_pace(said, load, "max_concurrency", prompts));
  return load;
}

Expected<BenchLoad> trtllm_load(SaidArguments& said, std::optional<MadeRequests> made) {
  BenchLoad load;
  const auto reads = said.text("dataset");
  if (made && !made->file.empty() && reads && std::filesystem::path(*reads).lexically_normal().string() != made->file)
    made.reset();
  said.find("dataset"), said.find("subcommand"), said.find("target_input_len"), said.find("target_output_len");
  TRY(const auto read, count_or(said, "num_requests", 0));
  const std::int64_t requests = read > 0 ? read : made ? made->count : 0;
  if (made) {
    put_lengths(load, static_cast<double>(made->input), static_cast<double>(made->output), 0);
    load.notes.emplace_back("its requests are those that prepare_dataset makes in the same script");
  } else {
    load.open.emplace_back(of_a_file);
  }
  TRY(const auto users, count_or(said, "concurrency", 0));
  if (requests > 0) load.flags["--requests"] = std::to_string(requests);
  if (users > 0) load.flags["--concurrency"] = std::to_string(users);
  else if (requests > 0) load.flags["--concurrency"] = std::to_string(requests);
  else load.open.emplace_back("how many requests come at once");
  return load;
}

Expected<BenchLoad> perf_load(SaidArguments& said) {
  BenchLoad load;
  for (const char* name : {"synthetic_input_tokens_stddev", "output_tokens_stddev"}) {
    TRY(const auto spread, said.number(name));
    if (spread && *spread != 0)
      return fail(place_of_argument(said, *said.find(name)), "lengths of a normal law are not forecast",
          "--trace FILE.csv with their lengths, or 0");
  }
  TRY(const auto input, said.count("synthetic_input_tokens_mean"));
  TRY(const auto output, said.count("output_tokens_mean"));
  constexpr std::int64_t usual = 550;  // aiperf docs/cli_options.md, genai-perf parser.py
  const bool from_file = said.text("input_file").has_value() || said.text("public_dataset").has_value();
  std::int64_t shared = 0;
  for (const char* name : {"prompt_prefix_length", "prefix_prompt_length", "shared_system_prompt_length"}) {
    TRY(const auto head, said.count(name));
    if (head) shared = *head;
  }
  if (from_file) {
    load.open.emplace_back(of_a_file);
  } else {
    load.flags["--input"] = std::to_string(input.value_or(usual) + shared);
    if (output) load.flags["--output"] = std::to_string(*output);
    else load.open.emplace_back("how long answers are");
    if (shared > 0) load.flags["--shared"] = std::to_string(shared);
  }
  TRY(const auto requests, count_or(said, "request_count", 0));
  const auto mode = said.text("request_rate_mode");
  TRY(read_pace(said, load, "concurrency", requests));
  if (mode && load.flags.contains("--rate")) {
    if (*mode == "constant") load.flags["--burstiness"] = "1e6";  // a gamma law that has hardly any spread
    else if (*mode != "poisson")
      return fail(place_of_argument(said, *said.find("request_rate_mode")),
          fmt::format("requests by '{:.40}' are not forecast", *mode), "poisson or constant");
  }
  TRY(read_promises(said, load));
  return load;
}

}  // namespace

Expected<BenchLoad> bench_load(SaidArguments& said, const std::optional<MadeRequests>& made) {
  const std::string_view table = said.program->table;
  if (table == "sglang-bench") return sglang_load(said);
  if (table == "trtllm-bench") return trtllm_load(said, made);
  return table.starts_with("vllm") ? vllm_load(said) : perf_load(said);
}

}  // namespace stepcast::engines
