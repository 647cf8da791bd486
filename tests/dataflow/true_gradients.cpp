#include "tests/dataflow/true_gradients.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/dataflow/execute.h"
#include "tests/dataflow/ledger.h"
#include "tests/trials.h"

namespace stepcast::dataflow {
namespace {

/// Sum of the losses, or of the last output weighted with its given gradient.
double scalar_of(const Network& net, const PlacedNetwork& placed, const GivenValues& given) {
  const Executed run = execute(net, placed, given);
  EXPECT_EQ(run.error, "");
  const int output = net.blocks.back().output;
  const bool loss = net.tensors[output].name == "loss";
  double sum = 0;
  for (std::size_t i = 0; i < run.outputs.back().size(); ++i)
    sum += run.outputs.back()[i] * (loss ? 1 : given.gradient[output][i]);
  for (std::size_t b = 0; b + 1 < net.blocks.size(); ++b)
    if (net.blocks[b].name == "mtp_head")
      for (const double one : run.outputs[b]) sum += one;
  return sum;
}

}  // namespace

void expect_true_gradients(const Network& net) {
  const PlacedNetwork placed = placed_of(net, "mesh one:1");
  GivenValues given = some_values(net, 3);
  const Executed run = execute(net, placed, given);
  ASSERT_EQ(run.error, "");
  const auto check = [&](int tensor, const std::vector<double>& gradient) {
    for (std::size_t e : {std::size_t{0}, gradient.size() / 3, gradient.size() - 1}) {
      if (sanitized && e != gradient.size() / 3) continue;
      constexpr double step = 1e-5;
      double& value = given.value[tensor][e];
      const double kept = value;
      value = kept + step;
      const double above = scalar_of(net, placed, given);
      value = kept - step;
      const double below = scalar_of(net, placed, given);
      value = kept;
      EXPECT_NEAR(gradient[e], (above - below) / (2 * step), 1e-6 * (1 + std::abs(gradient[e])))
          << net.tensors[tensor].name << " " << e;
    }
  };
  for (std::size_t t = 0; t < net.tensors.size(); ++t)
    if (net.tensors[t].role == TensorRole::weight) check(static_cast<int>(t), run.gradients[t]);
  if (net.blocks.front().input >= 0) check(net.blocks.front().input, run.input_gradient);
}

}  // namespace stepcast::dataflow
