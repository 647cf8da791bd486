// A point of a space as the forecast wants it: split, plan, software. Shared by legality, fast prices and exact
// forecasts.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "dataflow/program.h"
#include "model/base/error.h"
#include "sim/cost.h"
#include "sim/fast/unit_family.h"
#include "sim/schedule/layers/partition.h"
#include "studies/run/forecast.h"
#include "studies/run/split/split_plan.h"
#include "studies/sweep/price/part_keys.h"
#include "studies/sweep/space/figures.h"
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
class SpacePoints {
 public:
  /// Errors: what predict says of nouns, precision and GPU counts that the machine has not.
  static Expected<SpacePoints> make(const Space& space);

  [[nodiscard]] const Space& space() const { return *space_; }
  [[nodiscard]] const NetworkSpec& network() const { return settings_.front()->scenario.network.row; }
  [[nodiscard]] const Stack& stack() const { return settings_.front()->scenario.stack.row; }
  [[nodiscard]] const PipelineChoice& pipeline() const { return settings_.front()->scenario.pipeline; }
  [[nodiscard]] bool balances_layers(const Digits& digits) const;
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
  /// Layers on the virtual stages of a point whose layout is to be balanced.
  Expected<LayerCounts> balanced(const Digits& digits);
  /// The blocks of such a point, whatever its layers; null where they are not shared.
  std::shared_ptr<const Program> block_program(const Digits& digits);
  /// Programs of points that differ in the size of a micro-batch, the layers of a stage and what family_key() leaves
  /// out. Null: sizes do not grow in proportion, so that each is lowered by itself.
  std::shared_ptr<UnitFamily> unit_family(const Digits& digits, const SplitWishes& wishes, const Split& split);
  /// The blocks of a point of the family, until it is asked again; null where its groups cannot be laid on the ranks of
  /// the point's mesh.
  const Program* sized(UnitFamily& family, const SplitWishes& wishes, const Split& split) const;
  /// Programs lowered for families and to weigh layers.
  [[nodiscard]] std::uint64_t lowered() const { return lowered_; }
  /// Share of the passes that the split's schedule runs in pairs.
  double paired(const Split& split);
  /// The point must be legal.
  Expected<Program> program(const Digits& digits);
  /// The same by lower_step(), for what does not look into a micro-batch.
  Expected<Program> step_program(const Digits& digits);
  /// The same split with micro-batches of so many sequences and one of them per rank, whatever the batch, its mesh in
  /// another order and with so many data ranks: for what a micro-batch costs.
  Expected<Program> unit_program(
      const Digits& digits, std::int64_t micro_batch, const MeshOrder& order, std::int64_t data_ranks);
  Expected<Scenario> scenario(const Digits& digits);
  /// The same without a copy; valid until the next point of this setting.
  Expected<const Scenario*> point(const Digits& digits);
  /// The whole forecast of a legal point.
  Expected<Prediction> predict(const Digits& digits);
  /// The flags that make predict repeat the point: "--tp 8 --pp 4 ...", what the sweep was told included.
  [[nodiscard]] std::string command(const Digits& digits) const;

 private:
  explicit SpacePoints(const Space& space) : space_(&space) {}
  Expected<void> read_words();
  Expected<void> read_settings();
  [[nodiscard]] std::size_t switches_of(const Digits& digits) const;
  Expected<Setting*> find_setting(const Digits& digits);
  Setting& make_setting(const Digits& digits);
  [[nodiscard]] Setting& found_setting(const Digits& digits) {
    Setting* known = by_switches_[switches_of(digits)];
    return known != nullptr ? *known : make_setting(digits);
  }
  const Scenario& lay_point(const Digits& digits, const SplitWishes& wishes, Split split);
  Expected<Split> laid(const Digits& digits, const SplitWishes& wishes);
  using Lower = Expected<Program>(const NetworkSpec&, const Plan&, const Stack&);
  Expected<Program> lowered(const Digits& digits, const SplitWishes& wishes, const Split& split, Lower* by);
  [[nodiscard]] Digits balanced_key(const Digits& digits, const Split& split) const;
  [[nodiscard]] Digits block_key(const Digits& digits, const Split& split) const;
  struct Blocks;
  Blocks& remembered_blocks(const Digits& key);
  Expected<Blocks*> blocks(const Digits& digits, const Scenario& point);
  const Program* family_blocks(const Digits& digits, const SplitWishes& wishes, const Split& split);
  [[nodiscard]] bool grows_evenly() const;
  [[nodiscard]] bool spreads(const SplitWishes& wishes, const Split& split) const;
  std::shared_ptr<UnitFamily> make_family(const Digits& digits, const SplitWishes& wishes, const Split& split);
  [[nodiscard]] bool moves_anywhere(const SplitWishes& wishes, const Split& split) const;
  Expected<LayerCounts> layers_by_price(const Digits& digits, const SplitWishes& wishes, const Scenario& point);

  const Space* space_;
  std::vector<std::unique_ptr<Setting>> settings_;
  std::vector<Setting*> by_switches_;
  std::map<Digits, LayerCounts> balanced_;
  struct PricedLayers {
    double paired;
    PartitionProblem problem;
    std::map<std::int64_t, Expected<LayerCounts>> laid;  ///< by virtual stages
  };
  /// What weighs the layers of points that differ in what no block depends on.
  struct Blocks {
    std::shared_ptr<const Program> program;  ///< null until it is needed, and where a family has the blocks
    std::vector<PricedLayers> prices;
  };
  std::map<Digits, Blocks> blocks_;                          ///< by block_key()
  std::map<PartKey, std::shared_ptr<UnitFamily>> families_;  ///< by family_key(); null: none
  std::uint64_t lowered_ = 0;
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, double> paired_;
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

/// All that a row of results holds. `price` in US dollars per GPU and hour, 0 = not said: then the cost is no number.
Figures figures_of(const Scenario& scenario, const SplitWishes& wishes, const Prediction& prediction, double price);

/// Those that are known before any price.
void set_plan_figures(const SplitWishes& wishes, const NetworkSpec& network, const Stack& stack, Figures& figures);

/// Power of a GPU that waits, as a share of its limit; kernels are taken to run at the limit. Assumed, from no
/// measurement.
constexpr double idle_power_share = 0.15;
/// Joules of a step: kernels run `kernel_s` on the average GPU.
double step_energy(const Gpu& gpu, double gpus, double step_s, double kernel_s);

}  // namespace stepcast::sweep
