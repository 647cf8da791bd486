// What benchmarks set for all their runs.
#include "studies/infer/records/benchmark_settings.h"

#include <gtest/gtest.h>

#include "studies/infer/records/record_plan.h"

namespace stepcast::infer {
namespace {

InferenceRecord record_of(const char* engine, const char* model, const char* gpu, const char* weights) {
  InferenceRecord record;
  record.engine = engine, record.model = model, record.gpu = gpu, record.weights = weights;
  record.dataset = "random tokens, lengths uniform integer in [0.8 L, L]";
  return record;
}

TEST(BenchmarkSettings, ScriptsOfInferenceXSayWhatItsRecordsLeaveOut) {
  InferenceRecord record = record_of("sglang", "deepseek-ai/DeepSeek-R1-0528", "B200-SXM-180GB", "nvfp4");
  EXPECT_EQ(settings_of(record).cache, "fp8");
  EXPECT_EQ(settings_of(record).most_positions, 16'384);
  EXPECT_EQ(settings_of(record).columns, RankColumns::whole_experts);
  EXPECT_EQ(shortest_share(record), 0.8);
  record.gpu = "H200-SXM-141GB", record.weights = "fp8 (moe fp8-block)";
  EXPECT_EQ(settings_of(record).cache, "");
  EXPECT_EQ(settings_of(record).most_positions, 32'768);
  const InferenceRecord gpt = record_of("trtllm", "openai/gpt-oss-120b", "H200-SXM-141GB", "mxfp4 MoE");
  EXPECT_EQ(settings_of(gpt).columns, RankColumns::whole_experts);
  record.dataset = "synthetic, lengths as stated";
  EXPECT_FALSE(settings_of(record).most_positions) << "another benchmark";
  EXPECT_EQ(shortest_share(record), 1);
  record.upstream = "source_file=kimi-k2.5-gap-analysis.csv; silicon_concurrency=4";
  EXPECT_EQ(shortest_share(record), 0.8);
}

/// 16 words, a prompt of 1,024 and 1,500 beside it; SGLang counts words in, and shares iterations from 0.5.6 on.
TEST(BenchmarkSettings, AIConfiguratorGeneratesLimits) {
  InferenceRecord record;
  record.upstream = "source_file=/home/aic-auto-gap-analysis/data/h100_sxm/trtllm/1.0.0rc3/Qwen_Qwen3-32B.csv";
  record.engine = "trtllm", record.version = "1.0.0rc3", record.prompt = 1024, record.concurrency = 16;
  EXPECT_EQ(settings_of(record).most_positions, 2540);
  EXPECT_FALSE(settings_of(record).mixed);
  record.engine = "SGLang", record.version = "0.5.6.post2";
  EXPECT_EQ(settings_of(record).most_positions, 2524);
  EXPECT_TRUE(settings_of(record).mixed);
  record.version = "0.5.1.post1";
  EXPECT_FALSE(settings_of(record).most_positions);
  record.version = "0.5.6", record.upstream = "2026-03-25.csv";
  EXPECT_FALSE(settings_of(record).mixed) << "another benchmark";
}

TEST(BenchmarkSettings, PromptsOfSomeSeriesComeAgain) {
  InferenceRecord record;
  EXPECT_FALSE(repeated_prompts(record));
  record.upstream = "gtl_job_id=17";
  EXPECT_EQ(repeated_prompts(record), 100);
}

/// Llama 3.1 70B in fp8 on one H100 of 80 GiB leaves nine tenths of some 15 GB, 163,840 bytes a position: of 2,048 +
/// 128 positions some 30 sequences, of which 64 are the least, and 17 positions of prompts beside each sequence less
/// than 2,048, which a whole prompt needs with 64 sequences beside it. An 8B on an H200 is bound by 4,096 sequences.
TEST(BenchmarkSettings, TrtLlmBenchDerivesLimitsFromTheMemory) {
  ServingWishes wishes;
  wishes.network = "llama3-70b", wishes.machine = "dgx-h100", wishes.engine = "tensorrt-llm";
  wishes.weights = wishes.cache = "fp8";
  const BatchingWishes starved = trtllm_bench_limits(*serving_of(wishes), 2048, 128);
  EXPECT_EQ(starved.most_sequences, 64);
  EXPECT_EQ(starved.most_positions, 2048 + 64);
  wishes.network = "llama3-8b", wishes.machine = "hgx-h200";
  const BatchingWishes roomy = trtllm_bench_limits(*serving_of(wishes), 128, 128);
  EXPECT_EQ(roomy.most_sequences, 4096);
  EXPECT_EQ(roomy.most_positions, 8192) << "4,096 x (1 + 128 / 128)";
}

/// 1,792 sequences at most: graphs of up to 1,024, and one of them all.
TEST(BenchmarkSettings, TrtLlmBenchPadsItsGraphs) {
  InferenceRecord record;
  EXPECT_TRUE(trtllm_bench_graphs(record, 4096).empty());
  record.noted = noted_settings("CUDA graphs to batch 8192 padded");
  const auto sizes = trtllm_bench_graphs(record, 1792);
  ASSERT_EQ(sizes.size(), 13U);
  EXPECT_EQ(sizes[11], 1024);
  EXPECT_EQ(sizes[12], 1792);
  EXPECT_EQ(trtllm_bench_graphs(record, 512).back(), 512);
  EXPECT_EQ(trtllm_bench_graphs(record, 9000).back(), 8192);
}

/// Graphs of 8 and 16 sequences: 9 are reduced over the ranks as 16 are, and 17 as they are. The host has 9.
TEST(BenchmarkSettings, PaddedSequencesAreMultipliedAndSent) {
  ServingWishes wishes;
  wishes.network = "llama3-70b", wishes.machine = "dgx-h100", wishes.tp = 8;
  const Serving serving = *serving_of(wishes);
  ServedTimes times(serving);
  const auto sums = [&](double words) { return times.sums({.words = words, .contexts = words * 1000}); };
  const Seconds alone = sums(9).moves, seventeen = sums(17).moves;
  times.pad_to({8, 16});
  EXPECT_LT(alone, sums(9).moves);
  EXPECT_EQ(sums(9).moves, sums(16).moves);
  EXPECT_EQ(sums(17).moves, seventeen);
  EXPECT_EQ(sums(9).sequences, 9);
  times.pad_to({});
  EXPECT_EQ(sums(9).moves, alone);
}

/// Kimi K2.5 in two pools on GB200: 16 ranks that say words have sequences of their own, 4 share them.
TEST(BenchmarkSettings, PoolsOfManyRanksAreGroups) {
  InferenceRecord record = record_of("vllm", "moonshotai/Kimi-K2.5", "GB200-NVL72", "nvfp4");
  record.tp = 4;
  EXPECT_EQ(settings_of(record).columns, RankColumns::as_said);
  record.tp = record.ep = 16;
  EXPECT_EQ(settings_of(record).columns, RankColumns::own_sequences);
  LastPlan plan;
  const auto times = plan.of(record, {});
  ASSERT_TRUE(times) << times.error().what;
  EXPECT_EQ((*times)->serving().attention_groups(), 16);
}

/// InferenceX ran it on four GPUs with guesses, and without them on eight, or with whole experts.
TEST(BenchmarkSettings, RunsThatGuessAreNoRunsWithoutGuesses) {
  InferenceRecord record = record_of("sglang", "Qwen/Qwen3.5-397B-A17B", "B200-SXM-180GB", "fp8");
  record.upstream = "source_file=qwen3.5-397b-gap-analysis.csv; silicon_concurrency=4";
  record.tp = 4, record.ep = 1;
  EXPECT_TRUE(guesses_unsaid(record));
  record.ep = 4;
  EXPECT_FALSE(guesses_unsaid(record));
  record.tp = 8, record.ep = 1;
  EXPECT_FALSE(guesses_unsaid(record));
  record.tp = 4, record.upstream = "source_file=2026-03-25.csv; measured=2026-03-24T00:52:21Z";
  EXPECT_FALSE(guesses_unsaid(record)) << "another day's";
}

/// Columns of experts' tables count groups, each of which has whole experts.
TEST(BenchmarkSettings, TablesOfExpertsCountGroups) {
  InferenceRecord record = record_of("TensorRT-LLM", "Qwen/Qwen3-235B-A22B", "B200-SXM-180GB", "nvfp4");
  record.version = "1.0", record.tp = 8, record.noted = noted_settings("MoE tables run attention DP");
  LastPlan plan;
  const auto times = plan.of(record, {});
  ASSERT_TRUE(times) << times.error().what;
  EXPECT_EQ((*times)->serving().attention_groups(), 8);
  EXPECT_EQ((*times)->serving().scenario.split->ep, 8);
}

/// Of vLLM 0.14 the scheduler runs beside the GPU by default; loads whose release is not told are of 2025.
TEST(BenchmarkSettings, ReleasesOfVllmHaveRowsOfTheirOwn) {
  const auto row = [](const char* version, bool load) {
    InferenceRecord record = record_of("vLLM", "meta-llama/Llama-3.1-8B-Instruct", "H100-SXM-80GB", "bf16");
    record.version = version, record.phase = load ? "serving" : "decode", record.batch = 4;
    LastPlan plan;
    const auto times = plan.of(record, {});
    return times ? (*times)->serving().engine.id : times.error().what;
  };
  EXPECT_EQ(row("0.6.4", false), "vllm-v0");
  EXPECT_EQ(row("0.13.2", false), "vllm");
  EXPECT_EQ(row("0.14.0", false), "vllm-2026");
  EXPECT_EQ(row("0.19.1", true), "vllm-2026");
  EXPECT_EQ(row("", true), "vllm");
  EXPECT_EQ(row("", false), "vllm-v0");
}

/// Grace runs TensorRT-LLM's loop slower; nothing is said of other engines.
TEST(BenchmarkSettings, LoopsRunSlowerOnGrace) {
  const auto pace = [](const char* engine, const char* machine) {
    ServingWishes wishes;
    wishes.network = "llama3-8b", wishes.machine = machine, wishes.engine = engine;
    return serving_of(wishes)->engine.pace();
  };
  EXPECT_EQ(pace("tensorrt-llm", "gb200-nvl72"), 1.8);
  EXPECT_EQ(pace("tensorrt-llm", "dgx-b200"), 1);
  EXPECT_EQ(pace("vllm", "gb200-nvl72"), 1);
}

/// The pace stands among what was assumed, and a row's own counts, 1 too; a launch's row has it as flags do.
TEST(BenchmarkSettings, ARowsOwnPaceCounts) {
  ServingWishes wishes;
  wishes.network = "llama3-8b", wishes.machine = "gb200-nvl72", wishes.engine = "tensorrt-llm";
  const auto assumes = [](const Serving& s) {
    return std::ranges::any_of(s.assumptions, [](const std::string& a) { return a.starts_with("host_pace 1.8"); });
  };
  EXPECT_TRUE(assumes(*serving_of(wishes)));
  Engine own = **find_row(built_in().engines, "tensorrt-llm", "engine");
  wishes.row = std::make_shared<const Engine>(own);
  EXPECT_EQ(serving_of(wishes)->engine.pace(), 1.8);
  own.host_pace = 1;
  const auto again = read_engine(write_engine(own), "own.json");
  ASSERT_TRUE(again);
  wishes.row = std::make_shared<const Engine>(*again);
  EXPECT_EQ(serving_of(wishes)->engine.pace(), 1);
  EXPECT_FALSE(assumes(*serving_of(wishes)));
}

}  // namespace
}  // namespace stepcast::infer
