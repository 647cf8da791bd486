#include "calibrate/measure/campaign_notes.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/bench/work.h"
#include "model/base/quantity_text.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

constexpr const char* throttled_head = "throttled: ";
constexpr std::size_t most_named = 12;

bool note_starts_with(const std::string& note, const std::string& head) {
  return note.compare(0, head.size(), head) == 0;
}

std::string clocks_note(const DeviceInfo& device, const GpuSettings& settings) {
  const std::string usual = settings.default_sm_clock_mhz > 0
                                ? fmt::format("default {:.0f} MHz", settings.default_sm_clock_mhz)
                                : std::string("the driver names no default");
  return fmt::format("clocks: {}, at most {:.0f} MHz, memory {:.0f} MHz", usual, device.sm_clock_hz / 1e6,
      device.memory_clock_hz / 1e6);
}

/// ", 1755 to 1410 MHz, 698 W", as far as the driver says.
std::string course_of(const Sustained& run) {
  std::string text;
  if (run.points.empty()) return text;
  const double first = run.points.front().state.sm_clock_mhz, last = run.points.back().state.sm_clock_mhz;
  if (first > 0 && last > 0) text += fmt::format(", {:.0f} to {:.0f} MHz", first, last);
  if (const double power = settled_power(run); power > 0) text += fmt::format(", {:.0f} W", power);
  return text;
}

}  // namespace

void add_note(Measurements& measurements, const std::string& note) {
  auto& notes = measurements.notes;
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

bool has_note(const Measurements& measurements, const std::string& head) {
  return std::any_of(measurements.notes.begin(), measurements.notes.end(),
      [&](const std::string& note) { return note_starts_with(note, head); });
}

void note_setup(Measurements& measurements, const DeviceInfo& device, const GpuSettings& settings) {
  add_note(measurements, clocks_note(device, settings));
  if (settings.power_limit_w > 0 && settings.power_limit_w < settings.default_power_limit_w)
    add_note(measurements, fmt::format("power limit {:.0f} W, below the default of {:.0f} W", settings.power_limit_w,
                               settings.default_power_limit_w));
  add_note(measurements, settings.ecc ? "ECC is on" : "ECC is off or not known");
  if (settings.mig) add_note(measurements, "MIG is on: this is a part of a card");
  if (!settings.other_processes.empty())
    add_note(measurements, fmt::format("other processes on the card: {}", fmt::join(settings.other_processes, ", ")));
}

void note_throttled(Measurements& measurements) {
  std::vector<std::string> names;
  std::size_t bursts = 0;
  for (const Measurement& row : measurements.rows) {
    if (measurements.context_of(row).regime != "burst") continue;
    ++bursts;
    if (row.throttled) names.push_back(work_name(row.what));
  }
  std::erase_if(measurements.notes, [](const std::string& note) { return note_starts_with(note, throttled_head); });
  if (names.empty()) return;
  measurements.notes.push_back(
      fmt::format("{}{} of {} bursts: {}", throttled_head, names.size(), bursts, some_of(names, most_named)));
}

double settled_power(const Sustained& run) {
  double sum = 0, count = 0;
  for (const Sustained::Point& point : run.points) {
    if (point.at <= run.points.back().at / 2 || !(point.state.power_w > 0)) continue;
    sum += point.state.power_w;
    count += 1;
  }
  return count > 0 ? sum / count : 0;
}

std::string sustained_note_head(const std::string& kind, const std::string& work) {
  return fmt::format("{} {}: ", kind, work);
}

std::string sustained_note(const std::string& kind, const std::string& work, const Sustained& run) {
  const std::string change =
      run.time_constant.value() > 0 ? "time constant " + format_seconds(run.time_constant) : std::string("no change");
  return fmt::format("{}{} in bursts, {} settled, {}{}", sustained_note_head(kind, work), format_seconds(run.burst),
      format_seconds(run.settled), change, course_of(run));
}

}  // namespace stepcast::calibrate
