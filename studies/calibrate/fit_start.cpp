#include "studies/calibrate/fit_start.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "model/catalog.h"
#include "studies/run/nouns.h"

namespace stepcast::calibration {
namespace {

Expected<Profile> chosen_start(const std::string& named, const Gpu& gpu) {
  if (named.empty()) return default_kernel_profile(gpu, built_in().profiles);
  TRY(const auto chosen, choose_kernel_profile(named, "--start"));
  if (chosen.row.gpu == gpu.id) return with_all_precisions(chosen.row, gpu);
  const auto from = find_row(built_in().gpus, chosen.row.gpu, "gpu");
  if (!from)
    return fail(
        "--start", fmt::format("it is of '{}', which is not in the catalogue", chosen.row.gpu), "stepcast list gpus");
  return scaled_profile(chosen.row, **from, gpu);
}

}  // namespace

Expected<Profile> start_profile(const std::string& named, const Gpu& gpu) {
  auto start = chosen_start(named, gpu);
  if (start) start->aliases.clear();
  return start;
}

Expected<std::string> fitted_id(const std::string& given, const Gpu& gpu) {
  if (given.empty()) return gpu.id + "-measured";
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; };
  if (given.size() > 100 || !std::all_of(given.begin(), given.end(), plain))
    return fail("--id", fmt::format("'{:.60}' is no id", given), "letters, digits, - _ . and at most 100 of them");
  return given;
}

void describe_fit(FittedProfile& fitted, const Profile& start, std::size_t rows) {
  Profile& profile = fitted.profile;
  profile.context = fmt::format(
      "Fitted on {} measurements; laws of what was not measured are those of {} ({}).", rows, start.id, start.name);
  profile.regime = "burst";
  for (const std::string& source : start.conditions.sources)
    profile.conditions.sources.push_back(fmt::format("kept from {}: {}", start.id, source));
  if (start.conditions.sources.empty())
    profile.conditions.sources.push_back(fmt::format("kept from {}: {}", start.id, start.context));
}

}  // namespace stepcast::calibration
