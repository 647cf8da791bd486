#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/bench/collective_bench.h"
#include "kernels/library/nccl_library.h"
#include "kernels/process/launch_place.h"

namespace stepcast::kernels {
namespace {

constexpr CollectiveKind kinds_on_gpu[] = {CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
    CollectiveKind::all_reduce, CollectiveKind::all_to_all, CollectiveKind::send_recv, CollectiveKind::broadcast,
    CollectiveKind::reduce};

/// All GPUs of this machine in one group; with one GPU a group of one rank, through which the same calls go.
struct OpenedCollectives {
  std::unique_ptr<CollectiveBench> bench;
  CollectiveGroup group;
  std::string skipped;
  OpenedCollectives() {
    const auto found = devices();
    if (!found || found->empty()) {
      skipped = "skipped: no GPU";
      return;
    }
    if (const auto nccl = nccl_library(); !nccl) {
      skipped = "skipped: no NCCL: " + to_text(nccl.error());
      return;
    }
    auto opened = open_collectives(LaunchPlace{});
    EXPECT_TRUE(opened) << to_text(opened.error());
    if (!opened) {
      skipped = "not opened";
      return;
    }
    bench = std::move(*opened);
    for (const RankPlace& place : bench->ranks()) group.ranks.push_back(place.rank);
    group.fabric = "any";
    group.placement = "all";
  }
  /// A buffer of about this size that all ranks can share.
  [[nodiscard]] Bytes shared(double bytes) const {
    const double part = 16.0 * static_cast<double>(group.ranks.size());
    return Bytes(std::max(1.0, std::floor(bytes / part)) * part);
  }
};

TEST(CollectivesWithoutGpu, OpeningThemSaysWhatIsMissing) {
  if (const auto found = devices(); found && !found->empty()) GTEST_SKIP() << "there is a GPU";
  const auto opened = open_collectives(LaunchPlace{});
  ASSERT_FALSE(opened);
  EXPECT_FALSE(opened.error().what.empty());
  EXPECT_FALSE(opened.error().hint.empty());
}

TEST(CollectiveOnGpu, RanksAreTheGpusOfThisMachine) {
  const OpenedCollectives all;
  if (!all.skipped.empty()) GTEST_SKIP() << all.skipped;
  const auto found = devices();
  ASSERT_EQ(all.bench->ranks().size(), found->size());
  std::set<std::string> bus_ids;
  for (const RankPlace& place : all.bench->ranks()) {
    EXPECT_EQ(place.node, 0);
    EXPECT_FALSE(place.host.empty());
    bus_ids.insert(place.bus_id);
  }
  EXPECT_EQ(bus_ids.size(), found->size());
  EXPECT_GT(all.bench->free_memory(), Bytes(1e8));
  EXPECT_FALSE(all.bench->settings().nccl.empty());
  EXPECT_TRUE(all.bench->first());
}

TEST(CollectiveOnGpu, WhatJoinsTwoRanksIsTheSameBothWays) {
  const OpenedCollectives all;
  if (!all.skipped.empty()) GTEST_SKIP() << all.skipped;
  for (const int rank : all.group.ranks)
    for (const int other : all.group.ranks) {
      if (rank == other) continue;
      EXPECT_EQ(all.bench->joins(rank, other), all.bench->joins(other, rank));
      EXPECT_THAT(all.bench->joins(rank, other), testing::AnyOf("nvswitch", "nvlink_mesh", "pcie"));
    }
}

TEST(CollectiveOnGpu, EveryElementOfEveryKindArrives) {
  const OpenedCollectives all;
  if (!all.skipped.empty()) GTEST_SKIP() << all.skipped;
  const auto opened = all.bench->open(all.group);
  ASSERT_TRUE(opened) << to_text(opened.error());
  for (const CollectiveKind kind : kinds_on_gpu)
    for (const double size : {16.0, 4096.0, 1e6, 16e6}) {
      const Bytes buffer = all.shared(size);
      const auto check = all.bench->check(kind, buffer);
      ASSERT_TRUE(check) << to_text(kind) << ": " << to_text(check.error());
      EXPECT_EQ(check->error, 0) << to_text(kind) << " of " << buffer.value();
      EXPECT_TRUE(check->good());
      const double results = kind == CollectiveKind::reduce || kind == CollectiveKind::reduce_scatter
                                 ? 1.0
                                 : static_cast<double>(all.group.ranks.size());
      EXPECT_EQ(static_cast<double>(check->compared), results * buffer.value() / 2) << to_text(kind);
    }
}

TEST(CollectiveOnGpu, TimesArePhysical) {
  const OpenedCollectives all;
  if (!all.skipped.empty()) GTEST_SKIP() << all.skipped;
  ASSERT_TRUE(all.bench->open(all.group));
  for (const CollectiveKind kind : kinds_on_gpu) {
    const auto small = all.bench->time(kind, all.shared(1024), 50, 5),
               large = all.bench->time(kind, all.shared(256e6), 5, 5);
    ASSERT_TRUE(small) << to_text(kind) << ": " << to_text(small.error());
    ASSERT_TRUE(large) << to_text(kind) << ": " << to_text(large.error());
    ASSERT_EQ(small->size(), 5u);
    const Seconds quick = *std::min_element(small->begin(), small->end()),
                  slow = *std::min_element(large->begin(), large->end());
    EXPECT_LT(quick, Seconds(5e-3)) << to_text(kind);
    EXPECT_GT(slow, Seconds(256e6 / 20e12)) << to_text(kind) << ": faster than any memory";
    EXPECT_LT(slow, Seconds(2)) << to_text(kind);
  }
}

TEST(CollectiveOnGpu, GroupsCanBeOpenedOneAfterAnother) {
  const OpenedCollectives all;
  if (!all.skipped.empty()) GTEST_SKIP() << all.skipped;
  CollectiveGroup part = all.group;
  part.ranks.resize(std::max<std::size_t>(1, part.ranks.size() / 2));
  for (const CollectiveGroup& group : {all.group, part, all.group}) {
    ASSERT_TRUE(all.bench->open(group));
    const auto check = all.bench->check(CollectiveKind::all_reduce, all.shared(65536));
    ASSERT_TRUE(check) << to_text(check.error());
    EXPECT_TRUE(check->good());
  }
}

TEST(CollectiveOnGpu, ABufferThatDoesNotFitLeavesTheBenchUsable) {
  const OpenedCollectives all;
  if (!all.skipped.empty()) GTEST_SKIP() << all.skipped;
  ASSERT_TRUE(all.bench->open(all.group));
  const auto timed = all.bench->time(CollectiveKind::all_reduce, all.shared(4e12), 1, 1);
  ASSERT_FALSE(timed);
  EXPECT_EQ(timed.error().where, "cudaMalloc");
  ASSERT_TRUE(all.bench->usable());
  ASSERT_TRUE(all.bench->open(all.group));
  const auto check = all.bench->check(CollectiveKind::all_reduce, all.shared(65536));
  ASSERT_TRUE(check) << to_text(check.error());
  EXPECT_TRUE(check->good());
}

TEST(CollectiveOnGpu, ProductsAndCollectivesSlowEachOtherDown) {
  const OpenedCollectives all;
  if (!all.skipped.empty()) GTEST_SKIP() << all.skipped;
  ASSERT_TRUE(all.bench->open(all.group));
  GemmQuery gemm{4096, 4096, 4096};
  gemm.precision = all.bench->device().capability_major >= 8 ? Precision::bf16 : Precision::fp16;
  const auto times = all.bench->time_beside(gemm, CollectiveKind::all_reduce, all.shared(128e6), Seconds(20e-3));
  ASSERT_TRUE(times) << to_text(times.error());
  EXPECT_GT(times->gemm_alone, Seconds(0));
  EXPECT_GT(times->collective_alone, Seconds(0));
  EXPECT_GT(times->gemm_beside / times->gemm_alone, 0.9) << "company does not help";
  EXPECT_GT(times->collective_beside / times->collective_alone, 0.9);
  EXPECT_TRUE(all.bench->usable());
}

TEST(CollectiveOnGpu, OneProcessAgreesWithItself) {
  const OpenedCollectives all;
  if (!all.skipped.empty()) GTEST_SKIP() << all.skipped;
  EXPECT_TRUE(*all.bench->agree_to_stop(true));
  EXPECT_FALSE(*all.bench->agree_to_stop(false));
  EXPECT_EQ(*all.bench->from_first("said"), "said");
}

}  // namespace
}  // namespace stepcast::kernels
