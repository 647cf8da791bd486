// Which reader takes a text, and contexts merged with what the user says.
#include "calibrate/import/importer.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/rows/measurement_context.h"
#include "calibrate/rows/measurement_file.h"
#include "tests/calibrate/nccl_sample.h"

namespace stepcast::calibrate {
namespace {

using testing::HasSubstr;

const char* own_file = R"({"stepcast_measurements": 1, "contexts": [{"gpu": "h100-sxm"}],
  "gemm": {"columns": ["context", "time_s", "m", "n", "k"], "rows": [[0, 1e-05, 1, 2, 3]]}})";

TEST(Importer, the_surest_format_reads) {
  const auto own = import_text(own_file, "m.json", "", {});
  ASSERT_TRUE(own.has_value()) << to_text(own.error());
  EXPECT_EQ(own->contexts[0].source, "m.json");
  const auto log = import_text(nccl_names + nccl_all_reduce_rows(), "runs/1x8.txt", "", {});
  ASSERT_TRUE(log.has_value()) << to_text(log.error());
  EXPECT_EQ(log->contexts[0].source, "runs/1x8.txt");
  EXPECT_EQ(log->rows.size(), 4u);
}

TEST(Importer, formats_are_named_once_and_listed_where_none_fits) {
  std::set<std::string_view> ids;
  for (const ImportFormat& format : import_formats()) {
    EXPECT_TRUE(ids.insert(format.id).second) << format.id;
    EXPECT_FALSE(format.about.empty());
  }
  const auto unknown = import_text("a poem\n", "p.txt", "", {});
  ASSERT_FALSE(unknown.has_value());
  EXPECT_THAT(to_text(unknown.error()), HasSubstr("nccl-tests"));
  EXPECT_THAT(to_text(import_text("x", "p.txt", "ncc-tests", {}).error()), HasSubstr("did you mean 'nccl-tests'?"));
  EXPECT_THAT(to_text(import_text("", "p.txt", "", {}).error()), HasSubstr("empty"));
}

TEST(Importer, what_the_user_says_fills_and_may_not_contradict) {
  ImportOptions options;
  options.context.driver = "570.1";
  options.context.regime = "sustained";
  options.context.power_limit_w = 700;
  const auto filled = import_text(own_file, "m.json", "", options);
  ASSERT_TRUE(filled.has_value()) << to_text(filled.error());
  EXPECT_EQ(filled->contexts[0].driver, "570.1");
  EXPECT_EQ(filled->contexts[0].regime, "sustained");
  EXPECT_EQ(filled->contexts[0].gpu, "h100-sxm");
  options.context.gpu = "b200-sxm";
  const auto refused = import_text(own_file, "m.json", "", options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().what, HasSubstr("gpu h100-sxm"));
}

TEST(Importer, contexts_merge_field_by_field) {
  MeasurementContext found, said;
  found.regime = "sustained";
  found.sm_clock_mhz = 1980;
  found.ports_per_node = 8;
  said.nccl = "2.26.6";
  const auto merged = merged_context(found, said, "f");
  ASSERT_TRUE(merged.has_value());
  EXPECT_EQ(merged->regime, "sustained");  // burst is what a context says that nobody set
  EXPECT_EQ(merged->nccl, "2.26.6");
  said.sm_clock_mhz = 1755;
  EXPECT_THAT(to_text(merged_context(found, said, "f").error()), HasSubstr("sm_clock_mhz 1980"));
  said.sm_clock_mhz = 0;
  said.ports_per_node = 4;
  EXPECT_THAT(to_text(merged_context(found, said, "f").error()), HasSubstr("ports_per_node"));
}

}  // namespace
}  // namespace stepcast::calibrate
