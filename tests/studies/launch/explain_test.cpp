// stepcast explain: every term's own program moves what the term says, byte for byte.
#include <algorithm>
#include <set>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/notation/terms/placed_term.h"
#include "tests/studies/notation/terms/formula.h"
#include "tests/studies/run_program.h"

namespace stepcast::launch {
namespace {

using testing::HasSubstr;
using testing::Not;

using Received = std::multiset<std::tuple<std::string, std::string, std::string, std::string, double>>;

TEST(Terms, ProgramsMoveWhatTheFormulasSay) {
  int collectives = 0;
  for (const Term& term : terms()) {
    const auto placed = place_term(term);
    ASSERT_TRUE(placed) << term.id << ": " << to_text(placed.error());
    Received derived, stated;
    for (const TermMove& move : placed->moves)
      derived.emplace(move.pass, move.collective, move.tensor, move.axis, move.bytes);
    const std::map<std::string, double> values = formula_values(term);
    for (const TermVolume& volume : term.volumes) {
      const auto bytes = formula_value(volume.formula, values);
      ASSERT_TRUE(bytes) << term.id << ": " << to_text(bytes.error());
      stated.emplace(volume.pass, volume.collective, volume.tensor, volume.axis, *bytes);
    }
    EXPECT_EQ(derived, stated) << term.id;
    collectives += static_cast<int>(derived.size());
  }
  EXPECT_GT(collectives, 80);
}

TEST(Terms, ArchitecturesAreWhatTheyAreCalled) {
  int counted = 0;
  for (const Term& term : terms()) {
    const auto placed = place_term(term);
    ASSERT_TRUE(placed) << term.id;
    EXPECT_EQ(placed->stationary, term.stationary) << term.id;
    counted += placed->counts.empty() ? 0 : 1;
  }
  EXPECT_GE(counted, 11);
}

TEST(Terms, ExamplesHaveTheValuesOfTheirFormulas) {
  for (const Term& term : terms())
    for (const TermExample& example : term.examples) {
      const auto value = formula_value(example.formula, example.values);
      ASSERT_TRUE(value) << term.id << ": " << to_text(value.error());
      EXPECT_EQ(*value, example.value) << term.id << ": " << example.result;
    }
}

TEST(Terms, EveryNameMeansOneTerm) {
  std::map<std::string, std::string> seen;
  for (const Term& term : terms()) {
    std::set<std::string> names{normalised_term(term.id), normalised_term(term.name)};
    for (const std::string& alias : term.aliases) names.insert(normalised_term(alias));
    for (const std::string& name : names) {
      EXPECT_FALSE(name.empty()) << term.id;
      const auto [entry, added] = seen.emplace(name, term.id);
      EXPECT_TRUE(added) << name << " names " << entry->second << " and " << term.id;
    }
  }
}

TEST(Terms, SaysMoreThanAName) {
  EXPECT_GE(terms().size(), 50U);
  for (const Term& term : terms()) {
    EXPECT_FALSE(term.what.empty() || term.source.empty()) << term.id;
    EXPECT_FALSE(term.trap.empty() || term.trap_source.empty()) << term.id;
    EXPECT_FALSE(term.program.empty() && term.examples.empty()) << term.id << " shows nothing that is computed";
  }
}

TEST(Terms, WhatPeopleAskForIsThere) {
  for (const char* word : {"data parallelism", "DDP", "FSDP", "ZeRO-1", "zero 2", "ZeRO3", "HSDP", "tensor parallelism",
           "TP", "ColumnParallelLinear", "RowParallelLinear", "VocabParallelEmbedding", "sequence parallelism",
           "context parallelism", "ring attention", "Ulysses", "pipeline parallelism", "1F1B", "interleaved schedule",
           "GPipe", "zero bubble", "virtual stages", "expert parallelism", "expert tensor parallelism",
           "all-to-all dispatch", "capacity factor", "gradient accumulation", "activation recomputation",
           "selective activation recomputation", "full recomputation", "weight stationary", "output stationary",
           "input stationary", "row stationary", "no local reuse", "systolic array", "SUMMA", "Cannon", "2.5-D",
           "2-D weight-stationary", "weight gathered", "all-reduce", "all-gather", "reduce-scatter", "all-to-all",
           "Shard", "Replicate", "Partial", "PartitionSpec", "DTensor", "Shardy", "roofline", "arithmetic intensity",
           "multicast", "temporal map", "spatial map", "keep", "bypass", "halo", "double buffering",
           "distributed optimizer", "tied embeddings", "MFU", "HFU", "bubble", "busbw"})
    EXPECT_TRUE(find_term(word)) << word;
}

/// Words of networks, number types, chips, links and inference, in their usual spellings.
TEST(Terms, WhatPeopleTypeIsThere) {
  for (const char* word : {"GQA", "grouped-query attention", "MQA", "MHA", "multi-head attention", "MLA", "NVLink",
           "NVSwitch", "InfiniBand", "RoCE", "RDMA", "flash attention", "FlashAttention-2", "occupancy", "warp", "SM",
           "streaming multiprocessor", "tensor core", "tensor cores", "HBM", "L2", "shared memory", "ridge point",
           "roofline ridge", "ZeRO", "activation checkpointing", "recomputation", "recompute",
           "selective recomputation", "microbatch", "pipeline bubble", "interleaving", "virtual pipeline", "VPP",
           "ring", "ring all-reduce", "tree", "bus bandwidth", "algorithm bandwidth", "SHARP", "NVLS", "MoE",
           "mixture of experts", "mixture-of-experts", "top-k routing", "top-k", "router", "load balancing",
           "shared expert", "mixed precision", "bf16", "bfloat16", "fp16", "fp8", "MXFP8", "NVFP4", "tf32",
           "master weights", "Adam states", "optimizer states", "Muon", "CUDA graph", "CUDA graphs", "kernel launch",
           "stream", "CUDA stream", "SwiGLU", "RoPE", "RMSNorm", "LayerNorm", "vocabulary padding", "KV cache",
           "KV-cache", "prefill", "decode", "speculative decoding", "TFLOP/s", "TFLOPS", "FLOPs", "LoRA",
           "multi-token prediction", "MTP", "point-to-point", "p2p", "NCCL", "NIC", "PCIe", "fat tree",
           "rail-optimized", "world size", "nodes", "GEMM", "matmul", "LM head", "logits", "embedding", "parameters",
           "Chinchilla", "6ND", "memory-bound", "compute-bound", "wave quantization", "CTA", "out of memory", "OOM",
           "offload", "bucket", "overlap", "DualPipe", "sliding-window attention", "sequence packing", "batch size",
           "token", "peak FLOP/s", "checkpoint", "node-limited routing", "active parameters"})
    EXPECT_TRUE(find_term(word)) << word;
}

/// Headings, columns and figures of predict, roofline, timeline, schedule, sweep, scale, whatif, validate and
/// calibrate.
TEST(Terms, WhatReportsPrintIsThere) {
  for (const char* word :
      {"step time", "tokens/s", "Tokens/s/GPU", "Model FLOPs", "Model FLOP/s", "Hardware FLOP/s", "achieved TFLOP/s",
          "MFU", "HFU", "pipeline bubble", "bubble", "exposed communication", "exposed", "gradient sync",
          "norm and clip", "parameter gather", "host", "data wait", "imbalance", "span", "received bytes",
          "peak memory", "fullest rank", "allocated memory", "reserved memory", "activations", "model states",
          "fragmentation", "global batch", "micro-batch", "interval", "10th to 90th percentile", "ridge", "roof",
          "intensity", "reach", "busbw", "algbw", "burst", "sustained", "makespan", "lower bound", "speed-up",
          "efficiency", "strong scaling", "weak scaling", "serial share", "Amdahl", "Gustafson", "goodput", "Pareto",
          "energy per step", "cost per billion tokens", "lever", "sensitivity", "MAPE", "bias", "p90", "in 80 %",
          "coverage", "Spearman", "rank", "regret", "const", "held out", "left out", "alpha-beta", "straggler"})
    EXPECT_TRUE(find_term(word)) << word;
}

/// Figures that can be redone by hand.
TEST(Terms, ReportFormulasGiveTheKnownFigures) {
  const auto value = [](const char* word, const std::string& result) {
    const Term* term = find_term(word).value();
    for (const TermExample& example : term->examples)
      if (example.result == result) return formula_value(example.formula, example.values).value();
    ADD_FAILURE() << word << " has no example " << result;
    return 0.0;
  };
  EXPECT_DOUBLE_EQ(value("makespan", "1F1B with equal stages"), 11 * (0.1 + 0.2));
  EXPECT_DOUBLE_EQ(value("model states", "optimizer sharded over d ranks"), 6.75e9);
  EXPECT_NEAR(value("Amdahl", "speed-up on w times as many"), 1 / (0.115 + 0.885 / 8), 1e-12);
  EXPECT_NEAR(value("Amdahl", "share from a speed-up"), 0.115, 1e-3);  // the inverse of the line before
  EXPECT_DOUBLE_EQ(value("MAPE", "of errors -2 %, +3 %, +4 %"), 3);
  EXPECT_NEAR(value("bias", "of errors -2 %, +3 %, +4 %"), 5.0 / 3, 1e-12);
  EXPECT_NEAR(value("Spearman", "from squared differences of ranks, no ties"), 1 - 24.0 / 504, 1e-12);
  EXPECT_NEAR(value("Gustafson", "scaled speed-up"), 15.7, 1e-12);
  EXPECT_DOUBLE_EQ(value("global batch", "micro-batches"), 8);
}

TEST(Formula, NumbersNamesAndSigns) {
  const std::map<std::string, double> values{{"p", 4}, {"V", 100}};
  EXPECT_EQ(formula_value("2*(p-1)/p * V", values).value(), 150);
  EXPECT_EQ(formula_value("1 - 2 - 3", values).value(), -4);
  EXPECT_EQ(formula_value("sqrt(p) + 0.5", values).value(), 2.5);
  EXPECT_THAT(to_text(formula_value("2*q", values).error()), HasSubstr("unknown name 'q'"));
  EXPECT_THAT(to_text(formula_value("2*(p", values).error()), HasSubstr("no ')'"));
  EXPECT_THAT(to_text(formula_value("2 p", values).error()), HasSubstr("found 'p'"));
  EXPECT_THAT(to_text(formula_value("1/(p-4)", values).error()), HasSubstr("divides by zero"));
}

TEST(TermFiles, WrongRowsAreNamed) {
  const auto unknown =
      read_terms(R"({"group":"g","terms":[{"id":"a","name":"a","what":"w","source":"s","trip":"x"}]})", "t.json");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(to_text(unknown.error()), HasSubstr("trip"));
  EXPECT_FALSE(read_terms(R"({"group":"g","terms":[{"id":"a"}]})", "t.json"));
}

TEST(ExplainCommand, TextFitsAScreen) {
  for (const Term& term : terms()) {
    const auto ran = testing_program::run_line("explain " + term.id);
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_LE(std::count(ran.out.begin(), ran.out.end(), '\n'), 60) << term.id;
    std::istringstream lines(ran.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << term.id << ": " << line;
  }
}

TEST(ExplainCommand, SaysTheCollectiveAndItsBytes) {
  const auto ran = testing_program::run_line("explain ColumnParallelLinear");
  ASSERT_EQ(ran.code, 0) << ran.err;
  // dI of 64 x 256 elements of 2 bytes, 2 * 3/4 of it.
  EXPECT_THAT(ran.out, HasSubstr("backward  all_reduce dI on tp  2*(tp-1)/tp * dI  = 49,152 B"));
  EXPECT_THAT(ran.out, HasSubstr("O on tp: ColumnParallelLinear(gather_output=False)"));
}

TEST(ExplainCommand, FindsByAnyNameAndSeveralWords) {
  for (const char* line :
      {"explain DDP", "explain data parallelism", "explain Data-Parallelism", "explain distributed data_parallel dp"})
    EXPECT_EQ(testing_program::run_line(line).code, std::string(line).ends_with(" dp") ? 2 : 0) << line;
  const auto wrong = testing_program::run_line("explain ring atention");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("near it: ring attention"));
  EXPECT_THAT(testing_program::run_line("explain qqqqqqq").err, HasSubstr("lists all terms"));
}

TEST(ExplainCommand, ListsByGroup) {
  const auto ran = testing_program::run_line("explain");
  ASSERT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("Data and weights\n  data parallelism, FSDP"));
  const auto list = nlohmann::json::parse(testing_program::run_line("explain --json").out);
  EXPECT_EQ(list.at("terms").size(), terms().size());
}

TEST(ExplainCommand, JsonHoldsFormulasAndNumbers) {
  const auto ran = testing_program::run_line("explain row parallel --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto term = nlohmann::json::parse(ran.out);
  EXPECT_EQ(term.at("id"), "row-parallel-linear");
  // O of 64 x 128 elements of 2 bytes, 2 * 3/4 of it.
  EXPECT_EQ(term.at("volume").at(0).at("received_bytes"), 24576);
  EXPECT_EQ(term.at("collectives").at(0).at("received_bytes"), 24576);
  EXPECT_EQ(term.at("collectives").at(0).at("kind"), "all_reduce");
  const auto array = nlohmann::json::parse(testing_program::run_line("explain output stationary --json").out);
  EXPECT_EQ(array.at("stationary"), "output-stationary");
  EXPECT_THAT(array.at("counts").at(0).get<std::string>(), HasSubstr("O 0 reads, 16,384 updates"));
}

}  // namespace
}  // namespace stepcast::launch
