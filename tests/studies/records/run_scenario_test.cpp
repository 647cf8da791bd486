// What a record's software implies for its scenario: dropout, types, chunks, recomputation.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "studies/records/run_scenario.h"

namespace stepcast::records {
namespace {

/// GPT-3 6.7B on 16 A100; `gated` makes it a Llama.
Run record_of_small_run(const char* software, const char* date, bool gated = false) {
  Run run;
  run.id = "x";
  run.source = "paper";
  run.date = date;
  run.software = software;
  run.model.name = "GPT";
  run.model.layers = 32, run.model.hidden = 4096, run.model.ffn_hidden = 16384, run.model.heads = 32,
  run.model.seq_len = 2048;
  run.model.vocab = 51200;
  run.model.gated_mlp = gated;
  run.hardware.gpu = "A100-80GB-SXM";
  run.hardware.gpus_per_node = 8;
  run.parallel.gpus = 16, run.parallel.tp = 2, run.parallel.pp = 2, run.parallel.dp = 4;
  run.micro_batch = 1, run.global_batch = 64;
  run.precision = "bf16";
  run.measured.step_time_s = 1;
  return run;
}

RunScenario made_of(const Run& run) {
  auto made = scenario_of(run);
  EXPECT_TRUE(made.has_value()) << (made ? "" : to_text(made.error()));
  return made ? *std::move(made) : RunScenario{};
}

bool assumes(const RunScenario& made, const std::string& words) {
  const auto says = [&](const std::string& text) { return text.find(words) != std::string::npos; };
  return std::any_of(made.assumptions.begin(), made.assumptions.end(), says);
}

TEST(RunBatch, ARecordWithoutOneHasNoScenarioButIsRead) {
  records::Run run = record_of_small_run("Megatron-LM", "2021-04", false);
  run.global_batch = 0;
  const auto made = scenario_of(run);
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(to_text(made.error()).find("how many sequences a step has"), std::string::npos);
}

TEST(RunDropout, IsWhatTheSoftwareDidForGptsOnly) {
  const auto dropped = [](const char* software, const char* date, bool gated) {
    const RunScenario made = made_of(record_of_small_run(software, date, gated));
    EXPECT_EQ(assumes(made, "dropout"), made.scenario.network.row.dropout);
    return made.scenario.network.row.dropout;
  };
  EXPECT_TRUE(dropped("Megatron-LM", "2021-04", false));
  EXPECT_TRUE(dropped("Megatron-DeepSpeed", "2022-06", false));
  EXPECT_FALSE(dropped("Megatron-LM", "2021-04", true)) << "successors of GPT train without";
  EXPECT_FALSE(dropped("Megatron-LM", "2024-04", false)) << "so do successors of Megatron-LM";
}

TEST(RunVocabulary, IsFilledUpAsTheSoftwareDoes) {
  const auto rows = [](const char* software, std::int64_t tp) {
    records::Run run = record_of_small_run(software, "2024-07", true);
    run.model.vocab = 50257, run.parallel.tp = tp, run.parallel.dp = 8 / tp;
    return made_of(run).scenario.network.row.vocab;
  };
  EXPECT_EQ(rows("Megatron-LM", 4), 99 * 128 * 4);  // 50,688
  EXPECT_EQ(rows("nanotron", 4), 50260);
  EXPECT_EQ(rows("nanotron", 1), 50257);
}

TEST(RunTypes, ComposersDefaultModeReducesInFp32) {
  const auto bytes = [](const char* software) {
    return made_of(record_of_small_run(software, "2024-01")).scenario.stack.row.gradient_bytes;
  };
  EXPECT_EQ(bytes("llm-foundry, mixed_precision DEFAULT"), 4);
  EXPECT_EQ(bytes("llm-foundry, mixed_precision PURE"), 2);
  EXPECT_EQ(bytes("llm-foundry"), 2);
  EXPECT_EQ(bytes("NeMo DEFAULT"), 2) << "a word of Composer's";
}

TEST(RunTypes, UnstatedPrecisionIsTheSoftwaresHabit) {
  const auto precision = [](const char* software) {
    auto run = record_of_small_run(software, "2024-01");
    run.precision.reset();
    const RunScenario made = made_of(run);
    EXPECT_TRUE(assumes(made, "precision"));
    return made.scenario.plan.precision;
  };
  EXPECT_EQ(precision("DeepSpeed"), Precision::tf32);
  EXPECT_EQ(precision("NeMo"), Precision::bf16);
}

std::string mapping_text_of(const Run& run) { return made_of(run).scenario.plan.mapping; }

TEST(RunChunks, OneInAMegatronBridgeTableIsANumberThatWasNotPrinted) {
  auto run = record_of_small_run("NeMo 25.09", "2025-09", true);
  run.parallel.chunks = 1;
  EXPECT_EQ(mapping_text_of(run).find("cyclic"), std::string::npos);
  run.source = "NVIDIA-NeMo/Megatron-Bridge 0.2";
  EXPECT_NE(mapping_text_of(run).find("cyclic(16)"), std::string::npos) << "a layer per chunk: 32 layers on 2 stages";
  EXPECT_TRUE(assumes(made_of(run), "16 chunks per stage"));
  run.parallel.chunks = 2;
  EXPECT_NE(mapping_text_of(run).find("cyclic(2)"), std::string::npos);
}

/// 32 layers on 2 stages, of which a program that nobody knows cuts chunks of two.
TEST(RunHabits, OfUnknownSoftwareAreThoseOfTheOneItIsTakenFor) {
  const RunScenario made = made_of(record_of_small_run("our own trainer", "2025-01", true));
  EXPECT_EQ(made.scenario.stack.id, "megatron-core");
  EXPECT_EQ(made.scenario.stack.row.id, "like:megatron-core") << "no fit is its own";
  EXPECT_TRUE(assumes(made, "stack megatron-core by date, split and precision"));
  EXPECT_TRUE(assumes(made, "sequence parallelism on"));
  EXPECT_TRUE(assumes(made, "8 chunks per stage"));
  auto odd = record_of_small_run("our own trainer", "2025-01", true);
  odd.model.layers = 30, odd.parallel.pp = 4, odd.parallel.dp = 2;  // with embedding and head 8 on each of 4 stages
  EXPECT_TRUE(assumes(made_of(odd), "4 chunks per stage"));
}

TEST(RunHabits, MegatronCoreSendsBesideTheWorkOfOtherChunks) {
  const auto sends = [](std::int64_t chunks, const char* date) {
    auto run = record_of_small_run("Megatron-LM", date, true);
    run.parallel.chunks = chunks;
    return made_of(run).scenario.stack.row.boundary_sends;
  };
  EXPECT_EQ(sends(2, "2024-07"), Manners::overlapped);
  EXPECT_EQ(sends(1, "2024-07"), Manners::blocking) << "nothing to do meanwhile";
  EXPECT_EQ(sends(2, "2023-11"), Manners::blocking) << "only on demand before release 0.4.0";
  auto told = record_of_small_run("Megatron-LM", "2024-07", true);
  told.parallel.chunks = 2, told.overlap.pp = false;
  EXPECT_EQ(made_of(told).scenario.stack.row.boundary_sends, Manners::blocking);
}

TEST(RunChunks, OfRoutedRunsAreAsPrinted) {
  auto run = record_of_small_run("NeMo 25.09", "2025-09", true);
  run.source = "NVIDIA-NeMo/Megatron-Bridge 0.2";
  run.parallel.chunks = 1;
  run.model.experts = RunExperts{.count = 8, .top_k = 2, .ffn_hidden = 1024};
  EXPECT_EQ(mapping_text_of(run).find("cyclic"), std::string::npos);
}

TEST(RunRecompute, PerOperatorRunsEverySecondProductAgain) {  // of q, k, v, o, gate, up, down: k, o and up
  auto run = record_of_small_run("torchtitan (FSDP2)", "2025-01", true);
  run.parallel.tp = run.parallel.pp = 1, run.parallel.dp = 16;
  run.recompute = "selective op";
  const std::string text = mapping_text_of(run);
  const std::size_t at = text.find("recompute ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(text.substr(at, text.find('\n', at) - at),
      "recompute norm, residual, attn.qkv.K, attn.out, mlp.up, mlp.act, attn.rope.Q, attn.rope.K");
  run.recompute = "selective layer";
  EXPECT_EQ(mapping_text_of(run).find("attn.qkv.K"), std::string::npos);
  EXPECT_TRUE(assumes(made_of(run), "every second layer recomputed"));
}

/// All statements that begin so, each in a line.
std::string statements_of(const Run& run, const std::string& word) {
  std::string found;
  for (std::istringstream lines(mapping_text_of(run)); !lines.eof();) {
    std::string line;
    std::getline(lines, line);
    if (line.starts_with(word)) found += line + "\n";
  }
  return found;
}

TEST(RunRecompute, PoliciesOfJaxSayWhatIsKept) {  // the rest runs again: of products the two that lead into the MLP
  auto run = record_of_small_run("JAX MaxText", "2024-11", true);
  run.parallel.tp = run.parallel.pp = 1, run.parallel.dp = 16;
  run.recompute = "save_dot_except_mlpwi";
  EXPECT_EQ(statements_of(run, "recompute"),
      "recompute norm, residual, mlp.act, attn.rope.Q, attn.rope.K, attn.core, mlp.gate, mlp.up\n");
  run.recompute = "minimal_flash";  // every product and the core's output are kept
  EXPECT_EQ(statements_of(run, "recompute"), "recompute norm, residual, mlp.act, attn.rope.Q, attn.rope.K\n");
  run.model.gated_mlp = false;
  run.recompute = "SAVE_DOT_ONLY";
  EXPECT_EQ(statements_of(run, "recompute"), "recompute norm, residual, mlp.act, attn.core\n");
}

TEST(RunRecompute, PoliciesAreOfDenseNetworks) {
  auto run = record_of_small_run("JAX MaxText", "2024-11", true);
  run.recompute = "save_dot_except_mlp";
  run.model.experts = RunExperts{.count = 8, .top_k = 2, .ffn_hidden = 1024};
  const auto made = scenario_of(run);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().where, "recompute");
}

TEST(RunRecompute, ModulesOfMegatronCoreAreWords) {
  auto run = record_of_small_run("Megatron-LM", "2025-09");
  run.recompute = "mla_up_proj, mlp";  // this network has no latents
  EXPECT_EQ(statements_of(run, "recompute"), "recompute mlp\n");
  run.recompute = "layernorm,core_attn";  // a fused core is no module that runs again
  EXPECT_EQ(statements_of(run, "recompute"), "recompute norm\n");
  run.recompute = "moe_act";
  EXPECT_EQ(statements_of(run, "recompute"), "");
  run.recompute = "layernorm, banana";
  const auto made = scenario_of(run);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().where, "recompute");
}

