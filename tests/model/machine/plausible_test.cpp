// Every rate, size and time of a file lies within its row of the table: what is beyond is refused with place and
// reason.
#include <gtest/gtest.h>

#include "model/catalog.h"

namespace stepcast {
namespace {

std::string with_value(std::string text, const std::string& key, const std::string& value) {
  const std::size_t at = text.find("\"" + key + "\": ");
  if (at == std::string::npos) return "no such key";
  const std::size_t begin = at + key.size() + 4, end = text.find_first_of(",}\n", begin);
  return text.replace(begin, end - begin, value);
}

std::string machine_refusal(const std::string& key, const std::string& value) {
  const std::string text = write_machine(**find_row(built_in().machines, "dgx-h100", "machine"));
  const auto read = read_machine(with_value(text, key, value), "m.json", built_in().gpus);
  return read ? "accepted" : to_text(read.error());
}

std::string stack_refusal(const std::string& key, const std::string& value) {
  const std::string text = write_stack(**find_row(built_in().stacks, "megatron-core", "stack"));
  const auto read = read_stack(with_value(text, key, value), "s.json");
  return read ? "accepted" : to_text(read.error());
}

TEST(Plausible, RatesBelowAndAboveWhatExistsAreRefused) {
  for (const char* key : {"bf16", "fp8"})
    for (const char* value : {"\"1e-320 FLOP/s\"", "\"1e-300 FLOP/s\"", "\"1 FLOP/s\"", "\"9 EFLOP/s\""})
      EXPECT_NE(machine_refusal(key, value), "accepted") << key << value;
  for (const char* key : {"memory_bandwidth", "scale_up_bandwidth", "bandwidth_per_gpu", "port_bandwidth", "host_link"})
    for (const char* value : {"\"1e-320 B/s\"", "\"1e-300 B/s\"", "\"1 B/s\"", "\"9000 TB/s\""})
      EXPECT_NE(machine_refusal(key, value), "accepted") << key << value;
}

TEST(Plausible, SizesTimesAndCountsThatWouldBeIgnoredAreRefusedWithPlaceAndReason) {
  EXPECT_EQ(machine_refusal("latency", "\"1 h\"").find("m.json:/levels/0/latency"), 0U);
  EXPECT_NE(machine_refusal("latency", "\"1 h\"").find("light goes 30 cm in 1 ns"), std::string::npos);
  EXPECT_NE(machine_refusal("multiprocessors", "1"), "accepted");
  EXPECT_NE(machine_refusal("l2", "\"1 B\""), "accepted");
  EXPECT_NE(machine_refusal("memory", "\"1 B\""), "accepted");
  EXPECT_NE(machine_refusal("host_memory", "\"1 B\""), "accepted");
  EXPECT_NE(stack_refusal("gradient_bucket", "\"1 B\""), "accepted");
  for (const char* key : {"host_per_launch", "host_per_step", "data_wait"})
    EXPECT_NE(stack_refusal(key, "\"30 d\""), "accepted") << key;
  EXPECT_EQ(stack_refusal("gradient_bucket", "\"0 B\""), "accepted") << "none at all";
}

TEST(Plausible, WhatTheCatalogueHoldsIsPlausible) {
  for (const Machine& machine : built_in().machines)
    EXPECT_TRUE(read_machine(write_machine(machine), machine.id, built_in().gpus)) << machine.id;
  for (const Stack& stack : built_in().stacks) EXPECT_TRUE(read_stack(write_stack(stack), stack.id)) << stack.id;
}

/// Times of a large product on a GPU whose peak somebody multiplied.
double large_product_rate(double factor) {
  Gpu gpu = **find_row(built_in().gpus, "h100-sxm", "gpu");
  for (FlopsPerSecond& peak : gpu.peak) peak = peak * factor;
  const Profile profile = default_profile(gpu, built_in().profiles);
  return find_gemm(profile, Precision::bf16)->compute.value() / profile.sustained_slowdown;
}

TEST(DescribedGpu, APeakThatSomebodyChangesChangesTheRateByAsMuch) {
  const double own = large_product_rate(1);
  for (const double factor : {0.5, 2.0, 4.0, 100.0}) EXPECT_NEAR(large_product_rate(factor) / own / factor, 1, 1e-9);
}

}  // namespace
}  // namespace stepcast
