#include "model/correction.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stepcast {
namespace {

constexpr double value_unit = 1e-4;
constexpr int most_depth = 8;
constexpr std::int64_t most_tables = 1024;

template <int Depth>
double sum_of(const Correction& c, const float* x) {
  double sum = 0;
  const int tables = c.tables();
  const std::uint8_t* feature = c.feature.data();
  const float* threshold = c.threshold.data();
  const float* value = c.value.data();
  for (int t = 0; t < tables; ++t, feature += Depth, threshold += Depth, value += 1 << Depth) {
    unsigned leaf = 0;
    for (int d = 0; d < Depth; ++d) leaf |= static_cast<unsigned>(x[feature[d]] > threshold[d]) << d;
    sum += value[leaf];
  }
  return sum;
}

std::vector<float> floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }

}  // namespace

double sum_at(const Correction& correction, std::span<const float> features) {
  if (correction.empty()) return 0;
  assert(features.size() == correction.low.size());
  switch (correction.depth) {  // unrolled: some microseconds of queries are mostly this loop
    case 1: return sum_of<1>(correction, features.data());
    case 2: return sum_of<2>(correction, features.data());
    case 3: return sum_of<3>(correction, features.data());
    case 4: return sum_of<4>(correction, features.data());
    case 5: return sum_of<5>(correction, features.data());
    case 6: return sum_of<6>(correction, features.data());
    case 7: return sum_of<7>(correction, features.data());
    default: return sum_of<most_depth>(correction, features.data());
  }
}

double distance_outside(const Correction& correction, std::span<const float> features) {
  float most = 0;
  for (std::size_t i = 0; i < correction.low.size(); ++i)
    most = std::max({most, correction.low[i] - features[i], features[i] - correction.high[i]});
  return most;
}

double faded(double sum, double distance) { return distance <= 0 ? sum : sum * std::exp(-distance * distance / 4); }

Correction read_correction(JsonObject object, std::span<const char* const> names) {
  Correction out;
  std::vector<std::string> features;
  std::vector<double> low, high;
  std::vector<std::vector<double>> ask;
  std::vector<std::int64_t> values;
  object.read("depth", out.depth, IntegerRange{1, most_depth});
  object.read("features", features);
  object.read("low", low, NumberRange{-1e3, 1e3});
  object.read("high", high, NumberRange{-1e3, 1e3});
  object.read_rows("ask", ask, 2, NumberRange{-1e3, 1e3});
  object.read("value_e4", values, IntegerRange{-100'000, 100'000});
  if (object.failed()) return {};
  const std::vector<std::string> known(names.begin(), names.end());
  object.require(features == known, "features", fmt::format("[{}]", fmt::join(features, ", ")),
                 fmt::format("this version knows [{}]: fit the profile again", fmt::join(known, ", ")));
  object.require(low.size() == known.size() && high.size() == known.size(), "low", "not one bound per feature");
  const auto depth = static_cast<std::size_t>(out.depth);
  object.require(ask.size() % depth == 0 && ask.size() / depth <= most_tables, "ask",
                 fmt::format("{} questions", ask.size()), fmt::format("a multiple of depth {}", out.depth));
  object.require(values.size() == (ask.size() / depth) << depth, "value_e4", fmt::format("{} values", values.size()),
                 "2^depth for every table");
  for (const auto& row : ask) {
    const bool whole = row[0] >= 0 && row[0] < static_cast<double>(known.size()) && row[0] == std::floor(row[0]);
    object.require(whole, "ask", fmt::format("feature {}", row[0]), fmt::format("0 to {}", known.size() - 1));
  }
  if (object.failed()) return {};
  for (const auto& row : ask) {
    out.feature.push_back(static_cast<std::uint8_t>(row[0]));
    out.threshold.push_back(static_cast<float>(row[1]));
  }
  for (const std::int64_t value : values) out.value.push_back(static_cast<float>(static_cast<double>(value) * value_unit));
  out.low = floats(low);
  out.high = floats(high);
  return out;
}

std::string write_correction(const Correction& c, std::span<const char* const> names) {
  std::string ask, values, quoted;
  for (std::size_t i = 0; i < c.feature.size(); ++i)
    ask += fmt::format("{}[{},{:.6g}]", i ? "," : "", c.feature[i], c.threshold[i]);
  for (std::size_t i = 0; i < c.value.size(); ++i)
    values += fmt::format("{}{}", i ? "," : "", std::lround(c.value[i] / value_unit));
  for (std::size_t i = 0; i < names.size(); ++i) quoted += fmt::format("{}\"{}\"", i ? "," : "", names[i]);
  return fmt::format(R"({{"depth":{},"features":[{}],"low":[{:.6g}],"high":[{:.6g}],"ask":[{}],"value_e4":[{}]}})", c.depth,
                     quoted, fmt::join(c.low, ","), fmt::join(c.high, ","), ask, values);
}

}  // namespace stepcast
