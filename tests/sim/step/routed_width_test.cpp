// How wide the interval of a step with routed rows is, beside that of one without.
#include <gtest/gtest.h>

#include <cmath>

#include "model/catalog.h"
#include "sim/step/parts.h"

namespace stepcast::sim {
namespace {

/// 0.8 to 1.25 of a fit are 0.8^0.66 = 0.863 to 1.25^0.66 = 1.159; whether the network has scans says nothing.
TEST(RoutedWidth, IsAShareOfTheLogarithmForAllNetworks) {
  const Machine& machine = **find_row(built_in().machines, "dgx-h100", "machine");
  Profile profile = **find_row(built_in().profiles, "h100-sxm", "profile");
  const Stack& stack = **find_row(built_in().stacks, "nemo", "stack");
  StepFit fit;
  fit.stack = "nemo", fit.spread = {0.8, 1.25};
  const CostModel cost(machine, profile, stack, Precision::bf16, 8, &fit);
  Program program;
  program.ranks = 8;
  const Spread dense = step_interval(cost, program, {}, Seconds(1));
  EXPECT_NEAR(dense.p10, 0.8, 1e-12);
  EXPECT_NEAR(dense.p90, 1.25, 1e-12);
  program.routed_rows = true;
  const Spread routed = step_interval(cost, program, {}, Seconds(1));
  EXPECT_NEAR(routed.p10, std::pow(0.8, 0.66), 1e-12);
  EXPECT_NEAR(routed.p90, std::pow(1.25, 0.66), 1e-12);
  program.blocks.emplace_back().works.emplace_back().kernel = KernelClass::scan;
  EXPECT_NEAR(step_interval(cost, program, {}, Seconds(1)).p90, routed.p90, 1e-12);
}

}  // namespace
}  // namespace stepcast::sim
