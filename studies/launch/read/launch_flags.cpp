#include "studies/launch/read/launch_flags.h"

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/base/json_reader.h"
#include "studies/run/nouns.h"
#include "studies/run/scenario_file.h"

namespace stepcast::launch {
namespace {

template <typename Row, typename Choose>
Expected<void> take_noun(
    std::optional<Chosen<Row>>& slot, const Arguments& arguments, std::string_view flag, Choose choose) {
  const auto given = arguments.flags.find(flag);
  if (given == arguments.flags.end()) return {};
  TRY(slot, choose(given->second, given->first));
  return {};
}

/// A scenario's profile, once the flags name a machine with another GPU: its own rates are taken. One of the user's own
/// may be meant for it, so it is asked for.
Expected<void> drop_profile(Request& request) {
  if (!request.profile || !request.machine) return {};
  const Profile& profile = request.profile->row;
  const Gpu& gpu = request.machine->row.gpu;
  if (profile.gpu.empty() || profile.gpu == gpu.id || contains(gpu.aliases, profile.gpu)) return {};
  if (request.profile->id.empty())
    return fail("--machine",
        fmt::format("the scenario's own profile was measured on {}, and this machine has {}", profile.gpu, gpu.id),
        "--profile with rates of this machine");
  request.warnings.push_back(
      fmt::format("the scenario's profile {} was measured on {}: for {} the machine's own is taken",
          request.profile->id, profile.gpu, gpu.id));
  request.profile.reset();
  return {};
}

Expected<void> take_nouns(Request& request, const Arguments& arguments) {
  TRY(take_noun(request.machine, arguments, "--machine", choose_machine));
  if (arguments.has("--machine") && !arguments.has("--profile")) TRY(drop_profile(request));
  TRY(take_noun(request.stack, arguments, "--stack", choose_stack));
  return take_noun(request.profile, arguments, "--profile", choose_profile);
}

Expected<void> take_mapping(Request& request, const Arguments& arguments) {
  const auto given = arguments.flags.find("--mapping");
  if (given == arguments.flags.end()) return {};
  TRY(const auto text, read_text_file(given->second));
  request.mapping = Request::Value{text, given->second};
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
  const bool emits = arguments.has("--emit");  // which a plan without a launch may be told leniently, too
  for (const char* flag : {"--define", "--release", "--lenient", "--files-from"})
    if (arguments.has(flag) && !(emits && flag == std::string_view("--lenient")))
      return fail(flag, "says something of a launch, and none is given", "--launch run.sh");
  return {};
}

std::set<FieldId> told_fields(const Arguments& arguments) {
  std::set<FieldId> told;
  for (const auto& [name, text] : arguments.flags)
    if (const RunField* row = find_flag_field(name); row != nullptr) told.insert(row->id);
  return told;
}

}  // namespace

Expected<void> take_flags(Request& request, const Arguments& arguments) {
  for (const auto& [name, text] : arguments.flags)
    if (const RunField* field = find_flag_field(name); field != nullptr && !field->is_noun())
      TRY(request.say(*field, text, name));
  TRY(take_nouns(request, arguments));
  return take_mapping(request, arguments);
}

Expected<std::optional<LaunchSource>> launch_source(const Arguments& arguments) {
  std::optional<LaunchSource> source;
  for (const LaunchFlag& row : launch_flags()) {
    if (!arguments.has(row.flag)) continue;
    if (source)
      return fail(std::string(row.flag), fmt::format("{} names a launch already", source->flag->flag), "one of them");
    source = LaunchSource{};
    source->flag = &row;
    source->file = arguments.value(row.flag);
  }
  if (!source) {
    TRY(check_alone(arguments));
    return source;
  }
  source->words = arguments.rest;
  source->release = arguments.value("--release");
  source->folders = arguments.values("--files-from");
  source->told = told_fields(arguments);
  TRY(take_definitions(arguments, *source));
  return source;
}

Expected<LaunchHints> launch_hints(const Arguments& arguments) {
  LaunchHints hints;
  RunWishes beside;  // what is no number is an error of the flags themselves
  for (const FieldId id : {FieldId::gpus, FieldId::micro_batch})
    if (const std::string flag = flag_of(id); arguments.has(flag))
      (void)field(id).type.read(arguments.value(flag), flag, beside);
  hints.told = told_fields(arguments);
  hints.lenient = arguments.has("--lenient");
  if (arguments.has("--gpus")) hints.gpus = beside.gpus;
  if (arguments.has("--micro-batch")) hints.micro_batch = beside.micro_batch;
  for (const char* flag : {"--gpus", "--tp", "--pp", "--cp", "--global-batch", "--micro-batch"})
    hints.resized |= arguments.has(flag);
  if (arguments.words.empty()) return hints;
  const std::string& word = arguments.words[0];
  if (names_a_file(word)) {
    TRY(const auto text, read_text_file(word));
    if (is_scenario(text))
      return fail(
          "NETWORK", fmt::format("{:.60} is a scenario file, and a launch says a whole run too", word), "one of them");
  }
  TRY(auto network, choose_network_as(word, "NETWORK", arguments.value("--as")));
  hints.network = std::move(network);
  return hints;
}

}  // namespace stepcast::launch
