// Iterations of engines: what stands in the cache, what moves and what it takes, by hand where it can be; and the
// command.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dataflow/lower/lower.h"
#include "model/base/quantity_text.h"
#include "model/catalog.h"
#include "model/profile/exchange_law.h"
#include "studies/infer/fit_engine.h"
#include "studies/infer/phases.h"
#include "studies/infer/records/records.h"
#include "tests/studies/run_program.h"

namespace stepcast::infer {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_program::run_line;

Serving serving(const std::string& network, const std::string& machine, std::int64_t tp, const char* engine = "vllm") {
  ServingWishes wishes;
  wishes.network = network, wishes.machine = machine, wishes.engine = engine, wishes.tp = tp;
  auto made = serving_of(wishes);
  EXPECT_TRUE(made) << to_text(made.error());
  return std::move(*made);
}

sim::IterationTime iterate(const Serving& serving, const sim::Rows& rows) { return ServingCost(serving).time(rows); }

const sim::IterationPart* part_of(const sim::IterationTime& iteration, const std::string& label) {
  for (const sim::IterationPart& part : iteration.parts)
    if (part.label == label) return &part;
  return nullptr;
}

/// Keys and values of a position: layers x key heads x head size x 2 x 2 bytes; latent: layers x (rank + rotated) x 2.
TEST(Infer, TheCacheHoldsKeysAndValuesOfEachPosition) {
  const auto bytes = [](const Serving& s) { return s.cache_bytes(1000) / 1000; };
  EXPECT_EQ(bytes(serving("llama3-8b", "dgx-h100", 1)), 32 * 8 * 128 * 2 * 2);
  EXPECT_EQ(bytes(serving("llama2-70b", "dgx-h100", 8)), 80 * 1 * 128 * 2 * 2);
  EXPECT_EQ(bytes(serving("deepseek-v2-lite", "dgx-h100", 1)), 27 * (512 + 64) * 2);
  EXPECT_EQ(bytes(serving("deepseek-v2-lite", "dgx-h100", 4)), 27 * (512 + 64) * 2) << "every rank has the latents";
  ServingWishes wishes;
  wishes.network = "llama3-8b", wishes.cache = "fp8";
  EXPECT_EQ(bytes(*serving_of(wishes)), 32 * 8 * 128 * 2);
  EXPECT_EQ(bytes(serving("qwen3-30b-a3b", "dgx-h100", 8)), 48 * 1 * 128 * 2 * 2) << "4 key heads, each on two ranks";
  // Every second layer of gpt-oss keeps 128 positions.
  EXPECT_EQ(serving("gpt-oss-20b", "dgx-h100", 1).cache_bytes(1000), 12.0 * (1000 + 128) * 8 * 64 * 2 * 2);
  // TensorRT-LLM keeps all of them.
  EXPECT_EQ(serving("gpt-oss-20b", "dgx-h100", 1, "tensorrt-llm").cache_bytes(1000), 24.0 * 1000 * 8 * 64 * 2 * 2);
}

/// vLLM: 0.9 of 80 GiB, less weights, activations and what is reserved, in blocks of 16 positions.
/// A checkpoint that is narrow is served narrow, as engines read its file; one of a form that --weights has not is
/// asked for.
TEST(Infer, WeightsAreThoseOfTheCheckpoint) {
  const auto infer = [](const std::string& quantised, const std::string& more = "") {
    const std::string file = testing_program::own_path("config.json");
    std::ofstream(file) << R"({"architectures": ["Qwen3ForCausalLM"], "hidden_size": 4096, "intermediate_size": 12288,
      "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
      "vocab_size": 151936, "max_position_embeddings": 40960, "tie_word_embeddings": false)"
                        << quantised << "}";
    return run_line("infer " + file + " --machine dgx-h100 --prompt 1024 " + more);
  };
  const std::string blocks = R"(, "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]})";
  const auto wide = infer(""), narrow = infer(blocks), told = infer(blocks, "--weights bf16");
  EXPECT_THAT(wide.out, HasSubstr("--weights bf16, --kv bf16"));
  EXPECT_THAT(narrow.out, HasSubstr("--weights fp8-block, as quantization_config of the file says"));
  // 8.19e9 numbers of two bytes, and of one
  EXPECT_THAT(wide.out, HasSubstr("15.3 GiB of weights"));
  EXPECT_THAT(narrow.out, Not(HasSubstr("15.3 GiB of weights")));
  EXPECT_THAT(told.out, HasSubstr("15.3 GiB of weights"));
  const auto asked = infer(R"(, "quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": true})");
  EXPECT_EQ(asked.code, 2);
  EXPECT_THAT(asked.err, HasSubstr("--weights: the file keeps its weights as bitsandbytes, which is no type of ours"));
}

