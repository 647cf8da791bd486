// Lengths and arrivals as laws, and traces as files.
#include "sim/serving/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::sim {
namespace {

using testing::HasSubstr;

TEST(Requests, LengthsAreUniformFromAShareOfTheNominalOne) {
  const Lengths lengths = lengths_of(1000, 0.8);
  EXPECT_EQ(lengths.low, 800);
  EXPECT_EQ(lengths.high, 1000);
  EXPECT_EQ(lengths_of(1000, 1).low, 1000);
  EXPECT_EQ(lengths_of(1, 0).low, 1) << "never none";
  const auto requests = requests_of({.count = 20'000, .prompts = lengths, .outputs = {1, 3}, .seed = 7});
  double prompts = 0;
  int of_two = 0;
  for (const ServingRequest& request : requests) {
    ASSERT_GE(request.prompt, 800);
    ASSERT_LE(request.prompt, 1000);
    prompts += static_cast<double>(request.prompt);
    of_two += request.output == 2 ? 1 : 0;
  }
  EXPECT_NEAR(prompts / 20'000, 900, 2);
  EXPECT_NEAR(of_two, 20'000 / 3, 300);
}

TEST(Requests, TheSameSeedGivesTheSame) {
  const RequestLaw law{.count = 50, .prompts = {1, 1'000'000}, .outputs = {1, 9}, .seed = 3};
  RequestLaw other = law;
  other.seed = 4;
  const auto once = requests_of(law), again = requests_of(law), apart = requests_of(other);
  int same = 0;
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].prompt, again[i].prompt);
    same += once[i].prompt == apart[i].prompt ? 1 : 0;
  }
  EXPECT_LT(same, 3);
}

/// Times between arrivals of a gamma law of shape k at a rate r have a mean of 1 / r and a variance of 1 / (k r^2).
TEST(Requests, ArrivalsFollowTheirGammaLaw) {
  for (const double shape : {0.5, 1.0, 4.0}) {
    std::vector<ServingRequest> requests(100'000);
    let_arrive(requests, 2, shape, 1);
    double sum = 0, squares = 0;
    Seconds last;
    for (const ServingRequest& request : requests) {
      const double gap = (request.arrival - last).value();
      last = request.arrival;
      sum += gap, squares += gap * gap;
    }
    const double mean = sum / 1e5, variance = squares / 1e5 - mean * mean;
    EXPECT_NEAR(mean, 0.5, 0.01) << shape;
    EXPECT_NEAR(variance, 0.25 / shape, 0.02 / shape) << shape;
  }
}

TEST(Requests, TracesAreReadByTheirHeader) {
  const auto read = read_requests("output, prompt,arrival_s\n5,100,0\n\n7,200,1.5\n", "t.csv");
  ASSERT_TRUE(read) << to_text(read.error());
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ(read->at(1).arrival, Seconds(1.5));
  EXPECT_EQ(read->at(1).prompt, 200);
  EXPECT_EQ(read->at(1).output, 7);
}

TEST(Requests, TracesNameLineAndColumnOfWhatIsWrong) {
  const auto error = [](const std::string& text) { return to_text(read_requests(text, "t.csv").error()); };
  const std::string head = "arrival_s,prompt,output,cached\n";
  EXPECT_THAT(error(head + "0,10,5,0\n1,ten,5,0\n"), HasSubstr("t.csv:3:2: prompt is 'ten'"));
  EXPECT_THAT(error(head + "0,10,0,0\n"), HasSubstr("t.csv:2:3: output is '0'"));
  EXPECT_THAT(error(head + "0,10,1.5,0\n"), HasSubstr("a whole number"));
  EXPECT_THAT(error(head + "nan,10,1,0\n"), HasSubstr("t.csv:2:1"));
  EXPECT_THAT(
      error(head + "0,10\n"), HasSubstr("t.csv:2:3: no output in a row of 2 cells (4 cells, as in the header)"));
  EXPECT_THAT(error(head + "0,10,1,0,7\n"), HasSubstr("t.csv:2:5: a cell '7' behind the last column"));
  EXPECT_THAT(error(head + "0,10,1,10\n"), HasSubstr("t.csv:2:4: 10 of 10 positions of a prompt are cached"));
  EXPECT_THAT(error(head + "2,10,1,0\n1,10,1,0\n"), HasSubstr("t.csv:3:1: an arrival at 1 s behind one at 2 s"));
  EXPECT_THAT(error("arrival_s,prompt\n0,1\n"), HasSubstr("no column 'output'"));
  EXPECT_THAT(error("arrival_s,prompt,output,isl\n"), HasSubstr("t.csv:1:4: unknown column 'isl'"));
  EXPECT_THAT(error("prompt,prompt\n"), HasSubstr("a second column 'prompt'"));
  EXPECT_THAT(error(head), HasSubstr("no requests"));
}

}  // namespace
}  // namespace stepcast::sim
