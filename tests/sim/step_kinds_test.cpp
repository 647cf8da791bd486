// A step under every kind of schedule: two copies of the model, slices of the sequence, caps on memory.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/schedule/schedule_table.h"
#include "sim/step.h"
#include "sim/step/step_memory.h"
#include "tests/sim/small_program.h"

namespace stepcast::sim {
namespace {

using testing::HasSubstr;

struct KindSetting {
  Machine machine = small::machine();
  Profile profile = small::profile();
  Stack stack = small::stack();
  [[nodiscard]] CostModel cost() const { return {machine, profile, stack, Precision::bf16}; }
};

Expected<StepReport> kind_step(const Program& program, double memory_cap = 0) {
  const KindSetting setting;
  return forecast(program, setting.cost(), memory_cap);
}

/// One layer per virtual stage; `folded`: laid there and back.
Program kind_program(const std::string& schedule, int stages, int chunks, bool folded, int micro_batches) {
  Program program = small::pipeline(small::plain_layer(), static_cast<std::int64_t>(stages) * chunks, 1, micro_batches);
  program.ranks = program.stages = stages;
  program.chunks_per_stage = chunks;
  program.schedule = schedule;
  for (int i = 0; i < stages * chunks; ++i) {
    program.chunks[i].stage = folded && i >= stages ? 2 * stages - 1 - i : i % stages;
    program.chunks[i].chunk = i / stages;
  }
  return program;
}

Program kind_program(const ScheduleKind& kind, int stages, int micro_batches) {
  const int chunks = kind.own_chunks > 0 ? kind.own_chunks : kind.takes_chunks ? 2 : 1;
  return kind_program(kind.id, stages, chunks, kind.own_chunks > 0, micro_batches);
}

Seconds kind_pipeline_time(const Phases& phases) {
  return phases.forward + phases.backward + phases.bubble + phases.exposed_communication;
}

TEST(StepKinds, EveryKindIsForecast) {  // 16 micro-batches x (1 forward + 2 backward) on each of 4 ranks, or twice that
  int seen = 0;
  for (const ScheduleKind& kind : schedule_kinds()) {
    const Program program = kind_program(kind, 4, 16);
    const auto report = kind_step(program);
    ASSERT_TRUE(report.has_value()) << kind.id << ": " << to_text(report.error());
    const double layers = static_cast<double>(program.chunks.size()) / 4;
    EXPECT_NEAR(report->phases.forward.value(), 16 * layers, 1e-9) << kind.id;
    EXPECT_NEAR(report->phases.backward.value(), 32 * layers, 1e-9) << kind.id;
    EXPECT_NEAR(kind_pipeline_time(report->phases).value(), report->timeline.makespan.value(), 1e-9) << kind.id;
    EXPECT_NEAR(report->phases.bubble / report->timeline.makespan, report->bubble_fraction, 1e-9) << kind.id;
    EXPECT_NEAR(report->phases.sum().value(), report->step_time.value(), 1e-9) << kind.id;
    EXPECT_NEAR(report->hardware_flops.value(), 4 * 16 * 3 * layers * 100e12, 1e3) << kind.id;
    ++seen;
  }
  EXPECT_GE(seen, 23);
}

/// 10 bytes of weights per stage, 3 per micro-batch in flight.
std::vector<Buffer> weights_and_saved() {
  Buffer weights, saved;
  weights.kind = BufferKind::weight;
  weights.bytes = Bytes(10);
  saved.kind = BufferKind::saved;
  saved.count = Count::per_micro_batch;
  saved.bytes = Bytes(3);
  saved.dies = 1;
  return {weights, saved};
}

TEST(StepKinds, MemoryAloneIsThatOfTheStep) {
  int seen = 0;
  for (const ScheduleKind& kind : schedule_kinds()) {
    Program program = kind_program(kind, 4, 16);
    program.blocks[0].buffers = weights_and_saved();
    program.chunks.back().runs.front().count += 1;  // the last stage has most
    const KindSetting setting;
    const auto report = kind_step(program);
    const auto alone = step_memory(program, setting.cost());
    ASSERT_TRUE(report.has_value() && alone.has_value()) << kind.id;
    EXPECT_GT(alone->activations.value(), 0) << kind.id;
    EXPECT_EQ(alone->peak, report->memory.peak) << kind.id;
    EXPECT_EQ(alone->sum(), report->memory.sum()) << kind.id;
    EXPECT_EQ(alone->activations, report->memory.activations) << kind.id;
    EXPECT_EQ(alone->peaks, report->memory.peaks) << kind.id;
    EXPECT_EQ(alone->rank, report->memory.rank) << kind.id;
    EXPECT_EQ(alone->capacity, report->memory.capacity) << kind.id;
    EXPECT_EQ(alone->fits, report->memory.fits) << kind.id;
    ++seen;
  }
  EXPECT_GE(seen, 23);
  Program elsewhere = kind_program("zb-v", 4, 2, true, 16);
  for (std::size_t i = 0; i < elsewhere.chunks.size(); ++i) elsewhere.chunks[i].stage = static_cast<int>(i % 4);
  const KindSetting setting;
  EXPECT_FALSE(step_memory(elsewhere, setting.cost()).has_value()) << "layers dealt round, not there and back";
}

TEST(StepKinds, BothCopiesLieInMemory) {
  const auto memory = [](const std::string& schedule) {
    Program program = kind_program(schedule, 4, 1, false, 8);
    program.blocks[0].buffers = weights_and_saved();
    const auto report = kind_step(program);
    EXPECT_TRUE(report.has_value());
    return report->memory;
  };
  EXPECT_EQ(memory("1f1b").weights, Bytes(10));
  EXPECT_EQ(memory("1f1b").activations, Bytes(4 * 3));
  EXPECT_EQ(memory("dualpipe").weights, Bytes(20));
  EXPECT_EQ(memory("dualpipe").activations, Bytes(5 * 3)) << "p+1 on every rank (DualPipe's README)";
  EXPECT_EQ(memory("chimera").weights, Bytes(20));
}

TEST(StepKinds, CopiesSumTheirGradients) {  // two stages of 1e9 elements, 4 bytes each, between two ranks at 100 GB/s
  Program program = kind_program("dualpipe", 4, 1, false, 8);
  program.blocks[0].optimizer_elements = 1e9;
  const auto report = kind_step(program);
  ASSERT_TRUE(report.has_value());
  EXPECT_NEAR(report->phases.gradient_sync.value(), 0.08, 1e-6);
  const auto row = std::find_if(report->collectives.begin(), report->collectives.end(),
      [](const CollectiveReport& one) { return one.axis == "copies"; });
  ASSERT_NE(row, report->collectives.end());
  EXPECT_EQ(row->bytes, Bytes(8e9));
  EXPECT_EQ(row->group_size, 2);
  EXPECT_EQ(row->count, 1);
  program.schedule = "1f1b";
  EXPECT_EQ(kind_step(program)->phases.gradient_sync, Seconds(0));
}

TEST(StepKinds, CopiesRunFromBothEnds) {  // the slow stage 0 lies on ranks 0 and 3: 8 micro-batches pass it in all
  Program program = kind_program("dualpipe", 4, 1, false, 8);
  program.chunks[0].runs[0].count = 3;
  const auto report = kind_step(program);
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->stages[0].layers, 4);
  EXPECT_EQ(report->stages[1].layers, 2);
  EXPECT_EQ(report->stages[3].layers, 4);
  EXPECT_NEAR(report->phases.forward.value(), 4 * 3 + 4 * 1, 1e-9);
  EXPECT_NEAR(report->hardware_flops.value(), 8 * (3 + 1 + 1 + 1) * 3 * 100e12, 1e3);
}

TEST(StepKinds, HopsOfBothCopiesAreTimed) {  // 1e9 bytes at 100 GB/s inside the node of 4: 10 ms per hop, both copies
  Program program = kind_program("chimera", 4, 1, false, 4);
  for (StageEdge& edge : program.edges) edge.bytes = Bytes(1e9);
  const auto report = kind_step(program);
  ASSERT_TRUE(report.has_value());
  ASSERT_EQ(report->times.hop_forward.size(), 7U);
  EXPECT_NEAR(report->times.hop_forward[0].value(), 0.01, 1e-9);
  EXPECT_NEAR(report->times.hop_forward[3].value(), 0, 1e-12) << "nothing passes from copy to copy";
  EXPECT_NEAR(report->times.hop_forward[6].value(), 0.01, 1e-9);
}

TEST(StepKinds, OddNumbersHaveNoTwoWays) {
  const auto ranks = kind_step(kind_program("dualpipe", 3, 1, false, 8));
  ASSERT_FALSE(ranks.has_value());
  EXPECT_EQ(ranks.error().hint, "ranks 2 or 4");
  const auto batches = kind_step(kind_program("chimera", 4, 1, false, 7));
  ASSERT_FALSE(batches.has_value());
  EXPECT_EQ(batches.error().hint, "micro-batches 6 or 8");
}

/// Forward: `seconds` of attention over one key of its own. Backward: a second for each half.
ProgramBlock attending_layer(double seconds) {
  ProgramBlock block = small::plain_layer();
  KernelWork& core = block.works[0];
  core.kernel = KernelClass::attention;
  core.sequence = 1;
  core.flops = core.useful = Flops(seconds * 100e12);
  return block;
}

Expected<StepReport> sliced_step(const Program& first, int slices) {
  const KindSetting setting;
  return forecast_slices(slice_programs(first, slices), setting.cost());
}

TEST(StepKinds, LaterSlicesSeeMoreKeys) {  // with one key per slice, slice i sees i+1: 1, 2, 3, 4 s
  Program program = small::pipeline(attending_layer(1), 1, 1, 1);
  program.schedule = "terapipe";
  const auto report = sliced_step(program, 4);
  ASSERT_TRUE(report.has_value());
  for (int slice = 0; slice < 4; ++slice)
    EXPECT_NEAR((report->timeline.end[slice] - report->timeline.start[slice]).value(), slice + 1, 1e-9);
  EXPECT_NEAR(report->phases.forward.value(), 10, 1e-9);
  EXPECT_NEAR(report->phases.backward.value(), 8, 1e-9);
  EXPECT_NEAR(report->stages[0].forward.value(), 10, 1e-9) << "a whole micro-batch";
  EXPECT_NEAR(report->hardware_flops.value(), 18 * 100e12, 1e3);
}

TEST(StepKinds, CausalSlicesSumToTheWholeSequence) {  // 8 keys: 36 points; slices of 2: 3 + 7 + 11 + 15
  Program program = small::pipeline(attending_layer(3), 1, 1, 1);
  program.blocks[0].works[0].sequence = 2;
  const auto slices = slice_programs(program, 4);
  double points = 0;
  for (const Program& slice : slices) points += slice.blocks[0].works[0].flops.value() / 100e12;
  EXPECT_NEAR(points, 36, 1e-9);
  EXPECT_EQ(slices[3].blocks[0].works[0].sequence, 8);
}

TEST(StepKinds, SlicesWaitForEachOther) {  // ranks 0: F 0-1, 1-3, B 7-9, 9-11; rank 1: F 1-2, 3-5, B 5-7, 7-9
  Program program = small::pipeline(attending_layer(1), 2, 1, 1);
  program.schedule = "terapipe";
  const auto report = sliced_step(program, 2);
  ASSERT_TRUE(report.has_value());
  EXPECT_NEAR(report->timeline.makespan.value(), 11, 1e-9);
  EXPECT_NEAR(report->timeline.start[4 + 1].value(), 3, 1e-9);
  EXPECT_NEAR(kind_pipeline_time(report->phases).value(), 11, 1e-9);
  EXPECT_NEAR(report->phases.bubble.value(), 11 - 7, 1e-9);
}

TEST(StepKinds, SlicesAreHeldOneByOne) {  // 3 bytes per slice; TeraPipe holds all 2 x 4, Seq1F1B p-1-r+n = 5
  Program program = small::pipeline(attending_layer(1), 2, 1, 2);
  Buffer saved;
  saved.kind = BufferKind::saved;
  saved.count = Count::per_micro_batch;
  saved.bytes = Bytes(3);
  saved.dies = 1;
  program.blocks[0].buffers = {saved};
  program.schedule = "terapipe";
  EXPECT_EQ(sliced_step(program, 4)->memory.activations, Bytes(8 * 3));
  program.schedule = "seq-1f1b";
  EXPECT_EQ(sliced_step(program, 4)->memory.activations, Bytes(5 * 3));
}

TEST(StepKinds, OneSliceIsTheWholeSequence) {
  Program program = small::pipeline(attending_layer(1), 4, 1, 8);
  const auto plain = kind_step(program);
  program.schedule = "seq-1f1b";
  EXPECT_EQ(sliced_step(program, 1)->step_time, plain->step_time);
}

TEST(StepKinds, KindsThatCutNothingRefuseSlices) {
  const auto report = sliced_step(small::pipeline(attending_layer(1), 2, 1, 2), 2);
  ASSERT_FALSE(report.has_value());
  EXPECT_THAT(report.error().what, HasSubstr("does not cut the sequence"));
}

TEST(StepKinds, CapsHoldOrAreRefused) {
  const auto held = [](const StepReport& report) {
    return *std::max_element(report.timeline.peak_in_flight.begin(), report.timeline.peak_in_flight.end());
  };
  const auto roomy = kind_step(kind_program("zb-auto", 4, 1, false, 12));
  const auto tight = kind_step(kind_program("zb-auto", 4, 1, false, 12), 3);
  ASSERT_TRUE(tight.has_value());
  EXPECT_LE(held(*tight), 3);
  EXPECT_GT(held(*roomy), 3);
  EXPECT_GT(tight->step_time, roomy->step_time);
  EXPECT_TRUE(kind_step(kind_program("1f1b", 4, 1, false, 12), 4).has_value());
  const auto refused = kind_step(kind_program("1f1b", 4, 1, false, 12), 3);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().where, "memory-cap");
  EXPECT_THAT(refused.error().what, HasSubstr("4 micro-batches on rank 0, above 3"));
  EXPECT_THAT(refused.error().hint, HasSubstr("memory-cap 4 or more"));
}

TEST(StepKinds, NotesSayWhatIsAssumed) {
  const auto notes = [](const std::string& id, bool folded) {
    const auto report = kind_step(kind_program(id, 4, folded ? 2 : 1, folded, 8));
    std::string all;
    for (const std::string& note : report->notes) all += note;
    return all;
  };
  EXPECT_EQ(notes("1f1b", false), "");
  EXPECT_THAT(notes("dualpipe", false), HasSubstr("two copies of the model"));
  EXPECT_THAT(notes("dualpipe", false), HasSubstr("run as a pair"));
  EXPECT_THAT(notes("dualpipev", true), HasSubstr("run as a pair"));
  EXPECT_THAT(notes("chimera", false), testing::Not(HasSubstr("run as a pair")));
}

}  // namespace
}  // namespace stepcast::sim
