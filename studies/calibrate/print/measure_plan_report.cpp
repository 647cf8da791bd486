// The plan of a campaign: what, how many, how long, and what there is no time for.
#include <algorithm>

#include <fmt/format.h>

#include "model/base/json_writer.h"
#include "model/base/quantity_text.h"
#include "studies/calibrate/print/measure_report.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"
#include "studies/print/json_fields.h"

namespace stepcast::calibration {
namespace {

/// Own shapes and works left out that the page names; --json lists all.
constexpr std::size_t most_own = 6;

/// What a phase holds, as planned.
struct PhaseSum {
  const MeasurePhase* phase = nullptr;
  std::size_t works = 0, own = 0, left_out = 0;
  Seconds estimate;
};

std::vector<PhaseSum> phase_sums(const MeasurePlan& plan) {
  std::vector<PhaseSum> sums;
  for (const MeasurePhase& phase : measure_phases()) sums.push_back({&phase, 0, 0, 0, {}});
  for (const PlannedWork& work : plan.works) {
    PhaseSum& sum = sums.at(static_cast<std::size_t>(work.phase));
    ++sum.works;
    sum.own += work.own ? 1 : 0;
    sum.estimate += work.estimate;
  }
  for (const PlannedWork& work : plan.left_out) ++sums.at(static_cast<std::size_t>(work.phase)).left_out;
  std::erase_if(sums, [](const PhaseSum& sum) { return sum.works + sum.left_out == 0; });
  return sums;
}

std::string name_of_works(const PlannedWork& work) {
  std::string text;
  for (const Work& one : work.works) text += (text.empty() ? "" : " / ") + to_text(one);
  return text;
}

const char* mode_name(WorkMode mode) {
  constexpr const char* names[] = {"sampled", "sustained", "alternating", "repeat"};
  return names[static_cast<int>(mode)];
}

std::string phases_text(const std::vector<PhaseSum>& sums, const Console& console) {
  const auto columns = static_cast<std::size_t>(console.columns);
  std::string text = fmt::format("  {:<14}{:>6}{:>9}{:>10}\n", "phase", "works", "takes", "left out");
  for (const PhaseSum& sum : sums) {
    const std::string head = fmt::format("  {:<14}{:>6}{:>9}{:>10}  ", sum.phase->id, sum.works,
        sum.works > 0 ? format_seconds(sum.estimate) : "-", sum.left_out > 0 ? fmt::format("{}", sum.left_out) : "-");
    text += paragraph(sum.phase->about, head, std::string(head.size(), ' '), columns);
  }
  return text;
}

std::string own_text(const MeasurePlan& plan, std::size_t columns) {
  std::vector<std::string> names;
  for (const PlannedWork& work : plan.works)
    if (work.own) names.push_back(name_of_works(work));
  if (names.empty()) return "";
  const std::size_t all = names.size();
  names.resize(std::min(all, most_own));
  if (all > most_own) names.push_back(fmt::format("and {} more (--json lists all)", all - most_own));
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return paragraph(text, "  the model's own first: ", std::string(25, ' '), columns);
}

void write_work(JsonWriter& json, const PlannedWork& work) {
  json.open();
  json.fields("work", name_of_works(work), "phase", measure_phases()[static_cast<std::size_t>(work.phase)].id, "mode",
      mode_name(work.mode), "own", work.own);
  if (work.duration.value() > 0) json.base_field("duration_s", work.duration);
  json.base_field("estimate_s", work.estimate);
  json.close();
}

}  // namespace

std::string plan_report(const PlanReport& report, const Console& console) {
  const Paint paint(console);
  const auto columns = static_cast<std::size_t>(console.columns);
  const MeasurePlan& plan = report.plan;
  const std::string where =
      report.device.empty() ? fmt::format("{}, which is not here", report.gpu.name) : report.device;
  std::string text = fmt::format("{} {}\n\n", paint.bold("Plan for"), where);
  text += phases_text(phase_sums(plan), console) + "\n" + own_text(plan, columns);
  text += fmt::format(
      "  {} of {}: {} works", format_seconds(plan.estimate), format_seconds(plan.budget), plan.works.size());
  if (!plan.left_out.empty())
    text += fmt::format("; {} left out, a longer --budget takes them in", plan.left_out.size());
  text += "\n";
  text +=
      paragraph("estimates are by the datasheet; what takes longer is left out at the end, never the budget overdrawn",
          "  ", "  ", columns);
  for (const std::string& note : plan.notes) text += paragraph(note, "  note: ", "        ", columns);
  if (!report.missing.empty()) text += paragraph(report.missing, "  missing: ", "           ", columns);
  return text;
}

std::string plan_json(const PlanReport& report) {
  const MeasurePlan& plan = report.plan;
  JsonWriter json;
  json.open();
  json.fields("gpu", report.gpu.id, "device", report.device);
  json.base_fields("budget_s", plan.budget, "estimate_s", plan.estimate);
  json.open_list("phases");
  for (const PhaseSum& sum : phase_sums(plan)) {
    json.open();
    json.fields("phase", sum.phase->id, "about", sum.phase->about, "works", sum.works, "own", sum.own, "left_out",
        sum.left_out);
    json.base_field("estimate_s", sum.estimate);
    json.close();
  }
  json.close();
  for (const auto& [key, works] : {std::pair{"works", &plan.works}, std::pair{"left_out", &plan.left_out}}) {
    json_list(json, key, *works, write_work);
  }
  json.fields("notes", plan.notes, "missing", report.missing);
  json.close();
  return json.text();
}

}  // namespace stepcast::calibration
