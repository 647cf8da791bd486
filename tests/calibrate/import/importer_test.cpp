// Which reader takes a text, and contexts merged with what the user says.
#include "calibrate/import/importer.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/rows/device_name.h"
#include "calibrate/rows/measurement_context.h"
#include "calibrate/rows/measurement_file.h"
#include "tests/calibrate/nccl_sample.h"

namespace stepcast::calibrate {
namespace {

using testing::AnyOf;
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

/// The shortest files of each format that names its device.
std::vector<std::string> files_of_device(const std::string& name) {
  const std::string row = "8,8,8,bf16,10,";
  return {nccl_header(1, 8) + nccl_device_lines(1, 8, name.c_str()) + nccl_names + nccl_all_reduce_rows(),
      R"({"nccl_version": 2804, "args": ["all_gather_perf"], "config": {"nthreads": 8, "ngpus": 1, "devices": [{"rank": 0,
"hostname": "n", "device": 0, "device_info": ")" +
          name + R"("}]}, "results": [{"size": 64000000, "count": 2000000, "type":
"float", "redop": "none", "root": "-1", "out_of_place": {"time": 1000.0, "alg_bw": 64.0, "bus_bw": 56.0}}]})",
      "m,n,k,dtype,time_us,device\n" + row + name + "\n",
      R"({"meta": {"version": {"nvbench": 1}}, "devices": [{"id": 0, "name": ")" + name + R"("}], "benchmarks":
[{"name": "gemm", "states": [{"device": 0, "axis_values": [{"name": "m", "value": "8"}, {"name": "n", "value": "8"},
{"name": "k", "value": "8"}, {"name": "dtype", "value": "bf16"}], "summaries": [{"tag": "nv/cold/time/gpu/mean",
"data": [{"name": "value", "value": "1e-5"}]}]}]}]})",
      R"({"context": {"GPU_Name": ")" + name + R"("}, "benchmarks": [{"name": "gemm/m:8/n:8/k:8/dtype:bf16",
"real_time": 10, "time_unit": "us"}]})",
      "Start (ns),Duration (ns),Device,Name\n1,10000," + name + " (0),gemm m=8 n=8 k=8 dtype=bf16/gemm\n",
      R"({"deviceProperties": [{"id": 0, "name": ")" + name + R"("}], "traceEvents": [{"cat": "cpu_op", "name":
"aten::mm", "args": {"External id": 1, "Input Dims": [[8, 8], [8, 8]], "Input type": ["c10::Half", "c10::Half"]}},
{"cat": "kernel", "name": "gemm", "dur": 10, "args": {"External id": 1}}]})"};
}

TEST(Importer, a_file_of_another_device_is_refused_with_both_names_in_every_format) {
  ImportOptions options;
  options.context.gpu = "h100-sxm";
  for (const std::string& text : files_of_device("NVIDIA H100 80GB HBM3")) {
    const auto rows = import_text(text, "1x8", "", options);
    ASSERT_TRUE(rows.has_value()) << text << to_text(rows.error());
    EXPECT_EQ(rows->contexts[0].device, "NVIDIA H100 80GB HBM3") << text;
  }
  // One that the catalogue does not know, and one that it does.
  for (const char* name : {"NVIDIA GB10", "NVIDIA A100-SXM4-80GB"}) {
    for (const std::string& text : files_of_device(name)) {
      const auto rows = import_text(text, "1x8", "", options);
      ASSERT_FALSE(rows.has_value()) << text;
      EXPECT_THAT(rows.error().what, HasSubstr("h100-sxm")) << text;
      EXPECT_THAT(rows.error().what, AnyOf(HasSubstr("GB10"), HasSubstr("a100-80gb"))) << text;
      EXPECT_FALSE(rows.error().hint.empty());
    }
  }
}

TEST(Importer, a_device_that_says_more_of_the_same_model_or_none_may_be_the_gpu) {
  for (const char* name : {"NVIDIA H100 80GB HBM3 MIG 7g.80gb", "NVIDIA Graphics Device", "H100"})
    EXPECT_TRUE(check_device(name, "h100-sxm", "f").has_value()) << name;
  EXPECT_FALSE(check_device("NVIDIA H100 PCIe", "h100-sxm", "f").has_value());  // the catalogue has it as another
  EXPECT_TRUE(check_device("Some Card X1", "not-in-the-catalogue", "f").has_value());
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
