#include "kernels/process/rendezvous.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/meeting_port.h"

namespace stepcast::kernels {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

LaunchPlace member(int process, int processes, int port, const std::string& job = "job") {
  LaunchPlace place;
  place.process = process;
  place.processes = processes;
  place.meet_host = "127.0.0.1";
  place.meet_port = port;
  place.job = job;
  return place;
}

constexpr Patience short_patience{Seconds(0.4), Seconds(0.4)};

/// Each process a thread that does `work` once it has met the others; their errors, "" where all went well.
template <typename Work> std::vector<std::string> together(int processes, Patience patience, Work work) {
  const int port = free_port();
  std::vector<std::string> ends(static_cast<std::size_t>(processes));
  std::vector<std::jthread> threads;
  for (int process = 0; process < processes; ++process)
    threads.emplace_back([&, process] {
      auto met = Rendezvous::meet(member(process, processes, port), patience);
      auto& end = ends[static_cast<std::size_t>(process)];
      end = met ? work(process, **met) : to_text(met.error());
    });
  threads.clear();
  return ends;
}

TEST(Rendezvous, OneProcessMeetsNobody) {
  auto alone = Rendezvous::meet(LaunchPlace{});
  ASSERT_TRUE(alone);
  EXPECT_THAT(*(*alone)->all_gather("mine"), ElementsAre("mine"));
  EXPECT_EQ(*(*alone)->broadcast("mine"), "mine");
  EXPECT_TRUE((*alone)->barrier());
}

TEST(Rendezvous, AllGatherGivesEverybodyAllPartsInOrder) {
  const auto ends = together(4, Patience{}, [](int process, Rendezvous& all) -> std::string {
    const auto parts = all.all_gather(std::string(static_cast<std::size_t>(process), 'x'));
    return parts ? fmt::format("{}", fmt::join(*parts, ",")) : to_text(parts.error());
  });
  EXPECT_THAT(ends, testing::Each(",x,xx,xxx"));
}

TEST(Rendezvous, BroadcastGivesWhatTheFirstHas) {
  const auto ends = together(3, Patience{}, [](int process, Rendezvous& all) -> std::string {
    std::string got;
    for (int round = 0; round < 100; ++round)
      got = all.broadcast(fmt::format("{} of {}", round, process)).value_or("lost");
    return got;
  });
  EXPECT_THAT(ends, testing::Each("99 of 0"));
}

TEST(Rendezvous, LargePartsAndZeroBytesCome) {
  const std::string part = std::string(3 << 20, 'a') + std::string(1, '\0') + "end";
  const auto ends = together(3, Patience{}, [&](int, Rendezvous& all) -> std::string {
    const auto parts = all.all_gather(part);
    return parts && *parts == std::vector<std::string>(3, part) ? "same" : "different";
  });
  EXPECT_THAT(ends, testing::Each("same"));
}

TEST(Rendezvous, NobodyPassesTheBarrierBeforeTheSlowest) {
  std::atomic<int> come{0};
  const auto ends = together(3, Patience{}, [&](int process, Rendezvous& all) -> std::string {
    if (process == 2) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ++come;
    return all.barrier() ? fmt::format("{}", come.load()) : "lost";
  });
  EXPECT_THAT(ends, testing::Each("3"));
}

TEST(Rendezvous, WhoNeverComesIsNamed) {
  const auto met = Rendezvous::meet(member(0, 3, free_port()), short_patience);
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().where, "process 1, 2");
  EXPECT_THAT(met.error().what, HasSubstr("2 of 3 processes did not come within 0.4 s"));
}

TEST(Rendezvous, WhoCameIsToldWhoDidNot) {
  const int port = free_port();
  std::string first, second;
  {
    std::jthread one([&] { first = to_text(Rendezvous::meet(member(0, 3, port), short_patience).error()); });
    std::jthread other([&] { second = to_text(Rendezvous::meet(member(1, 3, port), short_patience).error()); });
  }
  EXPECT_THAT(first, HasSubstr("process 2"));
  EXPECT_THAT(second, HasSubstr("process 2"));
}

TEST(Rendezvous, NoFirstProcessIsAnError) {
  const auto met = Rendezvous::meet(member(1, 2, free_port()), short_patience);
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().where, "process 0");
  EXPECT_THAT(met.error().what, HasSubstr("not reached"));
  EXPECT_THAT(met.error().hint, HasSubstr("MASTER_ADDR"));
}