TEST(Infer, CapacityIsTheEnginesRule) {
  const Serving s = serving("llama3-8b", "dgx-h100", 1);
  const Capacity room = capacity(s, 1000);
  EXPECT_EQ(room.weights, 2.0 * 8'030'261'248);
  const double left = 0.9 * room.memory - room.weights - room.activations - room.reserved;
  EXPECT_DOUBLE_EQ(room.cache, left);
  EXPECT_EQ(room.blocks, static_cast<std::int64_t>(left / (16 * 131'072)));
  EXPECT_EQ(room.sequences, room.blocks / 63) << "1000 positions are 63 blocks";
  Serving free = s;
  free.engine.cache_rule = CacheRule::of_free;
  const Capacity share = capacity(free, 1000);
  EXPECT_DOUBLE_EQ(share.cache, 0.9 * (room.memory - room.weights - room.activations - share.reserved));
  EXPECT_DOUBLE_EQ(room.reserved - share.reserved, 392e6) << "one GPU alone has no buffers of NCCL";
  Serving two = serving("llama3-8b", "dgx-h100", 2);
  two.engine.cache_rule = CacheRule::of_free;
  EXPECT_EQ(capacity(two, 1000).reserved, room.reserved);
}

/// A bias behind experts is no hindrance to summing their parts.
TEST(Infer, PartsOfExpertsWithBiasesAreSummed) {
  const Serving two = serving("gpt-oss-20b", "dgx-h100", 2), one = serving("gpt-oss-20b", "dgx-h100", 1);
  EXPECT_NEAR(two.form->held().front().experts / one.form->held().front().experts, 0.5, 0.001);
}

/// 5 sequences say a word on 4 GPUs: two sums of 5 x 4096 numbers of two bytes in each of 32 layers.
TEST(Infer, RanksOfAReplicaSumWhatTheyMade) {
  const Serving s = serving("llama3-8b", "dgx-h100", 4);
  const sim::IterationTime one = iterate(s, {5, 1, 100});
  for (const char* label : {"Y1 all_reduce", "Y2 all_reduce"}) {
    const auto* part = part_of(one, label);
    ASSERT_NE(part, nullptr) << label;
    EXPECT_EQ(part->calls, 32);
    EXPECT_EQ(part->bytes.value(), 32 * 2 * 3.0 / 4 * 5 * 4096 * 2);
  }
  EXPECT_EQ(part_of(iterate(serving("llama3-8b", "dgx-h100", 1), {5, 1, 100}), "Y1 all_reduce"), nullptr);
}

/// 7 new positions behind 100: the first sees 101 keys, the last 107, 104 on average; 32 heads of 128, 4 FLOPs each.
TEST(Infer, NewPositionsSeeThoseInTheCache) {
  const sim::IterationTime one = iterate(serving("llama3-8b", "dgx-h100", 1), {2, 7, 100});
  EXPECT_DOUBLE_EQ(part_of(one, "attn.core")->flops.value(), 32.0 * 2 * 7 * 104 * 32 * 128 * 4);
}

/// The part of the queries that a rank has is not the last one: ranks of a split sequence do what one rank does.
TEST(Infer, QueriesOfASplitSequenceAreNotItsLast) {
  const auto executed = [](const char* cp) {
    const auto ran = run_line(std::string("predict llama3-8b --gpus 8 --seq 32768 --global-batch 8 --json --cp ") + cp);
    const auto answer = nlohmann::json::parse(ran.out);
    return answer.at("hfu").get<double>() * answer.at("step_time_s").get<double>();
  };
  EXPECT_NEAR(executed("4") / executed("1"), 1, 0.01);
}

/// What a form says of any rows is what a Program lowered for them says: bytes, FLOPs, calls.
TEST(Infer, FormsAreProgramsOfAnyRows) {
  struct Case {
    const char* network;
    std::int64_t tp, ep, attention_dp;
  };
  for (const Case& c : {Case{"llama3-8b", 2, 1, 1}, Case{"gpt-oss-20b", 1, 1, 1}, Case{"mixtral-8x7b", 4, 4, 1},
           Case{"mixtral-8x7b", 2, 8, 4}, Case{"deepseek-v2-lite", 2, 1, 1}, Case{"deepseek-v3.2", 8, 1, 1},
           Case{"minimax-m3", 4, 1, 1}}) {
    ServingWishes wishes;
    wishes.network = c.network, wishes.tp = c.tp, wishes.ep = c.ep, wishes.attention_dp = c.attention_dp;
    const Serving s = *serving_of(wishes);
    // So many that each expert has a whole number of rows.
    for (const sim::Rows& rows : {sim::Rows{32, 1, 901}, sim::Rows{32, 33, 0}, sim::Rows{64, 100, 411}}) {
      Plan plan = s.scenario.plan;
      plan.precision = Precision::bf16;
      plan.micro_batch = static_cast<std::int64_t>(rows.sequences),
      plan.global_batch = plan.micro_batch * c.attention_dp;
      plan.sequence = static_cast<std::int64_t>(rows.positions);
      plan.cache = CacheUse{static_cast<std::int64_t>(rows.cached), s.cache_element_bytes};
      const auto program = *dataflow::lower(s.network(), plan, lowered_for(s.engine));
      double flops = 0, received = 0, calls = 0, streamed = 0;
      for (const auto& chunk : program.chunks)
        for (const auto& run : chunk.runs)
          for (const auto& item : program.blocks[run.block].forward) {
            const auto times = static_cast<double>(run.count);
            const auto& block = program.blocks[run.block];
            if (item.is_move && block.moves[item.index].group < 0) continue;
            calls += times * (item.is_move ? 1 : block.works[item.index].launches);
            if (item.is_move) {
              received += times * block.moves[item.index].received.value();
              continue;
            }
            const auto& work = block.works[item.index];
            flops += times * work.flops.value();
            if (work.kernel == dataflow::KernelClass::pointwise || work.kernel == dataflow::KernelClass::lookup)
              streamed += times * work.bytes.value();
          }
      const sim::IterationTime time = iterate(s, rows);
      double of_parts[3] = {};
      for (const sim::IterationPart& part : time.parts) {
        of_parts[0] += part.flops.value();
        if (part.is_move) of_parts[1] += part.bytes.value();
        if (part.shape == "pointwise") of_parts[2] += part.bytes.value();
      }
      const std::string name =
          fmt::format("{} {} x {} behind {}", c.network, rows.sequences, rows.positions, rows.cached);
      EXPECT_NEAR(of_parts[0], flops, 1e-6 * flops) << name;
      EXPECT_NEAR(of_parts[1], received, 1e-6 * received) << name;
      EXPECT_NEAR(of_parts[2], streamed, 1e-6 * streamed) << name;
      EXPECT_EQ(time.launches, calls) << name;
    }
  }
}

/// Prompts beside running sequences: products see all their positions, attention each row by itself.
TEST(Infer, RowsArePackedIntoOneIteration) {
  const Serving s = serving("llama3-8b", "dgx-h100", 1);
  const sim::Rows words{64, 1, 4000}, prompt{1, 448, 1000}, mixed[] = {words, prompt};
  const ServingCost cost(s);
  const sim::IterationTime both = cost.time(mixed), of_words = cost.time(words), of_prompt = cost.time(prompt);
  const auto flops = [](const sim::IterationTime& time) {
    double sum = 0;
    for (const sim::IterationPart& part : time.parts) sum += part.flops.value();
    return sum;
  };
  EXPECT_NEAR(flops(both), flops(of_words) + flops(of_prompt), 1e-9 * flops(both));
  EXPECT_EQ(part_of(both, "mlp.up")->shape, "512 x 28672 x 4096");
  EXPECT_EQ(part_of(both, "head")->shape, "65 x 128256 x 4096");
  EXPECT_EQ(part_of(both, "mlp.up")->calls, 32);
  EXPECT_LT(both.kernels, of_words.kernels + of_prompt.kernels) << "weights are read once";
  EXPECT_GT(both.kernels, std::max(of_words.kernels, of_prompt.kernels));
  // Latent attention: words read the cache as it is, prompts make keys and values of it again.
  const Serving latent = serving("deepseek-v2-lite", "dgx-h100", 1);
  const sim::IterationTime together = ServingCost(latent).time(mixed);
  EXPECT_NE(part_of(together, "attn.absorb.K"), nullptr);
  ASSERT_NE(part_of(together, "attn.up"), nullptr);
  EXPECT_THAT(part_of(together, "attn.up")->shape, testing::StartsWith("1448 x "));
}

/// A price that is remembered is the price.
TEST(Infer, PricesAreRemembered) {
  const Serving s = serving("mixtral-8x7b", "dgx-h100", 2);
  const ServingCost cost(s);
  sim::IterationPrices prices = cost.prices();
  for (const double batch : {1.0, 8.0, 1.0, 8.0, 64.0})
    for (const double context : {10.0, 1000.0, 5000.0}) {
      const sim::Rows rows[] = {{batch, 1, context}, {1, 200, context}};
      EXPECT_DOUBLE_EQ(prices.time(rows, false).value(), cost.time(rows).time.value());
    }
}

/// Ranks with sequences of their own share the experts: tokens are gathered and what the experts made is summed back,
/// or their rows are exchanged. tokens x hidden x 2 bytes, from 7 of 8 ranks.
TEST(Infer, ExpertsAreShared) {
  ServingWishes wishes;
  wishes.network = "mixtral-8x7b", wishes.machine = "dgx-h100", wishes.attention_dp = 8, wishes.ep = 8;
  const sim::IterationTime gathered = iterate(*serving_of(wishes), {16, 1, 100});
  EXPECT_EQ(part_of(gathered, "norm2.y all_gather")->bytes.value(), 32 * 7.0 * 16 * 4096 * 2);
  EXPECT_EQ(part_of(gathered, "Y2 reduce_scatter")->bytes.value(), 32 * 7.0 * 16 * 4096 * 2);
  wishes.attention_dp = 1, wishes.tp = 8;
  const sim::IterationTime summed = iterate(*serving_of(wishes), {16, 1, 100});
  EXPECT_EQ(part_of(summed, "Y2 all_reduce")->bytes.value(), 32 * 2 * 7.0 / 8 * 16 * 4096 * 2);
  EXPECT_EQ(part_of(summed, "Oe all_gather"), nullptr) << "sums, and not the rows of each expert";
}

/// One token takes two of eight experts: where each rank has one of them the busiest reads one whole, where each has an
/// eighth of all it reads two eighths. Thousands of tokens reach all of them.
TEST(Infer, AllWaitForTheRankWithTheMostExperts) {
  ServingWishes wishes;
  wishes.network = "mixtral-8x7b", wishes.machine = "dgx-h100", wishes.tp = 8;
  const Serving in_parts = *serving_of(wishes);
  wishes.ep = 8;
  const Serving spread = *serving_of(wishes);
  const auto bytes = [](const Serving& serving, double tokens) {
    return part_of(iterate(serving, {tokens, 1, 100}), "expert.up")->bytes.value();
  };
  EXPECT_NEAR(bytes(spread, 1) / bytes(in_parts, 1), 4, 0.05);
  EXPECT_NEAR(bytes(spread, 64) / bytes(in_parts, 64), 1, 0.1);
}

/// Experts in parts on all ranks of eight groups: their tokens are gathered, 7 x 16 rows and their gates, and not the
/// two rows that each becomes.
TEST(Infer, PartsOfExpertsSeeTheTokensOfAllGroups) {
  ServingWishes wishes;
  wishes.network = "mixtral-8x7b", wishes.machine = "dgx-h100", wishes.attention_dp = 8;
  for (const char* engine : {"vllm", "sglang"}) {
    wishes.engine = engine;
    const sim::IterationTime parts = iterate(*serving_of(wishes), {16, 1, 100});
    ASSERT_NE(part_of(parts, "norm2.y all_gather"), nullptr) << engine;
    EXPECT_EQ(part_of(parts, "norm2.y all_gather")->bytes.value(), 32 * 7.0 * 16 * 4096 * 2);
    EXPECT_EQ(part_of(parts, "Y2 reduce_scatter")->bytes.value(), 32 * 7.0 * 16 * 4096 * 2);
    EXPECT_EQ(part_of(parts, "Xe all_gather"), nullptr);
  }
}

/// Guesses: 1 + r + r^2 words an iteration, whose products have three rows for each sequence, and two runs of a layer
/// with the LM head before it.
TEST(Infer, GuessedWordsAreTriedTogether) {
  EXPECT_DOUBLE_EQ(words_of_iteration(2, 0.8), 1 + 0.8 + 0.64);
  EXPECT_DOUBLE_EQ(words_of_iteration(3, 0), 1);
  ServingWishes wishes;
  wishes.network = "llama3-8b", wishes.machine = "dgx-h100", wishes.draft = 2;
  const Serving s = *serving_of(wishes);
  const Phase phase = decode(s, 16, 1000, {0.8});
  EXPECT_EQ(part_of(phase.shown, "mlp.up")->shape, "48 x 28672 x 4096");
  ASSERT_EQ(phase.iterations.size(), 2U);
  EXPECT_EQ(phase.iterations[0].times, 2);
  const sim::IterationTime guess = ServingCost(*s.drafter).time({16, 1, 1000});
  EXPECT_EQ(part_of(guess, "mlp.up")->calls, 1);
  EXPECT_NEAR(phase.time.value(), phase.shown.time.value(), 1e-12) << "what is shown holds the guesses";
  Seconds parts;
  for (const sim::IterationPart& part : phase.shown.parts) parts += part.time;
  EXPECT_NEAR((parts + phase.shown.host).value(), phase.time.value(), 1e-12);
  EXPECT_EQ(part_of(phase.shown, "draft mlp.up")->calls, 2);
  EXPECT_EQ(part_of(phase.shown, "draft mlp.up")->time, part_of(guess, "mlp.up")->time * 2.0);
  const Phase plain = decode(serving("llama3-8b", "dgx-h100", 1), 16, 1000);
  EXPECT_GT(phase.time, plain.time);
  EXPECT_LT(phase.shown.kernels, plain.shown.kernels * 1.3) << "weights are read once for three words";
  wishes.tp = 2;
  const Serving split = *serving_of(wishes);
  EXPECT_TRUE(ServingCost(split).captured(std::vector<sim::Rows>{{16, 3, 1000}})) << "a graph replays the trial";
  EXPECT_FALSE(ServingCost(split).captured(std::vector<sim::Rows>{{16, 4, 1000}}));
  EXPECT_EQ(part_of(decode(split, 16, 1000, {0.8}).shown, "Y1 all_reduce")->calls, 32);
  const Phase batch = static_batch(s, 16, 1000, 101, {0.8});
  double iterations = 0;
  for (const Repeated& repeated : batch.iterations) iterations += repeated.times;
  EXPECT_NEAR(iterations, 100 / 2.44 * 3 + batch.iterations.front().times, 1e-9) << "two guesses and a trial each";
}

/// A layer that predicts further words runs only to guess.
TEST(Infer, PredictionLayersRunForGuessesAlone) {
  const sim::IterationTime words = iterate(serving("deepseek-v3", "hgx-h200", 8), {1, 1, 100});
  EXPECT_EQ(part_of(words, "head")->calls, 1);
  EXPECT_EQ(part_of(words, "attn.core")->calls, 61);
}

/// Rows that are exchanged cost what the engine's kernels for it took, where they were timed.
TEST(Infer, ExchangesHaveTheEnginesKernels) {
  ServingWishes wishes;
  wishes.network = "deepseek-v3", wishes.machine = "dgx-h100", wishes.engine = "sglang", wishes.attention_dp = 8,
  wishes.ep = 8, wishes.weights = "fp8-block";
  const Serving s = *serving_of(wishes);
  ExchangeQuery query;
  query.tokens = 64, query.hidden = 7168, query.choices = 8, query.experts = 256, query.ranks = 8;
  query.element_bytes = 1;
  const auto* law = find_exchange(*s.profile, "sglang", ExchangeKernel::low_latency, query);
  ASSERT_NE(law, nullptr);
  const sim::IterationTime words = iterate(s, {64, 1, 100});
  EXPECT_NEAR(part_of(words, "Xe all_to_all")->time.value(), 58 * exchange_time(*law, query).time.value(), 1e-9);
  EXPECT_NE(part_of(words, "Oe all_to_all"), nullptr);
}

/// A batch is of the whole replica: each group of ranks with sequences of its own has a part, and room for its part.
TEST(Infer, BatchesAreOfTheReplica) {
  ServingWishes wishes;
  wishes.network = "mixtral-8x7b", wishes.machine = "dgx-h100", wishes.attention_dp = 8, wishes.ep = 8;
  const Serving s = *serving_of(wishes);
  EXPECT_EQ(part_of(decode(s, 64, 1000).shown, "attn.qkv")->shape, "8 x 6144 x 4096");
  EXPECT_EQ(part_of(decode(s, 65, 1000).shown, "attn.qkv")->shape, "9 x 6144 x 4096") << "the fullest";
  EXPECT_EQ(capacity(s, 1000).sequences % 8, 0);
}

TEST(Infer, MoreWorkTakesLonger) {
  const Serving s = serving("llama3-8b", "dgx-h100", 1), wide = serving("llama3-70b", "dgx-h100", 8);
  const auto word = [](const Serving& on, std::int64_t batch, std::int64_t context) {
    return decode(on, batch, context).time.value();
  };
  EXPECT_LT(word(s, 1, 1000), word(s, 1, 16'000));
  EXPECT_LT(word(s, 1, 1000), word(s, 64, 1000));
  EXPECT_LT(word(s, 1, 1000), word(wide, 1, 1000));
  EXPECT_LT(prefill(s, 1, 1000, 0).time, prefill(s, 1, 1000, 8000).time);
  EXPECT_LT(prefill(s, 1, 1000, 0).time, prefill(s, 4, 1000, 0).time);
  const Phase batch = static_batch(s, 4, 1000, 100);
  EXPECT_NEAR(batch.time.value(), (batch.prefill + batch.decode).value(), 1e-12);
  EXPECT_NEAR(batch.decode.value(), 99 * word(s, 4, 1050), 0.02 * batch.decode.value());
  const Serving experts = serving("mixtral-8x7b", "dgx-h100", 4);
  EXPECT_LT(1.5 * word(experts, 1, 100), word(experts, 64, 100)) << "one word reads 2 experts of 8";
}

/// Of 8,192 positions and one more, the long piece is shown.
TEST(Infer, TheLongestPieceOfAPromptIsShown) {
  const Serving s = serving("llama3-8b", "dgx-h100", 1);
  const Phase pieces = prefill(s, 1, 8193, 0);
  ASSERT_EQ(pieces.iterations.size(), 2U);
  EXPECT_EQ(pieces.shown_rows[0].positions, 8192);
  EXPECT_THAT(run_line("infer llama3-8b --prompt 8193").out, HasSubstr("One of 2 iterations, the longest"));
}

/// 2 bytes x positions x hidden x 11, of one tensor rank.
TEST(Infer, ActivationsAreOfThePositionsOfAnIteration) {
  const Serving s = serving("llama3-8b", "dgx-h100", 1);
  EXPECT_EQ(capacity(s, 1000).activations, 2.0 * 8192 * 4096 * 11);
  EXPECT_EQ(capacity(s, 1000, 32'768).activations, 2.0 * 32'768 * 4096 * 11);
  EXPECT_LT(capacity(s, 1000, 32'768).blocks, capacity(s, 1000).blocks);
}

/// vLLM V1 reads 8,192 positions on GPUs of 70 GiB, but 2,048 on others and on A100; a row of one's own stays.
TEST(Infer, EnginesHaveTheSizesOfTheirGpu) {
  EXPECT_EQ(serving("llama3-8b", "dgx-h100", 1).engine.most_positions, 8192);
  EXPECT_EQ(serving("llama3-8b", "dgx-a100", 1).engine.most_positions, 2048);
  EXPECT_EQ(serving("llama3-8b", "dgx-a100", 1).engine.most_sequences, 256);
  EXPECT_EQ(serving("llama3-8b", "dgx-b200", 1, "sglang").engine.most_positions, 16'384);
  ServingWishes wishes;
  wishes.network = "llama3-8b", wishes.machine = "dgx-a100";
  Engine own = **find_row(built_in().engines, "vllm", "engine");
  wishes.row = std::make_shared<const Engine>(own);
  EXPECT_EQ(serving_of(wishes)->engine.most_positions, 8192);
}

/// A batch that the cache does not hold at once goes in waves.
TEST(Infer, WavesFollowFromTheCache) {
  const Serving s = serving("llama3-70b", "dgx-h100", 2);
  const Phase all = static_batch(s, 64, 2048, 2048);
  EXPECT_GT(all.waves, 2);
  EXPECT_EQ(static_batch(serving("llama3-70b", "dgx-h100", 8), 64, 2048, 2048).waves, 1);
}

TEST(Infer, TheCommandSaysWhatIsWrong) {
  const auto refused = [](const std::string& line, const char* why) {
    const auto ran = run_line("infer " + line);
    EXPECT_EQ(ran.code, 2) << line;
    EXPECT_THAT(ran.err, HasSubstr(why)) << line;
  };
  refused("llama3-8b", "how long the prompts are");
  refused("llama3-8b --phase decode", "what stands in the cache");
  refused("llama3-8b --phase batch --prompt 10", "how many tokens");
  refused("llama3-8b --phase sleep --prompt 10", "prefill, decode, mixed");
  refused("llama3-8b --prompt 10 --tp 3", "legal tp");
  refused("llama3-8b --prompt 10 --output 5 --cached 3", "is not of phase batch");
  refused("llama3-8b --context 10 --prompt 5", "--phase mixed");
  refused("llama3-8b --context 10 --output 5", "is not of phase decode");
  refused("llama3-8b --phase prefill --prompt 10 --context 5", "is not of phase prefill");
  refused("llama3-8b --prompt 10 --draft 2 --accepted 0.5", "prompts are not guessed");
  refused("llama3-8b --phase mixed --prompt 10 --context 5 --draft 2 --accepted 0.5", "is not of phase mixed");
  refused("llama3-8b --context 10 --accepted 0.5", "no tokens are guessed");
  refused("llama3-8b --prompt 10 --cp-way ring", "not split by position");
  refused("llama3-8b --prompt 10 --weights mxfp4", "a type of experts, and llama3-8b has none");
  refused("llama3-8b --prompt 10 --kv int4", "a type of weights alone");
  refused("llama3-8b --prompt 10 --gpus 8 --tp 3", "8 GPUs for a split over 3");
  refused("llama3-8b --prompt 10 --engine vlm", "vllm");
  refused("llama3-8b --prompt 10 --dp-attention 8", "no experts to share");
  refused("llama3-8b --context 10 --draft 2", "how many of the guesses are right");
  refused("llama3-8b --context 10 --draft 2 --accepted 1.5", "--accepted");
  refused("llama3-8b --context 10 --draft 2 --accepted 0.5 --tp 2 --pp 2", "on several stages");
  refused("llama3-8b --phase mixed --prompt 10", "what stands in the cache");
  refused("mixtral-8x7b --prompt 10 --tp 8 --exchange magic", "gather or rows");
  refused("mixtral-8x7b --prompt 10 --tp 8 --ep 3", "a divisor of tp x dp-attention");
  refused("llama3-8b --prompt 10 --weights fp7", "nvfp4");
  refused("llama3-8b --prompt 10 --machine dgx-a100 --weights fp8", "has no fp8");
  refused("llama3-70b --context 8192", "leave nothing");
  refused("llama3-70b --tp 8 --context 8192 --batch 9999", "--batch ");
  refused("gpt3-175b --tp 8 --context 8192", "at most 2048");
  refused("t5-v1.1-xxl --prompt 10", "an encoder");
  refused("llama3.2-11b-vision --prompt 10", "stepcast predict llama3.2-11b-vision --images 1");
  refused("vit-large --prompt 10", "");
}

/// The last layer of Nemotron-H is an MLP: what guesses has attention before it, as those of its kind have.
TEST(Infer, WhatGuessesForLayersOfOneKindHasAttention) {
  ServingWishes wishes;
  wishes.network = "nemotron-h-8b", wishes.machine = "dgx-h100", wishes.draft = 3;
  const auto made = serving_of(wishes);
  ASSERT_TRUE(made) << to_text(made.error());
  const sim::IterationTime guess = ServingCost(*made->drafter).time({16, 1, 1000});
  for (const char* part : {"attn.core", "mlp.up", "head"}) EXPECT_NE(part_of(guess, part), nullptr) << part;
  EXPECT_EQ(part_of(guess, "mixer.conv"), nullptr);
  // Two tables of 131072 x 4096; 32 heads of 128 and 8 for keys and values; an MLP of 21504; three norms.
  EXPECT_EQ(
      made->drafter->weight_bytes(), 2.0 * (2 * 131072 * 4096LL + 4096 * (6144 + 4096) + 2 * 4096 * 21504 + 3 * 4096));
  wishes.network = "nemotron-3-nano";
  EXPECT_TRUE(serving_of(wishes)) << "experts";
}

/// Qwen2.5-VL 7B: what its file counts as vision and projector, in bf16.
TEST(Infer, SaysThatWeightsOfImagesAreNotInMemory) {
  const NetworkSpec& network = **find_row(built_in().networks, "qwen2.5-vl-7b", "network");
  const auto left_out = fmt::format("the image encoder's {} of weights are not in memory: text alone",
      format_bytes(Bytes(2.0 * static_cast<double>(encoder_parameter_count(network)))));
  const auto said = run_line("infer qwen2.5-vl-7b --context 2048 --json");
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr(left_out));
  EXPECT_THAT(run_line("infer llama3-8b --context 2048 --json").out, testing::Not(HasSubstr("image encoder")));
}

TEST(Infer, TheCommandPrintsTheSameInWordsAndInJson) {
  const std::string line = "infer llama3-8b --machine dgx-h100 --context 1024 --batch 8";
  const auto text = run_line(line), json = run_line(line + " --json");
  ASSERT_EQ(text.code, 0) << text.err;
  ASSERT_EQ(json.code, 0) << json.err;
  const auto answer = nlohmann::json::parse(json.out);
  EXPECT_NEAR(answer.at("time_s").get<double>() * answer.at("tokens_per_s").get<double>(), 8, 1e-9);
  EXPECT_EQ(answer.at("memory").at("cache_bytes_per_position"), 131'072);
  double sum = 0;
  for (const auto& part : answer.at("parts")) sum += part.at("time_s").get<double>();
  EXPECT_NEAR(sum, answer.at("kernels_s").get<double>() + answer.at("moves_s").get<double>(), 1e-9);
  double bound = 0;
  for (const auto& [what, share] : answer.at("binds").items()) bound += share.get<double>();
  EXPECT_NEAR(bound, 1, 0.005) << "all but what prints as nothing";
  EXPECT_NEAR(answer.at("tokens_per_s_per_user").get<double>() * 8, answer.at("tokens_per_s").get<double>(), 1e-9);
  EXPECT_EQ(run_line("infer llama3-8b --phase mixed --prompt 512 --context 1024 --batch 8").code, 0);
  EXPECT_THAT(text.out, HasSubstr("131072 bytes"));
  EXPECT_THAT(text.out, HasSubstr("What binds"));
  EXPECT_THAT(text.out, HasSubstr("attn.core"));
}

constexpr const char* record = R"({"id": "one", "judged_as": "decode_phase", "phase": "decode",
  "model": {"id": "meta-llama/Llama-2-70b-hf"}, "hardware": {"gpu": "H100-SXM-80GB", "count": 8, "nodes": 1},
  "software": {"name": "vLLM", "version": "0.12.0"}, "precision": {"weights": "bf16", "kv_cache": null},
  "parallel": {"tp": 8, "pp": 1}, "workload": {"isl": 512, "osl": 128, "batch": 4},
  "measured": {"decode_step_ms": 12.5, "samples_ms": [12.4, 12.6]}})";

/// What was made with known figures is found again: records of forecasts by a row whose host takes 3 ms an iteration.
TEST(Infer, TuningsAreFitted) {
  Engine engine = **find_row(built_in().engines, "vllm-v0", "engine");
  for (Engine::Tuning& row : engine.tunings)
    if (row.architecture == "hopper" && row.products_in.empty())
      row.host_per_iteration = Seconds(3e-3), row.host_per_sequence = Seconds(4e-5), row.keys_read_again = 0.3;
  std::vector<InferenceRecord> records;
  for (const char* model : {"llama2-70b", "llama3-8b", "llama3-70b"})
    for (const std::int64_t batch : {1, 16, 64, 200}) {
      InferenceRecord r;
      r.id = fmt::format("{}-{}", model, batch), r.judged_as = "decode_phase", r.phase = "decode", r.model = model;
      r.gpu = "H100-SXM-80GB", r.engine = "vLLM", r.version = "0.6.0", r.weights = "bf16", r.tp = 8;
      r.prompt = 900, r.output = 200, r.batch = batch, r.measured["decode_step_ms"] = 1;
      r.measured["decode_step_ms"] = forecast(r, {&engine})->predicted;
      records.push_back(r);
    }
  const auto fits = fit_tunings(records, std::span(&engine, 1));
  ASSERT_EQ(fits.size(), 1U);
  EXPECT_EQ(fits[0].records, 12);
  EXPECT_EQ(fits[0].networks, 3);
  EXPECT_LT(fits[0].error, 0.002);
  EXPECT_LT(fits[0].held_out, 0.01);
  EXPECT_NEAR(fits[0].tuning.host_per_iteration.value(), 3e-3, 2e-4);
  EXPECT_NEAR(fits[0].tuning.host_per_sequence.value(), 4e-5, 1e-5);
  EXPECT_NEAR(fits[0].tuning.keys_read_again, 0.3, 0.02);
  EXPECT_GT(fits[0].tuning.spread.p10, 0.985) << "nothing but what was left out widens it";
  EXPECT_LT(fits[0].tuning.spread.p90, 1.015);
  EXPECT_THAT(tunings_text(fits), HasSubstr("host_per_iteration 3"));
  EXPECT_EQ(find_tuning(with_fits(engine, fits), "hopper", "bf16")->spread.p10, fits[0].tuning.spread.p10);
}

/// 1,024 words of a network of 140 GB cannot be said by one GPU in a second.
TEST(Infer, TimesThatNoMemoryAllowsAreRefused) {
  InferenceRecord r;
  r.id = "early end", r.phase = "static_batch", r.model = "llama2-70b", r.gpu = "H100-SXM-80GB", r.engine = "vLLM";
  r.weights = "bf16", r.tp = 4, r.prompt = 1024, r.output = 1024, r.batch = 1, r.measured["e2e_s"] = 1;
  const auto made = forecast(r);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().what, HasSubstr("memory cannot be read"));
  r.measured["e2e_s"] = 20;
  EXPECT_TRUE(forecast(r));
}

/// Records of phases are forecast; others are skipped with the reason, in lines and in lists.
TEST(Infer, RecordsAreJudged) {
  std::string line = record;
  std::erase(line, '\n');
  const std::string serving_line = R"({"id": "two", "phase": "serving", "model": {"id": "meta-llama/Llama-2-70b-hf"},
    "hardware": {"gpu": "H100-SXM-80GB"}, "software": {"name": "vLLM", "version": "0.6.3"}, "workload": {}})";
  std::string other = serving_line;
  std::erase(other, '\n');
  std::string card = line;
  card.replace(card.find("H100-SXM-80GB"), 13, "Abacus 9000");
  const std::string path = testing_program::own_path("records.jsonl");
  std::ofstream(path) << line << "\n" << other << "\n" << card << "\n";
  const auto ran = run_line("validate " + path + " --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto answer = nlohmann::json::parse(ran.out);
  ASSERT_EQ(answer.at("cases").size(), 1U);
  const auto& made = answer.at("cases")[0];
  EXPECT_EQ(made.at("metric"), "decode_step_ms");
  const double forecast = decode(serving("llama2-70b", "dgx-h100", 8), 4, 512 + 64).time.value() * 1e3;
  EXPECT_NEAR(made.at("predicted").get<double>(), forecast, 1e-9);
  EXPECT_NEAR(made.at("error").get<double>(), forecast / 12.5 - 1, 1e-9);
  EXPECT_LT(made.at("interval")[0].get<double>(), forecast);
  ASSERT_EQ(answer.at("skipped").size(), 2U);
  EXPECT_THAT(answer.at("skipped")[1].at("why").get<std::string>(), HasSubstr("Abacus"));
  std::ofstream(path) << "[" << line << "]";
  EXPECT_EQ(nlohmann::json::parse(run_line("validate " + path + " --json").out).at("cases").size(), 1U);
  EXPECT_THAT(run_line("validate " + path).out, HasSubstr("decode_phase"));
  std::ofstream(path) << line << "\n{\"workload\": \"phase\"\n";
  EXPECT_THAT(run_line("validate " + path).err, HasSubstr("no JSON"));
}

// Three rows of Llama 3's vocabulary are below what products were timed at, and SGLang's tuning is not fitted.
TEST(Infer, WhatLawsHaveNotSeenIsAWarningAndWidensTheInterval) {
  const auto beyond = run_line("infer llama3-8b --engine sglang --context 100000 --batch 3 --json");
  ASSERT_EQ(beyond.code, 0) << beyond.err;
  const auto json = nlohmann::json::parse(beyond.out);
  ASSERT_FALSE(json["warnings"].empty());
  EXPECT_NE(json["warnings"][0].get<std::string>().find("beyond what its law"), std::string::npos);
  // As wide as the engine's own, and a bit more: squares add, of a head that takes a few percent.
  const Spread own = find_tuning(**find_row(built_in().engines, "sglang", "engine"), "hopper", "bf16")->spread;
  EXPECT_GT(json["interval_s"][1].get<double>() / json["interval_s"][0].get<double>(), 1.00005 * own.p90 / own.p10);
}

/// Queries and keys are rotated by five kernels each, nine more than by one together: nine more starts. What is passed
/// over three times takes three times as long.
TEST(Infer, FunctionsThatRunOperationByOperationAreSeveralKernels) {
  ServingWishes wishes;
  const auto rotation = [&](std::vector<SplitFunction> split) {
    Engine engine = **find_row(built_in().engines, "pytorch", "engine");
    engine.one_by_one = std::move(split);
    const Serving s = *serving_of(
        wishes, *run::choose_network("llama3-8b", "network"), *run::choose_machine("dgx-h100", "machine"), engine);
    const sim::IterationTime read = iterate(s, {1, 4096, 0});
    const sim::IterationPart* part = part_of(read, "rope");
    return std::tuple{part->time, part->calls, read.launches, s.profile->memory.t0, find_tuning(engine, "hopper", "")};
  };
  const double slower = (**find_row(built_in().engines, "pytorch", "engine")).tunings.back().kernels;
  const auto [one, calls, launches, start, row] = rotation({});
  const auto [five, same_calls, more, same_start, same_row] = rotation({{"rope", 1, 5}});
  EXPECT_EQ(calls, same_calls);
  EXPECT_NEAR((five - one) / (start * (9 * calls * slower)), 1, 1e-9);
  EXPECT_EQ(more - launches, 9 * calls);
  const auto thrice = std::get<0>(rotation({{"rope", 3}}));
  const Seconds starts = start * (calls * slower);
  EXPECT_NEAR((thrice - starts) / (one - starts), 3, 0.05);
}

TEST(Infer, OlderAttentionIsAsMuchSlowerAsItsEngineSays) {
  const auto attention = [](const auto& change, const sim::Rows& rows) {
    Engine engine = **find_row(built_in().engines, "vllm", "engine");
    change(engine);
    const Serving s = *serving_of(
        {}, *run::choose_network("llama3-8b", "network"), *run::choose_machine("dgx-h100", "machine"), engine);
    return part_of(iterate(s, rows), "attn.core")->time;
  };
  const auto same = [](Engine&) {};
  const sim::Rows prompt{1, 4096, 0}, words{64, 1, 4096};
  EXPECT_NEAR(attention([](Engine& e) { e.attention_rate = 0.5; }, prompt) / attention(same, prompt), 2, 1e-9);
  EXPECT_EQ(attention([](Engine& e) { e.attention_rate = 0.5; }, words), attention(same, words));
  EXPECT_GT(attention([](Engine& e) { e.cache_rate = 0.4; }, words) / attention(same, words), 1.5);
  EXPECT_EQ(attention([](Engine& e) { e.cache_rate = 0.4; }, prompt), attention(same, prompt));
}

TEST(Infer, AProfileOfOnesOwnGivesTheLaws) {
  const std::string line = "infer llama3-8b --machine dgx-h100 --engine pytorch --context 4096 --batch 16 --json";
  const auto time = [&](const std::string& more) {
    const auto ran = run_line(line + more);
    EXPECT_EQ(ran.code, 0) << ran.err;
    const auto answer = nlohmann::json::parse(ran.out);
    EXPECT_EQ(answer.at("profile"), more.empty() ? "h100-sxm" : more.substr(more.rfind(' ') + 1));
    return answer.at("time_s").get<double>();
  };
  EXPECT_EQ(time(" --profile h100-sxm"), time(""));
  EXPECT_NE(time(" --profile measured-h100-sxm"), time(""));
  EXPECT_THAT(run_line(line + " --profile measured-h200-sxm").err,
      AllOf(HasSubstr("--profile"), HasSubstr("measured-h200-sxm is of h200-sxm, and the machine has h100-sxm")));
  EXPECT_THAT(run_line(line + " --profile nobodys").err, HasSubstr("--profile"));
}

TEST(Infer, PhasesOfPlainPyTorchAreForecastByALawOfEitherProfile) {
  std::string line = record;
  std::erase(line, '\n');
  const auto put = [&line](const std::string& part, const std::string& other) {
    line.replace(line.find(part), part.size(), other);
  };
  put("meta-llama/Llama-2-70b-hf", "llama3-8b"), put("\"vLLM\"", "\"PyTorch\""), put("\"tp\": 8", "\"tp\": 1");
  const std::string path = testing_program::own_path("phases.jsonl");
  std::ofstream(path) << line << "\n";
  const auto predicted = [&](const std::string& more) {
    const auto ran = run_line("validate " + path + " --json" + more);
    EXPECT_EQ(ran.code, 0) << ran.err;
    const auto made = nlohmann::json::parse(ran.out).at("cases").at(0);
    EXPECT_EQ(made.at("engine"), "pytorch");
    return made.at("predicted").get<double>();
  };
  EXPECT_NE(predicted(""), predicted(" --profile measured-h100-sxm"));
  EXPECT_THAT(run_line("validate " + path + " --cases").out, AllOf(HasSubstr("decode_step_ms"), HasSubstr(" %")));
  for (const char* flag : {"--unfitted", "--hold-out", "--csv"})
    EXPECT_THAT(run_line("validate " + path + " " + flag).err, HasSubstr("says nothing of records of inference"));
  EXPECT_THAT(run_line("validate " + path + " --profile measured-h200-sxm").err,
      HasSubstr("no record is forecast: measured-h200-sxm is of h200-sxm"));
  EXPECT_THAT(run_line("validate " + path + " --profile nobodys").err, HasSubstr("--profile: unknown profile"));
  EXPECT_THAT(run_line("validate --profile measured-h100-sxm").err, HasSubstr("default profile of each GPU"));
}

}  // namespace
}  // namespace stepcast::infer
