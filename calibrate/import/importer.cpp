#include "calibrate/import/importer.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "calibrate/rows/measurement_context.h"
#include "calibrate/rows/measurement_file.h"
#include "model/base/utf8.h"

namespace stepcast::calibrate {
namespace {

constexpr ImportFormat formats[] = {
    {"measurements", "stepcast's own measurement files", recognise_measurements, read_own_measurements},
    {"nccl-tests", "the text that nccl-tests prints, of any version", recognise_nccl_tests, read_nccl_tests},
    {"nccl-json", "the JSON that nccl-tests writes with -J", recognise_nccl_json, read_nccl_json},
    {"table", "tables with a header line: aiconfigurator, vidur, NeuSight and other exports, or any by --column",
        recognise_table, read_table},
    {"nvbench", "the JSON that nvbench writes with --json", recognise_nvbench, read_nvbench},
    {"google-benchmark", "the JSON of Google Benchmark", recognise_google_benchmark, read_google_benchmark},
    {"nsys", "kernel summaries of nsys stats, as CSV or JSON", recognise_nsys, read_nsys},
    {"kineto", "traces of PyTorch's profiler", recognise_kineto, read_kineto, stream_kineto},
};

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const ImportFormat& format : formats) names.emplace_back(format.id);
  return names;
}

Expected<const ImportFormat*> find_format(std::string_view text, const std::string& where, const std::string& name) {
  const ImportFormat* surest = nullptr;
  int most = 0;
  for (const ImportFormat& format : formats) {
    if (format.id == name) return &format;
    const int sure = name.empty() ? format.recognise(text, where) : 0;
    if (sure > most) most = sure, surest = &format;
  }
  if (surest) return surest;
  if (!name.empty())
    return fail("format", "unknown format '" + name.substr(0, 80) + "'", name_hint(name, format_names()));
  return fail(where, text.empty() ? "the file is empty" : "no importer knows this file",
      name_hint("", format_names()) + "; say it: --format");
}

/// Host names and kernels' names come from other programs; our files are UTF-8.
void make_utf8(std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = utf8_size(std::string_view(text).substr(at));
    if (size == 0) text[at] = '?';
    at += std::max<std::size_t>(size, 1);
  }
}

/// What holds for the measurements of every format: a source, and text as UTF-8.
Measurements completed(Measurements measurements, const std::string& where) {
  for (MeasurementContext& context : measurements.contexts) {
    if (context.source.empty()) context.source = where;
    for (const detail::ContextText& field : detail::context_texts()) make_utf8(context.*field.value);
  }
  for (std::string& note : measurements.notes) make_utf8(note);
  return measurements;
}

}  // namespace

std::span<const ImportFormat> import_formats() { return formats; }

Expected<Measurements> import_text(
    std::string_view text, const std::string& where, const std::string& format, const ImportOptions& options) {
  TRY(const auto found, find_format(text, where, format));
  TRY(auto measurements, found->read(text, where, options));
  return completed(std::move(measurements), where);
}

Expected<Measurements> import_file(const TimingsFile& file, const std::string& format, const ImportOptions& options) {
  if (file.whole()) return import_text(file.head(), file.path(), format, options);
  TRY(const auto found, find_format(file.head(), file.path(), format));
  if (found->stream == nullptr)
    return fail(file.path(), fmt::format("more than {} MiB of the format {}", file.head().size() >> 20, found->id),
        "a part of it; only traces of the format kineto may be longer");
  TRY(const auto stream, file.stream());
  TRY(auto measurements, found->stream(*stream, options));
  return completed(std::move(measurements), file.path());
}

int recognise_measurements(std::string_view text, const std::string&) {
  const auto first = text.find_first_not_of(" \t\r\n");
  const bool object = first != text.npos && text[first] == '{';
  return object && text.find("\"stepcast_measurements\"") != text.npos ? 100 : 0;
}

Expected<Measurements> read_own_measurements(
    std::string_view text, const std::string& where, const ImportOptions& options) {
  TRY(auto measurements, read_measurements(text, where));
  for (MeasurementContext& context : measurements.contexts) {
    TRY(context, merged_context(context, options.context, where));
  }
  return measurements;
}

}  // namespace stepcast::calibrate