TEST(Rendezvous, AnUnknownHostIsAnError) {
  LaunchPlace place = member(1, 2, free_port());
  place.meet_host = "no-such-host.invalid";
  const auto met = Rendezvous::meet(place, short_patience);
  ASSERT_FALSE(met);
  EXPECT_THAT(met.error().what, HasSubstr("no-such-host.invalid"));
}

TEST(Rendezvous, WhoLeavesIsNamedToAll) {
  const auto ends = together(3, Patience{}, [](int process, Rendezvous& all) -> std::string {
    if (process == 1) return "left";
    const auto parts = all.all_gather("here");
    return parts ? "went on" : to_text(parts.error());
  });
  EXPECT_THAT(ends[0], HasSubstr("process 1: ended before the others"));
  EXPECT_THAT(ends[2], HasSubstr("process 1: ended before the others"));
}

TEST(Rendezvous, WhenTheFirstLeavesTheOthersSaySo) {
  const auto ends = together(2, Patience{}, [](int process, Rendezvous& all) -> std::string {
    if (process == 0) return "left";
    return to_text(all.barrier().error());
  });
  EXPECT_THAT(ends[1], HasSubstr("process 0: ended before the others"));
}

TEST(Rendezvous, WhoHangsIsNamedAfterTheTimeout) {
  std::atomic<bool> known{false};
  const auto ends = together(3, Patience{Seconds(20), Seconds(0.3)}, [&](int process, Rendezvous& all) -> std::string {
    if (process == 2) {
      while (!known) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return "hung";
    }
    const auto done = all.barrier();
    known = true;
    return done ? "went on" : to_text(done.error());
  });
  EXPECT_THAT(ends[0], HasSubstr("process 2: does not answer"));
  EXPECT_THAT(ends[1], HasSubstr("process 2: does not answer"));
}

TEST(Rendezvous, DifferentCallsAtOnceAreAnError) {
  const auto ends = together(2, Patience{}, [](int process, Rendezvous& all) -> std::string {
    if (process == 0) return to_text(all.barrier().error());
    return to_text(all.all_gather("x").error());
  });
  EXPECT_THAT(ends[0], HasSubstr("is at another call"));
  EXPECT_THAT(ends[1], HasSubstr("is at another call"));
}

TEST(Rendezvous, AfterAFailureNothingIsSent) {
  const auto ends = together(2, Patience{}, [](int process, Rendezvous& all) -> std::string {
    if (process == 1) return "left";
    (void)all.barrier();
    return to_text(all.barrier().error());
  });
  EXPECT_THAT(ends[0], HasSubstr("no longer in step"));
}

TEST(Rendezvous, AnotherJobIsSentAway) {
  const int port = free_port();
  std::jthread first([&] { (void)Rendezvous::meet(member(0, 2, port, "mine"), {Seconds(2), Seconds(1)}); });
  const auto met = Rendezvous::meet(member(1, 2, port, "theirs"), {Seconds(5), Seconds(1)});
  ASSERT_FALSE(met);
  EXPECT_THAT(met.error().what, HasSubstr("another job of stepcast"));
  EXPECT_TRUE(Rendezvous::meet(member(1, 2, port, "mine"), {Seconds(5), Seconds(1)})) << "the right one still comes in";
}

