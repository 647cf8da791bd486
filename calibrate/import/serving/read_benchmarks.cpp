#include "calibrate/import/serving/read_benchmarks.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calibrate/import/serving/benchmark_csv.h"
#include "calibrate/import/serving/benchmark_json.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

using Json = nlohmann::json;

constexpr const char* known_tools =
    "JSON of vllm bench serve, sglang.bench_serving, trtllm-bench --report_json, GenAI-Perf or AIPerf, or their CSV";

bool is_blank(std::string_view line) { return stripped(line).empty(); }

/// Every figure above 0, and some of them there.
Expected<BenchmarkOutput> checked(BenchmarkOutput output, const std::string& where) {
  if (output.measured.empty()) return fail(where, "no figure of the load in it", known_tools);
  for (const auto& [name, value] : output.measured)
    if (!(value > 0)) return fail(where, fmt::format("{} is {}", name, value), "figures above 0");
  return output;
}

Expected<void> take(const Json& object, const std::string& where, std::vector<BenchmarkOutput>& out) {
  TRY(auto read, benchmark_of_json(object, where));
  TRY(auto good, checked(std::move(read), where));
  out.push_back(std::move(good));
  return {};
}

/// One object, a list of them, or one in each line.
Expected<std::vector<BenchmarkOutput>> read_json(const std::string& text, const std::string& where) {
  std::vector<BenchmarkOutput> out;
  const Json whole = Json::parse(text, nullptr, false);
  if (!whole.is_discarded()) {
    if (!whole.is_array()) {
      TRY(take(whole, where, out));
      return out;
    }
    for (std::size_t i = 0; i < whole.size(); ++i) TRY(take(whole[i], fmt::format("{}:/{}", where, i), out));
    if (out.empty()) return fail(where, "an empty list", known_tools);
    return out;
  }
  std::size_t line = 1;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string row = text.substr(begin, end - begin);
    begin = end + 1;
    if (is_blank(row)) continue;
    const Json parsed = Json::parse(row, nullptr, false);
    if (parsed.is_discarded())
      return fail(fmt::format("{}:{}", where, line), "no JSON, or cut off", "a whole file, or one object in each line");
    TRY(take(parsed, fmt::format("{}:{}", where, line), out));
  }
  return out;
}

}  // namespace

Expected<std::vector<BenchmarkOutput>> read_benchmark_output(const std::string& text, const std::string& where) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string::npos) return fail(where, "an empty file", known_tools);
  if (text[first] == '{' || text[first] == '[') return read_json(text, where);
  if (text.compare(first, 7, "Metric,") != 0 && text.compare(first, 9, "\"Metric\",") != 0)
    return fail(where, "output of no benchmark that is known", known_tools);
  TRY(auto read, benchmark_of_csv(text, where));
  TRY(auto good, checked(std::move(read), where));
  return std::vector{std::move(good)};
}

}  // namespace stepcast::calibrate
