// A run of a serving engine with every noun resolved: which network on which machine, how it is split, which engine,
// which number types. One Serving prices any number of iterations.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/engine.h"
#include "sim/serving/iteration_table.h"
#include "studies/run/scenario.h"

namespace stepcast::infer {

/// As typed, or as a record says it. Empty text: the default.
struct ServingWishes {
  std::string network, machine, engine;
  std::shared_ptr<const Engine> row;  ///< in place of `engine`: a launch's, with what it changes
  std::string profile;                ///< with laws of single kernels; "": the default one of the machine's GPU
  std::string weights, cache;         ///< number types: "fp8", "bf16"; weights may be narrower than products
  std::string products;               ///< "": the weights' type, or bf16 where nothing multiplies in it
  std::int64_t gpus = 0, tp = 1, pp = 1;
  std::int64_t ep = 1;            ///< experts are spread over so many ranks, and split over the rest of tp x dp
  std::string exchange;           ///< of tokens with experts elsewhere: "gather", "rows"; "": the engine's
  std::int64_t draft = 0;         ///< words that a small network guesses before each iteration
  std::int64_t attention_dp = 1;  ///< groups of tp ranks with sequences of their own, which share the experts
};

struct Serving {
  run::Scenario scenario;  ///< network, machine and split
  Engine engine;
  sim::IterationTypes types;
  double cache_element_bytes = 2;
  std::shared_ptr<const Profile> profile;          ///< with the laws of single kernels
  std::shared_ptr<const sim::IterationForm> form;  ///< of its plan
  std::int64_t draft = 0;                          ///< words that `drafter` guesses before each iteration
  std::shared_ptr<const Serving> drafter;          ///< a layer with the LM head, as MTP and EAGLE have
  std::vector<std::string> assumptions;

  [[nodiscard]] const NetworkSpec& network() const { return scenario.network.row; }
  [[nodiscard]] const Machine& machine() const { return scenario.machine.row; }
  /// Groups of ranks that have sequences of their own.
  [[nodiscard]] std::int64_t attention_groups() const { return scenario.split->dp; }
  /// Of one GPU, with scales.
  [[nodiscard]] double weight_bytes() const;
  /// That one GPU keeps of a sequence of so many positions.
  [[nodiscard]] double cache_bytes(double positions) const { return dataflow::cache_bytes(form->caches(), positions); }
};

/// Errors: names that nobody knows, splits that do not divide, number types that the GPU lacks, networks that no
/// iteration can be made of yet.
Expected<Serving> serving_of(const ServingWishes& wishes);
/// The same with nouns at hand: records. `profile`: nullptr is the default one of the machine's GPU; another GPU's is
/// an error.
Expected<Serving> serving_of(const ServingWishes& wishes, run::Chosen<NetworkSpec> network,
    run::Chosen<Machine> machine, const Engine& engine, const Profile* profile = nullptr);

/// The form of its iterations, made anew: serving_of() does so once.
Expected<std::shared_ptr<const sim::IterationForm>> iteration_form(const Serving& serving);

/// Prices the iterations of a Serving, which must outlive it.
class ServingCost {
 public:
  explicit ServingCost(const Serving& serving);
  ServingCost(const ServingCost&) = delete;
  ServingCost& operator=(const ServingCost&) = delete;

  [[nodiscard]] sim::IterationTime time(std::span<const sim::Rows> rows) const;
  [[nodiscard]] sim::IterationTime time(const sim::Rows& rows) const { return time(std::span(&rows, 1)); }
  /// Whether the engine replays such an iteration from a graph.
  [[nodiscard]] bool captured(std::span<const sim::Rows> rows) const;
  [[nodiscard]] sim::IterationPrices prices() const { return {*serving_->form, cost_}; }
  [[nodiscard]] sim::IterationTable table() const { return {*serving_->form, cost_}; }

 private:
  const Serving* serving_;
  Stack stack_;
  sim::CostModel moves_;
  sim::EngineCost cost_;
};

}  // namespace stepcast::infer
