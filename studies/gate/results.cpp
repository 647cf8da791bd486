#include "studies/gate/results.h"

#include <glob.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <regex>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calibrate/import/logs/steady_step.h"
#include "model/base/json_reader.h"
#include "model/base/percentile.h"
#include "model/base/text.h"
#include "model/base/whole_number.h"

namespace stepcast::gate {
namespace {

namespace fs = std::filesystem;

/// std::regex recurses for each letter: longer lines could end the program.
constexpr std::size_t longest_line = 4096;
/// Every pair of two sets of runs is looked at.
constexpr std::size_t most_results = 1000;

Expected<double> number_of(const std::string& text, const std::string& where) {
  const auto number = parsed_number<double>(text);
  if (!number || !std::isfinite(*number) || !(*number > 0))
    return fail(where, fmt::format("'{:.60}' is no number above zero", text), "a time or a rate");
  return *number;
}

Expected<std::vector<double>> json_results(const ResultPlace& place, const std::string& name) {
  using Json = nlohmann::json;
  TRY(const auto text, read_text_file(name));
  const Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) return fail(name, "it is no JSON", "one document for each run");
  const std::string where = name + ":" + place.field;
  if (place.field.empty() || place.field[0] != '/')
    return fail("field", fmt::format("'{:.60}' is no JSON pointer", place.field), "\"/metrics/step_time_s\"");
  Json::json_pointer pointer;
  try {
    pointer = Json::json_pointer(place.field);
    if (!document.contains(pointer)) return fail(where, "the file has no such field", "another \"field\"");
  } catch (const Json::exception&) {
    return fail("field", fmt::format("'{:.60}' is no JSON pointer", place.field), "\"/metrics/step_time_s\"");
  }
  const Json& found = document.at(pointer);
  if (found.is_string()) {
    TRY(const auto value, number_of(found.get<std::string>(), where));
    return std::vector{value};
  }
  TRY(const auto value, number_of(found.is_number() ? found.dump() : found.type_name(), where));
  return std::vector{value};
}

Expected<double> taken(std::vector<double> values, ResultTake take, const std::string& where) {
  switch (take) {
    case ResultTake::first: return values.front();
    case ResultTake::last: return values.back();
    case ResultTake::least: return *std::min_element(values.begin(), values.end());
    case ResultTake::median: return percentile(values, 0.5);
    default: break;
  }
  if (values.size() == 1) return values.front();
  return fail(where, fmt::format("the pattern is found {} times", values.size()),
      "\"take\": first, last, least or median of them, or each as a run of its own");
}

Expected<std::regex> expression_of(const std::string& pattern) {
  try {
    std::regex expression(pattern, std::regex::ECMAScript);
    if (expression.mark_count() != 1)
      return fail("pattern", fmt::format("'{:.60}' has {} groups", pattern, expression.mark_count()),
          "one group around the number, others as (?:...): \"step time: ([0-9.]+) ms\"");
    return expression;
  } catch (const std::regex_error& error) {
    return fail("pattern", fmt::format("'{:.60}' is no regular expression: {}", pattern, error.what()),
        "ECMAScript's, with one group: \"step time: ([0-9.]+) ms\"");
  }
}

Expected<std::vector<double>> text_results(
    const ResultPlace& place, const std::regex& expression, const std::string& name, std::vector<std::string>& notes) {
  TRY(const auto text, read_text_file(name));
  std::vector<double> values;
  std::size_t number = 0, too_long = 0;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    ++number;
    if (end - at > longest_line && ++too_long > 0) continue;
    const std::string line = text.substr(at, end - at);
    for (std::sregex_iterator match(line.begin(), line.end(), expression), none; match != none; ++match) {
      TRY(const auto value, number_of((*match)[1].str(), fmt::format("{}:{}", name, number)));
      values.push_back(value);
    }
  }
  if (too_long > 0)
    notes.push_back(
        fmt::format("{}: {} lines of more than {} letters were not searched", name, too_long, longest_line));
  if (values.empty())
    return fail(name, fmt::format("none of {} lines matches '{:.60}'", number, place.pattern),
        "the run failed, or another \"pattern\"");
  if (place.take == ResultTake::each) return values;
  TRY(const auto value, taken(std::move(values), place.take, name));
  return std::vector{value};
}

Expected<std::vector<double>> log_results(
    const std::string& name, const StepWork& work, std::vector<std::string>& notes) {
  TRY(const auto text, read_text_file(name));
  TRY(auto log, read_training_log(text, name));
  TRY(time_steps(log, work.gpus > 0 ? work.tokens / work.gpus : 0, work.samples));
  TRY(const auto step, steady_step(log));
  notes.push_back(fmt::format("{}: {}", name, step.note));
  return std::vector{step.median.value()};
}

double seconds_of(double value, const ResultUnit& unit) {
  return unit.rate ? 1 / (value * unit.factor) : value * unit.factor;
}

/// "run10.log" behind "run9.log".
bool before_in_number(const std::string& a, const std::string& b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    const auto end_of = [&](const std::string& text, std::size_t at) {
      while (at < text.size() && digit(text[at])) ++at;
      return at;
    };
    while (i + 1 < a.size() && a[i] == '0' && digit(a[i + 1])) ++i;
    while (j + 1 < b.size() && b[j] == '0' && digit(b[j + 1])) ++j;
    const std::string x = a.substr(i, end_of(a, i) - i), y = b.substr(j, end_of(b, j) - j);
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
    i += x.size(), j += y.size();
  }
  return a.size() - i < b.size() - j || (a.size() - i == b.size() - j && a < b);
}

}  // namespace

std::vector<std::string> matching_files(const std::string& folder, const std::string& pattern) {
  const std::string all = (fs::path(folder) / pattern).string();
  glob_t found{};
  std::vector<std::string> names;
  if (glob(all.c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) names.emplace_back(found.gl_pathv[i]);
  globfree(&found);
  std::sort(names.begin(), names.end(), before_in_number);
  return names;
}

Expected<FoundResults> find_results(
    const ResultPlace& place, const std::string& folder, const std::string& own, const StepWork& work) {
  FoundResults found;
  if (place.from == ResultSource::numbers) {
    if (place.values.size() > most_results)
      return fail("values", fmt::format("{} results of one case", place.values.size()),
          fmt::format("at most {}", most_results));
    for (const double value : place.values) found.seconds.push_back(seconds_of(value, *place.unit));
    found.files.resize(found.seconds.size());
    return found;
  }
  std::regex expression;
  if (place.from == ResultSource::text) {
    TRY(expression, expression_of(place.pattern));
  }
  const auto names = place.files.empty() ? matching_files(own, "*.out") : matching_files(folder, place.files);
  if (names.empty() && !place.files.empty() && place.files.find_first_of("*?[") == std::string::npos)
    return fail(
        (fs::path(folder) / place.files).string(), "is not there", "a file of results, or a pattern such as *.log");
  for (const std::string& name : names) {
    const auto values = place.from == ResultSource::json  ? json_results(place, name)
                        : place.from == ResultSource::log ? log_results(name, work, found.notes)
                                                          : text_results(place, expression, name, found.notes);
    if (!values) return tl::unexpected(values.error());
    if (found.seconds.size() + values->size() > most_results)
      return fail(name, fmt::format("more than {} results of one case", most_results),
          "fewer files, or one number of each: \"take\": \"median\"");
    for (const double value : *values) {
      found.seconds.push_back(seconds_of(value, *place.unit));
      found.files.push_back(name);
    }
  }
  return found;
}

}  // namespace stepcast::gate
