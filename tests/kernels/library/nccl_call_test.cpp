#include "kernels/library/nccl_call.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::kernels {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// An NCCL that writes down what it is asked, in elements from the buffers' begins.
std::vector<std::string> asked;
NcclResult answer = NcclResult::success;
alignas(2) char sent_from[4096];
alignas(2) char received_at[4096];

std::ptrdiff_t place_in(const void* at, const char* buffer) {
  return (static_cast<const char*>(at) - buffer) / collective_element;
}

NcclLibrary recording_nccl() {
  asked.clear();
  answer = NcclResult::success;
  NcclLibrary nccl;
  nccl.error_text = [](NcclResult) { return "unhandled system error"; };
  nccl.group_start = [] {
    asked.emplace_back("(");
    return NcclResult::success;
  };
  nccl.group_end = [] {
    asked.emplace_back(")");
    return NcclResult::success;
  };
  nccl.all_reduce = [](const void*, void*, std::size_t n, NcclType, NcclOperator, NcclCommunicator, NcclStream) {
    asked.push_back(fmt::format("all_reduce {}", n));
    return answer;
  };
  nccl.all_gather = [](const void*, void*, std::size_t n, NcclType, NcclCommunicator, NcclStream) {
    asked.push_back(fmt::format("all_gather {}", n));
    return answer;
  };
  nccl.reduce_scatter = [](const void*, void*, std::size_t n, NcclType, NcclOperator, NcclCommunicator, NcclStream) {
    asked.push_back(fmt::format("reduce_scatter {}", n));
    return answer;
  };
  nccl.broadcast = [](const void*, void*, std::size_t n, NcclType, int root, NcclCommunicator, NcclStream) {
    asked.push_back(fmt::format("broadcast {} from {}", n, root));
    return answer;
  };
  nccl.reduce = [](const void*, void*, std::size_t n, NcclType, NcclOperator, int root, NcclCommunicator, NcclStream) {
    asked.push_back(fmt::format("reduce {} to {}", n, root));
    return answer;
  };
  nccl.send = [](const void* at, std::size_t n, NcclType, int peer, NcclCommunicator, NcclStream) {
    asked.push_back(fmt::format("{}+{} to {}", place_in(at, sent_from), n, peer));
    return answer;
  };
  nccl.receive = [](void* at, std::size_t n, NcclType, int peer, NcclCommunicator, NcclStream) {
    asked.push_back(fmt::format("{}+{} from {}", place_in(at, received_at), n, peer));
    return answer;
  };
  return nccl;
}

Expected<void> enqueued(CollectiveKind kind, int ranks, int rank) {
  return enqueue(recording_nccl(), {kind, 120, ranks, rank}, sent_from, received_at, nullptr, nullptr);
}

TEST(NcclCall, CountsAreThoseThatEachCallWants) {
  struct Row {
    CollectiveKind kind;
    const char* call;
  };
  for (const Row& row : {Row{CollectiveKind::all_reduce, "all_reduce 120"},
           Row{CollectiveKind::all_gather, "all_gather 30"}, Row{CollectiveKind::reduce_scatter, "reduce_scatter 30"},
           Row{CollectiveKind::broadcast, "broadcast 120 from 0"}, Row{CollectiveKind::reduce, "reduce 120 to 0"}}) {
    ASSERT_TRUE(enqueued(row.kind, 4, 1));
    EXPECT_THAT(asked, ElementsAre(row.call));
  }
}

TEST(NcclCall, SendRecvGoesRoundTheRing) {
  ASSERT_TRUE(enqueued(CollectiveKind::send_recv, 4, 3));
  EXPECT_THAT(asked, ElementsAre("(", "0+120 to 0", "0+120 from 2", ")"));
  ASSERT_TRUE(enqueued(CollectiveKind::send_recv, 2, 0));
  EXPECT_THAT(asked, ElementsAre("(", "0+120 to 1", "0+120 from 1", ")"));
}

