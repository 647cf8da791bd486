// Collectives under the roofs of links: identities by hand, and nothing lost of the step report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model/base/quantity_text.h"
#include "studies/roofline/figures/link_groups.h"
#include "studies/roofline/figures/links.h"
#include "studies/roofline/figures/stage_work.h"
#include "tests/studies/roofline/roofline_case.h"

namespace stepcast::roofline {
namespace {

using testing::HasSubstr;
using testing_roofline::real_cases;
using testing_roofline::roofline_case;
using testing_roofline::RooflineCase;

NetworkRoofline network_of(const RooflineCase& run) {
  return network_roofline(run.scenario, run.prediction, run.roofs);
}

LinkPoint point_named(const NetworkRoofline& network, const std::string& name) {
  for (const LinkPoint& point : network.points)
    if (point.name == name) return point;
  ADD_FAILURE() << "no point " << name;
  return {};
}

const LinkRoof* roof_of(const NetworkRoofline& network, const std::string& link, RoofBasis basis) {
  for (const LinkRoof& roof : network.roofs)
    if (roof.link == link && roof.basis == basis) return &roof;
  return nullptr;
}

RooflineCase small_case() { return roofline_case("llama3-8b", {{"gpus", "16"}, {"tp", "8"}}); }

TEST(BentRoof, IsStraightWithoutLatencyAndFlatFarRight) {
  // 10 calls of 10 us beside 1 TFLOP: never above 1e12 / 1e-4 = 1e16 FLOP/s.
  const Flops flops(1e12);
  const BytesPerSecond rate(1e11);
  const Seconds latency(1e-5);
  EXPECT_DOUBLE_EQ(bent_roof(1000, rate, 10, Seconds(0), flops).value(), 1e14);
  EXPECT_NEAR(bent_roof(1e12, rate, 10, latency, flops).value(), 1e16, 1e10);
  EXPECT_DOUBLE_EQ(bent_roof(1e5, rate, 10, latency, flops).value(), 0.5e16)
      << "half where the slope reaches the flat part";
  EXPECT_EQ(bent_roof(0, rate, 10, latency, flops).value(), 0);
  EXPECT_EQ(bent_roof(1000, rate, 10, latency, Flops(0)).value(), 0);
}

TEST(LinkShare, OfARingIsOneEntryPerNodeAndOfAnExchangeTheRowsFromOutside) {
  const Machine machine = choose_machine("dgx-h100", "m")->row;
  Group across;
  across.digits = {{8, 4}}, across.size = 4;
  Group both;
  both.digits = {{1, 16}}, both.size = 16;
  EXPECT_EQ(share_over_link(machine, 0, "all_gather", both, 16), 1);
  EXPECT_EQ(share_over_link(machine, 1, "all_gather", across, 32), 1) << "one member per node";
  EXPECT_EQ(share_over_link(machine, 1, "all_gather", both, 16), 1.0 / 8);
  EXPECT_EQ(share_over_link(machine, 1, "all_to_all", both, 16), 8.0 / 15);
  EXPECT_EQ(share_over_link(machine, 1, "send_recv", std::nullopt, 16), 1) << "between stages";
}

TEST(StageWork, OfAllStagesIsTheStepsHardwareFlops) {
  for (const RooflineCase& run : real_cases()) {
    const StageWork work(run.scenario, run.prediction);
    const Program& program = run.prediction.program;
    double flops = 0;
    for (int stage = 0; stage < program.stages; ++stage)
      flops += work.matrix_flops(stage).value() * static_cast<double>(program.ranks / program.stages);
    EXPECT_NEAR(flops / run.prediction.step.hardware_flops.value(), 1, 1e-9)
        << run.scenario.network.id << ", " << in_words(run.scenario);
  }
}

TEST(LinkPoints, KeepTimesBytesAndCallsOfTheReport) {
  for (const RooflineCase& run : real_cases()) {
    double time = 0, exposed = 0, bytes = 0, calls = 0;
    for (const CollectiveReport& row : run.prediction.step.collectives)
      time += row.time.value(), exposed += row.exposed.value(), bytes += row.bytes.value() * row.count,
          calls += row.count;
    for (const LinkPoint& point : network_of(run).points) {
      if (point.link == "host") continue;
      time -= point.time.value(), exposed -= point.exposed.value(), bytes -= point.bytes.value() * point.calls,
          calls -= point.calls;
    }
    const Seconds step = run.prediction.step.step_time;
    EXPECT_NEAR(time / step.value(), 0, 1e-9) << in_words(run.scenario);
    EXPECT_NEAR(exposed / step.value(), 0, 1e-9) << in_words(run.scenario);
    EXPECT_NEAR(bytes, 0, 1e3) << in_words(run.scenario);
    EXPECT_NEAR(calls, 0, 1e-6) << in_words(run.scenario);
  }
}

TEST(LinkPoints, LieWhereFlopsBytesAndTimePutThem) {
  for (const RooflineCase& run : real_cases()) {
    const StageWork work(run.scenario, run.prediction);
    for (const LinkPoint& point : network_of(run).points) {
      const double flops = work.matrix_flops(point.stage).value(), brought = point.over_link.value() * point.calls;
      EXPECT_NEAR(point.flops_per_byte * brought / flops, 1, 1e-9) << point.name;
      EXPECT_NEAR(point.rate.value() * point.time.value() / flops, 1, 1e-9) << point.name;
      EXPECT_NEAR(point.flops_per_byte * point.bus.value() / point.rate.value(), 1, 1e-9)
          << point.name << ": below its slope by its share";
      EXPECT_LE(point.latency.value() * point.calls, point.time.value() * (1 + 1e-9)) << point.name;
      EXPECT_EQ(point.limits, point.rate.value() < run.prediction.peak.value()) << point.name;
      EXPECT_EQ(point.warning.empty(), point.share_of_roof <= 1.01) << point.name;
    }
  }
}

TEST(LinkPoints, AreOneForEqualRowsLongestFirst) {
  const NetworkRoofline network = network_of(small_case());
  for (std::size_t i = 0; i < network.points.size(); ++i) {
    const LinkPoint& a = network.points[i];
    EXPECT_GE(network.points[i > 0 ? i - 1 : 0].time, a.time);
    for (std::size_t j = 0; j < i; ++j) {
      const LinkPoint& b = network.points[j];
      EXPECT_FALSE(a.name == b.name && a.kind == b.kind && a.axis == b.axis && a.link == b.link && a.pass == b.pass &&
                   a.stage == b.stage)
          << a.name;
    }
  }
}

TEST(LinkPoints, SayWhatBoundsThem) {
  const NetworkRoofline network = network_of(small_case());
  EXPECT_EQ(point_named(network, "gradient norm all_reduce").bound, "latency");
  EXPECT_EQ(point_named(network, "norm1.y all_gather").bound, "bandwidth");
  EXPECT_GT(point_named(network, "norm1.y all_gather").latency, Seconds(1e-6));
}

TEST(LinkPoints, BringTokensFromTheHost) {
  const RooflineCase run = small_case();
  const LinkPoint tokens = point_named(network_of(run), "token ids host to device");
  const Program& program = run.prediction.program;
  EXPECT_DOUBLE_EQ(tokens.bytes.value(), 8 * program.tokens_per_step / static_cast<double>(program.ranks));
  EXPECT_DOUBLE_EQ(tokens.bus.value(), run.scenario.machine.row.host_link.value());
  EXPECT_EQ(tokens.link, "host");
  EXPECT_EQ(tokens.warning, "");
}

TEST(LinkPoints, FasterThanTheirLinkAreDoubted) {
  RooflineCase run = small_case();
  run.scenario.machine.row.levels[0].bandwidth_per_gpu = BytesPerSecond(1e11);  // the forecast knew 450 GB/s
  const LinkPoint gather = point_named(network_of(run), "norm1.y all_gather");
  EXPECT_GT(gather.share_of_roof, 2);
  EXPECT_THAT(gather.warning, HasSubstr("of the link's 100 GB/s"));
  EXPECT_THAT(gather.warning, HasSubstr("algorithm bandwidth"));
  EXPECT_THAT(gather.warning, HasSubstr("NVLS"));
}

TEST(LinkPoints, FasterThanTheirLinkBecauseOfTheSoftwareSaySo) {
  const NetworkRoofline network =
      network_of(roofline_case("llama3-70b", {{"gpus", "64"}, {"tp", "8"}, {"tp_overlap", "on"}}));
  const LinkPoint gather = point_named(network, "dY2 all_gather");
  ASSERT_GT(gather.share_of_roof, 1.01);
  EXPECT_THAT(gather.warning, HasSubstr("beside the product"));
}

TEST(LinkPoints, FasterThanTheirLinkBecauseOfMeasuredStepsSaySo) {
  const NetworkRoofline network = network_of(roofline_case(
      "llama3-8b", {{"gpus", "32"}, {"tp", "4"}, {"zero", "3"}, {"stack", "nemo"}, {"precision", "fp8"}}));
  const auto fitted = [](const LinkPoint& point) { return point.warning.find("measured steps") != std::string::npos; };
  const auto point = std::find_if(network.points.begin(), network.points.end(), fitted);
  ASSERT_NE(point, network.points.end());
  EXPECT_GT(point->share_of_roof, 1.01);
}

TEST(LinkPoints, OfOneLinkAreSummedUpInANote) {
  // Two collectives of 1 s each, half of one exposed.
  RooflineCase run = small_case();
  std::vector<CollectiveReport> rows = {
      run.prediction.step.collectives.front(), run.prediction.step.collectives.front()};
  rows[1].name = "other";
  for (CollectiveReport& row : rows) row.time = Seconds(1), row.exposed = Seconds(0);
  rows[0].exposed = Seconds(0.5);
  run.prediction.step.collectives = rows;
  const double flops = StageWork(run.scenario, run.prediction).matrix_flops(0).value();
  EXPECT_THAT(network_of(run).notes, testing::Contains(testing::AllOf(HasSubstr("node: its 2 collectives take 2.00 s"),
                                         HasSubstr("25.0 %"), HasSubstr(format_flops(FlopsPerSecond(flops / 2))))));
}

TEST(LinkFrame, FollowsFromTheMachineAlone) {
  const NetworkRoofline one = network_of(small_case());
  const NetworkRoofline other =
      network_of(roofline_case("gpt3-175b", {{"gpus", "128"}, {"tp", "4"}, {"pp", "8"}, {"precision", "fp8"}}));
  EXPECT_EQ(one.frame, other.frame);
  // 67 TFLOP/s in fp32 over 450 GB/s to 1979 TFLOP/s in fp8 over 50 GB/s: ridges from 149 to 39580 FLOP/B.
  EXPECT_EQ(one.frame, (Frame{1, 8, 12, 19}));
}

TEST(LinkFrame, HoldsTheBulkOfRealSteps) {
  for (const RooflineCase& run : real_cases())
    for (const LinkPoint& point : network_of(run).points) {
      const bool short_beside_step = point.time.value() < 1e-3 * run.prediction.step.step_time.value();
      EXPECT_TRUE(point.outside.empty() || short_beside_step) << point.name << ": " << point.outside;
    }
}

TEST(LinkRoofs, AreTheDatasheetsAndTheProfiles) {
  const NetworkRoofline network = network_of(small_case());
  const LinkRoof* node = roof_of(network, "node", RoofBasis::datasheet);
  const LinkRoof* cluster = roof_of(network, "cluster", RoofBasis::datasheet);
  const LinkRoof* host = roof_of(network, "host", RoofBasis::datasheet);
  ASSERT_TRUE(node && cluster && host);
  EXPECT_EQ(node->rate.value(), 450e9);
  EXPECT_EQ(node->name, "node: nvswitch");
  EXPECT_EQ(cluster->rate.value(), 50e9);
  EXPECT_EQ(host->name, "host: PCIe");
  const LinkRoof* measured = roof_of(network, "node", RoofBasis::burst);
  ASSERT_TRUE(measured);
  EXPECT_LT(measured->rate.value(), 450e9);
  EXPECT_THAT(measured->from, HasSubstr("8 GPUs"));
  const LinkRoof* ports = roof_of(network, "cluster", RoofBasis::fitted);
  ASSERT_TRUE(ports);
  EXPECT_DOUBLE_EQ(ports->rate.value(), 0.955 * 50e9);
}

TEST(LinkRoofs, OfMeasuredPortsAreSolid) {
  RooflineCase run = small_case();
  run.scenario.profile.row.scale_out = {{FabricKind::infiniband, 0.8, Seconds(2e-5), {}, {}, Source::measured, {}}};
  run.scenario.profile.row.roofs.push_back({to_text(TransferKind::host_to_device), 55e9, "sustained"});
  const NetworkRoofline network = network_of(run);
  const LinkRoof* ports = roof_of(network, "cluster", RoofBasis::burst);
  ASSERT_TRUE(ports);
  EXPECT_DOUBLE_EQ(ports->rate.value(), 40e9);
  const LinkRoof* host = roof_of(network, "host", RoofBasis::sustained);
  ASSERT_TRUE(host);
  EXPECT_EQ(host->rate.value(), 55e9);
}

TEST(LinkRoofs, SayWhereNothingWasTimed) {
  RooflineCase run = small_case();
  run.scenario.profile.row.collectives.clear();
  const NetworkRoofline network = network_of(run);
  EXPECT_FALSE(roof_of(network, "node", RoofBasis::burst));
  EXPECT_THAT(network.notes, testing::Contains(HasSubstr("was timed inside the node")));
}

TEST(LinkRoofs, OfOtherNodesAreNotTheFabricsInside) {
  // NVLink is the slower part of this group's time, and its curve says nothing about the ports.
  const NetworkRoofline network =
      network_of(roofline_case("llama3-70b", {{"gpus", "256"}, {"tp", "4"}, {"machine", "gb200-nvl72"}}));
  const LinkRoof* ports = roof_of(network, "cluster", RoofBasis::fitted);
  ASSERT_TRUE(ports);
  EXPECT_THAT(ports->from, HasSubstr("of the ports' rate"));
  const LinkRoof* host = roof_of(network, "host", RoofBasis::datasheet);
  ASSERT_TRUE(host);
  EXPECT_EQ(host->name, "host: C2C");
}

}  // namespace
}  // namespace stepcast::roofline
