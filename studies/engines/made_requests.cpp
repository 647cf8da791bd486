#include "studies/engines/made_requests.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "model/base/contains.h"
#include "model/base/whole_number.h"

namespace stepcast::engines {
namespace {

constexpr std::string_view subcommands[] = {"prepare-dataset", "prepare_dataset"};
constexpr std::string_view normal_law = "token-norm-dist";

bool has_word(const EngineLine& line, std::string_view word) {
  return std::ranges::any_of(line.words, [&](const ShellWord& one) { return one.text == word; });
}

/// "--input-mean 1024", "--input-mean=1024"; "": it is not told, or hangs on a variable.
std::string text_option(const EngineLine& line, std::string_view name) {
  for (std::size_t at = 0; at < line.words.size(); ++at) {
    const std::string& word = line.words[at].text;
    if (!line.words[at].unset.empty() || !word.starts_with(name)) continue;
    if (word.size() > name.size() && word[name.size()] == '=') return word.substr(name.size() + 1);
    if (word == name && at + 1 < line.words.size() && line.words[at + 1].unset.empty()) return line.words[at + 1].text;
  }
  return "";
}
std::optional<std::int64_t> option(const EngineLine& line, std::string_view name) {
  return parsed_number<std::int64_t>(text_option(line, name));
}

}  // namespace

bool makes_requests(const EngineLine& line) {
  if (line.program->writes_requests) return true;
  return line.program->words == "trtllm-bench" && std::ranges::any_of(line.words, [](const ShellWord& word) {
    return contains(subcommands, std::string_view(word.text));
  });
}

std::optional<MadeRequests> made_requests(const EngineLine& line) {
  if (!has_word(line, normal_law)) return std::nullopt;
  const auto count = option(line, "--num-requests"), input = option(line, "--input-mean"),
             output = option(line, "--output-mean");
  const bool alike = option(line, "--input-stdev") == 0 && option(line, "--output-stdev") == 0;
  if (!alike || !count || !input || !output || *count < 1 || *input < 1 || *output < 1) return std::nullopt;
  std::string file = text_option(line, "--output");
  if (file.empty() && line.output.unset.empty()) file = line.output.text;
  return MadeRequests{*count, *input, *output, std::filesystem::path(file).lexically_normal().string()};
}

}  // namespace stepcast::engines
