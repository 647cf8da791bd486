// stepcast validate: measured runs against their forecasts.
#include <optional>

#include "model/json_reader.h"
#include "studies/commands.h"
#include "studies/output_file.h"
#include "studies/validation/embedded_runs.h"
#include "studies/validation/html_page.h"
#include "studies/validation/report.h"

namespace stepcast {
namespace {

Expected<std::vector<Run>> runs_of(const Arguments& arguments) {
  if (arguments.words.empty()) {
    std::vector<Run> runs;
    for (const EmbeddedFile& file : embedded_runs()) {
      auto read = read_runs(std::string(file.text), std::string(file.name));
      if (!read) return read;
      runs.insert(runs.end(), read->begin(), read->end());
    }
    return runs;
  }
  const auto text = read_text_file(arguments.words.front());
  if (!text) return tl::unexpected(text.error());
  auto runs = read_runs(*text, arguments.words.front());
  if (runs && runs->empty()) return fail(arguments.words.front(), "holds no runs", "a list of at least one record");
  return runs;
}

/// Before the forecasts, so that a place that cannot be written costs nothing.
Expected<std::optional<OutputFile>> open_page(const Arguments& arguments) {
  if (!arguments.has("--html")) return std::nullopt;
  auto file = OutputFile::open(arguments.value("--html"), "--html");
  if (!file) return tl::unexpected(file.error());
  return std::optional<OutputFile>(std::move(*file));
}

}  // namespace

Expected<void> validate_command(const Arguments& arguments, Console& console) {
  if (arguments.has("--fit"))
    for (const char* other : {"--json", "--cases", "--unfitted", "--html"})
      if (arguments.has(other)) return fail(other, "does not go with --fit", "leave one of them out");
  const auto runs = runs_of(arguments);
  if (!runs) return tl::unexpected(runs.error());
  if (arguments.has("--fit")) {
    console.out << factors_text(fit_factors(*runs));
    return {};
  }
  auto page = open_page(arguments);
  if (!page) return tl::unexpected(page.error());
  const Validation validation = validate_runs(*runs, arguments.has("--unfitted") ? std::optional(1.0) : std::nullopt);
  if (*page)
    if (auto written = (*page)->write(validation_html(validation, {}, *runs)); !written) return written;
  console.out << (arguments.has("--json") ? validation_json(validation) : validation_text(validation, arguments.has("--cases")));
  return {};
}

}  // namespace stepcast
