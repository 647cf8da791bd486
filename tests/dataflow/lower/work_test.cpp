// What each field of a stack changes in the kernels of a lowered network, and that it changes nothing else.
//
// The layer of table_test.cpp (h 4096, 32 heads over 8 groups, d 128), one sequence of 4096 per rank, on 2 data ranks;
// with experts: 8 of width 1024, 2 per token, a shared one of 512, four experts per rank: 4 x 2048 rows of them.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "dataflow/lower/lower.h"
#include "tests/dataflow/networks.h"

namespace stepcast::dataflow::work_test {
namespace {

constexpr double tokens = 4096, hidden = 4096, rows = 8192;

struct WorkCase {
  NetworkSpec spec = section_c_spec();
  Stack stack;
  Precision precision = Precision::bf16;
  std::string mapping = "mesh dp:2\nuse dp\n";

  WorkCase() { stack.fused = {"norm", "attn.qkv", "rope", "swiglu", "bias_dropout_add"}; }
  [[nodiscard]] Program program() const {
    Plan plan;
    plan.mapping = mapping;
    plan.gpus = plan.global_batch = 2;
    plan.precision = precision;
    auto lowered = lower(spec, plan, stack);
    EXPECT_TRUE(lowered.has_value()) << (lowered ? "" : to_text(lowered.error()));
    return lowered ? *std::move(lowered) : Program{};
  }
  [[nodiscard]] ProgramBlock layer() const { return program().blocks.at(1); }
};

WorkCase dense() { return {}; }

WorkCase experts() {
  WorkCase c;
  c.spec.experts = {.count = 8, .top_k = 2, .ffn_hidden = 1024, .shared_ffn_hidden = 512};
  c.mapping = "mesh dp:2\nmesh etp:1 ep:2 edp:1\nuse dp, ep\n";
  return c;
}

std::vector<KernelWork> labelled(const ProgramBlock& block, const std::string& label) {
  std::vector<KernelWork> found;
  for (const KernelWork& work : block.works)
    if (work.label == label) found.push_back(work);
  EXPECT_FALSE(found.empty()) << label;
  return found;
}

KernelWork only(const ProgramBlock& block, const std::string& label) {
  const auto found = labelled(block, label);
  EXPECT_EQ(found.size(), 1U) << label;
  return found.empty() ? KernelWork{} : found.front();
}

auto numbers(const KernelWork& w) {
  return std::tuple(w.label, w.kernel, w.pass, w.m, w.n, w.k, w.batch, w.sequence, w.walked, w.backward,
      w.element_bytes, w.keeps_width, w.head_dim, w.flops.value(), w.useful.value(), w.bytes.value(), w.imbalance,
      w.launches, w.host_calls, w.routed);
}

/// What differs between two programs of the same kernels, before and after, by label.
using Changes = std::map<std::string, std::vector<std::pair<KernelWork, KernelWork>>>;
Changes changes(const WorkCase& start, const std::function<void(Stack&)>& change) {
  WorkCase other = start;
  change(other.stack);
  const Program a = start.program(), b = other.program();
  Changes found;
  for (std::size_t i = 0; i < a.blocks.size(); ++i) {
    const auto &before = a.blocks[i].works, &after = b.blocks[i].works;
    EXPECT_EQ(before.size(), after.size());
    for (std::size_t w = 0; w < std::min(before.size(), after.size()); ++w)
      if (numbers(before[w]) != numbers(after[w])) found[before[w].label].emplace_back(before[w], after[w]);
    EXPECT_EQ(a.blocks[i].moves.size(), b.blocks[i].moves.size());
    for (std::size_t m = 0; m < a.blocks[i].moves.size(); ++m)
      EXPECT_EQ(a.blocks[i].moves[m].received, b.blocks[i].moves[m].received);
  }
  return found;
}

std::set<std::string> labels_of(const Changes& found) {
  std::set<std::string> labels;
  for (const auto& [label, pairs] : found) labels.insert(label);
  return labels;
}

/// Every change is one of host calls alone; calls afterwards, by label.
std::map<std::string, double> calls_after(const Changes& found) {
  std::map<std::string, double> calls;
  for (const auto& [label, pairs] : found)
    for (auto [before, after] : pairs) {
      calls[label] = after.host_calls;
      after.host_calls = before.host_calls;
      EXPECT_EQ(numbers(before), numbers(after)) << label;
    }
  return calls;
}

using Labels = std::set<std::string>;
const Labels exchanges = {"dispatch", "dispatch dX", "combine", "combine dX"};
const Labels expert_products = {
    "expert.up", "expert.up dX", "expert.up dW", "expert.down", "expert.down dX", "expert.down dW"};

TEST(StackWork, CallsPerKernelAreOfAllButExchangesAndSums) {
  const auto calls = calls_after(changes(experts(), [](Stack& s) { s.calls_per_kernel = 5; }));
  for (const auto& [label, count] : calls) EXPECT_EQ(count, 5) << label;
  for (const KernelWork& work : experts().layer().works) {
    const bool sums = work.label.ends_with(" sum");
    EXPECT_EQ(calls.count(work.label) == 0, sums || exchanges.count(work.label) == 1) << work.label;
  }
}

TEST(StackWork, CallsPerDispatchAreOfTheExchanges) {
  const auto calls = calls_after(changes(experts(), [](Stack& s) { s.calls_per_dispatch = 40; }));
  EXPECT_EQ(calls,
      (std::map<std::string, double>{{"dispatch", 40}, {"dispatch dX", 40}, {"combine", 40}, {"combine dX", 40}}));
}

TEST(StackWork, CallsPerExpertAreOfTheLocalExpertsProducts) {  // four local experts: 1 + 2 x 4
  const auto two = [](Stack& s) { s.calls_per_expert = 2; };
  const auto wide = calls_after(changes(experts(), two));
  Labels seen;
  for (const auto& [label, calls] : wide) {
    seen.insert(label);
    EXPECT_EQ(calls, 1 + 2 * 4) << label;
  }
  EXPECT_EQ(seen, expert_products);
}

TEST(StackWork, NarrowPlansCastPerExpertWhereTheLeftOperandIsNew) {  // a cast beside each product
  WorkCase narrow = experts();
  narrow.precision = Precision::mxfp8;
  for (const auto& [label, calls] : calls_after(changes(narrow, [](Stack& s) { s.calls_per_expert = 2; })))
    EXPECT_EQ(calls, 1 + 2 * 4 * (label.ends_with(" dW") ? 1 : 2)) << label;
}

TEST(StackWork, RoutedKernelsAreExchangesAndExperts) {
  for (const KernelWork& work : experts().layer().works) {
    bool before = false;  // what runs before the choice of experts
    for (const char* name : {"attn", "rope", "norm", "router"}) before = before || work.label.starts_with(name);
    EXPECT_FALSE(before && work.routed) << work.label;
    EXPECT_TRUE(work.routed || (exchanges.count(work.label) == 0 && expert_products.count(work.label) == 0))
        << work.label;
  }
  for (const KernelWork& work : dense().layer().works) EXPECT_FALSE(work.routed) << work.label;
}

// read and written once more; under a narrow plan padded as well
TEST(StackWork, RowsAreSortedOnTheDeviceTokensAreNot) {
  for (const auto& [precision, copies] : {std::pair{Precision::bf16, 1.0}, {Precision::fp8, 2.0}}) {
    WorkCase c = experts();
    c.precision = precision;
    const Changes found = changes(c, [](Stack& s) { s.expert_dispatch = Dispatch::tokens; });
    EXPECT_EQ(labels_of(found), exchanges);
    for (const auto& [label, pairs] : found)
      for (const auto& [before, after] : pairs)
        EXPECT_EQ((before.bytes - after.bytes).value(), copies * 2 * rows * hidden * 2) << label;
  }
}

// 4096 positions, 32 heads of 128. A query sees 512 - 512 * 511 / 8192 keys in a window of 512, 256.5 in chunks of 512;
// the kernel walks a block of 128 more, forward two products, backward five.
TEST(Windows, KernelsTakeTheTimeOfTheBlocksThatTheyWalk) {
  for (const bool chunks : {false, true}) {
    WorkCase c = dense();
    c.spec.window = {512, "wf", chunks};
    const Program program = c.program();
    ASSERT_EQ(program.blocks.size(), 4U);
    const double seen = chunks ? 256.5 : 512 - 512.0 * 511 / 8192;
    const auto pairs = [&](double keys) { return Flops(4096 * keys * 32 * 128 * 2); };
    const KernelWork full = only(program.blocks[1], "attn.core"), near = only(program.blocks[2], "attn.core");
    EXPECT_NEAR(full.flops / (pairs(2048.5) * 2), 1, 1e-12);
    EXPECT_NEAR(near.flops / (pairs(seen + 128) * 2), 1, 1e-12);
    EXPECT_NEAR(near.useful / (pairs(seen) * 2), 1, 1e-12);
    EXPECT_NEAR(only(program.blocks[2], "attn.core dX").flops / (pairs(seen + 128) * 5), 1, 1e-12);
    EXPECT_NEAR(near.walked, seen + 128, 1e-9);
    EXPECT_EQ(near.sequence, 4096);
    EXPECT_EQ(near.bytes, full.bytes) << "a window changes no bytes";
    ASSERT_EQ(program.chunks.size(), 1U);
    EXPECT_GE(program.chunks[0].runs.size(), 4U) << "layers take turns";
  }
  WorkCase whole = dense();
  whole.spec.window = {4096, "w", false};
  EXPECT_EQ(numbers(only(whole.layer(), "attn.core")), numbers(only(dense().layer(), "attn.core")));
}

TEST(StackWork, ANarrowHeadChangesTheHeadOnly) {
  const Changes found = changes(dense(), [](Stack& s) { s.narrow_head = true; });
  ASSERT_EQ(found.count("head"), 1U);
  for (const auto& [label, pairs] : found)
    for (auto [before, after] : pairs) {
      EXPECT_TRUE(label.starts_with("head") || label.starts_with("norm")) << label;
      EXPECT_TRUE(before.keeps_width && !after.keeps_width) << label;
      after.keeps_width = true;
      EXPECT_EQ(numbers(before), numbers(after)) << label;
    }
  EXPECT_TRUE(only(dense().layer(), "attn.core").keeps_width);
}

const std::vector<SplitFunction> split_modules = {{"rmsnorm", 8}, {"rope", 5, 4}, {"swiglu", 5.0 / 3, 2}};

TEST(StackWork, EagerModulesPassOverMemoryOperatorByOperator) {
  const Changes found = changes(dense(), [](Stack& s) { s.one_by_one = split_modules; });
  for (const auto& [label, pairs] : found) {
    const double passes = label.starts_with("norm") ? 8 : label.starts_with("rope") ? 5 : 5.0 / 3;
    for (auto [before, after] : pairs) {
      EXPECT_NEAR(after.bytes / before.bytes, passes, 1e-12) << label;
      EXPECT_EQ(after.launches, label.starts_with("norm") ? 1 : label.starts_with("rope") ? 8 : 2) << label;
      after.bytes = before.bytes, after.launches = before.launches;
      EXPECT_EQ(numbers(before), numbers(after)) << label;
    }
  }
  EXPECT_EQ(labels_of(found), (Labels{"norm", "norm dX", "norm dW", "rope", "rope dX", "swiglu", "swiglu dX"}));
}

TEST(StackWork, EagerLayerNormIsOneKernel) {
  WorkCase c = dense();
  c.spec.norm = Norm::layernorm;
  for (const auto& [label, pairs] : changes(c, [](Stack& s) { s.one_by_one = split_modules; }))
    EXPECT_FALSE(label.starts_with("norm")) << label;
}

TEST(StackWork, GradientsAddedApartCostAKernelEach) {
  for (const auto& [precision, accumulator] : {std::pair{Precision::bf16, 4.0}, {Precision::fp16, 2.0}}) {
    WorkCase c = dense();
    c.precision = precision;
    c.stack.half_gradients = true;
    const ProgramBlock joined = c.layer();
    c.stack.accumulates_apart = true;
    const ProgramBlock apart = c.layer();
    std::size_t products = 0;
    for (const char* label : {"attn.qkv dW", "attn.out dW", "mlp.up dW", "mlp.down dW"}) {
      const auto before = labelled(joined, label), after = labelled(apart, label),
                 added = labelled(apart, label + std::string(" added"));
      ASSERT_EQ(before.size(), added.size());
      products += added.size();
      // Accumulated by the product: 1.5 accumulators per element. Apart: 2 bytes written, read, the accumulator read
      // and written.
      const double elements = after[0].m * after[0].n;
      EXPECT_EQ((before[0].bytes - after[0].bytes).value(), elements * (1.5 * accumulator - 2)) << label;
      EXPECT_EQ(added[0].bytes.value(), elements * (2 + 2 * accumulator)) << label;
      EXPECT_EQ(added[0].pass, Pass::weight_grad);
      EXPECT_EQ(added[0].flops.value(), 0);
    }
    EXPECT_EQ(apart.works.size(), joined.works.size() + products);
  }
}

/// Under autocast each weight of a product is read in fp32 and written in bf16, and its gradient the other way round;
/// what a norm gives is cast for Q, K and V by one kernel, for gate and up by another.
TEST(StackWork, AutocastCastsWeightsAndWhatNormsGive) {
  WorkCase c = dense();
  c.stack.autocast = c.stack.accumulates_apart = true;
  double forward = 0, weight_grad = 0, added = 0;
  for (const KernelWork& work : c.layer().works) {
    if (work.label.find("cast") == std::string::npos) continue;
    if (work.pass == Pass::forward) forward += work.bytes.value();
    else if (work.label.ends_with("added")) added += work.bytes.value();
    else if (work.pass == Pass::weight_grad) weight_grad += work.bytes.value();
  }
  constexpr double ffn = 14336, weights = hidden * (6144 + hidden + 3 * ffn);
  // Gradients are summed over the data ranks once a step, in fp32, as without casts.
  EXPECT_EQ(c.layer().moves.size(), dense().layer().moves.size());
  const auto reduced = [](const ProgramBlock& block) {
    double bytes = 0;
    for (const Move& move : block.step_moves) bytes += move.received.value();
    return bytes;
  };
  EXPECT_EQ(reduced(c.layer()), reduced(dense().layer()));
  EXPECT_EQ(forward, 6 * weights + tokens * hidden * ((4 + 3 * 2) + (4 + 2 * 2)));
  EXPECT_EQ(weight_grad, 6 * weights);
  EXPECT_EQ(added, (4 + 2 * 4) * weights);
}

TEST(StackWork, HalfGradientsHalveWhatIsReducedAndReadUnderFp16) {
  const auto both = [](Precision precision) {
    WorkCase c = dense();
    c.precision = precision;
    const Program full = c.program();
    c.stack.half_gradients = true;
    const Program half = c.program();
    const auto reduced = [](const Program& program) { return program.blocks.at(1).step_moves.at(0).received.value(); };
    EXPECT_EQ(
        full.bytes_per_optimizer_element - half.bytes_per_optimizer_element, precision == Precision::fp16 ? 2 : 0);
    return std::pair{reduced(half) / reduced(full), half.bytes_per_gradient_element / full.bytes_per_gradient_element};
  };
  EXPECT_EQ(both(Precision::fp16), (std::pair{0.5, 0.5}));
  EXPECT_EQ(both(Precision::bf16), (std::pair{1.0, 1.0}));
}

}  // namespace
}  // namespace stepcast::dataflow::work_test