TEST(RunRecompute, WordsAreReadWithoutTheirCaseAndUnknownOnesAreNoneOfTheirs) {
  const auto mapping = [](const char* words) {
    auto run = record_of_small_run("Megatron-LM", "2022-06");
    run.recompute = words;
    return mapping_text_of(run);
  };
  for (const char* full : {"FULL", "Full", "all layers", "uniform", "full (use_checkpoint true)"})
    EXPECT_EQ(mapping(full), mapping("full")) << full;
  EXPECT_EQ(mapping("Selective (attn)"), mapping("selective"));
  EXPECT_EQ(mapping("None"), mapping("none (recompute-num-layers 0)"));
  EXPECT_EQ(mapping("Full:4"), mapping("full:4"));
  EXPECT_NE(mapping("full"), mapping("none"));
  for (const char* unknown : {"banana", "block", "full:many", "fuller"}) {
    auto run = record_of_small_run("Megatron-LM", "2022-06");
    run.recompute = unknown;
    const auto made = scenario_of(run);
    ASSERT_FALSE(made.has_value()) << unknown;
    EXPECT_EQ(made.error().where, "recompute") << unknown;
  }
}

/// Of 80 GB a GPU keeps some 27 for 1.7 B weights (16 bytes each); a layer of the first stage keeps 34 bytes of each of
/// 32 x 2,048 x 4,096 numbers, half of them on each of two ranks: 4.6 GB, 146 for 2 x 16 layers in flight.
TEST(RunRecompute, ASilentRecordThatDoesNotFitRecomputesTheLeastThatDoes) {
  auto run = record_of_small_run("NeMo 24.11", "2024-11");
  run.parallel.chunks = 1;
  EXPECT_EQ(statements_of(run, "recompute"), "") << "micro-batches of 1 fit";
  EXPECT_TRUE(assumes(made_of(run), nothing_recomputed));
  run.micro_batch = 32, run.global_batch = 512;
  EXPECT_NE(statements_of(run, "recompute"), "");
  EXPECT_TRUE(assumes(made_of(run), "recomputation of 'full', for without it"));
  EXPECT_FALSE(assumes(made_of(run), nothing_recomputed));
  auto told = run;
  told.recompute = "full";
  EXPECT_EQ(mapping_text_of(run), mapping_text_of(told));
  told.recompute = "none";
  EXPECT_EQ(statements_of(told, "recompute"), "") << "what a record says is not doubted";
  run.model.hidden = 16384, run.model.ffn_hidden = 65536;
  EXPECT_EQ(statements_of(run, "recompute"), "") << "weights alone are too much: something else is not said";
}

