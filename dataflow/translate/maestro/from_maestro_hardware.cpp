// Reads MAESTRO's hardware files: "key: value" lines, // comments.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "dataflow/translate/maestro/maestro.h"
#include "model/base/text.h"

namespace stepcast::dataflow {
namespace {

struct HardwareRow {
  std::string_view key;
  double MaestroHardware::*field;
};
constexpr std::array hardware_rows{HardwareRow{"l1_size_cstr", &MaestroHardware::l1_bytes},
    HardwareRow{"noc_bw_cstr", &MaestroHardware::noc_bytes_per_cycle},
    HardwareRow{"offchip_bw_cstr", &MaestroHardware::offchip_bytes_per_cycle}};
constexpr std::string_view l2_key = "l2_size_cstr";

void hardware_line(std::string_view line, const Position& where, MaestroHardware& hardware, ImportLog& log) {
  const std::size_t colon = line.find_first_of(":=");
  if (colon == std::string_view::npos)
    return log.refuse(where, fmt::format("'{:.80}' is no 'key: value' line", line), "num_pes: 256");
  const std::string key(stripped(line.substr(0, colon)));
  const std::string text(stripped(line.substr(colon + 1)));
  const auto value = real_number(text);
  const auto* row = std::ranges::find(hardware_rows, key, &HardwareRow::key);
  const bool known = row != hardware_rows.end() || key == l2_key || key == "num_pes";
  if (!known) {
    std::vector<std::string> keys{"num_pes", std::string(l2_key)};
    for (const HardwareRow& r : hardware_rows) keys.emplace_back(r.key);
    if (const std::string near = nearest_name(key, keys); !near.empty())
      return log.refuse(where, fmt::format("unknown key '{}'", key), fmt::format("did you mean '{}'?", near));
    return log.note(where, fmt::format("{} left out, no bearing on counts", key));
  }
  if (!value || *value <= 0) return log.refuse(where, fmt::format("{} is '{}'", key, text), "a number above 0");
  if (row != hardware_rows.end()) hardware.*row->field = *value;
  else if (key == l2_key)
    log.note(where, "l2_size_cstr left out: L2 holds whole tensors here, as MAESTRO counts its writes");
  else if (const auto pes = whole_number(text)) hardware.pes = *pes, hardware.position = where;
  else log.refuse(where, fmt::format("num_pes is '{}'", text), "a whole number of at least 1");
}

}  // namespace

MaestroHardware maestro_hardware(const SourceFile& file, ImportLog& log) {
  MaestroHardware hardware;
  int number = 0;
  for (std::size_t at = 0; at < file.text.size();) {
    const std::size_t end = std::min(file.text.find('\n', at), file.text.size());
    std::string_view line = std::string_view(file.text).substr(at, end - at);
    line = stripped(line.substr(0, std::min(line.find("//"), line.size())));
    ++number;
    if (!line.empty()) hardware_line(line, {file.name, number, 1}, hardware, log);
    at = end + 1;
  }
  if (hardware.pes == 0) log.refuse({file.name, 0, 0}, "no num_pes in the hardware file", "num_pes: 256");
  return hardware;
}

}  // namespace stepcast::dataflow
