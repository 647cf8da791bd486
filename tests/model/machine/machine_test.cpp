#include "model/machine/machine.h"

#include <gtest/gtest.h>

namespace stepcast {
namespace {

const std::string toy_gpu =
    R"({"id": "toy", "architecture": "hopper", "multiprocessors": 10, "peak": {"bf16": "100 TFLOP/s"},
  "memory": "10 GiB", "memory_bandwidth": "1 TB/s", "l2": "10 MiB", "scale_up_bandwidth": "100 GB/s"})";

/// Four GPUs of 4 x 25 GB/s in a node, two nodes, four NICs of 10 GB/s each: 10 GB/s per GPU leave the node.
std::string toy_machine(const std::string& inner = "100 GB/s", const std::string& outer = "10 GB/s",
    const std::string& host_link = "30 GB/s", const std::string& cluster_gpus = "8") {
  return R"({"id": "toy-machine", "gpu": )" + toy_gpu + R"(, "levels": [
    {"name": "node", "fabric": "nvswitch", "gpus": 4, "bandwidth_per_gpu": ")" +
         inner + R"(", "ports": 4,
     "port_bandwidth": "25 GB/s", "latency": "2 us"},
    {"name": "cluster", "fabric": "infiniband", "gpus": )" +
         cluster_gpus + R"(, "bandwidth_per_gpu": ")" + outer + R"(",
     "ports": 4, "port_bandwidth": "10 GB/s", "latency": "10 us"}],
    "host_memory": "100 GB", "host_link": ")" +
         host_link + R"("})";
}

std::string machine_error(const std::string& text) {
  const auto machine = read_machine(text, "m.json", {});
  return machine ? "accepted" : to_text(machine.error());
}

TEST(ReadMachine, ReadsLevelsFromTheInnermostOut) {
  const auto machine = read_machine(toy_machine(), "m.json", {});
  ASSERT_TRUE(machine) << to_text(machine.error());
  EXPECT_EQ(machine->max_gpus(), 8);
  EXPECT_EQ(machine->levels[0].bandwidth_per_gpu.value(), 100e9);
  EXPECT_EQ(machine->levels[1].fabric, FabricKind::infiniband);
  EXPECT_EQ(machine->gpu.peak[static_cast<int>(Precision::bf16)].value(), 100e12);
}

TEST(ReadMachine, TakesAGpuByNameAndSuggestsTheNearest) {
  Gpu gpu = *read_gpu(toy_gpu, "g.json");
  gpu.aliases = {"toy-gpu"};
  std::string text = toy_machine();
  const auto replace_gpu = [&](const std::string& name) {
    return std::string(text).replace(text.find(toy_gpu), toy_gpu.size(), name);
  };
  EXPECT_EQ(read_machine(replace_gpu("\"toy-gpu\""), "m.json", {gpu})->gpu.id, "toy");
  EXPECT_NE(to_text(read_machine(replace_gpu("\"toi\""), "m.json", {gpu}).error()).find("did you mean 'toy'?"),
      std::string::npos);
}

TEST(CheckFabric, RefusesAClaimBeyondTheLinks) {
  EXPECT_EQ(machine_error(toy_machine("120 GB/s")),
      "m.json:/levels/0/bandwidth_per_gpu: level 'node' claims 120 GB/s per GPU, but 4 ports of 25.0 GB/s for 1 "
      "GPU(s) carry 100 GB/s (lower the claim, or give the ports that carry it)");
  EXPECT_NE(machine_error(toy_machine("100 GB/s", "20 GB/s")).find("claims 20.0 GB/s per GPU, but 4 ports"),
      std::string::npos);
}

TEST(CheckFabric, SeesTheHostLinkBehindTheNic) {
  EXPECT_NE(machine_error(toy_machine("100 GB/s", "10 GB/s", "5 GB/s")).find("the host link of 5.00 GB/s"),
      std::string::npos);
}

TEST(CheckFabric, RefusesANumberOfGpusThatIsNoMultiple) {
  EXPECT_NE(machine_error(toy_machine("100 GB/s", "10 GB/s", "30 GB/s", "10")).find("a larger multiple of 4"),
      std::string::npos);
  EXPECT_NE(machine_error(toy_machine("100 GB/s", "10 GB/s", "30 GB/s", "4")).find("a larger multiple of 4"),
      std::string::npos);
}

