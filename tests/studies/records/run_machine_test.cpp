// The machine of a record: what its words on the network say, and what a machine was like for a while.
#include <gtest/gtest.h>

#include <algorithm>

#include "studies/records/run_machine.h"

namespace stepcast::records {
namespace {

Run on_machine(
    const char* id, const char* gpu = "A100-80GB-SXM", const char* source = "bigscience-workshop/bigscience 9e64edec") {
  Run run;
  run.id = id;
  run.source = source;
  run.hardware.gpu = gpu;
  run.hardware.gpus_per_node = 8;
  run.hardware.inter_node = "Omni-Path, 4 links per node";
  run.hardware.inter_node_gbit_per_s = 50;
  run.parallel.gpus = 64;
  return run;
}

Level network_of_run(const Run& run) {
  const auto machine = machine_of(run);
  EXPECT_TRUE(machine.has_value()) << (machine ? "" : to_text(machine.error()));
  return machine ? machine->row.levels.back() : Level{};
}

/// 50 Gbit/s are 6.25 GB/s; of that, what the record's day leaves.
double adapter_share(const Run& run) {
  const Level network = network_of_run(run);
  EXPECT_NEAR(network.port_bandwidth / network.bandwidth_per_gpu, 1, 1e-12) << "both, or neither";
  return network.bandwidth_per_gpu.value() / 6.25e9;
}

TEST(MachineStates, HoldUntilTheDayOnWhichTheyWereMended) {
  for (const char* id : {"bigscience-x-02-20", "bigscience-x-02-24", "bigscience-x-02-24-r2", "x-01-31-r10"})
    EXPECT_NEAR(adapter_share(on_machine(id)), 0.35, 1e-12) << id;
  for (const char* id : {"bigscience-x-02-25", "bigscience-x-02-25-r2", "bigscience-x-02-26"})
    EXPECT_NEAR(adapter_share(on_machine(id)), 1, 1e-12) << id;
}

TEST(MachineStates, NeedADayAtTheEndOfTheId) {
  for (const char* id :
      {"bigscience-bloom-176b-prod", "x-02-24-run", "x-2-24", "x-02-24-", "x-02-24r2", "x-02-024", "02-24", ""})
    EXPECT_NEAR(adapter_share(on_machine(id)), 1, 1e-12) << id;
}

TEST(MachineStates, AreOfOneSourceAndItsGpus) {
  EXPECT_NEAR(adapter_share(on_machine("x-02-24", "A100-80GB-SXM", "another/bigscience")), 1, 1e-12);
  EXPECT_NEAR(adapter_share(on_machine("x-02-24", "V100-32GB")), 1, 1e-12);
}

TEST(MachineStates, AreSaid) {
  const auto says = [](const char* id) {
    const auto assumptions = machine_of(on_machine(id))->assumptions;
    const auto names_it = [](const std::string& text) { return text.find("PCIe") != std::string::npos; };
    return std::any_of(assumptions.begin(), assumptions.end(), names_it);
  };
  EXPECT_TRUE(says("x-02-24"));
  EXPECT_FALSE(says("x-02-25"));
}

TEST(MachineStates, MayLastAndLeaveTheAdaptersAside) {
  auto run = on_machine("nanotron-x", "H100-80GB-SXM", "https://huggingface.co/nanotron/old_bench");
  run.hardware.inter_node = "EFA";
  EXPECT_EQ(network_of_run(run).transport, Transport::sockets);
  EXPECT_NEAR(adapter_share(run), 1, 1e-12);
  run.source = "another page";
  EXPECT_EQ(network_of_run(run).transport, Transport::efa);
}

/// 8 GPUs of a node of 8 meet no adapter.
TEST(MachineStates, AreOfRunsOnSeveralNodes) {
  auto run = on_machine("nanotron-x", "H100-80GB-SXM", "https://huggingface.co/nanotron/old_bench");
  run.hardware.inter_node = "EFA";
  run.parallel.gpus = 8;
  const auto one = machine_of(run);
  ASSERT_TRUE(one.has_value());
  EXPECT_TRUE(one->assumptions.empty());
  EXPECT_EQ(one->row.levels.back().transport, Transport::efa);
  run.parallel.gpus = 16;
  const auto two = machine_of(run);
  ASSERT_TRUE(two.has_value());
  EXPECT_EQ(two->assumptions, std::vector<std::string>{"nodes joined by TCP sockets"});
}

TEST(RunPorts, OmniPathGivesEachGpuItsShare) {  // however many links the record counts
  EXPECT_EQ(network_of_run(on_machine("x")).ports, 8);
  auto run = on_machine("x");
  run.hardware.inter_node = "InfiniBand, 4 links per node";
  EXPECT_EQ(network_of_run(run).ports, 4);
  EXPECT_NEAR(network_of_run(run).port_bandwidth.value(), 12.5e9, 1);
  run.hardware.inter_node = "InfiniBand HDR";
  EXPECT_EQ(network_of_run(run).ports, 8);
}

TEST(RunGpus, AnH100Of96GbIsAGpuOfItsOwn) {
  const auto machine = machine_of(on_machine("x", "H100-96GB-SXM-500W", "pytorch/torchtitan"));
  ASSERT_TRUE(machine.has_value());
  EXPECT_EQ(machine->row.gpu.id, "h100-sxm-96gb");
  EXPECT_EQ(machine->row.gpu.power_w, 500);
}

}  // namespace
}  // namespace stepcast::records