TEST(Rendezvous, TheSameProcessTwiceIsSentAway) {
  const int port = free_port();
  std::jthread first([&] { (void)Rendezvous::meet(member(0, 3, port), {Seconds(2), Seconds(1)}); });
  std::jthread once([&] { (void)Rendezvous::meet(member(1, 3, port), {Seconds(2), Seconds(1)}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto met = Rendezvous::meet(member(1, 3, port), {Seconds(5), Seconds(1)});
  ASSERT_FALSE(met);
  EXPECT_THAT(met.error().what, HasSubstr("there already"));
}

TEST(Rendezvous, AnotherProgramOnThePortIsToldApart) {
  const int port = free_port();
  const auto door = MeetingSocket::listen_at("127.0.0.1", port);
  ASSERT_TRUE(door);
  std::jthread server([&] {
    MeetingSocket visitor;
    while (!visitor.is_open()) visitor = door->accept_one();
    (void)visitor.send_all("HTTP/1.1 400 Bad Request\r\n\r\n", deadline_in(Seconds(1)));
    (void)visitor.receive(100, deadline_in(Seconds(1)));
  });
  const auto met = Rendezvous::meet(member(1, 2, port), {Seconds(5), Seconds(1)});
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().what, "another program listens there");
}

TEST(Rendezvous, StrangersWhoKnockDoNotStopTheOthers) {
  const int port = free_port();
  std::string end = "not met";
  {
    std::jthread first([&] {
      auto met = Rendezvous::meet(member(0, 2, port), {Seconds(10), Seconds(1)});
      end = met ? "met" : to_text(met.error());
    });
    MeetingSocket silent, rude;
    for (MeetingSocket* stranger : {&silent, &rude})
      while (!stranger->is_open())
        if (auto socket = MeetingSocket::connect_to("127.0.0.1", port, deadline_in(Seconds(1))))
          *stranger = std::move(*socket);
    ASSERT_TRUE(
        rude.send_all("GET / HTTP/1.1\r\nHost: somewhere\r\nAccept: everything\r\n\r\n", deadline_in(Seconds(1))));
    EXPECT_TRUE(Rendezvous::meet(member(1, 2, port), {Seconds(10), Seconds(1)}));
  }
  EXPECT_EQ(end, "met");
}

TEST(Rendezvous, APortThatIsTakenIsAnErrorOfTheFirst) {
  const int port = free_port();
  const auto door = MeetingSocket::listen_at("127.0.0.1", port);
  ASSERT_TRUE(door);
  const auto met = Rendezvous::meet(member(0, 2, port), short_patience);
  ASSERT_FALSE(met);
  EXPECT_THAT(met.error().hint, HasSubstr("MASTER_PORT"));
}

/// Runs `work` in a process of its own; its exit status.
template <typename Work> pid_t in_own_process(Work work) {
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  return child;
}

int status_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(Rendezvous, ProcessesMeet) {
  const int port = free_port();
  std::vector<pid_t> children;
  for (int process = 1; process < 4; ++process)
    children.push_back(in_own_process([&] {
      auto met = Rendezvous::meet(member(process, 4, port));
      const auto parts = met ? (*met)->all_gather(std::to_string(process)) : Expected<std::vector<std::string>>{};
      return parts && *parts == std::vector<std::string>{"0", "1", "2", "3"};
    }));
  auto met = Rendezvous::meet(member(0, 4, port));
  ASSERT_TRUE(met) << to_text(met.error());
  EXPECT_THAT(*(*met)->all_gather("0"), ElementsAre("0", "1", "2", "3"));
  for (const pid_t child : children) EXPECT_EQ(status_of(child), 0);
}

TEST(Rendezvous, AKilledProcessIsNamed) {
  const int port = free_port();
  const pid_t killed = in_own_process([&] {
    auto met = Rendezvous::meet(member(1, 2, port));
    if (met) std::abort();
    return false;
  });
  auto met = Rendezvous::meet(member(0, 2, port));
  ASSERT_TRUE(met) << to_text(met.error());
  const auto done = (*met)->barrier();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().where, "process 1");
  EXPECT_LT(status_of(killed), 0);
}

/// What runs under mpirun in the test below, and is nothing of its own: started without a launcher it is skipped.
TEST(RendezvousMember, MeetsUnderMpirun) {
  const auto place = launch_place();
  ASSERT_TRUE(place) << to_text(place.error());
  if (place->launcher != "mpirun") GTEST_SKIP() << "skipped: not under mpirun";
  auto met = Rendezvous::meet(*place);
  ASSERT_TRUE(met) << to_text(met.error());
  const auto parts = (*met)->all_gather(std::to_string(place->process));
  ASSERT_TRUE(parts);
  EXPECT_THAT(*parts, ElementsAre("0", "1", "2"));
}

TEST(Rendezvous, MeetsUnderMpirun) {
  if (std::system("command -v mpirun >/dev/null 2>&1") != 0) GTEST_SKIP() << "skipped: no mpirun";
  if (std::getenv("OMPI_COMM_WORLD_RANK") != nullptr) GTEST_SKIP() << "skipped: under mpirun already";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  // A member that does not see its launcher is skipped and ends well: each has to say that it has met the others.
  const std::string command =
      fmt::format("met=$(env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX OMPI_ALLOW_RUN_AS_ROOT=1 "
                  "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -n 3 '{}' "
                  "--gtest_color=no --gtest_filter=RendezvousMember.MeetsUnderMpirun 2>/dev/null) && "
                  "[ \"$(echo \"$met\" | grep -o 'OK ] RendezvousMember' | wc -l)\" = 3 ]",
          self);
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

}  // namespace
}  // namespace stepcast::kernels
