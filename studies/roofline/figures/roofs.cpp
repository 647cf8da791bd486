#include "studies/roofline/figures/roofs.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/quantity_text.h"

namespace stepcast::roofline {
namespace {

constexpr Precision roof_precisions[] = {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16,
    Precision::fp8, Precision::mxfp8, Precision::nvfp4};

// No datasheet gives the bandwidth of a level-2 cache. XLA's cost model of GPUs takes this over the device memory's
// (openxla/xla, xla/service/gpu/model/gpu_performance_model_base.h, kL2CacheSpeedup).
constexpr double l2_over_hbm = 2.5;

// Whatever the ridges of a GPU, products with a side of a few elements (routers) have some FLOPs per byte, those of
// wide layers some thousand: powers of ten that every frame holds.
constexpr int narrow_products = 0, wide_products = 4;

FlopsPerSecond datasheet_peak(const Gpu& gpu, Precision precision) { return gpu.peak[static_cast<int>(precision)]; }

bool is_unverified(const Gpu& gpu, std::string_view field) {
  return std::find(gpu.unverified.begin(), gpu.unverified.end(), field) != gpu.unverified.end();
}

std::string datasheet_text(const Gpu& gpu, std::string_view field, const char* text) {
  return fmt::format("{}{}", text, is_unverified(gpu, field) ? ", not checked against the vendor" : "");
}

bool law_is_timed(Source source) { return source == Source::measured || source == Source::fitted; }

RoofBasis regime_basis(const Roof& roof) {
  return roof.regime == "sustained" ? RoofBasis::sustained : RoofBasis::burst;
}

bool is_precision_roof(const Roof& roof, Precision precision) {
  const std::string_view name = to_text(precision);
  return roof.of == name || roof.of.starts_with(fmt::format("{} ", name));
}

/// The highest of the profile's measured roofs under one regime; null where there is none.
template <typename Matches> const Roof* highest_roof(const Profile& profile, RoofBasis basis, Matches matches) {
  const Roof* best = nullptr;
  for (const Roof& roof : profile.roofs)
    if (regime_basis(roof) == basis && roof.rate > 0 && matches(roof) && (best == nullptr || roof.rate > best->rate))
      best = &roof;
  return best;
}

class RoofFinder {
 public:
  RoofFinder(const Gpu& gpu, const Profile& profile)
      : gpu_(gpu), profile_(profile), own_(profile.gpu.empty() || profile.gpu == gpu.id) {}

  Roofs find() {
    if (!own_)
      note(fmt::format(
          "profile {} was measured on {}: none of its rates is a roof of {}", profile_.id, profile_.gpu, gpu_.id));
    for (const Precision precision : roof_precisions) add_compute(precision);
    add_untimed();
    add_hbm();
    add_l2();
    add_datasheet_ridges();
    add_measured_ridges();
    out_.frame = frame();
    return std::move(out_);
  }

 private:
  void note(std::string text) { out_.notes.push_back(std::move(text)); }

  // --- compute ---

  void add_compute(Precision precision) {
    if (const FlopsPerSecond peak = datasheet_peak(gpu_, precision); peak.value() > 0)
      out_.compute.push_back({precision, RoofBasis::datasheet, peak, datasheet_text(gpu_, "peak", "datasheet, dense")});
    if (!own_) return;
    for (const RoofBasis basis : {RoofBasis::burst, RoofBasis::sustained})
      if (const Roof* roof =
              highest_roof(profile_, basis, [&](const Roof& one) { return is_precision_roof(one, precision); }))
        out_.compute.push_back(
            {precision, basis, FlopsPerSecond(roof->rate), fmt::format("highest measured, {}", roof->of)});
    add_law(precision);
  }

