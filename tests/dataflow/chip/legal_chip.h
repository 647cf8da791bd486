// Random resolved operators on random architectures with all their properties, each of them legal: for what must hold
// of every chip. Small on purpose: most_points bounds the product of the extents, so that a nest can be run literally.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "dataflow/chip/chip.h"

namespace stepcast::dataflow {

struct LegalChipLimits {
  int most_levels = 5;
  std::int64_t most_points = 20'000;
  bool ragged = true;      ///< factors whose product exceeds the extent
  bool windows = true;     ///< indices that are sums of loops
  bool properties = true;  ///< capacities, rates, fabrics; else bare levels on a bus
};

class LegalChip {
 public:
  LegalChip(std::uint32_t seed, const LegalChipLimits& limits) : random_(seed), limits_(limits) {}

  ChipProgram make() {
    choose_operator();
    choose_levels();
    choose_loops();
    choose_units();
    if (limits_.properties) choose_properties();
    return chip_;
  }

 private:
  std::int64_t number(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  double whole(std::int64_t least, std::int64_t most) { return static_cast<double>(number(least, most)); }
  bool chance(double p) { return std::bernoulli_distribution(p)(random_); }

  static ChipIndex plain(int dim) { return {{{dim, 1}}}; }
  ChipIndex window(int a, int b) { return {{{a, number(1, 3)}, {b, number(1, 2)}}}; }
  void add(const std::string& name, TensorUse use, std::vector<ChipIndex> indices) {
    chip_.tensors.push_back({name, use, std::move(indices), 2});
  }

  void choose_operator() {
    chip_.op = "op";
    switch (number(0, limits_.windows ? 4 : 2)) {
      case 0: return product();
      case 1: return product_of_three();
      case 2: return pointwise();
      case 3: return convolution_of_a_row();
      default: return convolution();
    }
  }
  void set_dims(const std::vector<std::string>& names) {
    for (const std::string& name : names) chip_.dims.push_back({name, 1});
  }
  void product() {
    set_dims({"m", "n", "k"});
    add("I", TensorUse::input, {plain(0), plain(2)});
    add("W", TensorUse::weight, {plain(2), plain(1)});
    add("O", TensorUse::output, {plain(0), plain(1)});
  }
  void product_of_three() {
    set_dims({"b", "m", "n", "k"});
    add("A", TensorUse::input, {plain(0), plain(1), plain(3)});
    add("B", TensorUse::input, {plain(0), plain(3), plain(2)});
    add("S", TensorUse::input, {plain(1)});
    add("O", TensorUse::output, {plain(0), plain(1), plain(2)});
  }
  void pointwise() {
    set_dims({"m", "n"});
    add("I", TensorUse::input, {plain(0), plain(1)});
    add("Y", TensorUse::output, {plain(0), plain(1)});
  }
  void convolution_of_a_row() {
    set_dims({"p", "r", "c", "k"});
    add("I", TensorUse::input, {plain(2), window(0, 1)});
    add("W", TensorUse::weight, {plain(3), plain(2), plain(1)});
    add("O", TensorUse::output, {plain(3), plain(0)});
  }
  void convolution() {
    set_dims({"n", "k", "c", "p", "q", "r", "s"});
    add("I", TensorUse::input, {plain(0), plain(2), window(3, 5), window(4, 6)});
    add("W", TensorUse::weight, {plain(1), plain(2), plain(5), plain(6)});
    add("O", TensorUse::output, {plain(0), plain(1), plain(3), plain(4)});
  }

  void choose_levels() {
    const auto count = number(2, limits_.most_levels);
    for (std::int64_t l = 0; l < count; ++l) {
      ChipLevel level;
      level.name = "level" + std::to_string(l);
      const auto axes = l == 0 ? 0 : number(0, 2);
      if (axes == 1) level.axes = {{level.name, 1}};
      if (axes == 2) level.axes = {{chance(0.5) ? "x" : "row", 1}, {"y", 1}};
      level.keeps.assign(chip_.tensors.size(), l == 0);
      for (std::size_t t = 0; l > 0 && t < chip_.tensors.size(); ++t) level.keeps[t] = chance(0.6);
      level.store = std::find(level.keeps.begin(), level.keeps.end(), true) != level.keeps.end();
      chip_.levels.push_back(std::move(level));
    }
  }

  /// Factors of every dim over the levels in random places, in random order within each level.
  void choose_loops() {
    std::vector<int> order(chip_.dims.size());
    for (std::size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int>(d);
    std::shuffle(order.begin(), order.end(), random_);
    std::int64_t room = limits_.most_points;
    for (int d : order) choose_factors(d, room);
    for (ChipLevel& level : chip_.levels) {
      std::shuffle(level.space.begin(), level.space.end(), random_);
      std::shuffle(level.time.begin(), level.time.end(), random_);
    }
  }

  void choose_factors(int dim, std::int64_t& room) {
    std::int64_t product = 1;
    std::vector<ChipLoop*> made;  // the last of their lists, until the next dim
    for (ChipLevel& level : chip_.levels) {
      if (!chance(0.6)) continue;
      const std::int64_t trips = std::min<std::int64_t>(number(1, 4), room);
      room /= trips;
      product *= trips;
      const bool space = !level.axes.empty() && chance(0.5);
      const auto axes = static_cast<std::int64_t>(level.axes.size());
      auto& loops = space ? level.space : level.time;
      loops.push_back({dim, trips, space ? static_cast<int>(number(0, axes - 1)) : -1, false, {}});
      made.push_back(&loops.back());
    }
    chip_.dims[dim].extent = product;
    if (!limits_.ragged || product == 1 || !chance(0.4)) return;
    chip_.dims[dim].extent = number(product / 2 + 1, product);
    made[number(0, static_cast<std::int64_t>(made.size()) - 1)]->ragged = true;
  }

  /// As many units as parts, at times more.
  void choose_units() {
    for (ChipLevel& level : chip_.levels) {
      for (const ChipLoop& loop : level.space) level.axes[loop.axis].units *= loop.trips;
      for (ChipAxis& axis : level.axes)
        if (chance(0.2)) axis.units += number(1, 3);
    }
  }

  void choose_properties() {
    if (chance(0.5)) chip_.clock_hz = 1e9;
    if (chance(0.5)) chip_.macs_per_cycle = whole(1, 4);
    for (std::size_t l = 0; l < chip_.levels.size(); ++l) {
      ChipLevel& level = chip_.levels[l];
      level.fabric = static_cast<FabricClass>(number(0, 2));
      if (level.fabric == FabricClass::network) level.multicast = chance(0.5), level.reduce = chance(0.5);
      if (chance(0.4)) level.bytes_per_cycle = whole(1, 64);
      if (chance(0.3)) level.word_bytes = whole(1, 4);
      if (chance(0.3)) level.energy_pj = whole(1, 200);
      if (chance(0.2)) level.buffers = 2;
      if (chance(0.2) && chip_.clock_hz > 0) level.latency_cycles = whole(1, 500);
      if (!chance(0.3)) continue;
      double used = 1;
      for (std::size_t t = 0; t < chip_.tensors.size(); ++t)
        if (level.keeps[t]) used += resident_bytes(chip_, static_cast<int>(t), static_cast<int>(l));
      level.capacity_bytes = std::ceil(used) * whole(1, 2);
    }
  }

  std::mt19937 random_;
  LegalChipLimits limits_;
  ChipProgram chip_;
};

inline ChipProgram legal_chip(std::uint32_t seed, const LegalChipLimits& limits = {}) {
  return LegalChip(seed, limits).make();
}

}  // namespace stepcast::dataflow