/// 32 layers keep 34 bytes of each of 64 x 2,048 x 4,096 numbers, 584 GB of the 186 of a GB200. Over C2C they go to the
/// host's memory; over PCIe, or with software that is known, what does not fit runs again.
TEST(RunRecompute, UnknownSoftwareKeepsActivationsOfShardedWeightsWithAHostOnC2c) {
  const auto sharded_on = [](const char* gpu, const char* software) {
    auto run = record_of_small_run(software, "2025-09");
    run.hardware.gpu = gpu, run.hardware.gpus_per_node = {};
    run.parallel.tp = 1, run.parallel.pp = 1, run.parallel.dp = 16, run.parallel.zero_stage = 3;
    run.micro_batch = 64, run.global_batch = 1024;
    return run;
  };
  EXPECT_EQ(statements_of(sharded_on("GB200", ""), "recompute"), "");
  EXPECT_TRUE(assumes(made_of(sharded_on("GB200", "")), "lies with the host"));
  EXPECT_NE(statements_of(sharded_on("B200", ""), "recompute"), "");
  EXPECT_NE(statements_of(sharded_on("GB200", "torchtitan"), "recompute"), "");
}

TEST(RunRecompute, WhatASilentRecordCanRunAgainIsItsSoftwares) {
  const auto words = [](const char* software, const char* date) {
    return recompute_words_of(made_of(record_of_small_run(software, date, true)).scenario.stack.row);
  };
  EXPECT_EQ(words("Megatron-LM", "2022-06"), (std::vector<std::string>{"selective", "full"}));
  EXPECT_EQ(words("Megatron-LM", "2022-04"), std::vector<std::string>{"full"}) << "there was no other";
  EXPECT_EQ(words("Megatron-LM", "2024-06"), std::vector<std::string>{"full"}) << "a fused core keeps no scores";
}

