#include "kernels/process/rank_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepcast::kernels {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RankDescription gpu_at(const std::string& host, const std::string& bus_id, NvLinks links = {}) {
  return {host, "boot-" + host, "NVIDIA H100", bus_id, Bytes(70e9), std::move(links)};
}

TEST(RankTable, DescriptionsSurviveTheirText) {
  const std::vector<RankDescription> ranks{
      gpu_at("a", "0000:0a:00.0", {2, true, {"0000:0b:00.0", "0000:0c:00.0"}}), gpu_at("a", "0000:0b:00.0")};
  const auto read = read_ranks(text_of(ranks));
  ASSERT_TRUE(read) << to_text(read.error());
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].host, "a");
  EXPECT_EQ((*read)[0].machine, "boot-a");
  EXPECT_EQ((*read)[0].device, "NVIDIA H100");
  EXPECT_EQ((*read)[0].free, Bytes(70e9));
  EXPECT_TRUE((*read)[0].links.switched);
  EXPECT_THAT((*read)[0].links.gpus, ElementsAre("0000:0b:00.0", "0000:0c:00.0"));
  EXPECT_TRUE((*read)[1].links.gpus.empty());
}

TEST(RankTable, WhatIsNoDescriptionIsRefused) {
  EXPECT_FALSE(read_ranks("something else\n"));
  EXPECT_FALSE(read_ranks("a\tb\tc\td\tmuch\t1\t\n"));
}

TEST(RankTable, RanksAreNumberedProcessByProcess) {
  const auto table = rank_table({{gpu_at("a", "01"), gpu_at("a", "02")}, {gpu_at("b", "01"), gpu_at("b", "02")}});
  ASSERT_TRUE(table);
  ASSERT_EQ(table->places.size(), 4u);
  EXPECT_EQ(table->places[2].rank, 2);
  EXPECT_EQ(table->places[2].node, 1);
  EXPECT_EQ(table->places[2].process, 1);
  EXPECT_EQ(table->places[2].host, "b");
}

TEST(RankTable, HostsOfOneNameAreToldApart) {
  RankDescription other = gpu_at("localhost", "01");
  other.machine = "another boot";
  const auto table = rank_table({{gpu_at("localhost", "01")}, {other}});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->places[1].node, 1);
  EXPECT_EQ(table->joins(0, 1), "network");
}

TEST(RankTable, WhatJoinsTwoRanks) {
  NvLinks to_switch{18, true, {}}, to_next{2, false, {"0000:02:00.0"}};
  const auto table = rank_table(
      {{gpu_at("a", "0000:01:00.0", to_next), gpu_at("a", "0000:02:00.0"), gpu_at("a", "0000:03:00.0", to_switch),
          gpu_at("a", "0000:04:00.0", to_switch), gpu_at("b", "0000:01:00.0", to_switch)}});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->joins(0, 1), "nvlink_mesh");
  EXPECT_EQ(table->joins(0, 2), "pcie");
  EXPECT_EQ(table->joins(2, 3), "nvswitch");
  EXPECT_EQ(table->joins(3, 4), "network");
}

TEST(RankTable, OneGpuForTwoProcessesIsRefused) {
  const auto table = rank_table({{gpu_at("a", "01")}, {gpu_at("b", "01")}, {gpu_at("a", "01")}});
  ASSERT_FALSE(table);
  EXPECT_THAT(table.error().what, HasSubstr("processes 0 and 2 on a"));
}

TEST(RankTable, DifferentGpusAreRefused) {
  RankDescription other = gpu_at("a", "02");
  other.device = "NVIDIA A100";
  const auto table = rank_table({{gpu_at("a", "01"), other}});
  ASSERT_FALSE(table);
  EXPECT_THAT(table.error().what, HasSubstr("'NVIDIA A100' on a"));
}

TEST(RankTable, TheFullestGpuBounds) {
  RankDescription full = gpu_at("a", "02");
  full.free = Bytes(1e9);
  EXPECT_EQ(rank_table({{gpu_at("a", "01"), full}})->least_free(), Bytes(1e9));
}

TEST(RankTable, GpusAreSharedOutInOrder) {
  EXPECT_THAT(*gpus_of_process(8, 0, 1), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(*gpus_of_process(8, 5, 8), ElementsAre(5));
  EXPECT_THAT(*gpus_of_process(8, 1, 2), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(*gpus_of_process(1, 3, 8), ElementsAre(0)) << "the launcher gave each process its own";
  EXPECT_FALSE(gpus_of_process(2, 0, 4));
}

TEST(RankTable, ThisHostHasAName) {
  EXPECT_FALSE(this_host().host.empty());
  EXPECT_FALSE(this_host().machine.empty());
}

}  // namespace
}  // namespace stepcast::kernels
