// Networks that are built once for many lowerings.
#include "dataflow/lower/built_networks.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "model/catalog.h"

namespace stepcast::dataflow {
namespace {

TEST(BuiltNetworks, AreSharedByEqualShapesOfOneNetwork) {
  const NetworkSpec &one = built_in().networks.front(), &other = built_in().networks.back();
  const BatchShape shape{.sequences = 2, .positions = 1024};
  BuiltNetworks built;
  const auto first = built.of(one, shape, AttentionForm::fused);
  EXPECT_EQ(built.of(one, shape, AttentionForm::fused), first);
  EXPECT_NE(built.of(other, shape, AttentionForm::fused), first);
  BatchShape longer = shape, narrow = shape, adapted = shape;
  longer.positions = 2048, narrow.loss_bytes = 4, adapted.lora_rank = 8;
  for (const BatchShape& unlike : {longer, narrow, adapted})
    EXPECT_NE(built.of(one, unlike, AttentionForm::fused), first);
}

/// A hundred shapes are more than are kept: one that was forgotten is built again, and alike.
TEST(BuiltNetworks, ForgottenOnesAreBuiltAgain) {
  const NetworkSpec& spec = built_in().networks.front();
  BuiltNetworks built;
  const auto first = built.of(spec, {.sequences = 1, .positions = 512}, AttentionForm::fused);
  for (std::int64_t sequences = 2; sequences <= 100; ++sequences)
    (void)built.of(spec, {.sequences = sequences, .positions = 512}, AttentionForm::fused);
  const auto again = built.of(spec, {.sequences = 1, .positions = 512}, AttentionForm::fused);
  EXPECT_NE(again, first);
  EXPECT_EQ(again->tensors.size(), first->tensors.size());
}

/// Two are kept: a schedule of another name places the same, another split does not, and the third drops the first.
TEST(PlacedNetworks, AreSharedByPlansThatPlaceAlike) {
  const NetworkSpec& spec = built_in().networks.front();
  const auto network =
      std::make_shared<const Network>(build_network(spec, {.sequences = 4, .positions = 512}, AttentionForm::fused));
  PlacedNetworks placed(2);
  const auto of = [&](const std::string& aliases, const std::string& schedule) {
    Plan plan;
    plan.gpus = 16;
    plan.mapping = "mesh tp:2 dp:4 pp:2\nuse " + aliases + "\npar layer on pp sched " + schedule + " for mb:*\n";
    return placed.of(network, read_plan(plan).value(), plan.gpus, {}).value();
  };
  const auto first = of("tp, dp", "1f1b");
  EXPECT_EQ(of("tp, dp", "zb-h1"), first);
  const auto other = of("tp, sp, dp", "1f1b");
  EXPECT_NE(other, first);
  EXPECT_EQ(of("tp, dp", "1f1b"), first);
  EXPECT_NE(of("tp, vocab, dp", "1f1b"), other);
  EXPECT_NE(of("tp, dp", "1f1b"), first) << "it was forgotten";
}

}  // namespace
}  // namespace stepcast::dataflow
