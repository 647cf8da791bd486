// The command under load, and its table of iterations against the iterations themselves.
#include <cmath>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/infer/records/records.h"
#include "studies/infer/served_load.h"
#include "studies/serve/targets.h"
#include "tests/studies/run_program.h"

namespace stepcast::serve {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing_program::own_path;
using testing_program::run_line;

json served(const std::string& load) {
  const auto ran = run_line("serve llama3-8b --machine dgx-h100 --json " + load);
  EXPECT_EQ(ran.code, 0) << ran.err;
  return json::parse(ran.out, nullptr, false);
}

infer::Serving serving(const std::string& network, std::int64_t tp, const char* engine = "vllm") {
  infer::ServingWishes wishes;
  wishes.network = network, wishes.machine = "dgx-h100", wishes.engine = engine, wishes.tp = tp;
  auto made = infer::serving_of(wishes);
  EXPECT_TRUE(made) << to_text(made.error());
  return std::move(*made);
}

/// Between its points the table is within two hundredths of the iteration that it stands for: tiles make steps.
TEST(Serve, TheTableIsTheIteration) {
  for (const char* network : {"llama3-8b", "mixtral-8x7b", "deepseek-v2-lite", "gpt-oss-20b"}) {
    const infer::Serving s = serving(network, network == std::string("gpt-oss-20b") ? 1 : 4);
    infer::ServedTimes times(s);
    for (const sim::Batch& batch :
        {sim::Batch{7, 7 * 901.0, 0, 0, 0}, sim::Batch{93, 93 * 3333.0, 0, 0, 0}, sim::Batch{0, 0, 1, 777, 777 * 388.5},
            sim::Batch{61, 61 * 1500.0, 2, 1777, 1777 * 444.25}, sim::Batch{64, 64 * 1500.0, 1, 1000, 1000 * 5500.0}}) {
      const double exact = times.whole(batch).time.value();
      EXPECT_NEAR(times.time(batch).value() / exact, 1, 0.02) << network << " " << batch.words << " " << batch.prompts;
    }
  }
}

/// Two guesses of which 0.8 and then 0.64 are right: an iteration with both says 2.44 tokens, alone and among others.
/// With none right each costs a whole iteration, and the first token comes as without.
TEST(Serve, GuessedTokensAreSaidTogether) {
  const auto load = [](const char* flags) {
    return served(std::string("--input 1000 --output 201 --concurrency 8 --requests 16 ") + flags);
  };
  infer::ServingWishes wishes;
  wishes.network = "llama3-8b", wishes.machine = "dgx-h100", wishes.draft = 2;
  const infer::Serving s = *infer::serving_of(wishes);
  const json good = load("--draft 2 --accepted 0.8"), none = load("--draft 2 --accepted 0"), plain = load("");
  const auto word = [](const json& answer) { return answer["tpot"]["mean_s"].get<double>(); };
  const double alone =
      served("--input 1000 --output 201 --concurrency 1 --requests 2 --draft 2 --accepted 0.8")["tpot"]["mean_s"];
  EXPECT_NEAR(alone / (infer::decode(s, 1, 1100, {0.8}).time.value() / 2.44), 1, 0.02);
  EXPECT_LT(word(good), word(plain));
  EXPECT_GT(word(none), word(plain));
  EXPECT_LT(word(good) * 2, word(none));
  EXPECT_NEAR(good["tokens_per_iteration"], 2.44, 1e-9);
  for (const json& answer : {good, plain}) EXPECT_FALSE(answer.contains("requests_per_s_sent")) << "users come again";
  const auto refused = [](const char* flags) {
    return run_line(std::string("serve llama3-8b --input 100 --output 50 --concurrency 4 ") + flags).err;
  };
  EXPECT_THAT(refused("--draft 2"), HasSubstr("how many of the guesses"));
  EXPECT_THAT(refused("--accepted 0.5"), HasSubstr("no tokens are guessed"));
  EXPECT_THAT(refused("--draft 2 --accepted 0.5 --emit vllm"), HasSubstr("is not written by --emit"));
}

/// A benchmark of 100 prompts that come again finds them in the cache where the engine keeps what it read.
TEST(Serve, RepeatedPromptsAreReadOnce) {
  infer::InferenceRecord record;
  record.id = "one", record.phase = "serving", record.model = "llama3-8b", record.gpu = "H200-SXM-141GB";
  record.engine = "vllm", record.version = "0.12.0", record.weights = "fp8";
  record.prompt = 1000, record.output = 100, record.concurrency = record.batch = 50;
  record.measured = {{"tpot_ms", 10}};
  const double each = infer::forecast(record)->predicted;
  record.upstream = "data/h200_sxm/vllm/0.12.0/nvidia_Llama-3.1-8B-Instruct-FP8.csv; silicon_concurrency=50";
  const double once = infer::forecast(record)->predicted;
  EXPECT_LT(once, 0.8 * each) << "of 500 prompts 400 are there";
  record.concurrency = record.batch = 10;
  const double few = infer::forecast(record)->predicted;
  record.upstream.clear();
  EXPECT_EQ(infer::forecast(record)->predicted, few) << "no prompt of 100 comes twice";
}

/// One user alone: each word is a word's iteration of infer, and TTFT its prefill and the way to the scheduler.
TEST(Serve, OneUserHasTheIterationsOfInfer) {
  const json one = served("--input 1000 --output 101 --concurrency 1 --requests 3");
  const infer::Serving s = serving("llama3-8b", 1);
  const double word = infer::decode(s, 1, 1050).time.value(), prompt = infer::prefill(s, 1, 1000, 0).time.value();
  EXPECT_NEAR(one["tpot"]["mean_s"].get<double>() / word, 1, 0.01);
  EXPECT_NEAR((one["ttft"]["mean_s"].get<double>() - s.engine.host_per_request.value()) / prompt, 1, 0.02);
  EXPECT_NEAR(one["tokens_per_s_per_user"].get<double>() * one["tpot"]["mean_s"].get<double>(), 1, 1e-9);
  const double busy = one["time"]["prefill"].get<double>() + one["time"]["decode"].get<double>();
  EXPECT_NEAR(busy * one["span_s"].get<double>() + 3 * s.engine.host_per_request.value(), one["span_s"], 1e-9);
}

TEST(Serve, TheSameSeedGivesTheSameText) {
  const std::string load =
      "serve llama3-8b --input 500 --output 50 --shortest 0.5 --rate 5 --requests 100 --json --seed ";
  EXPECT_EQ(run_line(load + "1").out, run_line(load + "1").out);
  EXPECT_NE(run_line(load + "1").out, run_line(load + "2").out);
}

TEST(Serve, MoreUsersHaveMoreThroughputAndSlowerWords) {
  double rate = 0, word = 0;
  for (const char* users : {"1", "4", "16", "64"}) {
    const json load = served(std::string("--input 512 --output 64 --concurrency ") + users);
    EXPECT_GT(load["tokens_per_s"], rate) << users;
    EXPECT_GT(load["tpot"]["mean_s"], word) << users;
    rate = load["tokens_per_s"], word = load["tpot"]["mean_s"];
    EXPECT_LE(rate, 1.02 * load["saturation"]["tokens_per_s"].get<double>()) << users;
  }
}

/// A way of exchanging what the split does not exchange is refused, in the pool of prompts as in the other.
TEST(Serve, WaysOfExchangeWithoutOneAreRefused) {
  const auto said = [](const std::string& flags) {
    return run_line("serve mixtral-8x7b --input 100 --output 10 --concurrency 2 " + flags).err;
  };
  EXPECT_THAT(said("--gpus 4 --cp-way ring"), HasSubstr("prompts are not split by position"));
  EXPECT_THAT(said("--gpus 4 --exchange rows"), HasSubstr("all ranks see the same tokens"));
  EXPECT_EQ(said("--tp 2 --dp-attention 2 --ep 4 --exchange rows"), "");
  EXPECT_EQ(
      said("--gpus 4 --prefill-gpus 4 --prefill-tp 2 --prefill-dp-attention 2 --prefill-ep 4 --exchange rows"), "");
}

/// Requests of one token have no time between tokens; one user, one request a second and thousands are written as words
/// and whole numbers.
TEST(Serve, TheTextLeavesOutWhatIsNotAndWritesNumbersOut) {
  const auto text = [](const std::string& load) { return run_line("serve llama3-8b --machine dgx-h100 " + load).out; };
  const std::string short_ones = text("--input 10 --output 1 --rate 1234");
  EXPECT_THAT(short_ones, HasSubstr("\n1,234 requests/s, Poisson"));
  EXPECT_THAT(short_ones, HasSubstr("sequences at once\n"));
  for (const char* odd : {"a token every", "e+0"}) EXPECT_THAT(short_ones, testing::Not(HasSubstr(odd)));
  EXPECT_THAT(text("--input 10 --output 2 --concurrency 1 --requests 2"), HasSubstr("\n1 user, with one request"));
  EXPECT_THAT(text("--input 10 --output 2 --rate 1 --requests 2"), HasSubstr("\n1 request/s, Poisson"));
}

/// Of so many long outputs some give way to others: with fewer at once the same servers do more, and none does. A cache
/// of 1,401,040 positions holds 684 of 2,048 to their ends.
TEST(Serve, AFullCacheIsNotCalledTheMostWhereSequencesGiveWay) {
  const std::string load = "serve llama3-70b --machine dgx-h100 --gpus 8 --input 1024 --output 1024 --requests 1400 ";
  const auto of = [&](const std::string& more) {
    return json::parse(run_line(load + more + " --json").out, nullptr, false)["saturation"];
  };
  const json full = of("--rate 1"), fewer = of("--rate 1 --most-sequences 684");
  EXPECT_GT(full["preempted"], 0);
  EXPECT_EQ(fewer["preempted"], 0);
  EXPECT_NEAR(full["requests_per_s"].get<double>() / fewer["requests_per_s"].get<double>(), 1, 0.01);
  EXPECT_LT(full["while_others_wait_requests_per_s"], full["requests_per_s"]);
  EXPECT_THAT(run_line(load + "--rate 1").out, HasSubstr("--most-sequences 684 avoids it"));
  const std::string beyond = run_line(load + "--rate 60").out;
  EXPECT_THAT(beyond, HasSubstr("are served while others wait"));
  EXPECT_THAT(beyond, HasSubstr("--most-sequences 684 serves"));
}

/// Beyond saturation no latency is a number, and the text says what grows.
TEST(Serve, LoadsBeyondSaturationHaveNoLatency) {
  const json below = served("--input 512 --output 64 --rate 4 --requests 200");
  const double most = below["saturation"]["requests_per_s"];
  EXPECT_FALSE(below["saturated"].get<bool>());
  EXPECT_GT(most, 4);
  const std::string rate = fmt::format("{:.3f}", 1.5 * most);
  const json above = served("--input 512 --output 64 --rate " + rate);
  EXPECT_TRUE(above["saturated"].get<bool>());
  EXPECT_TRUE(above["ttft"].is_null());
  EXPECT_NEAR(above["saturation"]["queue_growth_per_s"].get<double>() / (0.5 * most), 1, 0.01);
  const auto text = run_line("serve llama3-8b --machine dgx-h100 --input 512 --output 64 --rate " + rate);
  EXPECT_THAT(text.out, HasSubstr("grow without bound"));
  EXPECT_THAT(text.out, testing::Not(HasSubstr("p99")));
}

/// A little above saturation there are figures, of a start: the capacity is some percent off. They say so.
TEST(Serve, ARateAboveSaturationNeverPassesAsSteady) {
  const double most = served("--input 512 --output 64 --rate 4 --requests 200")["saturation"]["requests_per_s"];
  for (const double share : {1.001, 1.02, 1.04}) {
    const std::string rate = fmt::format("{:.4f}", share * most);
    const auto ran =
        run_line("serve llama3-8b --machine dgx-h100 --input 512 --output 64 --requests 300 --rate " + rate);
    EXPECT_THAT(ran.out, HasSubstr("above saturation and does not last")) << share;
  }
  const auto below = run_line(fmt::format(
      "serve llama3-8b --machine dgx-h100 --input 512 --output 64 --requests 300 --rate {:.4f}", 0.99 * most));
  EXPECT_THAT(below.out, testing::Not(HasSubstr("does not last")));
}

/// 350 users of 1,024 and 256 tokens: the cache holds more, and none waits.
TEST(Serve, WhatIsServedFasterThanSaturationSaysSo) {
  const std::string load = "serve llama3-8b --input 1024 --output 256 --concurrency ";
  EXPECT_THAT(run_line(load + "350 --requests 3500").out, HasSubstr("is served faster"));
  EXPECT_THAT(run_line(load + "8 --requests 80").out, testing::Not(HasSubstr("is served faster")));
}

/// GPUs of several engines: the hint says how many there are.
TEST(Serve, GpusOfSeveralEnginesAskForReplicas) {
  const std::string load = " --input 1024 --output 64 --concurrency 4";
  const auto two = run_line("serve llama3-70b --gpus 8 --tp 4" + load);
  EXPECT_EQ(two.code, 2);
  EXPECT_THAT(two.err, AllOf(HasSubstr("8 GPUs for an engine of 4"), HasSubstr("--replicas 2")));
  EXPECT_THAT(run_line("serve llama3-8b --gpus 8 --replicas 2 --tp 2" + load).err,
      AllOf(HasSubstr("8 GPUs for 2 engines of 2"), HasSubstr("--replicas 4")));
  EXPECT_EQ(run_line("serve llama3-70b --gpus 8 --tp 4 --replicas 2" + load).code, 0);
}

TEST(Serve, RequestsOfOneWordHaveNothingBetweenWords) {
  const json one = served("--input 512 --output 1 --concurrency 4");
  EXPECT_TRUE(one["tpot"].is_null());
  EXPECT_TRUE(one["inter_token"].is_null());
  EXPECT_FALSE(one.contains("tokens_per_s_per_user"));
  EXPECT_GT(one["ttft"]["mean_s"].get<double>(), 0);
  const auto text = run_line("serve llama3-8b --machine dgx-h100 --input 512 --output 1 --concurrency 4");
  EXPECT_THAT(text.out, HasSubstr("no request has a second token"));
  EXPECT_THAT(text.out, testing::Not(HasSubstr("tokens/s/user")));
}

/// 500 requests at once, and one alone: a trace that ends is always served.
TEST(Serve, TracesThatEndAreServed) {
  const std::string file = own_path("at_once.csv");
  const auto trace = [&](int rows) {
    std::ofstream out(file);
    out << "arrival_s,prompt,output\n";
    for (int i = 0; i < rows; ++i) out << "0,512,64\n";
    out.close();
    return json::parse(run_line("serve llama3-8b --machine dgx-h100 --json --trace " + file).out);
  };
  EXPECT_EQ(trace(1)["requests_per_s_sent"], 0);
  const json many = trace(500);
  EXPECT_FALSE(many["saturated"].get<bool>());
  EXPECT_GT(many["tokens_per_s"].get<double>(), 1000);
}

/// 64 replicas have the load of one each: what one user sees is the same.
TEST(Serve, ManyReplicasAreMeasuredAsLongAsOne) {
  const json one = served("--input 512 --output 64 --rate 10"),
             many = served("--input 512 --output 64 --rate 160 --replicas 16");
  EXPECT_NEAR(many["tpot"]["mean_s"].get<double>() / one["tpot"]["mean_s"].get<double>(), 1, 0.1);
}

TEST(Serve, ReplicasShareTheUsers) {
  const json one = served("--input 512 --output 64 --concurrency 8"),
             two = served("--input 512 --output 64 --concurrency 16 --replicas 2 --gpus 2");
  EXPECT_EQ(two["gpus"], 2);
  EXPECT_NEAR(two["tokens_per_s"].get<double>() / one["tokens_per_s"].get<double>(), 2, 0.02);
}

TEST(Serve, TracesSayWhoComes) {
  const std::string file = own_path("trace.csv");
  std::ofstream(file) << "arrival_s,prompt,output\n0,100,5\n2,100,5\n10,100,5\n";
  const json load = served("--trace " + file + " --slo e2e<10s,ttft<10ms");
  EXPECT_EQ(load["requests"], 3);
  EXPECT_EQ(load["goodput"], 0) << "the way to the scheduler alone is longer";
  EXPECT_GT(load["time"]["idle"], 0.8);
  std::ofstream(file) << "arrival_s,prompt,output\n0,100,5\n2,x,5\n";
  const auto ran = run_line("serve llama3-8b --trace " + file);
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr(":3:2: prompt is 'x'"));
}

