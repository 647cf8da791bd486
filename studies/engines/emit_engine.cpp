#include "studies/engines/emit_engine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "studies/cli/flag_values.h"
#include "studies/cli/shell_word.h"
#include "studies/engines/asked_pool.h"
#include "studies/engines/checkpoint.h"
#include "studies/engines/positions/context_length.h"
#include "studies/engines/settings.h"
#include "studies/engines/vllm_v0.h"
#include "studies/run/nouns.h"

namespace stepcast::engines {
namespace {

/// What is asked, in numbers.
struct Wanted {
  std::string model, weights, cache, exchange;
  bool narrows = false;     ///< weights get their type while they are read
  bool cache_told = false;  ///< a cache that no option says may be in another type than bf16
  bool experts = false;
  std::int64_t tp = 1, pp = 1, ep = 1, groups = 1, copies = 1, sequences = 0, positions = 0, input = 0, output = 0,
               shared = 0, requests = 0, users = 0, longest = 0;  ///< of a launch that has to say it
  double shortest = 1;
  std::string rate, shape, preemption, swap_space;
};

/// A checkpoint on the hub in this type, or one that the engine narrows itself (vLLM and SGLang: fp8).
Expected<std::string> checkpoint_in(
    const NetworkSpec& network, const std::string& weights, const std::string& engine, bool& narrows) {
  const std::string* wide = nullptr;
  for (const std::string& name : network.aliases) {
    if (name.find('/') == name.npos) continue;
    const std::string type = checkpoint_of(name).weights;
    if (type == weights) return name;
    if (type == "bf16" && wide == nullptr) wide = &name;
  }
  if (wide != nullptr && weights == "fp16") return *wide;
  if (wide != nullptr && weights == "fp8" && engine != "trtllm") {
    narrows = true;
    return *wide;
  }
  return fail("--emit", fmt::format("no checkpoint of {} in {} is known", network.id, weights),
      "--weights of one that is on the hub, bf16 first");
}

Expected<Wanted> wanted_of(const Arguments& arguments, const std::string& engine) {
  Wanted w;
  TRY(const auto network, run::choose_network(arguments.words.at(0), "network"));
  w.experts = network.row.experts.count > 0;
  w.weights = arguments.has("--weights") ? arguments.value("--weights") : "bf16";
  w.cache = arguments.has("--kv") ? arguments.value("--kv") : "bf16";
  TRY(w.model, checkpoint_in(network.row, w.weights, engine, w.narrows));
  w.cache_told = (network.row.sparse.top_k > 0 && network.row.sparse.pooled == 0) ||
                 network.row.compressed.q_rank > 0 || !checkpoint_of(w.model).cache.empty();
  if (engine == "trtllm" && w.cache == "bf16" && !checkpoint_of(w.model).cache.empty())
    return fail("--emit", fmt::format("TensorRT-LLM keeps the cache of {} as the checkpoint tells it", w.model),
        "--kv " + checkpoint_of(w.model).cache);
  w.tp = count_of(arguments, "--tp", 0), w.pp = count_of(arguments, "--pp", 1);
  w.groups = count_of(arguments, "--dp-attention", 1), w.ep = count_of(arguments, "--ep", 1);
  w.copies = count_of(arguments, "--replicas", 1);
  const std::int64_t gpus = count_of(arguments, "--gpus", 0);
  if (w.tp == 0) w.tp = std::max<std::int64_t>(1, gpus / (w.copies * w.pp * w.groups));
  w.exchange = arguments.value("--exchange");
  w.sequences = count_of(arguments, "--most-sequences", 0), w.positions = count_of(arguments, "--most-positions", 0);
  w.input = count_of(arguments, "--input", 0), w.output = count_of(arguments, "--output", 0);
  w.shared = count_of(arguments, "--shared", 0), w.users = count_of(arguments, "--concurrency", 0);
  w.requests = count_of(arguments, "--requests", w.users > 0 ? 10 * w.users : 1000 * w.copies);
  if (arguments.has("--shortest")) {
    TRY(w.shortest, parse_fraction(arguments.value("--shortest"), "--shortest"));
  }
  w.preemption = arguments.value("--preemption"), w.swap_space = arguments.value("--swap-space");
  if (w.preemption == "swap" && engine != "vllm")
    return fail("--preemption", fmt::format("no launch of {} has sequences swapped that give way", engine),
        "--emit vllm, with --engine vllm-v0");
  if (w.preemption == "swap") {  // the launch names no release: any that has V0
    TRY(const auto machine,
        run::choose_machine(arguments.has("--machine") ? arguments.value("--machine") : "dgx-h100", "--machine"));
    if (v0_cuts_prompts(network.row, machine.row.gpu, published_positions(network.row.id, w.model), false))
      w.longest = vllm_v0_whole_prompts;
  }
  if (w.longest > 0 && w.input + w.output > w.longest)
    return fail("--preemption",
        fmt::format(
            "requests of {} + {} positions: beyond {} vLLM V0 cuts prompts by itself", w.input, w.output, w.longest),
        "shorter requests, or --preemption recompute");
  w.rate = arguments.value("--rate"), w.shape = arguments.value("--burstiness");
  if (w.experts && w.ep != 1 && w.ep != w.tp * w.groups && engine == "vllm")
    return fail("--emit", fmt::format("vLLM lays experts on one rank or on all {}, not on {}", w.tp * w.groups, w.ep),
        fmt::format("--ep {}", w.tp * w.groups));
  if (engine == "trtllm" && w.groups > 1 && w.tp > 1)
    return fail("--emit", fmt::format("TensorRT-LLM's groups of attention have one rank each, not {}", w.tp),
        "--tp 1 with --dp-attention");
  return w;
}

/// A command over several lines.
class CommandText {
 public:
  explicit CommandText(std::string start) : text_(std::move(start)) {}
  CommandText& with(std::string_view option) {
    text_ += fmt::format(" \\\n  {}", option);
    return *this;
  }
  template <class Value> CommandText& with(std::string_view option, const Value& value) {
    return with(fmt::format("{} {}", option, shell_word(fmt::format("{}", value))));
  }
  CommandText& size(std::string_view option, std::int64_t value) { return value > 1 ? with(option, value) : *this; }
  CommandText& given(std::string_view option, std::int64_t value) { return value > 0 ? with(option, value) : *this; }
  [[nodiscard]] std::string text() const { return text_ + "\n"; }

