#include "studies/calibrate/print/calibrate_report.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "studies/print/digits.h"
#include "studies/print/paint.h"
#include "studies/calibrate/print/profile_laws.h"
#include "studies/print/table.h"

namespace stepcast::calibration {
namespace {

/// More notes than this stand in the file only.
constexpr std::size_t most_notes = 30;

std::string notes_text(const std::vector<std::string>& notes, const Console& console) {
  std::string text;
  for (std::size_t i = 0; i < notes.size() && i < most_notes; ++i)
    text += paragraph(notes[i], "  note: ", "        ", static_cast<std::size_t>(console.columns));
  if (notes.size() > most_notes) text += fmt::format("  {} more notes: --json shows all\n", notes.size() - most_notes);
  return text;
}

/// Rows that share a kind and a context.
struct ReadRows {
  std::string kind, gpu, fabric, software, regime;
  std::size_t rows = 0;
};

std::vector<ReadRows> rows_by_kind(const Measurements& measurements) {
  std::map<std::tuple<std::string, std::string, std::string, std::string, std::string>, std::size_t> counts;
  for (const Measurement& row : measurements.rows) {
    const MeasurementContext& c = measurements.contexts.at(static_cast<std::size_t>(row.context));
    ++counts[{query_name(row.what), c.gpu, c.fabric, c.software, c.regime}];
  }
  std::vector<ReadRows> out;
  for (const auto& [key, rows] : counts) {
    const auto& [kind, gpu, fabric, software, regime] = key;
    out.push_back({kind, gpu, fabric, software, regime, rows});
  }
  return out;
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }
std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

}  // namespace

Table error_table(const std::vector<LawFit>& laws) {
  Table table({{"law"}, {"samples", Align::right}, {"uncorrected", Align::right}, {"MAPE", Align::right},
      {"median", Align::right}, {"p95", Align::right}, {"in 80 %", Align::right}, {"bias", Align::right}});
  const auto add = [&](std::string name, int samples, double base, const HeldOut& error, std::string bias) {
    std::vector<std::string> cells{std::move(name), fmt::format("{}", samples), base > 0 ? percent(base) : "-"};
    for (std::string& cell : held_out_cells(error)) cells.push_back(std::move(cell));
    cells.push_back(std::move(bias));
    table.add(std::move(cells));
  };
  for (const LawFit& fit : laws) {
    const bool gemm = fit.training.samples > 0 && fit.training.samples < fit.samples;
    add(fit.law, fit.samples, fit.base_mape, fit.held_out, fmt::format("{:.3f}", fit.bias));
    if (gemm) add("  of training size", fit.training.samples, 0, fit.training, "");
    for (const PartFit& part : fit.layouts)
      add("  of these " + part.part, part.held_out.samples, 0, part.held_out, fmt::format("{:.3f}", part.bias));
  }
  return table;
}

namespace {

bool same_law(const LawRow& row, const LawFit& fit) { return row.law == fit.law && row.software == fit.software; }

bool was_fitted(const LawRow& row, const std::vector<LawFit>& laws) {
  for (const LawFit& fit : laws)
    if (same_law(row, fit)) return true;
  return false;
}

/// Laws of the start profile that stand as they were, and laws that follow from fitted ones (fp16 from bf16).
struct Unmeasured {
  std::vector<LawRow> kept, derived;
};

Unmeasured unmeasured(const FitReport& report) {
  Unmeasured out;
  const std::vector<LawRow> before = law_rows(report.start);
  for (const LawRow& row : law_rows(report.fitted.profile)) {
    if (was_fitted(row, report.fitted.laws)) continue;
    bool kept = false;
    for (const LawRow& old : before) kept = kept || (old.law == row.law && old.parameters == row.parameters);
    (kept ? out.kept : out.derived).push_back(row);
  }
  return out;
}

std::string list_of(const std::vector<LawRow>& rows) {
  std::string text;
  for (const LawRow& row : rows)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", row.law, to_text(row.source));
  return text;
}

std::string parameter_lines(const FitReport& report, std::size_t columns) {
  std::string text;
  for (const LawRow& row : law_rows(report.fitted.profile)) {
    if (!was_fitted(row, report.fitted.laws)) continue;
    const std::string whose = row.software.empty() ? "" : fmt::format(" ({})", row.software);
    text += paragraph(fmt::format("{}{}", parameters_text(row), whose), fmt::format("  {:<22} ", row.law),
        std::string(25, ' '), columns);
  }
  return text;
}

}  // namespace

std::string query_name(const Query& query) {
  struct Name {
    std::string operator()(const GemmQuery& q) const {
      return fmt::format("gemm {}{}", to_text(q.precision), q.block_scaled ? " block-scaled" : "");
    }
    std::string operator()(const AttentionQuery& q) const {
      if (is_latent(q)) return "latent attention decode";
      return q.pass == AttentionPass::decode ? "attention decode" : "attention";
    }
    std::string operator()(const MoeQuery& q) const { return fmt::format("moe {}", to_text(q.precision)); }
    std::string operator()(const MemoryQuery& q) const { return std::string(q.op->id); }
    std::string operator()(const CollectiveQuery& q) const {
      return fmt::format("{} x{}{}", to_text(q.kind), q.ranks, q.nodes > 1 ? fmt::format(" on {} nodes", q.nodes) : "");
    }
    std::string operator()(const TransferQuery& q) const { return to_text(q.kind); }
    std::string operator()(const LaunchQuery& q) const { return fmt::format("launch {}", to_text(q.kind)); }
  };
  return std::visit(Name{}, query);
}

void write_layouts(JsonWriter& json, const LawFit& fit) {
  if (fit.layouts.empty()) return;
  json.open_list("layouts");
  for (const PartFit& part : fit.layouts) {
    json.open();
    json.fields("layout", part.part, "bias", part.bias);
    write_held_out(json, "held_out", part.held_out);
    json.close();
  }
  json.close();
}

std::string import_report(const ImportedTimings& imported, const std::string& output, const Console& console) {
  const Paint paint(console);
  std::string text = paint.bold("Read") + "\n\n";
  Table files({{""}, {"", Align::right}});
  for (const ImportedFile& file : imported.files) files.add({file.file, fmt::format("{} rows", file.rows)});
  text += files.text("  ") + "\n" + paint.bold("Measurements") + "\n\n";
  Table kinds({{"kind"}, {"GPU"}, {"fabric"}, {"software"}, {"regime"}, {"rows", Align::right}});
  for (const ReadRows& row : rows_by_kind(imported.measurements))
    kinds.add({row.kind, or_dash(row.gpu), or_dash(row.fabric), or_dash(row.software), row.regime,
        fmt::format("{}", row.rows)});
  text += kinds.text("  ") + "\n";
  text += notes_text(imported.measurements.notes, console);
  return text + fmt::format("  {} rows in {}\n", imported.measurements.rows.size(), output);
}

std::string import_json(const ImportedTimings& imported, const std::string& output) {
  JsonWriter json;
  json.open();
  json.fields("output", output, "rows", imported.measurements.rows.size());
  json.open_list("files");
  for (const ImportedFile& file : imported.files) json.row("file", file.file, "rows", file.rows);
  json.close();
  json.open_list("kinds");
  for (const ReadRows& row : rows_by_kind(imported.measurements)) {
    json.row("kind", row.kind, "gpu", row.gpu, "fabric", row.fabric, "software", row.software, "regime", row.regime,
        "rows", row.rows);
  }
  json.close();
  json.field("notes", imported.measurements.notes);
  json.close();
  return json.text();
}

std::string fit_report(const FitReport& report, const Console& console) {
  const Paint paint(console);
  const Profile& profile = report.fitted.profile;
  const auto columns = static_cast<std::size_t>(console.columns);
  std::string text =
      fmt::format("{}: {} measurements\n\n{}\n\n", paint.bold(profile.name), report.rows, paint.bold("Held out"));
  text += error_table(report.fitted.laws).text("  ");
  text += fmt::format("\n{}\n\n{}", paint.bold("Parameters"), parameter_lines(report, columns));
  const Unmeasured rest = unmeasured(report);
  text += fmt::format("\n{}\n\n", paint.bold("Not measured"));
  if (!rest.derived.empty()) text += paragraph(list_of(rest.derived), "  from fitted laws: ", "    ", columns);
  if (!rest.kept.empty())
    text += paragraph(list_of(rest.kept), fmt::format("  kept from {}: ", report.start.id), "    ", columns);
  text += "\n" + notes_text(report.notes, console);
  return text + fmt::format("  {} is in {}\n", profile.id, report.output);
}

std::string fit_json(const FitReport& report) {
  const Profile& profile = report.fitted.profile;
  const std::vector<LawRow> rows = law_rows(profile);
  JsonWriter json;
  json.open();
  json.fields("profile", profile.id, "gpu", profile.gpu, "output", report.output, "measurements", report.rows);
  json.open_list("laws");
  for (const LawFit& fit : report.fitted.laws) {
    json.open();
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const LawRow& r) { return same_law(r, fit); });
    if (row != rows.end()) {
      write_law(json, *row);
    } else {
      json.fields("law", fit.law, "software", fit.software);
    }
    json.field("samples", fit.samples);
    if (fit.base_mape > 0) json.field("base_mape", fit.base_mape);
    json.field("bias", fit.bias);
    write_held_out(json, "held_out", fit.held_out);
    if (fit.training.samples > 0) write_held_out(json, "held_out_training_size", fit.training);
    write_layouts(json, fit);
    json.close();
  }
  json.close();
  const Unmeasured rest = unmeasured(report);
  for (const auto& [key, list] : {std::pair{"derived", &rest.derived}, std::pair{"kept", &rest.kept}}) {
    json.open_list(key);
    for (const LawRow& law : *list) {
      json.open();
      write_law(json, law);
      json.close();
    }
    json.close();
  }
  json.fields("start", report.start.id, "sustained_slowdown", profile.sustained_slowdown, "notes", report.notes);
  json.close();
  return json.text();
}

}  // namespace stepcast::calibration
