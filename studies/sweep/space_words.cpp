#include "studies/sweep/space_words.h"

#include <fmt/format.h>

#include "model/json_reader.h"

namespace stepcast {
namespace {

/// The network of a word beside --space, which may not be a second file of choices.
Expected<std::optional<Chosen<NetworkSpec>>> network_beside_space(const Arguments& arguments) {
  if (arguments.words.empty()) return std::nullopt;
  auto named = read_request(arguments.words[0], {arguments.words, {{"--as", arguments.value("--as")}}});
  if (!named) return tl::unexpected(named.error());
  if (!named->values.empty() || named->machine || named->stack || named->profile || named->mapping)
    return fail("NETWORK", fmt::format("{:.60} is a scenario file, and so is --space {:.60}", arguments.words[0], arguments.value("--space")),
                "one of them; \"axes\" may stand in a space file beside all that a scenario says");
  return named->network;
}

Expected<SpaceWords> words_of_file(const Arguments& arguments) {
  const std::string path = arguments.value("--space");
  auto network = network_beside_space(arguments);
  if (!network) return tl::unexpected(network.error());
  const auto text = read_text_file(path);
  if (!text) return tl::unexpected(text.error());
  auto words = read_space_file(*text, path, *network);
  if (!words) return words;
  if (auto done = take_flags(words->request, arguments); !done) return tl::unexpected(done.error());
  return words;
}

Expected<SpaceWords> words_of_network(const Arguments& arguments) {
  if (arguments.words.empty()) return fail("command line", "no network is named", "NETWORK, a scenario file, or --space FILE");
  auto request = read_request(arguments.words[0], arguments);
  if (!request) return tl::unexpected(request.error());
  SpaceWords words;
  words.request = std::move(*request);
  return words;
}

/// Keys of the run that are axes become axes: flags over a space file's list, of which the file itself may have only one.
Expected<void> take_axes(SpaceWords& words) {
  for (const AxisRow& row : axis_rows()) {
    const Request::Value* said = words.request.find(row.key);
    if (said == nullptr) continue;
    std::optional<AxisWords>& axis = words.axis(row.id);
    if (axis && said->where != row.flag)
      return fail(axis->where, fmt::format("{} is said twice", row.key), fmt::format("here or at {}", said->where));
    axis = AxisWords{{said->text}, said->where};
    words.request.values.erase(words.request.values.find(row.key));
  }
  return {};
}

void take_goals(SpaceWords& words, const Arguments& arguments) {
  for (const auto& [flag, slot] : {std::pair{"--where", &words.where}, {"--objective", &words.objective}, {"--top", &words.top},
                                   {"--price", &words.price}})
    if (arguments.has(flag)) *slot = Request::Value{arguments.value(flag), flag};
  if (arguments.has("--pareto")) words.pareto = AxisWords{{arguments.value("--pareto")}, "--pareto"};
}

}  // namespace

Expected<SpaceWords> read_space_words(const Arguments& arguments) {
  auto words = arguments.has("--space") ? words_of_file(arguments) : words_of_network(arguments);
  if (!words) return words;
  if (words->request.mapping)
    return fail(words->request.mapping->where, "a mapping says how the work is split, which a sweep tries out",
                "leave it out, and give the axes values: tp, pp, ...");
  if (auto done = take_axes(*words); !done) return tl::unexpected(done.error());
  take_goals(*words, arguments);
  return words;
}

}  // namespace stepcast
