#include "studies/calibrate/scans/scans_report.h"

#include <fmt/format.h>

#include "model/base/json_writer.h"
#include "model/base/quantity_text.h"
#include "studies/print/table.h"

namespace stepcast::calibration {
namespace {

using calibrate::FittedConvolution, calibrate::FittedHyperConnection, calibrate::FittedScan;
using calibrate::ScanTimings;
using enum print::Align;

constexpr std::size_t scan_page_columns = 110;

std::string in_percent(double share) { return fmt::format("{:.1f}", 100 * share); }

/// The law's times, and what stands for each in ScanLaw.
struct ScanPart {
  std::string_view id;
  Seconds ScanLaw::*time;
};
constexpr ScanPart scan_parts[] = {{"t0", &ScanLaw::t0}, {"first_chunk", &ScanLaw::first_chunk},
    {"state", &ScanLaw::state}, {"chunk", &ScanLaw::chunk}, {"step", &ScanLaw::step},
    {"state_step", &ScanLaw::state_step}};

std::string scan_table(const std::vector<FittedScan>& fits) {
  print::Table table({{"GPU"}, {"scan"}, {"kernel"}, {"rows", right}, {"shapes", right}, {"law alone", right},
      {"held out", right}, {"median", right}, {"p95", right}, {"in 80%", right}, {"repeats", right}});
  for (const FittedScan& fit : fits)
    table.add({fit.gpu, fit.law.function, fit.law.software, fmt::to_string(fit.rows), fmt::to_string(fit.shapes),
        in_percent(fit.alone), in_percent(fit.held_out.mape), in_percent(fit.held_out.median),
        in_percent(fit.held_out.p95), fmt::format("{:.0f}", 100 * fit.held_out.coverage),
        fit.repeated > 0 ? in_percent(fit.repeats_apart) : ""});
  return table.text("") + "\n";
}

std::string hyper_connection_table(const std::vector<FittedHyperConnection>& fits) {
  print::Table table({{"GPU"}, {"part"}, {"software"}, {"rows", right}, {"shapes", right}, {"held out", right},
      {"median", right}, {"p95", right}, {"in 80%", right}});
  for (const FittedHyperConnection& fit : fits) {
    const HeldOut& held_out = fit.law.held_out;
    table.add({fit.gpu, to_text(fit.law.part), fit.law.software, fmt::to_string(fit.rows), fmt::to_string(fit.shapes),
        in_percent(held_out.mape), in_percent(held_out.median), in_percent(held_out.p95),
        fmt::format("{:.0f}", 100 * held_out.coverage)});
  }
  return table.text("") + "\n";
}

std::string convolution_table(const std::vector<FittedConvolution>& fits) {
  print::Table table({{"GPU"}, {"convolution"}, {"kernel"}, {"rows", right}, {"shapes", right}, {"held out", right},
      {"median", right}, {"p95", right}, {"in 80%", right}});
  for (const FittedConvolution& fit : fits) {
    const HeldOut& held_out = fit.law.refinement.held_out;
    table.add({fit.gpu, fit.law.function, fit.law.software, fmt::to_string(fit.rows), fmt::to_string(fit.shapes),
        in_percent(held_out.mape), in_percent(held_out.median), in_percent(held_out.p95),
        fmt::format("{:.0f}", 100 * held_out.coverage)});
  }
  return table.text("") + "\n";
}

std::string convolution_laws(const std::vector<FittedConvolution>& fits) {
  std::string text;
  for (const FittedConvolution& fit : fits) {
    const ScanLaw& law = fit.law;
    const bool words = law.function == word_convolution;
    std::vector<std::string> parts{fmt::format("t0 {}", format_seconds(law.t0))};
    if (!words) parts.push_back(fmt::format("first_chunk {}", format_seconds(law.first_chunk)));
    parts.push_back(fmt::format("state {}", format_seconds(law.state)));
    if (!words) parts.push_back(fmt::format("chunk {} of {:.0f} positions", format_seconds(law.chunk), law.positions));
    parts.push_back(fmt::format("softness {:.2f}", law.softness));
    text += fmt::format(
        "{}, {} of {}\n{}", fit.gpu, law.function, law.software, print::wrapped(parts, ", ", "  ", scan_page_columns));
  }
  return text;
}

std::string foreign_convolutions(const std::vector<calibrate::ForeignConvolutions>& tables) {
  std::string text;
  for (const calibrate::ForeignConvolutions& one : tables)
    text += fmt::format("left out: {} rows of {}, {} on {}, whose times do not grow with their channels\n", one.rows,
        one.kernel, one.software, one.gpu);
  return text;
}

std::string scan_laws(const std::vector<FittedScan>& fits) {
  std::string text;
  for (const FittedScan& fit : fits) {
    std::vector<std::string> parts;
    for (const ScanPart& part : scan_parts)
      parts.push_back(fmt::format("{} {}", part.id, format_seconds(fit.law.*part.time)));
    parts.push_back(fmt::format("softness {:.2f}", fit.law.softness));
    text += fmt::format("{}, {}\n{}", fit.gpu, fit.law.software, print::wrapped(parts, ", ", "  ", scan_page_columns));
  }
  return text;
}

std::string hyper_connection_laws(const std::vector<FittedHyperConnection>& fits) {
  std::string text;
  for (const FittedHyperConnection& fit : fits) {
    const HyperConnectionLaw& law = fit.law;
    const std::vector<std::string> parts{fmt::format("t0 {}", format_seconds(law.t0)),
        fmt::format("{} per KB of a position's streams", format_seconds(law.per_row_byte * 1000)),
        fmt::format("the first {} at {}", format_bytes_decimal(law.near_bytes), format_rate(law.near_rate)),
        fmt::format("then {}", format_rate(law.memory)), fmt::format("softness {:.2f}", law.softness)};
    text += fmt::format("{}, {} of {}\n{}", fit.gpu, to_text(law.part), law.software,
        print::wrapped(parts, ", ", "  ", scan_page_columns));
  }
  return text;
}

void add_json(JsonWriter& json, const FittedConvolution& fit) {
  const ScanLaw& law = fit.law;
  const HeldOut& held_out = law.refinement.held_out;
  json.open();
  json.fields("gpu", fit.gpu, "function", law.function, "engine", law.kernels, "release", fit.release, "kernel",
      fit.kernel, "rows", fit.rows, "shapes", fit.shapes);
  json.fields("held_out_mape", held_out.mape, "held_out_median", held_out.median, "held_out_p95", held_out.p95,
      "coverage", held_out.coverage);
  json.base_field("t0_s", law.t0), json.base_field("first_chunk_s", law.first_chunk);
  json.base_field("state_s", law.state), json.base_field("chunk_s", law.chunk);
  json.fields("positions", law.positions, "channels", law.value_size, "taps", law.key_size);
  json.fields("softness", law.softness, "p10", law.spread.p10, "p90", law.spread.p90);
  json.close();
}

void add_json(JsonWriter& json, const FittedHyperConnection& fit) {
  const HyperConnectionLaw& law = fit.law;
  json.open();
  json.fields("gpu", fit.gpu, "part", to_text(law.part), "engine", law.kernels, "release", fit.release, "rows",
      fit.rows, "shapes", fit.shapes);
  json.fields("held_out_mape", law.held_out.mape, "held_out_median", law.held_out.median, "held_out_p95",
      law.held_out.p95, "coverage", law.held_out.coverage);
  json.base_field("t0_s", law.t0), json.base_field("per_row_byte_s", law.per_row_byte);
  json.base_field("near_bytes", law.near_bytes), json.base_field("near_bytes_per_s", law.near_rate);
  json.base_field("memory_bytes_per_s", law.memory);
  json.fields("softness", law.softness, "p10", law.spread.p10, "p90", law.spread.p90);
  json.close();
}

std::string left_out_text(const std::vector<calibrate::LeftOutTable>& tables) {
  std::string text;
  for (const calibrate::LeftOutTable& table : tables)
    text += print::paragraph(fmt::format("left out: {} rows of {} of {} {} on {}, of {} shapes: too few for a law",
                                 table.rows, table.subject, table.engine, table.release, table.gpu, table.shapes),
        "", "  ", scan_page_columns);
  return text;
}

}  // namespace

std::size_t ScanFits::rows() const {
  std::size_t all = 0;
  for (const FittedScan& fit : scans) all += fit.rows;
  for (const FittedHyperConnection& fit : hyper_connections) all += fit.rows;
  for (const FittedConvolution& fit : convolutions.laws) all += fit.rows;
  return all;
}

std::string scans_text(const ScanFits& fits, const ScanTimings& timings) {
  std::string text;
  if (!fits.scans.empty()) {
    text += scan_table(fits.scans);
    text += print::paragraph("Errors are in %, of shapes that no table of the GPU gave to the fit; a shape's repeats "
                             "count as their median. Held out is the law with what it misses as "
                             "other shapes tell it. \"repeats\" is how far apart the repeats of one shape lie: no law "
                             "of the shape can say which of them it is.",
        "", "", scan_page_columns);
  }
  if (timings.other_phases > 0)
    text += fmt::format("left out: {} rows of decoding and of verifying\n", timings.other_phases);
  if (!fits.convolutions.laws.empty() || !fits.convolutions.foreign.empty()) {
    if (!text.empty()) text += "\n";
    text += convolution_table(fits.convolutions.laws);
    text += print::paragraph(
        "Convolutions in front of scans: conv over prompts, conv_update of a word of each sequence. A state is 128 "
        "channels of a sequence. Errors are those of the law alone, of shapes that no table of the GPU gave to the "
        "fit.",
        "", "", scan_page_columns);
    text += foreign_convolutions(fits.convolutions.foreign);
  }
  if (!fits.hyper_connections.empty()) {
    if (!text.empty()) text += "\n";
    text += hyper_connection_table(fits.hyper_connections);
    text += print::paragraph(
        "Hyper-connections around one sublayer: pre makes the coefficients and what the sublayer reads, post puts its "
        "result back. Errors are those of the law alone, of shapes that no table of the GPU gave to the fit.",
        "", "", scan_page_columns);
  }
  text += left_out_text(fits.left_out);
  return text + "\n" + scan_laws(fits.scans) + convolution_laws(fits.convolutions.laws) +
         hyper_connection_laws(fits.hyper_connections);
}

std::string scans_json(const ScanFits& fits, const ScanTimings& timings) {
  JsonWriter json;
  json.open();
  json.open_list("laws");
  for (const FittedScan& fit : fits.scans) {
    json.open();
    json.fields("gpu", fit.gpu, "function", fit.law.function, "engine", fit.law.kernels, "release", fit.release,
        "kernel", fit.kernel, "rows", fit.rows, "shapes", fit.shapes);
    json.fields("law_alone_mape", fit.alone, "held_out_mape", fit.held_out.mape, "held_out_median", fit.held_out.median,
        "held_out_p95", fit.held_out.p95, "coverage", fit.held_out.coverage, "repeated", fit.repeated, "repeats_apart",
        fit.repeats_apart);
    for (const ScanPart& part : scan_parts) json.base_field(fmt::format("{}_s", part.id), fit.law.*part.time);
    json.fields("softness", fit.law.softness, "p10", fit.law.spread.p10, "p90", fit.law.spread.p90);
    json.close();
  }
  json.close();
  json.open_list("hyper_connections");
  for (const FittedHyperConnection& fit : fits.hyper_connections) add_json(json, fit);
  json.close();
  json.open_list("convolutions");
  for (const FittedConvolution& fit : fits.convolutions.laws) add_json(json, fit);
  json.close();
  json.open_list("foreign_convolutions");
  for (const calibrate::ForeignConvolutions& one : fits.convolutions.foreign) {
    json.open();
    json.fields("gpu", one.gpu, "kernel", one.kernel, "software", one.software, "rows", one.rows);
    json.close();
  }
  json.close();
  json.open_list("left_out");
  for (const calibrate::LeftOutTable& table : fits.left_out)
    json.row("gpu", table.gpu, "of", table.subject, "engine", table.engine, "release", table.release, "rows",
        table.rows, "shapes", table.shapes);
  json.close();
  json.fields("other_phases", timings.other_phases);
  json.close();
  return json.text();
}

}  // namespace stepcast::calibration
