// PyTorch's action lists: both dialects, with and without communication, refusals at their cell, and round trips.
#include "sim/schedule/files/pytorch_csv.h"

#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/schedule/schedule_table.h"
#include "tests/sim/schedule/pipelines.h"

namespace stepcast::sim::pytorch_csv_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

CsvOrder read_csv(const std::string& text, const CsvOptions& options = {}) {
  auto csv = read_pytorch_csv(text, "o.csv", options);
  if (!csv) ADD_FAILURE() << to_text(csv.error());
  return csv ? *csv : CsvOrder{};
}

std::string refused_csv(const std::string& text, const CsvOptions& options = {}) {
  const auto csv = read_pytorch_csv(text, "o.csv", options);
  return csv ? "read" : to_text(csv.error());
}

constexpr const char* two_ranks = "0F0,0F1,,0B0,,0B1\n,1F0,1B0,1F1,1B1\n";

TEST(PytorchCsv, PausesSpacesQuotesAndRaggedRowsDoNotCount) {
  const CsvOrder csv = read_csv("\xEF\xBB\xBF 0F0 ,\"0F1\",,0B0,,0B1,,\r\n, 1F0,1B0,\t1F1,1B1\r\n\r\n");
  EXPECT_EQ(csv.order.actions, read_csv(two_ranks).order.actions);
  EXPECT_EQ(pipelines::strings_of(csv.order, 0), "0F0 0F1 0B0 0B1");
  EXPECT_EQ(pipelines::strings_of(csv.order, 1), "1F0 1B0 1F1 1B1");
  EXPECT_EQ(csv.order.ranks, 2);
  EXPECT_EQ(csv.order.micro_batches, 2);
  EXPECT_TRUE(csv.notes.empty());
}

TEST(PytorchCsv, OneStepInBothDialectsIsOneOrder) {
  const CsvOrder today = read_csv("0F0,0F1,0I0,0W0,0B1\n1F0,1I0,1W0,1F1,1B1\n");
  const CsvOrder older = read_csv("0F0,0F1,0B0,0W0,0BW1\n1F0,1B0,1W0,1F1,1BW1\n");
  EXPECT_EQ(today.dialect, CsvDialect::today);
  EXPECT_EQ(older.dialect, CsvDialect::older);
  EXPECT_EQ(today.order.actions, older.order.actions);
  EXPECT_EQ(pipelines::strings_of(older.order, 1), "1F0 1I0 1W0 1F1 1B1");
}

TEST(PytorchCsv, WithoutIOrBwTheWeightGradientsTellTheDialect) {
  EXPECT_EQ(read_csv("0F0,0B0").dialect, CsvDialect::today);
  EXPECT_EQ(read_csv("0F0,0B0,0W0").dialect, CsvDialect::older);
}

TEST(PytorchCsv, AnAmbiguousFileIsRefusedWithTheFlagThatDecides) {
  const std::string half = "0F0,0F1,0B0,0W0,0B1";
  EXPECT_THAT(refused_csv(half), StartsWith("o.csv:1:4: cell '0W0' leaves open what B means"));
  EXPECT_THAT(refused_csv(half), HasSubstr("--csv-dialect older"));
  EXPECT_THAT(refused_csv(half, {.dialect = CsvDialect::older}), HasSubstr("micro-batch 1 has no weight gradient"));
  EXPECT_THAT(refused_csv(half, {.dialect = CsvDialect::today}), HasSubstr("cell '0W0' repeats work"));
  EXPECT_THAT(refused_csv("0F0,0I0,0W0,0F1,0BW1"), HasSubstr("0I0 at o.csv:1:2 of today's"));
  EXPECT_THAT(refused_csv("0F0,0BW0", {.dialect = CsvDialect::today}), StartsWith("o.csv:1:2: cell '0BW0'"));
}

TEST(PytorchCsv, DialectsHaveNames) {
  EXPECT_EQ(find_csv_dialect("older").value(), CsvDialect::older);
  EXPECT_THAT(to_text(find_csv_dialect("oldr").error()), HasSubstr("did you mean 'older'?"));
}

