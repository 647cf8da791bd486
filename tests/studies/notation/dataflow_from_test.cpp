// Other tools' files through the dataflow command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/studies/run_program.h"

namespace stepcast::notation {
namespace {

using testing::HasSubstr;

TEST(DataflowFrom, TimeloopsFilesAreCounted) {
  const std::string file = std::string(STEPCAST_SOURCE_DIR) + "/examples/timeloop_ws.yaml";
  const auto ran = testing_program::run_line("dataflow --from timeloop " + file + " --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto report = nlohmann::json::parse(ran.out);
  const auto& buffer = report.at("levels").at(0);
  EXPECT_EQ(buffer.at("name"), "GlobalBuffer");
  EXPECT_EQ(buffer.at("tensors").at("Inputs").at("reads"), 65536);
  EXPECT_EQ(buffer.at("tensors").at("Weights").at("reads"), 8192);
  EXPECT_EQ(buffer.at("tensors").at("Outputs").at("updates"), 65536);
  EXPECT_EQ(report.at("macs"), 128 * 128 * 64);
}

TEST(DataflowFrom, UnknownToolsAndSecondFilesAreRefused) {
  const std::string file = std::string(STEPCAST_SOURCE_DIR) + "/examples/timeloop_ws.yaml";
  const auto unknown = testing_program::run_line("dataflow --from timelop " + file);
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'timeloop'?"));
  const auto second = testing_program::run_line("dataflow a.flow b.flow");
  EXPECT_EQ(second.code, 2);
  EXPECT_THAT(second.err, HasSubstr("b.flow: a second file"));
}

}  // namespace
}  // namespace stepcast::notation
