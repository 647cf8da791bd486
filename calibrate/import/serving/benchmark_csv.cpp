#include "calibrate/import/serving/benchmark_csv.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "model/base/text.h"
#include "model/base/whole_number.h"

namespace stepcast::calibrate {
namespace {

using Cells = std::vector<std::string>;

/// Commas, and cells in double quotes that hold some ("1,234.5").
Cells cells_of(std::string_view line) {
  Cells cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    else if (c == ',' && !quoted) cells.emplace_back();
    else if (c != '\r') cells.back() += c;
  }
  for (std::string& cell : cells) cell = std::string(stripped(cell));
  return cells;
}

/// A row by how its name begins, in lower case, and what its mean is called.
struct CsvFigure {
  std::string_view begins;
  const char* name;
};
constexpr std::array csv_figures = {CsvFigure{"time to first token (ms)", "ttft_ms"},
    CsvFigure{"inter token latency (ms)", "tpot_ms"}, CsvFigure{"request latency (ms)", "e2e_ms"},
    CsvFigure{"output token throughput (tokens/sec)", "output_tokens_per_s"},
    CsvFigure{"request throughput (", "requests_per_s"}};

std::optional<double> number_of(std::string cell) {
  std::erase(cell, ',');
  const auto value = parsed_number<double>(cell);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

class CsvReader {
 public:
  explicit CsvReader(const std::string& where) : where_(where) {}
  BenchmarkOutput out;

  Expected<void> take(const Cells& cells, std::size_t line) {
    if (cells.size() < 2) return fail(place(line), "a line of one cell", "a name and its figures");
    if (lower_case(cells[0]) == "metric") {
      header_ = cells;
      return {};
    }
    if (header_.empty()) return fail(place(line), "figures without a line of names", "Metric,avg,min,max,...");
    if (cells.size() < header_.size())
      return fail(place(line), fmt::format("{} cells, and the line of names has {}", cells.size(), header_.size()),
          "the whole file: it may be cut off");
    const std::string name = lower_case(cells[0]);
    TRY(const auto mean, mean_of(cells, line));
    if (!mean) return {};
    if (name.starts_with("input sequence length")) out.input = mean;
    if (name.starts_with("output sequence length")) out.output = mean;
    if (name.starts_with("request count")) out.requests = static_cast<std::int64_t>(std::llround(*mean));
    if (name.starts_with("error request count") && *mean > 0)
      return fail(place(line), fmt::format("{} requests failed", *mean), "a run in which none failed");
    for (const CsvFigure& row : csv_figures)
      if (name.starts_with(row.begins)) return figure(row.name, *mean, cells, line);
    return {};
  }

 private:
  [[nodiscard]] std::string place(std::size_t line) const { return fmt::format("{}:{}", where_, line); }
  [[nodiscard]] std::size_t column(std::string_view name) const {
    for (std::size_t i = 1; i < header_.size(); ++i)
      if (lower_case(header_[i]) == name) return i;
    return 0;
  }
  Expected<std::optional<double>> cell(const Cells& cells, std::size_t at, std::size_t line) const {
    if (at == 0 || cells[at].empty() || lower_case(cells[at]) == "n/a") return std::nullopt;
    const auto value = number_of(cells[at]);
    if (!value)
      return fail(place(line), fmt::format("'{:.40}' under {} is no number", cells[at], header_[at]), "a number");
    return value;
  }
  Expected<std::optional<double>> mean_of(const Cells& cells, std::size_t line) const {
    const std::size_t mean = column("avg");
    return cell(cells, mean > 0 ? mean : column("value"), line);
  }
  Expected<void> figure(const std::string& name, double mean, const Cells& cells, std::size_t line) {
    out.measured[name] = mean;
    const std::string front = name.substr(0, name.rfind("_ms"));
    if (front == name) return {};
    for (const char* rank : {"p50", "p90", "p99"}) {
      TRY(const auto value, cell(cells, column(rank), line));
      if (value) out.measured[fmt::format("{}_{}_ms", front, rank)] = *value;
    }
    return {};
  }

  std::string where_;
  Cells header_;
};

}  // namespace

Expected<BenchmarkOutput> benchmark_of_csv(const std::string& text, const std::string& where) {
  CsvReader reader(where);
  // AIPerf has more percentiles than GenAI-Perf, and the same names.
  reader.out.tool = text.find(",p1,") != text.npos || text.find(",std") != text.npos ? "aiperf" : "genai-perf";
  std::size_t line = 1;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view row = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (!stripped(row).empty()) TRY(reader.take(cells_of(row), line));
  }
  reader.out.notes.emplace_back("its table tells neither the model nor how many requests came at once");
  return std::move(reader.out);
}

}  // namespace stepcast::calibrate
