#include "studies/launch/read/asked_run.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/base/json_reader.h"
#include "studies/launch/rules/explain.h"
#include "studies/run/forecast.h"
#include "studies/run/nouns.h"
#include "studies/run/scenario_file.h"

namespace stepcast {
namespace {

Expected<Request> start(const std::string& word, const std::string& as) {
  if (names_a_file(word)) {
    const auto text = read_text_file(word);
    if (!text) return tl::unexpected(text.error());
    if (is_scenario(*text) && !as.empty())
      return fail("--as", fmt::format("{:.60} is a scenario file, which names its network", word),
                  "a Hugging Face config.json");
    if (is_scenario(*text)) return read_scenario(*text, word);
  }
  auto network = choose_network_as(word, "NETWORK", as);
  if (!network) return tl::unexpected(network.error());
  Request request;
  request.network = std::move(*network);
  return request;
}

template <typename Row, typename Choose>
Expected<void> take_noun(std::optional<Chosen<Row>>& slot, const Arguments& arguments, std::string_view flag,
                         Choose choose) {
  const auto given = arguments.flags.find(flag);
  if (given == arguments.flags.end()) return {};
  auto chosen = choose(given->second, given->first);
  if (!chosen) return tl::unexpected(chosen.error());
  slot = std::move(*chosen);
  return {};
}

Expected<void> take_nouns(Request& request, const Arguments& arguments) {
  if (auto done = take_noun(request.machine, arguments, "--machine", choose_machine); !done) return done;
  if (auto done = take_noun(request.stack, arguments, "--stack", choose_stack); !done) return done;
  return take_noun(request.profile, arguments, "--profile", choose_profile);
}

Expected<void> take_mapping(Request& request, const Arguments& arguments) {
  const auto given = arguments.flags.find("--mapping");
  if (given == arguments.flags.end()) return {};
  const auto text = read_text_file(given->second);
  if (!text) return tl::unexpected(text.error());
  request.mapping = Request::Value{*text, given->second};
  return {};
}

Expected<void> take_definitions(const Arguments& arguments, LaunchSource& source) {
  for (const std::string& text : arguments.values("--define")) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == text.npos)
      return fail("--define", fmt::format("'{:.60}' sets no variable", text), "--define GLOBAL_BATCH=1024");
    source.defined[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return {};
}

Expected<void> check_alone(const Arguments& arguments) {
  for (const char* flag : {"--define", "--release"})
    if (arguments.has(flag)) return fail(flag, "says something of a launch, and none is given", "--megatron run.sh");
  return {};
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
std::vector<std::string> wrong_in(const Launch& launch, const LaunchHints& hints, Request request, const Arguments& arguments) {
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
  auto request = start(word, as == arguments.flags.end() ? "" : as->second);
  if (!request) return request;
  if (auto done = take_flags(*request, arguments); !done) return tl::unexpected(done.error());
  return request;
}

Expected<Request> read_request(const Arguments& arguments) {
  const auto source = launch_source(arguments);
  if (!source) return tl::unexpected(source.error());
  if (!*source) {
    if (arguments.words.empty())
      return fail("command line", "no network is named", "NETWORK, a scenario file, or a launch: --megatron run.sh");
    return read_request(arguments.words[0], arguments);
  }
  auto request = read_launch_request(**source, arguments);
  if (!request) return request;
  if (auto done = take_flags(*request, arguments); !done) return tl::unexpected(done.error());
  return request;
}

Expected<void> take_flags(Request& request, const Arguments& arguments) {
  for (const auto& [name, text] : arguments.flags)
    if (const RunField* field = find_flag_field(name); field != nullptr && !field->is_noun())
      if (auto done = request.say(*field, text, name); !done) return done;
  if (auto done = take_nouns(request, arguments); !done) return done;
  return take_mapping(request, arguments);
}

Expected<std::optional<LaunchSource>> launch_source(const Arguments& arguments) {
  std::optional<LaunchSource> source;
  for (const LaunchFlag& row : launch_flags()) {
    if (!arguments.has(row.flag)) continue;
    if (source) return fail(std::string(row.flag), fmt::format("{} names a launch already", source->flag->flag), "one of them");
    source = LaunchSource{};
    source->flag = &row;
    source->file = arguments.value(row.flag);
  }
  if (!source) {
    if (auto good = check_alone(arguments); !good) return tl::unexpected(good.error());
    return source;
  }
  source->words = arguments.rest;
  source->release = arguments.value("--release");
  if (auto good = take_definitions(arguments, *source); !good) return tl::unexpected(good.error());
  return source;
}

Expected<LaunchHints> launch_hints(const Arguments& arguments) {
  LaunchHints hints;
  RunWishes beside;   // what is no number is an error of the flags themselves
  for (const FieldId id : {FieldId::gpus, FieldId::micro_batch})
    if (const std::string flag = flag_of(id); arguments.has(flag)) (void)field(id).type.read(arguments.value(flag), flag, beside);
  if (arguments.has("--gpus")) hints.gpus = beside.gpus;
  if (arguments.has("--micro-batch")) hints.micro_batch = beside.micro_batch;
  for (const char* flag : {"--gpus", "--tp", "--pp", "--cp", "--global-batch", "--micro-batch"}) hints.resized |= arguments.has(flag);
  if (arguments.words.empty()) return hints;
  const std::string& word = arguments.words[0];
  if (names_a_file(word)) {
    const auto text = read_text_file(word);
    if (!text) return tl::unexpected(text.error());
    if (is_scenario(*text)) return fail("NETWORK", fmt::format("{:.60} is a scenario file, and a launch says a whole run too", word), "one of them");
  }
  auto network = choose_network_as(word, "NETWORK", arguments.value("--as"));
  if (!network) return tl::unexpected(network.error());
  hints.network = std::move(*network);
  return hints;
}

Expected<Request> read_launch_request(const LaunchSource& source, const Arguments& arguments) {
  const auto hints = launch_hints(arguments);
  if (!hints) return tl::unexpected(hints.error());
  const auto launch = read_launch(source);
  if (!launch) return tl::unexpected(launch.error());
  auto reading = read_meaning(*launch, *hints);
  if (!reading) return tl::unexpected(reading.error());
  for (std::string& text : wrong_in(*launch, *hints, reading->request, arguments)) reading->notes.push_back(std::move(text));
  reading->request.notes = std::move(reading->notes);
  return std::move(reading->request);
}

}  // namespace stepcast
