// stepcast calibrate compare: what changed between two profiles, law by law over the same shapes.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/base/percentile.h"
#include "studies/calibrate/calibrate.h"
#include "studies/run/nouns.h"
#include "studies/calibrate/print/measured_roofs.h"
#include "studies/print/paint.h"
#include "studies/calibrate/print/profile_laws.h"
#include "studies/calibrate/print/shape_times.h"
#include "studies/print/table.h"
#include "studies/print/json_fields.h"

namespace stepcast::calibration {
namespace {

/// Times of B over those of A.
struct LawChange {
  LawRow a, b;
  double median = 1, p10 = 1, p90 = 1, worst = 1;
  std::string worst_shape;
  double typical = 0, own_error = 0;  ///< median of |log ratio|; both laws' errors together
  [[nodiscard]] bool within() const { return typical <= own_error; }
};

struct Changes {
  std::vector<LawChange> both;
  std::vector<LawRow> only_a, only_b;
  struct Condition {
    std::string name, a, b;
  };
  std::vector<Condition> conditions;  ///< that differ
};

/// Held out where that was done; else the mean of a normal distribution with this interval, 0.8 of its sigma.
double own_error(const LawRow& row) {
  if (row.held_out.samples > 0) return row.held_out.mape;
  constexpr double sigmas = 1.2816, mean_of_sigma = 0.7979;  // 90th percentile; sqrt(2 / pi)
  return std::log(row.spread.p90 / row.spread.p10) / 2 / sigmas * mean_of_sigma;
}

LawChange change_of(
    const LawRow& a, const LawRow& b, const std::vector<ShapeTime>& times_a, const std::vector<ShapeTime>& times_b) {
  LawChange change{a, b, 1, 1, 1, 1, "", 0, std::hypot(own_error(a), own_error(b))};
  std::vector<double> ratios, sizes;
  for (std::size_t i = 0; i < times_a.size(); ++i) {
    ratios.push_back(times_b[i].time / times_a[i].time);
    sizes.push_back(std::abs(std::log(ratios.back())));
    if (i == 0 || sizes.back() > std::abs(std::log(change.worst)))
      change.worst = ratios.back(), change.worst_shape = times_a[i].shape;
  }
  if (ratios.empty()) return change;
  change.median = percentile(ratios, 0.5);
  change.p10 = percentile(ratios, 0.1);
  change.p90 = percentile(ratios, 0.9);
  change.typical = percentile(sizes, 0.5);
  return change;
}

/// The row of the same law and software, else the only one of the law.
std::size_t partner_of(const LawRow& row, const std::vector<LawRow>& rows) {
  std::size_t of_law = rows.size(), found = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].law != row.law) continue;
    if (rows[i].software == row.software) return i;
    of_law = i, ++found;
  }
  return found == 1 ? of_law : rows.size();
}

Changes changes_between(const Profile& a, const Profile& b) {
  Changes out;
  const std::vector<LawRow> rows_a = law_rows(a), rows_b = law_rows(b);
  const auto times_a = shape_times(a), times_b = shape_times(b);
  std::vector<bool> taken(rows_b.size(), false);
  for (std::size_t i = 0; i < rows_a.size(); ++i) {
    const std::size_t j = partner_of(rows_a[i], rows_b);
    if (j == rows_b.size() || taken[j]) {
      out.only_a.push_back(rows_a[i]);
      continue;
    }
    taken[j] = true;
    out.both.push_back(change_of(rows_a[i], rows_b[j], times_a[i], times_b[j]));
  }
  for (std::size_t j = 0; j < rows_b.size(); ++j)
    if (!taken[j]) out.only_b.push_back(rows_b[j]);
  const auto conditions_a = condition_rows(a), conditions_b = condition_rows(b);
  for (std::size_t i = 0; i < conditions_a.size(); ++i)
    if (conditions_a[i].second != conditions_b[i].second)
      out.conditions.push_back({conditions_a[i].first, conditions_a[i].second, conditions_b[i].second});
  return out;
}

