// A run of a serving engine with every noun resolved: which network on which machine, how it is split, which engine,
// which number types. One Serving prices any number of iterations.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/engine.h"
#include "sim/serving/iteration_table.h"
#include "studies/infer/serving_split.h"

namespace stepcast::infer {

struct Serving : ServingSplit {
  Engine engine;
  sim::IterationTypes types;
  sim::OwnWidths widths;  ///< of weights that are not of `types`
  double cache_element_bytes = 2;
  double expert_copies = 0;                        ///< that ranks have beside the experts, over as many as there are
  std::shared_ptr<const Profile> profile;          ///< with the laws of single kernels
  std::shared_ptr<const sim::IterationForm> form;  ///< of its plan
  std::int64_t draft = 0;                          ///< words that `drafter` guesses before each iteration
  std::shared_ptr<const Serving> drafter;          ///< a layer with the LM head, as MTP and EAGLE have
  std::vector<std::string> assumptions;
  /// Words of running sequences cannot be split as the user's mapping says: why. Its form is made of rows of so many
  /// positions then.
  std::optional<Error> prompts_alone;
  std::int64_t alone_positions = 0;
  /// Prompts cannot be split as that mapping says: why. Its form is of words alone then.
  std::optional<Error> words_alone;

  [[nodiscard]] const NetworkSpec& network() const { return scenario.network.row; }
  [[nodiscard]] const Machine& machine() const { return scenario.machine.row; }
  [[nodiscard]] std::int64_t attention_groups() const { return groups; }
  using Held = sim::IterationForm::Held;
  /// Of one GPU of a stage, with scales.
  [[nodiscard]] double weight_bytes(const Held& stage) const;
  /// That one GPU of a stage keeps of a sequence of so many positions.
  [[nodiscard]] double cache_bytes(const Held& stage, double positions) const;
  /// Of the stages with the most.
  [[nodiscard]] double weight_bytes() const;
  [[nodiscard]] double cache_bytes(double positions) const;
};

/// Errors: names that nobody knows, splits that do not divide, number types that the GPU lacks, networks that no
/// iteration can be made of yet.
Expected<Serving> serving_of(const ServingWishes& wishes);
/// The same with nouns at hand: records. `profile`: nullptr is the default one of the machine's GPU; another GPU's is
/// an error.
Expected<Serving> serving_of(const ServingWishes& wishes, run::Chosen<NetworkSpec> network,
    run::Chosen<Machine> machine, const Engine& engine, const Profile* profile = nullptr);

/// Costs that its engine's row leaves out as it runs here: rows of engines that replay graphs hold no cost of launches.
std::vector<std::string> launch_warnings(const Serving& serving);

/// The form of its iterations, made anew: serving_of() does so once.
Expected<std::shared_ptr<const sim::IterationForm>> iteration_form(const Serving& serving);

/// Of rows of prompts or of words: one of those that its form is made of.
Plan iteration_plan(const Serving& serving, bool prompts);

/// Prices the iterations of a Serving, which must outlive it.
class ServingCost {
 public:
  explicit ServingCost(const Serving& serving);
  ServingCost(const ServingCost&) = delete;
  ServingCost& operator=(const ServingCost&) = delete;

  [[nodiscard]] sim::IterationTime time(std::span<const sim::Rows> rows) const;
  [[nodiscard]] sim::IterationTime time(const sim::Rows& rows) const { return time(std::span(&rows, 1)); }
  /// time() kernel by kernel.
  [[nodiscard]] std::vector<sim::IterationSlice> in_order(
      std::span<const sim::Rows> rows, const sim::IterationTime& whole) const;
  /// Whether the engine replays such an iteration from a graph.
  [[nodiscard]] bool captured(std::span<const sim::Rows> rows) const;
  [[nodiscard]] const Engine::Tuning& tuning() const { return cost_.tuning(); }
  /// Of one GPU to another, so many ranks apart.
  [[nodiscard]] Seconds send(Bytes bytes, std::int64_t distance) const { return cost_.send(bytes, distance).time; }
  [[nodiscard]] sim::IterationPrices prices() const { return {*serving_->form, cost_}; }
  [[nodiscard]] sim::IterationTable table() const { return {*serving_->form, cost_}; }

 private:
  const Serving* serving_;
  Stack stack_;
  sim::CostModel moves_;
  sim::EngineCost cost_;
};

}  // namespace stepcast::infer