TEST(NcclCall, AllToAllGivesEveryPeerItsPart) {
  ASSERT_TRUE(enqueued(CollectiveKind::all_to_all, 3, 1));
  EXPECT_THAT(asked,
      ElementsAre("(", "0+40 to 0", "0+40 from 0", "40+40 to 1", "40+40 from 1", "80+40 to 2", "80+40 from 2", ")"));
}

TEST(NcclCall, AFailureInsideAGroupStillEndsTheGroup) {
  const NcclLibrary nccl = recording_nccl();
  answer = NcclResult::system_error;
  const auto done = enqueue(nccl, {CollectiveKind::all_to_all, 120, 3, 1}, sent_from, received_at, nullptr, nullptr);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().where, "ncclSend");
  EXPECT_THAT(asked, ElementsAre("(", "0+40 to 0", ")"));
}

/// What an ideal collective leaves at `index` of rank `rank`, from what all ranks send.
int ideal(const CollectiveCall& call, std::int64_t index) {
  const auto sent = [&](std::int64_t source, std::int64_t at) {
    return exact_sent(call.sums(), call.ranks, source, at);
  };
  const auto total = [&](std::int64_t at) {
    int sum = 0;
    for (int source = 0; source < call.ranks; ++source) sum += sent(source, at);
    return sum;
  };
  switch (call.kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::reduce: return total(index);
    case CollectiveKind::reduce_scatter: return total(call.rank * call.share() + index);
    case CollectiveKind::all_gather: return sent(index / call.share(), index % call.share());
    case CollectiveKind::all_to_all: return sent(index / call.share(), call.rank * call.share() + index % call.share());
    case CollectiveKind::send_recv: return sent(call.rank == 0 ? call.ranks - 1 : call.rank - 1, index);
    case CollectiveKind::broadcast: return sent(0, index);
  }
  return 0;
}

constexpr CollectiveKind every_kind[] = {CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
    CollectiveKind::all_reduce, CollectiveKind::all_to_all, CollectiveKind::send_recv, CollectiveKind::broadcast,
    CollectiveKind::reduce};

TEST(NcclCall, ExpectedResultsFollowFromWhatIsSent) {
  for (const CollectiveKind kind : every_kind)
    for (const int ranks : {1, 2, 3, 8})
      for (int rank = 0; rank < ranks; ++rank) {
        const CollectiveCall call{kind, 24, ranks, rank};
        for (std::int64_t index = 0; index < call.received(); ++index)
          ASSERT_EQ(exact_received(kind, call.share(), ranks, rank, index), ideal(call, index))
              << to_text(kind) << " " << ranks << " " << rank;
      }
}

TEST(NcclCall, NumbersAreExactInBf16) {  // 8 significant bits: integers up to 256
  for (const int ranks : {2, 64, 65, 1024}) {
    int largest = 0;
    for (std::int64_t index = 0; index < 5; ++index)
      largest = std::max(largest, exact_received(CollectiveKind::all_reduce, 1, ranks, 0, index));
    EXPECT_LE(largest, 256) << ranks;
    EXPECT_GT(largest, 0) << ranks;
  }
  for (std::int64_t index = 0; index < 1000; ++index) EXPECT_LE(std::abs(exact_sent(false, 8, index % 8, index)), 125);
}

TEST(NcclCall, AWrongOrderOfRanksWouldBeSeen) {
  int same = 0, sums_alike = 0;
  for (std::int64_t index = 0; index < 100; ++index) {
    same += exact_sent(false, 8, 1, index) == exact_sent(false, 8, 2, index);
    sums_alike += exact_received(CollectiveKind::all_reduce, 1, 8, 0, index) ==
                  exact_received(CollectiveKind::all_reduce, 1, 8, 0, index + 1);
  }
  EXPECT_EQ(same, 0);
  EXPECT_LT(sums_alike, 100) << "a shifted result differs";
}

}  // namespace
}  // namespace stepcast::kernels
