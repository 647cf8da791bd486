// Iterations of engines: what moves and what it takes, by hand where it can be.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dataflow/lower/lower.h"
#include "model/profile/exchange_law.h"
#include "studies/infer/phases.h"
#include "tests/studies/infer/serving_by_name.h"
#include "tests/studies/run_program.h"

namespace stepcast::infer {
namespace {

using testing::HasSubstr;
using testing_program::run_line;

/// A bias behind experts is no hindrance to summing their parts.
TEST(Iteration, PartsOfExpertsWithBiasesAreSummed) {
  const Serving two = serving("gpt-oss-20b", "dgx-h100", 2), one = serving("gpt-oss-20b", "dgx-h100", 1);
  EXPECT_NEAR(two.form->held().front().experts / one.form->held().front().experts, 0.5, 0.001);
}

/// 5 sequences say a word on 4 GPUs: two sums of 5 x 4096 numbers of two bytes in each of 32 layers.
TEST(Iteration, RanksOfAReplicaSumWhatTheyMade) {
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
TEST(Iteration, NewPositionsSeeThoseInTheCache) {
  const sim::IterationTime one = iterate(serving("llama3-8b", "dgx-h100", 1), {2, 7, 100});
  EXPECT_DOUBLE_EQ(part_of(one, "attn.core")->flops.value(), 32.0 * 2 * 7 * 104 * 32 * 128 * 4);
}

/// The part of the queries that a rank has is not the last one: ranks of a split sequence do what one rank does.
TEST(Iteration, QueriesOfASplitSequenceAreNotItsLast) {
  const auto executed = [](const char* cp) {
    const auto ran = run_line(std::string("predict llama3-8b --gpus 8 --seq 32768 --global-batch 8 --json --cp ") + cp);
    const auto answer = nlohmann::json::parse(ran.out);
    return answer.at("hfu").get<double>() * answer.at("step_time_s").get<double>();
  };
  EXPECT_NEAR(executed("4") / executed("1"), 1, 0.01);
}

/// What a form says of any rows is what a Program lowered for them says: bytes, FLOPs, calls.
TEST(Iteration, FormsAreProgramsOfAnyRows) {
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
TEST(Iteration, RowsArePackedIntoOneIteration) {
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
TEST(Iteration, PricesAreRemembered) {
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
TEST(Iteration, ExpertsAreShared) {
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
TEST(Iteration, AllWaitForTheRankWithTheMostExperts) {
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

/// Of 256 experts one token takes 8. Of 64 tokens the first leaves 248 / 256 alone, and the others, which take one with
/// -63 ln(248 / 256) = 2.0002 in the mean, (1 + 0.8 x 2.0002)^-1.25 = 0.3029 of these: they reach 0.7066 x 256 = 180.9,
/// and 222 if all were as likely.
TEST(Iteration, SomeExpertsAreLikedMoreThanOthers) {
  ServingWishes wishes;
  wishes.network = "deepseek-v3", wishes.machine = "hgx-h200", wishes.tp = 8, wishes.weights = "fp8-block";
  const Serving in_parts = *serving_of(wishes);
  const auto bytes = [&](double tokens) {
    return part_of(iterate(in_parts, {tokens, 1, 100}), "expert.up")->bytes.value();
  };
  EXPECT_NEAR(bytes(64) / bytes(1), 180.9 / 8, 0.4);
}

/// Experts in parts on all ranks of eight groups: their tokens are gathered, 7 x 16 rows and their gates, and not the
/// two rows that each becomes.
TEST(Iteration, PartsOfExpertsSeeTheTokensOfAllGroups) {
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
TEST(Iteration, GuessedWordsAreTriedTogether) {
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
TEST(Iteration, PredictionLayersRunForGuessesAlone) {
  const sim::IterationTime words = iterate(serving("deepseek-v3", "hgx-h200", 8), {1, 1, 100});
  EXPECT_EQ(part_of(words, "head")->calls, 1);
  EXPECT_EQ(part_of(words, "attn.core")->calls, 61);
}

/// Rows that are exchanged cost what the engine's kernels for it took, where they were timed.
TEST(Iteration, ExchangesHaveTheEnginesKernels) {
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
TEST(Iteration, BatchesAreOfTheReplica) {
  ServingWishes wishes;
  wishes.network = "mixtral-8x7b", wishes.machine = "dgx-h100", wishes.attention_dp = 8, wishes.ep = 8;
  const Serving s = *serving_of(wishes);
  EXPECT_EQ(part_of(decode(s, 64, 1000).shown, "attn.qkv")->shape, "8 x 6144 x 4096");
  EXPECT_EQ(part_of(decode(s, 65, 1000).shown, "attn.qkv")->shape, "9 x 6144 x 4096") << "the fullest";
  EXPECT_EQ(capacity(s, 1000).sequences % 8, 0);
}

TEST(Iteration, MoreWorkTakesLonger) {
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

/// SGLang plans beside a prompt that the GPU reads: the host is waited for nowhere, and no rounding error says so.
TEST(Iteration, AHostThatNobodyWaitsForTakesNothing) {
  for (const char* network : {"llama3-8b", "llama3-70b", "gpt-oss-20b"}) {
    const Serving s = serving(network, "dgx-h100", 4, "sglang");
    for (const double positions : {512, 1024, 2048, 4096})
      EXPECT_EQ(iterate(s, {1, positions, 0}).host.value(), 0) << network << " " << positions;
  }
  EXPECT_GT(iterate(serving("llama3-8b", "dgx-h100", 4), {1, 512, 0}).host.value(), 1e-4) << "vLLM prepares before it";
}

/// Of 8,192 positions and one more, the long piece is shown.
TEST(Iteration, TheLongestPieceOfAPromptIsShown) {
  const Serving s = serving("llama3-8b", "dgx-h100", 1);
  const Phase pieces = prefill(s, 1, 8193, 0);
  ASSERT_EQ(pieces.iterations.size(), 2U);
  EXPECT_EQ(pieces.shown_rows[0].positions, 8192);
  EXPECT_THAT(run_line("infer llama3-8b --prompt 8193").out, HasSubstr("One of 2 iterations, the longest"));
}

}  // namespace
}  // namespace stepcast::infer
