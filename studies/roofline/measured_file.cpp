#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "calibrate/measurement_file.h"
#include "studies/roofline/report.h"

namespace stepcast {

Expected<std::optional<MeasuredFile>> read_measured_file(const Arguments& arguments, const std::string& flag) {
  if (!arguments.has(flag)) return std::nullopt;
  const std::string name = arguments.value(flag);
  std::ifstream file(name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || name.empty())
    return fail(flag, fmt::format("'{:.200}' cannot be read", name), "a file that stepcast calibrate measure or import wrote");
  auto rows = read_measurements(text.str(), name);
  if (!rows) return tl::unexpected(rows.error());
  return MeasuredFile{name, std::move(*rows)};
}

}  // namespace stepcast
