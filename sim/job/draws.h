// Random numbers of few laws. The generator is that of the C++ standard and what is made of its numbers is written out,
// so that the same seed gives the same lives everywhere.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

#include "model/base/namespaces.h"

namespace stepcast::sim {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}
  /// In (0, 1), of the upper 53 bits.
  double unit() { return (static_cast<double>(random_() >> 11U) + 0.5) * 0x1p-53; }
  double exponential(double rate) { return -std::log(unit()) / rate; }
  /// Box and Muller's, which come in pairs.
  double normal() {
    if (has_second_) {
      has_second_ = false;
      return second_;
    }
    const double radius = std::sqrt(-2 * std::log(unit())), angle = 2 * std::numbers::pi * unit();
    second_ = radius * std::sin(angle), has_second_ = true;
    return radius * std::cos(angle);
  }

 private:
  std::mt19937_64 random_;
  double second_ = 0;
  bool has_second_ = false;
};

/// A seed for each of many draws that share one: SplitMix64's step (Steele et al. 2014, doi 10.1145/2660193.2660195).
inline std::uint64_t seed_of(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t mixed = seed + (index + 1) * 0x9e3779b97f4a7c15;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31U);
}

}  // namespace stepcast::sim