TEST(RunRecompute, ASilentRecordOfExpertsRecomputesNothing) {
  auto run = record_of_small_run("NeMo 24.11", "2024-11", true);
  run.micro_batch = 32, run.global_batch = 512;
  run.model.experts = RunExperts{.count = 8, .top_k = 2, .ffn_hidden = 16384};
  EXPECT_EQ(statements_of(run, "recompute"), "");
}

/// Two stages, 64 sequences over 4 replicas: 16 micro-batches.
TEST(RunSchedule, KindsOfTheTableAreTaken) {
  const auto run_of = [](const char* words, std::int64_t chunks = 0) {
    auto run = record_of_small_run("Megatron-LM", "2022-06");
    run.parallel.schedule = words;
    if (chunks > 0) run.parallel.chunks = chunks;
    return run;
  };
  const auto mapping = [&](const char* words, std::int64_t chunks = 0) {
    return mapping_text_of(run_of(words, chunks));
  };
  EXPECT_NE(mapping("GPipe").find("sched gpipe for mb:16"), std::string::npos);
  EXPECT_NE(mapping("zb-h1, no recomputation").find("sched zb-h1"), std::string::npos);
  EXPECT_NE(mapping("ZB-V").find("zigzag sched zb-v"), std::string::npos);
  EXPECT_NE(mapping("ZB-V", 2).find("zigzag sched zb-v"), std::string::npos);
  EXPECT_NE(mapping("1F1B").find("sched 1f1b"), std::string::npos);
  EXPECT_EQ(mapping("interleaved-1f1b-vpp4", 4), mapping("Interleaved-1F1B where PP>1", 4));
  EXPECT_NE(mapping("interleaved-1f1b", 4).find("sched interleaved-1f1b"), std::string::npos);
  EXPECT_TRUE(assumes(made_of(run_of("DualPipe")), "1f1b in place of DualPipe"));
  for (const auto& [words, chunks] : {std::pair{"zigzag", 0}, {"gpipe", 2}, {"terapipe", 0}, {"zb-v", 4}}) {
    const auto made = scenario_of(run_of(words, chunks));
    ASSERT_FALSE(made.has_value()) << words;
    EXPECT_EQ(made.error().where, "parallel/schedule") << words;
  }
}

