#include "kernels/process/worker.h"

#include <atomic>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

namespace stepcast::kernels {
namespace {

TEST(Worker, DoesTasksInTurnOnOneThread) {
  Worker worker;
  std::thread::id first, second;
  worker.start([&] { first = std::this_thread::get_id(); });
  ASSERT_TRUE(worker.wait(deadline_in(Seconds(10))));
  worker.start([&] { second = std::this_thread::get_id(); });
  ASSERT_TRUE(worker.wait(deadline_in(Seconds(10))));
  EXPECT_EQ(first, second);
  EXPECT_NE(first, std::this_thread::get_id());
}

TEST(Worker, WorkersRunBesideEachOther) {
  std::atomic<int> come{0};
  const auto meet = [&] {
    ++come;
    while (come < 2) std::this_thread::yield();
  };
  Worker one, other;
  one.start(meet);
  other.start(meet);
  EXPECT_TRUE(one.wait(deadline_in(Seconds(10))));
  EXPECT_TRUE(other.wait(deadline_in(Seconds(10))));
}

TEST(Worker, OneThatHangsIsLeftBehind) {
  const auto release = std::make_shared<std::atomic<bool>>(false);
  const auto ended = std::make_shared<std::atomic<bool>>(false);
  {
    Worker worker;
    worker.start([release, ended] {
      while (!*release) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      *ended = true;
    });
    EXPECT_FALSE(worker.wait(deadline_in(Seconds(0.02))));
  }
  *release = true;
  for (int i = 0; i < 1000 && !*ended; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(*ended);
}

TEST(Worker, WaitingForNothingIsOverAtOnce) {
  Worker worker;
  EXPECT_TRUE(worker.wait(deadline_in(Seconds(0))));
}

}  // namespace
}  // namespace stepcast::kernels