// Two stages on a rank each way: 0 and 3 on rank 0, 1 and 2 on rank 1.
constexpr const char* v_shape_with_messages =
    "0UNSHARD,3UNSHARD,0F0,0SEND_F0,3RECV_F0,3F0,3B0,3SEND_B0,0RECV_B0,0B0,0REDUCE_GRAD,3REDUCE_GRAD,0RESHARD\n"
    "1RECV_F0,1F0,2F0,2SEND_F0,2RECV_B0,2B0,1B0,1SEND_B0\n";

TEST(PytorchCsv, CommunicationIsCheckedAndLeftOutWithANote) {
  const CsvOrder csv = read_csv(v_shape_with_messages);
  EXPECT_EQ(csv.order.rank_of, (std::vector<std::int32_t>{0, 1, 1, 0}));
  EXPECT_EQ(pipelines::strings_of(csv.order, 0), "0F0 3F0 3B0 0B0");
  EXPECT_EQ(pipelines::strings_of(csv.order, 1), "1F0 2F0 2B0 1B0");
  ASSERT_EQ(csv.notes.size(), 2u);
  EXPECT_THAT(csv.notes[0], StartsWith("8 sends and receives left out"));
  EXPECT_THAT(csv.notes[1], StartsWith("5 UNSHARD, RESHARD and REDUCE_GRAD left out"));
}

/// The V with one cell written differently.
std::string altered(const std::string& from, const std::string& to) {
  std::string text = v_shape_with_messages;
  return text.replace(text.find(from), from.size(), to);
}

TEST(PytorchCsv, CommunicationThatDoesNotFitIsRefusedAtItsCell) {
  EXPECT_THAT(refused_csv(altered("0F0,0SEND_F0", "0SEND_F0,0F0")),
      StartsWith("o.csv:1:3: cell '0SEND_F0' sends what is not computed yet"));
  EXPECT_THAT(refused_csv(altered("3RECV_F0,3F0", "3F0,3RECV_F0")), HasSubstr("'3RECV_F0' comes after what needs it"));
  EXPECT_THAT(refused_csv(altered("1RECV_F0,", "")), HasSubstr("cell '0SEND_F0' is never received"));
  EXPECT_THAT(refused_csv(altered("0SEND_F0,", "")), HasSubstr("'1RECV_F0' waits for what is never sent"));
  EXPECT_THAT(refused_csv(altered("1F0,2F0", "1F0,1SEND_F0,2F0")), HasSubstr("has no other rank to talk to"));
  EXPECT_THAT(refused_csv(altered("0SEND_F0", "0SEND_F0,0SEND_F0")), HasSubstr("o.csv:1:5: cell '0SEND_F0' is there"));
  EXPECT_THAT(refused_csv(altered("3UNSHARD", "3RESHARD")), HasSubstr("cell '3F0' computes after RESHARD"));
  EXPECT_THAT(refused_csv(altered("0B0,0REDUCE_GRAD", "0REDUCE_GRAD,0B0")), HasSubstr("comes after REDUCE_GRAD"));
  EXPECT_THAT(refused_csv(altered("1RECV_F0", "0UNSHARD,1RECV_F0")), HasSubstr("o.csv:2:1: cell '0UNSHARD' is on"));
  EXPECT_THAT(refused_csv(altered("1RECV_F0", "7UNSHARD,1RECV_F0")), HasSubstr("a stage that never computes"));
  std::string silent = altered("0SEND_F0,", "");
  silent.replace(silent.find("1RECV_F0,"), 9, "");
  EXPECT_THAT(refused_csv(silent), HasSubstr("o.csv:2: 1RECV_F0 is missing"));
}

TEST(PytorchCsv, CellsThatAreNoActionsNameThemselves) {
  const auto with = [](const std::string& cell) { return refused_csv("0F0,0B0," + cell); };
  EXPECT_THAT(with("2F0junk"), StartsWith("o.csv:1:3: cell '2F0junk' goes on after the action with 'junk'"));
  EXPECT_THAT(with("F0"), HasSubstr("does not begin with a stage"));
  EXPECT_THAT(with("0"), HasSubstr("is no action"));
  EXPECT_THAT(with("0B"), HasSubstr("has no micro-batch after B (0B0"));
  EXPECT_THAT(with("0RECVF0"), HasSubstr("unknown kind 'RECVF' (did you mean 'RECV_F'?)"));
  EXPECT_THAT(with("0F12345678"), HasSubstr("too large"));
  EXPECT_THAT(with("(0F1;0B0)"), HasSubstr("is no fused pair"));
  EXPECT_THAT(with("(0F1)OVERLAP_F_B"), HasSubstr("is no fused pair"));
  EXPECT_THAT(with("(0F1;0B0;0B1)OVERLAP_F_B"), HasSubstr("goes on after the action with ';0B1'"));
  EXPECT_THAT(with("(0F1;0SEND_B0)OVERLAP_F_B"), HasSubstr("does not compute"));
}