  /// What the law of products tends to for large work. Its regime says of which runs; a factor leads from bursts to
  /// sustained ones.
  void add_law(Precision precision) {
    const RooflineLaw* law = find_gemm(profile_, precision);
    if (law == nullptr || !law_is_timed(law->source)) {
      if (datasheet_peak(gpu_, precision).value() > 0) untimed_.push_back(untimed_text(precision, law));
      return;
    }
    const bool sustained = profile_.regime == "sustained";
    out_.compute.push_back({precision, RoofBasis::fitted, law->compute,
        fmt::format("law of matrix products, {}", sustained ? "sustained" : "bursts")});
    if (sustained || !(profile_.sustained_slowdown > 1)) return;
    out_.compute.push_back({precision, RoofBasis::fitted, law->compute / profile_.sustained_slowdown,
        fmt::format("law of matrix products, sustained: bursts over {:.3g}", profile_.sustained_slowdown)});
  }

  static std::string untimed_text(Precision precision, const RooflineLaw* law) {
    return fmt::format("{} ({})", to_text(precision), law == nullptr ? "no law" : to_text(law->source));
  }
  void add_untimed() {
    if (!untimed_.empty())
      note(fmt::format(
          "no roof from the law of matrix products for {}: nobody timed it on this GPU", fmt::join(untimed_, ", ")));
  }

  // --- memory ---

  void add_hbm() {
    const BytesPerSecond datasheet = gpu_.memory_bandwidth;
    if (datasheet.value() > 0)
      out_.memory.push_back(
          {MemoryLevel::hbm, RoofBasis::datasheet, datasheet, datasheet_text(gpu_, "memory_bandwidth", "datasheet")});
    else note(fmt::format("no HBM slope from a datasheet: the file of {} says no memory bandwidth", gpu_.id));
    if (!own_) return;
    add_measured(MemoryLevel::hbm, [](const Roof& roof) { return roof.of.starts_with("hbm "); });
    const MemoryLaw& law = profile_.memory;
    if (law_is_timed(law.source))
      out_.memory.push_back({MemoryLevel::hbm, RoofBasis::fitted, law.memory, "law of memory-bound kernels"});
    else
      note(fmt::format(
          "no HBM slope from the law of memory-bound kernels: nobody timed it on this GPU ({})", to_text(law.source)));
  }

  void add_l2() {
    const std::size_t before = out_.memory.size();
    if (own_) add_measured(MemoryLevel::l2, [](const Roof& roof) { return roof.of == "l2 read"; });
    if (out_.memory.size() > before) return;
    if (gpu_.l2.value() <= 0 || gpu_.memory_bandwidth.value() <= 0)
      return note(fmt::format("no L2 slope: the file of {} says no {}, and nobody measured it", gpu_.id,
          gpu_.l2.value() <= 0 ? "L2" : "memory bandwidth"));
    out_.memory.push_back({MemoryLevel::l2, RoofBasis::assumed, l2_over_hbm * gpu_.memory_bandwidth,
        fmt::format("{} x the datasheet's HBM, as XLA's cost model of GPUs takes it", l2_over_hbm)});
  }

  template <typename Matches> void add_measured(MemoryLevel level, Matches matches) {
    for (const RoofBasis basis : {RoofBasis::burst, RoofBasis::sustained})
      if (const Roof* roof = highest_roof(profile_, basis, matches))
        out_.memory.push_back(
            {level, basis, BytesPerSecond(roof->rate), fmt::format("highest measured, {}", roof->of)});
  }

  // --- ridges and frame ---

  void add_ridge(const ComputeRoof& roof, MemoryLevel level, BytesPerSecond bandwidth) {
    if (bandwidth.value() > 0)
      out_.ridges.push_back({roof.precision, level, roof.basis, (roof.rate / bandwidth).value(), roof.rate});
  }

  void add_datasheet_ridges() {
    for (const MemoryLevel level : {MemoryLevel::hbm, MemoryLevel::l2})
      for (const ComputeRoof& roof : out_.compute)
        if (roof.basis == RoofBasis::datasheet) add_ridge(roof, level, out_.bandwidth(level));
  }

