// A resolved operator as one YAML text with Timeloop's architecture, problem and mapping, which from_timeloop() reads
// back to the same program and timeloop-model (v3.0.3) runs as it is.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/translate/foreign.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

constexpr double byte_bits = 8, default_word_bytes = 2;
const char* const timeloop_hint = "Timeloop has no name for it";

struct MeshSize {
  std::int64_t x = 1, y = 1;
};

/// A factor of one dim at one place, and how far its last round goes.
struct WrittenFactor {
  std::int64_t end = 1, residual = 1;
};

class TimeloopWriter {
 public:
  explicit TimeloopWriter(const ChipProgram& chip) : chip_(chip) {}

  Expected<Exported> run() {
    TRY(check());
    TRY(set_factors());
    write_architecture();
    write_problem();
    write_mapping();
    return Exported{std::move(text_), std::move(notes_), {}};
  }

 private:
  static tl::unexpected<Error> no_name(const std::string& where, std::string what, std::string hint = timeloop_hint) {
    return fail(where, std::move(what), std::move(hint));
  }

  /// A level of units only that is innermost is the arithmetic; one further out is storage that all tensors pass by.
  [[nodiscard]] bool is_arithmetic(std::size_t level) const {
    return level + 1 == chip_.levels.size() && !keeps_any(level) && level > 0 && chip_.levels[level].time.empty();
  }
  [[nodiscard]] bool keeps_any(std::size_t level) const {
    const auto& keeps = chip_.levels[level].keeps;
    return contains(keeps, true);
  }
  [[nodiscard]] std::size_t storage_levels() const {
    return chip_.levels.size() - (is_arithmetic(chip_.levels.size() - 1) ? 1 : 0);
  }

  Expected<void> check() {
    for (const ChipDim& dim : chip_.dims)
      if (dim.name.size() != 1)
        note(fmt::format(
            "dimension {}: Timeloop v3 reads permutations letter by letter, rename it to one letter to run it there",
            dim.name));
    for (const ChipLevel& level : chip_.levels) {
      if (level.axes.size() > 2)
        return no_name(level.name, fmt::format("{} axes of units: a mesh has X and Y", level.axes.size()));
      if (level.fabric != FabricClass::bus)
        note(fmt::format(
            "{}: units of a chain or network are a mesh with multicast and reduction there, without skew", level.name));
      if (level.latency_cycles > 0) note(fmt::format("{}: latency has no word there", level.name));
      if (level.energy_pj > 0) note(fmt::format("{}: energy per access comes from tables there", level.name));
      if (level.capacity_bytes > 0 && std::floor(entries(level)) != entries(level))
        return no_name(level.name,
            fmt::format("{} bytes are no whole number of {}-byte words", level.capacity_bytes, word_bytes(level)),
            "make cap a multiple of the word");
      if (level.word_bytes > 0 && std::floor(level.word_bytes * byte_bits) != level.word_bytes * byte_bits)
        return no_name(level.name, "a word that is no whole number of bits");
    }
    if (!chip_.levels.front().space.empty() || !chip_.levels.front().axes.empty())
      return no_name(chip_.levels.front().name, "units of the outermost level", "put a level of one unit outside it");
    if (chip_.clock_hz > 0) note("the clock has no word there: rates are per cycle");
    if (chip_.macs_per_cycle != 1)
      return no_name(chip_.levels.back().name,
          fmt::format("{} multiply-adds per cycle and unit: an arithmetic unit does one", chip_.macs_per_cycle),
          "add a level of units instead of flops");
    for (const ChipTensor& tensor : chip_.tensors)
      if (tensor.bytes_per_element != default_word_bytes)
        return no_name(
            tensor.name, fmt::format("{} bytes per element: words belong to levels there", tensor.bytes_per_element));
    return {};
  }

  void note(std::string text) { notes_.push_back(std::move(text)); }
  static double word_bytes(const ChipLevel& level) {
    return level.word_bytes > 0 ? level.word_bytes : default_word_bytes;
  }
  static double entries(const ChipLevel& level) { return level.capacity_bytes / word_bytes(level); }

  using Factors = std::vector<WrittenFactor>;  // by dim

  Expected<void> take(const std::vector<ChipLoop>& loops, const std::string& level, Factors& factors) {
    factors.assign(chip_.dims.size(), {});
    for (const ChipLoop& loop : loops) {
      if (loop.trips == 1) continue;
      WrittenFactor& factor = factors[loop.dim];
      if (factor.end != 1)
        return no_name(level, fmt::format("two loops over {} at one level: a directive has one factor per dimension",
                                  chip_.dims[loop.dim].name));
      factor.end = factor.residual = loop.trips;
    }
    return {};
  }

