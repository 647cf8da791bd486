// One plan lowered for several batches: kernels and moves are those of lower() for each.
#include "dataflow/lower/batch_lowering.h"

#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dataflow/lower/lower.h"
#include "dataflow/lower/read_plan.h"
#include "model/catalog.h"
#include "model/engine.h"

namespace stepcast::dataflow {
namespace {

Plan iteration_of(const std::string& mapping, std::int64_t gpus) {
  Plan plan;
  plan.mapping = mapping, plan.gpus = gpus;
  plan.cache = CacheUse{1 << 24, 2};
  return plan;
}

void expect_same_sizes(const Program& made, const Program& whole, const std::string& what) {
  ASSERT_EQ(made.blocks.size(), whole.blocks.size()) << what;
  for (std::size_t b = 0; b < whole.blocks.size(); ++b) {
    const ProgramBlock &one = made.blocks[b], &other = whole.blocks[b];
    ASSERT_EQ(one.works.size(), other.works.size()) << what;
    ASSERT_EQ(one.moves.size(), other.moves.size()) << what;
    ASSERT_EQ(one.forward.size(), other.forward.size()) << what;
    for (std::size_t w = 0; w < other.works.size(); ++w) {
      const KernelWork &x = one.works[w], &y = other.works[w];
      EXPECT_EQ(x.label, y.label) << what;
      EXPECT_EQ(std::tuple(x.m, x.n, x.k, x.batch), std::tuple(y.m, y.n, y.k, y.batch)) << what << " " << y.label;
      EXPECT_EQ(std::tuple(x.bytes, x.flops, x.sequences, x.queries, x.sequence, x.walked),
          std::tuple(y.bytes, y.flops, y.sequences, y.queries, y.sequence, y.walked))
          << what << " " << y.label;
    }
    for (std::size_t m = 0; m < other.moves.size(); ++m) {
      const Move &x = one.moves[m], &y = other.moves[m];
      EXPECT_EQ(std::tuple(x.label, x.kind, x.group), std::tuple(y.label, y.kind, y.group)) << what;
      EXPECT_EQ(
          std::tuple(x.received, x.local_before, x.local_after), std::tuple(y.received, y.local_before, y.local_after))
          << what << " " << y.label;
    }
  }
  ASSERT_EQ(made.edges.size(), whole.edges.size()) << what;
  for (std::size_t e = 0; e < whole.edges.size(); ++e) EXPECT_EQ(made.edges[e].bytes, whole.edges[e].bytes) << what;
}

/// Statements that deal sequences out by their number, gathers of the cache and joined softmaxes, and operators that
/// hold how many keys there are: of each a network, beside those whose sizes alone differ.
TEST(BatchLowering, EveryBatchIsThatOfLower) {
  struct Case {
    const char *network, *mapping;
    std::int64_t gpus;
  };
  const Stack stack = lowered_for(built_in().engines.front());
  for (const Case& c : {Case{"llama3-8b", "mesh tp:4\nuse tp", 4},
           Case{"llama3-8b", "mesh tp:2 pp:2\nuse tp\npar layer on pp sched 1f1b for mb:1", 4},
           Case{"llama3-8b", "mesh tp:4\nat sample: par none on tp\nuse tp, sp", 4},
           Case{"llama3-8b", "mesh tp:4\npar b*g on tp", 4},
           Case{"llama3-8b", "mesh tp:16\nmesh dcp:2 rest:8\nuse dcp, tp", 16},
           Case{"mixtral-8x7b", "mesh tp:4\nuse tp", 4}, Case{"gpt-oss-20b", "mesh tp:2\nuse tp", 2},
           Case{"deepseek-v2-lite", "mesh tp:2\nuse tp", 2}, Case{"deepseek-v3.2", "mesh tp:8\nuse tp", 8},
           Case{"deepseek-v4-flash", "mesh tp:4\nuse tp", 4}}) {
    NetworkSpec network = **find_row(built_in().networks, c.network, "network");
    network.mtp_layers = 0;
    Plan plan = iteration_of(c.mapping, c.gpus);
    const auto read = read_plan(plan, stack);
    ASSERT_TRUE(read) << to_text(read.error());
    BatchLowering lowering(network, stack, *read);
    const std::int64_t behind = 1 << 24, ranks = *batch_ranks(plan);
    bool first = true;
    // twice as many, twice as long, so long that latents are no longer read as they are, further behind, and back
    for (const PlanSizes& sizes :
        {PlanSizes{64, 64, 128, behind}, PlanSizes{128, 128, 128, behind}, PlanSizes{64, 64, 256, behind},
            PlanSizes{64, 64, 1024, behind}, PlanSizes{64, 64, 128, 2 * behind}, PlanSizes{2, 2, 128, behind}}) {
      plan.micro_batch = sizes.micro_batch, plan.global_batch = sizes.micro_batch * ranks;
      plan.sequence = sizes.sequence, plan.cache->cached = sizes.cached;
      const auto whole = lower(network, plan, stack, *read);
      const auto made = first ? lowering.first(plan)
                              : lowering.another({plan.micro_batch, plan.global_batch, plan.sequence, sizes.cached});
      first = false;
      const std::string what = fmt::format("{} '{}' {} x {}", c.network, c.mapping, sizes.micro_batch, sizes.sequence);
      ASSERT_EQ(made.has_value(), whole.has_value()) << what;
      if (whole) expect_same_sizes(*made, *whole, what);
      else EXPECT_EQ(to_text(made.error()), to_text(whole.error())) << what;
    }
  }
}

}  // namespace
}  // namespace stepcast::dataflow
