// Exchanges of experts' rows: the law by hand, which law is taken, and the catalogue against published figures.
#include <gtest/gtest.h>

#include <cmath>

#include "model/catalog.h"
#include "model/profile/exchange_law.h"

namespace stepcast {
namespace {

/// 10 us and 10 ns for each expert; 100 GB/s; a block of at most 100 takes 1 us for a token.
EngineExchange round_exchange() {
  EngineExchange law;
  law.software = "sglang 1";
  law.start = Seconds(10e-6), law.per_expert = Seconds(10e-9), law.per_token = Seconds(1e-6);
  law.most_blocks = 100;
  law.rate = BytesPerSecond(100e9);
  law.most_tokens = 1000;
  return law;
}

ExchangeQuery round_question() {
  return {.tokens = 100, .hidden = 1000, .choices = 8, .experts = 200, .element_bytes = 1, .ranks = 8};
}

TEST(ExchangeLaw, by_hand) {
  const EngineExchange law = round_exchange();
  // 8 choices, one of 8 at home: 7 x 100 x 1000 bytes are 7 us; two experts to each of 100 blocks, a token each: 1 us.
  EXPECT_DOUBLE_EQ(sent_bytes(law, round_question()).value(), 700e3);
  EXPECT_NEAR(exchange_time(law, round_question()).time.value(), (10 + 2 + 7 + 1) * 1e-6, 1e-12);
  EngineExchange soft = law;
  soft.softness = 2;
  EXPECT_NEAR(exchange_time(soft, round_question()).time.value(), (12 + std::sqrt(50)) * 1e-6, 1e-12);
  EngineExchange rows = law;
  rows.per_row_byte = Seconds(1e-9);
  EXPECT_NEAR(exchange_time(rows, round_question()).time.value(), 21e-6, 1e-12);
}

TEST(ExchangeLaw, few_experts_leave_blocks_idle) {
  ExchangeQuery few = round_question();
  few.experts = 8;  // 100 tokens over 8 blocks: 12.5 us
  EXPECT_NEAR(exchange_time(round_exchange(), few).time.value(), (10 + 0.08 + 7 + 12.5) * 1e-6, 1e-12);
}

TEST(ExchangeLaw, rows_that_go_once_to_each_rank) {
  EngineExchange law = round_exchange();
  law.once_per_rank = true;
  ExchangeQuery question = round_question();
  question.ranks = 2, question.choices = 1;  // the other rank with a probability of one half
  EXPECT_DOUBLE_EQ(sent_bytes(law, question).value(), 50e3);
  question.choices = 1000;
  question.experts = 1000;  // surely
  EXPECT_DOUBLE_EQ(sent_bytes(law, question).value(), 100e3);
}

TEST(ExchangeLaw, across_nodes_what_stays_in_a_node_is_not_counted) {
  EngineExchange law = round_exchange();
  law.ranks = 16, law.most_ranks = 64, law.node_ranks = 8;
  ExchangeQuery question = round_question();
  question.ranks = 32, question.node_ranks = 8;
  EXPECT_DOUBLE_EQ(sent_bytes(law, question).value(), 600e3);
  EXPECT_FALSE(exchange_time(law, question).extrapolated);
}

TEST(ExchangeLaw, other_rank_counts_and_more_tokens_are_extrapolated) {
  ExchangeQuery question = round_question();
  EXPECT_FALSE(exchange_time(round_exchange(), question).extrapolated);
  question.tokens = 1001;
  EXPECT_TRUE(exchange_time(round_exchange(), question).extrapolated);
  question.tokens = 100, question.ranks = 10;
  const RatedTime more = exchange_time(round_exchange(), question);
  EXPECT_TRUE(more.extrapolated);
  EXPECT_EQ(more.source, Source::transferred);
}

TEST(ExchangeLaw, the_place_and_the_direction_count_then_the_software_then_the_ranks) {
  Profile profile;
  EngineExchange far = round_exchange(), wide = round_exchange(), other = round_exchange();
  far.ranks = 16, far.most_ranks = 64, far.node_ranks = 8;
  wide.ranks = wide.most_ranks = 32;
  other.software = "vllm 1";
  profile.engine_exchanges = {far, wide, other};
  const auto found = [&](std::string_view software, std::int64_t ranks, std::int64_t node_ranks) {
    ExchangeQuery question = round_question();
    question.ranks = ranks, question.node_ranks = node_ranks;
    const EngineExchange* law = find_exchange(profile, software, ExchangeKernel::low_latency, question);
    return law == nullptr ? -1 : law - profile.engine_exchanges.data();
  };
  EXPECT_EQ(found("sglang", 8, 0), 1);
  EXPECT_EQ(found("vllm", 8, 0), 2);
  EXPECT_EQ(found("", 8, 0), 2);  // the nearest
  EXPECT_EQ(found("trtllm", 32, 0), 1);
  EXPECT_EQ(found("vllm", 32, 8), 0);
  ExchangeQuery back = round_question();
  back.direction = ExchangeDirection::combine;
  EXPECT_EQ(find_exchange(profile, "", ExchangeKernel::low_latency, back), nullptr);
  EXPECT_EQ(find_exchange(profile, "", ExchangeKernel::normal, round_question()), nullptr);
}

TEST(ExchangeLaw, the_catalogue_meets_what_was_published) {
  const Profile& h100 = (*find_row(built_in().profiles, "h100-sxm", "profile"))->whole();
  // DeepEP's page: 128 tokens of 7168 to 8 of 256 experts, H800 with InfiniBand, microseconds.
  for (const auto& [ranks, dispatch, combine] : {std::tuple{16, 118.0, 195.0}, {32, 155.0, 273.0}, {64, 173.0, 314.0},
           {128, 192.0, 369.0}, {256, 194.0, 360.0}}) {
    ExchangeQuery question{.tokens = 128, .hidden = 7168, .choices = 8, .experts = 256, .element_bytes = 1};
    question.ranks = ranks, question.node_ranks = 8;
    const auto time = [&] {
      const EngineExchange* law = find_exchange(h100, "sglang", ExchangeKernel::low_latency, question);
      return law == nullptr ? 0 : exchange_time(*law, question).time.value() * 1e6;
    };
    EXPECT_NEAR(time() / dispatch, 1, 0.06) << ranks;
    question.direction = ExchangeDirection::combine, question.element_bytes = 2;
    EXPECT_NEAR(time() / combine, 1, 0.08) << ranks;
  }
  // Within a node 36.7 us and 67.0 us for the same tokens (ai-dynamo/aiconfigurator 095f58a).
  ExchangeQuery inside{.tokens = 128, .hidden = 7168, .choices = 8, .experts = 256, .element_bytes = 1, .ranks = 8};
  const EngineExchange* law = find_exchange(h100, "sglang", ExchangeKernel::low_latency, inside);
  ASSERT_NE(law, nullptr);
  EXPECT_NEAR(exchange_time(*law, inside).time.value(), 36.7e-6, 4e-6);
}

}  // namespace
}  // namespace stepcast
