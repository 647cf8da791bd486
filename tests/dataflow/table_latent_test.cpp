// Multi-head latent attention under tensor and sequence parallelism (docs/design.md, section C), to the byte.
//
// DeepSeek-V3's sizes (arXiv 2412.19437 section 4.2): h 7168, 128 heads, query rank 1536, key-value rank 512, rotary
// part 64; one sequence of 4096 positions. The down-projections run on each rank's own positions, so that the small
// latents are gathered and not X (51,380,224 B): R(8) 2 s = 7168 bytes per column, times 1536, 512 and 64.
#include <gtest/gtest.h>

#include "tests/dataflow/ledger.h"
#include "tests/dataflow/networks.h"

namespace stepcast::dataflow::table_latent_test {
namespace {

constexpr double cq = 11'010'048, ckv = 3'670'016, kr = 458'752, stream = 51'380'224;

Network latent_network() {
  NetworkSpec spec = section_c_spec();
  spec.hidden = 7168;
  spec.ffn_hidden = 18432;
  spec.heads = spec.kv_heads = 128;
  spec.latent = {.q_rank = 1536, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .value_dim = 128};
  return section_c_network(1, spec);
}

TEST(TableLatent, GathersTheLatentsNotTheStream) {
  // Forward AG(cq, ckv, kr) and RS(Y1); the MLP's AG(X3) and RS(Y2) have the stream's bytes. Backward AG(dY1, dY2), the
  // three and X3 again, RS(dcq, dckv, dkr) and RS(dX3).
  const Network net = latent_network();
  const PlacedNetwork placed = placed_of(net, "mesh tp:8\nuse tp, sp");
  MovedBytes moved = moved_bytes(net, placed, "layer");
  // 2 R(8) 4 * 7168 (1536 + 512 + 64): the down-projections see an eighth of the positions
  const double down = 105'971'712;
  EXPECT_EQ(down, 2 * 7.0 / 8 * 4 * 7168 * (1536 + 512 + 64));
  const double latent_gains = 2 * 7.0 / 8 * 4 * (1536 + 512), gains = 2 * 7.0 / 8 * 4 * 2 * 7168;
  EXPECT_EQ(moved, (MovedBytes{{"forward all_gather", cq + ckv + kr + stream}, {"forward reduce_scatter", 2 * stream},
                       {"backward all_gather", 2 * stream}, {"backward all_gather again", cq + ckv + kr + stream},
                       {"backward reduce_scatter", cq + ckv + kr + stream},
                       {"last use all_reduce", down + latent_gains}, {"norm last use all_reduce", gains}}));
  EXPECT_EQ(moves_in(net, placed, "layer", "forward all_gather"), 4);
  EXPECT_EQ(moves_in(net, placed, "layer", "backward reduce_scatter"), 4);
}

}  // namespace
}  // namespace stepcast::dataflow::table_latent_test
