// An iteration in time: slices in order, the trace and the page that show them.
#include <cstdio>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "studies/infer/phases.h"
#include "studies/infer/serving.h"
#include "tests/studies/run_program.h"

namespace stepcast::infer {
namespace {

using testing::HasSubstr;
using testing_program::run_line;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Slices follow each other, one per call, and come to what time() says of kernels and moves.
TEST(IterationPictures, SlicesAreTheIterationInOrder) {
  for (const auto& [network, pp] : {std::pair{"llama3-8b", 1}, std::pair{"llama3-8b", 4}, std::pair{"gpt-oss-20b", 1},
           std::pair{"deepseek-v4-flash", 1}}) {
    ServingWishes wishes;
    wishes.network = network, wishes.machine = "hgx-h200", wishes.tp = 2, wishes.pp = pp;
    const Serving serving = *serving_of(wishes);
    const ServingCost cost(serving);
    const sim::Rows rows[] = {{8, 1, 1000}, {1, 300, 0}};
    const sim::IterationTime whole = cost.time(rows);
    const auto slices = cost.in_order(rows, whole);
    Seconds kernels, moves, now;
    for (const sim::IterationSlice& slice : slices) {
      EXPECT_NEAR((slice.start - now).value(), 0, 1e-12);
      now = slice.start + slice.time;
      (slice.is_move ? moves : kernels) += slice.time;
    }
    EXPECT_NEAR(kernels / whole.kernels, 1, 1e-9) << network;
    EXPECT_NEAR(moves / whole.moves, 1, 1e-9) << network;
    double calls = 0;
    for (const sim::IterationPart& part : whole.parts) calls += part.calls;
    EXPECT_EQ(static_cast<double>(slices.size()), calls) << network;
    EXPECT_EQ(slices.front().label, "embedding");
    EXPECT_EQ(slices.back().label, "chosen all_reduce");
  }
}

/// Of an engine with graphs, and of one whose launches and kernels take turns.
void expect_trace_of_all(const std::string& words) {
  const std::string path = testing::TempDir() + "iteration.json";
  std::remove(path.c_str());
  const auto ran = run_line("infer " + words + " --tp 8 --batch 64 --json --trace " + path);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto answer = nlohmann::json::parse(ran.out), trace = nlohmann::json::parse(text_of(path));
  double of_thread[3] = {}, end = 0;
  int cores = 0;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    of_thread[event.at("tid").get<int>()] += event.at("dur").get<double>() * 1e-6;
    end = std::max(end, (event.at("ts").get<double>() + event.at("dur").get<double>()) * 1e-6);
    cores += event.at("name") == "attn.core";
  }
  EXPECT_NEAR(of_thread[0], answer.at("host_s").get<double>(), 1e-8);
  EXPECT_NEAR(of_thread[1], answer.at("kernels_s").get<double>(), 1e-6);
  EXPECT_NEAR(of_thread[2], answer.at("moves_s").get<double>(), 1e-6);
  EXPECT_NEAR(end, answer.at("time_s").get<double>(), 1e-6);
  EXPECT_EQ(cores, 80);
}
TEST(IterationPictures, TheTraceHoldsHostKernelsAndCollectives) {
  expect_trace_of_all("llama3-70b --context 8192");
  expect_trace_of_all("llama2-70b --context 2048 --engine vllm-2023");
}

/// Two guesses stand before an iteration of words, and none before prompts, which is all that one output token needs.
TEST(IterationPictures, TheTraceHasTheGuessesThatRan) {
  const auto drafted = [](const std::string& output) {
    const std::string path = testing::TempDir() + "guesses-" + output + ".json";
    std::remove(path.c_str());
    const auto ran =
        run_line("infer llama3-8b --prompt 1000 --draft 2 --accepted 0.5 --output " + output + " --trace " + path);
    EXPECT_EQ(ran.code, 0) << ran.err;
    int cores = 0;
    const auto trace = nlohmann::json::parse(text_of(path));
    for (const auto& event : trace.at("traceEvents"))
      cores += event.at("ph") == "X" && event.at("name") == "draft attn.core";
    return cores;
  };
  EXPECT_EQ(drafted("1"), 0);
  EXPECT_EQ(drafted("100"), 2) << "a layer of its own, twice";
}

TEST(IterationPictures, ThePageHasAllOfIt) {
  const std::string path = testing::TempDir() + "iteration.html";
  std::remove(path.c_str());
  const std::string line = "infer llama3-70b --tp 8 --context 8192 --batch 64 --html " + path;
  ASSERT_EQ(run_line(line).code, 0);
  const std::string page = text_of(path);
  for (const char* what : {"What binds", "One layer in time", "Kernels and collectives", "Memory", "Roofline",
           "Defaults and assumptions", "attn.core", "171", "tp 8, pp 1"})
    EXPECT_THAT(page, HasSubstr(what));
  EXPECT_THAT(page, testing::Not(HasSubstr("http:")));
  EXPECT_THAT(page, testing::Not(HasSubstr("https:")));
  EXPECT_EQ(run_line(line).code, 0) << "a page of ours is written over";
  std::ofstream(path) << "mine";
  EXPECT_EQ(run_line(line).code, 2) << "another file is not";
  EXPECT_THAT(run_line("infer llama3-70b --prompt 10 --trace a.html --html a.html").err, HasSubstr("--html"));
}

}  // namespace
}  // namespace stepcast::infer