std::string or_unknown(const std::string& text) { return text.empty() ? "not known" : text; }

std::string ratios_text(const Changes& changes) {
  Table table({{"law"}, {"B over A", Align::right}, {"p10", Align::right}, {"p90", Align::right},
      {"worst", Align::right}, {"at"}, {"own errors", Align::right}, {""}});
  for (const LawChange& c : changes.both)
    table.add({c.a.law, fmt::format("{:.3f}", c.median), fmt::format("{:.3f}", c.p10), fmt::format("{:.3f}", c.p90),
        fmt::format("{:.3f}", c.worst), c.worst == 1 ? "-" : c.worst_shape, fmt::format("{:.1f} %", 100 * c.own_error),
        c.typical == 0 ? "same"
        : c.within()   ? "within"
        : c.median < 1 ? "faster"
        : c.median > 1 ? "slower"
                       : "differs"});
  return table.text("  ");
}

std::string parameters_side_by_side(const Changes& changes) {
  Table table({{"law"}, {"parameter"}, {"A", Align::right}, {"B", Align::right}, {"B over A", Align::right}});
  for (const LawChange& c : changes.both)
    for (const auto& [key, a] : c.a.parameters) {
      const auto b = std::find_if(
          c.b.parameters.begin(), c.b.parameters.end(), [&, k = key](const auto& p) { return p.first == k; });
      if (b == c.b.parameters.end() || b->second == a) continue;
      table.add({c.a.law, parameter_name(key), parameter_text(key, a), parameter_text(key, b->second),
          a > 0 ? fmt::format("{:.3f}", b->second / a) : "-"});
    }
  return table.empty() ? "" : table.text("  ");
}

/// One figure of both profiles, in base units under a key that ends in them; 0: not measured there.
struct MeasuredFigure {
  std::string what, key;
  double a = 0, b = 0;
};

std::vector<MeasuredFigure> measured_figures(const Profile& a, const Profile& b) {
  std::vector<MeasuredFigure> out;
  const auto add = [&](const std::string& what, const std::string& key, double value, double MeasuredFigure::*side) {
    auto row = std::find_if(out.begin(), out.end(), [&](const MeasuredFigure& other) { return other.what == what; });
    if (row == out.end()) row = out.insert(out.end(), {what, key, 0, 0});
    *row.*side = value;
  };
  for (const auto& [profile, side] : {std::pair{&a, &MeasuredFigure::a}, std::pair{&b, &MeasuredFigure::b}}) {
    for (const MeasuredRoof& roof : measured_roofs(profile->roofs, nullptr))
      for (const auto& [regime, rate] : {std::pair{"burst", roof.burst}, std::pair{"sustained", roof.sustained}})
        if (rate > 0) add(fmt::format("{} {}", roof.of, regime), "rate_" + roof.key, rate, side);
    for (const HostCostRow& row : host_cost_rows(profile->host))
      add(std::string(row.what), std::string(row.key), row.time.value(), side);
  }
  return out;
}

std::string measured_side_by_side(const std::vector<MeasuredFigure>& figures) {
  Table table({{""}, {"A", Align::right}, {"B", Align::right}, {"B over A", Align::right}});
  const auto text = [](const MeasuredFigure& row, double value) {
    return value > 0 ? parameter_text(row.key, value) : "-";
  };
  for (const MeasuredFigure& row : figures)
    table.add({row.what, text(row, row.a), text(row, row.b),
        row.a > 0 && row.b > 0 ? fmt::format("{:.3f}", row.b / row.a) : "-"});
  return table.text("  ");
}

std::string names_of(const std::vector<LawRow>& rows) {
  std::string text;
  for (const LawRow& row : rows)
    text += fmt::format(
        "{}{}{}", text.empty() ? "" : ", ", row.law, row.software.empty() ? "" : fmt::format(" ({})", row.software));
  return text;
}

