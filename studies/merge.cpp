// stepcast merge: the results of a sweep's shards as one, the same as if one process had done all of it.
#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/json_writer.h"
#include "studies/commands.h"
#include "studies/report/paint.h"
#include "studies/report/table.h"
#include "studies/report/text.h"
#include "studies/sweep/exports.h"
#include "studies/sweep/result_file.h"

namespace stepcast {
namespace {

std::string count_text(std::uint64_t n) { return grouped_digits(static_cast<double>(n)); }

Expected<std::vector<NamedResult>> read_shards(const std::vector<std::string>& names) {
  std::vector<NamedResult> parts;
  for (const std::string& name : names) {
    auto result = read_result_file(name);
    if (!result) return tl::unexpected(result.error());
    parts.push_back({name, std::move(*result)});
  }
  return parts;
}

/// "12 illegal (tp does not divide the heads 12), 30 do not fit, 5 excluded by 'tp <= 8'".
std::string tally_text(const SweepResult& result) {
  const SweepTally& tally = result.tally;
  std::string reasons;
  for (const auto& [reason, n] : tally.illegal) reasons += fmt::format("{}{} {}", reasons.empty() ? "" : "; ", reason, count_text(n));
  std::string text = fmt::format("{} illegal{}, {} {} not fit", count_text(tally.illegal_sum()),
                                 reasons.empty() ? "" : " (" + reasons + ")", count_text(tally.does_not_fit),
                                 tally.does_not_fit == 1 ? "does" : "do");
  if (!result.question.where.empty()) text += fmt::format(", {} excluded by '{}'", count_text(tally.excluded), result.question.where);
  return text;
}

/// The axes that vary, the objective and what one looks at beside it.
std::string best_rows(const SweepResult& result, std::size_t most) {
  const SweepQuestion& q = result.question;
  std::vector<Figure> figures = {find_figure(q.objective, "").value()};
  for (const Figure figure : {Figure::step_time, Figure::tokens_per_s_per_gpu, Figure::mfu, Figure::memory_peak})
    if (figure != figures.front()) figures.push_back(figure);
  std::vector<Table::Column> columns = {{"", Align::right}};
  for (const SweepAxis& axis : q.axes)
    if (axis.values.size() > 1) columns.push_back({axis.key, Align::right});
  for (const Figure figure : figures) columns.push_back({std::string(row_of(figure).name), Align::right});
  Table table(columns);
  for (std::size_t i = 0; i < std::min(most, result.top.size()); ++i) {
    const SweepRow& row = result.top[i];
    std::vector<std::string> cells = {fmt::format("{}", i + 1)};
    for (std::size_t axis = 0; axis < q.axes.size(); ++axis)
      if (q.axes[axis].values.size() > 1) cells.push_back(row.choices[axis]);
    for (const Figure figure : figures) cells.push_back(figure_text(figure, row.figures[static_cast<std::size_t>(figure)]));
    table.add(cells);
  }
  return table.text("  ");
}

std::string merge_text(const SweepResult& result, std::size_t shards, const Paint& paint) {
  constexpr std::size_t most = 20;
  const SweepQuestion& q = result.question;
  std::string text = paint.bold(fmt::format("{} on {}", q.network, q.machine));
  text += fmt::format(": {} configurations from {} {}\n", count_text(q.size()), shards, shards == 1 ? "file" : "files");
  text += paragraph(tally_text(result), "  ", "  ", page_columns) + "\n";
  if (result.top.empty()) return text + "No configuration is left.\n";
  text += fmt::format("Best by {}\n{}", q.objective, best_rows(result, most));
  if (result.top.size() > most) text += fmt::format("  and {} more\n", result.top.size() - most);
  if (!result.pareto.empty())
    text += fmt::format("\nPareto front of {}: {} configurations\n", fmt::join(q.pareto, ", "), count_text(result.pareto.size()));
  return text;
}

void add_json_rows(JsonWriter& json, std::string_view key, const std::vector<SweepRow>& rows, const SweepQuestion& question) {
  json.open_list(key);
  for (const SweepRow& row : rows) {
    json.open();
    json.field("index", row.index);
    json.open("choices");
    for (std::size_t i = 0; i < question.axes.size(); ++i) json.field(question.axes[i].key, row.choices[i]);
    json.close();
    json.open("figures");
    for (const FigureRow& figure : figure_rows()) json.field(figure.key, row.figures[static_cast<std::size_t>(figure.figure)]);
    json.close();
    json.close();
  }
  json.close();
}

std::string merge_json(const SweepResult& result, const std::vector<std::string>& files) {
  JsonWriter json;
  json.open();
  json.field("network", result.question.network);
  json.field("machine", result.question.machine);
  json.field("files", files);
  json.field("hash", result.question.hash());
  json.field("objective", result.question.objective);
  json.field("enumerated", result.tally.enumerated);
  json.open("illegal");
  for (const auto& [reason, n] : result.tally.illegal) json.field(reason, n);
  json.close();
  json.field("does_not_fit", result.tally.does_not_fit);
  json.field("excluded", result.tally.excluded);
  add_json_rows(json, "top", result.top, result.question);
  add_json_rows(json, "pareto", result.pareto, result.question);
  json.close();
  return json.text();
}

/// The result would be read and written at once; a shard's file is finished and so might be replaced.
Expected<void> not_an_input(const std::string& output, const std::vector<std::string>& inputs) {
  std::error_code unknown;
  for (const std::string& input : inputs)
    if (std::filesystem::equivalent(input, output, unknown))
      return fail("--output", fmt::format("{} is also one of the files to merge", output), "a name of its own");
  return {};
}

}  // namespace

Expected<void> merge_command(const Arguments& arguments, Console& console) {
  const std::string output = arguments.value("--output");
  std::optional<ExportFile> file;
  if (!output.empty()) {
    if (const auto apart = not_an_input(output, arguments.words); !apart) return apart;
    auto opened = ExportFile::open(output, "--output");
    if (!opened) return tl::unexpected(opened.error());
    file.emplace(std::move(*opened));
  }
  auto parts = read_shards(arguments.words);
  if (!parts) return tl::unexpected(parts.error());
  const auto result = merge_results(std::move(*parts));
  if (!result) return tl::unexpected(result.error());
  if (file)
    if (const auto written = file->write(*result); !written) return written;
  console.out << (arguments.has("--json") ? merge_json(*result, arguments.words)
                                          : merge_text(*result, arguments.words.size(), Paint(console)));
  if (file && !arguments.has("--json")) console.out << fmt::format("\nWritten: {}\n", output);
  return {};
}

}  // namespace stepcast
