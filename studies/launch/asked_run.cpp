#include "studies/launch/asked_run.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/json_reader.h"
#include "model/base/text.h"
#include "model/catalog.h"
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

/// Nodes of the launch that are smaller than those of the machine lie apart where the forecast has them together. A
/// rack's nodes are one to its fabric, so they may be of any size. Whoever tells the GPUs, the launch or a flag, the
/// count on a node, of the launcher or of the configuration, holds.
Expected<void> check_nodes(const Launch& launch, std::int64_t node_ranks, const LaunchHints& hints,
    const Scenario& scenario, std::vector<std::string>& warnings) {
  constexpr std::int64_t largest_node = 16;
  const std::int64_t here = node_ranks, there = scenario.machine.row.levels.front().gpus;
  const std::int64_t smallest = std::min(here, there);
  if (here == 0 || here == there || scenario.plan.gpus <= smallest || there > largest_node) return {};
  std::string text = fmt::format("{} GPUs on each node, and {} has {}", here, scenario.machine.row.name, there);
  if (hints.lenient || here > there) return warnings.push_back(std::move(text)), Expected<void>{};
  std::vector<std::string> fitting;
  for (const Machine& machine : built_in().machines)
    if (machine.levels.front().gpus == here || machine.levels.front().gpus > largest_node)
      fitting.push_back(machine.id);
  return fail(launch.where, std::move(text),
      fmt::format("--machine {}; or --lenient for full nodes",
          fitting.empty() ? "FILE, of a machine with such nodes"
                          : fmt::format("of such nodes: {}", fmt::join(fitting, ", "))));
}

/// What explain calls wrong of the arguments as they stand: the framework refuses it, or it does not do what it says.
Expected<std::vector<std::string>> wrong_in(
    const Launch& launch, const LaunchHints& hints, LaunchReading& reading, const Arguments& arguments) {
  Request& asked = reading.request;
  std::vector<std::string> wrong;
  Request request = asked;
  if (!take_flags(request, arguments)) return wrong;
  ExplainedLaunch explained;
  explained.launch = &launch;
  auto scenario = complete(request);
  if (!scenario) return wrong;  // the command itself says why
  TRY(check_nodes(launch, reading.node_ranks, hints, *scenario, asked.warnings));
  if (runs_otherwise(launch, hints, arguments)) return wrong;
  for (std::string& text : other_gpus(launch, scenario->machine.row)) asked.warnings.push_back(std::move(text));
  explained.scenario = std::move(*scenario);
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
      return fail("command line", "no network is named", "NETWORK, a scenario file, or a launch: --launch run.sh");
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
  TRY(const auto wrong, wrong_in(launch, hints, reading, arguments));
  reading.notes.insert(reading.notes.end(), wrong.begin(), wrong.end());
  reading.request.notes = std::move(reading.notes);
  return std::move(reading.request);
}

}  // namespace stepcast::launch
