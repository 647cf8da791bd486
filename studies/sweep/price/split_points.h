// Points of a space as splits: what their words stand for, the machine and software of each, how it is split. Layers
// whose layout is to be balanced lie nearly evenly here.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dataflow/lower/built_networks.h"
#include "dataflow/lower/passes_pair.h"
#include "dataflow/program.h"
#include "model/base/error.h"
#include "sim/cost.h"
#include "studies/run/forecast.h"
#include "studies/run/split/split_plan.h"
#include "studies/sweep/space/space.h"

namespace stepcast::sweep {

/// One setting of what is not split: machine at a GPU count, software with its switches, precision. Lives as long as
/// the points.
struct Setting {
  Scenario scenario;                ///< its plan holds what a split says nothing about
  std::unique_ptr<CostModel> cost;  ///< of all ranks in use
  Scenario point;                   ///< the same, with the plan of the point that was asked for last
};

/// Not for several threads at once.
class SplitPoints {
 public:
  /// Errors: what predict says of nouns, precision and GPU counts that the machine has not.
  static Expected<SplitPoints> make(const Space& space);

  [[nodiscard]] const Space& space() const { return *space_; }
  [[nodiscard]] const NetworkSpec& network() const { return settings_.front()->scenario.network.row; }
  [[nodiscard]] const Stack& stack() const { return settings_.front()->scenario.stack.row; }
  [[nodiscard]] const PipelineChoice& pipeline() const { return settings_.front()->scenario.pipeline; }
  [[nodiscard]] bool balances_layers(const Digits& digits) const {
    return told(digits, AxisId::layout).layout.kind == LayoutChoice::Kind::balanced;
  }
  [[nodiscard]] SplitWishes wishes(const Digits& digits) const;
  [[nodiscard]] const Recompute& recompute(const Digits& digits) const {
    return told(digits, AxisId::recompute).recompute;
  }
  [[nodiscard]] const MeshOrder& order(const Digits& digits) const;
  /// Completed, with layers laid nearly evenly where the layout is to be balanced; not checked. Layers that cannot be
  /// laid: no split.
  [[nodiscard]] Expected<Split> split(const Digits& digits) const { return split(digits, wishes(digits)); }
  [[nodiscard]] Expected<Split> split(const Digits& digits, const SplitWishes& wishes) const;
  [[nodiscard]] const Setting& setting(const Digits& digits) { return found_setting(digits); }
  /// The point with this split, valid until the next point of its setting.
  const Scenario& lay_point(const Digits& digits, const SplitWishes& wishes, Split split);
  /// The point's program with this split, and what of it does not look into a micro-batch.
  Expected<Program> lowered(const Digits& digits, const SplitWishes& wishes, const Split& split);
  Expected<Program> lowered_step(const Digits& digits, const SplitWishes& wishes, const Split& split);
  /// The whole forecast of a point that lay_point() gave.
  Expected<Prediction> forecast(const Digits& digits, const Scenario& point);
  /// The same split with one sequence per rank, whatever the batch, its mesh in another order and with so many data
  /// ranks: for what a micro-batch costs.
  Expected<Program> unit_program(const Digits& digits, const MeshOrder& order, std::int64_t data_ranks);
  /// The same with one sequence and with two.
  Expected<PassesPair> unit_programs(const Digits& digits, const MeshOrder& order, std::int64_t data_ranks);
  /// The largest number of ranks on which all weights lie in equal shards; 1 where the space keeps none in shards.
  [[nodiscard]] std::int64_t equal_shards() const { return equal_shards_; }
  /// The flags that make predict repeat the point: "--tp 8 --pp 4 ...", what the sweep was told included.
  [[nodiscard]] std::string command(const Digits& digits) const;

 private:
  explicit SplitPoints(const Space& space) : space_(&space), built_(placements_kept(space)) {}
  static std::size_t placements_kept(const Space& space);
  Expected<void> read_words();
  Expected<void> read_settings();
  void find_equal_shards();
  [[nodiscard]] std::size_t switches_of(const Digits& digits) const;
  Expected<Plan> unit_plan(const Digits& digits, const MeshOrder& order, std::int64_t data_ranks);
  Expected<Setting*> find_setting(const Digits& digits);
  Setting& make_setting(const Digits& digits);
  [[nodiscard]] Setting& found_setting(const Digits& digits) {
    Setting* known = by_switches_[switches_of(digits)];
    return known != nullptr ? *known : make_setting(digits);
  }

  const Space* space_;
  std::vector<std::unique_ptr<Setting>> settings_;
  std::vector<Setting*> by_switches_;
  BuiltNetworks built_;  ///< of the settings' networks
  std::int64_t equal_shards_ = 1;
  /// What the words of an axis stand for, by digit.
  [[nodiscard]] const RunWishes& told(const Digits& digits, AxisId axis) const {
    const auto place = static_cast<std::size_t>(axis);
    return told_[place][digits[place]];
  }
  struct VariedAxis {
    AxisId id;
    void (*copy)(RunWishes& into, const RunWishes& from);
  };
  std::array<std::vector<RunWishes>, axis_count> told_;
  RunWishes plain_;                 ///< with the values of axes that have one
  std::vector<VariedAxis> varied_;  ///< that have several
  std::vector<MeshOrder> orders_;   ///< of tiers, by 4 tp + 2 pp + dp, 1 where that is across nodes
};

}  // namespace stepcast::sweep
