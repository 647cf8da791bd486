// Planted errors that the executor must see.
#include <gtest/gtest.h>

#include "tests/dataflow/execute.h"
#include "tests/dataflow/ledger.h"
#include "tests/dataflow/networks.h"
#include "tests/trials.h"

namespace stepcast::dataflow {
namespace {

/// tp and sp over 4 ranks of a tiny transformer, then a wrong placement of it.
class PlantedError : public ::testing::Test {
 protected:
  PlantedError()
      : net_(build_network(spec(), {4, 4, 2, 2}, AttentionForm::fused)), given_(some_values(net_, 1)),
        placed_(placed_of(net_, "mesh x:2 y:2\npar g on x ; par f on x ; par s on x ; par b on y")) {}
  static NetworkSpec spec() {
    NetworkSpec spec = section_c_spec();
    spec.hidden = spec.ffn_hidden = spec.vocab = 8;
    spec.heads = spec.head_dim = 4;
    spec.layers = spec.kv_heads = 2;
    spec.sequence = 3;
    return spec;
  }
  std::string verdict() const {
    return difference(net_, execute(net_, placed_of(net_, "mesh one:1"), given_), execute(net_, placed_, given_));
  }
  PlacedItem& first(std::vector<PlacedItem>& list, MoveKind kind) const {
    for (PlacedItem& item : list)
      if (item.kind == PlacedKind::move && item.move == kind) return item;
    ADD_FAILURE() << "no such move";
    return list.front();
  }
  PlacedBlock& layer() { return placed_.blocks[1]; }

  Network net_;
  GivenValues given_;
  PlacedNetwork placed_;
};

TEST_F(PlantedError, NoneIsNoneFound) { EXPECT_EQ(verdict(), ""); }

TEST_F(PlantedError, ReduceOverTheWrongAtoms) {
  first(layer().forward, MoveKind::reduce_scatter).atoms = 0b10;
  EXPECT_NE(verdict(), "");
}

TEST_F(PlantedError, DroppedSum) {
  PlacedItem& reduce = first(layer().step, MoveKind::all_reduce);
  reduce.move = MoveKind::slice;
  reduce.received = 0;
  EXPECT_NE(verdict(), "");
}

TEST_F(PlantedError, GatherTakenForFree) {
  PlacedItem& gather = first(layer().forward, MoveKind::all_gather);
  gather.move = MoveKind::slice;
  gather.received = 0;
  EXPECT_NE(verdict(), "");
}

TEST_F(PlantedError, SavedTensorForgotten) {
  layer().saved.erase(layer().saved.begin());
  EXPECT_NE(verdict(), "");
}

TEST_F(PlantedError, WrongByteCount) {
  first(layer().backward, MoveKind::reduce_scatter).received *= 2;
  EXPECT_NE(verdict().find("bytes"), std::string::npos);
}

TEST_F(PlantedError, OneContributionLeftOut) {
  for (PlacedItem& item : layer().backward)
    if (item.kind == PlacedKind::sum) {
      item.reads.pop_back();
      break;
    }
  EXPECT_NE(verdict(), "");
}

}  // namespace
}  // namespace stepcast::dataflow
