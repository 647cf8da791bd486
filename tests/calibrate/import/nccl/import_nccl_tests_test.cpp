// nccl-tests' text in its generations, and what must never be read from a damaged one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/import/importer.h"
#include "tests/calibrate/nccl_sample.h"

namespace stepcast::calibrate {
namespace {

using testing::HasSubstr;

Expected<Measurements> read_text(
    const std::string& text, const std::string& where = "log.txt", const ImportOptions& options = {}) {
  return read_nccl_tests(text, where, options);
}

CollectiveQuery first_query(const Expected<Measurements>& read) {
  return std::get<CollectiveQuery>(read->rows.at(0).what);
}

std::string notes_of(const Measurements& all) {
  std::string text;
  for (const std::string& note : all.notes) text += note + "\n";
  return text;
}

TEST(ImportNcclTests, a_whole_output) {
  const std::string text = "# nccl-tests version 2.17.4 nccl-headers=22809 nccl-library=22606\n"
                           "# Collective test starting: all_reduce_perf\n" +
                           nccl_header(1, 1) + nccl_device_lines(1, 8) + "NCCL version 2.26.6+cuda12.8\n#\n" +
                           nccl_names + nccl_all_reduce_rows() +
                           "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 159.151\n"
                           "# Collective test concluded: all_reduce_perf\n";
  const auto read = read_text(text);
  ASSERT_TRUE(read.has_value()) << to_text(read.error());
  ASSERT_EQ(read->rows.size(), 4u);
  EXPECT_EQ(first_query(read).kind, CollectiveKind::all_reduce);
  EXPECT_EQ(first_query(read).ranks, 8);
  EXPECT_EQ(first_query(read).nodes, 1);
  EXPECT_EQ(first_query(read).bytes.value(), 1e6);
  EXPECT_NEAR(read->rows[0].time.value(), 20e-6, 1e-15);
  EXPECT_NEAR(read->rows[3].time.value(), 10e-3, 1e-12);
  EXPECT_EQ(read->rows[0].repeats, 20);
  const MeasurementContext& context = read->contexts.at(0);
  EXPECT_EQ(context.gpu, "h100-sxm");
  EXPECT_EQ(context.device, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(context.machine, "node-0");
  EXPECT_EQ(context.software, "nccl-tests 2.17.4");
  EXPECT_EQ(context.nccl, "2.26.6");
  EXPECT_EQ(context.cuda, "12.8");
  EXPECT_EQ(context.launch_mode, "process per GPU");
  EXPECT_EQ(context.fabric, "nvswitch");
  EXPECT_EQ(notes_of(*read), "");
}

// clang-format off
// 8 ranks; 64 MB in 1000 us are 64 GB/s. Before 2.13 each program had its own columns.
struct Generation { const char* name; const char* names; const char* row; CollectiveKind kind; };
const Generation generations[] = {
    {"all_reduce", "size count type redop time algbw busbw error time algbw busbw error",
     "64000000 16000000 float sum 1000.0 64.00 112.00 5e-07 1000.0 64.00 112.00 5e-07", CollectiveKind::all_reduce},
    {"reduce_scatter", "size count type redop time algbw busbw error time algbw busbw error",
     "64000000 2000000 float sum 1000.0 64.00 56.00 0e+00 1000.0 64.00 56.00 0e+00", CollectiveKind::reduce_scatter},
    {"all_gather", "size count type time algbw busbw error time algbw busbw error",
     "64000000 2000000 float 1000.0 64.00 56.00 0e+00 1000.0 64.00 56.00 0e+00", CollectiveKind::all_gather},
    {"alltoall", "size count type redop time algbw busbw error time algbw busbw error",
     "64000000 2000000 float 1000.0 64.00 56.00 0e+00 1000.0 64.00 56.00 N/A", CollectiveKind::all_to_all},
    {"broadcast", "size count type root time algbw busbw error time algbw busbw error",
     "64000000 16000000 float 0 1000.0 64.00 64.00 0e+00 1000.0 64.00 64.00 0e+00", CollectiveKind::broadcast},
    {"reduce", "size count type redop root time algbw busbw error time algbw busbw error",
     "64000000 16000000 float sum 0 1000.0 64.00 64.00 0e+00 1000.0 64.00 64.00 0e+00", CollectiveKind::reduce},
    {"sendrecv", "size count type redop root time algbw busbw #wrong time algbw busbw #wrong",
     "64000000 16000000 float sum -1 1000.0 64.00 64.00 0 1000.0 64.00 64.00 N/A", CollectiveKind::send_recv},
    {"all_gather", "size count type redop root time algbw busbw #wrong time algbw busbw #wrong",
     "64000000 4000000 half none -1 1000.0 64.00 56.00 0 1000.0 64.00 56.00 0", CollectiveKind::all_gather},
    {"all_reduce",
     "size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw busbw #wrong i_min i_max "
     "i_p99 i_cv%",
     "64000000 16000000 float sum -1 1000.00 64.00 112.00 0 900.00 1300.00 1250.00 3.10 1000.00 64.00 112.00 0 900.00 "
     "1300.00 1250.00 3.10",
     CollectiveKind::all_reduce},
    {"all_reduce", "size count type redop root time algbw busbw #wrong time algbw busbw #wrong algo proto nchannels",
     "64000000 16000000 float sum -1 1000.0 64.00 112.00 0 1000.0 64.00 112.00 0 RING SIMPLE 28",
     CollectiveKind::all_reduce},
    {"all_reduce", "size count type redop root time algbw busbw #wrong time algbw busbw #wrong timestamp",
     "64000000 16000000 float sum -1 1000.0 64.00 112.00 0 1000.0 64.00 112.00 0 2026-03-01 10:11:12",
     CollectiveKind::all_reduce},
    {"all_reduce", "size count type redop root time algbw busbw", "64000000 16000000 float sum -1 1000.0 64.00 112.00",
     CollectiveKind::all_reduce},
};
// clang-format on

TEST(ImportNcclTests, every_generation_with_and_without_its_column_names) {
  for (const Generation& g : generations) {
    const std::string file = fmt::format("runs/x-1x8-{}.txt", g.name);
    for (const bool named : {true, false}) {
      const bool extras = std::string(g.names).find("nchannels") != std::string::npos ||
                          std::string(g.names).find("timestamp") != std::string::npos;
      if (!named && extras) continue;  // nothing tells them from a damaged row
      const auto read =
          read_text((named ? fmt::format("#  {}\n", g.names) : "") + std::string("  ") + g.row + "\n", file);
      ASSERT_TRUE(read.has_value()) << to_text(read.error()) << g.row;
      ASSERT_EQ(read->rows.size(), 1u);
      EXPECT_EQ(first_query(read).kind, g.kind) << g.row;
      EXPECT_EQ(first_query(read).ranks, 8) << g.row;
      EXPECT_EQ(first_query(read).bytes.value(), 64e6);
      EXPECT_NEAR(read->rows[0].time.value(), 1e-3, 1e-12);
    }
  }
}

TEST(ImportNcclTests, single_iterations_give_the_spread_and_a_time_stamp_the_date) {
  const auto spread = read_text(fmt::format("# {}\n{}\n", generations[8].names, generations[8].row), "1x8.txt");
  ASSERT_TRUE(spread.has_value()) << to_text(spread.error());
  EXPECT_NEAR(spread->rows[0].low.value(), 900e-6, 1e-12);
  EXPECT_NEAR(spread->rows[0].high.value(), 1300e-6, 1e-12);
  const auto dated = read_text(fmt::format("# {}\n{}\n", generations[10].names, generations[10].row), "1x8.txt");
  ASSERT_TRUE(dated.has_value()) << to_text(dated.error());
  EXPECT_EQ(dated->contexts[0].date, "2026-03-01");
}

TEST(ImportNcclTests, prefixes_and_lines_in_between) {
  const std::string rows = nccl_names + nccl_all_reduce_rows();
  for (const char* prefix :
      {"[1,0]<stdout>:", "0: ", "node-3: ", "2026-03-01T10:11:12.345Z ", "  [2026-03-01 10:11:12] ", "pod/nccl-0 "}) {
    std::string text;
    std::size_t begin = 0;
    while (begin < rows.size()) {
      const std::size_t end = rows.find('\n', begin);
      text += prefix + rows.substr(begin, end - begin) + "\r\n";
      text += "node-0:112:140 [0] NCCL INFO Channel 00/08 :    0   1   2   3   4   5   6   7\n";
      text += "node-0:112:140 [0] NCCL INFO NCCL_ALGO set by environment to Ring\n";
      text += "WARNING: Open MPI will create a shared memory backing file of 12.50 MB\n";
      begin = end + 1;
    }
    const auto read = read_text(text, "1x8.txt");
    ASSERT_TRUE(read.has_value()) << prefix << to_text(read.error());
    EXPECT_EQ(read->rows.size(), 4u) << prefix;
    EXPECT_EQ(first_query(read).ranks, 8);
    EXPECT_THAT(notes_of(*read), HasSubstr("measured with NCCL_ALGO=Ring"));
  }
}

TEST(ImportNcclTests, a_row_that_a_log_line_interrupts_goes_on_behind_it) {
  const std::string apart = "   64000000  16000000  float  sum  -1node-0:112:140 [0] NCCL INFO comm 0x1\n"
                            "node-0:112:140 [0] NCCL INFO Trees [0] 1/-1/-1->0->-1\n"
                            "   1000.0   64.00  112.00   0   1000.0   64.00  112.00   0\n";
  const auto read = read_text(apart, "1x8.txt");
  ASSERT_TRUE(read.has_value()) << to_text(read.error());
  EXPECT_NEAR(read->rows.at(0).time.value(), 1e-3, 1e-12);
  const auto lost = read_text(apart.substr(0, apart.find('\n') + 1) + nccl_all_reduce_rows(), "1x8.txt");
  ASSERT_TRUE(lost.has_value()) << to_text(lost.error());
  EXPECT_EQ(lost->rows.size(), 4u);
  EXPECT_THAT(notes_of(*lost), HasSubstr("1x8.txt:1: a row that another line interrupts is left out"));
}

TEST(ImportNcclTests, pages_that_run_everything_together) {
  std::string text = nccl_header(1, 8) + nccl_device_lines(1, 8) + nccl_names + nccl_all_reduce_rows() +
                     "# Out of bounds values : 0 OK\n";
  std::string flowed;
  for (const char c : text) {
    const char blank = c == '\n' ? ' ' : c;
    if (blank != ' ' || (!flowed.empty() && flowed.back() != ' ')) flowed += blank;
  }
  const auto read = read_text(flowed, "page.txt");
  ASSERT_TRUE(read.has_value()) << to_text(read.error());
  EXPECT_EQ(read->rows.size(), 4u);
  EXPECT_EQ(first_query(read).ranks, 8);
  EXPECT_EQ(read->contexts[0].launch_mode, "8 GPUs per thread");
  EXPECT_EQ(read->contexts[0].device, "NVIDIA H100 80GB HBM3");
}

TEST(ImportNcclTests, several_runs_in_one_log) {
  const std::string first = nccl_header(1, 8) + nccl_device_lines(1, 8) + nccl_names + nccl_all_reduce_rows();
  const std::string second = nccl_header(1, 8) + nccl_device_lines(2, 8) + nccl_names + nccl_all_reduce_rows(1.875);
  const auto read = read_text(first + second);
  ASSERT_TRUE(read.has_value()) << to_text(read.error());
  ASSERT_EQ(read->rows.size(), 8u);
  EXPECT_EQ(first_query(read).ranks, 8);
  EXPECT_EQ(std::get<CollectiveQuery>(read->rows[4].what).ranks, 16);
  EXPECT_EQ(std::get<CollectiveQuery>(read->rows[4].what).nodes, 2);
  EXPECT_EQ(read->contexts.size(), 2u);
}

TEST(ImportNcclTests, the_half_under_in_place_is_not_the_time) {
  const std::string swapped = "#                     in-place                       out-of-place\n" +
                              nccl_names.substr(nccl_names.find('\n') + 1);
  const auto read = read_text(swapped + nccl_all_reduce_rows(), "1x8.txt");
  ASSERT_TRUE(read.has_value()) << to_text(read.error());
  EXPECT_NEAR(read->rows[0].time.value(), 22e-6, 1e-15);
}

TEST(ImportNcclTests, a_row_that_breaks_off_after_its_counts_is_an_error_wherever_it_stands) {
  const std::string text =
      nccl_header(1, 8) + nccl_device_lines(1, 8) + nccl_names + "  16384  4096\n" + nccl_all_reduce_rows();
  const auto read = read_text(text);
  ASSERT_FALSE(read.has_value());
  EXPECT_THAT(read.error().what, HasSubstr("breaks off"));
  EXPECT_THAT(read.error().where, HasSubstr("log.txt:"));
}

}  // namespace
}  // namespace stepcast::calibrate
