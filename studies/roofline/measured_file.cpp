#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "calibrate/rows/measurement_file.h"
#include "studies/roofline/report.h"

namespace stepcast::roofline {

Expected<std::optional<MeasuredFile>> read_measured_file(const Arguments& arguments, const std::string& flag) {
  if (!arguments.has(flag)) return std::nullopt;
  const std::string name = arguments.value(flag);
  std::error_code none;
  if (std::filesystem::is_directory(name, none))
    return fail(
        flag, fmt::format("'{:.200}' is a folder", name), "a file that stepcast calibrate measure or import wrote");
  std::ifstream file(name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || name.empty())
    return fail(
        flag, fmt::format("'{:.200}' cannot be read", name), "a file that stepcast calibrate measure or import wrote");
  const std::string all = text.str();
  if (const std::size_t first = all.find_first_not_of(" \t\r\n"); first != std::string::npos && all[first] != '{')
    return fail(flag, fmt::format("'{:.200}' is no file of measurements", name),
        "stepcast calibrate import FILE -o MEASURED.json makes one of other programs' timings");
  TRY(auto rows, read_measurements(all, name));
  return MeasuredFile{name, std::move(rows)};
}

}  // namespace stepcast::roofline
