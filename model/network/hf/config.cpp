#include "model/network/hf/config.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/text.h"
#include "model/network/hf/reader.h"
#include "model/network/network_rules.h"
#include "model/base/row_text.h"

namespace stepcast {
namespace {

using detail::hf_family_table;
using detail::HfFamily;
using detail::HfReader;

const HfFamily* family_of_architecture(const std::string& architecture) {
  for (const HfFamily& family : hf_family_table())
    for (const char* name : family.architectures)
      if (architecture == name) return &family;
  return nullptr;
}

Expected<const HfFamily*> family_named(const std::string& as, const std::string& where) {
  for (const HfFamily& family : hf_family_table())
    if (as == family.id) return &family;
  return fail(where, fmt::format("unknown family '{:.40}'", as), name_hint(as, hf_families()));
}

std::string known_architectures() {
  std::vector<std::string> names;
  for (const HfFamily& family : hf_family_table())
    names.insert(names.end(), family.architectures.begin(), family.architectures.end());
  return fmt::format("{}", fmt::join(names, ", "));
}

/// "architectures" is a list that names the class of the checkpoint.
std::string architecture_of(JsonObject& file) {
  std::vector<std::string> names;
  if (file.has("architectures")) file.read("architectures", names);
  return names.empty() ? "" : names.front();
}

Expected<const HfFamily*> choose_family(JsonObject& file, const std::string& architecture, const std::string& as) {
  if (auto error = file.failed() ? file.first_error() : std::nullopt) return tl::unexpected(*error);
  if (!as.empty()) return family_named(as, "--as");
  if (const HfFamily* family = family_of_architecture(architecture)) return family;
  const std::string what = architecture.empty() ? "the config names no architecture"
                                                : fmt::format("the architecture '{:.60}' is not known", architecture);
  return fail(file.where("architectures"), what,
      fmt::format("known: {}; --as llama tries it as a Llama", known_architectures()));
}

/// "meta-llama/Llama-3.1-8B" or ".../Llama-3.1-8B/config.json" gives llama-3.1-8b.
std::string id_from(std::string name) {
  while (!name.empty() && name.back() == '/') name.pop_back();
  std::string id = lower_case(name.substr(name.find_last_of('/') + 1));
  std::replace(id.begin(), id.end(), '_', '-');
  return is_row_id(id) ? id : "";
}

std::string id_of(JsonObject& file, const std::string& where, const HfFamily& family) {
  std::string named;
  if (file.type_of("_name_or_path") == "string") file.read("_name_or_path", named);
  const std::filesystem::path path(where);
  const std::string stem = path.stem() == "config" ? path.parent_path().filename().string() : path.stem().string();
  for (const std::string& candidate : {id_from(named), id_from(stem)})
    if (!candidate.empty()) return candidate;
  return family.id;
}

}  // namespace

bool looks_like_hf_config(const std::string& text) {
  JsonObject file(text, "");
  return !file.failed() && (file.has("architectures") || file.has("model_type"));
}

std::vector<std::string> hf_families() { return names_of(hf_family_table(), &HfFamily::id); }

Expected<HfConfig> read_hf_config(const std::string& text, const std::string& where, const std::string& as) {
  JsonObject file(text, where);
  file.allow_unknown_keys();
  const std::string architecture = architecture_of(file);
  TRY(const auto family, choose_family(file, architecture, as));
  const bool several = file.type_of("text_config") == "object";  // text beside vision or audio
  HfReader reader(several ? file.object("text_config") : file);
  reader.config.allow_unknown_keys();
  if (!as.empty() && family_of_architecture(architecture) != family)
    reader.note(fmt::format("{} read as {}", architecture.empty() ? "no architecture" : architecture, as));
  if (several) reader.note("text_config only");
  family->read(reader);
  NetworkSpec& spec = reader.spec;
  spec.id = spec.name = id_of(file, where, *family);
  spec.source =
      fmt::format("{} ({}): {}", where, architecture.empty() ? as : architecture, fmt::join(reader.notes, "; "));
  TRY(file.finish(true));
  TRY(auto complete, complete_network(std::move(spec), where));
  return HfConfig{std::move(complete), family->id, std::move(reader.notes)};
}

}  // namespace stepcast