TEST(RunDate, IsAYearAMonthOrADay) {
  for (const char* date : {"", "2024", "2024-05", "2024-02-29"})
    EXPECT_TRUE(scenario_of(record_of_small_run("NeMo", date)).has_value()) << date;
  for (const char* date :
      {"yesterday", "2099-13", "2024-00", "2023-02-29", "2024-5", "24-05", "2024-05-", "May 2024"}) {
    const auto made = scenario_of(record_of_small_run("NeMo", date));
    ASSERT_FALSE(made.has_value()) << date;
    EXPECT_EQ(made.error().where, "date") << date;
  }
}

TEST(KnownNetworks, HaveWhatRecordsLeaveOut) {
  const auto network = [](const char* name) {
    auto run = record_of_small_run("NeMo 25.09", "2025-09", true);
    run.model.name = name;
    run.model.experts = RunExperts{.count = 8, .top_k = 2, .ffn_hidden = 1024};
    return made_of(run).scenario.network.row;
  };
  const NetworkSpec oss = network("GPT-OSS-20B"), qwen = network("Qwen3-30B-A3B");
  const NetworkSpec deepseek = network("DeepSeek-V3-671B"), other = network("Mixtral");
  EXPECT_TRUE(oss.qkv_bias && oss.out_bias && oss.experts.router_bias && oss.experts.expert_bias);
  EXPECT_TRUE(qwen.qk_norm && !qwen.qkv_bias && !qwen.experts.router_bias);
  EXPECT_TRUE(deepseek.experts.router_bias && !deepseek.experts.expert_bias && !deepseek.qk_norm);
  EXPECT_FALSE(other.qkv_bias || other.qk_norm || other.experts.router_bias || other.experts.expert_bias);
}

/// A record that states a hybrid's layers gives what the catalogue has.
TEST(KnownNetworks, StatedLayersOfAHybridAreTaken) {
  records::Run run = record_of_small_run("NeMo 26.02", "2026-02");
  run.model.name = "Nemotron-3-Nano-30B-A3B";
  run.model.layers = 52, run.model.hidden = 2688, run.model.ffn_hidden = 1856, run.model.heads = 32,
  run.model.kv_heads = 2, run.model.head_dim = 128, run.model.vocab = 131072, run.model.seq_len = 8192;
  run.model.attention = "hybrid";
  run.model.experts = RunExperts{.count = 128, .top_k = 6, .ffn_hidden = 1856, .shared_ffn = 3712};
  const NetworkSpec named = made_of(run).scenario.network.row;
  run.model.hybrid = RunHybrid{"MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME", 64, 64, 128, 8, 4, 128};
  const NetworkSpec stated = made_of(run).scenario.network.row;
  EXPECT_EQ(parameter_count(stated), parameter_count(named));
  EXPECT_DOUBLE_EQ(model_flops(stated, 1, 8192, true), model_flops(named, 1, 8192, true));
  EXPECT_TRUE(stated.pattern == named.pattern);
  run.model.hybrid->pattern += "/*E/*E";
  const NetworkSpec predicts = made_of(run).scenario.network.row;
  EXPECT_EQ(predicts.mtp_layers, 2);
  EXPECT_EQ(predicts.mtp_pattern.size(), 2U);
  run.model.hybrid->pattern = "MEX";
  EXPECT_NE(to_text(scenario_of(run).error()).find("'X' is no layer"), std::string::npos);
}

