#include "studies/sweep/price/points.h"

#include <utility>

namespace stepcast::sweep {

Expected<SpacePoints> SpacePoints::make(const Space& space, std::size_t most_parts) {
  TRY(auto splits, SplitPoints::make(space));
  return SpacePoints(std::make_unique<SplitPoints>(std::move(splits)), most_parts);
}

Expected<const Scenario*> SpacePoints::point(const Digits& digits) {
  const SplitWishes wished = wishes(digits);
  TRY(auto here, blocks_.laid(digits, wished));
  return &splits_->lay_point(digits, wished, std::move(here));
}

Expected<Scenario> SpacePoints::scenario(const Digits& digits) {
  TRY(const auto at, point(digits));
  return *at;
}

Expected<Program> SpacePoints::program(const Digits& digits) {
  const SplitWishes wished = wishes(digits);
  TRY(const auto here, blocks_.laid(digits, wished));
  return splits_->lowered(digits, wished, here);
}

// Where layers are to be balanced they lie nearly evenly: which layers a stage has changes nothing of what happens once
// per step. Layers that recompute in part are blocks of their own, by stage.
Expected<Program> SpacePoints::step_program(const Digits& digits) {
  const SplitWishes wished = wishes(digits);
  TRY(auto here, recompute(digits).layers > 0 ? blocks_.laid(digits, wished) : splits_->split(digits, wished));
  drop_even_layers(here);
  return splits_->lowered_step(digits, wished, here);
}

Expected<Prediction> SpacePoints::predict(const Digits& digits) {
  TRY(const auto at, point(digits));
  return predict(digits, *at);
}

}  // namespace stepcast::sweep
