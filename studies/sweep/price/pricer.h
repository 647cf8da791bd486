// The fast price of a point: a bound of its step time and its exact memory, put together from parts that many points
// share. Parts are taken out of lowered programs of points that stand for all with the same key.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "sim/fast/held_units.h"
#include "sim/fast/step_bound.h"
#include "sim/fast/unit_memory.h"
#include "studies/sweep/price/part_keys.h"
#include "studies/sweep/price/points.h"

namespace stepcast::sweep {

struct FastPrice {
  bool bounded = false;     ///< false: nothing is known before the forecast itself
  bool too_large = false;   ///< needs more memory than was asked about; what it takes is not known
  double step_s = 0;        ///< at least; 0 where it does not fit
  double memory_bytes = 0;  ///< peak on the fullest rank
  double kernel_s = 0;      ///< in kernels on the average rank
};

/// Bytes: what surely takes more than `asked` is not looked at any further, what takes more than `fits` gets no bound
/// of its step. `layers_open`: where layers by their price and even ones both fit, the least of both is told, and not
/// which of them the point runs with.
struct MemoryLimits {
  double asked = std::numeric_limits<double>::infinity(), fits = std::numeric_limits<double>::infinity();
  bool layers_open = false;
};

/// One per thread.
class Pricer {
 public:
  explicit Pricer(SpacePoints& points);
  /// The point must be legal. `changed` is the outermost axis whose digit differs from the last call's, AxisId{0} on
  /// the first.
  FastPrice price(const Digits& digits, AxisId changed, MemoryLimits limits = {});
  /// Programs lowered so far.
  [[nodiscard]] std::uint64_t lowered() const { return lowered_ + points_.blocks().lowered(); }

 private:
  template <typename Part> using Parts = std::unordered_map<PartKey, std::unique_ptr<Part>, PartKeyHash>;
  struct Shape {
    StageShape shape;
    int number = 0;
    const ScheduleKind* kind = nullptr;
    ScheduleTraits traits;
    std::unordered_map<std::int64_t, HeldUnits> held;  ///< by micro-batches
  };
  struct ShapePattern {
    StageShape shape;
    std::vector<char> is_layer;    ///< by block
    std::vector<BlockRun> layers;  ///< those of each block together
  };
  struct Once {
    std::unique_ptr<StepCosts> costs;
    std::vector<std::unique_ptr<OnceOnShape>> on_shape;  ///< by Shape::number
    [[nodiscard]] bool exists() const { return costs != nullptr; }
  };

  [[nodiscard]] std::uint64_t shape_index(const Digits& digits) const;
  [[nodiscard]] std::size_t here_place(const Digits& digits) const;
  void forget_here();
  Shape* find_shape(const Digits& digits, const LayerCounts* layers);
  std::unique_ptr<Shape> make_shape(const Digits& digits, const LayerCounts* layers);
  [[nodiscard]] StageShape laid_shape(const Split& split, bool folded) const;
  std::unique_ptr<Shape>& shape_place(const Digits& digits, const LayerCounts* layers);
  Once* find_once(const Digits& digits);
  const CrossingStream& find_stream(const Digits& digits);
  double least_peak(const Digits& digits);
  const Program* program(const Digits& digits);
  bool enter_shape(const Digits& digits, const LayerCounts* layers);
  FastPrice price_shape(const Digits& digits, Once& once, MemoryLimits limits);
  std::optional<FastPrice> price_open_layers(const Digits& digits, Once& once, MemoryLimits limits);
  void time_shape(const Digits& digits, const Once& once);
  [[nodiscard]] bool folded(const Digits& digits) const;
  bool find_held(ScheduleSize size);
  const Expected<HeldOnStages>& find_held_on_stages(const ScheduleKind& kind, const ScheduleSize& settled);
  bool never_fits(const Digits& digits, const Once& once, double asked);
  const OnceOnShape& once_on(Once& once);
  void make_room();
  [[nodiscard]] std::int32_t digit(const Digits& digits, AxisId axis) const {
    return digits[static_cast<std::size_t>(axis)];
  }

  SpacePoints& points_;
  bool boundable_ = true;  ///< neither slices nor a cap, about which the bounds know nothing
  /// units may depend on axes behind the micro-batch: sharding and its overlap
  bool units_vary_inside_ = false;
  std::size_t parts_ = 0;                                                        ///< that are kept, of any kind
  std::unordered_map<std::uint64_t, std::unique_ptr<Shape>> shapes_;             ///< by shape_index()
  std::map<std::vector<std::int64_t>, std::unique_ptr<Shape>> balanced_shapes_;  ///< by shape_index() and layers
  std::unique_ptr<ShapePattern> pattern_;  ///< of all of them, unless some layers of each stage recompute
  int shape_count_ = 0;
  /// by kind, ranks, virtual stages of each, and micro-batches
  std::map<std::tuple<const ScheduleKind*, int, int, int>, Expected<HeldOnStages>> held_on_stages_;
  Parts<Once> onces_;
  Parts<CrossingStream> streams_;
  std::unordered_map<PartKey, double, PartKeyHash> persistent_;
  std::vector<const ScheduleKind*> kinds_;  ///< by digit of the schedule; null: by chunks
  // By here_place(), while no digit up to recomputation changes.
  std::vector<Once*> once_here_;
  std::vector<double> peak_here_;     ///< negative: not asked yet
  const Program* program_ = nullptr;  ///< of program_digits_, without what a micro-batch does
  Expected<Program> lowered_program_;
  Digits program_digits_{};
  std::uint64_t lowered_ = 0;

  AxisId stale_{};  ///< outermost axis that changed since what follows was found
  // Of the last point that was put together.
  std::shared_ptr<const SharedBlocks::Unit> unit_;
  Shape* shape_ = nullptr;
  MemoryOnShape memory_on_shape_;
  UnitsOnShape on_shape_;  ///< this and pipeline_ where timed_
  const HeldUnits* held_ = nullptr;
  PipelineBound pipeline_;
  double micro_batches_ = 1;
  bool laid_ = false, bounded_ = false;  ///< laid_: what stands above is of the last point's unit and shape
  bool timed_ = false;
};

}  // namespace stepcast::sweep
