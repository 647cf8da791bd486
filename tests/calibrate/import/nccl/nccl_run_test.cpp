// What the rows of nccl-tests say about themselves: collective, ranks, nodes; contradictions; damage.
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/import/importer.h"
#include "calibrate/import/nccl/nccl_run.h"
#include "tests/calibrate/nccl_sample.h"

namespace stepcast::calibrate {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string all_notes(const Measurements& all) {
  std::string text;
  for (const std::string& note : all.notes) text += note + "\n";
  return text;
}

CollectiveQuery query_of(const Expected<Measurements>& read) {
  return read ? std::get<CollectiveQuery>(read->rows.at(0).what)
              : CollectiveQuery{CollectiveKind::reduce, -1, -1, Bytes(0)};
}

Expected<Measurements> read_named(
    const std::string& text, const std::string& where, const ImportOptions& options = {}) {
  return read_nccl_tests(text, where, options);
}

std::string refusal(const Expected<Measurements>& read) { return read ? "read" : to_text(read.error()); }

TEST(NcclRanks, are_those_of_the_ratio_whatever_a_page_claims) {
  // 1.9375 = 2 x 31/32.
  const auto read = read_named(nccl_names + nccl_all_reduce_rows(1.9375), "H100-SXM-16x8-all_reduce.txt");
  EXPECT_EQ(query_of(read).ranks, 32) << refusal(read);
  EXPECT_EQ(query_of(read).nodes, 4);
  EXPECT_THAT(all_notes(*read), HasSubstr("128 ranks by the file name, 32 ranks by busbw / algbw"));
  EXPECT_EQ(read->contexts[0].gpu, "h100-sxm");
}

TEST(NcclRanks, no_whole_number_is_refused) {
  // 1.7 would be 6.7 ranks.
  EXPECT_THAT(refusal(read_named(nccl_names + nccl_all_reduce_rows(1.7), "1x8.txt")),
      HasSubstr("no collective over a whole number"));
  // busbw 0: every process ran by itself.
  EXPECT_THAT(refusal(read_named(nccl_names + nccl_all_reduce_rows(0), "1x8.txt")), HasSubstr("one rank by itself"));
}

TEST(NcclRanks, options_decide_and_may_not_contradict) {
  const std::string text = nccl_names + nccl_row_text(64e6, 16e6, 1000, 1, "float    none       0");
  EXPECT_THAT(refusal(read_named(text, "log.txt")), HasSubstr("nothing says over how many ranks"));
  ImportOptions options;
  options.ranks = 16;
  EXPECT_THAT(refusal(read_named(text, "log.txt", options)), HasSubstr("on how many nodes"));
  options.nodes = 3;
  EXPECT_THAT(refusal(read_named(text, "log.txt", options)), HasSubstr("16 ranks on 3 nodes"));
  options.nodes = 4;
  EXPECT_EQ(query_of(read_named(text, "log.txt", options)).nodes, 4);
  EXPECT_EQ(query_of(read_named(text, "log.txt", options)).kind, CollectiveKind::broadcast);
  options.ranks = 12;
  EXPECT_THAT(refusal(read_named(nccl_names + nccl_all_reduce_rows(), "log.txt", options)), HasSubstr("8 ranks"));
}

TEST(NcclRanks, from_digits_that_allow_several_only_where_they_are_near) {
  // 2 x 1535/1536 = 1.9987; the last row has 409.6 GB/s: two decimals allow about a sixteenth more or less.
  const auto read = read_named(nccl_names + nccl_all_reduce_rows(2.0 * 1535 / 1536), "V100-SXM3-Nx16-all_reduce.txt");
  EXPECT_NEAR(static_cast<double>(query_of(read).ranks), 1536, 200) << refusal(read);
  EXPECT_EQ(query_of(read).ranks % 16, 0);
  EXPECT_EQ(query_of(read).nodes * 16, query_of(read).ranks);
  EXPECT_THAT(all_notes(*read), HasSubstr("digits of busbw / algbw allow"));
  EXPECT_THAT(refusal(read_named(
                  nccl_names + nccl_row_text(4096, 1024, 80, 2.0 * 127 / 128, "float     sum      -1"), "log.txt")),
      HasSubstr("--ranks"));
}

TEST(NcclNodes, from_device_lines_whole_cut_or_damaged) {
  const std::string rows = nccl_names + nccl_all_reduce_rows(1.875);
  EXPECT_EQ(query_of(read_named(nccl_device_lines(2, 8) + rows, "log.txt")).nodes, 2);
  EXPECT_EQ(
      query_of(read_named("#  Rank 15 Group  0 Pid 7 on node-3 device  3 [0x01] NVIDIA GB200\n" + rows, "log.txt"))
          .nodes,
      4);
  // A host name that lost a letter: 15 ranks here, one there.
  const std::string damaged = replaced_once(nccl_device_lines(2, 8), "on node-1", "on nod-1");
  EXPECT_EQ(query_of(read_named(damaged + rows, "2x8.txt")).nodes, 2);
  EXPECT_THAT(
      all_notes(*read_named(damaged + rows, "2x8.txt")), HasSubstr("do not name the same devices on each host"));
  EXPECT_THAT(refusal(read_named(nccl_device_lines(2, 8) + rows, "4x4.txt")), HasSubstr("4 nodes"));
}

TEST(NcclKinds, are_told_by_columns_then_by_names) {
  const std::string rows = nccl_names + nccl_row_text(64e6, 2e6, 1000, 0.875, "float    none      -1");
  EXPECT_EQ(query_of(read_named(rows, "1x8-alltoall.txt")).kind, CollectiveKind::all_to_all);
  EXPECT_EQ(query_of(read_named(rows, "1x8-all-gather.txt")).kind, CollectiveKind::all_gather);
  EXPECT_EQ(query_of(read_named("# Collective test starting: alltoall_perf\n" + rows, "1x8.txt")).kind,
      CollectiveKind::all_to_all);
  EXPECT_THAT(
      refusal(read_named("# Collective test starting: hypercube_perf\n" + rows, "1x8.txt")), HasSubstr("hypercube"));
  ImportOptions options;
  options.kind = "all_to_all";
  EXPECT_EQ(query_of(read_named(rows, "1x8.txt", options)).kind, CollectiveKind::all_to_all);
  // Results of all_gather are checked in place too.
  EXPECT_EQ(query_of(read_named(rows, "1x8.txt")).kind, CollectiveKind::all_gather);
  const std::string unchecked = replaced_once(replaced_once(rows, "      0 ", "    N/A "), "      0\n", "    N/A\n");
  EXPECT_THAT(refusal(read_named(unchecked, "1x8.txt")), HasSubstr("all_gather or all_to_all"));
  options.kind = "all_reduce";
  EXPECT_THAT(refusal(read_named(rows, "1x8.txt", options)), HasSubstr("not of all_reduce"));
  options.kind = "gemm";
  EXPECT_THAT(refusal(read_named(rows, "1x8.txt", options)), HasSubstr("'gemm' is no collective"));
  const auto misnamed = read_named(nccl_names + nccl_all_reduce_rows(), "1x8-broadcast.txt");
  EXPECT_EQ(query_of(misnamed).kind, CollectiveKind::all_reduce);
  EXPECT_THAT(all_notes(*misnamed), HasSubstr("the file name says broadcast"));
}

TEST(NcclNotes, what_a_reader_should_know) {
  std::string text = nccl_header(1, 8) + nccl_names +
                     "           0             0     float     sum      -1     0.06    0.00    0.00      0     0.06    "
                     "0.00    0.00      0\n" +
                     nccl_all_reduce_rows() + "# Out of bounds values : 3 FAILED\n";
  text = replaced_once(text, "maxBytes 4096000000", "maxBytes 65536000000");
  text += nccl_row_text(1e9, 2.5e8, 3000, 1.75, "float     sum      -1", "12");
  const auto read = read_named(text, "1x8.txt");
  ASSERT_TRUE(read.has_value()) << refusal(read);
  EXPECT_THAT(
      all_notes(*read), AllOf(HasSubstr("1 rows of size 0"), HasSubstr("results were wrong at 1000000000 bytes"),
                            HasSubstr("3 values out of bounds"), HasSubstr("the rows end at")));
  const std::string slow = "  64000000  16000000  float  sum  -1  1000.0  64.00  112.00  0  4000.0  16.00  28.00  0\n";
  EXPECT_THAT(
      all_notes(*read_named(slow, "1x8.txt")), HasSubstr("more than twice the out-of-place time at 64000000 bytes"));
}

TEST(NcclDamage, is_an_error_with_its_line) {
  const std::string sound = nccl_names + nccl_all_reduce_rows();
  struct Case {
    const char *from, *to, *says;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"100.0 ", "100,0 ", "x.txt:5: '100,0'"},                // another locale
           {"16000000", "1600000", "x.txt:5"},                      // a digit less
           {"  280.00", "        ", "x.txt:5: a row of 12 words"},  // a column less
           {"  160.00  280.00", "  280.00  160.00", "x.txt:5"},     // columns swapped
           {" 100.0 ", " 200.0 ", "x.txt:5: 16000000 bytes in 200"},
           {" 100.0 ", " 100 ", "x.txt:5: '100'"},  // digits cut off
           {" float     sum      -1    100.0", " flaot     sum      -1    100.0", "x.txt:5"},
           {"16000000",
               "16\x01"
               "00000",
               "x.txt:5: byte 0x01"},
           {"time   algbw   busbw #wrong     time", "algbw   time   busbw #wrong     time", "x.txt:2"},
           {"redop", "latency", "x.txt:2: column 'latency'"},
           {"    time   algbw", " cputime   algbw", "cputime"},
       }) {
    ASSERT_NE(sound.find(c.from), std::string::npos) << c.from;
    EXPECT_THAT(refusal(read_named(replaced_once(sound, c.from, c.to), "1x8-x.txt")), HasSubstr(c.says)) << c.from;
  }
  EXPECT_THAT(refusal(read_named("", "x.txt")), HasSubstr("no rows of nccl-tests"));
  EXPECT_THAT(refusal(read_named(nccl_header(1, 8) + nccl_names, "x.txt")), HasSubstr("no rows of nccl-tests"));
}

