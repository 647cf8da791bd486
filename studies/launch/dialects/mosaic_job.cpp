#include "studies/launch/dialects/mosaic_job.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "calibrate/import/config/config_text.h"
#include "model/base/text.h"
#include "model/base/whole_number.h"

namespace stepcast::launch {
namespace {

/// What the job's command says behind the file of its parameters.
Expected<std::vector<GivenArgument>> job_overrides(const Launch& launch) {
  const GivenArgument& command = *launch.find("command");
  std::vector<GivenArgument> over;
  bool behind = false;
  for (std::string_view rest = command.value; !rest.empty();) {
    const std::size_t end = std::min(rest.find_first_of(" \t\r\n\\"), rest.size());
    std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t equals = word.find('=');
    const std::string place = fmt::format("{}:{}", launch.where, command.line);
    if (equals == word.npos && (word.ends_with(".yaml") || word.ends_with(".yml"))) {
      behind = true;
      if (!word.ends_with("parameters.yaml"))
        return fail(place, fmt::format("the command runs {:.80}, and not the parameters of the job", word),
            "give that file instead");
    } else if (behind && equals != word.npos) {
      std::string name(word.substr(0, equals));
      name.erase(0, name.find_first_not_of('-'));
      over.push_back({std::move(name), std::string(word.substr(0, equals)), std::string(word.substr(equals + 1)),
          command.line, {}});
      if (over.back().value.find_first_of("$'\"") != std::string::npos)
        return fail(place, fmt::format("'{:.80}' hangs on the shell", word), "write the value itself");
    }
  }
  return over;
}

}  // namespace

bool is_mosaic_job(const std::vector<GivenArgument>& read) {
  const auto has = [&](std::string_view start) {
    return std::any_of(
        read.begin(), read.end(), [&](const GivenArgument& given) { return given.name.starts_with(start); });
  };
  const bool command = std::any_of(read.begin(), read.end(), [](const auto& given) { return given.name == "command"; });
  return command && has("parameters.") && has("compute.");
}

bool is_mosaic_text(std::string_view text, const std::string& where) {
  const auto read = read_config_arguments(text, where);
  return read && is_mosaic_job(*read);
}

Expected<void> open_mosaic_job(Launch& launch, std::span<const GivenArgument> words) {
  TRY(auto over, job_overrides(launch));
  std::vector<GivenArgument> inside;
  for (GivenArgument& given : launch.arguments) {
    if (given.name == "compute.gpus") launch.gpus = parsed_number<std::int64_t>(given.value).value_or(0);
    if (!given.name.starts_with("parameters.")) continue;
    given.name.erase(0, std::string_view("parameters.").size());
    inside.push_back(std::move(given));
  }
  for (GivenArgument& given : inside) given.unset.clear();
  put_over(inside, over);
  put_over(inside, words);
  resolve_references(inside);
  launch.arguments = std::move(inside);
  std::ranges::move(over, std::back_inserter(launch.arguments));
  launch.notes.emplace_back("a job of MosaicML's: its parameters are the configuration, and compute.gpus the GPUs");
  return {};
}

}  // namespace stepcast::launch