TEST(Serve, TargetsAreReadAndHeld) {
  const auto targets = read_targets("ttft<500ms, tpot<30ms", "--slo");
  ASSERT_TRUE(targets) << to_text(targets.error());
  const auto request = [](double first, double last) {
    return sim::Served{Seconds(0), Seconds(first), Seconds(last), 10, 11};
  };
  EXPECT_TRUE(meets(request(0.4, 0.6), *targets));
  EXPECT_FALSE(meets(request(0.6, 0.8), *targets));
  EXPECT_FALSE(meets(request(0.4, 0.8), *targets)) << "40 ms a word";
  for (const char* wrong : {"", "itl<5ms", "ttft", "ttft<fast", "ttft<1s ttft<2s"})
    EXPECT_FALSE(read_targets(wrong, "--slo")) << wrong;
}

TEST(Serve, WhatCannotBeIsSaid) {
  const auto error = [](const std::string& load) {
    const auto ran = run_line("serve llama3-8b --machine dgx-h100 " + load);
    EXPECT_EQ(ran.code, 2) << load;
    return ran.err;
  };
  const std::string lengths = "--input 512 --output 64 ";
  EXPECT_THAT(error(lengths), HasSubstr("when requests come is not said"));
  EXPECT_THAT(error(lengths + "--rate 1 --concurrency 2"), HasSubstr("more than one way"));
  EXPECT_THAT(error("--concurrency 2 --input 5"), HasSubstr("how long requests are is not said"));
  EXPECT_THAT(error(lengths + "--rate -1"), HasSubstr("--rate"));
  EXPECT_THAT(error("--input 100 --output 400000 --concurrency 50"), HasSubstr("iterations, and each is simulated"));
  EXPECT_THAT(error(lengths + "--concurrency 2 --burstiness 2"), HasSubstr("do not come at a rate"));
  EXPECT_THAT(error(lengths + "--concurrency 2 --shared 512"), HasSubstr("at most 511"));
  EXPECT_THAT(error(lengths + "--concurrency 2 --requests 10 --warm-up 10"), HasSubstr("10 of 10 requests"));
  EXPECT_THAT(error(lengths + "--concurrency 2 --replicas 2 --gpus 3"), HasSubstr("3 GPUs for 2 replicas"));
  EXPECT_THAT(error(lengths + "--concurrency 64 --requests 10"), HasSubstr("10 requests of 64 users"));
  EXPECT_THAT(error(lengths + "--concurrency 2 --slo fast"), HasSubstr("no target"));
  EXPECT_THAT(error(lengths + "--concurrency 1000000"), HasSubstr("10000000 requests, each of which is simulated"));
  EXPECT_THAT(error("--input 512 --output 5000 --concurrency 1 --requests 100000"), HasSubstr("5e+08 iterations"));
  EXPECT_THAT(error("--input 512 --output 5000 --rate 0.00001 --requests 100000"), HasSubstr("iterations, and each"));
  EXPECT_THAT(error("--input 5000000 --output 64 --concurrency 1"), HasSubstr("blocks of 16"));
  EXPECT_THAT(error("--trace no.csv --input 5"), HasSubstr("beside a trace"));
  EXPECT_THAT(error(lengths + "--rate 1 --requests 10 --replicas 4000000 --gpus 4000000"),
      HasSubstr("4000000 replicas of requests that come at their own times"));
}

