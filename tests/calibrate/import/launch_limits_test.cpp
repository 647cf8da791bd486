// Texts of megabytes that only look like scripts: they are read in seconds and within bounds.
#include <gtest/gtest.h>

#include "calibrate/import/scripts/launch_arguments.h"
#include "tests/trials.h"

namespace stepcast::calibrate {
namespace {

// Words that come to nothing, one after the other, were one call inside the other.
TEST(LaunchLimits, WordsOfNothingWithoutEnd) {
  const std::string closing(1'000'000, ')');
  const auto found =
      find_launches("#SBATCH " + closing + "\n#SBATCH --nodes=2\ntorchrun --nproc_per_node 8 p.py --a 1\n", "f");
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ(found->front().gpus(), 16);
}

// What each command is told of its surroundings must not grow with their product.
TEST(LaunchLimits, ThousandsOfCommandsAndExports) {
  std::string exports, files = "cat <<EOT > a.json\n" + std::string(400'000, 'x') + "\nEOT\n";
  for (int i = 0; i < trials(10'000); ++i) {
    const std::string number = std::to_string(i);
    exports += "export A" + number + "=1\nif [ -z \"$B" + number + "\" ]; then\nC=1\nfi\ntorchrun p.py --a 1\n";
    files += "torchrun p.py --a 1\n";
  }
  const auto found = find_launches(exports, "f");
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), trials(10'000U));
  EXPECT_EQ(found->front().exported.size(), 1u);
  std::size_t told = 0;
  for (const LaunchLine& launch : *found) told += launch.exported.size() + launch.notes.size();
  EXPECT_LT(told, 5'000'000u);
  const auto written = find_launches(files, "f");
  ASSERT_TRUE(written);
  ASSERT_EQ(written->size(), trials(10'000U));
  EXPECT_EQ(written->front().files.size(), 1u);
  EXPECT_TRUE(written->back().files.empty());
}

}  // namespace
}  // namespace stepcast::calibrate