TEST(FabricGraph, JoinsGpusSwitchesAndNics) {
  const FabricGraph graph = fabric_graph(*read_machine(toy_machine(), "m.json", {}));
  const auto count = [&](VertexKind kind) {
    int n = 0;
    for (const FabricVertex& vertex : graph.vertices) n += vertex.kind == kind;
    return n;
  };
  EXPECT_EQ(count(VertexKind::gpu), 4);
  EXPECT_EQ(count(VertexKind::nic), 4);
  EXPECT_EQ(count(VertexKind::switch_), 2);
  EXPECT_EQ(graph.links.size(), 4u + 4u + 4u) << "GPU to switch, GPU to NIC, NIC to the way out";
}

TEST(CheckFabric, KnowsAMeshOfGpus) {
  Machine machine = *read_machine(toy_machine(), "m.json", {});
  machine.levels.resize(1);
  machine.levels[0].fabric = FabricKind::nvlink_mesh;
  EXPECT_TRUE(check_fabric(machine)) << "three direct links of 33.3 GB/s, or over neighbours: 100 GB/s in all";
  machine.levels[0].bandwidth_per_gpu = BytesPerSecond(110e9);
  EXPECT_FALSE(check_fabric(machine));
  machine.levels[0].gpus = 1;
  EXPECT_FALSE(check_fabric(machine)) << "a mesh of one has no links";
}

TEST(CheckFabric, RefusesSizesThatNoGraphHolds) {
  Machine machine = *read_machine(toy_machine(), "m.json", {});
  machine.levels[0].gpus = 100'000;
  EXPECT_FALSE(check_fabric(machine));
}

TEST(ReadMachine, RefusesAbsurdAndUnitlessQuantities) {
  EXPECT_NE(machine_error(toy_machine("100")).find("has no unit"), std::string::npos);
  EXPECT_NE(machine_error(toy_machine("-1 GB/s")).find("negative"), std::string::npos);
  EXPECT_NE(machine_error(toy_machine("100 GB")).find("is a memory size, not a bandwidth"), std::string::npos);
  EXPECT_NE(machine_error(toy_machine("100 GB/s", "10 GB/s", "30 GB/s", "1e99")), "accepted");
}

TEST(ReadMachine, RefusesArchitecturesThatNobodyKnowsAndEmptyNames) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = toy_machine();
    return machine_error(text.replace(text.find(from), from.size(), to));
  };
  for (const char* word : {"0", "", "-1", "Hopper", "hoper"}) {
    const std::string error = with("\"hopper\"", "\"" + std::string(word) + "\"");
    EXPECT_NE(error.find("m.json:/gpu/architecture: unknown architecture"), std::string::npos) << error;
  }
  EXPECT_NE(with("\"hopper\"", "\"hoper\"").find("did you mean 'hopper'?"), std::string::npos);
  EXPECT_NE(with("\"node\"", "\"\"").find("/levels/0/name: is empty"), std::string::npos);
  EXPECT_NE(
      with("\"id\": \"toy-machine\"", "\"id\": \"m\", \"name\": \"\"").find("/name: is empty"), std::string::npos);
}

TEST(WriteMachine, ReadsBackTheSameWithoutACatalogue) {
  const std::string text = write_machine(*read_machine(toy_machine(), "m.json", {}));
  const auto again = read_machine(text, "again.json", {});
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(write_machine(*again), text);
}

TEST(ReadGpu, NeedsAtLeastOneRate) {
  std::string text = toy_gpu;
  text.replace(text.find("\"bf16\": \"100 TFLOP/s\""), 21, "");
  EXPECT_NE(to_text(read_gpu(text, "g.json").error()).find("at least one of fp32"), std::string::npos);
}

TEST(Precision, ParsesItsOwnNames) {
  EXPECT_EQ(*parse_precision("bf16", "--precision"), Precision::bf16);
  EXPECT_STREQ(to_text(*parse_precision("nvfp4", "--precision")), "nvfp4");
  EXPECT_EQ(to_text(parse_precision("bf61", "--precision").error()),
      "--precision: unknown precision 'bf61' (did you mean 'bf16'?)");
}

}  // namespace
}  // namespace stepcast
