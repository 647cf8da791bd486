#include "studies/sweep/price/points.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/studies/sweep/many_spaces.h"
#include "tests/studies/sweep/space/space_of.h"
#include "dataflow/lower/built_networks.h"
#include "dataflow/lower/lower.h"
#include "studies/sweep/price/legality.h"

namespace stepcast::sweep {
namespace {

using testing_space::good;

/// Figures of a row and of the report behind it say the same, and hang together.
TEST(SpacePoints, FiguresAreThoseOfTheReport) {
  std::mt19937_64 random(3);
  for (const auto& small : testing_sweep::tried_spaces()) {
    const Space space = good(small.line);
    SpacePoints points = SpacePoints::make(space).value();
    Legality legality(points);
    int looked = 0;
    for (int trial = 0; trial < 3000 && looked < 3; ++trial) {
      const Digits digits = space.digits(random() % space.size());
      if (legality.ask(digits, AxisId{}).reason >= 0) continue;
      const Scenario scenario = points.scenario(digits).value();
      const Prediction prediction = run::predict(scenario).value();
      const Figures figures = figures_of(scenario, points.wishes(digits), prediction, 2.5);
      const auto at = [&](Figure figure) { return figures[static_cast<std::size_t>(figure)]; };
      double phases = 0;
      for (const Figure phase : {Figure::forward, Figure::backward, Figure::pipeline_bubble,
               Figure::exposed_communication, Figure::gradient_sync, Figure::clip, Figure::optimizer,
               Figure::parameter_gather, Figure::host, Figure::other})
        phases += at(phase);
      EXPECT_NEAR(phases, at(Figure::step_time), 1e-6 * phases) << points.command(digits);
      const double tokens = static_cast<double>(space.global_batch * space.sequence);
      EXPECT_NEAR(at(Figure::tokens_per_s_per_gpu) * at(Figure::step_time) * at(Figure::gpus), tokens, 1e-9 * tokens);
      EXPECT_NEAR(at(Figure::cost) * tokens / 1e9, 2.5 * at(Figure::gpus) * at(Figure::step_time) / 3600,
          1e-9 * at(Figure::cost) * tokens / 1e9);
      EXPECT_NEAR(at(Figure::memory_peak) + at(Figure::memory_headroom), prediction.step.memory.capacity.value(), 2);
      EXPECT_EQ(at(Figure::tp) * at(Figure::cp) * at(Figure::pp) * at(Figure::dp), at(Figure::gpus));
      EXPECT_EQ(at(Figure::dp) * at(Figure::micro_batch) * at(Figure::micro_batches),
          static_cast<double>(space.global_batch));
      EXPECT_GT(at(Figure::energy), 0);
      const Figures unpriced = figures_of(scenario, points.wishes(digits), prediction, 0);
      EXPECT_TRUE(std::isnan(unpriced[static_cast<std::size_t>(Figure::cost)]));
      ++looked;
    }
    EXPECT_GT(looked, 0) << small.name;
  }
}

/// Prices of layers are shared by points that differ in stages, chunks, schedules and sharding.
TEST(SpacePoints, BalancedLayersAreThoseOfThePointAlone) {
  const char* lines[] = {
      "deepseek-v2-lite --machine hgx-h800 --gpus 64 --global-batch 128 --seq 4096 --tp 1,2 --pp 1,2,4,8 --ep 1,8 "
      "--order tp-cp-dp-pp,tp-cp-pp-dp --recompute none,full,full:2 --micro-batch 1,2 --chunks 1,2 --zero 1,2 "
      "--schedule auto,zb-h1,dualpipev --layout balanced",
      "bloom-176b --machine jean-zay-a100 --stack megatron-deepspeed --gpus 96 --global-batch 96 --seq 2048 --tp 2,4 "
      "--pp 1,3,6,12 --layout balanced --recompute none,full --micro-batch 1,2 --chunks 1,2 --zero 0,1",
      "llama3.1-8b --machine dgx-h100 --stack pytorch-fsdp --gpus 48 --global-batch 96 --seq 4096 --tp 1,2 --pp 1,3,6 "
      "--cp 1,2 --layout balanced --recompute none --micro-batch 1 --chunks 1,2 --zero 1,3 --dp-overlap off,on"};
  std::mt19937 random(7);
  for (const char* line : lines) {
    const Space space = good(line);
    SpacePoints points = SpacePoints::make(space).value();
    Legality legality(points);
    int looked = 0, uneven = 0;
    for (int trial = 0; trial < 4000 && looked < 40; ++trial) {
      const Digits digits = space.digits(random() % space.size());
      if (legality.ask(digits, AxisId{}).reason >= 0) continue;
      SpacePoints alone = SpacePoints::make(space).value();
      const auto shared = points.balanced(digits), own = alone.balanced(digits);
      ASSERT_EQ(shared.has_value(), own.has_value()) << points.command(digits);
      if (!shared) continue;
      EXPECT_EQ(*shared, *own) << points.command(digits);
      ++looked;
      uneven += std::ranges::adjacent_find(*own, std::not_equal_to{}) != own->end() ? 1 : 0;
    }
    EXPECT_EQ(looked, 40) << line;
    EXPECT_GT(uneven, 10) << line;
  }
}

/// Kind, when, group and bytes of moves: numbers of groups may differ.
std::string told(const Program& program, const std::vector<Move>& moves) {
  std::string text;
  for (const Move& move : moves) {
    text += fmt::format("{} {} {} {} {} {}", static_cast<int>(move.kind), static_cast<int>(move.when),
        static_cast<int>(move.cargo), move.received.value(), move.local_before.value(), move.blocking);
    if (move.group >= 0)
      for (const auto& digit : program.groups[move.group].digits)
        text += fmt::format(" {}x{}", digit.stride, digit.size);
    text += "; ";
  }
  return text;
}

/// All that a step does once: of a whole program, and of one without micro-batches. How many layers each stage has is
/// told in all where layers are dealt by their time: the step is lowered once for all of such layouts.
std::string once_per_step(const Program& program, bool with_layers) {
  std::string text = fmt::format("{} {} {} {} {}\n", program.stages, program.stage_stride, program.schedule,
      program.tokens_per_step, program.recompute_layers);
  for (const ProgramBlock& block : program.blocks) {
    double kept = 0;
    for (const Buffer& buffer : block.buffers) kept += buffer.count == Count::persistent ? buffer.bytes.value() : 0;
    text += fmt::format("{} {} {} {} {}: {}\n", block.name, block.is_layer, block.parameters, block.optimizer_elements,
        kept, told(program, block.step_moves));
  }
  std::map<int, std::int64_t> layers;  // of each block, over all stages
  for (const Chunk& chunk : program.chunks) {
    text += fmt::format("{} {}:", chunk.stage, chunk.chunk);
    for (const BlockRun& run : chunk.runs) {
      layers[run.block] += run.count;
      if (with_layers) text += fmt::format(" {}x{}", run.block, run.count);
    }
  }
  for (const auto& [block, count] : layers) text += fmt::format(" {} of {}", count, block);
  for (const StageEdge& edge : program.edges) {
    text += fmt::format("\n{} {} {} {}", edge.from, edge.to, edge.bytes.value(), edge.rank_distance);
    if (edge.gather) text += told(program, {*edge.gather});
  }
  return text + "\n" + told(program, program.tail) + told(program, program.shared);
}

TEST(SpacePoints, StepProgramsAreWholeOnesWithoutMicroBatches) {
  std::mt19937_64 random(11);
  int shared = 0;
  for (const auto& small : testing_sweep::tried_spaces()) {
    const Space space = good(small.line);
    SpacePoints points = SpacePoints::make(space).value();
    Legality legality(points);
    int looked = 0;
    for (int trial = 0; trial < 3000 && looked < 6; ++trial) {
      const Digits digits = space.digits(random() % space.size());
      if (legality.ask(digits, AxisId{}).reason >= 0) continue;
      const auto whole = points.program(digits), step = points.step_program(digits);
      ASSERT_TRUE(whole && step) << points.command(digits);
      const bool dealt = points.command(digits).find("--layout balanced") != std::string::npos;
      EXPECT_EQ(once_per_step(*whole, !dealt), once_per_step(*step, !dealt)) << points.command(digits);
      EXPECT_FALSE(whole->blocks.front().forward.empty());
      shared += whole->shared.empty() ? 0 : 1;
      ++looked;
    }
    EXPECT_GT(looked, 0) << small.name;
  }
  EXPECT_TRUE(sanitized || shared > 0);
}

/// All that a micro-batch does and holds, but for names that nothing is shared by.
std::string of_a_micro_batch(const Program& program) {
  std::string text;
  for (const ProgramBlock& block : program.blocks) {
    text += fmt::format("{} {}\n", block.name, told(program, block.moves));
    for (const KernelWork& work : block.works)
      text += fmt::format("{} {} {} {} {} {}; ", static_cast<int>(work.kernel), static_cast<int>(work.pass),
          work.flops.value(), work.bytes.value(), work.m, work.batch);
    for (const auto* items : {&block.forward, &block.backward})
      for (const Item& item : *items) text += fmt::format("{} {} {}; ", item.is_move, item.index, item.after.size());
    for (const Buffer& buffer : block.buffers)
      if (buffer.count != Count::persistent)
        text += fmt::format("{} {} {} {} {}; ", static_cast<int>(buffer.kind),
            buffer.count == Count::shared ? buffer.label : "", buffer.bytes.value(), buffer.born, buffer.dies);
  }
  return text;
}

TEST(SpacePoints, ProgramsOfPassesAreWholeOnesWithoutTheStep) {
  std::mt19937_64 random(12);
  for (const auto& small : testing_sweep::tried_spaces()) {
    const Space space = good(small.line);
    SpacePoints points = SpacePoints::make(space).value();
    Legality legality(points);
    BuiltNetworks built;
    int looked = 0;
    for (int trial = 0; trial < 3000 && looked < 4; ++trial) {
      const Digits digits = space.digits(random() % space.size());
      if (legality.ask(digits, AxisId{}).reason >= 0) continue;
      const Scenario at = points.scenario(digits).value();
      const Program whole = lower(at.network.row, at.plan, at.stack.row).value(),
                    passes = lower_passes(at.network.row, at.plan, at.stack.row, built).value();
      EXPECT_EQ(of_a_micro_batch(whole), of_a_micro_batch(passes)) << points.command(digits);
      for (const ProgramBlock& block : passes.blocks)
        for (const Move& move : block.step_moves) EXPECT_EQ(move.when, When::once_first_use);
      built = {};  // the scenario ends here
      ++looked;
    }
    EXPECT_GT(looked, 0) << small.name;
  }
}

/// What was placed once for two sizes is to the last bit what each is when it is lowered alone.
TEST(SpacePoints, BothSizesOfAPairAreThoseLoweredAlone) {
  std::mt19937_64 random(30);
  for (const auto& small : testing_sweep::tried_spaces()) {
    const Space space = good(small.line);
    SpacePoints points = SpacePoints::make(space).value();
    Legality legality(points);
    int looked = 0;
    for (int trial = 0; trial < 3000 && looked < 4; ++trial) {
      const Digits digits = space.digits(random() % space.size());
      if (legality.ask(digits, AxisId{}).reason >= 0) continue;
      const Scenario at = points.scenario(digits).value();
      BuiltNetworks built(4);
      const PassesPair pair = lower_passes_pair(at.network.row, at.plan, at.stack.row, built).value();
      Plan larger = at.plan;
      larger.micro_batch *= 2, larger.global_batch *= 2;
      const Program one = lower_passes(at.network.row, at.plan, at.stack.row, built).value(),
                    two = lower_passes(at.network.row, larger, at.stack.row, built).value();
      EXPECT_EQ(of_a_micro_batch(pair.one), of_a_micro_batch(one)) << points.command(digits);
      EXPECT_EQ(of_a_micro_batch(pair.two), of_a_micro_batch(two)) << points.command(digits);
      EXPECT_NE(of_a_micro_batch(pair.two), of_a_micro_batch(one)) << points.command(digits);
      ++looked;
    }
    EXPECT_GT(looked, 0) << small.name;
  }
}

TEST(SpacePoints, EnergyIsIdlePowerAndKernels) {
  Gpu gpu;
  gpu.power_w = 400;
  EXPECT_DOUBLE_EQ(step_energy(gpu, 8, 10, 0), 8 * 400 * idle_power_share * 10);
  EXPECT_DOUBLE_EQ(step_energy(gpu, 8, 10, 10), 8 * 400 * 10.0);
}

/// A layout that these stages cannot hold is no split, and says which flag.
TEST(SpacePoints, LayersThatCannotLieAreErrors) {
  const Space space = good("bloom-176b --machine jean-zay-a100 --gpus 96 --global-batch 96 --tp 4 --pp 12,6 "
                           "--micro-batch 1 --chunks 1 --recompute full "
                           "--layout Et*5|(t*6|)*10t*5L");
  const SpacePoints points = SpacePoints::make(space).value();
  EXPECT_TRUE(points.split(space.digits(0)));
  const auto split = points.split(space.digits(1));
  ASSERT_FALSE(split);
  EXPECT_EQ(split.error().where.substr(0, 8), "--layout");
}

}  // namespace
}  // namespace stepcast::sweep
