#include "model/profile/correction.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/large_value.h"

namespace stepcast {

LARGE_VALUE_MEMBERS(Correction)
namespace {

constexpr double value_unit = 1e-4;
constexpr int most_depth = 8;
constexpr std::size_t most_tables = 1024;
constexpr std::int64_t most_value = 100'000;

template <int Depth> double sum_of(const Correction& c, const float* x) {
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

/// Numbers between blanks. A correction holds thousands: as one text they are read ten times faster than as a list.
template <typename Number> bool read_numbers(std::string_view text, std::vector<Number>& out) {
  for (const char *at = text.data(), *end = at + text.size(); at != end;) {
    if (*at == ' ') {
      ++at;
      continue;
    }
    Number value{};
    const auto [stop, problem] = std::from_chars(at, end, value);
    if (problem != std::errc{} || (stop != end && *stop != ' ')) return false;
    out.push_back(value);
    at = stop;
  }
  return true;
}

template <typename Number> std::vector<Number> numbers(JsonObject& object, const std::string& key, const char* what) {
  std::string text;
  std::vector<Number> out;
  object.read(key, text);
  if (!object.failed())
    object.require(read_numbers(text, out), key, "not all of it are " + std::string(what), "numbers between blanks");
  return out;
}

bool finite(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float v) { return std::isfinite(v) && std::abs(v) < 1e4F; });
}

}  // namespace

double sum_at(const Correction& correction, std::span<const float> features) {
  if (correction.empty()) return 0;
  assert(features.size() >= correction.low.size());
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
  object.read("depth", out.depth, IntegerRange{1, most_depth});
  object.read("features", features);
  out.low = numbers<float>(object, "low", "numbers");
  out.high = numbers<float>(object, "high", "numbers");
  const auto asked = numbers<std::int64_t>(object, "ask", "feature numbers");
  out.threshold = numbers<float>(object, "above", "numbers");
  const auto values = numbers<std::int64_t>(object, "value_e4", "whole numbers");
  if (object.failed()) return {};
  std::vector<std::string> known(names.begin(), names.end());
  known.resize(std::clamp<std::size_t>(features.size(), 1, known.size()));
  object.require(features == known, "features", fmt::format("[{}]", fmt::join(features, ", ")),
      fmt::format("this version knows [{}]: fit the profile again", fmt::join(names, ", ")));
  object.require(out.low.size() == known.size() && out.high.size() == known.size(), "low", "not one bound per feature",
      "low and high have as many numbers as features");
  const auto depth = static_cast<std::size_t>(out.depth);
  object.require(asked.size() % depth == 0 && asked.size() / depth <= most_tables, "ask",
      fmt::format("{} questions", asked.size()), fmt::format("a multiple of depth {}", out.depth));
  object.require(out.threshold.size() == asked.size(), "above", fmt::format("{} thresholds", out.threshold.size()),
      fmt::format("one for each of the {} questions", asked.size()));
  object.require(values.size() == (asked.size() / depth) << depth, "value_e4", fmt::format("{} values", values.size()),
      "2^depth for every table");
  object.require(
      finite(out.low) && finite(out.high) && finite(out.threshold), "above", "a number out of range", "finite numbers");
  // Thousands of figures: a message is made only for one that is wrong.
  for (const std::int64_t feature : asked) {
    if (feature < 0 || feature >= static_cast<std::int64_t>(known.size()))
      object.require(false, "ask", fmt::format("feature {}", feature), fmt::format("0 to {}", known.size() - 1));
    out.feature.push_back(static_cast<std::uint8_t>(feature));
  }
  for (const std::int64_t value : values) {
    if (std::abs(value) > most_value)
      object.require(false, "value_e4", fmt::format("{}", value), fmt::format("-{0} to {0}", most_value));
    out.value.push_back(static_cast<float>(static_cast<double>(value) * value_unit));
  }
  return object.failed() ? Correction{} : out;
}

std::string write_correction(const Correction& c, std::span<const char* const> names) {
  std::string quoted;
  std::vector<long> values;
  for (std::size_t i = 0; i < c.low.size(); ++i) quoted += fmt::format("{}\"{}\"", i ? "," : "", names[i]);
  for (const float value : c.value) values.push_back(std::lround(value / value_unit));
  return fmt::format(
      R"({{"depth":{},"features":[{}],"low":"{:.5g}","high":"{:.5g}","ask":"{}","above":"{:.5g}","value_e4":"{}"}})",
      c.depth, quoted, fmt::join(c.low, " "), fmt::join(c.high, " "), fmt::join(c.feature, " "),
      fmt::join(c.threshold, " "), fmt::join(values, " "));
}

}  // namespace stepcast