/// Every text that a clean one can be cut to.
TEST(NcclDamage, of_a_cut_table_only_whole_rows_are_read) {
  const std::string sound = nccl_names + nccl_all_reduce_rows();
  const auto clean = read_named(sound, "1x8-all_reduce.txt");
  ASSERT_TRUE(clean.has_value());
  std::size_t refused = 0;
  for (std::size_t size = 0; size < sound.size(); ++size) {
    const auto read = read_named(sound.substr(0, size), "1x8-all_reduce.txt");
    if (!read) {
      ++refused;
      continue;
    }
    for (std::size_t i = 0; i < read->rows.size(); ++i) {
      EXPECT_EQ(read->rows[i].time, clean->rows[i].time);
      EXPECT_EQ(query_of(read).ranks, 8);
    }
  }
  EXPECT_GT(refused, sound.size() * 9 / 10);
}

TEST(NcclDamage, swapped_columns_never_give_another_time) {
  const std::string sound = nccl_all_reduce_rows();
  const auto clean = read_named(sound, "1x8-all_reduce.txt");
  ASSERT_TRUE(clean.has_value());
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::string> words;
    std::string text = sound.substr(0, sound.find('\n')), mixed;
    for (std::size_t at = 0; (at = text.find_first_not_of(' ', at)) != std::string::npos;) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      words.push_back(text.substr(at, end - at));
      at = end;
    }
    std::swap(words[random() % words.size()], words[random() % words.size()]);
    for (const std::string& word : words) mixed += word + " ";
    const auto read = read_named(mixed + sound.substr(sound.find('\n')), "1x8-all_reduce.txt");
    if (read) {
      EXPECT_EQ(read->rows.at(0).time, clean->rows.at(0).time) << mixed;
    }
  }
}

}  // namespace
}  // namespace stepcast::calibrate
