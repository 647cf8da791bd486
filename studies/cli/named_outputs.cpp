#include "studies/cli/named_outputs.h"

#include <filesystem>

#include <fmt/format.h>

#include "model/base/text.h"

namespace stepcast::cli {
namespace {

Expected<std::size_t> form_of(const std::string& name, const std::string& flag, std::span<const OutputForm> forms) {
  std::string known;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (lower_case(name).ends_with(forms[i].ending)) return i;
    known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", forms[i].ending, forms[i].doc);
  }
  return fail(flag, fmt::format("the ending of '{:.200}' names no form", name), known);
}

Expected<void> check_names_apart(const std::vector<std::string>& names, const std::string& flag) {
  const auto path = [](const std::string& name) { return std::filesystem::absolute(name).lexically_normal(); };
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) return fail(flag, "an empty name", "name a file");
    for (std::size_t j = 0; j < i; ++j)
      if (path(names[i]) == path(names[j]))
        return fail(flag, fmt::format("{} is named twice", names[i]), "a name of its own for each");
  }
  return {};
}

}  // namespace

Expected<std::vector<NamedOutput>> open_outputs(
    const Arguments& arguments, std::string_view flag_name, std::span<const OutputForm> forms) {
  std::vector<NamedOutput> outputs;
  const std::string flag(flag_name);
  const std::vector<std::string> names = arguments.values(flag);
  TRY(check_names_apart(names, flag));
  for (const std::string& name : names) {
    TRY(const auto form, form_of(name, flag, forms));
    TRY(auto file, OutputFile::open(output_place(arguments, name, flag, forms[form].own)));
    outputs.push_back({form, name, std::move(file)});
  }
  return outputs;
}

}  // namespace stepcast::cli