TEST(PytorchCsv, StepsThatAreNotWholeAreRefused) {
  EXPECT_THAT(refused_csv(""), HasSubstr("the file has no actions"));
  EXPECT_THAT(refused_csv("0F0,0B0\n,,\n1F0,1B0\n"), HasSubstr("o.csv:2: rank 1 has no action"));
  EXPECT_THAT(refused_csv("0UNSHARD"), HasSubstr("no computation"));
  EXPECT_THAT(refused_csv("0F0,0B0,0F0"), StartsWith("o.csv:1:3: cell '0F0' is there twice"));
  EXPECT_THAT(refused_csv("0B0,0F0"), StartsWith("o.csv:1:1: cell '0B0' comes too early"));
  EXPECT_THAT(refused_csv("0F0,0F1,0B0"), StartsWith("o.csv:1: micro-batch 1 has no backward on stage 0"));
  EXPECT_THAT(refused_csv("0F0,0B0,0F2,0B2"), HasSubstr("micro-batch 1 is not"));
  EXPECT_THAT(refused_csv("0F0,0B0\n2F0,2B0"), HasSubstr("stage 2 is there, but stage 1 is not"));
  EXPECT_THAT(refused_csv("0F0,0B0\n0F1,0B1"), StartsWith("o.csv:2:1: cell '0F1' is on rank 1"));
  EXPECT_THAT(refused_csv("0F0,0B0,1F0,1B0\n2F0,2B0"), HasSubstr("3 stages on 2 ranks"));
  EXPECT_THAT(refused_csv("0F0,(0F1;0F2)OVERLAP_F_B,0B0,0B1,0B2"), HasSubstr("o.csv:1:2: cell '0F1' cannot run"));
  EXPECT_THAT(refused_csv("0F0,0F1,0F2,0B0,0B1,0B2", {.slices = 2}), HasSubstr("3 units cannot be micro-batches of 2"));
}

TEST(PytorchCsv, FusedPairsKeepTheirOrder) {
  const CsvOrder csv = read_csv("0F0,( 0F1 ; 0B0 )OVERLAP_F_B,0B1\n");
  EXPECT_EQ(pipelines::strings_of(csv.order, 0), "0F0 (0F1;0B0) 0B1");
  EXPECT_EQ(write_pytorch_csv(csv.order), "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n");
}

void expect_round_trip(const Order& order, const std::string& name) {
  const auto csv = read_pytorch_csv(write_pytorch_csv(order), name, {.slices = order.slices});
  ASSERT_TRUE(csv) << to_text(csv.error());
  EXPECT_EQ(csv->order.actions, order.actions) << name;
  EXPECT_EQ(csv->order.begin, order.begin) << name;
  EXPECT_EQ(csv->order.rank_of, order.rank_of) << name;
  const auto sizes = [](const Order& o) {
    return std::vector{o.ranks, o.chunks, o.micro_batches, o.slices, o.directions};
  };
  EXPECT_EQ(sizes(csv->order), sizes(order)) << name;
}

TEST(PytorchCsv, EveryGeneratorComesBackAsWritten) {
  std::map<std::string, int> checked;
  for (const ScheduleKind& kind : schedule_kinds()) {
    for (const int p : {1, 2, 4, 6})
      for (const int m : {1, 4, 12})
        for (const int v : {1, 2})
          for (const int n : {1, 3}) {
            const auto order = make_order(kind.id, {.ranks = p, .chunks = v, .micro_batches = m, .slices = n});
            if (!order) continue;
            expect_round_trip(*order, fmt::format("{} p={} v={} m={} n={}", kind.id, p, v, m, n));
            ++checked[kind.id];
          }
  }
  for (const ScheduleKind& kind : schedule_kinds()) EXPECT_GE(checked[kind.id], 2) << kind.id;
}

}  // namespace
}  // namespace stepcast::sim::pytorch_csv_test
