// nccl-tests' JSON as src/util.cu there writes it: numbers with six decimals, switches as texts, one device per
// process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/import/importer.h"
#include "tests/calibrate/nccl_sample.h"

namespace stepcast::calibrate {
namespace {

using testing::HasSubstr;

/// Two processes with four GPUs each: 8 ranks, 64 MB in 1000 us.
const std::string nccl_json =
    R"({"version":3,"start_time":"2026-03-01 10:11:12",
"args":["./build/all_reduce_perf","-g","4","-J","o.json"],
"env":["HOME=/root","HF_TOKEN=secret","NCCL_ALGO=Ring"],"nccl_version":22606,
"config":{"nthreads":1,"ngpus":4,"minimum_bytes":1000,"maximum_bytes":64000000,"step_factor":2,
"warmup_iters":1,"iterations":20,
"aggregated_iterations":1,"validation":1,"graph":0,"blocking_collectives":"false",
"parallel_init":"false",
"devices":[{"rank":0,"group":0,"pid":7,"hostname":"node-0","device":0,
"device_hex":"0000:10:00",
"device_info":"NVIDIA H100 80GB HBM3"},
{"rank":4,"group":0,"pid":7,"hostname":"node-1","device":0,
"device_hex":"0000:10:00",
"device_info":"NVIDIA H100 80GB HBM3"}]},
"results":[{"size":0,"count":0,"type":"float","redop":"sum","root":"    -1",
"out_of_place":{"time":0.1,"alg_bw":0.000000,"bus_bw":0.000000,"nwrong":0.000000},
"in_place":{"time":0.1,"alg_bw":0.000000,"bus_bw":0.000000,"nwrong":0.000000},
"actual_iterations":20,"experiment_name":""},
{"size":64000000,"count":16000000,"type":"float","redop":"sum","root":"    -1",
"out_of_place":{"time":1000.000000,"alg_bw":64.000000,"bus_bw":112.000000,"nwrong":0.000000},
"out_of_place_per_iter":{"skipped_iterations":0,"min_us":900.0,"max_us":1300.0,"times_us":[900.0,1300.0]},
"in_place":{"time":1250.000000,"alg_bw":51.200000,"bus_bw":89.600000,"nwrong":null},
"actual_iterations":20,"experiment_name":""}],
"out_of_bounds":{"count":0,"okay":"true"},
"average_bus_bandwidth":{"bandwidth":100.8,"okay":"unchecked"},
"errors":[],
"end_time":"2026-03-01 10:12:12"})";

TEST(ImportNcclJson, a_run_of_two_processes) {
  EXPECT_GT(recognise_nccl_json(nccl_json, "o.json"), 0);
  EXPECT_EQ(recognise_nccl_tests(nccl_json, "o.json"), 0);
  const auto read = read_nccl_json(nccl_json, "o.json", {});
  ASSERT_TRUE(read.has_value()) << to_text(read.error());
  ASSERT_EQ(read->rows.size(), 1u);
  const auto& query = std::get<CollectiveQuery>(read->rows[0].what);
  EXPECT_EQ(query.kind, CollectiveKind::all_reduce);
  EXPECT_EQ(query.ranks, 8);
  EXPECT_EQ(query.nodes, 2);
  EXPECT_NEAR(read->rows[0].time.value(), 1e-3, 1e-12);
  EXPECT_NEAR(read->rows[0].low.value(), 900e-6, 1e-12);
  const MeasurementContext& context = read->contexts.at(0);
  EXPECT_EQ(context.nccl, "2.26.6");
  EXPECT_EQ(context.date, "2026-03-01");
  EXPECT_EQ(context.gpu, "h100-sxm");
  EXPECT_EQ(context.machine, "node-0, node-1");
  EXPECT_EQ(context.launch_mode, "4 GPUs per thread");
}

TEST(ImportNcclJson, the_environment_is_not_kept_but_for_the_algorithm) {
  const auto read = read_nccl_json(nccl_json, "o.json", {});
  ASSERT_TRUE(read.has_value()) << to_text(read.error());
  std::string notes;
  for (const std::string& note : read->notes) notes += note + "\n";
  EXPECT_THAT(notes, HasSubstr("measured with NCCL_ALGO=Ring"));
  EXPECT_THAT(notes, HasSubstr("1 rows of size 0"));
  EXPECT_EQ(notes.find("secret"), std::string::npos);
}

TEST(ImportNcclJson, mistakes_name_their_place) {
  struct Case {
    const char *from, *to, *says;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"\"time\":1000.000000", "\"time\":\"fast\"", "o.json:/results/1/out_of_place/time"},
           {"\"time\":1000.000000", "\"time\":100.000000", "o.json:/results/1: 64000000 bytes in 100"},
           {"\"time\":1000.000000", "\"cpu_time\":1000.000000", "cpu_time"},
           {"\"bus_bw\":112.000000", "\"bus_bw\":110.000000", "o.json:/results/1: busbw"},
           {"\"count\":16000000", "\"count\":1600000", "no collective over a whole number"},
           {"16000000,\"type\":\"float\"", "16000000,\"type\":\"flaot\"", "o.json:/results/1/type"},
           {"\"ngpus\":4", "\"ngpus\":-4", "o.json:/config/ngpus"},
           {"\"config\"", "\"configuration\"", "o.json:/config"},
           {"all_reduce_perf", "alltoallv_perf", "alltoallv"},
           {"all_reduce_perf", "broadcast_perf", "not of broadcast"},
       }) {
    std::string text = replaced_once(nccl_json, c.from, c.to);
    const auto read = read_nccl_json(text, "o.json", {});
    ASSERT_FALSE(read.has_value()) << c.to;
    EXPECT_THAT(to_text(read.error()), HasSubstr(c.says));
  }
  EXPECT_FALSE(read_nccl_json(nccl_json.substr(0, nccl_json.size() / 2), "o.json", {}).has_value());
}

}  // namespace
}  // namespace stepcast::calibrate
