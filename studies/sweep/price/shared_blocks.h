// Programs whose blocks many points of a space share, and the layers that are laid by their prices.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "dataflow/program.h"
#include "model/base/error.h"
#include "sim/fast/unit_costs.h"
#include "sim/fast/unit_family.h"
#include "sim/fast/unit_memory.h"
#include "sim/schedule/layers/partition.h"
#include "sim/schedule/schedule_kind.h"
#include "sim/streams/chunk_times.h"
#include "studies/run/forecast.h"
#include "studies/sweep/price/part_keys.h"
#include "studies/sweep/price/split_points.h"

namespace stepcast::sweep {

/// Parts of prices that are kept at once: they would otherwise pile up, and memory must not grow with the space. One
/// takes some kilobytes.
constexpr std::size_t usual_parts = 32768;

/// Not for several threads at once.
class SharedBlocks {
  using Laid = std::map<std::int64_t, Expected<LayerCounts>>;  ///< by virtual stages

 public:
  /// `points` must outlive this.
  explicit SharedBlocks(SplitPoints& points, std::size_t most_parts = usual_parts);

  /// Layers on the virtual stages of a point whose layout is to be balanced.
  Expected<LayerCounts> balanced(const Digits& digits);
  /// Those that such a point may come to: one, or by price and evenly, of which only whole steps tell the faster one.
  Expected<std::vector<LayerCounts>> balanced_choices(const Digits& digits);
  /// The point's split with the layers that it runs with.
  Expected<Split> laid(const Digits& digits, const SplitWishes& wishes);
  /// What a micro-batch of one size needs and takes in each block, whatever the layers of a stage.
  struct Unit {
    std::shared_ptr<const UnitMemory> memory;  ///< null: the forecast refuses it
    std::shared_ptr<const UnitCosts> costs;    ///< null until it is asked for
   private:
    friend class SharedBlocks;
    std::optional<PartitionProblem> layers;  ///< none: no layers are to be balanced, or the blocks are not a family's
    Laid laid;
  };
  std::shared_ptr<const Unit> unit(const Digits& digits);
  /// The same with its costs.
  std::shared_ptr<const Unit> timed_unit(const Digits& digits);
  /// Programs lowered.
  [[nodiscard]] std::uint64_t lowered() const { return lowered_; }

 private:
  [[nodiscard]] Digits balanced_key(const Digits& digits, const Split& split) const;
  [[nodiscard]] Digits block_key(const Digits& digits, const Split& split) const;
  struct PricedLayers {
    double paired;
    PartitionProblem problem;
    Laid laid;
  };
  /// Points that differ in the size of a micro-batch, the layers of a stage and what family_key() leaves out.
  struct Family {
    std::shared_ptr<UnitFamily> programs;  ///< null: sizes do not grow in proportion, so that each is lowered by itself
    std::unordered_map<PartKey, std::shared_ptr<const Program>, PartKeyHash> singles;  ///< those, by unit_key()
    /// by unit_key() and the share that runs in pairs
    std::unordered_map<PartKey, std::shared_ptr<Unit>, PartKeyHash> units;
    /// What no pairing changes, by unit_key(): kept where some schedule of the space pairs passes.
    std::unordered_map<PartKey, std::vector<BlockPrices>, PartKeyHash> prices;
    std::unordered_map<PartKey, std::shared_ptr<const UnitMemory>, PartKeyHash> memories;
  };
  /// What weighs the layers of points that differ in what no block depends on, where no family has the blocks.
  struct Blocks {
    std::shared_ptr<const Program> program;  ///< null until it is needed
    std::vector<PricedLayers> prices;
  };
  Blocks& remembered_blocks(const Digits& key);
  Expected<Blocks*> blocks(const Digits& digits, const Scenario& point);
  std::shared_ptr<const Program> block_program(const Digits& digits);
  [[nodiscard]] bool grows_evenly() const;
  [[nodiscard]] bool spread(const SplitWishes& wishes, const Split& split) const;
  [[nodiscard]] bool spreads(const SplitWishes& wishes, const Split& split) const;
  std::shared_ptr<UnitFamily> make_family(const Digits& digits, const SplitWishes& wishes, const Split& split);
  Family& family(const Digits& digits, const SplitWishes& wishes, const Split& split);
  const Program* sized(UnitFamily& family, const SplitWishes& wishes, const Split& split) const;
  double paired(const Split& split);
  std::shared_ptr<const Program> sized_program(
      Family& family, const Digits& digits, const SplitWishes& wishes, const Split& split);
  std::shared_ptr<Unit> unit(const Digits& digits, const SplitWishes& wishes, const Split& split, bool timed);
  void time_unit(Unit& unit, Family& family, const Digits& digits, const SplitWishes& wishes, const Split& split);
  std::vector<BlockPrices> prices(
      const Program& sized, const CostModel& cost, Family& family, const PartKey& size, double paired);
  std::shared_ptr<const UnitMemory> memory(
      Family& family, const Digits& digits, const SplitWishes& wishes, const Split& split);
  std::shared_ptr<const Program> single(
      Family& family, const Digits& digits, const SplitWishes& wishes, const PartKey& size);
  [[nodiscard]] bool moves_anywhere(const SplitWishes& wishes, const Split& split) const;
  Expected<LayerCounts> layers_by_price(const Digits& digits, const SplitWishes& wishes, const Split& split);

  SplitPoints* points_;
  std::size_t most_parts_;
  bool pairs_ = false;  ///< some schedule of the space runs passes in pairs
  struct DigitsHash {
    std::size_t operator()(const Digits& digits) const;
  };
  std::unordered_map<Digits, LayerCounts, DigitsHash> balanced_;  ///< by balanced_key()
  std::unordered_map<Digits, Blocks, DigitsHash> blocks_;         ///< by block_key()
  std::unordered_map<PartKey, Family, PartKeyHash> families_;     ///< by family_key()
  std::size_t parts_ = 0;                                         ///< that families keep
  std::uint64_t lowered_ = 0;
  std::map<std::string, const ScheduleKind*> pairing_;  ///< null: no passes in pairs
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, double> paired_;
};

}  // namespace stepcast::sweep
