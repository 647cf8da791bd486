// Candidates of the phases that time matrix products.
#include <algorithm>
#include <array>
#include <cmath>

#include "calibrate/measure/plan/phases.h"

namespace stepcast::calibrate {
namespace {

GemmQuery forward_product(const Shape& shape, Precision precision) {
  return {.m = shape[0], .n = shape[1], .k = shape[2], .precision = precision};
}

/// dx[m,k] = dy[m,n] w[n,k]: its n is the forward product's k.
GemmQuery input_gradient(const Shape& shape, Precision precision) {
  return {.m = shape[0], .n = shape[2], .k = shape[1], .precision = precision, .layout = GemmLayout::nn};
}

/// dw[n,k] = dy[m,n]T x[m,k]: sums over the rows.
GemmQuery weight_gradient(const Shape& shape, Precision precision) {
  return {.m = shape[1], .n = shape[2], .k = shape[0], .precision = precision, .layout = GemmLayout::nt};
}

Candidates sampled_products(const std::vector<Shape>& shapes, Precision precision) {
  Candidates out;
  for (const Shape& shape : shapes) out.push_back(sampled_work(forward_product(shape, precision)));
  return out;
}

std::vector<Shape> fitting(std::vector<Shape> shapes, const PhaseContext& context, Precision precision) {
  std::erase_if(shapes, [&](const Shape& s) { return !context.fits(forward_product(s, precision)); });
  return shapes;
}

/// A precision beside that of training: how many shapes, and what its kernels ask of each size.
struct OtherPrecision {
  Precision precision;
  std::size_t shapes;
  double multiple;
  bool block_scaled = false;
};
// Most telling first. 16: cuBLASLt's rule for fp8 (cuBLAS documentation, "FP8 data types usage"); 128: whole tiles of
// block scales ("1D block scaling factors layout"), so that no padding is timed. fp32 without tensor cores is a
// reference only.
constexpr std::array other_precisions{OtherPrecision{Precision::fp8, 24, 16}, OtherPrecision{Precision::nvfp4, 24, 128},
    OtherPrecision{Precision::mxfp8, 24, 128}, OtherPrecision{Precision::tf32, 24, 1},
    OtherPrecision{Precision::fp16, 24, 1}, OtherPrecision{Precision::fp32, 6, 1},
    OtherPrecision{Precision::fp8, 12, 128, true}};

/// fp8 with a scale per block of 128 in cuBLASLt is Hopper's; later chips have mxfp8 (cuBLAS documentation, same
/// section).
bool is_there(const OtherPrecision& row, const PhaseContext& context) {
  if (row.block_scaled && context.request.gpu.architecture != "hopper") return false;
  return context.has(row.precision) && row.precision != context.precision;
}

GemmQuery product_in(const Shape& shape, const OtherPrecision& row) {
  GemmQuery query = forward_product(shape, row.precision);
  query.block_scaled = row.block_scaled;
  return query;
}

/// Own shapes are a third of the 24 that all precisions share.
constexpr std::size_t own_of_24 = 8;

/// The casts beside fp8 products: what is read is the x of a product.
Candidates casts_of(const std::vector<Shape>& shapes) {
  Candidates out;
  for (const Shape& s : shapes) out.push_back(sampled_work(MemoryQuery{find_memory_op("quantize"), s[0], s[2], 2}));
  return out;
}

/// Fits need four samples of a law (fit_profile), so that lists which take turns do so by fours.
constexpr std::size_t at_once = 4;

Candidates in_turns(const std::vector<Candidates>& lists) {
  Candidates out;
  std::size_t longest = 0;
  for (const Candidates& list : lists) longest = std::max(longest, list.size());
  for (std::size_t from = 0; from < longest; from += at_once)
    for (const Candidates& list : lists)
      for (std::size_t i = from; i < std::min(from + at_once, list.size()); ++i) out.push_back(list[i]);
  return out;
}

}  // namespace

/// What other phases are held against, then the design, which may hold it too.
Candidates gemm_candidates(const PhaseContext& context) {
  Candidates out = sampled_products(fitting(compared_shapes(), context, context.precision), context.precision);
  const Candidates design = sampled_products(context.design, context.precision);
  out.insert(out.end(), design.begin(), design.end());
  return out;
}

/// The own ones are in the request. A third of the design's shapes first, then the others.
Candidates backward_candidates(const PhaseContext& context) {
  Candidates out;
  for (std::size_t start = 0; start < 3; ++start)
    for (std::size_t i = start; i < context.design.size(); i += 3) {
      out.push_back(sampled_work(input_gradient(context.design[i], context.precision)));
      out.push_back(sampled_work(weight_gradient(context.design[i], context.precision)));
    }
  return out;
}

Candidates precision_candidates(const PhaseContext& context) {
  std::vector<Candidates> lists;
  for (const OtherPrecision& row : other_precisions) {
    if (!is_there(row, context)) continue;
    const auto usable = [&](const Shape& s) {
      const Query query = forward_product(s, row.precision);
      const bool whole =
          std::all_of(s.begin(), s.end(), [&](double size) { return std::fmod(size, row.multiple) == 0; });
      return whole && context.fits(query) && context.short_enough(query);
    };
    std::vector<Shape> shapes;
    for (const Shape& s : context.own)
      if (shapes.size() < std::min(own_of_24, row.shapes / 3) && usable(s)) shapes.push_back(s);
    for (const Shape& s : context.design)
      if (shapes.size() < row.shapes && usable(s)) shapes.push_back(s);
    lists.emplace_back();
    for (const Shape& s : shapes) lists.back().push_back(sampled_work(product_in(s, row)));
    if (row.precision == Precision::fp8 && !row.block_scaled) {
      shapes.resize(std::min(shapes.size(), 2 * at_once));
      lists.push_back(casts_of(shapes));
    }
  }
  return in_turns(lists);
}

Candidates skinny_works(const PhaseContext& context) {
  constexpr std::size_t most = 96;
  const std::vector<Shape> all = fitting(skinny_candidates(), context, context.precision);
  return sampled_products(farthest_points(all, {}, most), context.precision);
}

Candidates edge_works(const PhaseContext& context) {
  return sampled_products(fitting(edge_shapes(), context, context.precision), context.precision);
}

/// As Q KT (tn) and P V (nn) of every head at once: 4096 tokens of 2048 hidden numbers.
Candidates batched_candidates(const PhaseContext& context) {
  constexpr double tokens = 4096, hidden = 2048;
  Candidates out;
  for (const double s : {2048, 1024, 4096, 512})
    for (const double d : {128, 64}) {
      const double batch = tokens / s * (hidden / d);
      out.push_back(sampled_work(GemmQuery{.m = s, .n = s, .k = d, .batch = batch, .precision = context.precision}));
      out.push_back(sampled_work(
          GemmQuery{.m = s, .n = d, .k = s, .batch = batch, .precision = context.precision, .layout = GemmLayout::nn}));
    }
  return out;
}

/// All three matrices in half the cache: what a layer's products find of what the kernel before them wrote.
Candidates warm_candidates(const PhaseContext& context) {
  constexpr std::size_t most = 12;
  constexpr double of_cache = 0.5;
  std::vector<Shape> shapes = training_candidates();
  std::erase_if(shapes, [&](const Shape& s) {
    return bytes_taken(forward_product(s, context.precision)) > context.request.gpu.l2 * of_cache;
  });
  Candidates out;
  for (const Shape& s : farthest_points(shapes, {}, most))
    out.push_back(sampled_work(forward_product(s, context.precision), true));
  return out;
}

}  // namespace stepcast::calibrate
