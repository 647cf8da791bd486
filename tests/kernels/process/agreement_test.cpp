#include "kernels/process/agreement.h"

#include <array>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/meeting_port.h"

namespace stepcast::kernels {
namespace {

using Answer = Expected<std::string>;
using Agreed = Expected<std::vector<std::string>>;

/// Both processes' answers put together, as each of them sees it.
std::array<Agreed, 2> agreed_by_two(const std::array<Answer, 2>& answers) {
  const int port = free_port();
  std::array<Agreed, 2> seen;
  std::vector<std::jthread> threads;
  for (int process = 0; process < 2; ++process)
    threads.emplace_back([&, process] {
      LaunchPlace place;
      place.process = process;
      place.processes = 2;
      place.meet_host = "127.0.0.1";
      place.meet_port = port;
      const auto at = static_cast<std::size_t>(process);
      auto met = Rendezvous::meet(place);
      seen[at] = met ? agree(**met, answers[at]) : Agreed(tl::unexpected(met.error()));
    });
  threads.clear();
  return seen;
}

TEST(Agreement, AllGetWhatAllGave) {
  for (const Agreed& seen : agreed_by_two({Answer("one"), Answer("")})) {
    ASSERT_TRUE(seen) << to_text(seen.error());
    EXPECT_THAT(*seen, testing::ElementsAre("one", ""));
  }
}

TEST(Agreement, OneErrorIsEverybodysError) {
  for (const Agreed& seen : agreed_by_two({Answer("one"), fail("cudaMalloc", "out of memory", "use less")})) {
    ASSERT_FALSE(seen);
    EXPECT_EQ(seen.error().where, "cudaMalloc (process 1)");
    EXPECT_EQ(seen.error().what, "out of memory");
    EXPECT_EQ(seen.error().hint, "use less");
  }
}

TEST(Agreement, OneProcessNeedsNoNumber) {
  auto alone = Rendezvous::meet(LaunchPlace{});
  ASSERT_TRUE(alone);
  EXPECT_THAT(*agree(**alone, Answer("mine")), testing::ElementsAre("mine"));
  EXPECT_EQ(agree(**alone, fail("cudaMalloc", "out of memory", "less")).error().where, "cudaMalloc");
}

TEST(Agreement, ValuesSurviveTheirBytes) {
  const std::vector<double> values{0.1, -2, 1e300};
  EXPECT_EQ(values_in<double>(bytes_of(values)), values);
  EXPECT_TRUE(values_in<double>(bytes_of(std::vector<double>{})).empty());
}

}  // namespace
}  // namespace stepcast::kernels
