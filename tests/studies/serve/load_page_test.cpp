// The page of a load: what it draws of which loads, and that it is written once.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/run_program.h"

namespace stepcast::serve {
namespace {

using testing::HasSubstr;
using testing_program::own_path;
using testing_program::run_line;

std::string page_of(const std::string& load, const std::string& name) {
  const std::string file = own_path(name);
  std::filesystem::remove(file);
  const auto ran = run_line("serve llama3-8b --machine dgx-h100 " + load + " --html " + file);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("Saturation")) << "the text is there beside the page";
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(LoadPage, HasLatenciesOverLoadAndTheCacheOverTime) {
  const std::string closed = page_of("--input 256 --output 32 --concurrency 8", "closed.html");
  for (const char* part : {"Latencies over load", "TTFT p99", "TPOT p50", "1 user: TTFT p50", "32 users: TPOT p99",
           "cache over time", "Iterations that prefill", "Iterations that only decode", "waits for"})
    EXPECT_THAT(closed, HasSubstr(part));
  const std::string open = page_of("--input 256 --output 32 --rate 5 --requests 100", "open.html");
  EXPECT_THAT(open, HasSubstr("5 requests/s: TTFT p90"));
}

TEST(LoadPage, OfTwoPoolsEachHasItsCacheAndItsIterations) {
  const std::string page =
      page_of("--input 256 --output 32 --concurrency 8 --prefill-gpus 2 --prefill-replicas 2", "pools.html");
  for (const char* part : {"Prefill pool: cache over time", "Decode pool: cache over time", "Prefill pool: requests",
           "Iterations that prefill", "Iterations that only decode", "Latencies over load", "2 of prompts"})
    EXPECT_THAT(page, HasSubstr(part));
  EXPECT_THAT(page_of("--input 256 --output 32 --concurrency 8", "one.html"), testing::Not(HasSubstr("Decode pool")));
}

TEST(LoadPage, TracesHaveOneLoadAndOverloadsNoTime) {
  const std::string file = own_path("trace.csv");
  std::ofstream(file) << "arrival_s,prompt,output\n0,100,5\n2,100,5\n";
  EXPECT_THAT(page_of("--trace " + file, "trace.html"), HasSubstr("A trace has one load"));
  const std::string over = own_path("over.html");
  std::filesystem::remove(over);
  const auto ran = run_line("serve llama3-8b --input 256 --output 32 --rate 1000 --requests 100 --html " + over);
  EXPECT_EQ(ran.code, 0) << ran.err;
  std::ifstream in(over);
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(page, HasSubstr("Beyond saturation"));
  EXPECT_THAT(page, testing::Not(HasSubstr("cache over time")));
  EXPECT_EQ(run_line("serve llama3-8b --input 256 --output 32 --concurrency 2 --html page.txt").code, 2);
}

}  // namespace
}  // namespace stepcast::serve
