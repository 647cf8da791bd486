// Goal on one core: a profile from 10,000 products in under 2 s, and the reading of as many rows well below that.
#include <cmath>
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "calibrate/fit/fit_profile.h"
#include "calibrate/import/importer.h"
#include "model/catalog.h"
#include "model/profile/kernel_law.h"

namespace {

using namespace stepcast;
using namespace stepcast::calibrate;

/// Products of all sizes, a law's times with a scatter of 5 % that follows from the shape.
Measurements made_up_products(std::size_t count) {
  const Gpu& gpu = **find_row(built_in().gpus, "h100-sxm", "gpu");
  RooflineLaw law;
  law.t0 = Seconds(3e-6);
  law.compute = FlopsPerSecond(700e12);
  law.memory = BytesPerSecond(2.9e12);
  Measurements out;
  MeasurementContext context;
  context.gpu = gpu.id;
  out.contexts.push_back(context);
  for (std::size_t i = 0; i < count; ++i) {
    const auto n = static_cast<double>(i);
    const auto size = [](double unit, double least, double most) {
      return std::round(least * std::pow(most / least, unit));
    };
    GemmQuery query{.m = size(std::fmod(n * 0.618034, 1), 1, 32768),
        .n = size(std::fmod(n * 0.754878, 1), 32, 65536),
        .k = size(std::fmod(n * 0.569840, 1), 32, 65536)};
    const double scatter = std::exp(0.05 * std::sin(12.9898 * n) + (std::fmod(query.m, 128) > 0 ? 0.03 : 0));
    Measurement row;
    row.what = query;
    row.time = base_time(law, query) * scatter;
    out.rows.push_back(row);
  }
  return out;
}

void fit_products(benchmark::State& state) {
  const Measurements measurements = made_up_products(static_cast<std::size_t>(state.range(0)));
  const Gpu& gpu = **find_row(built_in().gpus, "h100-sxm", "gpu");
  const FitRequest request{"bench", "bench", gpu, default_profile(gpu, built_in().profiles), {}};
  for (auto _ : state)
    if (!fit_profile(measurements, request)) state.SkipWithError("nothing fitted");
}
BENCHMARK(fit_products)->Arg(16)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);

void import_table_of_products(benchmark::State& state) {
  std::string text = "m,n,k,dtype,time_us\n";
  for (const Measurement& row : made_up_products(static_cast<std::size_t>(state.range(0))).rows) {
    const auto& query = std::get<GemmQuery>(row.what);
    text += fmt::format("{},{},{},bf16,{:.4f}\n", query.m, query.n, query.k, row.time.value() * 1e6);
  }
  ImportOptions options;
  options.context.gpu = "h100-sxm";
  for (auto _ : state)
    if (!import_text(text, "bench.csv", "", options)) state.SkipWithError("not read");
}
BENCHMARK(import_table_of_products)->Arg(10000)->Unit(benchmark::kMillisecond);

}  // namespace
