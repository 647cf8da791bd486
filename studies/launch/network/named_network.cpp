// The network of the catalogue that a launch names.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "calibrate/import/delimited.h"
#include "calibrate/import/tables/plain_words.h"
#include "model/base/text.h"
#include "model/catalog.h"
#include "studies/launch/facts/torchtitan_models.h"
#include "studies/launch/read/launched_run.h"

namespace stepcast::launch {
namespace {

/// A tuned model has the sizes of the one it was made of: "Meta-Llama-3.1-8B-Instruct" is of llama-3.1-8b.
void add_plain_names(std::string name, std::vector<std::string>& names) {
  constexpr std::string_view front[] = {"meta-"}, behind[] = {"-instruct", "-hf", "-base", "-chat", "-it", "-v0.1",
                                                      "-2507", "-thinking", "-pt", "-fp8"};
  name = lower_case(name);
  for (const std::string_view word : front)
    if (name.starts_with(word)) names.push_back(name = name.substr(word.size()));
  for (bool cut = true; cut;) {
    cut = false;
    for (const std::string_view word : behind)
      if (name.ends_with(word)) names.push_back(name = name.substr(0, name.size() - word.size())), cut = true;
  }
}

/// The last part of a name or folder without what a model was tuned for: "gemma-3-27b" of "google/gemma-3-27b-pt".
std::string barest_name(std::string_view path) {
  std::vector<std::string> names = {lower_case(last_of_path(path))};
  add_plain_names(names.front(), names);
  return names.back();
}

/// The network of the catalogue that is called so but for its maker and what it was tuned for; null if none.
const NetworkSpec* kin_of(const std::string& name) {
  const std::string bare = barest_name(name);
  for (const NetworkSpec& row : built_in().networks)
    if (std::ranges::any_of(row.aliases, [&](const std::string& alias) { return barest_name(alias) == bare; }))
      return &row;
  return nullptr;
}

/// "models--Qwen--Qwen3-8B/snapshots/9c925d64" of Hugging Face's cache: Qwen/Qwen3-8B.
std::string without_cache(const std::string& path) {
  constexpr std::string_view sign = "models--", between = "--";
  const std::size_t begin = path.find(sign);
  if (begin == path.npos || (begin > 0 && path[begin - 1] != '/')) return path;
  std::string name = path.substr(begin + sign.size());
  name.resize(std::min(name.find('/'), name.size()));
  const std::size_t maker = name.find(between);
  return maker == name.npos ? name : name.replace(maker, between.size(), "/");
}

}  // namespace

const NetworkSpec* named_network(const LaunchSubject& subject) {
  LaunchAnswers& ask = subject.answers;
  std::vector<std::string> names;
  auto name = ask.text(Asked::model_name);
  const auto flavor = ask.text(Asked::model_flavor);
  while (name && name->ends_with('/')) name->pop_back();  // a folder's last part names the network
  if (name) name = without_cache(*name);
  // torchtitan's names are families; a flavor that is not in its table is somebody's own
  if (name && subject.framework.id == "torchtitan" && torchtitan_model(*name, flavor.value_or("")) == nullptr)
    return nullptr;
  if (name && flavor) names.push_back(*name + "-" + *flavor);
  if (name) names.push_back(*name), names.push_back(std::string(last_of_path(*name)));
  if (const auto config = ask.text(Asked::config_name)) names.push_back(*config);
  if (const auto file = ask.text(Asked::config_file)) names.push_back(launch_stem(*file));
  const ArgumentMap& set = subject.launch.environment;
  if (const auto found = set.find("CONFIG_FILE"); found != set.end()) names.push_back(launch_stem(found->second));
  if (const auto found = set.find("CONFIG"); found != set.end()) names.push_back(found->second);
  if (name && subject.framework.id == "torchtitan")
    if (const TorchtitanModel* model = torchtitan_model(*name, flavor.value_or("")); model != nullptr)
      names.insert(names.begin(), std::string(model->network));
  if (name) add_plain_names(std::string(last_of_path(*name)), names);
  const std::size_t whole = names.size();
  for (std::size_t i = 0; i < whole; ++i)  // recipes: "llama3_8b_pretrain_config"
    for (std::size_t end = names[i].rfind('_'); end != std::string::npos && end > 0; end = names[i].rfind('_', end - 1))
      names.push_back(names[i].substr(0, end));
  for (const std::string& candidate : names)
    if (const NetworkSpec* spec = catalogue_network(candidate)) {
      subject.note(fmt::format("geometry of {}, as '{}' names it", spec->id, candidate));
      return spec;
    }
  const NetworkSpec* kin = name ? kin_of(*name) : nullptr;
  if (kin != nullptr) subject.note(fmt::format("geometry of {}, as '{}' names it", kin->id, *name));
  return kin;
}

}  // namespace stepcast::launch