/// A user alone reaches one of four million replicas.
TEST(Serve, MillionsOfReplicasEndUnderAFewUsers) {
  EXPECT_EQ(served("--input 512 --output 8 --concurrency 1 --replicas 4000000 --gpus 4000000")["gpus"], 4'000'000);
}

/// Two stages halve what an iteration takes of each, and as many are under way: a user alone waits as long for a word.
TEST(Serve, StagesServeSeveralIterationsAtOnce) {
  const std::string lengths = "--input 512 --output 64 ";
  const json one = served(lengths + "--concurrency 1"), staged = served(lengths + "--concurrency 1 --pp 2"),
             many = served(lengths + "--concurrency 128"), many_staged = served(lengths + "--concurrency 128 --pp 2");
  EXPECT_GE(staged["tpot"]["mean_s"].get<double>(), one["tpot"]["mean_s"].get<double>());
  const double more =
      many_staged["saturation"]["tokens_per_s"].get<double>() / many["saturation"]["tokens_per_s"].get<double>();
  EXPECT_GT(more, 1.5);
  EXPECT_GT(many_staged["tokens_per_s"].get<double>(), 1.3 * many["tokens_per_s"].get<double>());
  EXPECT_LE(many_staged["tokens_per_s"].get<double>(), 2 * many["tokens_per_s"].get<double>());
  const auto groups =
      run_line("serve mixtral-8x7b --machine dgx-h100 --pp 2 --dp-attention 2 --concurrency 2 " + lengths);
  EXPECT_EQ(groups.code, 2);
  EXPECT_THAT(groups.err, HasSubstr("on several stages of groups"));
}

