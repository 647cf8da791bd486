// One unit of a level and the units of the next level inside, as Timeloop's nest analysis sees an input between them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "dataflow/chip/count/nest.h"

namespace stepcast::dataflow::counting {

class TimeloopEdge {
 public:
  TimeloopEdge(const Nest& nest, int tensor, int outer);

  [[nodiscard]] double reads() const;   ///< of the outer unit, all rounds
  [[nodiscard]] double copies() const;  ///< those, times the units inside that get them together
  [[nodiscard]] double share() const;   ///< copies per unit inside
  [[nodiscard]] double forwarded() const { return forwarded_; }  ///< elements that neighbours served
  [[nodiscard]] double units() const { return static_cast<double>(units_.size()); }
  [[nodiscard]] std::int64_t tile() const;  ///< of a unit inside

 private:
  using Point = std::vector<std::int64_t>;
  using Box = std::vector<std::pair<std::int64_t, std::int64_t>>;  ///< per index: first, one past the last
  struct Unit {
    std::int64_t row = 0, column = 0;
    Point at;
  };
  struct Round {
    std::int64_t trips = 1;
    Point by;  ///< how its step shifts the tile
    std::vector<Box> fresh;
  };

  [[nodiscard]] Point moves(int dim, std::int64_t rounds) const;
  void take(const Nest::Loop& loop);
  void count_steps();
  void step(const Round& now, const Round* before, double times);
  [[nodiscard]] bool neighbour_has(std::size_t i, const Point& at) const;

  const Nest& nest_;
  const Nest::Shape& shape_;
  int outer_;
  Box tile_;
  std::array<std::int64_t, most_chip_dims> inside_{};
  std::vector<Round> rounds_;  ///< inner to outer
  std::vector<Unit> units_;
  std::int64_t rows_ = 1, columns_ = 1;
  /// By the units that get an element together, and how many such groups there are: elements read.
  std::map<std::pair<std::int64_t, std::int64_t>, double> reads_;
  double forwarded_ = 0;
};

}  // namespace stepcast::dataflow::counting
