// Embedding, head and loss: the vocabulary split over tensor-parallel ranks (docs/design.md, section C).
#include <gtest/gtest.h>

#include "tests/dataflow/ledger.h"
#include "tests/dataflow/networks.h"

namespace stepcast::dataflow {
namespace {

MovedBytes moves_of(const std::string& block, const std::string& mapping) {
  const Network net = section_c_network();
  return moved_bytes(net, placed_of(net, mapping), block);
}

TEST(TableEnds, EmbeddingByVocabulary) {
  // Each rank looks up its rows, the rest are zero: AR(X0) 2 R(4) U. Backward: the gradient is whole on every rank.
  EXPECT_EQ(moves_of("embedding", "mesh tp:4\nuse tp, vocab"), (MovedBytes{{"forward all_reduce", 50'331'648}}));
}

TEST(TableEnds, EmbeddingByVocabularyWithSequenceParallel) {
  // RS(X0) R(4) U; backward AG(dX0) the same.
  EXPECT_EQ(moves_of("embedding", "mesh tp:4\nuse tp, vocab, sp"),
      (MovedBytes{{"forward reduce_scatter", 25'165'824}, {"backward all_gather", 25'165'824}}));
}

TEST(TableEnds, HeadAndLossByVocabulary) {
  // Maximum, target and sum of the logits: three AR of b s * 4 B, 2 R(4) 16,384 = 24,576 each. Backward: AR(dXf) 2 R(4)
  // U.
  const Network net = section_c_network();
  const PlacedNetwork placed = placed_of(net, "mesh tp:4\nuse tp, vocab");
  EXPECT_EQ(moved_bytes(net, placed, "head"),
      (MovedBytes{{"forward all_reduce", 3 * 24'576}, {"backward all_reduce", 50'331'648}}));
  EXPECT_EQ(moves_in(net, placed, "head", "forward all_reduce"), 3);
}

TEST(TableEnds, HeadAndLossByVocabularyWithSequenceParallel) {
  // AG(Xf) R(4) U forward, again for dW, RS(dXf); the last norm's gain 2 R(4) 4h = 24,576 per step.
  EXPECT_EQ(moves_of("head", "mesh tp:4\nuse tp, vocab, sp"),
      (MovedBytes{{"forward all_reduce", 3 * 24'576}, {"forward all_gather", 25'165'824},
          {"backward all_gather again", 25'165'824}, {"backward reduce_scatter", 25'165'824},
          {"norm last use all_reduce", 24'576}}));
}

TEST(TableEnds, TiedEmbeddingLiesOnceInEachBlock) {
  // 4 v h / 4 B of gradient on each of the two stages: what their all-reduce carries, 2 R(2) * 525,336,576.
  NetworkSpec spec = section_c_spec();
  spec.tied_embeddings = true;
  const Network net = section_c_network(1, spec);
  const PlacedNetwork placed = placed_of(net, "mesh tp:4\nuse tp, vocab");
  for (const char* block : {"embedding", "head"}) {
    const WeightChain* chain = chain_of(net, block_of(net, placed, block), "E");
    ASSERT_NE(chain, nullptr) << block;
    EXPECT_EQ(chain->accumulator_bytes, 525'336'576) << block;
  }
}

}  // namespace
}  // namespace stepcast::dataflow
