// One thread of a sweep, which walks stretches of numbers. Only studies/sweep uses it.
#pragma once

#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "sim/fast/standings.h"
#include "studies/sweep/price/costs.h"
#include "studies/sweep/price/legality.h"
#include "studies/sweep/price/pricer.h"
#include "studies/sweep/where/where.h"
#include "studies/sweep/search/options.h"

namespace stepcast::sweep {

/// What all threads of a sweep share and none of them changes, but for the standings.
struct SharedSweep {
  const Space& space;
  const SweepOptions& options;
  Where where;
  Figure objective = Figure::step_time;
  std::vector<Figure> front;
  Standings standings;
  /// Bytes; points that surely lack more are counted without a closer look, for only the nearest miss is reported.
  std::atomic<double> smallest_overflow = std::numeric_limits<double>::infinity();
};

/// What came out of one stretch.
struct Stretch {
  IndexRange range;
  SweepTally tally;
  SweepWork work;
  std::vector<SweepRow> rows;  ///< forecast, and met by the constraint
};

class SweepWorker {
 public:
  static Expected<std::unique_ptr<SweepWorker>> make(SharedSweep& shared);
  /// With points of the space that nobody else asks.
  static std::unique_ptr<SweepWorker> make(SharedSweep& shared, std::shared_ptr<SpacePoints> points);
  /// They outlive the worker where somebody keeps them.
  [[nodiscard]] const std::shared_ptr<SpacePoints>& points() const { return points_; }
  /// Nothing when it was told to stop: the stretch then counts as not begun.
  Expected<std::optional<Stretch>> walk(IndexRange range);

 private:
  SweepWorker(SharedSweep& shared, std::shared_ptr<SpacePoints> points);
  void dismiss(const Legality::Verdict& verdict, std::uint64_t count);
  void tell_dismissed();
  Expected<void> take_point();
  Expected<void> take_bounded(const FastPrice& price);
  Expected<void> look_at_list();
  Expected<void> forecast_point(std::uint64_t index, const Digits& digits, const FastPrice* price);
  [[nodiscard]] double nearest_miss() const;
  void overflow(double bytes, std::uint64_t index);
  [[nodiscard]] Where::Answer ask(const Figures& figures, FigureNeeds known, const Digits& digits) const;
  [[nodiscard]] Figures plan_figures(const Digits& digits) const;
  void advance(AxisId axis);

  SharedSweep& shared_;
  std::shared_ptr<SpacePoints> points_;
  Legality legality_;
  Pricer pricer_;
  CostRule costs_;
  Shortlist list_;
  Stretch stretch_;
  std::vector<std::uint64_t> dismissed_;  ///< of the stretch, by reason
  std::uint64_t index_ = 0;
  Digits digits_{};
  std::array<std::uint64_t, axis_count> strides_{};
  AxisId changed_{}, unpriced_{};  ///< outermost axes that changed since the last step, and since the last price
  std::uint64_t lowered_before_ = 0;
};

}  // namespace stepcast::sweep
