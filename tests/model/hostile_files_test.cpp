// Damaged files: whatever a reader is given, it answers with a value or one Error, and never crashes or hangs.
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "model/catalog.h"
#include "model/failure_rates.h"
#include "model/base/embedded.h"

namespace stepcast {
namespace {

/// One to three bytes replaced, dropped or doubled.
std::string damaged(std::string text, std::mt19937& random) {
  const int times = 1 + static_cast<int>(random() % 3);
  for (int i = 0; i < times && !text.empty(); ++i) {
    const std::size_t at = random() % text.size();
    switch (random() % 4) {
      case 0: text[at] = static_cast<char>(random() % 256); break;
      case 1: text.erase(at, 1 + random() % 5); break;
      case 2: text.insert(at, text.substr(at, random() % 40)); break;
      default: text[at] = "0123456789\"{}[],:-"[random() % 18];
    }
  }
  return text;
}

/// True when the file was refused; a refusal says where and what.
bool refused(std::string_view name, const std::string& text) {
  const auto check = [](const auto& row) {
    if (row) return false;
    EXPECT_FALSE(row.error().where.empty());
    EXPECT_FALSE(row.error().what.empty());
    EXPECT_LT(to_text(row.error()).size(), 2000u);
    return true;
  };
  const std::string where(name);
  if (name.starts_with("networks/")) return check(read_network(text, where));
  if (name.starts_with("gpus/")) return check(read_gpu(text, where));
  if (name.starts_with("machines/")) return check(read_machine(text, where, built_in().gpus));
  if (name.starts_with("stacks/")) return check(read_stack(text, where));
  if (name.starts_with("failures/")) return check(read_failure_rates(text, where));
  if (name.starts_with("kernels/")) {
    const std::string id(name.substr(8, name.size() - 8 - 5));
    return check(with_kernel_part((*find_row(built_in().profiles, id, "profile"))->steps(), text, where));
  }
  return check(read_profile(text, where));
}

TEST(HostileFiles, DamagedCatalogueFilesAreReadOrRefused) {
  std::mt19937 random(1);
  int all = 0, bad = 0;
  for (const EmbeddedFile& file : embedded_catalog()) {
    if (file.text.size() > 20'000) continue;
    for (int i = 0; i < 60; ++i, ++all) bad += refused(file.name, damaged(std::string(file.text), random));
  }
  EXPECT_GT(bad, all / 3) << "most damage hits syntax, keys or values; the rest lies in texts such as the source";
}

TEST(HostileFiles, EveryKeyIsNeededOrKnown) {
  for (const EmbeddedFile& file : embedded_catalog()) {
    std::string text(file.text);
    EXPECT_TRUE(refused(file.name, text.insert(text.find('{') + 1, "\"surprise\": 1,"))) << file.name;
  }
}

TEST(HostileFiles, TheLargestMachineIsCheckedInTime) {
  Machine machine = **find_row(built_in().machines, "gb200-nvl72", "machine");
  machine.levels[0].gpus = 1024;
  machine.levels[1].gpus = 1024 * 1024;
  machine.levels[1].ports = 4096;
  EXPECT_TRUE(check_fabric(machine)) << "four NICs of 50 GB/s per GPU carry the claimed 50";
  machine.levels[1].bandwidth_per_gpu = BytesPerSecond(200.5e9);
  machine.host_link = BytesPerSecond(1e12);
  EXPECT_TRUE(check_fabric(machine)) << "200 GB/s, within rounding";
  machine.levels[1].bandwidth_per_gpu = BytesPerSecond(202e9);
  EXPECT_FALSE(check_fabric(machine));
}

}  // namespace
}  // namespace stepcast
