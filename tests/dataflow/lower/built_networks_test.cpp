// Networks that are built once for many lowerings.
#include "dataflow/lower/built_networks.h"

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

}  // namespace
}  // namespace stepcast::dataflow
