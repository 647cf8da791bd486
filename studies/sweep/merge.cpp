// stepcast merge: the results of a sweep's shards as one, the same as if one process had done all of it.
#include <filesystem>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "model/base/json_writer.h"
#include "studies/print/paint.h"
#include "studies/sweep/sweep_flags.h"
#include "studies/sweep/write/report.h"
#include "studies/sweep/write/words.h"
#include "studies/sweep/write/exports.h"
#include "studies/sweep/result/result_file.h"

namespace stepcast::sweep {
namespace {

Expected<std::vector<NamedResult>> read_shards(const std::vector<std::string>& names) {
  std::vector<NamedResult> parts;
  for (const std::string& name : names) {
    TRY(auto result, read_result_file(name));
    parts.push_back({name, std::move(result)});
  }
  return parts;
}

std::string merge_text(const SweepResult& result, std::size_t shards, const Paint& paint) {
  const SweepQuestion& q = result.question;
  std::string text = paint.bold(fmt::format("{} on {}", q.network, q.machine));
  text += fmt::format(": {} from {} {}\n", count_of_configurations(q.size()), shards, shards == 1 ? "file" : "files");
  text += dismissed_text(result, 0);
  if (result.top.empty()) return text + fmt::format("\n{}\n", paint.bold(nothing_words(result)));
  return text + plain_rows_text(result, paint) + front_text(result, paint);
}

std::string merge_json(const SweepResult& result, const std::vector<std::string>& files) {
  JsonWriter json;
  json.open();
  json.fields("network", result.question.network, "machine", result.question.machine, "files", files);
  json.fields("space_hash", result.question.hash(), "objective", result.question.objective);
  json.field("enumerated", result.tally.enumerated);
  json.map("illegal", result.tally.illegal);
  json.fields("does_not_fit", result.tally.does_not_fit, "excluded", result.tally.excluded);
  const auto write = [&](const SweepRow& row) { write_row_figures(json, result.question, row); };
  json.list("top", result.top, write);
  json.list("pareto", result.pareto, write);
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
    TRY(not_an_input(output, arguments.words));
    TRY(auto opened, ExportFile::open(arguments, output, "--output"));
    file.emplace(std::move(opened));
  }
  TRY(auto parts, read_shards(arguments.words));
  TRY(const auto result, merge_results(std::move(parts)));
  const auto written = file ? file->write(result) : Expected<void>{};
  console.out << (arguments.has("--json") ? merge_json(result, arguments.words)
                                          : merge_text(result, arguments.words.size(), Paint(console)));
  if (!written) throw std::runtime_error(to_text(written.error()));  // what was found has been told
  if (file && !arguments.has("--json")) console.out << fmt::format("\nWritten: {}\n", output);
  return {};
}

}  // namespace stepcast::sweep
