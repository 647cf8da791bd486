#include "studies/calibrate/layer_forecast.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "kernels/bench/work.h"
#include "model/errors/error_context.h"
#include "model/profile/kernel_law.h"
#include "studies/calibrate/layer_size.h"
#include "studies/run/nouns.h"

namespace stepcast::calibration {
namespace {

/// A kernel by itself with the profile's law for it; attention with that of the library that it was timed by.
struct KernelPrice {
  const Profile& profile;
  const std::string& attention;

  std::optional<KernelTime> operator()(const GemmQuery& q) const { return gemm_time(profile, q); }
  std::optional<KernelTime> operator()(const AttentionQuery& q) const {
    const auto of_library = [&](const AttentionLaw& law) {
      return !law.decode && law.refinement.software.starts_with(attention + " ");
    };
    if (of_library(profile.attention)) return attention_time(profile, q, profile.attention.refinement.software);
    for (const AttentionLaw& law : profile.attention_kernels)
      if (of_library(law)) return attention_time(profile, q, law.refinement.software);
    return std::nullopt;
  }
  std::optional<KernelTime> operator()(const MemoryQuery& q) const { return memory_time(profile, q); }
  template <typename Other> std::optional<KernelTime> operator()(const Other&) const { return std::nullopt; }
};

Expected<LayerForecast> forecast_layer(
    const TimedLayer& layer, const Gpu& gpu, const Profile& profile, const std::string& where) {
  TRY(const auto network, choose_network(layer.network, where + "/network"));
  const auto shapes = shapes_of_layer(network.row, {layer.sequence, layer.micro_batch}, gpu);
  if (!shapes) return tl::unexpected(error_at(where + "/sequence", shapes.error()));
  const auto calls = static_cast<std::int64_t>(shapes->calls.size());
  if (calls != layer.calls)
    return fail(where + "/calls", fmt::format("{} kernels were timed, and {} are forecast", layer.calls, calls),
        "measure the layer again with this program");
  const KernelPrice price{profile, layer.attention};
  LayerForecast out;
  for (const Query& query : shapes->calls) {
    const auto time = std::visit(price, query);
    if (!time) {
      out.missing = work_name(query);
      return out;
    }
    out.time += time->time;
  }
  out.launching = profile.host.stream_kernel * static_cast<double>(calls);
  return out;
}

}  // namespace

Expected<std::vector<HeldLayer>> hold_layers(
    const LayerFile& file, const Gpu& gpu, const Profile& profile, const std::string& where) {
  std::vector<HeldLayer> out;
  for (std::size_t i = 0; i < file.layers.size(); ++i) {
    TRY(auto forecast, forecast_layer(file.layers[i], gpu, profile, fmt::format("{}:/layers/{}", where, i)));
    out.push_back({file.layers[i], std::move(forecast)});
  }
  return out;
}

}  // namespace stepcast::calibration
