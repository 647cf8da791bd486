// Repeats, outliers and copies among measurements.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/import/importer.h"

namespace stepcast::calibrate {
namespace {

using testing::HasSubstr;

Measurement all_reduce_of(double bytes, double us, int context = 0) {
  Measurement row;
  row.what = CollectiveQuery{CollectiveKind::all_reduce, 8, 1, Bytes(bytes)};
  row.time = Seconds(us * 1e-6);
  row.context = context;
  return row;
}

Measurements of_gpus(const std::vector<const char*>& gpus) {
  Measurements all;
  for (const char* gpu : gpus) {
    MeasurementContext context;
    context.gpu = gpu;
    all.contexts.push_back(context);
  }
  return all;
}

std::string joined_notes(const Measurements& all) {
  std::string text;
  for (const std::string& note : all.notes) text += note + "\n";
  return text;
}

TEST(Condense, repeats_become_their_median_and_keep_their_spread) {
  Measurements all = of_gpus({"h100-sxm", "b200-sxm"});
  all.rows = {all_reduce_of(1024, 12), all_reduce_of(1024, 30), all_reduce_of(1024, 10), all_reduce_of(2048, 13),
      all_reduce_of(1024, 40, 1)};
  const Measurements few = condensed(all);
  ASSERT_EQ(few.rows.size(), 3u);
  EXPECT_NEAR(few.rows[0].time.value(), 12e-6, 1e-15);
  EXPECT_NEAR(few.rows[0].low.value(), 10e-6, 1e-15);
  EXPECT_NEAR(few.rows[0].high.value(), 30e-6, 1e-15);
  EXPECT_EQ(few.rows[0].repeats, 3);
  EXPECT_EQ(few.rows[1].repeats, 1);
  EXPECT_EQ(few.rows[1].low.value(), 0);
  EXPECT_EQ(few.rows[2].context, 1);
  EXPECT_THAT(joined_notes(few), HasSubstr("5 rows became 3: 1 were timed more than once"));
}

TEST(Condense, throttled_repeats_count_only_where_there_are_no_others) {
  Measurements all = of_gpus({"h100-sxm"});
  all.rows = {all_reduce_of(1024, 12), all_reduce_of(1024, 90), all_reduce_of(2048, 90)};
  all.rows[1].throttled = all.rows[2].throttled = true;
  const Measurements few = condensed(all);
  ASSERT_EQ(few.rows.size(), 2u);
  EXPECT_NEAR(few.rows[0].time.value(), 12e-6, 1e-15);
  EXPECT_FALSE(few.rows[0].throttled);
  EXPECT_TRUE(few.rows[1].throttled);
}

/// 10 us and 1 us for each 100 kB: 1 KiB to 16 MiB in doublings.
Measurements smooth_sweep() {
  Measurements all = of_gpus({"h100-sxm"});
  for (double bytes = 1024; bytes <= 16777216; bytes *= 2) all.rows.push_back(all_reduce_of(bytes, 10 + bytes * 1e-5));
  return all;
}

TEST(Condense, a_row_beside_its_neighbours_is_named) {
  EXPECT_EQ(joined_notes(condensed(smooth_sweep())), "");
  for (const std::size_t at : {0, 1, 4, 9, 13, 14}) {
    for (const double factor : {0.3, 3.0}) {
      if (at == 14 && factor < 1) continue;  // a curve may flatten behind its last neighbour
      Measurements all = smooth_sweep();
      all.rows[at].time = all.rows[at].time * factor;
      const Measurements named = condensed(all);
      EXPECT_EQ(named.rows.size(), all.rows.size());
      EXPECT_THAT(joined_notes(named), HasSubstr("1 outliers")) << at << " x " << factor;
      EXPECT_THAT(
          joined_notes(named), HasSubstr("all_reduce over 8 ranks, size " + std::to_string(1024LL << at) + " in"))
          << at;
    }
  }
}

TEST(Condense, noise_everywhere_names_no_row) {
  Measurements all = smooth_sweep();
  for (std::size_t i = 0; i < all.rows.size(); ++i)
    all.rows[i].time = all.rows[i].time * (i % 3 == 0 ? 4.0 : i % 3 == 1 ? 1.0 : 0.3);
  EXPECT_EQ(joined_notes(condensed(all)), "");
}

TEST(Condense, copied_tables_are_named) {
  Measurements all = of_gpus({"a100-80gb", "h100-sxm", "h200-sxm"});
  for (int i = 0; i < 8; ++i) {
    const double bytes = std::ldexp(1024.0, i);
    all.rows.push_back(all_reduce_of(bytes, 10 + 1.37 * i, 0));
    all.rows.push_back(all_reduce_of(bytes, 10 + 1.37 * i, 1));
    all.rows.push_back(all_reduce_of(bytes, i == 3 ? 10 + 1.37 * i : 8 + 1.21 * i, 2));  // one coincidence
  }
  const std::string notes = joined_notes(condensed(all));
  EXPECT_THAT(notes,
      HasSubstr("all_reduce over 8 ranks: 8 of 8 times are the same to the last digit in [a100-80gb] and [h100-sxm]"));
  EXPECT_EQ(notes.find("h200"), std::string::npos) << notes;
}

TEST(Condense, every_kind_of_query_keeps_apart_what_differs) {
  Measurements all = of_gpus({"h100-sxm"});
  const auto add = [&](const Query& what) {
    Measurement row;
    row.what = what;
    row.time = Seconds(1e-5);
    all.rows.push_back(row);
  };
  add(GemmQuery{64, 64, 64});
  add(GemmQuery{64, 64, 64, 1, Precision::fp8});
  add(GemmQuery{64, 64, 64, 1, Precision::fp8, true});
  add(AttentionQuery{1, 64, 64});
  add(AttentionQuery{1, 32, 64});
  add(AttentionQuery{1, 64, 64, 1, 1, 128, AttentionPass::backward});
  add(MoeQuery{64, 64, 64, 2, 8});
  add(MoeQuery{64, 64, 64, 2, 8, 1, 1, 1.2});
  add(MemoryQuery{find_memory_op("norm"), 64, 64});
  add(MemoryQuery{find_memory_op("softmax"), 64, 64});
  add(CollectiveQuery{CollectiveKind::all_reduce, 8, 1, Bytes(64)});
  add(CollectiveQuery{CollectiveKind::all_reduce, 8, 2, Bytes(64)});
  EXPECT_EQ(condensed(all).rows.size(), all.rows.size());
}

}  // namespace
}  // namespace stepcast::calibrate
