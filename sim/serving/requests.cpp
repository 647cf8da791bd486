#include "sim/serving/requests.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <span>

#include <fmt/format.h>

#include "model/base/comma_list.h"
#include "model/base/whole_number.h"

namespace stepcast::sim {
namespace {

/// In (0, 1), of the upper 53 bits.
double unit(std::mt19937_64& random) { return (static_cast<double>(random() >> 11U) + 0.5) * 0x1p-53; }

std::int64_t whole(std::mt19937_64& random, const Lengths& lengths) {
  const auto span = static_cast<double>(lengths.high - lengths.low + 1);
  return lengths.low + static_cast<std::int64_t>(span * unit(random));
}

double exponential(std::mt19937_64& random) { return -std::log(unit(random)); }

/// Box and Muller's.
double normal(std::mt19937_64& random) {
  constexpr double turn = 2 * 3.14159265358979323846;
  const double radius = std::sqrt(2 * exponential(random));
  return radius * std::cos(turn * unit(random));
}

/// With a mean of `shape` (Marsaglia and Tsang 2000, doi 10.1145/358407.358414, and their step for shapes below 1).
double gamma(std::mt19937_64& random, double shape) {
  if (shape == 1) return exponential(random);
  if (shape < 1) {
    const double larger = gamma(random, shape + 1);
    return larger * std::pow(unit(random), 1 / shape);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal(random), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(unit(random)) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

struct Column {
  const char* name;
  bool needed;
  double least;
};
constexpr Column columns[] = {{"arrival_s", true, 0}, {"prompt", true, 1}, {"output", true, 1}, {"cached", false, 0}};
constexpr std::size_t column_count = std::size(columns), arrival_column = 0, cached_column = 3;
constexpr const char* columns_hint = "arrival_s,prompt,output and perhaps cached";
constexpr double longest = 1e9;  // of positions, and of seconds

Expected<std::vector<std::size_t>> read_header(const std::vector<std::string>& cells, const std::string& where) {
  std::vector<std::size_t> which;
  for (std::size_t at = 0; at < cells.size(); ++at) {
    const auto found = std::ranges::find_if(columns, [&](const Column& column) { return cells[at] == column.name; });
    const std::string place = fmt::format("{}:1:{}", where, at + 1);
    if (found == std::end(columns)) return fail(place, fmt::format("unknown column '{:.40}'", cells[at]), columns_hint);
    const auto index = static_cast<std::size_t>(found - std::begin(columns));
    if (std::ranges::count(which, index) > 0)
      return fail(place, fmt::format("a second column '{}'", found->name), "each once");
    which.push_back(index);
  }
  for (std::size_t index = 0; index < column_count; ++index)
    if (columns[index].needed && std::ranges::count(which, index) == 0)
      return fail(where + ":1", fmt::format("no column '{}'", columns[index].name), columns_hint);
  return which;
}

Expected<double> read_cell(const std::string& text, const Column& column, const std::string& place) {
  const auto number = parsed_number<double>(text);
  const bool whole_needed = column.name != std::string_view("arrival_s");
  if (!number || !std::isfinite(*number) || *number < column.least || *number > longest ||
      (whole_needed && std::floor(*number) != *number))
    return fail(place, fmt::format("{} is '{:.40}'", column.name, text),
        fmt::format("a {} from {} to 1e9", whole_needed ? "whole number" : "number", column.least));
  return *number;
}

}  // namespace

Lengths lengths_of(std::int64_t nominal, double share) {
  const auto low = static_cast<std::int64_t>(std::llround(static_cast<double>(nominal) * share));
  return {std::clamp<std::int64_t>(low, 1, nominal), nominal};
}

std::vector<ServingRequest> requests_of(const RequestLaw& law) {
  std::mt19937_64 random(law.seed);
  std::vector<ServingRequest> requests(static_cast<std::size_t>(law.count));
  for (ServingRequest& request : requests) {
    request.prompt = whole(random, law.prompts);
    request.output = whole(random, law.outputs);
    request.cached = std::min(law.shared, request.prompt - 1);
  }
  return requests;
}

std::int64_t longest_cached(const std::vector<ServingRequest>& requests) {
  std::int64_t longest = 0;
  for (const ServingRequest& request : requests) longest = std::max(longest, request.cached);
  return longest;
}

void let_arrive(std::vector<ServingRequest>& requests, double per_second, double shape, std::uint64_t seed) {
  constexpr std::uint64_t other_stream = 0x9e3779b97f4a7c15;  // so that lengths and times do not share their numbers
  std::mt19937_64 random(seed ^ other_stream);
  Seconds now;
  for (ServingRequest& request : requests) {
    now += Seconds(gamma(random, shape) / (shape * per_second));
    request.arrival = now;
  }
}

Expected<std::vector<ServingRequest>> read_requests(const std::string& text, const std::string& where) {
  std::vector<ServingRequest> requests;
  std::vector<std::size_t> which;
  std::size_t line = 1;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const auto cells = comma_list(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    if (line == 1) {
      TRY(which, read_header(cells, where));
      continue;
    }
    if (cells.size() == 1 && cells[0].empty()) continue;
    const auto place = [&](std::size_t at) { return fmt::format("{}:{}:{}", where, line, at + 1); };
    const auto place_of = [&](std::size_t column) {
      return place(static_cast<std::size_t>(std::ranges::find(which, column) - which.begin()));
    };
    if (cells.size() < which.size())
      return fail(place(cells.size()),
          fmt::format("no {} in a row of {} cells", columns[which[cells.size()]].name, cells.size()),
          fmt::format("{} cells, as in the header", which.size()));
    if (cells.size() > which.size())
      return fail(place(which.size()), fmt::format("a cell '{:.40}' behind the last column", cells[which.size()]),
          fmt::format("{} cells, as in the header", which.size()));
    double values[column_count] = {};
    for (std::size_t at = 0; at < cells.size(); ++at) {
      TRY(values[which[at]], read_cell(cells[at], columns[which[at]], place(at)));
    }
    const ServingRequest request{Seconds(values[0]), static_cast<std::int64_t>(values[1]),
        static_cast<std::int64_t>(values[2]), static_cast<std::int64_t>(values[3])};
    if (request.cached >= request.prompt)
      return fail(place_of(cached_column),
          fmt::format("{} of {} positions of a prompt are cached", request.cached, request.prompt),
          "at least one is read anew");
    if (!requests.empty() && request.arrival < requests.back().arrival)
      return fail(place_of(arrival_column),
          fmt::format(
              "an arrival at {} s behind one at {} s", request.arrival.value(), requests.back().arrival.value()),
          "rows in the order of their arrivals");
    requests.push_back(request);
  }
  if (requests.empty()) return fail(where, "no requests", columns_hint);
  return requests;
}

}  // namespace stepcast::sim
