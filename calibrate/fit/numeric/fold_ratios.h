// How well shapes were forecast that were held out, fold by fold.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <tuple>
#include <vector>

#include "calibrate/fit/numeric/holdout.h"
#include "model/profile/profile.h"

namespace stepcast::calibrate {

inline constexpr std::size_t shape_folds = 5;

/// Measured over forecast, by the fold that was held out.
using FoldRatios = std::array<std::vector<double>, shape_folds>;

/// All but those of one fold.
std::vector<double> joined(const FoldRatios& ratios, std::size_t without = shape_folds);
/// Their 10th and 90th percentile.
Spread spread_of(const std::vector<double>& ratios);
/// Each fold's coverage is by the interval that the other folds give.
HeldOut held_out_of(const FoldRatios& ratios);

/// Calls visit(fold, others, held) for each fold of shapes that have a `fold`.
template <typename Timed, typename Visit> void each_fold(const std::vector<Timed>& shapes, Visit&& visit) {
  for (std::size_t fold = 0; fold < shape_folds; ++fold) {
    std::vector<const Timed*> others, held;
    for (const Timed& one : shapes) (one.fold == fold ? held : others).push_back(&one);
    visit(fold, others, held);
  }
}

/// Which fold a shape of a GPU falls in, whoever timed it. Tables by a tuple that begins with the GPU and with what is
/// timed: shapes of all that begin as `like` does are dealt out together.
template <typename Table, typename Shape, typename Times>
std::map<Shape, std::size_t> folds_like(const std::map<Table, std::map<Shape, Times>>& tables, const Table& like) {
  std::map<Shape, std::size_t> all;
  for (const auto& [key, shapes] : tables)
    if (std::get<0>(key) == std::get<0>(like) && std::get<1>(key) == std::get<1>(like))
      for (const auto& [shape, times] : shapes) all.emplace(shape, 0);
  std::size_t index = 0;
  for (auto& [shape, fold] : all) fold = fold_of(index++, shape_folds);
  return all;
}

}  // namespace stepcast::calibrate