/// Records of loads: as serve forecasts them. What a record does not tell in full is refused.
TEST(Serve, MeasuredLoadsAreForecast) {
  const auto record = [](const std::string& more) {
    return "{\"id\": \"a\", \"phase\": \"serving\", \"model\": {\"id\": \"llama3-8b\"}, \"hardware\": {\"gpu\": "
           "\"H100-SXM-80GB\"}, \"software\": {\"name\": \"vllm\", \"version\": \"0.12.0\"}, \"parallel\": {\"tp\": "
           "1}, "
           "\"precision\": {\"weights\": \"bf16\", \"kv_cache\": \"bf16\"}, \"workload\": {\"isl\": 512, \"osl\": 64, "
           "\"dataset\": \"synthetic\", " +
           more + "}";
  };
  const auto made = [](const std::string& text) { return infer::forecast(infer::read_inference(text, "r")->front()); };
  const auto load = made(record("\"concurrency\": 16}, \"measured\": {\"tpot_ms\": 10}"));
  ASSERT_TRUE(load) << to_text(load.error());
  const json as_served = served("--input 512 --output 64 --concurrency 16");
  EXPECT_NEAR(load->predicted / (1e3 * as_served["tpot"]["mean_s"].get<double>()), 1, 1e-6);
  double seconds = 0;
  for (const infer::Repeated& iteration : load->phase.iterations)
    seconds += iteration.times * sim::elapsed(iteration.sums, serving("llama3-8b", 1).engine,
                                     *find_tuning(serving("llama3-8b", 1).engine, "hopper", "bf16"))
                                     .value();
  EXPECT_NEAR(seconds / load->phase.time.value(), 1, 0.005) << "what fits see";
  const auto why = [&](const std::string& more) { return made(record(more)).error().what; };
  EXPECT_THAT(
      why("\"spec_decoding\": \"MTP 3\", \"concurrency\": 16}, \"measured\": {\"tpot_ms\": 10}"), HasSubstr("guessed"));
  EXPECT_THAT(why("\"batch\": null}, \"measured\": {\"tpot_ms\": 10}"), HasSubstr("a load that is not told"));
}

}  // namespace
}  // namespace stepcast::serve
