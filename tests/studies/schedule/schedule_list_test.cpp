// What `list schedules` says of the kinds.
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::schedule {
namespace {

using ListedJson = nlohmann::json;

TEST(ScheduleList, ListsHowManyChunksAKindTakes) {
  const auto ran = testing_program::run_line("list schedules --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::map<std::string, std::string> chunks;
  const auto listed = ListedJson::parse(ran.out);
  for (const auto& row : listed.at("schedules")) chunks[row.at("id")] = row.at("chunks");
  EXPECT_EQ(chunks["1f1b"], "1");
  EXPECT_EQ(chunks["zb-v"], "2");
  EXPECT_EQ(chunks["interleaved-1f1b"], "2 or more");
  for (const char* id : {"gis", "looped-bfs", "interleaved-flex", "interleaved-zb"}) {
    EXPECT_EQ(chunks[id], "1 or more") << id;
    const auto one = testing_program::run_line(
        std::string("schedule ") + id + " --stages 2 --micro-batches 4 --forward 1 --input-grad 1 --weight-grad 1");
    EXPECT_EQ(one.code, 0) << one.err;
  }
}

}  // namespace
}  // namespace stepcast::schedule
