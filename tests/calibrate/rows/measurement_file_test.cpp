// Measurement files: what is written reads back the same, and every mistake is named with its place.
#include "calibrate/rows/measurement_file.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "tests/trials.h"

namespace stepcast::calibrate {
namespace {

const char* small_file = R"({
  "stepcast_measurements": 1,
  "contexts": [{"gpu": "h100-sxm", "launch_mode": "graph", "power_limit_w": 700}, {"regime": "sustained"}],
  "gemm": {"columns": ["context", "time_s", "m", "n", "k", "precision"],
           "rows": [[0, 1.2e-05, 128, 4096, 4096, "fp8"], [1, 1, 2, 3, 4, "bf16"]]},
  "collective": {"columns": ["time_s", "kind", "ranks", "bytes"], "rows": [[2e-05, "all_gather", 8, 1024]]},
  "notes": ["by hand"]
})";

TEST(MeasurementFile, a_file_written_by_hand) {
  const auto read = read_measurements(small_file, "m.json");
  ASSERT_TRUE(read.has_value()) << to_text(read.error());
  ASSERT_EQ(read->rows.size(), 3u);
  EXPECT_EQ(read->contexts[0].gpu, "h100-sxm");
  EXPECT_EQ(read->contexts[0].power_limit_w, 700);
  EXPECT_EQ(read->contexts[1].regime, "sustained");
  const auto& gemm = std::get<GemmQuery>(read->rows[0].what);
  EXPECT_EQ(gemm.n, 4096);
  EXPECT_EQ(gemm.precision, Precision::fp8);
  EXPECT_EQ(gemm.batch, 1);
  EXPECT_EQ(read->rows[0].time.value(), 1.2e-05);
  EXPECT_EQ(read->rows[1].context, 1);
  EXPECT_EQ(std::get<CollectiveQuery>(read->rows[2].what).kind, CollectiveKind::all_gather);
  EXPECT_EQ(read->notes, std::vector<std::string>{"by hand"});
}

Query random_measured_query(std::mt19937& random) {
  const auto size = [&] {
    return std::ldexp(1.0 + static_cast<double>(random() % 1000) / 1000, static_cast<int>(random() % 40));
  };
  const auto flip = [&] { return random() % 2 == 0; };
  const auto precision = static_cast<Precision>(random() % 7);
  switch (random() % 5) {
    case 0:
      return GemmQuery{
          size(), size(), size(), size(), precision, flip(), static_cast<GemmLayout>(random() % 3), flip()};
    case 1:
      return AttentionQuery{
          size(), size(), size(), size(), size(), size(), static_cast<AttentionPass>(random() % 4), flip(), precision};
    case 2: return MoeQuery{size(), size(), size(), size(), size(), size(), size(), flip() ? 0 : 1.2, precision};
    case 3: return MemoryQuery{&memory_ops()[random() % memory_ops().size()], size(), size(), flip() ? 2.0 : 4.0};
    default: {
      const auto nodes = static_cast<std::int64_t>(1 + random() % 9);
      return CollectiveQuery{static_cast<CollectiveKind>(random() % 7), 8 * nodes, nodes, Bytes(size())};
    }
  }
}

Measurements random_measurements(std::mt19937& random, int rows, bool plain) {
  Measurements all;
  for (int c = 0; c < 3; ++c) {
    MeasurementContext context;
    context.gpu = "gpu-" + std::to_string(c);
    context.source = "a \"quoted\" path\\and\ttabs";
    context.sm_clock_mhz = 1980.5 * c;
    context.ports_per_node = c;
    context_index(all, context);
  }
  for (int r = 0; r < rows; ++r) {
    Measurement row;
    row.what = random_measured_query(random);
    row.time = Seconds(std::ldexp(1 + static_cast<double>(random()) / 4294967296.0, -static_cast<int>(random() % 30)));
    row.context = static_cast<int>(random() % 3);
    if (!plain && random() % 2) row.low = row.time / 3, row.high = row.time * 3, row.repeats = 7;
    if (!plain && random() % 5 == 0) row.power_w = 345.25, row.throttled = true;
    all.rows.push_back(row);
  }
  all.notes.assign(random() % 2, "a note");
  return all;
}

