// One lowering, step by step: the network built and placed, then blocks, stages, edges and what stands around them.
// Internal to dataflow/lower: the door is lower.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dataflow/lower/fuse/block_facts.h"
#include "dataflow/lower/built_networks.h"
#include "dataflow/lower/read_plan.h"
#include "dataflow/lower/stages.h"
#include "dataflow/place/block.h"
#include "dataflow/program.h"
#include "model/base/error.h"
#include "model/network/network.h"
#include "model/plan.h"
#include "model/stack.h"

namespace stepcast::dataflow {

/// What of a step is lowered.
enum class LoweredPart : std::uint8_t { whole, step, passes };

class Lowering {
 public:
  Lowering(const NetworkSpec& spec, const Plan& plan, const Stack& stack, bool explain,
      LoweredPart part = LoweredPart::whole, const ParsedPlan* read = nullptr, BuiltNetworks* built = nullptr);
  Expected<Program> run();
  /// After run(), when the plan's batch and cache have changed: kernels and moves alone. nullopt: these differ in more
  /// than their sizes, or it cannot be told.
  Expected<std::optional<Program>> resized();
  /// After run() of passes alone, with networks built before, when the plan's micro-batch has doubled: the same of it.
  /// nullopt: more than sizes would differ, or it cannot be told.
  Expected<std::optional<Program>> doubled();

  [[nodiscard]] const ParsedPlan& parsed() const { return *parsed_; }
  [[nodiscard]] const Network& network() const { return *network_; }
  [[nodiscard]] const PlacedNetwork& placed() const { return *placed_; }

 private:
  [[nodiscard]] Expected<PlanBatch> asked_batch() const;
  [[nodiscard]] BatchShape shape_of(const PlanBatch& batch) const;
  [[nodiscard]] PlacingOptions placing() const;
  Expected<void> place_network();
  Expected<void> fill(const PlanBatch& batch);
  [[nodiscard]] Expected<void> check_adapters() const;
  [[nodiscard]] bool gathers_for_a_step() const;
  void fill_sizes(const PlanBatch& batch);
  [[nodiscard]] Expected<void> check_servable() const;
  [[nodiscard]] Expected<void> check_encoder() const;
  [[nodiscard]] std::int64_t recompute_limit() const;
  [[nodiscard]] std::int64_t cached() const { return plan_.cache ? plan_.cache->cached : 0; }
  // lower_blocks.cpp
  ProgramBlock lowered(std::size_t b, const PlacedBlock& placed, const std::vector<char>& counted);
  void count_readers();
  Expected<void> make_blocks();
  void share(const WeightChain& chain);
  // lower_cache.cpp
  void count_cache();
  void add_cache(const BlockRun& run, std::vector<CacheLine>& lines) const;
  static std::int64_t reach_of(const Block& block, int cache);
  [[nodiscard]] double state_bytes(int block) const;
  [[nodiscard]] double compressing_bytes(const Operator& op) const;
  // lower_stages.cpp
  void fill_chunks();
  Expected<void> make_edges();
  void make_tail();
  // lower_notes.cpp
  void make_notes();

  const NetworkSpec& spec_;
  const Plan& plan_;
  Stack stack_;  ///< with the accumulators of the plan's precision
  bool explain_, step_alone_, passes_alone_, kernels_alone_ = false;
  ParsedPlan own_;
  const ParsedPlan* parsed_;  ///< own, or what was read before
  BuiltNetworks* built_;      ///< null: built for this alone
  BatchShape shape_;
  std::shared_ptr<Network> own_network_;  ///< null: what was built before
  std::shared_ptr<const Network> network_;
  std::shared_ptr<const NetworkFacts> facts_;
  std::shared_ptr<PlacedNetwork> placed_;  ///< of this alone, or one of those that were placed before
  std::vector<Dim> placed_dims_;           ///< as they were then, where another size was asked for
  StageLayout layout_;
  Program out_;
  LayerBlocks layers_;
  std::vector<int> blocks_reading_;  ///< by tensor
};

}  // namespace stepcast::dataflow
