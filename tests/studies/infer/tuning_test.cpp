// What the figures of an engine's tuning do to an iteration.
#include <gtest/gtest.h>

#include "model/catalog.h"
#include "studies/infer/serving.h"

namespace stepcast::infer {
namespace {

/// Of 2,048 profiled positions and of one more: kernels and moves, and each part of them, take 1.5 times as long
/// behind.
TEST(Tuning, IterationsBeyondWhatWasProfiledTakeLonger) {
  const auto iteration = [](double factor, double positions) {
    Engine engine = **find_row(built_in().engines, "vllm-2023", "engine");
    EXPECT_EQ(engine.profiled_positions, 2048);
    for (Engine::Tuning& tuning : engine.tunings) tuning.beyond_profiled = factor;
    ServingWishes wishes;
    wishes.tp = 4;
    const Serving serving = *serving_of(
        wishes, *run::choose_network("llama2-70b", "network"), *run::choose_machine("dgx-h100", "machine"), engine);
    return ServingCost(serving).time(sim::Rows{1, positions, 0});
  };
  const auto same = [](const sim::IterationTime& a, const sim::IterationTime& b, double ratio) {
    EXPECT_NEAR(b.kernels / a.kernels, ratio, 1e-9);
    EXPECT_NEAR(b.moves / a.moves, ratio, 1e-9);
    for (std::size_t i = 0; i < a.parts.size(); ++i) EXPECT_NEAR(b.parts[i].time / a.parts[i].time, ratio, 1e-9);
    EXPECT_NEAR((b.host + b.kernels + b.moves) / b.time, 1, 1e-12);
  };
  same(iteration(1, 2048), iteration(1.5, 2048), 1);
  same(iteration(1, 2049), iteration(1.5, 2049), 1.5);
}

}  // namespace
}  // namespace stepcast::infer
