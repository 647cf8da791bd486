// One price of a kernel: what a step pays before its own factors is what `stepcast kernel` says without correction, by
// the laws of every profile of the catalogue.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "model/catalog.h"
#include "model/profile/kernel_law.h"
#include "sim/cost.h"
#include "tests/sim/small_program.h"

namespace stepcast::sim {
namespace {

/// A step that adds nothing: clocks as in bursts, a stack without factors of its own.
struct BareStep {
  Machine machine = small::machine();
  Profile profile;
  Stack stack = small::stack();
  explicit BareStep(const Profile& of) : profile(of) {
    profile.sustained_slowdown = 1;
    profile.steps.clear();
    machine.gpu = **find_row(built_in().gpus, profile.gpu, "gpu");
  }
  [[nodiscard]] Seconds time(const KernelWork& work, Precision precision) const {
    return CostModel(machine, profile, stack, precision).work(work).time;
  }
};

class Sizes {
 public:
  double operator()(double most) {
    return std::round(std::exp(std::uniform_real_distribution(0.0, std::log(most))(random_)));
  }

 private:
  std::mt19937 random_{22};
};

/// The product as a step's program has it; its operands have the type's own width, so that nothing is cast.
KernelWork work_of(const GemmQuery& query) {
  KernelWork work;
  work.kernel = KernelClass::gemm;
  work.m = query.m, work.n = query.n, work.k = query.k, work.batch = query.batch;
  work.element_bytes = operand_bytes(query.precision);
  work.flops = work.useful = flops_of(query);
  work.bytes = bytes_of(query);
  return work;
}

RooflineLaw without_correction(RooflineLaw law) {
  law.refinement = {};
  return law;
}

TEST(KernelPrice, AProductCostsAStepWhatTheLawSaysOfItAlone) {
  Sizes size;
  for (const ProfileRow& row : built_in().profiles) {
    const BareStep step(row.steps());
    for (const RooflineLaw& law : row.whole().gemm) {
      // of datasheet rates steps count L2 misses as well
      if (law.block_scaled || law.source == Source::datasheet) continue;
      for (int i = 0; i < 40; ++i) {
        const GemmQuery query{size(65536), size(65536), size(65536), size(16), law.precision};
        const Seconds alone = gemm_time(without_correction(law), row.whole().units, query).time;
        EXPECT_EQ(step.time(work_of(query), law.precision), alone)
            << row.id << " " << to_text(law.precision) << " " << query.m;
      }
    }
  }
}

TEST(KernelPrice, ACorrectionCountsInStepsWhereItsRowSaysSo) {
  Sizes size;
  int corrected = 0;
  for (const ProfileRow& row : built_in().profiles) {
    Profile profile = row.whole();
    for (RooflineLaw& law : profile.gemm)
      if (law.refinement.use == CorrectionUse::kernels) law.refinement.use = CorrectionUse::kernels_and_steps;
    const BareStep asked(profile), usual(row.whole());
    for (const RooflineLaw& law : profile.gemm) {
      if (law.block_scaled || law.refinement.use == CorrectionUse::none) continue;
      for (int i = 0; i < 10; ++i, ++corrected) {
        const GemmQuery query{size(16384), size(16384), size(16384), 1, law.precision};
        const KernelTime kernel = gemm_time(law, profile.units, query);
        EXPECT_TRUE(kernel.corrected);
        EXPECT_EQ(asked.time(work_of(query), law.precision), kernel.time) << row.id;
        EXPECT_EQ(usual.time(work_of(query), law.precision), base_time(law, query))
            << row.id << ": no shipped law is corrected in steps";
      }
    }
  }
  EXPECT_GT(corrected, 100);
}

// 50257 rows of a vocabulary begin at odd addresses, unless the software fills them up.
TEST(KernelPrice, PaddedVocabulariesAreAligned) {
  Profile profile = built_in().profiles.front().steps();
  for (RooflineLaw& law : profile.gemm) law.part_aligned = 3, law.unaligned = 7;
  const GemmQuery head{.m = 2048, .n = 50257, .k = 2048}, filled{.m = 2048, .n = 50264, .k = 2048};
  const BareStep as_it_is(profile);
  EXPECT_GT(as_it_is.time(work_of(head), Precision::bf16) / as_it_is.time(work_of(filled), Precision::bf16), 4);
  Stack padding = as_it_is.stack;
  padding.pads_vocabulary = true;
  const CostModel padded(as_it_is.machine, profile, padding, Precision::bf16);
  EXPECT_NEAR(padded.work(work_of(head)).time / padded.work(work_of(filled)).time, 1, 0.001);
}

/// Without the fast loads H100 and H200 make 108 and 107 TFLOP/s of 809 (their measured profiles).
TEST(KernelPrice, OddRowsAreSlowOnEveryHopperCard) {
  const GemmQuery head{.m = 16384, .n = 50257, .k = 2048}, filled{.m = 16384, .n = 50264, .k = 2048};
  for (const char* id : {"h100-sxm", "h200-sxm", "measured-h100-sxm", "measured-h200-sxm"}) {
    const BareStep step((*find_row(built_in().profiles, std::string(id), "profile"))->steps());
    const double times = step.time(work_of(head), Precision::bf16) / step.time(work_of(filled), Precision::bf16);
    EXPECT_GT(times, 6.5) << id;
    EXPECT_LT(times, 7.6) << id;
  }
}

/// 8192^3 in fp8: gradients add up in fp32 on Hopper and take up to a tenth longer, the bound of products alone; on
/// Blackwell, and in 16 bits, they take what forward takes in the same layout.
TEST(KernelPrice, GradientsInFp8AddUpApartOnHopper) {
  for (const auto& [id, slower] : {std::pair{"h100-sxm", 1.1}, {"h200-sxm", 1.1}, {"b200-sxm", 1.0}}) {
    const BareStep step((*find_row(built_in().profiles, std::string(id), "profile"))->steps());
    KernelWork work = work_of({.m = 8192, .n = 8192, .k = 8192, .precision = Precision::fp8});
    const Seconds forward = step.time(work, Precision::fp8);
    work.pass = Pass::recompute;
    EXPECT_EQ(step.time(work, Precision::fp8), forward) << id;
    for (const Pass pass : {Pass::input_grad, Pass::weight_grad}) {
      work.pass = pass;
      const double times = step.time(work, Precision::fp8) / forward;
      EXPECT_LE(times, slower + 1e-9) << id;
      EXPECT_GE(times, 1 + 0.9 * (slower - 1)) << id;
    }
  }
}

TEST(KernelPrice, AttentionAndStreamsCostAStepWhatTheirLawsSay) {
  Sizes size;
  for (const ProfileRow& row : built_in().profiles) {
    const BareStep step(row.steps());
    AttentionLaw attention = row.whole().attention;
    MemoryLaw memory = row.whole().memory;
    attention.refinement = {}, memory.refinement = {};
    for (int i = 0; i < 40; ++i) {
      const double positions = size(131072);
      const AttentionQuery query{.batch = size(8), .queries = positions, .keys = positions, .heads = size(64)};
      KernelWork core;
      core.kernel = KernelClass::attention;
      core.sequence = positions;
      core.head_dim = query.head_dim;
      core.key_reach.domain = Domain::causal;
      core.bytes = bytes_of(query);
      core.flops = core.useful = forward_flops_of(query);
      EXPECT_EQ(step.time(core, Precision::bf16), attention_time(attention, row.whole().units, query).time) << row.id;
      const MemoryQuery passed{find_memory_op("add"), size(65536), size(65536), 2};
      KernelWork stream;
      stream.bytes = bytes_of(passed);
      EXPECT_EQ(step.time(stream, Precision::bf16), memory_time(memory, row.whole().units, passed).time) << row.id;
    }
  }
}

TEST(ProductQuery, GradientsTurnTheMatricesAsCallsDo) {
  KernelWork work = small::gemm(1, Pass::forward);
  work.m = 1, work.n = 2, work.k = 3;
  EXPECT_EQ(product_query(work, Precision::bf16).layout, GemmLayout::tn);
  work.pass = Pass::input_grad;
  EXPECT_EQ(product_query(work, Precision::bf16).layout, GemmLayout::nn);
  EXPECT_EQ(product_query(work, Precision::fp8).layout, GemmLayout::tn) << "narrow types have no other layout";
  work.pass = Pass::weight_grad;
  const GemmQuery turned = product_query(work, Precision::bf16);
  EXPECT_EQ(turned.layout, GemmLayout::nt);
  EXPECT_EQ(turned.m, 2);
  EXPECT_EQ(turned.n, 1);
}

}  // namespace
}  // namespace stepcast::sim
