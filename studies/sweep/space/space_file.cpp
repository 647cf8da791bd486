// Space files: a scenario file with keys of its own beside the run's.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/base/contains.h"
#include "model/base/json_reader.h"
#include "studies/run/scenario_file.h"
#include "studies/sweep/space/space_words.h"

namespace stepcast::sweep {
namespace {

const std::vector<std::string> keys_of_spaces = {"axes", "where", "objective", "pareto", "top", "price"};

std::vector<std::string> keys_of_space_files() {
  std::vector<std::string> keys = keys_of_spaces;
  keys.insert(keys.end(), {"network", "mapping"});
  for (const RunField& field : run_fields()) keys.emplace_back(field.key);
  return keys;
}

Expected<void> check_keys_of_space(const JsonObject& file) {
  const std::vector<std::string> known = keys_of_space_files();
  for (const std::string& key : file.keys())
    if (!contains(known, key)) return fail(file.where(key), "unknown key", name_hint(key, known));
  return {};
}

Expected<const AxisRow*> axis_of_key(const JsonObject& axes, const std::string& key) {
  std::vector<std::string> known;
  for (const AxisRow& row : axis_rows()) {
    if (row.key == key) return &row;
    known.emplace_back(row.key);
  }
  return fail(axes.where(key), "unknown axis", name_hint(key, known));
}

/// A number, a text (a range, a list, "all"), or a list of either; words are no numbers.
std::vector<std::string> read_axis(JsonObject& axes, const AxisRow& row) {
  const std::string key(row.key), type = axes.type_of(key);
  std::vector<std::string> texts;
  if (type == "list" && row.type.number) {
    std::vector<std::int64_t> numbers;
    axes.read(key, numbers, IntegerRange{});
    for (const std::int64_t number : numbers) texts.push_back(std::to_string(number));
  } else if (type == "list") {
    axes.read(key, texts);
  } else if (type == "number" && row.type.number) {
    std::int64_t number = 0;
    axes.read(key, number, IntegerRange{});
    texts = {std::to_string(number)};
  } else {
    axes.read(key, texts.emplace_back());
  }
  return texts;
}

Expected<void> read_axes(JsonObject& file, SpaceWords& words) {
  auto axes = file.optional_object("axes");
  if (!axes) return {};
  for (const std::string& key : axes->keys()) {
    TRY(const auto row, axis_of_key(*axes, key));
    words.axis(row->id) = AxisWords{read_axis(*axes, *row), axes->where(key)};
  }
  return {};
}

void read_goals(JsonObject& file, SpaceWords& words) {
  for (const auto& [key, slot] : {std::pair{"where", &words.where}, {"objective", &words.objective}})
    if (file.has(key)) file.read(key, slot->emplace(Request::Value{"", file.where(key)}).text);
  if (file.has("pareto")) file.read("pareto", words.pareto.emplace(AxisWords{{}, file.where("pareto")}).texts);
  std::int64_t top = 0;
  if (file.has("top")) file.read("top", top, IntegerRange{});
  if (file.has("top")) words.top = Request::Value{std::to_string(top), file.where("top")};
  double price = 0;
  if (file.has("price")) file.read("price", price, NumberRange{});
  if (file.has("price")) words.price = Request::Value{fmt::format("{}", price), file.where("price")};
}

/// What is left for the scenario reader: JSON pointers stay as they are, and lines are of no matter once the text is
/// known to be JSON, but for the numbers of Python's writer that JSON does not have.
Expected<std::string> scenario_of_space(
    const std::string& text, const std::string& where, const std::optional<Chosen<NetworkSpec>>& network) {
  auto scenario = nlohmann::ordered_json::parse(text, nullptr, false);
  if (scenario.is_discarded()) return fail(where, "one of its values is Infinity or NaN", "finite numbers");
  for (const std::string& key : keys_of_spaces) scenario.erase(key);
  if (network) scenario["network"] = nlohmann::ordered_json::parse(write_network(network->row));
  return scenario.dump();
}

}  // namespace

Expected<SpaceWords> read_space_file(
    const std::string& text, const std::string& where, const std::optional<Chosen<NetworkSpec>>& network) {
  JsonObject file(text, where);
  if (file.failed()) return tl::unexpected(*file.first_error());
  TRY(check_keys_of_space(file));
  if (!network && !file.has("network"))
    return fail(file.where("network"), "no network is named", "a key \"network\" here, or NETWORK on the command line");
  SpaceWords words;
  TRY(read_axes(file, words));
  read_goals(file, words);
  if (file.failed()) return tl::unexpected(*file.first_error());
  TRY(const auto scenario, scenario_of_space(text, where, network));
  TRY(auto request, read_scenario(scenario, where));
  words.request = std::move(request);
  if (network) words.request.network = network;
  return words;
}

}  // namespace stepcast::sweep