std::string changes_text(const Profile& a, const Profile& b, const Changes& changes, const Console& console) {
  const Paint paint(console);
  const auto columns = static_cast<std::size_t>(console.columns);
  std::string text = fmt::format("A  {}: {}\nB  {}: {}\n", a.id, a.name, b.id, b.name);
  if (!changes.conditions.empty()) {
    Table table({{""}, {"A"}, {"B"}});
    for (const auto& c : changes.conditions) table.add({c.name, or_unknown(c.a), or_unknown(c.b)});
    text += fmt::format("\n{}\n\n{}", paint.bold("Conditions that differ"), table.text("  "));
  }
  text += fmt::format("\n{}\n\n{}", paint.bold("Times over the same shapes"), ratios_text(changes));
  const auto apart =
      std::count_if(changes.both.begin(), changes.both.end(), [](const LawChange& c) { return !c.within(); });
  text += fmt::format("\n  {} of {} laws differ by more than both profiles' own errors\n", apart, changes.both.size());
  if (!changes.only_a.empty()) text += paragraph(names_of(changes.only_a), "  only in A: ", "    ", columns);
  if (!changes.only_b.empty()) text += paragraph(names_of(changes.only_b), "  only in B: ", "    ", columns);
  if (const auto figures = measured_figures(a, b); !figures.empty())
    text +=
        fmt::format("\n{}\n\n{}", paint.bold("Measured roofs and costs of the host"), measured_side_by_side(figures));
  const std::string parameters = parameters_side_by_side(changes);
  if (!parameters.empty()) text += fmt::format("\n{}\n\n{}", paint.bold("Parameters that differ"), parameters);
  return text;
}

void write_profile_head(JsonWriter& json, const char* key, const Profile& profile) {
  json.object(key, "profile", profile.id, "name", profile.name, "gpu", profile.gpu);
}

void write_change(JsonWriter& json, const LawChange& c) {
  json.open();
  json.fields("law", c.a.law, "median", c.median, "p10", c.p10, "p90", c.p90, "worst", c.worst, "worst_shape",
      c.worst_shape, "typical", std::expm1(c.typical), "own_errors", c.own_error, "within_own_errors", c.within());
  for (const auto& [key, row] : {std::pair{"a", &c.a}, std::pair{"b", &c.b}}) {
    json.open(key);
    write_law(json, *row);
    json.close();
  }
  json.close();
}

std::string changes_json(const Profile& a, const Profile& b, const Changes& changes) {
  JsonWriter json;
  json.open();
  write_profile_head(json, "a", a);
  write_profile_head(json, "b", b);
  json.open_list("conditions");
  for (const auto& c : changes.conditions) json.row("name", c.name, "a", c.a, "b", c.b);
  json.close();
  if (const auto figures = measured_figures(a, b); !figures.empty()) {
    json.open_list("measured");
    for (const MeasuredFigure& row : figures) {
      json.open();
      json.field("what", row.what);
      if (row.a > 0) json.field("a_" + row.key, row.a);
      if (row.b > 0) json.field("b_" + row.key, row.b);
      json.close();
    }
    json.close();
  }
  json_list(json, "laws", changes.both, write_change);
  for (const auto& [key, rows] : {std::pair{"only_a", &changes.only_a}, std::pair{"only_b", &changes.only_b}}) {
    json.open_list(key);
    for (const LawRow& row : *rows) json.item(row.law);
    json.close();
  }
  json.close();
  return json.text();
}

}  // namespace

Expected<void> calibrate_compare(const Arguments& arguments, Console& console) {
  TRY(const auto a, choose_kernel_profile(arguments.words.at(0), "A"));
  TRY(const auto b, choose_kernel_profile(arguments.words.at(1), "B"));
  const Changes changes = changes_between(a.row, b.row);
  console.out << (arguments.has("--json") ? changes_json(a.row, b.row, changes)
                                          : changes_text(a.row, b.row, changes, console));
  return {};
}

}  // namespace stepcast::calibration
