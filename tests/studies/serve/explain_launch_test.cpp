// A launch through serve, infer, explain and --emit.
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/engines/engine_launch.h"
#include "tests/studies/run_program.h"

namespace stepcast::serve {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing_program::own_path;
using testing_program::run_line;

const std::string load = " --input 512 --output 64 --concurrency 8 ";

/// Without the ends of lines, which may fall anywhere.
/// Words that a table wraps stand behind each other.
std::string in_one_line(const std::string& text) {
  std::istringstream words(text);
  std::string out;
  for (std::string word; words >> word;) out += word + " ";
  return out;
}

json served_launch(const std::string& line) {
  const auto ran = run_line("serve --json " + line);
  EXPECT_EQ(ran.code, 0) << line << ": " << ran.err;
  return json::parse(ran.out, nullptr, false);
}

TEST(ServeLaunch, IsTheSameAsItsFlags) {
  const json launched = served_launch(load + "--launch -- vllm serve Qwen/Qwen3-8B -tp 2 --kv-cache-dtype fp8");
  const json flags = served_launch("qwen3-8b --tp 2 --kv fp8 --weights bf16 --engine vllm" + load);
  EXPECT_EQ(launched["tpot"], flags["tpot"]);
  EXPECT_EQ(launched["ttft"], flags["ttft"]);
  EXPECT_EQ(launched["gpus"], 2);
}

TEST(ServeLaunch, WhatNoFlagSaysCounts) {
  const auto cache = [](const std::string& share) {
    return served_launch(
        load + "--launch -- vllm serve Qwen/Qwen3-8B --gpu-memory-utilization " + share)["cache"]["positions"]
        .get<double>();
  };
  // 0.1 of 80 GiB over 36 layers x 8 heads x 128 x 2 x 2 bytes = 147,456 bytes a position: 58,254 positions
  EXPECT_NEAR(cache("0.9") - cache("0.8"), 0.1 * 80 * 1073741824.0 / 147456, 32);
  const json eager = served_launch(load + "--launch -- vllm serve Qwen/Qwen3-8B --enforce-eager");
  const json captured = served_launch(load + "--launch -- vllm serve Qwen/Qwen3-8B");
  EXPECT_GE(eager["tpot"]["mean_s"].get<double>(), captured["tpot"]["mean_s"].get<double>());
}

/// vLLM's row has launches that cost nothing, for graphs replay its tokens; those of the row of 2023 never did.
TEST(ServeLaunch, LaunchesThatNobodyMeasuredAreSaid) {
  const std::string words = "launches of iterations that no CUDA graph replays were not measured";
  const std::string eager = "--launch -- vllm serve Qwen/Qwen3-8B --enforce-eager";
  EXPECT_THAT(served_launch(load + eager)["warnings"].dump(), HasSubstr(words));
  EXPECT_THAT(run_line("infer --context 1000 " + eager).out, HasSubstr(words));
  EXPECT_THAT(served_launch(load + "--launch -- vllm serve Qwen/Qwen3-8B")["warnings"].dump(), Not(HasSubstr(words)));
  EXPECT_THAT(run_line("infer llama2-7b --engine vllm-2023 --context 1000").out, Not(HasSubstr(words)));
}

/// Copies of experts take room; where tokens go with them is not followed, which is said.
TEST(ServeLaunch, CopiesOfExpertsAreInTheMemoryAlone) {
  const std::string words = "where tokens go with them is not followed.",
                    launch = "--launch -- vllm serve Qwen/Qwen3-30B-A3B -tp 2 --enable-expert-parallel ";
  for (const char* copies : {"--num-redundant-experts 32", "--eplb-config.num_redundant_experts 32",
           "--eplb-config {\"num_redundant_experts\":32}"}) {
    EXPECT_THAT(in_one_line(run_line("explain " + launch + copies).out), HasSubstr(words)) << copies;
    EXPECT_THAT(json::parse(run_line("explain --json " + launch + copies).out, nullptr, false)["arguments"].dump(),
        HasSubstr("not_forecast"))
        << copies;
  }
  EXPECT_THAT(in_one_line(run_line("explain " + launch).out), Not(HasSubstr(words)));
  EXPECT_THAT(run_line("infer --context 1000 " + launch).out, Not(HasSubstr("has no experts")));
  const std::string changes = "not forecast: --num-redundant-experts", none = "infer --context 1000 " + launch;
  EXPECT_THAT(run_line(none + "--num-redundant-experts 32").out, HasSubstr(changes));
  EXPECT_THAT(run_line(none + "--num-redundant-experts 0").out, Not(HasSubstr(changes)));
  const auto weights = [&](const std::string& copies) {
    const json answer = json::parse(run_line("infer --json --context 1000 " + launch + copies).out);
    return answer["memory"]["weights_bytes"].get<double>();
  };
  const double without = weights(""), two_gpus = 16.0 * 48 * 3 * 2048 * 768 * 2;
  EXPECT_NEAR(weights("--num-redundant-experts 32") - without, two_gpus, 1);
  EXPECT_NEAR(weights("--eplb-config.num_redundant_experts 32") - without, two_gpus, 1);
}

/// Half a byte and a scale of one for 16: of 36 layers with keys and values of 8 heads of 128 numbers.
TEST(ServeLaunch, ACacheInNvfp4IsRead) {
  const std::string launch = " --context 1000 --launch -- vllm serve Qwen/Qwen3-8B --kv-cache-dtype nvfp4";
  const json answer = json::parse(run_line("infer --json --machine dgx-b200" + launch).out, nullptr, false);
  EXPECT_EQ(answer["memory"]["cache_bytes_per_position"], 36 * 2 * 8 * 128 * 0.5625);
  EXPECT_THAT(run_line("infer --machine dgx-h100" + launch).err, HasSubstr("has no nvfp4 matrix units"));
}

/// vLLM does not start where its cache holds no request of --max-model-len; the others take shorter ones.
TEST(ServeLaunch, ALongestRequestOverTheCacheIsRefused) {
  const std::string model = " --launch -- env VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 vllm serve "
                            "meta-llama/Llama-3.1-70B-Instruct -tp 4 --max-model-len ";
  for (const std::string& line : {"serve" + load, std::string("infer --context 1000")}) {
    const auto ran = run_line(line + " --machine dgx-h100" + model + "2000000");
    EXPECT_NE(ran.code, 0) << line;
    EXPECT_THAT(ran.err, HasSubstr("2000000 positions, and the cache holds ")) << line;
    EXPECT_THAT(ran.err, HasSubstr("does not start")) << line;
    const auto fits = run_line(line + " --machine dgx-h100" + model + "8192");
    EXPECT_EQ(fits.code, 0) << line << fits.err;
    // What the error says it holds, it holds.
    const std::size_t at = ran.err.find("--max-model-len ", ran.err.find("does not start"));
    ASSERT_NE(at, std::string::npos) << ran.err;
    const std::string most = ran.err.substr(at + 16, ran.err.find(' ', at + 16) - at - 16);
    EXPECT_EQ(run_line(line + " --machine dgx-h100" + model + most).code, 0) << line << most;
  }
  EXPECT_EQ(run_line("infer --context 1000 --machine dgx-h100 --launch -- env "
                     "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 python -m sglang.launch_server --model-path "
                     "meta-llama/Llama-3.1-70B-Instruct --tp 4 --context-length 2000000")
                .code,
      0);
}

/// Of eight ranks and four key heads two have the same, and each of them has half of the positions.
TEST(ServeLaunch, ACacheOfSeveralGpusIsNotCalledThatOfOne) {
  const std::string launch = " --launch -- vllm serve Qwen/Qwen3-30B-A3B -tp 8 ";
  EXPECT_THAT(run_line("serve" + load + launch + "-dcp 2").out, HasSubstr("positions on 2 GPUs together"));
  EXPECT_THAT(run_line("serve" + load + launch).out, HasSubstr("positions on a GPU"));
}

TEST(ServeLaunch, WrongInput) {
  EXPECT_THAT(run_line("serve" + load).err, HasSubstr("no network is named"));
  EXPECT_THAT(run_line("serve qwen3-8b --lenient" + load).err, HasSubstr("says something of a launch"));
  EXPECT_THAT(run_line("serve --launch /nowhere/run.sh" + load).err, HasSubstr("/nowhere/run.sh"));
  EXPECT_THAT(run_line("serve --launch -- vllm serve Qwen/Qwen3-8B").err, HasSubstr("--concurrency"));
  EXPECT_THAT(run_line("serve" + load + "--launch -- vllm serve Qwen/Qwen3-8B --wibble").err, HasSubstr("--wibble"));
  const auto lenient = run_line("serve" + load + "--lenient --launch -- vllm serve Qwen/Qwen3-8B --wibble");
  EXPECT_EQ(lenient.code, 0) << lenient.err;
  EXPECT_THAT(lenient.out, HasSubstr("warning: --wibble"));
  EXPECT_EQ(run_line("infer --launch -- vllm serve Qwen/Qwen3-8B").code, 2);
  EXPECT_EQ(run_line("infer --context 1000 --launch -- vllm serve Qwen/Qwen3-8B").code, 0);
}

TEST(ExplainLaunch, EachArgumentHasItsPlaceAndItsPrice) {
  const auto ran = run_line("explain --json" + load +
                            "--launch -- vllm serve Qwen/Qwen3-8B -tp 2 --kv-cache-dtype fp8 --enable-lora "
                            "--attention-backend X --port 1 --wibble 3");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json got = json::parse(ran.out);
  std::map<std::string, json> by_name;
  for (const json& one : got["arguments"]) by_name[one["name"]] = one;
  EXPECT_EQ(by_name["tp"]["standing"], "used");
  EXPECT_EQ(by_name["enable_lora"]["standing"], "refused");
  EXPECT_EQ(by_name["attention_backend"]["standing"], "not_forecast");
  EXPECT_EQ(by_name["port"]["standing"], "no_effect");
  EXPECT_EQ(by_name["wibble"]["standing"], "unknown");
  EXPECT_THAT(got["not_followed"].get<std::string>(), testing::AllOf(HasSubstr("--wibble"), HasSubstr("adapters")));
  // fp8 keys are half as wide: twice the positions, but for whole blocks
  const double with = got["forecast"]["cache_positions"],
               without = by_name["kv_cache_dtype"]["without"]["cache_positions"];
  EXPECT_NEAR(with / without, 2, 0.001);
  // one GPU's memory is left for the cache of twice as many heads without the split
  EXPECT_LT(by_name["tp"]["without"]["cache_positions"].get<double>(), with / 2);
  const auto text = run_line("explain --launch -- vllm serve Qwen/Qwen3-8B -tp 2");
  EXPECT_THAT(text.out, HasSubstr("no load is told"));
  EXPECT_THAT(run_line("explain --launch -- vllm serve Qwen/Qwen3-8B --max-num-seqs 4").out,
      HasSubstr("of its engine also: most_sequences 4"));
  EXPECT_EQ(run_line("explain tensor parallelism --concurrency 4").code, 2);
}

/// Waits grow with the load there, and no latency is said: in text, in JSON and of what each argument changes.
TEST(ExplainLaunch, BeyondSaturationNoLatencyIsSaid) {
  std::ofstream(own_path("beyond.sh"))
      << "vllm serve Qwen/Qwen3-32B -tp 2 --max-num-seqs 64 &\n"
         "vllm bench serve --model Qwen/Qwen3-32B --dataset-name random --random-input-len 1024 "
         "--random-output-len 512 --request-rate 8 --num-prompts 1000\n";
  const std::string launch = " --launch " + own_path("beyond.sh");
  const std::string text = run_line("explain" + launch).out;
  EXPECT_THAT(text, testing::AllOf(HasSubstr("beyond saturation (8 requests/s come and "),
                        HasSubstr("waits grow without bound"), Not(HasSubstr("TTFT 0")), Not(HasSubstr("TPOT 0"))));
  const json got = json::parse(run_line("explain --json" + launch).out);
  EXPECT_FALSE(got["forecast"].contains("ttft_s"));
  EXPECT_FALSE(got["forecast"].contains("tpot_s"));
  EXPECT_EQ(got["forecast"]["beyond_saturation"]["requests_per_s"], 8.0);
  EXPECT_LT(got["forecast"]["beyond_saturation"]["served_per_s"].get<double>(), 8.0);
  const json below = json::parse(run_line("explain --json --rate 1" + launch).out);
  EXPECT_GT(below["forecast"]["ttft_s"].get<double>(), 0);
  EXPECT_FALSE(below["forecast"].contains("beyond_saturation"));
}

/// Two engines of one GPU read prompts and one of two says their tokens: each argument counts in its own pool.
TEST(ExplainLaunch, PoolsAreExplainedOneByOne) {
  const std::string path = own_path("pools.sh");
  const std::string server = "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --disaggregation-mode ";
  std::ofstream(path) << server << "prefill --mem-fraction-static 0.7 --port 1 &\n"
                      << server << "prefill --mem-fraction-static 0.7 --port 2 &\n"
                      << server << "decode --tp 2 --mem-fraction-static 0.8 --port 3\n";
  const auto ran = run_line("explain --json" + load + "--launch " + path);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json got = json::parse(ran.out);
  EXPECT_EQ(got["not_followed"], "");
  EXPECT_EQ(got["prefill"], "2 engines of 1 GPU read prompts");
  EXPECT_EQ(got["decode"], "1 engine of 2 GPUs says their tokens");
  const auto argument = [&](const std::string& name, const std::string& part) -> json {
    for (const json& one : got["arguments"])
      if (one["name"] == name && one["part"] == part) return one;
    return json();
  };
  EXPECT_EQ(argument("disaggregation_mode", "prefill")["standing"], "used");
  const double prefill = got["forecast"]["prefill_cache_positions"], decode = got["forecast"]["cache_positions"];
  const json without = argument("mem_fraction_static", "prefill")["without"];
  EXPECT_NE(without["prefill_cache_positions"].get<double>(), prefill);
  EXPECT_EQ(without["cache_positions"].get<double>(), decode);
  EXPECT_NE(argument("mem_fraction_static", "engine")["without"]["cache_positions"].get<double>(), decode);
  const auto text = run_line("explain" + load + "--launch " + path);
  EXPECT_THAT(text.out, testing::AllOf(HasSubstr("2 engines of 1 GPU read prompts"),
                            HasSubstr("Prompts or tokens alone"), HasSubstr("of the pool of prompts also: ")));
}

/// Each pool runs with its own share of the memory.
TEST(ServeLaunch, EachPoolHasItsOwnRow) {
  const std::string path = own_path("own.sh");
  const auto decode_cache = [&](const std::string& prefill, const std::string& decode) {
    const std::string server = "vllm serve Qwen/Qwen3-8B --kv-transfer-config '{\"kv_connector\":\"NixlConnector\",";
    std::ofstream(path) << server << "\"kv_role\":\"kv_producer\"}' --gpu-memory-utilization " << prefill << " &\n"
                        << server << "\"kv_role\":\"kv_consumer\"}' --gpu-memory-utilization " << decode << "\n";
    return served_launch(load + "--launch " + path)["cache"]["positions"].get<double>();
  };
  EXPECT_EQ(decode_cache("0.9", "0.8"), decode_cache("0.7", "0.8"));
  EXPECT_GT(decode_cache("0.7", "0.9"), decode_cache("0.7", "0.8"));
}

TEST(EmitEngine, WhatIsWrittenIsReadBack) {
  const std::vector<std::pair<std::string, std::string>> asked = {
      {"vllm", "qwen3-8b --tp 2 --kv fp8 --most-sequences 64 --most-positions 4096 --replicas 2"},
      {"sglang",
          "deepseek-v3 --weights fp8-block --tp 2 --dp-attention 4 --ep 8 --exchange rows --kv fp8 --machine hgx-h200"},
      {"trtllm", "deepseek-v3 --weights nvfp4 --dp-attention 8 --ep 8 --kv fp8 --machine dgx-b200"}};
  for (const auto& [engine, flags] : asked) {
    const auto ran = run_line("serve " + flags + load + "--requests 100 --emit " + engine);
    ASSERT_EQ(ran.code, 0) << engine << ran.err;
    const std::string path = own_path(engine + ".sh");
    std::ofstream(path) << ran.out;
    auto launch = read_engine_launch({.file = path, .words = {}, .defined = {}, .folders = {}});
    ASSERT_TRUE(launch) << to_text(launch.error()) << ran.out;
    ASSERT_TRUE(understood(*launch, false)) << ran.out;
    const auto back = asked_engine(*launch, {}, "", {});
    ASSERT_TRUE(back) << to_text(back.error()) << ran.out;
    std::istringstream words(flags + load);
    std::string network, flag, value;
    words >> network;
    EXPECT_EQ(back->network, network);
    while (words >> flag >> value) {
      if (flag == "--machine") continue;
      if (flag == "--most-sequences") EXPECT_EQ(std::to_string(back->row.most_sequences), value);
      else if (flag == "--most-positions") EXPECT_EQ(std::to_string(back->row.most_positions), value);
      else if (back->flags.contains(flag)) EXPECT_EQ(back->flags.at(flag), value) << engine << " " << flag << ran.out;
      else ADD_FAILURE() << engine << " lost " << flag << "\n" << ran.out;
    }
  }
  EXPECT_THAT(run_line("serve qwen3-8b" + load + "--emit llamacpp").err, HasSubstr("unknown engine"));
  EXPECT_THAT(run_line("serve qwen3-8b --weights int4" + load + "--emit vllm").err,
      HasSubstr("no checkpoint of qwen3-8b in int4"));
}

/// A flag that the launch would lose, or a server that cannot run, is no launch.
/// Checkpoints and networks whose cache engines keep narrow by themselves are told the wide one.
TEST(EmitEngine, WideCachesAreWrittenWhereOthersAreUsual) {
  const auto emitted = [](const std::string& line) { return run_line("serve " + line).out; };
  const std::string narrow = "qwen3-32b --tp 2 --weights nvfp4 --machine dgx-b200" + load;
  EXPECT_THAT(emitted(narrow + "--emit vllm"), HasSubstr("--kv-cache-dtype bfloat16"));
  EXPECT_THAT(emitted(narrow + "--kv fp8 --emit vllm"), HasSubstr("--kv-cache-dtype fp8"));
  EXPECT_THAT(emitted("deepseek-v3.2 --tp 8 --weights fp8-block --machine dgx-b200" + load + "--emit sglang"),
      HasSubstr("--kv-cache-dtype bfloat16"));
  EXPECT_THAT(emitted("qwen3-8b" + load + "--emit vllm"), Not(HasSubstr("--kv-cache-dtype")));
}

TEST(EmitEngine, WhatItCannotWriteIsRefused) {
  const auto refused = [](const std::string& line, const char* why) {
    const auto ran = run_line("serve " + line);
    EXPECT_NE(ran.code, 0) << line;
    EXPECT_THAT(ran.err, HasSubstr(why)) << line;
  };
  refused("qwen3-32b --tp 2 --weights nvfp4 --machine dgx-b200" + load + "--emit trtllm", "as the checkpoint tells it");
  const std::string plain = "qwen3-8b" + load + "--emit vllm ";
  refused(plain + "--prefill-gpus 1", "is not written by --emit");
  refused(plain + "--weights fp8 --products bf16", "--products");
  refused(plain + "--tp 3", "legal tp");
  refused("llama3-70b --gpus 1" + load + "--emit vllm", "more GPUs");
  refused("qwen3-8b --gpus 2 --replicas 2" + load + "--emit trtllm", "runs one engine");
  refused(load + "--emit vllm --launch -- vllm serve Qwen/Qwen3-8B --max-num-seqs 4", "more of its engine");
  refused(load + "--engine sglang --launch -- vllm serve Qwen/Qwen3-8B --max-num-seqs 4", "another engine");
}

}  // namespace
}  // namespace stepcast::serve