  /// The residual of each loop is where the last index of its dim stands in it.
  Expected<void> set_factors() {
    for (const ChipLevel& level : chip_.levels) {
      space_.emplace_back();
      time_.emplace_back();
      TRY(take(level.space, level.name, space_.back()));
      TRY(take(level.time, level.name, time_.back()));
    }
    for (std::size_t d = 0; d < chip_.dims.size(); ++d) {
      std::int64_t last = chip_.dims[d].extent - 1;
      for (std::size_t l = chip_.levels.size(); l-- > 0;)
        for (Factors* factors : {&time_[l], &space_[l]}) {
          WrittenFactor& factor = (*factors)[d];
          factor.residual = last % factor.end + 1;
          last /= factor.end;
        }
    }
    return {};
  }

  template <typename... Args> void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...) + '\n';
  }

  /// Axes lie on X and Y as they are named; an unnamed pair in its order. One that is called y stays on Y.
  static std::optional<std::size_t> axis_on(const ChipLevel& level, char side) {
    for (std::size_t a = 0; a < level.axes.size(); ++a)
      if (level.axes[a].name == std::string(1, side)) return a;
    const bool named =
        std::ranges::any_of(level.axes, [](const ChipAxis& a) { return a.name == "x" || a.name == "y"; });
    const std::size_t wanted = side == 'x' ? 0 : 1;
    if (level.axes.size() == 2 && named) return level.axes[0].name == "x" || level.axes[0].name == "y" ? 1 : 0;
    if (!named && wanted < level.axes.size()) return wanted;
    return {};
  }
  static std::int64_t units_on(const ChipLevel& level, char side) {
    const auto axis = axis_on(level, side);
    return axis ? level.axes[*axis].units : 1;
  }

  void write_component(const ChipLevel& level, const MeshSize& mesh, std::string_view kind, bool storage) {
    line("  - name: {}", level.name);
    line("    class: {}", kind);
    std::vector<std::string> attributes{fmt::format("instances: {}", mesh.x * mesh.y), fmt::format("meshX: {}", mesh.x),
        fmt::format("meshY: {}", mesh.y)};
    if (level.word_bytes > 0) attributes.push_back(fmt::format("word-bits: {:.0f}", level.word_bytes * byte_bits));
    if (storage && level.capacity_bytes > 0) attributes.push_back(fmt::format("entries: {:.0f}", entries(level)));
    if (storage && level.bytes_per_cycle > 0)
      attributes.push_back(fmt::format("shared_bandwidth: {}", level.bytes_per_cycle / word_bytes(level)));
    if (storage && level.buffers > 1) attributes.push_back(fmt::format("multiple-buffering: {}", level.buffers));
    line("    attributes: {{{}}}", fmt::join(attributes, ", "));
  }

  void write_architecture() {
    line("architecture:\n  version: 0.3\n  subtree:\n  - name: system\n    local:");
    MeshSize mesh;
    std::string inner;
    std::swap(inner, text_);
    for (std::size_t l = 0; l < chip_.levels.size(); ++l) {
      const ChipLevel& level = chip_.levels[l];
      mesh.x *= units_on(level, 'x');
      mesh.y *= units_on(level, 'y');
      const bool arithmetic = is_arithmetic(l);
      write_component(level, mesh,
          arithmetic                 ? "intmac"
          : l == 0                   ? "DRAM"
          : l + 1 < storage_levels() ? "SRAM"
                                     : "regfile",
          !arithmetic);
    }
    ChipLevel multiplier;
    multiplier.name = "MAC";
    while (std::ranges::any_of(chip_.levels, [&](const ChipLevel& l) { return l.name == multiplier.name; }))
      multiplier.name += "C";
    if (storage_levels() == chip_.levels.size()) write_component(multiplier, mesh, "intmac", false);
    text_ = inner + indented(text_);
  }

  static std::string indented(const std::string& text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at) + 1;
      out += "  " + text.substr(at, end - at);
      at = end;
    }
    return out;
  }

  std::string index_text(const ChipIndex& index) const {
    std::vector<std::string> terms;
    for (const ChipIndex::Term& term : index.terms) {
      const std::string& dim = chip_.dims[term.dim].name;
      terms.push_back(term.step == 1 ? fmt::format("[{}]", dim) : fmt::format("[{}, step_{}]", dim, term.step));
    }
    return fmt::format("[{}]", fmt::join(terms, ", "));
  }

  void write_problem() {
    const std::vector<std::string> dims = names_of(chip_.dims, &ChipDim::name);
    line("problem:\n  shape:\n    name: {}\n    dimensions: [{}]", chip_.op, fmt::join(dims, ", "));
    write_coefficients();
    line("    data-spaces:");
    for (const ChipTensor& tensor : chip_.tensors) {
      std::vector<std::string> indices;
      for (const ChipIndex& index : tensor.indices) indices.push_back(index_text(index));
      line("    - name: {}\n      projection: [{}]", tensor.name, fmt::join(indices, ", "));
      if (tensor.use == TensorUse::output) line("      read-write: True");
    }
    line("  instance:");
    for (const ChipDim& dim : chip_.dims) line("    {}: {}", dim.name, dim.extent);
  }

  /// Steps other than 1 are coefficients with a name; the default is the value.
  void write_coefficients() {
    std::vector<std::int64_t> steps;
    for (const ChipTensor& tensor : chip_.tensors)
      for (const ChipIndex& index : tensor.indices)
        for (const ChipIndex::Term& term : index.terms)
          if (term.step != 1 && !contains(steps, term.step)) steps.push_back(term.step);
    if (steps.empty()) return;
    line("    coefficients:");
    for (const std::int64_t step : steps) line("    - {{name: step_{}, default: {}}}", step, step);
  }

  void write_mapping() {
    line("mapping:");
    for (std::size_t l = 0; l < storage_levels(); ++l) {
      write_keeps(l);
      if (l + 1 < chip_.levels.size() && !chip_.levels[l + 1].axes.empty()) write_spatial(l);
      write_loops(l, "temporal", time_[l], order_of(chip_.levels[l].time));
    }
  }

  void write_keeps(std::size_t l) {
    std::vector<std::string> keep, bypass;
    for (std::size_t t = 0; t < chip_.tensors.size(); ++t)
      (chip_.levels[l].keeps[t] ? keep : bypass).push_back(chip_.tensors[t].name);
    line("- target: {}\n  type: bypass\n  keep: [{}]\n  bypass: [{}]", chip_.levels[l].name, fmt::join(keep, ", "),
        fmt::join(bypass, ", "));
  }

  /// X first in the permutation (innermost), then Y; the split stands between them.
  void write_spatial(std::size_t l) {
    const ChipLevel& inside = chip_.levels[l + 1];
    const auto x = axis_on(inside, 'x');
    std::vector<int> on_x, on_y;
    for (auto loop = inside.space.rbegin(); loop != inside.space.rend(); ++loop) {
      if (loop->trips == 1) continue;
      (x && loop->axis == static_cast<int>(*x) ? on_x : on_y).push_back(loop->dim);
    }
    const std::size_t split = on_x.size();
    on_x.insert(on_x.end(), on_y.begin(), on_y.end());
    write_loops(l, "spatial", space_[l + 1], std::move(on_x));
    line("  split: {}", split);
  }

  static std::vector<int> order_of(const std::vector<ChipLoop>& loops) {
    std::vector<int> inner_to_outer;
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop)
      if (loop->trips > 1) inner_to_outer.push_back(loop->dim);
    return inner_to_outer;
  }

  void write_loops(std::size_t l, std::string_view type, const Factors& factors, std::vector<int> order) {
    for (int d = 0; d < static_cast<int>(chip_.dims.size()); ++d)
      if (!contains(order, d)) order.push_back(d);
    std::vector<std::string> written, names;
    for (std::size_t d = 0; d < factors.size(); ++d) {
      const auto [end, residual] = factors[d];
      written.push_back(
          fmt::format("{}={}{}", chip_.dims[d].name, end, residual == end ? "" : fmt::format(",{}", residual)));
    }
    const bool letters = std::ranges::all_of(chip_.dims, [](const ChipDim& d) { return d.name.size() == 1; });
    for (const int d : order) names.push_back(chip_.dims[d].name);
    line("- target: {}\n  type: {}\n  factors: \"{}\"\n  permutation: \"{}\"", chip_.levels[l].name, type,
        fmt::join(written, " "), fmt::join(names, letters ? "" : " "));
  }

  const ChipProgram& chip_;
  std::vector<Factors> space_, time_;  // by level
  std::string text_;
  std::vector<std::string> notes_;
};

}  // namespace

Expected<Exported> to_timeloop(const ChipProgram& chip) { return TimeloopWriter(chip).run(); }

}  // namespace stepcast::dataflow
