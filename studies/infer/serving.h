// A run of a serving engine with every noun resolved: which network on which machine, how it is split, which engine,
// which number types. One Serving prices any number of iterations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/engine.h"
#include "sim/serving/iteration.h"
#include "studies/run/scenario.h"

namespace stepcast::infer {

/// As typed, or as a record says it. Empty text: the default.
struct ServingWishes {
  std::string network, machine, engine;
  std::string weights, cache;  ///< number types: "fp8", "bf16"; weights may be narrower than products
  std::string products;        ///< "": the weights' type, or bf16 where nothing multiplies in it
  std::int64_t gpus = 0, tp = 1, pp = 1, ep = 1;
};

struct Serving {
  run::Scenario scenario;  ///< network, machine and split; its plan is of one iteration
  Engine engine;
  sim::IterationTypes types;
  double cache_element_bytes = 2;
  Profile profile;  ///< with the laws of single kernels
  std::vector<std::string> assumptions;

  [[nodiscard]] const NetworkSpec& network() const { return scenario.network.row; }
  [[nodiscard]] const Machine& machine() const { return scenario.machine.row; }
};

/// Errors: names that nobody knows, splits that do not divide, number types that the GPU lacks.
Expected<Serving> serving_of(const ServingWishes& wishes);
/// The same with nouns at hand: records.
Expected<Serving> serving_of(
    const ServingWishes& wishes, run::Chosen<NetworkSpec> network, run::Chosen<Machine> machine, const Engine& engine);

/// New positions of each of so many sequences, behind those in the cache.
struct Rows {
  std::int64_t sequences = 1, positions = 1, cached = 0;
};

struct Iteration {
  sim::IterationTime time;
  double cache_bytes = 0;   ///< of one GPU, for all sequences
  double weight_bytes = 0;  ///< of one GPU
};
/// Errors: what no iteration can be made of yet.
Expected<Iteration> iterate(const Serving& serving, const Rows& rows);

}  // namespace stepcast::infer
