#include "studies/launch/asked_run.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "model/base/json_reader.h"
#include "studies/launch/rules/explain.h"
#include "studies/run/forecast.h"
#include "studies/run/nouns.h"
#include "studies/run/scenario_file.h"
#include "studies/run/settled_gpus.h"

namespace stepcast::launch {
namespace {

Expected<Request> start(const std::string& word, const std::string& as) {
  std::error_code ignored;
  if (names_a_file(word) && !std::filesystem::is_directory(word, ignored)) {
    TRY(const auto text, read_text_file(word));
    if (is_scenario(text) && !as.empty())
      return fail("--as", fmt::format("{:.60} is a scenario file, which names its network", word),
          "a Hugging Face config.json");
    if (is_scenario(text)) return read_scenario(text, word);
  }
  TRY(auto network, choose_network_as(word, "NETWORK", as));
  Request request;
  request.network = std::move(network);
  return request;
}

/// Do flags put another split, batch, number type or number of GPUs over the launch's own?
bool runs_otherwise(const Launch& launch, const LaunchHints& hints, const Arguments& arguments) {
  if (launch.gpus > 0 && hints.gpus > 0 && launch.gpus != hints.gpus) return true;
  return std::any_of(arguments.flags.begin(), arguments.flags.end(), [&](const auto& given) {
    const RunField* field = find_flag_field(given.first);
    return field != nullptr && (field->splits || field->group == FieldGroup::batch);
  });
}

/// What explain calls wrong of the arguments as they stand: the framework refuses it, or it does not do what it says.
std::vector<std::string> wrong_in(
    const Launch& launch, const LaunchHints& hints, Request request, const Arguments& arguments) {
  if (runs_otherwise(launch, hints, arguments) || !take_flags(request, arguments)) return {};
  ExplainedLaunch explained;
  explained.launch = &launch;
  auto scenario = complete(request);
  if (!scenario) return {};  // the command itself says why
  explained.scenario = std::move(*scenario);
  std::vector<std::string> wrong;
  for (Interaction& row : interactions_of(explained))
    if (row.wrong) wrong.push_back("wrong: " + std::move(row.text));
  return wrong;
}

}  // namespace

Expected<Request> read_request(const std::string& word, const Arguments& arguments) {
  const auto as = arguments.flags.find("--as");
  TRY(auto request, start(word, as == arguments.flags.end() ? "" : as->second));
  TRY(take_flags(request, arguments));
  TRY(settle_gpus(request));
  return request;
}

Expected<Request> read_request(const Arguments& arguments) {
  TRY(const auto source, launch_source(arguments));
  if (!source) {
    if (arguments.words.empty())
      return fail("command line", "no network is named", "NETWORK, a scenario file, or a launch: --megatron run.sh");
    return read_request(arguments.words[0], arguments);
  }
  TRY(auto request, read_launch_request(*source, arguments));
  TRY(take_flags(request, arguments));
  TRY(settle_gpus(request));
  return request;
}

Expected<Request> read_launch_request(const LaunchSource& source, const Arguments& arguments) {
  TRY(const auto hints, launch_hints(arguments));
  TRY(const auto launch, read_launch(source));
  TRY(auto reading, read_meaning(launch, hints));
  for (std::string& text : wrong_in(launch, hints, reading.request, arguments))
    reading.notes.push_back(std::move(text));
  reading.request.notes = std::move(reading.notes);
  return std::move(reading.request);
}

}  // namespace stepcast::launch
