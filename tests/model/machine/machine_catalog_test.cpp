// The GPUs and machines of the catalogue: that they are there, that their figures agree with each other and with a few
// that a reader can look up, and that each GPU finds its profile.
#include <algorithm>
#include <array>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "model/catalog.h"

namespace stepcast {
namespace {

double peak_of(const Gpu& gpu, Precision precision) { return gpu.peak[static_cast<int>(precision)].value(); }

const Machine& machine_called(const std::string& name) {
  const auto row = find_row(built_in().machines, name, "machine");
  EXPECT_TRUE(row) << name;
  return **row;
}

const Gpu& gpu_called(const std::string& name) {
  const auto row = find_row(built_in().gpus, name, "gpu");
  EXPECT_TRUE(row) << name;
  return **row;
}

TEST(CatalogGpus, HoldTheGpusInUse) {
  EXPECT_GE(built_in().gpus.size(), 30u);
  for (const char* name : {"p100", "t4", "v100-sxm2-16gb", "v100-sxm2-32gb", "v100-pcie-16gb", "v100-pcie-32gb",
           "a100-40gb", "a100-80gb", "a100-pcie-40gb", "a100-pcie-80gb", "a800", "a30", "a40", "a10", "l4", "l40s",
           "rtx-4090", "rtx-3090", "rtx-2080ti", "rtx-pro-6000", "h100", "h100-pcie", "h100-nvl", "h800", "h20", "h200",
           "gh200", "b200", "b300", "gb200", "gb300", "mi210", "mi250x", "mi300x", "mi325x", "mi355x"})
    EXPECT_TRUE(find_row(built_in().gpus, name, "gpu")) << name;
}

TEST(CatalogMachines, HoldTheMachinesInUse) {
  EXPECT_GE(built_in().machines.size(), 16u);
  for (const char* name : {"dgx-1", "dgx-2", "dgx-a100", "dgx-a100-40gb", "dgx-h100", "h100-pcie-server", "hgx-h200",
           "hgx-h800", "hgx-h20", "dgx-b200", "dgx-b300", "gb200-nvl72", "gb300-nvl72", "l40s-server", "rtx-4090-box",
           "two-2080ti-pc", "mi300x-server", "alps", "jean-zay", "p4d.24xlarge", "p4de.24xlarge", "p5.48xlarge",
           "oci-h100", "oci-a100", "azure-nd-h100-v5", "a3-highgpu-8g", "a3-megagpu-8g"})
    EXPECT_TRUE(find_row(built_in().machines, name, "machine")) << name;
}

TEST(CatalogGpus, RatesAgreeWithEachOther) {
  for (const Gpu& gpu : built_in().gpus) {
    const double half = std::max(peak_of(gpu, Precision::fp16), peak_of(gpu, Precision::bf16));
    EXPECT_GT(half, 0) << gpu.id;
    if (peak_of(gpu, Precision::bf16) > 0) {
      EXPECT_EQ(peak_of(gpu, Precision::bf16), peak_of(gpu, Precision::fp16)) << gpu.id;
    }
    if (peak_of(gpu, Precision::fp8) > 0) {
      EXPECT_NEAR(peak_of(gpu, Precision::fp8) / half, 2, 0.03) << gpu.id << ": half the bits, twice the rate";
    }
    if (peak_of(gpu, Precision::tf32) > 0) {
      EXPECT_NEAR(peak_of(gpu, Precision::tf32) / half, 0.5, 0.011) << gpu.id;
    }
    EXPECT_GT(gpu.power_w, 0) << gpu.id;
    EXPECT_GT(gpu.memory_bandwidth.value(), 250e9) << gpu.id;
    EXPECT_LT(gpu.l2.value(), gpu.memory.value()) << gpu.id;
  }
}

/// bf16 came with Ampere and CDNA; before that there is fp16 only.
TEST(CatalogGpus, OldArchitecturesHaveNoBf16) {
  const std::set<std::string> old = {"pascal", "volta", "turing"};
  for (const Gpu& gpu : built_in().gpus)
    EXPECT_EQ(peak_of(gpu, Precision::bf16) > 0, !old.contains(gpu.architecture)) << gpu.id;
}

/// Rates per multiprocessor and clock, from the architecture papers: 1024, 2048, 4096 and 512 FLOPs of fp16.
TEST(CatalogGpus, PeaksFollowFromTheMultiprocessors) {
  struct Row {
    const char* gpu;
    double flops_per_clock, gigahertz;
  };
  for (const Row& row : {Row{"v100-sxm2-32gb", 1024, 1.53}, {"a100-80gb", 2048, 1.41}, {"a30", 2048, 1.44},
           {"h100-sxm", 4096, 1.83}, {"a40", 1024, 1.74}, {"rtx-3090", 512, 1.695}, {"rtx-4090", 512, 2.52},
           {"rtx-2080ti", 512, 1.545}, {"mi300x", 2048, 2.1}, {"mi210", 1024, 1.7}, {"mi355x", 4096, 2.4}}) {
    const Gpu& gpu = gpu_called(row.gpu);
    const double peak = gpu.multiprocessors * row.flops_per_clock * row.gigahertz * 1e9;
    EXPECT_NEAR(peak_of(gpu, Precision::fp16) / peak, 1, 0.005) << row.gpu;
  }
}

TEST(CatalogGpus, WhatIsUnverifiedIsAField) {
  const std::set<std::string> fields = {
      "multiprocessors", "peak", "memory", "memory_bandwidth", "l2", "scale_up_bandwidth", "power_w"};
  for (const Gpu& gpu : built_in().gpus)
    for (const std::string& field : gpu.unverified)
      EXPECT_TRUE(fields.contains(field.substr(0, field.find('.')))) << gpu.id << ": " << field;
}

TEST(CatalogMachines, LinksInsideANodeAreTheGpusOwn) {
  for (const Machine& machine : built_in().machines) {
    const Level& node = machine.levels.front();
    if (node.fabric == FabricKind::nvswitch || node.fabric == FabricKind::nvlink_mesh) {
      EXPECT_DOUBLE_EQ(node.bandwidth_per_gpu.value(), machine.gpu.scale_up_bandwidth.value()) << machine.id;
    }
    EXPECT_TRUE(check_fabric(machine)) << machine.id;
  }
}

TEST(CatalogMachines, PortsOfATierCarryWhatItClaimsAndNoMore) {
  for (const Machine& machine : built_in().machines)
    for (std::size_t i = 1; i < machine.levels.size(); ++i) {
      const Level& level = machine.levels[i];
      const double ports = level.ports * level.port_bandwidth.value();
      const double claim = level.bandwidth_per_gpu.value() * static_cast<double>(machine.levels[i - 1].gpus);
      EXPECT_NEAR(claim / ports, 1, 1e-9) << machine.id << " " << level.name;
      EXPECT_LT(level.bandwidth_per_gpu.value(), machine.levels[i - 1].bandwidth_per_gpu.value()) << machine.id;
    }
}

/// What one GPU can send out of its node, from the links: 4 x 100 Gb/s for 8 GPUs are 6.25 GB/s each.
TEST(CatalogMachines, KnowTheNetworkPerGpu) {
  // clang-format off
  struct Row { const char* machine; double gigabytes; std::int64_t gpus; };
  // clang-format on
  for (const Row& row :
      {Row{"dgx-1", 6.25, 5280}, {"dgx-2", 6.25, 1536}, {"jean-zay", 6.25, 416}, {"aws-p4d", 6.25, 4000},
          {"dgx-a100", 25, 4480}, {"oci-a100", 25, 4096}, {"aws-p5", 50, 20000}, {"azure-nd-h100", 50, 14400},
          {"a3-high", 12.5, 26000}, {"a3-mega", 25, 26000}, {"alps", 25, 10752}, {"hgx-h800", 50, 2048},
          {"dgx-b300", 100, 16384}, {"gb300-nvl72", 100, 9216}, {"mi300x-server", 50, 16384}}) {
    const Machine& machine = machine_called(row.machine);
    ASSERT_EQ(machine.levels.size(), 2u) << row.machine;
    EXPECT_DOUBLE_EQ(machine.levels[1].bandwidth_per_gpu.value(), row.gigabytes * 1e9) << row.machine;
    EXPECT_EQ(machine.max_gpus(), row.gpus) << row.machine;
  }
}

/// default_profile compares ids: a profile that names its GPU by an alias would never be taken.
TEST(CatalogProfiles, AreTakenForTheirOwnGpu) {
  std::set<std::string> gpus;
  for (const Profile& profile : built_in().profiles) {
    const auto& rows = built_in().gpus;
    const auto gpu = std::find_if(rows.begin(), rows.end(), [&](const Gpu& row) { return row.id == profile.gpu; });
    ASSERT_NE(gpu, rows.end()) << profile.id << " is for '" << profile.gpu << "'";
    if (gpus.insert(profile.gpu).second) {
      EXPECT_EQ(default_profile(*gpu, built_in().profiles).id, profile.id);
    }
  }
}

/// Whatever the catalogue lacks a profile for still gets laws for every precision the chip has.
TEST(CatalogProfiles, EveryGpuGetsLawsForWhatItCan) {
  for (const Gpu& gpu : built_in().gpus) {
    const Profile profile = default_profile(gpu, built_in().profiles);
    for (int p = 0; p < 7; ++p) {
      const auto precision = static_cast<Precision>(p);
      const RooflineLaw* law = find_gemm(profile, precision);
      EXPECT_EQ(law != nullptr, peak_of(gpu, precision) > 0) << gpu.id << " " << to_text(precision);
      if (law != nullptr) {
        EXPECT_LT(law->compute.value(), 1.02 * peak_of(gpu, precision)) << gpu.id << " " << to_text(precision);
      }
    }
    EXPECT_LT(profile.memory.memory.value(), gpu.memory_bandwidth.value()) << gpu.id;
  }
}

}  // namespace
}  // namespace stepcast