TEST(KnownNetworks, AnEncoderHasBertsLayers) {
  records::Run run = record_of_small_run("PyTorch, LAMB, NGC", "2022-09");
  run.model.arch = "encoder (bidirectional), MLM head";
  run.model.tied_embeddings = true;
  const NetworkSpec bert = made_of(run).scenario.network.row;
  EXPECT_TRUE(!bert.causal && bert.masked_loss && bert.norm_place == NormPlace::behind_sum);
  EXPECT_DOUBLE_EQ(bert.masked_share, 80.0 / 512);
  run.software = "Megatron-LM main";
  EXPECT_DOUBLE_EQ(made_of(run).scenario.network.row.masked_share, 1) << "it makes the logits of all positions";
}

/// Bins of 64: of 512 positions 256 are words, and the mean bin is filled up by 32.
TEST(KnownNetworks, BatchesOfBinnedDataAreNoLongerThanTheirBins) {
  records::Run run = record_of_small_run("PyTorch, LAMB, NGC", "2022-09");
  run.model.arch = "encoder (bidirectional), MLM head";
  const auto positions = [&](const char* source, std::int64_t sequence) {
    run.source = source, run.model.seq_len = sequence;
    return made_of(run).scenario.network.row.sequence;
  };
  EXPECT_EQ(positions("NVIDIA/DeepLearningExamples@729963dd", 512), 256 + 64 / 2);
  EXPECT_EQ(positions("NVIDIA/DeepLearningExamples@729963dd", 128), 128) << "its first phase has no bins";
  EXPECT_EQ(positions("NVIDIA/Megatron-LM@d98e8a6", 512), 512);
}

TEST(KnownNetworks, LayersThatNothingDescribesAreRefusedByName) {
  for (const auto& [arch, layers] : {std::pair{"convolutional, 224x224", "convolutions over images"},
           {"recommendation: 26 embedding tables", "tables and dot products of a recommender"},
           {"encoder (12) - decoder (12), cross attention", "are not known"}}) {
    records::Run run = record_of_small_run("PyTorch", "2022-09");
    run.model.arch = arch;
    EXPECT_NE(to_text(scenario_of(run).error()).find(layers), std::string::npos) << arch;
  }
}

TEST(KnownNetworks, DiffusionIsTheCataloguesNetwork) {
  records::Run run = record_of_small_run("NeMo 25.11 / DFM, Megatron-Core", "2025-11");
  run.model.arch = "diffusion transformer (self + cross attention, adaLN)";
  run.model.name = "Wan2.1-14B";
  run.model.seq_len = 37'440;
  run.parallel.pp = 1, run.parallel.dp = 8;
  const NetworkSpec wan = made_of(run).scenario.network.row;
  EXPECT_EQ(parameter_count(wan), 14'288'491'584);
  EXPECT_EQ(wan.sequence, 37'440);
  EXPECT_EQ(wan.encoders.front().sequence, 512);
}

TEST(RunGpuCount, ARecordWithoutOneHasNoScenarioButIsRead) {
  const auto runs = read_runs(R"([{"id": "x", "source": {"ref": "r"}, "new": true, "model": {"name": "GPT", "layers": 2,
    "hidden": 64, "heads": 4, "seq_len": 128, "vocab": 100, "hybrid": null}, "hardware": {"gpu": "A100-80GB-SXM"},
    "parallel": {"gpus": null, "tp": 8, "pp": 1, "cp": 1, "dp": null}, "batch": {"global_batch": 8},
    "measured": {"step_time_s": 1.0}}])",
      "runs.json");
  ASSERT_TRUE(runs) << to_text(runs.error());
  EXPECT_NE(to_text(scenario_of(runs->front()).error()).find("on how many GPUs it ran"), std::string::npos);
}

}  // namespace
}  // namespace stepcast::records