 private:
  std::string text_;
};

void say_cache(const Wanted& w, const char* fp8, CommandText& server) {
  if (w.cache == "fp8") server.with("--kv-cache-dtype", fp8);
  if (w.cache == "bf16" && w.cache_told) server.with("--kv-cache-dtype", "bfloat16");
}

std::string vllm_text(const Wanted& w) {
  CommandText server("vllm serve " + shell_word(w.model));
  server.size("--tensor-parallel-size", w.tp).size("--pipeline-parallel-size", w.pp);
  server.size("--data-parallel-size", w.experts ? w.groups : w.copies);
  if (w.experts && w.ep > 1) server.with("--enable-expert-parallel");
  if (w.groups > 1 && !w.exchange.empty())
    server.with("--all2all-backend", w.exchange == "rows" ? "deepep_high_throughput" : "allgather_reducescatter");
  if (w.weights == "fp16") server.with("--dtype", "float16");
  if (w.narrows) server.with("--quantization", w.weights);
  say_cache(w, "fp8", server);
  server.given("--max-num-seqs", w.sequences).given("--max-num-batched-tokens", w.positions);
  server.given("--max-model-len", w.longest);
  if (w.preemption == "swap") server.with("--preemption-mode", w.preemption);
  if (!w.swap_space.empty()) server.with("--swap-space", w.swap_space);
  return server.text();
}

std::string sglang_text(const Wanted& w) {
  CommandText server("python3 -m sglang.launch_server");
  server.with("--model-path", w.model).size("--tp-size", w.tp * w.groups).size("--pp-size", w.pp);
  if (w.groups > 1) server.with("--dp-size", w.groups).with("--enable-dp-attention");
  else server.size("--dp-size", w.copies);
  if (w.experts) server.size("--ep-size", w.ep);
  if (w.groups > 1 && w.exchange == "rows") server.with("--moe-a2a-backend", "deepep");
  if (w.weights == "fp16") server.with("--dtype", "float16");
  if (w.narrows) server.with("--quantization", w.weights);
  say_cache(w, "fp8_e4m3", server);
  server.given("--max-running-requests", w.sequences * w.groups);
  server.given("--chunked-prefill-size", w.positions * w.groups);
  if (w.positions > sglang_positions_together) server.given("--max-prefill-tokens", w.positions);
  return server.text();
}

std::string trtllm_text(const Wanted& w) {
  std::string text = "cat > extra_llm_api_options.yaml <<'EOF'\n";
  if (w.groups > 1) text += "enable_attention_dp: true\n";
  text += fmt::format("kv_cache_config:\n  dtype: {}\nEOF\n", w.cache == "fp8" ? "fp8" : "auto");
  CommandText server("trtllm-serve " + shell_word(w.model));
  server.size("--tp_size", w.tp * w.groups).size("--pp_size", w.pp);
  if (w.experts) server.size("--ep_size", w.ep);
  server.given("--max_batch_size", w.sequences).given("--max_num_tokens", w.positions);
  server.with("--extra_llm_api_options", "extra_llm_api_options.yaml");
  return text + server.text();
}

std::string vllm_bench_text(const Wanted& w, const char* backend) {
  CommandText bench("vllm bench serve");
  bench.with("--backend", backend).with("--model", w.model).with("--dataset-name", "random");
  // Its lengths lie around the nominal one, as far below as above.
  const double nominal = (1 + w.shortest) / 2, ratio = (1 - w.shortest) / (1 + w.shortest);
  bench.with("--random-input-len", std::llround(static_cast<double>(w.input - w.shared) * nominal));
  bench.with("--random-output-len", std::llround(static_cast<double>(w.output) * nominal));
  if (w.shortest < 1) bench.with("--random-range-ratio", fmt::format("{:.4g}", ratio));
  bench.given("--random-prefix-len", w.shared).with("--num-prompts", w.requests);
  if (w.users > 0) bench.with("--max-concurrency", w.users);
  if (!w.rate.empty()) bench.with("--request-rate", w.rate);
  if (!w.shape.empty()) bench.with("--burstiness", w.shape);
  bench.with("--ignore-eos");  // answers of the length that was asked for
  return bench.text();
}

std::string sglang_bench_text(const Wanted& w) {
  CommandText bench("python3 -m sglang.bench_serving");
  bench.with("--backend", "sglang").with("--model", w.model).with("--dataset-name", "random");
  bench.with("--random-input-len", w.input).with("--random-output-len", w.output);
  bench.with("--random-range-ratio", fmt::format("{:.6g}", w.shortest)).with("--num-prompts", w.requests);
  if (w.users > 0) bench.with("--max-concurrency", w.users);
  if (!w.rate.empty()) bench.with("--request-rate", w.rate);
  return bench.text();
}

struct EngineWriter {
  std::string_view name;
  std::string (*server)(const Wanted&);
};
constexpr std::array writers = {
    EngineWriter{"vllm", vllm_text}, EngineWriter{"sglang", sglang_text}, EngineWriter{"trtllm", trtllm_text}};

}  // namespace

Expected<std::string> emit_engine(const std::string& engine, const Arguments& arguments) {
  const auto row = std::ranges::find(writers, std::string_view(engine), &EngineWriter::name);
  if (row == writers.end())
    return fail("--emit", fmt::format("unknown engine '{:.40}'", engine),
        name_hint(engine, names_of(writers, &EngineWriter::name)));
  TRY(const auto w, wanted_of(arguments, engine));
  std::string text = fmt::format("#!/bin/bash\n# {} on {} GPUs. Written by stepcast serve --emit {}.\n",
      arguments.words.at(0), w.tp * w.pp * w.groups * w.copies, engine);
  const bool beside = w.copies > 1 && (engine == "trtllm" || w.groups > 1 || (engine == "vllm" && w.experts));
  if (beside) text += fmt::format("# {} of these stand beside each other behind a router.\n", w.copies);
  text += "\n" + row->server(w);
  if (w.input == 0 || w.output == 0) return text;
  text += "\n# The load, once the server is up:\n";
  const bool sglang = engine == "sglang" && w.shared == 0 && w.shape.empty();
  return text + (sglang ? sglang_bench_text(w) : vllm_bench_text(w, engine == "vllm" ? "vllm" : "openai"));
}

}  // namespace stepcast::engines
