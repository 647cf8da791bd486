// A point of a space as the forecast wants it: split, plan, software, with the layers that it runs with. Shared by
// legality, fast prices and exact forecasts.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "studies/sweep/price/point_figures.h"
#include "studies/sweep/price/shared_blocks.h"
#include "studies/sweep/price/split_points.h"

namespace stepcast::sweep {

/// Not for several threads at once.
class SpacePoints {
 public:
  /// Errors: those of SplitPoints::make().
  static Expected<SpacePoints> make(const Space& space, std::size_t most_parts = usual_parts);

  [[nodiscard]] const Space& space() const { return splits_->space(); }
  [[nodiscard]] const NetworkSpec& network() const { return splits_->network(); }
  [[nodiscard]] const Stack& stack() const { return splits_->stack(); }
  [[nodiscard]] const PipelineChoice& pipeline() const { return splits_->pipeline(); }
  [[nodiscard]] bool balances_layers(const Digits& digits) const { return splits_->balances_layers(digits); }
  [[nodiscard]] SplitWishes wishes(const Digits& digits) const { return splits_->wishes(digits); }
  [[nodiscard]] const Recompute& recompute(const Digits& digits) const { return splits_->recompute(digits); }
  [[nodiscard]] const MeshOrder& order(const Digits& digits) const { return splits_->order(digits); }
  [[nodiscard]] Expected<Split> split(const Digits& digits) const { return splits_->split(digits); }
  [[nodiscard]] const Setting& setting(const Digits& digits) { return splits_->setting(digits); }
  [[nodiscard]] std::string command(const Digits& digits) const { return splits_->command(digits); }
  [[nodiscard]] SharedBlocks& blocks() { return blocks_; }
  /// How many parts each of what prices these points may keep.
  [[nodiscard]] std::size_t most_parts() const { return most_parts_; }
  /// Layers on the virtual stages of a point whose layout is to be balanced.
  Expected<LayerCounts> balanced(const Digits& digits) { return blocks_.balanced(digits); }

  /// The point must be legal.
  Expected<Program> program(const Digits& digits);
  /// The same without what a micro-batch does.
  Expected<Program> step_program(const Digits& digits);
  Expected<Scenario> scenario(const Digits& digits);
  /// The same without a copy; valid until the next point of this setting.
  Expected<const Scenario*> point(const Digits& digits);
  /// The whole forecast of a legal point, or of one that point() gave.
  Expected<Prediction> predict(const Digits& digits);
  Expected<Prediction> predict(const Digits& digits, const Scenario& point) { return splits_->forecast(digits, point); }

 private:
  SpacePoints(std::unique_ptr<SplitPoints> splits, std::size_t most_parts)
      : most_parts_(most_parts), splits_(std::move(splits)), blocks_(*splits_, most_parts) {}

  std::size_t most_parts_;
  std::unique_ptr<SplitPoints> splits_;
  SharedBlocks blocks_;
};

}  // namespace stepcast::sweep