  void add_measured_ridges() {
    BytesPerSecond bandwidth;
    for (const MemoryRoof& roof : out_.memory)
      if (roof.level == MemoryLevel::hbm && is_measured(roof.basis)) bandwidth = std::max(bandwidth, roof.rate);
    for (const Precision precision : roof_precisions) {
      const ComputeRoof* best = nullptr;
      for (const ComputeRoof& roof : out_.compute)
        if (roof.precision == precision && is_measured(roof.basis) && (best == nullptr || roof.rate > best->rate))
          best = &roof;
      if (best != nullptr) add_ridge(*best, MemoryLevel::hbm, bandwidth);
    }
  }

  [[nodiscard]] Frame frame() {
    double lowest = 0, highest = 0, peak = 0;
    for (const Precision precision : roof_precisions) {
      const double rate = datasheet_peak(gpu_, precision).value();
      if (!(rate > 0)) continue;
      lowest = peak > 0 ? std::min(lowest, rate) : rate;
      peak = std::max(peak, rate);
    }
    const double bandwidth = gpu_.memory_bandwidth.value();
    if (!(peak > 0) || !(bandwidth > 0)) {
      note(fmt::format(
          "the file of {} says no peak or no memory bandwidth: the frame of the picture is a usual one", gpu_.id));
      return {};
    }
    lowest /= bandwidth, highest = peak / bandwidth;
    const auto decade = [](double value) { return static_cast<int>(std::floor(std::log10(value))); };
    const int x_low = std::min(decade(lowest) - 1, narrow_products);
    const int x_high = std::max(static_cast<int>(std::ceil(std::log10(highest))) + 1, wide_products);
    return {x_low, x_high, decade(bandwidth) + x_low, decade(peak) + 1};
  }

  const Gpu& gpu_;
  const Profile& profile_;
  bool own_;
  std::vector<std::string> untimed_;
  Roofs out_;
};

template <std::size_t size, typename Enum> const char* roof_word(const char* const (&words)[size], Enum value) {
  return words[static_cast<std::size_t>(value)];
}

}  // namespace

const char* to_text(RoofBasis basis) {
  static constexpr const char* words[] = {"datasheet", "burst", "sustained", "fitted", "assumed"};
  return roof_word(words, basis);
}

std::string basis_text(const ComputeRoof& roof) {
  const bool slower = roof.basis == RoofBasis::fitted && roof.from.find("sustained") != std::string::npos;
  return slower ? "sustained fit" : to_text(roof.basis);
}

const char* to_text(MemoryLevel level) {
  static constexpr const char* words[] = {"HBM", "L2"};
  return roof_word(words, level);
}

FlopsPerSecond Roofs::peak(Precision precision) const {
  for (const ComputeRoof& roof : compute)
    if (roof.precision == precision && roof.basis == RoofBasis::datasheet) return roof.rate;
  return {};
}

Precision Roofs::limiting(Precision precision) const {
  if (peak(precision).value() > 0) return precision;
  for (const Precision other : {Precision::bf16, Precision::fp16, Precision::tf32, Precision::fp32})
    if (peak(other).value() > 0) return other;
  return precision;
}

BytesPerSecond Roofs::bandwidth(MemoryLevel level) const {
  BytesPerSecond best;
  for (const MemoryRoof& roof : memory)
    if (roof.level == level && (level == MemoryLevel::l2 || roof.basis == RoofBasis::datasheet))
      best = std::max(best, roof.rate);
  return best;
}

bool Roofs::measured(MemoryLevel level) const {
  return std::any_of(memory.begin(), memory.end(),
      [&](const MemoryRoof& roof) { return roof.level == level && is_measured(roof.basis); });
}

Roofs roofs_of(const Gpu& gpu, const Profile& profile) { return RoofFinder(gpu, profile).find(); }

}  // namespace stepcast::roofline