TEST(MeasurementFile, every_kind_reads_back_the_same) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const Measurements before = random_measurements(random, round % 40, round % 3 == 0);
    const std::string text = write_measurements(before);
    const auto after = read_measurements(text, "m.json");
    ASSERT_TRUE(after.has_value()) << to_text(after.error()) << text;
    EXPECT_EQ(after->contexts, before.contexts);
    EXPECT_EQ(after->notes, before.notes);
    ASSERT_EQ(after->rows.size(), before.rows.size());
    EXPECT_EQ(write_measurements(*after), text);
    double sum_before = 0, sum_after = 0;
    for (const Measurement& row : before.rows)
      sum_before += std::log(row.time.value()) * (1 + row.context) + row.power_w;
    for (const Measurement& row : after->rows)
      sum_after += std::log(row.time.value()) * (1 + row.context) + row.power_w;
    EXPECT_NEAR(sum_before, sum_after, 1e-9 * std::abs(sum_before));
  }
}

TEST(MeasurementFile, columns_of_defaults_are_left_out) {
  Measurements all;
  context_index(all, {});
  Measurement row;
  row.what = GemmQuery{2, 3, 4};
  row.time = Seconds(0.5);
  all.rows = {row, row};
  const std::string text = write_measurements(all);
  EXPECT_NE(text.find(R"("columns": ["context", "time_s", "m", "n", "k"])"), std::string::npos) << text;
  EXPECT_NE(text.find("[0, 0.5, 2, 3, 4]"), std::string::npos) << text;
  EXPECT_EQ(text.find("collective"), std::string::npos);
}

TEST(MeasurementFile, mistakes_name_their_place) {
  struct Case {
    const char *from, *to, *where, *hint;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"\"n\", \"k\"", "\"n\", \"q\"", "m.json:/gemm/columns/4", ""},
           {"\"n\", \"k\"", "\"n\", \"n\"", "m.json:/gemm/columns/4", "keep one"},
           {"\"m\", \"n\"", "\"batch\", \"n\"", "m.json:/gemm/columns", "needs it"},
           {"\"fp8\"", "\"fp9\"", "m.json:/gemm/rows/0/5", "fp8"},
           {"1.2e-05", "-1.2e-05", "m.json:/gemm/rows/0/1", "above 0"},
           {"1.2e-05", "\"12 us\"", "m.json:/gemm/rows/0/1", "above 0"},
           {"1.2e-05", "1e-999", "m.json:/gemm/rows/0/1", "above 0"},
           {"[1, 1, 2", "[2, 1, 2", "m.json:/gemm/rows/1/0", "2 contexts"},
           {"[1, 1, 2, 3", "[1, 1, 2", "m.json:/gemm/rows/1", "6 columns"},
           {"\"all_gather\", 8", "\"all_gather\", 8.5", "m.json:/collective/rows/0/2", "whole"},
           {"\"all_gather\"", "\"allgather\"", "m.json:/collective/rows/0/1", "all_gather"},
           {"\"notes\"", "\"note\"", "m.json:/note", "notes"},
           {"measurements\": 1", "measurements\": 2", "m.json:/stepcast_measurements", "1"},
           {"sustained", "hot", "m.json:/contexts/1/regime", "burst"},
           {"launch_mode", "launch", "m.json:/contexts/0/launch", "launch_mode"},
           {"[\"by hand\"]", "\"by hand\"", "m.json:/notes", "list"},
           {"\"rows\": [[2e-05", "\"lines\": [[2e-05", "m.json:/collective/lines", "rows"},
       }) {
    std::string text = small_file;
    text.replace(text.find(c.from), std::string(c.from).size(), c.to);
    const auto read = read_measurements(text, "m.json");
    ASSERT_FALSE(read.has_value()) << c.to;
    EXPECT_EQ(read.error().where, c.where) << to_text(read.error());
    EXPECT_NE(read.error().hint.find(c.hint), std::string::npos) << to_text(read.error());
  }
  EXPECT_FALSE(read_measurements("[]", "m.json").has_value());
  EXPECT_FALSE(read_measurements(std::string(small_file).substr(0, 300), "m.json").has_value());
}

TEST(MeasurementFile, a_hundred_thousand_rows) {
  std::mt19937 random(1);
  const std::string text = write_measurements(random_measurements(random, trials(100'000), true));
  const auto read = read_measurements(text, "m.json");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->rows.size(), trials(100'000U));
}

}  // namespace
}  // namespace stepcast::calibrate
