#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dataflow/chip/resolve/resolve.h"
#include "dataflow/notation/parser.h"

namespace stepcast::dataflow {
namespace {

std::int64_t ceil_divided(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Finds the factors that were left out, then holds all of them against units and extents.
class FactorFinder {
 public:
  FactorFinder(std::vector<LineLoop>& loops, const ChipProgram& chip) : loops_(loops), chip_(chip) {}

  Expected<void> run(const Position& op_position) {
    TRY(check_units());
    for (std::size_t i = 0; i < loops_.size(); ++i)
      if (!loops_[i].in_time() && loops_[i].factor == 0) TRY(take_units(i));
    for (int d = 0; d < static_cast<int>(chip_.dims.size()); ++d) TRY(settle_dim(d, op_position));
    return {};
  }

 private:
  [[nodiscard]] const ChipDim& dim(const LineLoop& loop) const { return chip_.dims[loop.dim]; }
  [[nodiscard]] const ChipAxis& axis(const LineLoop& loop) const { return chip_.levels[loop.level].axes[loop.axis]; }
  static bool same_axis(const LineLoop& a, const LineLoop& b) {
    return !a.in_time() && a.level == b.level && a.axis == b.axis;
  }
  static std::string place(const LineLoop& loop) { return fmt::format("level {} '{}'", loop.line, loop.text); }

  /// Product of the known factors on an axis.
  [[nodiscard]] std::int64_t parts_on(const LineLoop& loop) const {
    std::int64_t parts = 1;
    for (const LineLoop& other : loops_)
      if (same_axis(other, loop) && other.factor > 0) parts = safe_product(parts, other.factor);
    return parts;
  }

  Expected<void> check_units() const {
    for (const LineLoop& loop : loops_) {
      if (loop.in_time() || loop.factor == 0) continue;
      const std::int64_t parts = parts_on(loop), units = axis(loop).units;
      if (parts <= units) continue;
      std::vector<std::string> pars;
      for (const LineLoop& other : loops_)
        if (same_axis(other, loop) && other.factor > 0) pars.push_back(fmt::format("'{}'", other.text));
      if (pars.size() > 1)
        return fail(to_text(loop.position),
            fmt::format("{} make {} parts but {} units", fmt::join(pars, " and "), grouped(parts), grouped(units)),
            fmt::format("the parts on {} may make at most {}", axis(loop).name, grouped(units)));
      return fail(to_text(loop.position),
          fmt::format("{} but {} units (level {})", loop.text, grouped(units), loop.line),
          fmt::format("use {}, and take the rest in time with 'for {}:*'", nearest_divisor(dim(loop).extent, units),
              dim(loop).name));
    }
    return {};
  }

  /// The largest divisor that is no larger than `most`.
  static std::int64_t nearest_divisor(std::int64_t extent, std::int64_t most) {
    std::int64_t best = 1;
    for (std::int64_t d = 1; d <= extent / d; ++d) {
      if (extent % d != 0) continue;
      if (d <= most) best = std::max(best, d);
      if (extent / d <= most) best = std::max(best, extent / d);
    }
    return best;
  }

  /// `par d on x`: the units that are left, or what is left of d where that is less.
  Expected<void> take_units(std::size_t index) {
    LineLoop& loop = loops_[index];
    const std::int64_t parts = parts_on(loop), left_units = axis(loop).units / parts;
    const std::int64_t left = std::max<std::int64_t>(1, ceil_divided(dim(loop).extent, product_of(loop.dim)));
    if (left_units <= 1 && left > 1 && parts > 1) return used_twice(loop);
    loop.factor = std::min(left_units, left);
    return {};
  }

  [[nodiscard]] tl::unexpected<Error> used_twice(const LineLoop& loop) const {
    std::vector<std::string> takers;
    for (const LineLoop& other : loops_)
      if (same_axis(other, loop) && other.factor > 1) takers.push_back(dim(other).name);
    const std::string& name = axis(loop).name;
    const std::string verb = takers.size() > 1 ? "take" : "takes";
    return fail(to_text(loop.position),
        fmt::format("{} is used twice: {} {} all {} units, nothing is left for {} (level {} '{}')", name,
            fmt::join(takers, " and "), verb, grouped(axis(loop).units), dim(loop).name, loop.line, loop.text),
        fmt::format("put {} on another axis or in time, or write factors that make at most {} together", dim(loop).name,
            grouped(axis(loop).units)));
  }

  [[nodiscard]] std::int64_t product_of(int d) const {
    std::int64_t product = 1;
    for (const LineLoop& loop : loops_)
      if (loop.dim == d && loop.factor > 0) product = safe_product(product, loop.factor);
    return product;
  }

  /// Loops of one dim, outer to inner.
  [[nodiscard]] std::vector<std::size_t> nest_of_dim(int d) const {
    std::vector<std::size_t> nest;
    for (std::size_t i = 0; i < loops_.size(); ++i)
      if (loops_[i].dim == d) nest.push_back(i);
    std::ranges::stable_sort(nest, [&](std::size_t a, std::size_t b) {
      return std::pair(loops_[a].level, loops_[a].in_time()) < std::pair(loops_[b].level, loops_[b].in_time());
    });
    return nest;
  }

  Expected<void> settle_dim(int d, const Position& op_position) {
    const ChipDim& dim = chip_.dims[d];
    const std::vector<std::size_t> nest = nest_of_dim(d);
    if (nest.empty() && dim.extent > 1)
      return fail(to_text(op_position),
          fmt::format("{} (extent {}) is never mapped: no level has a 'for {}' or 'par {}'", dim.name,
              grouped(dim.extent), dim.name, dim.name),
          fmt::format("write 'for {}:*' in the line of a level, such as {}", dim.name, chip_.levels.front().name));
    const bool ragged = std::ranges::any_of(nest, [&](std::size_t i) { return loops_[i].ragged; });
    TRY(take_rest(d, nest, ragged));
    const std::int64_t product = product_of(d);
    if (product == dim.extent || (ragged && product > dim.extent)) return {};
    return wrong_product(d, nest, product, ragged);
  }

  /// `for d:*` takes what the others leave.
  Expected<void> take_rest(int d, const std::vector<std::size_t>& nest, bool ragged) {
    const ChipDim& dim = chip_.dims[d];
    std::optional<std::size_t> star;
    for (std::size_t i : nest) {
      if (loops_[i].factor > 0) continue;
      if (star)
        return fail(to_text(loops_[i].position),
            fmt::format("{}: both {} and {} take the rest", dim.name, place(loops_[*star]), place(loops_[i])),
            "one * per dim");
      star = i;
    }
    if (!star) return {};
    const std::int64_t others = product_of(d);
    if (dim.extent % others != 0 && !ragged) return rest_does_not_divide(nest, loops_[*star], others);
    loops_[*star].factor = ceil_divided(dim.extent, others);
    return {};
  }

  [[nodiscard]] tl::unexpected<Error> rest_does_not_divide(
      const std::vector<std::size_t>& nest, const LineLoop& star, std::int64_t others) const {
    const ChipDim& of = dim(star);
    const auto [product, text] = product_shown(nest);
    return fail(to_text(star.position),
        fmt::format("{}: the other factors make {}, which does not divide extent {} ({})", of.name, text,
            grouped(of.extent), place(star)),
        fmt::format(
            "they may make {}; or write {}:*? for a short last round", divisors_near(of.extent, others), of.name));
  }

  /// "2x3x16=96" of the known factors.
  [[nodiscard]] std::pair<std::int64_t, std::string> product_shown(const std::vector<std::size_t>& nest) const {
    std::vector<std::int64_t> factors;
    std::int64_t product = 1;
    for (std::size_t i : nest) {
      if (loops_[i].factor <= 0) continue;
      factors.push_back(loops_[i].factor);
      product = safe_product(product, loops_[i].factor);
    }
    return {product,
        factors.size() > 1 ? fmt::format("{}={}", product_text(factors), product) : fmt::format("{}", product)};
  }

  struct Fix {
    std::size_t loop;
    std::int64_t factor;
  };

  /// The one factor whose change makes the product right: a loop in time before units, the smallest change first.
  [[nodiscard]] std::optional<Fix> single_change(
      const std::vector<std::size_t>& nest, std::int64_t extent, bool ragged) const {
    std::optional<Fix> best;
    std::pair<bool, double> least;
    for (std::size_t i : nest) {
      const LineLoop& loop = loops_[i];
      std::int64_t others = 1;
      for (std::size_t j : nest)
        if (j != i) others = safe_product(others, loops_[j].factor);
      if (!ragged && extent % others != 0) continue;
      const std::int64_t factor = ceil_divided(extent, others);
      if (!loop.in_time() && safe_product(factor, parts_on(loop) / loop.factor) > axis(loop).units) continue;
      const std::pair<bool, double> change{
          !loop.in_time(), std::abs(std::log(static_cast<double>(factor) / static_cast<double>(loop.factor)))};
      if (!best || change < least) best = Fix{i, factor}, least = change;
    }
    return best;
  }

  [[nodiscard]] tl::unexpected<Error> wrong_product(
      int d, const std::vector<std::size_t>& nest, std::int64_t product, bool ragged) const {
    const ChipDim& dim = chip_.dims[d];
    const std::optional<Fix> fix = single_change(nest, dim.extent, ragged);
    const std::size_t blamed = fix ? fix->loop : nest.back();
    std::string hint;
    if (fix) hint = fmt::format("use {}", fix->factor);
    if (loops_[blamed].in_time())
      hint += fmt::format("{}write {}:* to absorb the rest", hint.empty() ? "" : " or ", dim.name);
    if (!fix) {
      if (dim.extent % product == 0)
        hint = fmt::format("add 'for {}:{}' to the line of a level", dim.name, dim.extent / product);
      else
        hint += fmt::format("{}the factors must divide {}: {}; or write {}:*? for a short last round",
            hint.empty() ? "" : "; ", grouped(dim.extent), divisors_near(dim.extent, loops_[blamed].factor), dim.name);
    }
    const std::string too_few = ragged ? ", too few even with '?'" : "";
    return fail(to_text(loops_[blamed].position),
        fmt::format("{}: {} but extent is {} ({}){}", dim.name, product_shown(nest).second, grouped(dim.extent),
            place(loops_[blamed]), too_few),
        hint);
  }

  std::vector<LineLoop>& loops_;
  const ChipProgram& chip_;
};

}  // namespace

Expected<void> resolve_factors(const MappingProgram& program, std::vector<LineLoop> loops, ChipProgram& chip) {
  const Position& position = written_operator(program, chip.op).position;
  TRY(FactorFinder(loops, chip).run(position));
  for (const LineLoop& loop : loops) {
    ChipLevel& level = chip.levels[loop.level];
    (loop.in_time() ? level.time : level.space)
        .push_back({loop.dim, loop.factor, loop.axis, loop.ragged, loop.position});
  }
  return {};
}

}  // namespace stepcast::dataflow
