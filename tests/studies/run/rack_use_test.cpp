// Racks that hold more GPUs than a power of two.
#include "studies/run/rack_use.h"

#include <gtest/gtest.h>

#include "model/catalog.h"
#include "tests/studies/run_program.h"

namespace stepcast::run {
namespace {

std::int64_t gpus_per_rack(std::int64_t rack, std::int64_t job) {
  Machine machine = **find_row(built_in().machines, "gb200-nvl72", "machine");
  machine.levels.front().gpus = rack;
  const bool said = !take_segments(machine, job).empty();
  EXPECT_EQ(said, machine.levels.front().gpus != rack);
  return machine.levels.front().gpus;
}

TEST(Segments, JobsBeyondARackTakeWholeTrays) {
  EXPECT_EQ(gpus_per_rack(72, 256), 64);
  EXPECT_EQ(gpus_per_rack(72, 64), 72) << "fits one rack";
  EXPECT_EQ(gpus_per_rack(72, 144), 72) << "fills two";
  EXPECT_EQ(gpus_per_rack(72, 100), 72) << "no number of trays";
  EXPECT_EQ(gpus_per_rack(8, 256), 8);
  EXPECT_EQ(gpus_per_rack(6, 256), 6) << "nodes of six have jobs that fill them";
}

TEST(Segments, ForecastsOnRacksSaySo) {
  const auto ran =
      testing_program::run_line("predict llama3-8b --machine gb200-nvl72 --gpus 128 --tp 8 --global-batch 128");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("64 of the 72 GPUs of each"), std::string::npos) << ran.out;
}

}  // namespace
}  // namespace stepcast::run
