#include "studies/sweep/space/space_words.h"

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/base/json_reader.h"
#include "studies/launch/asked_run.h"

namespace stepcast::sweep {
namespace {

/// The command line without values of axes, which may be lists.
Arguments without_axis_flags(Arguments arguments) {
  for (const AxisRow& row : axis_rows()) arguments.flags.erase(std::string(row.flag));
  return arguments;
}

/// The network of a word beside --space, which may not be a second file of choices.
Expected<std::optional<Chosen<NetworkSpec>>> network_beside_space(const Arguments& arguments) {
  if (arguments.words.empty()) return std::nullopt;
  TRY(auto named,
      read_request(arguments.words[0],
          {.words = arguments.words, .rest = {}, .flags = {{"--as", arguments.value("--as")}}, .repeated = {}}));
  if (!named.said().empty() || named.machine || named.stack || named.profile || named.mapping)
    return fail("NETWORK",
        fmt::format(
            "{:.60} is a scenario file, and so is --space {:.60}", arguments.words[0], arguments.value("--space")),
        "one of them; \"axes\" may stand in a space file beside all that a scenario says");
  return named.network;
}

Expected<SpaceWords> words_of_file(const Arguments& arguments) {
  const std::string path = arguments.value("--space");
  TRY(auto network, network_beside_space(arguments));
  TRY(const auto text, read_text_file(path));
  TRY(auto words, read_space_file(text, path, network));
  TRY(take_flags(words.request, without_axis_flags(arguments)));
  return words;
}

/// The job itself, and what its software runs beside compute: a sweep of a launch leaves them as they are unless told.
constexpr AxisId kept_of_launch[] = {AxisId::gpus, AxisId::precision, AxisId::scatter_boundary, AxisId::tp_overlap,
    AxisId::dp_overlap, AxisId::save_gathered};
bool is_kept_of_launch(AxisId axis) { return contains(kept_of_launch, axis); }

/// What a launch says of another axis is one way among those that are tried.
Expected<SpaceWords> words_of_launch(const Arguments& arguments) {
  TRY(auto launched, read_request(without_axes(arguments)));
  SpaceWords words;
  words.request = launched;
  for (const AxisRow& row : axis_rows())
    if (!is_kept_of_launch(row.id) && !row.flag.empty()) words.request.unsay(row.id);
  TRY(take_flags(words.request, without_axis_flags(arguments)));
  words.own = std::move(launched);
  return words;
}

Expected<SpaceWords> words_of_network(const Arguments& arguments) {
  TRY(const auto source, launch_source(arguments));
  if (source) return words_of_launch(arguments);
  if (arguments.words.empty())
    return fail(
        "command line", "no network is named", "NETWORK, a scenario file, a launch (--launch run.sh), or --space FILE");
  TRY(auto request, read_request(without_axis_flags(arguments)));
  SpaceWords words;
  words.request = std::move(request);
  return words;
}

/// Keys of the run that are axes become axes: flags over a space file's list, of which the file itself may have only
/// one.
Expected<void> take_axes(SpaceWords& words, const Arguments& arguments) {
  for (const AxisRow& row : axis_rows()) {
    if (row.flag.empty()) continue;
    const Request::Value* said = words.request.find(row.id);
    std::optional<AxisWords>& axis = words.axis(row.id);
    const bool typed = arguments.has(row.flag);
    if (axis && said != nullptr && !typed)
      return fail(axis->where, fmt::format("{} is said twice", row.key), fmt::format("here or at {}", said->where));
    if (typed) axis = AxisWords{{arguments.value(row.flag)}, std::string(row.flag)};
    else if (said != nullptr) axis = AxisWords{{said->text}, said->where};
    if (typed)
      std::erase_if(
          words.request.statements, [&](const Request::Statement& line) { return line.instead_of == row.id; });
    words.request.unsay(row.id);
  }
  return {};
}

void take_goals(SpaceWords& words, const Arguments& arguments) {
  for (const auto& [flag, slot] : {std::pair{"--where", &words.where}, {"--objective", &words.objective},
           {"--top", &words.top}, {"--price", &words.price}})
    if (arguments.has(flag)) *slot = Request::Value{arguments.value(flag), flag};
  if (arguments.has("--pareto")) words.pareto = AxisWords{{arguments.value("--pareto")}, "--pareto"};
}

}  // namespace

Arguments without_axes(Arguments arguments) {
  const Arguments typed = arguments;
  arguments = without_axis_flags(std::move(arguments));
  for (const char* flag : {"--gpus", "--micro-batch"}) {
    const std::string text = typed.value(flag), first = text.substr(0, text.find_first_not_of("0123456789"));
    if (!first.empty()) arguments.flags[flag] = first;
  }
  return arguments;
}

SpaceWords with_own_values(SpaceWords words, const Space& usual, const Request& own) {
  for (const AxisRow& row : axis_rows()) {
    const auto* said = row.flag.empty() ? nullptr : own.find(row.id);
    std::vector<std::string> values = usual.values[static_cast<std::size_t>(row.id)];
    if (row.id == AxisId::sp && said != nullptr) values = {"on"};  // "auto" would be one of the two once more
    if (said == nullptr || words.axis(row.id) || contains(values, said->text)) continue;
    values.push_back(said->text);
    words.axis(row.id) = AxisWords{std::move(values), said->where};
  }
  return words;
}

Expected<SpaceWords> read_space_words(const Arguments& arguments) {
  if (arguments.has("--dp"))
    return fail("--dp", "a sweep tries every dp that the other axes leave", "--where 'dp == 8'");
  if (arguments.has("--nodes") && arguments.has("--gpus"))
    return fail("--nodes", "--gpus says the GPUs already", "one of them");
  TRY(auto words, arguments.has("--space") ? words_of_file(arguments) : words_of_network(arguments));
  if (words.request.mapping)
    return fail(words.request.mapping->where, "a mapping says how the work is split, which a sweep tries out",
        "leave it out, and give the axes values: tp, pp, ...");
  TRY(take_axes(words, arguments));
  if (!words.request.statements.empty())
    return fail(words.request.statements.front().where,
        fmt::format("'{}' is no value of an axis", words.request.statements.front().text),
        "--recompute none,selective,full");
  take_goals(words, arguments);
  return words;
}

}  // namespace stepcast::sweep
